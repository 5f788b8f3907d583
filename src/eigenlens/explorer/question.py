"""A question about a table: columns with their roles, a model with its options, and the plane that is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eigenlens import checks
from eigenlens.catalogue import ModelEntry
from eigenlens.errors import DataError, OptionError
from eigenlens.explorer.explored_model import LIVE_MODELS, explored_model
from eigenlens.explorer.explored_table import ExploredTable
from eigenlens.explorer.row_part import ALL_ROWS, RowPart, read_part

ROLES = ("active", "supplementary", "colour", "name", "weight", "ignore")
"""The roles of columns, in the order of the shelf."""

SINGLE_ROLES = ("name", "weight")
"""Roles that one column has at most."""

FIRST_COMPONENTS = 5
"""Components that are kept at first, if there are as many."""


@dataclass(frozen=True)
class Question:
    """All that a page asks: a plain value, so that the same question has the same answer, and can be undone.

    Attributes:
        roles: ((column, role), …) of all columns, in the order of the table. model: its name on the command line.
        k: components kept. standardize: whether columns are divided by their standard deviations.
        rotation: its name, or None. axes: the two components of the plane, from 0; one where there is one. Of models
            without components, two active columns.
        rows: those that are fitted. options: ((option, value), …) of the model, by their names on the command line.
    """

    roles: tuple[tuple[str, str], ...]
    model: str = "pca"
    k: int = 2
    standardize: bool = True
    rotation: str | None = None
    axes: tuple[int, ...] = (0, 1)
    rows: RowPart = ALL_ROWS
    options: tuple[tuple[str, Any], ...] = ()

    def columns(self, role: str) -> tuple[str, ...]:
        """Return the columns with a role."""
        return tuple(name for name, own in self.roles if own == role)

    @property
    def weight(self) -> str | None:
        """The column of weights, or None."""
        return next(iter(self.columns("weight")), None)

    @property
    def id(self) -> str | None:
        """The column that names the rows, or None."""
        return next(iter(self.columns("name")), None)

    def as_json(self) -> dict[str, Any]:
        """Return the question as the page has it."""
        return {"roles": dict(self.roles), "model": self.model, "k": self.k, "standardize": self.standardize,
                "rotation": self.rotation, "axes": list(self.axes), "rows": self.rows.as_json(),
                "options": dict(self.options)}  # fmt: skip


def first_question(table: ExploredTable) -> Question:
    """Return the question that a page opens on: roles as the command line guesses them, columns standardised."""
    roles = tuple((each.name, each.role) for each in table.columns)
    d = len([role for _, role in roles if role == "active"])
    k = max(1, min(FIRST_COMPONENTS, d, table.n - 1))
    return Question(roles, k=k, axes=(0, 1) if k > 1 else (0,))


def read_question(given: Any, table: ExploredTable) -> Question:
    """Return a question from its JSON, checked against the table; what cannot be asked is an error."""
    if not isinstance(given, Mapping) or not isinstance(given.get("roles"), Mapping):
        raise OptionError("a question is an object with roles", fix="reload the page")
    roles = tuple((each.name, _role(given["roles"].get(each.name, "ignore"), each)) for each in table.columns)
    unknown = set(given["roles"]) - {each.name for each in table.columns}
    if unknown:
        raise DataError(f"the table has no column {min(unknown)!r}", fix="reload the page")
    _check_single(roles)
    model = checks.name("model", given.get("model", "pca"), LIVE_MODELS) or given.get("model", "pca")
    found = Question(
        roles, model=str(model), standardize=checks.boolean("standardize", given.get("standardize", True)),
        rotation=_rotation(given.get("rotation"), LIVE_MODELS[str(model)]),
        rows=read_part(given.get("rows"), len(table.sample.chosen), table.n),
    )  # fmt: skip
    parts = (given.get("k", 2), given.get("axes", (0, 1)), given.get("options", {}))
    return explored_model(found.model).settle(found, *parts, table)


def _role(role: Any, column: Any) -> str:
    if role not in ROLES:
        raise OptionError(f"{role!r} is not a role of a column", fix=f"roles are {', '.join(ROLES)}")
    if role != "ignore" and not column.usable:
        raise DataError(f"column {column.name!r} holds {column.reason}, so it can only be ignored")
    if role in ("active", "weight") and not column.numeric:
        raise DataError(f"column {column.name!r} holds text, so it cannot be {role}", fix="use it to colour the rows")
    return str(role)


def _check_single(roles: tuple[tuple[str, str], ...]) -> None:
    for wanted in SINGLE_ROLES:
        having = [name for name, role in roles if role == wanted]
        if len(having) > 1:
            raise OptionError(f"columns {having[0]!r} and {having[1]!r} both have the role {wanted}", fix="choose one")


def _rotation(given: Any, entry: ModelEntry) -> str | None:
    if given is None:
        return None
    names = entry.names["rotation"].names if "rotation" in entry.options else ()
    if given not in names:
        what = f"{entry.command} has no rotation of this name"
        raise OptionError(what, argument="rotation", value=given, fix=f"choose one of {', '.join(names) or 'none'}")
    return str(given)
