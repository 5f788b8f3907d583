"""The Python script that makes a report again, and the lines of it that read files."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from eigenlens.tables.names import shorten

if TYPE_CHECKING:
    from eigenlens.mixture.select import MixtureSelection

RESERVED_NAMES = {"eigenlens", "np", "nan", "inf", "X", "y", "ids", "columns", "sample_weight"}
MAX_LITERAL_LENGTH = 20_000


def script(
    models: dict[str, Any], path: str, *, given: dict[str, bool], title: str, seed: Any, shape: str, labels: str = "y",
    names: tuple[str, ...] = (), reading: str = "", covariance: bool = False,
) -> str:  # fmt: skip
    """Return a script that fits the models to X, or to a covariance matrix S, and writes the report.

    given: which of y, ids, columns and sample_weight there are. shape: of X, in words. labels: Python for the classes.
    names: of the columns of X. reading: Python that makes X and what is given, "" where only words can say it.
    """
    variables = _variables(list(models))
    made = {name: _made(model, given, labels, "" if covariance else _columns(model, names))
            for name, model in models.items()}  # fmt: skip
    there = ", ".join(name for name, has in given.items() if has)
    unsaid = labels == "y" and not given.get("y") and any(hasattr(model, "classes_") for model in models.values())
    head = [f"# X: the rows of this report ({shape})" + (f"; {there}: what was given with them" if there else "") + "."]
    head = [f"# S: the covariance or correlation matrix of this report ({shape})."] if covariance else head
    head = [reading, ""] if reading else head
    head += ["# y: their classes, which this report was not given."] if unsaid else []
    body = [f"{variables[name]} = {text}" if text else _unknown(name, models[name]) for name, text in made.items()]
    shown = ", ".join(f"{name!r}: {variables[name]}" for name, text in made.items() if text)
    options = [f"{name}={name}" for name, has in given.items() if has]
    options += [f"title={title!r}"] if title != "Eigenlens report" else []
    options += [f"random_state={seed}"] if isinstance(seed, int | np.integer) and seed != 0 else []
    rows = "None" if covariance else "X"
    last = f"eigenlens.report({', '.join([f'{{{shown}}}', rows, repr(Path(path).name), *options])})"
    text = "\n".join([*head, *body, *([last] if shown else [])])
    imports = ["import eigenlens"] + (["import numpy as np"] if "np." in text else [])
    return "\n".join([*imports, "", text])


def _made(model: Any, given: dict[str, bool], labels: str, rows: str) -> str:
    """Return Python that fits the model to rows, or to S where there are none; "" if it cannot be written."""
    if type(model).__name__ == "MixtureSelection":
        return _selected(model, given)
    if not hasattr(model, "fit"):
        return ""
    written = literal(model)
    if written is None or len(written) > MAX_LITERAL_LENGTH:
        return ""
    if not rows:
        return f"{written}.fit_covariance(S, n_samples={model.n_samples_})"
    rows += f", {labels}" if hasattr(model, "classes_") else ""
    weight = ", sample_weight=sample_weight" if given.get("sample_weight") else ""
    return f"{written}.fit({rows}{weight})"


def _columns(model: Any, names: tuple[str, ...]) -> str:
    """Return Python for X, or for the columns of X that the model was fitted on."""
    known = tuple(str(name) for name in getattr(model, "feature_names_in_", ()))
    return "X" if not known or not names or known == names else f"X[{list(known)!r}]"


def _selected(found: MixtureSelection, given: dict[str, bool]) -> str:
    sizes, types = sorted({int(K) for K in found.components}), list(dict.fromkeys(sorted(found.types)))
    options = [] if found.best is None else _changed(found.best, ("n_components", "covariance_type"))
    options += ["cv=5"] if np.isfinite(found.held_out).any() else []
    options += ["sample_weight=sample_weight"] if given.get("sample_weight") else []
    return f"eigenlens.select_mixture({', '.join(['X', str(sizes), str(types), repr(found.criterion), *options])})"


def _unknown(name: str, model: Any) -> str:
    what = "eigenlens.compare({…}, X)" if type(model).__name__ == "Comparison" else type(model).__name__
    return f"# {' '.join(name.split())}: {what}, of estimators that the result does not keep."


def estimator_call(model: Any) -> str:
    """Return the call that makes an estimator, shortened for reading."""
    text = literal(model)
    found = (text or " ".join(repr(model).split())).replace("eigenlens.", "")
    return shorten(found, 1_000)


def literal(value: Any) -> str | None:
    """Return a Python expression for the value, or None if there is none.

    >>> literal({"a": np.float64(1.5), "b": [None, float("nan")]})
    "{'a': 1.5, 'b': [None, np.nan]}"
    """
    if isinstance(value, BaseEstimator):
        return _estimator(value)
    if isinstance(value, np.ndarray):
        inside = literal(value.tolist())
        return None if inside is None else f"np.array({inside})"
    if isinstance(value, np.generic):
        return literal(value.item())
    if isinstance(value, float):
        return repr(value) if np.isfinite(value) else f"{'-' * (value < 0)}np.{'nan' if np.isnan(value) else 'inf'}"
    if isinstance(value, list | tuple):
        return _series(value)
    if isinstance(value, dict):
        pairs = [(literal(key), literal(part)) for key, part in value.items()]
        return None if any(None in pair for pair in pairs) else f"{{{', '.join(f'{a}: {b}' for a, b in pairs)}}}"
    return repr(value) if value is None or isinstance(value, bool | int | str) else None


def _series(value: Any) -> str | None:
    parts = [literal(part) for part in value]
    if any(part is None for part in parts):
        return None
    inside = ", ".join(part for part in parts if part is not None)
    return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(parts) == 1 else ''})"


def _estimator(value: Any) -> str | None:
    import eigenlens

    name = type(value).__name__
    if getattr(eigenlens, name, None) is not type(value):
        return None
    options = _changed(value)
    return None if None in options else f"eigenlens.{name}({', '.join(text for text in options if text)})"


def _changed(model: Any, without: tuple[str, ...] = ()) -> list[Any]:
    """Return name=value of the options that differ from their defaults; None for one without a literal."""
    found: list[Any] = []
    options = model.get_params(deep=False)
    for name, parameter in inspect.signature(type(model)).parameters.items():
        value = options.get(name, parameter.default)
        if name in without or _same(value, parameter.default):
            continue
        text = literal(value)
        # A generator has been drawn from: nothing gives the same one again.
        seeded = name == "random_state" and text is None
        found.append(None if text is None and not seeded else f"{name}={'None' if seeded else text}")
    return found


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and not isinstance(value, np.ndarray) and bool(value == default)


def _variables(names: list[str]) -> dict[str, str]:
    """Return a distinct Python variable name for each model.

    >>> _variables(["PCA", "pca", "2nd <b>", "class"])
    {'PCA': 'pca', 'pca': 'pca_', '2nd <b>': 'model_2nd__b_', 'class': 'class_'}
    """
    found: dict[str, str] = {}
    for name in names:
        plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in name.lower())[:40]
        plain = plain if plain.isidentifier() else f"model_{plain}"
        while keyword.iskeyword(plain) or plain in RESERVED_NAMES or plain in found.values():
            plain += "_"
        found[name] = plain
    return found


MAX_SCRIPT_LETTERS = 5_000
"""A longer script would be hidden by the names of its columns."""

SCAN_DEFAULTS = {"separator": ",", "header": True}
"""Settings that `scan` detects by itself, and need not be written."""


def reading_script(files: Sequence[Path], which: dict[str, Any], how: dict[str, Any], roles: Any) -> str:
    """Return lines that make X, its labels, ids and weights; "" where they would be too long.

    which, how: arguments of `scan` for the features and for the way text is written.
    roles: the names of other columns: `id`, `labels`, `weight`, `supplementary`.

    >>> from types import SimpleNamespace
    >>> roles = SimpleNamespace(id=None, labels=("kind",), weight="w", supplementary=())
    >>> print(reading_script([Path("a.csv")], {"columns": ["u", "v"]}, {"na": ("?",)}, roles))
    X = eigenlens.scan('a.csv', columns=['u', 'v'], na=['?'])
    y = X.read_column('kind')
    columns = {'kind': y}
    sample_weight = X.read_column('w')
    """
    names = [str(path) for path in files]
    given = {name: value for name, value in how.items() if SCAN_DEFAULTS.get(name) != value}
    lines = [f"X = {_scan(names, which | given)}"]
    lines += [f"y = X.read_column({roles.labels[0]!r})"] if roles.labels else []
    shown = [f"{str(name)!r}: {'y' if name in roles.labels[:1] else f'X.read_column({name!r})'}"
             for name in (*roles.labels, *roles.supplementary)]  # fmt: skip
    lines += [f"columns = {{{', '.join(shown)}}}"] if shown else []
    others = {"ids": roles.id, "sample_weight": roles.weight}
    lines += [f"{role} = X.read_column({name!r})" for role, name in others.items() if name is not None]
    return "\n".join(lines) if sum(map(len, lines)) <= MAX_SCRIPT_LETTERS else ""


def _scan(names: list[str], options: dict[str, Any]) -> str:
    given = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
    words = [f"{name}={value!r}" for name, value in given.items() if value not in (None, [])]
    return f"eigenlens.scan({', '.join([repr(names[0] if len(names) == 1 else names), *words])})"
