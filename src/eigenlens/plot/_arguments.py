"""Checks that all plots share: of models and tables by the attribute that a plot needs, and of the axes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from eigenlens.errors import OptionError

Plot = TypeVar("Plot", bound=Callable[..., Any])

GIVEN = {
    "model": "a fitted model",
    "table": "the result of compare or select_mixture",
    "bootstrap": "the result of PCA.bootstrap, or None",
    "supplementary": "the result of PCA.supplementary, or None",
}
"""What the arguments are that need an attribute."""


def checked_plot(**needed: str) -> Callable[[Plot], Plot]:
    """Return the decorator of a plot, which raises unless arguments have the attribute that it needs of each.

    A model may be one of several, by name. `ax` must be Axes, or None for a figure of its own.

    >>> @checked_plot(model="predict")
    ... def draw(model, ax=None):
    ...     return "drawn"
    >>> draw([1.0])
    Traceback (most recent call last):
      ...
    eigenlens.errors.OptionError: model is a list without predict; give a fitted model.
    """

    def decorate(plot: Plot) -> Plot:
        signature = inspect.signature(plot)
        wanted = ({"model": "__class__"} if "model" in signature.parameters else {}) | needed

        @functools.wraps(plot)
        def checked(*arguments: Any, **options: Any) -> Any:
            given = signature.bind(*arguments, **options).arguments
            for argument, attribute in wanted.items():
                _require(argument, given.get(argument), attribute, signature.parameters[argument].default is None)
            ax = given.get("ax")
            if ax is not None and not hasattr(ax, "transData"):
                what = f"is a {type(ax).__name__}, not the Axes of a figure"
                raise OptionError(what, argument="ax", fix="give one of plt.subplots(), or None")
            return plot(*arguments, **options)

        return checked  # type: ignore[return-value]

    return decorate


def _require(argument: str, value: Any, attribute: str, optional: bool) -> None:
    if value is None and optional:
        return
    if argument == "model" and isinstance(value, Mapping) and not value:
        raise OptionError("is an empty dict", argument=argument, fix=f"give {GIVEN[argument]}, or some by name")
    for each in value.values() if isinstance(value, Mapping) and argument == "model" else [value]:
        if isinstance(each, type) or not hasattr(each, attribute):
            kind = f"the class {each.__name__}" if isinstance(each, type) else f"a {type(each).__name__}"
            lacks = "" if attribute == "__class__" else f" without {attribute}"
            raise OptionError(f"is {kind}{lacks}", argument=argument, fix=f"give {GIVEN[argument]}")
