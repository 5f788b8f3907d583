"""Rules about what the package must never do: run text as a program, unpickle, or start a shell."""

from __future__ import annotations

import ast
from fnmatch import fnmatch
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "eigenlens"
MODULES = sorted(PACKAGE.rglob("*.py"))

RUN_TEXT = (
    "builtins.eval",
    "builtins.exec",
    "builtins.compile",
    "builtins.__import__",
    "runpy.*",
    "code.*",
    "pandas.eval",
)
"""Functions that run text; a star is for anything."""

START = (
    "os.system", "os.popen", "os.exec*", "os.spawn*", "os.posix_spawn*", "pty.*", "subprocess.getoutput",
    "subprocess.getstatusoutput", "asyncio.create_subprocess_shell",
)  # fmt: skip
"""Functions that start a shell, or another program in place of this one."""

STARTERS = {"run", "Popen", "call", "check_call", "check_output"}
"""Functions of `subprocess` that take `shell`, also as methods of whatever wraps them."""

LOAD = (
    "pickle.load*", "torch.load", "torch.hub.*", "pandas.read_pickle", "yaml.load", "yaml.unsafe_load",
    "yaml.full_load", "numpy.fromregex", "tempfile.mktemp", "multiprocessing.*",
)  # fmt: skip
"""Functions that may run a program while they load a file, or name one that another program can make first."""

LOADERS = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "jsonpickle"}
"""Modules that can run a program while they load a file."""

DUMPS_ONLY = {"errors.py", "workers.py"}
"""Modules that ask whether a value could be sent to a worker, or how large it is, and load nothing."""

NAMED_ELSEWHERE = {"__init__.py", "catalogue.py", "arrays.py", "checkpoint/encode.py"}
"""Modules that import others by names from their own lists, or of this package alone, or the library of an array."""


def calls(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def imports(tree):
    """Return what each local name of an import means: {"np": "numpy", "run": "subprocess.run"}."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            tops = {each.name.partition(".")[0] for each in node.names if not each.asname}
            found |= {top: top for top in tops} | {each.asname: each.name for each in node.names if each.asname}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    return found


def full_name(function, known):
    """Return the dotted name of what is called, by the imports: `sp.run` is subprocess.run, `eval` builtins.eval."""
    text = ast.unparse(function)
    first, dot, rest = text.partition(".")
    if first in known:
        return known[first] + dot + rest
    return f"builtins.{text}" if isinstance(function, ast.Name) else f"?.{text}"


def is_false(value):
    return isinstance(value, ast.Constant) and value.value is False


def offences(text, name="module.py"):
    """Return what a module does that none may do."""
    tree = ast.parse(text)
    known = imports(tree)
    loaders = {each.split(".")[0] for each in known.values()} & LOADERS
    found = [] if name in DUMPS_ONLY else sorted(loaders)
    for node in calls(tree):
        called, options = full_name(node.func, known), {each.arg: each.value for each in node.keywords}
        found += [called] if any(fnmatch(called, each) for each in RUN_TEXT + START + LOAD) else []
        found += [f"{called}(allow_pickle)"] if not is_false(options.get("allow_pickle", ast.Constant(False))) else []
        if called.rpartition(".")[2] in STARTERS and not is_false(options.get("shell", ast.Constant(False))):
            found.append(f"{called}(shell)")
        found += [f"{called} by position"] if called == "numpy.load" and len(node.args) > 2 else []
        found += [f"{called}(**)"] if called.startswith("subprocess.") and None in options else []
        if called == "importlib.import_module" and name not in NAMED_ELSEWHERE:
            found += [] if isinstance(node.args[0], ast.Constant) else [f"{called} of {ast.unparse(node.args[0])}"]
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_module_runs_text_or_unpickles(module):
    assert offences(module.read_text(encoding="utf-8"), module.relative_to(PACKAGE).as_posix()) == []


OFFENCES = [
    "eval('1')", "exec(code)", "compile(text, '', 'eval')", "__import__(name)", "import builtins\nbuiltins.eval(text)",
    "import runpy\nrunpy.run_path(path)", "import pandas as pd\npd.eval(text)",
    "import pickle", "from joblib import load", "import dill.source", "import marshal", "import shelve as s",
    "import numpy as np\nnp.load(f, allow_pickle=True)", "import numpy as np\nnp.load(f, allow_pickle=flag)",
    "import numpy\nnumpy.load(f, None, True)", "from numpy import load\nload(f, None, True)",
    "import torch\ntorch.load(f)", "import torch as t\nt.load(f)", "from torch import load as read\nread(f)",
    "import yaml\nyaml.load(f)", "import pandas\npandas.read_pickle(f)",
    "import os\nos.system('ls')", "from os import system\nsystem('ls')", "import os as o\no.popen('ls')",
    "import os\nos.execlp('ls', 'ls')", "import os\nos.spawnvp(0, 'ls', [])",
    "import subprocess\nsubprocess.run(x, shell=True)", "import subprocess\nsubprocess.run(x, shell=flag)",
    "from subprocess import Popen\nPopen(x, shell=1)", "import subprocess\nsubprocess.run(x, **options)",
    "import subprocess\nsubprocess.getoutput(x)", "import asyncio\nasyncio.create_subprocess_shell(x)",
    "import importlib\nimportlib.import_module(name)", "import tempfile\ntempfile.mktemp()",
    "import multiprocessing as mp\nmp.Pool()",
]  # fmt: skip

HARMLESS = [
    "import re\nre.compile(x)", "model.load(path)", "import subprocess\nsubprocess.run([x], shell=False)",
    "import numpy as np\nnp.load(f, mmap_mode='r')", "import numpy as np\nnp.save(f, x, allow_pickle=False)",
    "import importlib\nimportlib.import_module('onnx')", "frame.eval", "json.load(f)",
]  # fmt: skip


@pytest.mark.parametrize("text", OFFENCES)
def test_the_check_finds_offences(text):
    assert offences(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_the_check_lets_the_rest_pass(text):
    assert offences(text) == []


def test_a_module_that_may_pickle_may_not_unpickle():
    assert offences("import pickle\npickle.dumps(value)", "errors.py") == []
    assert offences("import pickle\npickle.loads(value)", "errors.py") == ["pickle.loads"]
    assert offences("from pickle import loads\nloads(value)", "errors.py") == ["pickle.loads"]
