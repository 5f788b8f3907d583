"""Which columns of a table play which part: features, ids, labels, weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from eigenlens.cli.errors import fail
from eigenlens.cli.options import ReadingOptions
from eigenlens.cli.selecting import chosen

__all__ = ["Parts", "one_column", "parts_of"]


@dataclass(frozen=True)
class Parts:
    """Columns by the part they play.

    Attributes:
        features: those to work on, in order. roles: {"id", "label", "weight": column or None}.
        levels: features of text that may look like numbers. unused: columns without a part.
    """

    features: list[Any]
    roles: dict[str, Any]
    levels: list[Any]
    unused: tuple[Any, ...]


def parts_of(reading: ReadingOptions, kinds: Mapping[Any, str], tests: Iterable[Any], model: Any) -> Parts:
    """The part of each column, by the options and the model (None: none yet)."""
    roles = {role: one_column(getattr(reading, role), kinds, role) for role in ("id", "label", "weight")}
    features = _features(reading, kinds, roles, tests, model)
    asked = set(chosen(reading.text, kinds, "text") or ()) | _fitted_text(model)
    taken = {*features, *roles.values()}
    unused = tuple(name for name in kinds if name not in taken)
    return Parts(features, roles, [name for name in features if name in asked], unused)


def one_column(name: str | None, kinds: Mapping[Any, str], option: str) -> Any:
    """The one column that a word means."""
    if name is None:
        return None
    found = chosen([name], kinds, option) or []
    if len(found) != 1:
        fail(f"--{option} {name} names {len(found)} columns", "name one")
    return found[0]


def _features(
    reading: ReadingOptions, kinds: Mapping[Any, str], roles: dict[str, Any], tests: Iterable[Any], model: Any
) -> list[Any]:
    """The columns to work on: those asked for, or the model's, or all; less those dropped or with another role."""
    wanted = chosen(reading.columns, kinds, "columns")
    known = getattr(model, "feature_names_in_", None)
    if known is not None and str in {type(name) for name in kinds}:
        return _of_model(list(known), kinds, model, wanted)
    dropped = set(chosen(reading.drop, kinds, "drop") or ()) | {name for name in roles.values() if name is not None}
    # A column of text that only says which rows to keep need not be dropped by hand.
    dropped |= {name for name, _, _ in tests if kinds.get(name) == "text"}
    left = [name for name in (kinds if wanted is None else wanted) if name not in dropped]
    if not left:
        fail("no column is left to work on", "drop fewer, or see the columns with eigenlens info", "data")
    return left


def _of_model(known: list[str], kinds: Mapping[Any, str], model: Any, wanted: list[Any] | None) -> list[str]:
    """The columns of the model, in its order; others that are asked for are refused."""
    if wanted is not None and set(wanted) != set(known):
        what = f"--columns names {', '.join(map(str, wanted[:5]))}, and the model was fitted on {', '.join(known[:5])}"
        fail(what, "leave out --columns: a model finds its columns by their names", "data")
    lacking = [name for name in known if name not in kinds]
    if lacking:
        listed = ", ".join(f"'{name}'" for name in lacking[:5]) + (", …" if len(lacking) > 5 else "")
        called = f"{model.called} were" if hasattr(model, "called") else f"{type(model).__name__} was"
        fail(
            f"the file lacks {len(lacking)} of the {len(known)} columns that the {called} fitted on: {listed}",
            f"rename its columns, or fit a model to it; it has {', '.join(map(str, list(kinds)[:5]))}",
            "data",
        )
    return known


def _fitted_text(model: Any) -> set[Any]:
    """The columns that a model, or one of several, has met as text: in new rows their cells may look like numbers."""
    plans = [getattr(each, "_plan", None) for each in getattr(model, "models", (model,))]
    return {field.name for plan in plans if plan is not None for field in plan.fields if field.kind == "text"}
