"""The role of each column of a table: as the options say, as the model remembers, or as the column itself suggests."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eigenlens.cli.errors import fail, phrase_with_flags
from eigenlens.cli.guess_roles import GuessedRole, Role, role_decisions
from eigenlens.cli.model_options import commands
from eigenlens.cli.options import ReadingOptions
from eigenlens.cli.selection import Kinds, choose_columns, choose_one_column
from eigenlens.data.column_kinds import ColumnKind
from eigenlens.data.files.decision import Decision

Guesses = Callable[[], Mapping[Any, GuessedRole]]
"""A function that guesses the roles of all columns; it is called where roles are needed that nobody named."""


@dataclass(frozen=True)
class ColumnRoles:
    """Columns by their role.

    Attributes:
        features: those to work on, in order. text: features that hold categories though their cells may look like
            numbers. id: the column that names the rows, or None. labels: columns of classes and colours, the class
            first. weight: the column of weights, or None. supplementary: columns shown with the result of a fit.
        unused: columns without a role. decisions: those that nobody asked for.
    """

    features: list[Any]
    text: list[Any]
    id: Any
    labels: tuple[Any, ...]
    weight: Any
    supplementary: tuple[Any, ...]
    unused: tuple[Any, ...]
    decisions: tuple[Decision, ...] = ()

    @property
    def beside(self) -> tuple[Any, ...]:
        """The columns that are read beside the features, each once."""
        named = [self.id, self.weight, *self.labels, *self.supplementary]
        return tuple(dict.fromkeys(name for name in named if name is not None))


def choose_roles(
    reading: ReadingOptions, kinds: Kinds, filters: Collection[Any], model: Any, guess: Guesses | None = None,
    decisions: Sequence[Decision] = (),
) -> ColumnRoles:  # fmt: skip
    """Return the role of each column.

    `model`: a fitted one, whose columns are taken, or None. `filters`: columns of --where. `guess`: roles of columns
    that no option names; None where such columns are features, whatever they hold. `decisions`: those about the
    files, some of which say why columns stay text.
    """
    named = _NamedColumns.of(reading, kinds)
    guesses = {} if guess is None else {name: each for name, each in guess().items() if name not in named.all}
    features = _choose_features(reading, kinds, named, filters, model, guesses)
    if not features:
        _reject_no_features(guesses, [each for each in decisions if each.stays_text])
    asked = set(choose_columns(reading.text, kinds, "text") or ()) | _fitted_text(model)
    fitted = set(features)  # of wide tables both are long
    guessed = {name: each for name, each in guesses.items() if name not in fitted}
    if named.id is not None:  # rows have one name
        guessed = {n: each._replace(role=Role.ASIDE) if each.role == Role.ID else each for n, each in guessed.items()}
    names = [name for name, each in guessed.items() if each.role == Role.ID]
    colours = [name for name, each in guessed.items() if each.role == Role.LABEL]
    id, labels = next(iter(names), named.id), (*named.labels, *colours)
    taken = {*features, id, named.weight, *labels, *named.supplementary}
    return ColumnRoles(
        features, [name for name in features if name in asked], id, labels, named.weight, named.supplementary,
        tuple(name for name in kinds if name not in taken),
        tuple(role_decisions(guessed)),
    )  # fmt: skip


@dataclass(frozen=True)
class _NamedColumns:
    """The columns that options name."""

    id: Any
    labels: tuple[Any, ...]
    weight: Any
    supplementary: tuple[Any, ...]
    active: tuple[Any, ...]
    all: frozenset[Any]

    @classmethod
    def of(cls, reading: ReadingOptions, kinds: Kinds) -> _NamedColumns:
        id, weight = (choose_one_column(getattr(reading, role), kinds, role) for role in ("id", "weight"))
        labels = tuple(dict.fromkeys(choose_one_column(name, kinds, "label") for name in reading.label or ()))
        lists = {
            option: choose_columns(getattr(reading, option), kinds, option) or []
            for option in ("supplementary", "active", "columns", "drop", "text", "dates")
        }
        every = {id, weight, *labels, *(name for names in lists.values() for name in names)}
        return cls(id, labels, weight, tuple(lists["supplementary"]), tuple(lists["active"]), frozenset(every))

    @property
    def passive(self) -> set[Any]:
        """Columns that are no features, since an option gives them another role."""
        return {name for name in (self.id, self.weight, *self.labels, *self.supplementary) if name is not None}


def _choose_features(
    reading: ReadingOptions, kinds: Kinds, named: _NamedColumns, filters: Collection[Any], model: Any,
    guesses: Mapping[Any, GuessedRole],
) -> list[Any]:  # fmt: skip
    """Return the columns to work on: those asked for, or the model's, or all; less those with another role."""
    wanted = choose_columns(reading.columns, kinds, "columns")
    known = getattr(model, "feature_names_in_", None)
    if known is not None and str in {type(name) for name in kinds}:
        return _features_of_model(list(known), kinds, model, wanted)
    dropped = set(choose_columns(reading.drop, kinds, "drop") or ()) | named.passive
    # A column of text that only filters rows need not be dropped by hand.
    dropped |= {name for name in filters if kinds.get(name) == ColumnKind.TEXT}
    if wanted is None:
        dropped |= {name for name, each in guesses.items() if each.role != Role.ACTIVE}
    left = [name for name in kinds if name in named.active or wanted is None or name in wanted]
    left = [*wanted, *(name for name in left if name not in wanted)] if wanted is not None else left
    return [name for name in left if name not in dropped]


def _reject_no_features(guesses: Mapping[Any, GuessedRole], unread: Sequence[Decision]) -> None:
    """Raise where no column is left to work on, with one that could be used."""
    aside = [each for each in guesses.values() if each.role != Role.ACTIVE]
    varying = [each for each in aside if each.varies]
    text = any(not each.numeric or each.role == Role.LABEL for each in varying)
    usable = [str(each.column) for each in varying if each.numeric and not (text and each.role == Role.ID)]
    if usable:
        lack, fix = "", f"use one of those left out with --active {shlex.quote(usable[0])}"
    elif any(each.role == Role.LABEL for each in varying):
        lack, fix = ": none holds numbers", f"fit {' or '.join(commands('mixed'))}, which take categories"
    elif varying:
        lack, fix = ": none holds numbers or categories", "give a table that has some"
    elif aside:
        lack, fix = ": none has two different entries", "give a table in which they differ"
    else:
        lack, fix = "", "drop fewer"
    what = f"no column is left to work on{lack}"
    why = [each for each in unread if set(each.columns) <= {str(name) for name in guesses}] if lack and varying else []
    if why:
        words, way = phrase_with_flags(why[0])
        what, fix = f"{what}; {words}", f"{way}, or {fix}"
    fail(what, f"{fix}, or see the columns with eigenlens info", "data")


def _features_of_model(known: list[str], kinds: Kinds, model: Any, wanted: list[Any] | None) -> list[str]:
    """Return the columns of the model, in its order; others that are asked for are an error."""
    if wanted is not None and set(wanted) != set(known):
        what = f"--columns names {', '.join(map(str, wanted[:5]))}, and the model was fitted on {', '.join(known[:5])}"
        fail(what, "leave out --columns: a model finds its columns by their names", "data")
    lacking = [name for name in known if name not in kinds]
    if lacking:
        listed = ", ".join(f"'{name}'" for name in lacking[:5]) + (", …" if len(lacking) > 5 else "")
        called = f"{model.called} were" if hasattr(model, "called") else f"{type(model).__name__} was"
        what = f"the file lacks {len(lacking)} of the {len(known)} columns that the {called} fitted on: {listed}"
        fix = f"rename its columns, or fit a model to it; it has {', '.join(map(str, list(kinds)[:5]))}"
        lies = (getattr(model, "table_", None) or {}).get("text", {}).get("transpose") and len(lacking) == len(known)
        fail(what, "exchange its rows and columns with --transpose, as for the fit" if lies else fix, "data")
    return known


def _fitted_text(model: Any) -> set[Any]:
    """Return the columns that a model, or one of several, was fitted to as text: new cells may look like numbers."""
    plans = [getattr(each, "_plan", None) for each in getattr(model, "models", (model,))]
    return {f.name for plan in plans if plan is not None for f in plan.fields if f.kind == ColumnKind.TEXT}
