"""New rows with categories and classes that the model was not fitted on are warned of, whatever the command."""

from __future__ import annotations

import json

import pytest

from eigenlens.cli import main

TRAIN = "size,soil,tree\n" + "".join(
    f"{i * 7 % 11},{('clay', 'sand', 'loam')[i % 3]},{('oak', 'elm')[i % 2]}\n" for i in range(24)
)
NEW = "tree,size,soil\noak,3,Clay\nyew,4,peat\nelm,5, sand \nelm,6,\n"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A command line in an empty folder: (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def command(*words):
        capsys.readouterr()
        return (main(list(words)), *capsys.readouterr())

    return command


@pytest.fixture
def fitted(run, tmp_path):
    (tmp_path / "train.csv").write_text(TRAIN)
    (tmp_path / "new.csv").write_text(NEW)
    assert run("fit", "nb", "train.csv", "--label", "tree", "-o", "nb.safetensors")[0] == 0
    assert run("fit", "mix", "train.csv", "-k", "2", "-o", "mix.safetensors")[0] == 0
    return run


CATEGORIES = "column 'soil' has 2 categories ('Clay', 'peat', in 2 rows) that the model was not fitted on; if they are "
CLASSES = "1 row of classes that the model was not fitted on ('yew') count as wrong; its classes are 'elm', 'oak'."


@pytest.mark.parametrize("command", ["predict", "score"])
def test_naive_bayes(fitted, command):
    code, out, _ = fitted(command, "nb.safetensors", "new.csv", "--json")
    warnings = json.loads(out)["warnings"]
    assert code == 0
    assert sorted(each.startswith(CATEGORIES) or each == CLASSES for each in warnings) == [True, True], warnings


@pytest.mark.parametrize("command", ["predict", "score", "impute"])
def test_mixture_of_mixed_columns(fitted, command):
    code, out, err = fitted(command, "mix.safetensors", "new.csv", "--json")
    found = json.loads(out)
    assert code == 0, err
    assert [each[: len(CATEGORIES)] == CATEGORIES for each in found["warnings"]] == [True, False]
    assert "column 'tree' has a category ('yew', in 1 row)" in found["warnings"][1]


POINTED = (
    TRAIN.partition("\n")[0]
    + "\n"
    + "".join(".,".join(line.split(",")).replace(".", "", 1) + ".\n" for line in TRAIN.splitlines()[1:])
)


@pytest.mark.parametrize("command", ["predict", "score"])
def test_categories_with_a_point_at_their_end_have_an_option(run, tmp_path, command):
    """As the classes of the test rows of a well-known table of incomes have one."""
    (tmp_path / "train.csv").write_text(TRAIN)
    (tmp_path / "new.csv").write_text(POINTED)
    assert POINTED.splitlines()[1] == "0,clay.,oak."
    assert run("fit", "nb", "train.csv", "--label", "tree", "-o", "nb.safetensors")[0] == 0
    warnings = json.loads(run(command, "nb.safetensors", "new.csv", "--json")[1])["warnings"]
    assert any("if 'clay.' means 'clay', fit again with --ignore-case soil" in each for each in warnings), warnings
    assert any("if 'oak.' means 'oak', fit again with --ignore-case tree" in each for each in warnings), warnings
    assert run("fit", "nb", "train.csv", "--label", "tree", "--ignore-case", "soil,tree", "-o", "f.safetensors")[0] == 0
    one, other = (json.loads(run(command, "f.safetensors", name, "--json")[1]) for name in ("train.csv", "new.csv"))
    assert not other.get("warnings")
    assert one["accuracy"] == other["accuracy"] > 0.5


def test_known_categories_are_not_warned_of(fitted):
    for model in ("nb", "mix"):
        assert not json.loads(fitted("predict", f"{model}.safetensors", "train.csv", "--json")[1]).get("warnings")


def test_spaces_around_categories_do_not_count(run, tmp_path):
    (tmp_path / "t.csv").write_text(
        "x,g\n" + "".join(f"{i % 7},{(' a', 'a ', 'b', 'b  ', '  ')[i % 5]}\n" for i in range(40))
    )
    found = json.loads(run("fit", "nb", "t.csv", "--label", "g", "--json", "--skip-missing")[1])
    assert sorted(found["classes"]) == ["a", "b"], found
