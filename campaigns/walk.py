"""Every argument of every public call in turn, with every odd value, while the others are as they should be.

The calls are numbered; a seed puts them in an order of its own, so that the first cases are a sample of all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from campaigns import calls, tables, values
from campaigns.arguments import GOOD
from campaigns.base import Result
from campaigns.calls import Target
from campaigns.examples import DENSITIES, FITTED, USUAL_ROWS
from eigenlens import catalogue, datasets, densities, plot, textbook

LIMIT = 60.0

SIZES = {"n": 12, "d": 3, "s": 1}
OF_ROWS = {"X", "x", "Y", "Z", "S", "A", "points", "target", "first", "second", "columns", "block"}
"""Arguments that are given odd tables too."""

REQUIRED = {
    "SparsePCA": "2", "BayesClassifier": "eigenlens.GaussianMixture()", "GaussianMixture": "1, n_init=1",
    "MixtureModel": "1, n_init=1", "ProbabilisticPCA": "1", "FactorAnalysis": "1",
}  # fmt: skip
"""Parameters without which an estimator cannot be made, or takes long."""


def describe(seed: int, number: int) -> str:
    """Return the call of a case, as Python to be run after `from campaigns.values import *`."""
    return _case(seed, number)[0]


def run_case(seed: int, number: int) -> Result:
    """Return how the call of a case ended."""
    return calls.judge_call(*_case(seed, number))


def _case(seed: int, number: int) -> tuple[str, Target]:
    return _cases()[_order(seed)[number % len(_cases())]]


@cache
def _order(seed: int) -> list[int]:
    return np.random.default_rng(seed).permutation(len(_cases())).tolist()


@cache
def _cases() -> list[tuple[str, Target]]:
    """Return the text of each call, and what is called."""
    return [
        (f"{target.text}({_arguments(target, parameters, odd, text)}){after}", target)
        for target, after in _targets()
        for parameters in [_parameters(target.call)]
        for odd in parameters
        for text in _odd_values(odd.name)
    ]


def _parameters(call: Any) -> list[inspect.Parameter]:
    several = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    given = inspect.signature(call).parameters.values()
    return [each for each in given if each.name != "self" and each.kind not in several]


def _arguments(target: Target, parameters: list[inspect.Parameter], odd: inspect.Parameter, text: str) -> str:
    """Return the text of the arguments: one odd, those without a default as they should be, the others left out."""
    needed = [each for each in parameters if each is odd or each.default is each.empty]
    return ", ".join(f"{each.name}={text if each is odd else _usual(each.name, target)}" for each in needed)


def _usual(name: str, target: Target) -> str:
    keys = [f"{owner}.{name}" for owner in target.owners] + [name]
    return next((GOOD[key][0] for key in keys if key in GOOD), "None").format(**SIZES)


def _odd_values(name: str) -> list[str]:
    """Return the odd values of an argument of this name."""
    found = list(values.JUNK)
    found += tables.ODD + tables.EXTREME if name in OF_ROWS else []
    found += tables.LABELS if name == "y" else []
    found += tables.WEIGHTS if "weight" in name else []
    return [text.format(**SIZES) for text in dict.fromkeys(found)]


# ---- what is called -------------------------------------------------------------------------------------------


def _targets() -> Iterator[tuple[Target, str]]:
    """Yield everything public that is called, and the text that follows its arguments."""
    for name in sorted(catalogue.MODELS):
        yield from _estimator_targets(name)
    for module, owner in ((values.eigenlens, ""), (plot, "plot"), (textbook, "textbook")):
        listed = {"": calls.FUNCTIONS, "plot": plot.__all__, "textbook": calls.STEPS}[owner]
        for name in listed:
            yield Target(f"{owner or 'eigenlens'}.{name}", getattr(module, name), (name, owner)), ""
    for text, call in calls.RESULTS:
        yield Target(text.format(**SIZES), call, (call.__name__,)), ""
    yield Target("datasets.load", datasets.load, ("datasets.load",)), ""
    for name in sorted(set(densities.__all__) - calls.PROGRAMS):
        yield Target(f"densities.{name}", getattr(densities, name), (name,)), ""
    for name, made in sorted(DENSITIES.items()):
        cls = getattr(densities, name)
        for method in calls.public_methods(cls):
            yield Target(f"{made}.{method}", getattr(cls, method), (f"{name}.{method}", method, name)), ""


def _estimator_targets(name: str) -> Iterator[tuple[Target, str]]:
    """Yield an estimator, which is then fitted, and its methods, after a fit where they need one."""
    cls, y = catalogue.estimator_class(name), ", labels({n})" if catalogue.MODELS[name].classes else ""
    rows = USUAL_ROWS.get(name, "rows({n}, {d}, {s})")
    yield Target(f"eigenlens.{name}", cls, (name,), name), f".fit({rows}{y})".format(**SIZES)
    for method in calls.public_methods(cls):
        first = method.startswith(("fit", "partial_fit"))
        made = f"eigenlens.{name}({REQUIRED.get(name, '')})" if first else FITTED[name].format(**SIZES)
        yield Target(f"{made}.{method}", getattr(cls, method), (method, name), name), ""
