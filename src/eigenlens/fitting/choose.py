"""How many components? Every rule on one spectrum, in one table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.data.resolve import as_source
from eigenlens.errors import OptionError
from eigenlens.fitting import select
from eigenlens.fitting.pca import RULES, fit_pca
from eigenlens.fitting.suggestions import ComponentTable, Suggestion
from eigenlens.linalg.operators import CentredRows

__all__ = ["select_components"]

NOTES = {
    "mle": "largest evidence (Minka 2000)",
    "parallel": "above the 95% point of permuted columns (Horn 1965)",
    "gavish-donoho": "above the optimal threshold for unknown noise (2014)",
    "cv": "best prediction of held-out blocks (Owen and Perry 2009)",
    "kaiser": "above the mean eigenvalue (Kaiser 1960)",
}


def select_components(
    X: Any,
    *,
    share: float = 0.9,
    rules: Iterable[str] | None = None,
    standardize: bool = False,
    sample_weight: Any = None,
    random_state: Any = None,
) -> ComponentTable:
    """One table: what each rule says about the number of components, and the share of variance that keeps.

    Rules: the share of variance, and those of `PCA(n_components=…)`: "mle", "parallel", "gavish-donoho", "cv",
    "kaiser". Parallel analysis and cross-validation need entries, not moments: beyond 50 million entries they look at a
    random sample of rows. Cost: one spectrum, 40 more for parallel analysis and 40 smaller ones for "cv".

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 10)) * 3 + rng.standard_normal((200, 10))
    >>> table = select_components(X, random_state=0)
    >>> table["parallel"].n_components, table["mle"].n_components
    (3, 3)
    """
    source = as_source(X)
    source = source.weighted(checks.weights(sample_weight, source.n_rows))
    target = checks.real("share", share, 0.0, 1.0)
    names = list(RULES) if rules is None else [checks.choice("rules", rule, RULES) for rule in rules]
    fit = fit_pca(source, None, standardize=standardize)
    values, rng = fit.spectrum.values, checks.generator(random_state)
    kept = _at_least_one(select.share(values, fit.model.total, target), len(values))
    table = [_suggestion(f"{target:.0%} of variance", kept, fit.model.total, values, "the share of variance asked for")]
    for name in names:
        table.append(_judged(name, values, fit.rows, fit.model.total, rng))
    return ComponentTable(tuple(table))


def _judged(name: str, values: Array, rows: CentredRows, total: float, rng: np.random.Generator) -> Suggestion:
    try:
        return _suggestion(name, RULES[name](values, rows, rng), total, values, NOTES.get(name, ""))
    except OptionError as error:  # a rule that does not apply to this shape says so in its line
        return Suggestion(name, 0, 0.0, f"does not apply: {error}")


def _at_least_one(k: int | None, most: int) -> int:
    return most if k is None else max(1, k)


def _suggestion(rule: str, k: int, total: float, values: Array, note: str) -> Suggestion:
    return Suggestion(rule, k, float(values[:k].sum() / total) if total > 0.0 else 0.0, note)
