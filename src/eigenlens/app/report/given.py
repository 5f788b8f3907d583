"""What a report is asked for: models by name, and the file it goes to; refused before any work is done."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from eigenlens.errors import OptionError

__all__ = ["destination", "kind_of", "named_models"]


def named_models(models: Any, known: Iterable[str]) -> dict[str, Any]:
    """Fitted models by name; those without one are called by their class.

    known: classes that have a page.
    """
    given = _by_name(models)
    if not given:
        raise OptionError("models is empty; give at least one fitted model.")
    for name, model in given.items():
        _check(name, model, tuple(known))
    return given


def _by_name(models: Any) -> dict[str, Any]:
    if not isinstance(models, Mapping):
        each = list(models) if isinstance(models, list | tuple) else [models]
        return {type(model).__name__ + (f" {i}" if i > 1 else ""): model for i, model in enumerate(each, start=1)}
    given = {str(name): model for name, model in models.items()}
    if len(given) < len(models):
        raise OptionError(f"models has names that are alike as text: {list(models)}; give them different names.")
    return given


def _check(name: str, model: Any, known: tuple[str, ...]) -> None:
    listed = ", ".join(known)
    if isinstance(model, type):
        raise OptionError(f"models[{name!r}] is the class {model.__name__}; give a model that was fitted: fit(X).")
    if kind_of(model, known) is None:
        kind = f"{type(model).__module__.split('.')[0]}.{type(model).__name__}".removeprefix("builtins.")
        inside = "; give the model inside it, and X as that model sees it" if hasattr(model, "named_steps") else ""
        raise OptionError(f"models[{name!r}] is a {kind}, which has no page{inside}; those of eigenlens: {listed}.")
    if not hasattr(model, "fit"):
        return
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise OptionError(f"models[{name!r}] is a {type(model).__name__} that is not fitted; call fit first.") from None


def kind_of(model: Any, known: Iterable[str]) -> str | None:
    """The name of the class of this package that a model is, or comes from, among those known."""
    ours = (each.__name__ for each in type(model).__mro__ if each.__module__.split(".")[0] == "eigenlens")
    names = set(known)
    return next((name for name in ours if name in names), None)


def destination(path: Any) -> Path:
    """The file of a report: no folder, nor inside a file, nor where nothing may be written.

    >>> destination("").name
    Traceback (most recent call last):
      ...
    eigenlens.errors.OptionError: path='' is no name of a file; give one such as 'report.html'.
    """
    try:
        text = os.fsdecode(path)
    except TypeError:
        text = ""
    if not text or "\0" in text:
        raise OptionError(f"path={path!r} is no name of a file; give one such as 'report.html'.")
    target = Path(text)
    if target.is_dir():
        raise OptionError(f"path={text!r} is a folder; give a file in it, such as {str(target / 'report.html')!r}.")
    folder = next(each for each in target.absolute().parents if each.exists())
    if not folder.is_dir():
        raise OptionError(f"path={text!r} lies in {str(folder)!r}, which is a file and no folder; give another path.")
    if not os.access(folder, os.W_OK):
        raise OptionError(f"path={text!r} lies in {str(folder)!r}, where nothing may be written; give another path.")
    return target
