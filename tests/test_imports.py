"""What the package imports, and when: nothing optional, and nothing heavy before it is used."""

import ast
import inspect
import json
import subprocess
import sys

import eigenlens
from eigenlens import catalogue
from eigenlens.catalogue import MODELS, PAGES, estimator_class, import_part
from eigenlens.reporting.remarks import FIT_REMARKS

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
    assert all(getattr(eigenlens, name) is not None for name in eigenlens.__all__)
    assert set(eigenlens.__all__) <= set(dir(eigenlens))


def test_type_checkers_see_the_public_names():
    tree = ast.parse(inspect.getsource(eigenlens))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    named = {alias.asname for node in ast.walk(block) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert named == set(eigenlens.__all__)


def test_every_part_of_the_catalogue_is_there():
    parts = ("estimator", "summary", "page", "live", "export", "projection")
    paths = [getattr(entry, part) for entry in MODELS.values() for part in parts]
    assert all(callable(import_part(path)) for path in [*filter(None, paths), *PAGES, *PAGES.values()])
    for name in MODELS:
        made = estimator_class(name)
        assert (made.__name__, f"{made.__module__}.{made.__qualname__}") == (name, MODELS[name].estimator)


def test_entries_say_what_the_classes_are():
    assert len({entry.command for entry in MODELS.values()}) == len(MODELS)
    for name, entry in MODELS.items():
        made = estimator_class(name)
        taken = inspect.signature(made).parameters
        assert set(entry.options.values()) | set(entry.defaults) <= set(taken)
        assert set(entry.names) | set(filter(None, [entry.required])) <= set(entry.options)
        assert entry.classes == ("y" in inspect.signature(made.fit).parameters and hasattr(made, "predict_log_proba"))
        assert entry.density == (hasattr(made, "score_samples") and not entry.classes)


def test_help_names_what_the_registries_hold():
    named = [names for entry in MODELS.values() for names in entry.names.values() if names.registry]
    assert named
    for names in named:
        keys = tuple(key for key in import_part(names.registry) if key is not None)
        assert names.names in (keys, ("auto", *keys)), names.registry
        assert ("auto" in names.names) == ("solver" in names.registry.lower() or "shrinkage" in names.registry.lower())


def test_the_catalogue_imports_nothing_of_the_package():
    assert "eigenlens" not in {
        (node.module or "").split(".")[0]
        for node in ast.walk(ast.parse(inspect.getsource(catalogue)))
        if isinstance(node, ast.ImportFrom)
    }


def test_no_module_shadows_a_public_name():
    """`import eigenlens.compare` would replace the function of that name, were there a module of it."""
    code = """
import importlib, pkgutil
import eigenlens, eigenlens.plot
before = [{name: getattr(each, name) for name in each.__all__} for each in (eigenlens, eigenlens.plot)]
for module in pkgutil.walk_packages(eigenlens.__path__, "eigenlens."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
for each, names in zip((eigenlens, eigenlens.plot), before):
    assert all(getattr(each, name) is value for name, value in names.items()), each
"""
    loaded_by(code)


def test_the_explorer_listens_before_the_libraries_of_models_are_imported():
    modules = "explored_table", "server", "command"
    assert not loaded_by("".join(f"import eigenlens.explorer.{name}\n" for name in modules)) & {"sklearn", "pandas"}


def test_remarks_on_fits_are_functions_of_the_package():
    assert all(callable(import_part(path)) for path in FIT_REMARKS.values())
    assert set(FIT_REMARKS) <= set(MODELS)
