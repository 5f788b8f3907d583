"""Tables that hold a covariance or correlation matrix instead of rows: how they are recognised and fitted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.cli.errors import fail
from eigenlens.data.files.decision import Decision
from eigenlens.errors import DataError, DataWarning, warn_user
from eigenlens.estimator.covariance_matrix import correlations_from_covariance, unknown_samples


class CovarianceTable(NamedTuple):
    """A matrix S (d, d) that a table holds, what it is called, and the names of its variables."""

    S: Array
    called: str
    names: tuple[str, ...]


def find_covariance(table: Any) -> CovarianceTable | None:
    """Return the covariance or correlation matrix that a table is, or None.

    It is square, symmetric, has positive variances and no negative eigenvalue; one half of it may be missing. Row names
    that differ from the column names say that it is a table of rows.
    """
    _reject_triangle(table)
    S, names = _square(table), getattr(table.source, "names", None)
    if S is None or names is None:
        return None
    _reject_two_halves(S)
    try:
        correlations_from_covariance(S, names)
    except DataError:
        _warn_of_distances(S, half=bool(table.missing))
        return None
    unit = np.allclose(S.diagonal(), 1.0, rtol=0.0, atol=1e-8)
    return CovarianceTable(S, "correlation matrix" if unit else "covariance matrix", names)


def _square(table: Any) -> Array | None:
    """Return a square table whose lines have no other names than its columns, both halves filled; None for others."""
    if table.missing is None or table.n != table.d or table.d < MIN_VARIABLES or not hasattr(table.source, "array"):
        return None
    names, ids = table.source.names, table.ids
    if names is None or (ids is not None and ids.dtype.kind in "OU" and list(map(str, ids)) != list(names)):
        return None
    return _fill_half(np.asarray(table.source.array, dtype=np.float64))


def _warn_of_distances(S: Array, half: bool) -> None:
    """Warn of a symmetric matrix with zeros on its diagonal and no negative entry; `half` of one is an error."""
    if np.all(S >= 0.0) and not S.diagonal().any() and np.allclose(S, S.T):
        if half:
            fix = "give the measurements themselves, or the distances of all pairs"
            fail("the table is one half of a matrix of distances, and rows of measurements are needed", fix, "data")
        what = (
            "the table looks like a matrix of distances, and its lines are fitted as if they were rows of measurements"
        )
        warn_user(DataWarning(what, fix="give the measurements themselves; --rows says that they are"))


MIN_VARIABLES = 3
"""A symmetric table of two rows may well be a coincidence."""

MIN_TRIANGLE = 4
"""The fewest rows that show the half of a matrix by its missing entries."""


def _reject_two_halves(S: Array) -> None:
    """Raise for a matrix with ones on its diagonal whose halves differ, such as correlations above p-values."""
    if np.all(S.diagonal() == 1.0) and np.abs(S).max() <= 1.0 and not np.allclose(S, S.T, atol=1e-8):
        what = "the table has ones on its diagonal, and its halves differ, as correlations and their p-values do"
        fix = "empty the cells of the half that holds no correlations: the other one is a correlation matrix"
        fail(what, fix, "data")


def _reject_triangle(table: Any) -> None:
    """Raise for a table of articles: half a matrix of correlations without ones, perhaps beside means."""
    if not table.missing or not MIN_TRIANGLE <= table.n <= MAX_VARIABLES or not hasattr(table.source, "array"):
        return
    X = np.asarray(table.source.array, dtype=np.float64)
    half = X[:, np.isnan(X).any(axis=0)]
    below = np.tri(table.n, table.n, -1, dtype=bool)[:, : half.shape[1]]
    if half.shape[1] in (table.n, table.n - 1) and np.array_equal(~np.isnan(half), below) and _are_correlations(half):
        what = "the table is one half of a matrix of correlations, without the ones on its diagonal"
        fix = "write 1 there, and leave out other columns, such as means: it is then a correlation matrix"
        fail(what, fix, "data")


def _are_correlations(half: Array) -> bool:
    return bool(np.nanmax(np.abs(half)) <= 1.0)


MAX_VARIABLES = 1_000
"""The most variables of a table of correlations in an article."""


def _fill_half(S: Array) -> Array:
    """Return a matrix of which one half is missing as a symmetric one; any other unchanged."""
    return np.where(np.isnan(S), S.T, S)


def say_matrix(now: Any, table: Any, found: CovarianceTable) -> None:
    """Print that a matrix was read: its lines are not rows."""
    now.say("read", f"{table.shown_paths}: a {found.called} of {table.d} variables")
    now.add_facts(read=table.without_rows.facts | {"matrix": found.called}, decisions=[])


def fit_covariance_table(model: Any, found: CovarianceTable, n_samples: int | None, command: str) -> Decision:
    """Fit a model to a matrix, and return what was done as a decision."""
    if not hasattr(model, "fit_covariance"):
        # Not in the way out, which is tried: its lines are hardly rows.
        what = f"the table is a {found.called} (unless --rows says that its lines are rows), and {command} needs rows"
        fail(what, "use pca, ppca, fa or spca, which take it, or give the rows themselves", "data")
    if n_samples is None and command in NEED_SAMPLES:
        what = f"the table is a {found.called}, and {command} needs the number of rows that it was computed from"
        fail(what, "add --n-samples N", "usage")
    from eigenlens.data.files.base import pl

    S, d = pl.DataFrame(found.S, schema=list(found.names)), len(found.S)
    # Eigenvalues do not depend on the number of rows.
    model.fit_covariance(S, n_samples=unknown_samples(d) if n_samples is None else n_samples)
    how = "" if n_samples is not None else "; --n-samples N gives the number of rows behind it, which is not known"
    what = f"the table is a {found.called} of {d} variables, and is fitted as one"
    return Decision("matrix", what, (), f"--rows takes its lines for rows{how}")


NEED_SAMPLES = ("ppca", "fa")
"""Models whose likelihood needs the number of rows."""
