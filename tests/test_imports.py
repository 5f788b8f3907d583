"""What the package imports, and when: nothing optional, and nothing heavy before it is used."""

import json
import subprocess
import sys

OPTIONAL = {"polars", "matplotlib", "dask", "distributed", "torch", "rich", "typer", "jinja2", "pyarrow", "pandas"}
HEAVY = {"numpy", "scipy", "sklearn"}


def loaded_by(code):
    code = f"{code}\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_no_public_name_but_the_plots_imports_an_extra():
    names = "import eigenlens\nfor name in set(eigenlens.__all__) - {'plot'}: getattr(eigenlens, name)"
    peers = loaded_by("import sklearn.decomposition, sklearn.mixture, sklearn.naive_bayes")
    assert loaded_by(names) & OPTIONAL <= peers & OPTIONAL


def test_the_package_and_its_command_line_start_without_the_numerics():
    assert not loaded_by("import eigenlens, eigenlens.cli") & HEAVY


def test_every_public_name_is_there_and_listed():
    import eigenlens

    assert all(getattr(eigenlens, name) is not None for name in eigenlens.__all__)
    assert set(eigenlens.__all__) <= set(dir(eigenlens))
