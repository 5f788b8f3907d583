"""The rows of X for an estimator: a validated Source, functions applied block by block, results as a frame like X."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial, wraps
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from eigenlens import checks
from eigenlens.arrays import Array, Like, dense, is_sparse, is_tensor, namespace, slices
from eigenlens.data.coerce import as_source, explain_nonfinite, is_dask, require_finite, require_no_infinity
from eigenlens.data.column_range import require_range
from eigenlens.data.device_rows import send_rows
from eigenlens.data.memory import ArraySource, FrameSource, native_names, reject_repeated_names
from eigenlens.data.rows import row_count, stack_rows
from eigenlens.data.source import Source
from eigenlens.densities.fitting import single_column_table
from eigenlens.errors import DataError, OptionError, join_limited
from eigenlens.linalg.operators import CentredRows, concatenate
from eigenlens.stats.moments import Moments
from eigenlens.stats.triangles import triangle_about_zero


def validate_rows(estimator: BaseEstimator, X: Any, sample_weight: Any = None, *, reset: bool = False) -> Source:
    """Return X as a source with its weights; feature names and count are stored (reset) or compared with the fit's.

    X (n,) is one column for an estimator that takes such and was fitted to one.
    """
    if not reset and getattr(estimator, "_takes_column", False) and getattr(estimator, "n_features_in_", 0) == 1:
        X = column_as_table(X)
    source = as_source(X)
    if reset and hasattr(estimator, "table_"):  # the file of an earlier fit
        del estimator.table_
    if isinstance(X, Source) or source.own_names:
        _check_names(estimator, source, reset)
    else:
        if not (reset or (source.names and hasattr(estimator, "feature_names_in_"))):
            _check_count(estimator, source)  # where names could differ too, scikit-learn looks at these first
        check_feature_names(estimator, X, reset=reset)
    if sample_weight is not None:
        source = source.weighted(checks.weights(sample_weight, row_count(source)))
    if not reset:
        return source
    source = require_range(source)
    return send_rows(source) if getattr(estimator, "_makes_passes", True) else source


def check_feature_names(estimator: BaseEstimator, X: Any, *, reset: bool) -> None:
    """Store the feature names and count of X (reset), or compare them with the fit's, in scikit-learn's words."""
    plain = type(X) is np.ndarray and X.ndim == 2
    if plain and not hasattr(estimator, "feature_names_in_"):  # no names here, and none to compare
        if reset:
            estimator.n_features_in_ = X.shape[1]
        if X.shape[1] == getattr(estimator, "n_features_in_", None):
            return
    try:
        validate_data(estimator, X, skip_check_array=True, reset=reset)
    except TypeError:
        kinds = sorted({type(name).__name__ for name in X.columns})
        what = f"has columns whose names are of several types ({', '.join(kinds)})"
        raise DataError(what, argument="X", fix="make all of them text: X.columns = X.columns.astype(str)") from None
    except ValueError as error:
        reject_repeated_names(native_names(X))
        raise DataError(str(error).strip(), within="X", fix="use the columns of the fit") from None


def column_as_table(X: Any) -> Any:
    """Return a list of numbers, a Series or an array of one dimension as a table of one column, other X unchanged.

    >>> column_as_table([1.0, 2.0]).shape, column_as_table([[1.0, 2.0]])
    ((2, 1), [[1.0, 2.0]])
    """
    if isinstance(X, list | tuple):
        one = not any(hasattr(value, "__len__") and getattr(value, "ndim", 1) for value in X)
    else:
        one = getattr(X, "ndim", None) == 1 or hasattr(X, "to_frame")
    return single_column_table(X) if one else X


def _check_names(estimator: Any, source: Source, reset: bool) -> None:
    """Store or compare the feature names and count of a Source, as scikit-learn does for arrays."""
    if reset:
        estimator.n_features_in_ = source.n_features
        if source.names is not None:
            estimator.feature_names_in_ = np.asarray(source.names, dtype=object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and source.names is not None and list(known) != list(source.names):
        raise DataError(_names_that_differ(list(source.names), known.tolist()), fix="give X the columns of the fit")
    _check_count(estimator, source)


def _check_count(estimator: Any, source: Source) -> None:
    """Check the number of features, in the words that scikit-learn's checks of estimators look for."""
    d, known, name = source.n_features, getattr(estimator, "n_features_in_", None), type(estimator).__name__
    if known is not None and d != known:
        what = f"has {d} features, but {name} is expecting {known} features as input"
        raise DataError(what, argument="X", fix="use the columns of the fit")


def _names_that_differ(names: list[Any], known: list[Any]) -> str:
    """Return how the columns of X differ from those of the fit: those missing, those new, or where the order differs.

    >>> _names_that_differ(["a", "c"], ["a", "b"])
    "the columns of X are not those the model was fitted on: X lacks 'b'; new are 'c'"
    """
    here, there = set(names), set(known)
    missing = [repr(name) for name in known if name not in here]
    new = [repr(name) for name in names if name not in there]
    parts = [f"X lacks {join_limited(missing, 8)}"] if missing else []
    if new:
        parts.append(f"new are {join_limited(new, 8)}")
    if not parts:
        j = next(j for j, (name, other) in enumerate(zip(names, known, strict=False)) if name != other)
        parts = [f"their order differs (column {j} is {names[j]!r}, not {known[j]!r})"]
    return f"the columns of X are not those the model was fitted on: {'; '.join(parts)}"


def dense_blocks(source: Source) -> Iterator[Array]:
    """Yield the rows as dense float64 blocks of at most 16 MiB."""
    step = max(1, (16 << 20) // (8 * source.n_features))
    for rows in source.rows():
        for part in slices(rows.shape[0], step):
            yield dense(rows[part, :])


def map_blocks(source: Source, function: Callable[[Array], Array]) -> Array:
    """Apply a function to the rows, one block at a time, and return the results as one array; NaN raises an error."""
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is found in the result, and explained
        result = np.concatenate([function(block) for block in dense_blocks(source)])
    require_finite(source, result)
    return result


def map_rows(source: Source, function: Callable[[Any], Any], width: int, *, check_rows: bool = False) -> Any:
    """Apply a function to rows of any kind, and return its results (n, width) in their kind.

    Results that are NaN or infinite raise an error, with `check_rows` also such rows. A Dask array gives a Dask array,
    whose chunks raise the error where they are computed.
    """
    if hasattr(source, "map_rows"):
        return source.map_rows(partial(_finite_chunk, function=function, check_rows=check_rows), width)
    parts = (require_finite_rows(rows, source) if check_rows else rows for rows in source.rows())
    found = concatenate([function(rows) for rows in parts])
    require_finite(source, namespace(found).sum(found, axis=0))
    return found


def _finite_chunk(rows: Any, function: Callable[[Any], Any], check_rows: bool) -> Any:
    found = function(require_finite_rows(rows) if check_rows else rows)
    require_finite(rows, found)
    return found


def per_row(
    width: Callable[[Any], int | None] = lambda estimator: None,
    dtype: Callable[[Any, Source], Any] = lambda estimator, source: np.float64,
    check: Callable[[Any, Any], Source] = validate_rows,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the decorator of a method from rows X to NumPy results, one per row, that returns them in the kind of X.

    A tensor gives a tensor on its device, but text stays a NumPy array. A Dask array gives a Dask array, whose chunks
    are computed, and checked, on demand.

    Args:
        width: the number of columns of the result, of a fitted estimator; None for one number per row.
        dtype: that of a Dask result, of a fitted estimator and the source of X.
        check: from a fitted estimator and a Dask array X to its source; by default X has the columns of the fit.
    """

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        first = list(inspect.signature(method).parameters)[1]

        @wraps(method)
        def of_rows(estimator: Any, *given: Any, **options: Any) -> Any:
            X, *arguments = given or (options.pop(first),)
            if not is_dask(X):
                with np.errstate(over="ignore"):  # densities of rows far away are 0
                    found = method(estimator, X, *arguments, **options)
                return Like(X).exact(found) if is_tensor(X) else found
            check_is_fitted(estimator)
            source: Any = getattr(estimator, "_check_table", partial(check, estimator))(X)
            columns, kind = width(estimator), np.dtype(dtype(estimator, source))
            call = getattr(estimator, method.__name__), arguments, options
            results = partial(_chunk_results, call=call, width=columns, dtype=kind, names=source.names)
            return source.map_rows(results, columns, kind)

        return of_rows

    return decorate


def _chunk_results(
    rows: Any, call: tuple[Any, Any, Any], width: int | None, dtype: np.dtype[Any], names: tuple[str, ...] | None
) -> Array:
    if not rows.shape[0]:
        return np.empty((0,) if width is None else (0, width), dtype)
    method, arguments, options = call
    if names is not None and isinstance(rows, np.ndarray):  # of the columns of a frame, which the model knows
        rows = ArraySource(rows, names=names)
    return np.asarray(method(rows, *arguments, **options), dtype=dtype)


def rows_dtype(X: Any) -> np.dtype[Any]:
    """Return float32 for an array, tensor or frame of float32 alone, otherwise float64.

    >>> rows_dtype(np.ones((2, 2), dtype=np.float32)), rows_dtype([[1.0]])
    (dtype('float32'), dtype('float64'))
    """
    known = hasattr(X, "shape")  # a lazy frame warns of the cost of its columns
    kinds = {str(X.dtype)} if hasattr(X, "dtype") else set(map(str, getattr(X, "dtypes", ()) if known else ()))
    return np.dtype(np.float32 if kinds and all("float32" in kind.lower() for kind in kinds) else np.float64)


def collect_rows(source: Source) -> Any:
    """Return all rows in memory as an array, a CSR matrix or a tensor; NaN and infinities raise an error."""
    parts = list(source.rows())
    return require_finite_rows(parts[0] if len(parts) == 1 else stack_rows(tuple(parts)), source)


def require_finite_rows(rows: Any, X: Any = None) -> Any:
    """Return rows of any kind without NaN and infinities; the error describes X, by default the rows."""
    entries = rows.data if is_sparse(rows) else rows
    if not bool(namespace(entries).all(namespace(entries).isfinite(entries))):
        raise explain_nonfinite(as_source(rows if X is None else X))
    return rows


class MomentsOnlySource(Source):
    """A source without rows, for a fit of which only the moments are left."""

    def __init__(self, moments: Moments) -> None:
        self.n_rows, self.n_features = max(moments.rows, int(moments.weight * (1.0 + 1e-12))), moments.mean.size
        self.dtype = np.dtype(np.float64)

    def rows(self) -> Iterator[Any]:
        """Raise an error: the rows are gone."""
        what = "this rule of n_components needs the rows themselves"
        why = "but after partial_fit or fit_covariance only their moments are left"
        raise OptionError(f"{what}, {why}", fix="give n_components as a number")


def rows_from_moments(moments: Moments, triangle: Array | None = None, **options: Any) -> CentredRows:
    """Return the operator of rows of which only the moments are known, and perhaps the triangle (r, d) about the mean.

    The options are those of `CentredRows`.
    """
    rows = CentredRows(MomentsOnlySource(moments), moments=moments, **options)
    if triangle is not None:
        R = triangle if rows.center else triangle_about_zero(triangle, moments)
        rows.known_triangle = (R if rows.scale is None else R / rows.scale) / np.sqrt(rows.divisor)
    return rows


def _to_frame_like(values: Array, X: Any, source: Source) -> Any:
    """Return values (n, d) as a frame of X's kind, index and columns if X is one, else unchanged.

    >>> import numpy as np, pandas as pd
    >>> X = pd.DataFrame({"a": [1, 2]}, index=["first", "second"])
    >>> _to_frame_like(np.array([[0.5], [1.5]]), X, FrameSource(X))
              a
    first   0.5
    second  1.5
    """
    if not isinstance(source, FrameSource) or isinstance(X, Source):
        return values
    import narwhals.stable.v2 as nw

    columns = {name: values[:, j] for j, name in enumerate(source.frame.columns)}
    made = nw.from_dict(columns, backend=source.frame.implementation).to_native()
    if nw.dependencies.is_pandas_like_dataframe(X):
        made.index, made.columns = X.index, X.columns
    return made


def impute_rows(model: Any, X: Any, source: Source, with_std: bool) -> list[Any]:
    """Return X (n, d) with NaN replaced by the model's conditional means, and their standard deviations if wanted.

    They are frames of X's kind if X is one, and Dask arrays if it is one.
    """
    if hasattr(source, "map_rows"):
        chunks = [partial(_impute_chunk, model=model, which=which) for which in range(1 + with_std)]
        return [source.map_rows(chunk, source.n_features) for chunk in chunks]
    parts, like = [_impute_block(block, model, with_std) for block in dense_blocks(source)], Like(X, source.dtype)
    return [_to_frame_like(like(np.concatenate(part)), X, source) for part in zip(*parts, strict=True)]


def _impute_chunk(rows: Any, model: Any, which: int) -> Any:
    """Return the imputed rows (0) or their standard deviations (1) of a chunk, in its dtype.

    Complete chunks are copied too, so that no result shares memory with its input.
    """
    return Like(rows)(np.array(_impute_block(dense(rows), model, bool(which))[which]))


def _impute_block(rows: Array, model: Any, with_std: bool) -> tuple[Array, ...]:
    """Return imputed rows, and the standard deviations of imputed entries if these are wanted."""
    require_no_infinity(rows)
    return model.impute(rows, return_std=True) if with_std else (model.impute(rows),)
