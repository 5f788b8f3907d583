"""Rules about what the package must never do: run text as a program, unpickle, or start a shell."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "eigenlens"
MODULES = sorted(PACKAGE.rglob("*.py"))

CALLS = {"eval", "exec", "compile", "__import__"}
"""Built-in functions that run text; methods of the same name, as of regular expressions, are others."""

LOADERS = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "jsonpickle"}
"""Modules that can run a program while they load a file."""

DUMPS_ONLY = {"errors.py"}
"""Modules that ask whether a value could be sent to a worker, and load nothing."""

FORBIDDEN = {
    ("os", "system"), ("os", "popen"), ("os", "execv"), ("os", "execve"), ("os", "spawnl"), ("os", "spawnv"),
    ("tempfile", "mktemp"), ("torch", "load"), ("numpy", "fromregex"),
}  # fmt: skip


STARTERS = {"run", "Popen", "call", "check_call", "check_output", "getoutput"}
"""Functions of `subprocess` that take `shell`."""


def calls(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module).split(".")[0]


def offences(text, name="module.py"):
    """Return what a module does that none may do."""
    tree = ast.parse(text)
    found = [node.func.id for node in calls(tree) if isinstance(node.func, ast.Name) and node.func.id in CALLS]
    found += [module for module in imported(tree) if module in LOADERS and name not in DUMPS_ONLY]
    for node in calls(tree):
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            if (function.value.id, function.attr) in FORBIDDEN:
                found.append(f"{function.value.id}.{function.attr}")
            if function.value.id == "pickle" and function.attr in ("load", "loads"):
                found.append("pickle.load")
        for keyword in node.keywords:
            constant = getattr(keyword.value, "value", True)  # anything but a constant may be true
            starts = ast.unparse(function).rpartition(".")[2] in STARTERS
            if (keyword.arg == "allow_pickle" or (keyword.arg == "shell" and starts)) and constant is not False:
                found.append(f"{keyword.arg}={constant}")
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_module_runs_text_or_unpickles(module):
    assert offences(module.read_text(encoding="utf-8"), module.relative_to(PACKAGE).as_posix()) == []


@pytest.mark.parametrize(
    "text",
    [
        "eval('1')", "exec(code)", "import pickle", "from joblib import load", "subprocess.run(x, shell=True)",
        "subprocess.run(x, shell=flag)", "np.load(f, allow_pickle=True)", "os.system('ls')", "import dill.source",
        "tempfile.mktemp()",
    ],
)  # fmt: skip
def test_the_check_finds_offences(text):
    assert offences(text)


def test_arrays_are_loaded_without_pickles():
    """`numpy.load` unpickles where it is asked to; that it is not by default is NumPy's own rule."""
    for module in MODULES:
        for node in calls(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node.func, ast.Attribute) and ast.unparse(node.func) in ("np.load", "numpy.load"):
                assert not any(keyword.arg == "allow_pickle" for keyword in node.keywords), module
