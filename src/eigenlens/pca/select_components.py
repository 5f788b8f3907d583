"""Suggestions for the number of components: every rule applied to one spectrum, in one table."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.data.coerce import as_source
from eigenlens.data.column_range import require_range
from eigenlens.errors import OptionError
from eigenlens.estimator.resume import resumable
from eigenlens.linalg import n_components as rule_functions
from eigenlens.linalg.n_components import N_COMPONENTS_RULES
from eigenlens.linalg.operators import CentredRows
from eigenlens.pca.fit import PCAOptions, fit_pca
from eigenlens.tables.text_table import align

NOTES = {
    "mle": "largest evidence (Minka 2000)",
    "parallel": "above the 95% point of permuted columns (Horn 1965)",
    "gavish-donoho": "above the optimal threshold for unknown noise (2014)",
    "cv": "best prediction of held-out blocks (Owen and Perry 2009)",
    "kaiser": "above the mean eigenvalue (Kaiser 1960)",
}


@resumable
def select_components(
    X: Any,
    *,
    share: float = 0.9,
    rules: Iterable[str] | None = None,
    standardize: bool = False,
    sample_weight: Any = None,
    random_state: Any = None,
    checkpoint: Any = None,
) -> ComponentTable:
    """Return a table with the number of components that each rule suggests, and the share of variance that it keeps.

    Rules: the share of variance, and those of `PCA(n_components=…)`: "mle", "parallel", "gavish-donoho", "cv",
    "kaiser". Parallel analysis and cross-validation need entries, not moments: beyond 50 million entries they use a
    random sample of rows. Cost: one spectrum, 40 more for parallel analysis and 40 smaller ones for "cv". From
    `checkpoint`, a path or a `Checkpoint`, the same call goes on after its process was killed.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 10)) * 3 + rng.standard_normal((200, 10))
    >>> table = select_components(X, random_state=0)
    >>> table["parallel"].n_components, table["mle"].n_components
    (3, 3)
    """
    source = require_range(as_source(X))
    source = source.weighted(checks.weights(sample_weight, source.n_rows))
    target = checks.real("share", share, 0.0, 1.0)
    asked = list(N_COMPONENTS_RULES) if rules is None else checks.listed("rules", rules)
    names = [checks.name("rules", rule, N_COMPONENTS_RULES) for rule in asked]
    fit = fit_pca(source, None, PCAOptions(checks.boolean("standardize", standardize)))
    values, rng = fit.spectrum.values, checks.generator(random_state)
    kept = rule_functions.share(values, fit.model.total, target) or len(values)
    table = [_suggestion(f"{target:.0%} of variance", kept, fit.model.total, values, "the share of variance asked for")]
    table += [_apply_rule(name, values, fit.rows, fit.model.total, rng) for name in names]
    return ComponentTable(tuple(table))


def _apply_rule(name: str, values: Array, rows: CentredRows, total: float, rng: np.random.Generator) -> Suggestion:
    try:
        return _suggestion(name, N_COMPONENTS_RULES[name](values, rows, rng), total, values, NOTES.get(name, ""))
    except OptionError as error:  # the line of a rule that does not apply to this shape has the reason
        return Suggestion(name, 0, math.nan, f"does not apply: {error}")


def _suggestion(rule: str, k: int, total: float, values: Array, note: str) -> Suggestion:
    return Suggestion(rule, k, float(values[:k].sum() / total) if total > 0.0 else 0.0, note)


@dataclass(frozen=True)
class Suggestion:
    """The suggestion of one rule: the number of components, the share of variance that they hold, and a remark."""

    rule: str
    n_components: int
    share: float
    note: str = ""

    def cells(self) -> tuple[str, str, str, str]:
        """Return the row as text; a share that is NaN is left blank."""
        shown = "" if math.isnan(self.share) else f"{self.share:.1%}"
        return self.rule, str(self.n_components), shown, " ".join(self.note.split())


@dataclass(frozen=True, repr=False)
class ComponentTable:
    """The suggestions of several rules, one row per rule; `table["mle"]` is the row of the rule "mle".

    >>> rows = Suggestion("kaiser", 3, 0.71), Suggestion("parallel", 12, 0.934, "20 permutations")
    >>> ComponentTable(rows)
    rule      components  share  note
    kaiser             3  71.0%
    parallel          12  93.4%  20 permutations
    >>> ComponentTable(rows)["kaiser"].n_components
    3
    """

    rows: tuple[Suggestion, ...]

    def __getitem__(self, rule: str) -> Suggestion:
        for row in self.rows:
            if row.rule == rule:
                return row
        known = ", ".join(repr(row.rule) for row in self.rows)
        raise OptionError(f"is not in this table, which has {known or 'no rows'}", argument="rule", value=rule)

    def __iter__(self) -> Iterator[Suggestion]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return align(_TITLES, [row.cells() for row in self.rows], sides="<>><")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        body = "".join(_html_row(row.cells(), "td") for row in self.rows)
        return f"<table><thead>{_html_row(_TITLES, 'th')}</thead><tbody>{body}</tbody></table>"


_TITLES = ("rule", "components", "share", "note")


def _html_row(cells: tuple[str, ...], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"
