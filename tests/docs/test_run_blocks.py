"""Blocks of code on the pages: what is shown, what persists, and what fails the build."""

from __future__ import annotations

import pytest

pytest.importorskip("sphinx")
pytest.importorskip("matplotlib")

import run_blocks


@pytest.fixture
def page():
    made = run_blocks.page_of("a-page-of-the-tests")
    yield made
    run_blocks.forget(None, None, "a-page-of-the-tests")
    assert not made.folder.exists()


def test_prints_and_the_last_value_are_shown_and_names_persist(page):
    assert run_blocks.execute(page, "x = 2\nprint('two')\nx", None, warns=False) == "two\n2"
    assert run_blocks.execute(page, "x + 1", None, warns=False) == "3"
    assert run_blocks.execute(page, "y = x", None, warns=False) == ""
    assert run_blocks.execute(page, "None", None, warns=False) == ""


def test_axes_are_not_printed_but_object_arrays_are(page):
    code = "import matplotlib.pyplot as plt\nimport numpy as np\nplt.subplots(1, 2)[1]"
    assert run_blocks.execute(page, code, None, warns=False) == ""
    assert "'a'" in run_blocks.execute(page, "np.array(['a', 'b'], dtype=object)", None, warns=False)


def test_errors_and_warnings_fail_unless_they_are_named(page):
    with pytest.raises(ZeroDivisionError):
        run_blocks.execute(page, "1 / 0", None, warns=False)
    assert run_blocks.execute(page, "1 / 0", "ZeroDivisionError", warns=False) == "ZeroDivisionError: division by zero"
    with pytest.raises(RuntimeError, match="did not"):
        run_blocks.execute(page, "1 / 1", "ZeroDivisionError", warns=False)
    warn = "import warnings\nwarnings.warn('mind the gap')"
    with pytest.raises(UserWarning):
        run_blocks.execute(page, warn, None, warns=False)
    assert run_blocks.execute(page, warn, None, warns=True) == "UserWarning: mind the gap"


def test_files_of_a_page_are_its_own_and_its_folder_is_not_named(page):
    write = "from pathlib import Path\n_ = Path('a.txt').write_text('here')"
    assert run_blocks.execute(page, write, None, warns=False) == ""
    done = run_blocks.in_shell(page, "cat a.txt; pwd; exit 3")
    assert done.returncode == 3
    assert page.tidy(done.stdout) == "here."
    assert run_blocks.in_shell(page, "eigenlens --version").stdout.startswith("eigenlens ")


def test_commands_go_on_after_a_backslash():
    assert run_blocks.commands("a b \\\n  c\n\nd") == ["a b \\\n  c", "d"]
