"""Calls of every public class, method and function, with arguments that are valid, hard, odd and wrong.

A call ends well if its result holds no NaN and no infinity, or if it raises an error of the package that names an
argument, a parameter or a column.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np

from campaigns import tables, values
from campaigns.arguments import GOOD
from campaigns.base import Outcome, Result, case_rng, judge_error
from campaigns.examples import COMPARISON, DENSITIES, FITTED, USUAL_ROWS
from campaigns.results import inspect_result
from eigenlens import catalogue, datasets, densities, plot, textbook
from eigenlens import errors as package_errors
from eigenlens.comparison.compare import Comparison
from eigenlens.errors import DataWarning
from eigenlens.pca.bootstrap import Bootstrap

mpl.use("Agg")
LIMIT = 60.0

FUNCTIONS = [
    "accumulate", "bandwidth", "bartlett_sphericity", "choose_gamma", "compare", "cronbach_alpha", "gram", "kmo",
    "load", "principal_angles", "procrustes", "report", "scan", "select_components", "select_mixture",
]  # fmt: skip
INTERNAL = {"get_params", "set_params", "get_metadata_routing", "set_output"}
PROGRAMS = {"Block", "Density", "Family", "LikelihoodMaximum"}
"""Names of `densities` that are types."""


STEPS = [
    "em_path", "em_step", "em_step_of_covariance", "expected_latents", "power_path", "complete_log_likelihood",
    "expected_complete_log_likelihood", "maximise_expected",
]  # fmt: skip
RESULTS: list[tuple[str, Any]] = [
    (f"{FITTED['PCA']}.bootstrap(rows({{n}}, {{d}}, {{s}}), 5).interval", Bootstrap.interval),
    (f"{COMPARISON}.margins", Comparison.margins),
]


class Target(NamedTuple):
    """What is called: the text before its arguments, its signature, and the names by which arguments are looked up."""

    text: str
    call: Any
    owners: tuple[str, ...]
    estimator: str = ""


class _Draw:
    """The choices of one case: sizes, and the text of each argument."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.n, self.d = int(rng.choice([2, 3, 5, 12, 24, 40])), int(rng.choice([1, 2, 3, 4, 6]))
        self.sizes = {"n": self.n, "d": self.d, "s": int(rng.integers(4))}
        self.wrong = float(rng.choice([0.0, 0.15, 0.4]))  # of the arguments of this case, how many are wrong

    def one(self, texts: Any) -> Any:
        return texts[int(self.rng.integers(len(texts)))]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def fill(self, text: str) -> str:
        return text.format(**self.sizes)

    def argument(self, name: str, owners: tuple[str, ...]) -> str:
        """Return the text of an argument: a value that it takes, or a hard, odd or wrong one."""
        hard = _hard(name, owners)
        if hard is not None and self.chance(0.4 + self.wrong):
            return self.fill(self.one(hard))
        if hard is None and self.chance(self.wrong):
            return self.fill(self.one(values.JUNK))
        keys = [f"{owner}.{name}" for owner in owners] + [name]
        found = next((GOOD[key] for key in keys if key in GOOD), values.JUNK)
        return self.fill(self.one(found))

    def arguments(self, call: Any, owners: tuple[str, ...], share: float) -> str:
        """Return the text of all arguments that have no default, and of a share of the others."""
        given, by_name = [], not self.chance(0.2)
        for parameter in inspect.signature(call).parameters.values():
            if parameter.name == "self" or parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                continue
            if parameter.default is parameter.empty or self.chance(share):
                text = self.argument(parameter.name, owners)
                named = by_name or parameter.kind is parameter.KEYWORD_ONLY
                given.append(f"{parameter.name}={text}" if named else text)
            else:
                by_name = True  # one is left out, so those that follow need their names
        return ", ".join(given)


def _hard(name: str, owners: tuple[str, ...]) -> list[str] | None:
    """Return the hard and odd values of tables, labels and weights."""
    if name in ("X", "x", "Y", "points") or f"{owners[0]}.{name}" == "supplementary.columns":
        return tables.EXTREME * 2 + tables.ODD
    return {"y": tables.LABELS, "sample_weight": tables.WEIGHTS, "feature_weight": tables.WEIGHTS}.get(name)


# ---- targets --------------------------------------------------------------------------------------------------


def public_methods(cls: Any) -> list[str]:
    """Return the names of the methods of a class that are called, of which scikit-learn's own are no part."""
    names = [name for name in dir(cls) if not name.startswith(("_", "set_")) and name not in INTERNAL]
    kinds = {name: inspect.getattr_static(cls, name) for name in names}
    return [name for name, kind in kinds.items() if callable(kind) or isinstance(kind, staticmethod | classmethod)]


def _estimator(draw: _Draw) -> Target:
    """Return a method of an estimator: `fit` more often than the others, and these mostly after a fit."""
    name = draw.one(sorted(catalogue.MODELS))
    cls = catalogue.estimator_class(name)
    method = "fit" if draw.chance(0.35) else draw.one(public_methods(cls))
    made = f"eigenlens.{name}({draw.arguments(cls, (name,), 0.12)})"
    first = method.startswith(("fit", "partial_fit"))
    if not first and not draw.chance(0.02):
        made += draw.fill(_fit_call(draw, name))
    return Target(f"{made}.{method}", getattr(cls, method), (method, name), name)


def _fit_call(draw: _Draw, name: str) -> str:
    usual = [USUAL_ROWS[name]] if name in USUAL_ROWS else tables.PLAIN
    X = draw.one(usual) if draw.chance(0.7) else draw.one(tables.EXTREME)
    y = ", labels({n})" if catalogue.MODELS[name].classes else ""
    return f".fit({X}{y})"


def _function(draw: _Draw) -> Target:
    name = draw.one(FUNCTIONS)
    return Target(f"eigenlens.{name}", getattr(values.eigenlens, name), (name,))


def _plot(draw: _Draw) -> Target:
    name = draw.one(plot.__all__)
    return Target(f"plot.{name}", getattr(plot, name), (name, "plot"))


def _textbook(draw: _Draw) -> Target:
    name = draw.one(STEPS)
    return Target(f"textbook.{name}", getattr(textbook, name), (name, "textbook"))


def _result(draw: _Draw) -> Target:
    """Return a method of a result that is not a model."""
    text, call = draw.one(RESULTS)
    return Target(draw.fill(text), call, (call.__name__,))


def _dataset(draw: _Draw) -> Target:
    return Target("datasets.load", datasets.load, ("datasets.load",))


def _density(draw: _Draw) -> Target:
    """Return a method of a density, or the making of one."""
    if draw.chance(0.3):
        name = draw.one(sorted(set(densities.__all__) - PROGRAMS))
        return Target(f"densities.{name}", getattr(densities, name), (name,))
    name = draw.one(sorted(DENSITIES))
    method = draw.one(public_methods(getattr(densities, name)))
    call = getattr(getattr(densities, name), method)
    return Target(f"{DENSITIES[name]}.{method}", call, (f"{name}.{method}", method, name))


KINDS: list[tuple[Callable[[_Draw], Target], float]] = [
    (_estimator, 0.6),
    (_function, 0.12),
    (_plot, 0.1),
    (_density, 0.13),
    (_textbook, 0.02),
    (_result, 0.02),
    (_dataset, 0.01),
]
"""The kinds of targets, and the share of each."""


def _case(seed: int, number: int) -> tuple[str, Target]:
    rng = case_rng(seed, number)
    draw = _Draw(rng)
    kinds, shares = zip(*KINDS, strict=True)
    target = kinds[int(rng.choice(len(kinds), p=shares))](draw)
    share = 0.15 if target.estimator else 0.3
    given = draw.arguments(target.call, target.owners, share)
    if target.text == "eigenlens.select_mixture":  # by default dozens of fits of twenty starts each
        given += ", n_init=1"
    return f"{target.text}({given})", target


def describe(seed: int, number: int) -> str:
    """Return the call of a case, as Python to be run after `from campaigns.values import *`."""
    return _case(seed, number)[0]


# ---- outcomes -------------------------------------------------------------------------------------------------


def run_case(seed: int, number: int) -> Result:
    """Return how the call of a case ended."""
    return judge_call(*_case(seed, number))


def judge_call(text: str, target: Target) -> Result:
    """Return how a call ended, of which files are written to a folder of its own."""
    names = {name: getattr(values, name) for name in values.__all__} | {"__file__": values.__file__}
    try:
        with _scratch_folder(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            outcome, detail = inspect_result(eval(text, names), target.text)
            if outcome is Outcome.NAN and any(_announces_missing(each) for each in caught):
                outcome = Outcome.OK
    except Exception as error:
        outcome, detail = judge_error(error, _subjects(text, target))
        named = package_errors.MissingExtra, package_errors.ModelFileError  # the package to install, or the file
        if isinstance(error, named) or _is_raised_by_argument(error):
            outcome = Outcome.CLEAR
    finally:
        _close_figures()
    return Result(outcome, text, detail)


def _announces_missing(caught: warnings.WarningMessage) -> bool:
    """Return whether a warning of the package says that results are missing values."""
    return issubclass(caught.category, DataWarning) and "are missing values" in str(caught.message)


@contextlib.contextmanager
def _scratch_folder() -> Iterator[None]:
    """Make a new folder the working directory and that of temporary files, and remove it."""
    before = tempfile.tempdir
    whole = tempfile.TemporaryDirectory(prefix="campaign-", ignore_cleanup_errors=True)
    with whole as folder, contextlib.chdir(folder):
        tempfile.tempdir = folder
        try:
            yield
        finally:
            tempfile.tempdir = before


def _is_raised_by_argument(error: BaseException) -> bool:
    """Return whether a function that was given as an argument raised, whose errors are those of the caller."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return last.filename == values.__file__ or (last.filename == "<string>" and last.name == "<lambda>")


def _close_figures() -> None:
    from matplotlib import pyplot

    pyplot.close("all")


def _subjects(text: str, target: Target) -> set[str]:
    """Return the names that an error of this call may be about."""
    names = set(inspect.signature(target.call).parameters) - {"self", "options"}
    names |= set(re.findall(r"[(, ](\w+)=", text)) | {"X", "y", "sample_weight", *values.NAMES}
    if target.text in ("eigenlens.load", "eigenlens.scan"):  # an error about a file names it
        names |= {"values.py", "rows.csv", *re.findall(r"'([^']+)'", text)}
    for call in re.findall(r"eigenlens\.(\w+)\(", text):
        names |= set(inspect.signature(getattr(values.eigenlens, call)).parameters)
    for owner in target.owners:
        if owner in densities.__all__:
            names |= set(inspect.signature(getattr(densities, owner)).parameters)
    if target.estimator:
        names |= set(inspect.signature(catalogue.estimator_class(target.estimator)).parameters)
    return names | {
        f"{word} {j}" for word in ("column", "columns") for j in [*range(30), *map(repr, map(str, range(30)))]
    }
