"""`KernelDensity`: the scikit-learn estimator for kernel density estimates."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from eigenlens import checks
from eigenlens.arrays import Array, Like, is_tensor, namespace, to_numpy
from eigenlens.data.coerce import explain_nonfinite
from eigenlens.data.memory import ArraySource, TensorSource
from eigenlens.data.source import Source
from eigenlens.errors import OptionError
from eigenlens.estimator.base import DensityEstimator
from eigenlens.estimator.rows import column_as_table, dense_blocks, per_row, validate_rows
from eigenlens.gpu.runtime import on_device
from eigenlens.kde import storage
from eigenlens.kde.model import KernelEstimate
from eigenlens.kde.options import (
    check_bounds,
    check_kde_options,
    read_complete_rows,
    resolve_bandwidth,
)
from eigenlens.missing.standardize import StandardizedColumns, column_units


@dataclass(eq=False, repr=False)
class KernelDensity(StandardizedColumns, DensityEstimator, DensityMixin, BaseEstimator):  # type: ignore[misc]
    """A kernel density estimate: a kernel on every row, f(y) = Σ_i w_i Π_j K((y_j − x_ij) / h_j) / h_j / Σ w.

    Parameters:
        kernel: "gaussian", "box", "epanechnikov", "triangular", "biweight", "triweight", "cosine", "laplace", or a
            callable K(u) of arrays: symmetric, not negative, of integral one. Several columns have a product of
            kernels, one per column. scikit-learn's names "tophat", "linear" and "exponential" are taken too.
        bandwidth: the scale h of the kernel: the Gaussian's standard deviation; kernels of bounded support reach from
            −h to h. A number, or one per column (d,), or for the Gaussian its covariance H (d, d). Or a rule:
            "silverman", "scott", "sheather-jones", "sheather-jones-dpi", "isj", "lscv", "lscv-exact", "mlcv"; its
            result for the Gaussian is converted to the kernel by canonical bandwidths.
        standardize: bandwidths that are given, and those that a function finds, are in standard deviations of the
            columns (divisor Σw): 0.3 means 0.3 scale_[j] in column j. Rules by name follow the units of each column
            either way. bandwidth_ and bounds are in the units of the columns.
        bounds: None, or a pair (low, high) for all columns, or a pair for each; None or inf means no bound.
        adaptive: whether kernels are wider where rows are rare: times (f(x_i) / g)^(−½), f the density with h alone
            and g its geometric mean (Abramson 1982). Sums over adaptive kernels take longer.
        tol: the relative error of f that is allowed in Gaussian sums; it is usually far smaller. The minimum is 1e-15.
        boundary: "reflect" mirrors the rows at the bounds, so that f has slope 0 there; "renormalize" truncates the
            kernels and divides each by its mass within the bounds; "linear", for one column, fits a line to what
            kernels see near a bound (Jones and Foster 1996), so that f may rise or fall there; "periodic" is for
            angles and times of day: what leaves at one bound enters at the other. In every case f integrates to one
            between the bounds.
        random_state: seed of `sample`.

    Attributes:
        bandwidth_: h, a number for one column; else (d,) or (d, d). scale_: (d,), ones unless standardised.
        n_samples_: the number of rows with positive weight.
        model_: the frozen `KernelEstimate`.

    Errors: a bandwidth that is not positive, rows outside the bounds, a constant column (for rules), NaN and infinities
    in `fit`. NaN in rows to be scored is a missing value: the density is then that of the other columns. A row of
    weight 0 does not count in `score`, whatever it contains.

    The log-density is −inf outside the bounds, where no row is drawn. A Gaussian or Laplace density has its true
    logarithm however far away; other kernels give −inf there.

    Example:
        >>> kde = KernelDensity(bandwidth=0.4).fit([1.8, 2.0, 2.1, 4.1, 4.4, 4.6])
        >>> kde.density([2.0, 3.2]).round(3), kde.cdf([3.2]).round(3), kde.ppf([0.5]).round(3)
        (array([0.474, 0.021]), array([0.502]), array([3.124]))
        >>> kde.score_samples([[100.0]]).round(1)
        array([-28442.9])
    """

    _: KW_ONLY
    kernel: Any = "gaussian"
    bandwidth: Any = "sheather-jones"
    standardize: bool = False
    bounds: Any = None
    adaptive: bool = False
    tol: float = 1e-8
    boundary: str = "reflect"
    random_state: Any = None

    _storage = storage
    _takes_column = True
    _makes_passes = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Store the rows of X (n, d), or (n,) for one column, and choose the bandwidth.

        Row i counts sample_weight[i] times. Where one column was fitted, the other methods take X (n,) too.

        checkpoint: an error unless None: all rows are read into memory, and there is no pass that could be resumed.
        """
        if y is None:  # with a second argument that is ignored, X (n,) is probably a mistake, and scikit-learn says so
            X = column_as_table(X)
        source = validate_rows(self, X, sample_weight, reset=True)
        kernel, boundary, tol, adaptive, standardize = check_kde_options(self)
        rows, weight = read_complete_rows(source)
        bounds = check_bounds(self.bounds, rows, boundary)
        self._scale = column_units(ArraySource(rows).weighted(weight)).scale if standardize else None
        h = resolve_bandwidth(self.bandwidth, rows, weight, kernel, bounds, source.names, self._scale)
        model = KernelEstimate(rows, h, weight, kernel, bounds, boundary, tol=max(tol, MIN_KDE_TOL))
        self._model = model.adapted() if adaptive else model
        self._rows_like = Like(X, source.dtype)
        return self

    # ---- the density ------------------------------------------------------------------------------------

    @per_row()
    def density(self, X: Any) -> Any:
        """Return the density (n,) at the rows of X (n, d)."""
        return np.exp(to_numpy(self.score_samples(X)))

    @per_row()
    def derivative(self, X: Any) -> Any:
        """Return the derivative (n,) of the density of one column."""
        return self.model_.derivative(self._rows(X)[:, 0] if self.n_features_in_ == 1 else np.empty(0))

    def _log_densities(self, source: Source) -> Array:
        found = self._device_log_densities(source)
        return self._host_log_densities(source) if found is None else found

    def _device_log_densities(self, source: Source) -> Array | None:
        """Return the log densities of rows on a device where all are finite and sums are taken there; else None."""
        if not isinstance(source, TensorSource) or source.weight is not None or not on_device(source.tensor):
            return None
        found = []
        for rows in source.rows():
            xp = namespace(rows)
            part = self.model_.device_log_density(rows) if bool(xp.all(xp.isfinite(rows))) else None
            if part is None:
                return None
            found.append(part)
        return np.concatenate(found)

    def _host_log_densities(self, source: Source) -> Array:
        found, start = [], 0
        for block in dense_blocks(source):
            if source.weight is not None:
                absent = source.weight[start : start + len(block)] == 0.0
                block = (
                    np.where(absent[:, None], np.nan, block) if absent.any() else block
                )  # an empty row has log-density 0
            found.append(self.model_.log_density(_finite(block, source)))
            start += len(block)
        return np.concatenate(found)

    # ---- distribution function, quantiles ---------------------------------------------------------------

    @per_row()
    def cdf(self, X: Any) -> Any:
        """Return the probability (n,) of rows not above those of X (n, d) in any column; NaN in X is no limit.

        Where the bandwidth is a matrix, at most three of its columns may depend on each other.
        """
        check_is_fitted(self)
        return self.model_.cdf(np.concatenate(list(dense_blocks(validate_rows(self, X)))))

    def ppf(self, q: Any) -> Any:
        """Return quantiles of one column, in the shape of q: the smallest y with cdf(y) ≥ q."""
        model, share = self.model_, checks.numbers("q", q)
        if not np.all((share >= 0.0) & (share <= 1.0)):
            what = f"must hold probabilities from 0 to 1; found {share.min():g} to {share.max():g}"
            raise OptionError(what, argument="q")
        found = model.ppf(share.ravel()).reshape(share.shape)
        return Like(q, found.dtype)(found) if is_tensor(q) else found

    # ---- other densities --------------------------------------------------------------------------------

    def marginal(self, columns: Any) -> KernelEstimate:
        """Return the density of some columns, by number or name, in the order given."""
        return self.model_.marginal(self._column_numbers(columns))

    def condition(self, columns: Any, values: Any) -> KernelEstimate:
        """Return the density of the other columns, given the values of these, by number or name."""
        given: KernelEstimate = self._condition(columns, values)
        return given

    # ---- learned attributes -----------------------------------------------------------------------------

    @property
    def model_(self) -> KernelEstimate:
        """The frozen estimate."""
        check_is_fitted(self)
        return self._model

    @property
    def bandwidth_(self) -> Any:
        """The bandwidth h: a number for one column, else (d,), or the matrix (d, d)."""
        h = self.model_.bandwidth
        return float(h[0]) if h.size == 1 else self._like.exact(h)

    @property
    def n_samples_(self) -> int:
        """The number of rows with positive weight."""
        return len(self.model_.points)

    # ---- parts ------------------------------------------------------------------------------------------

    def _rows(self, X: Any) -> Array:
        """Return all rows of X in float64."""
        check_is_fitted(self)
        source = validate_rows(self, X)
        return np.concatenate([_finite(block, source) for block in dense_blocks(source)])


MIN_KDE_TOL = 1e-15
"""The smallest tolerance of Gaussian sums: rounding is no smaller."""


def _finite(block: Array, source: Source) -> Array:
    if np.isinf(block).any():
        raise explain_nonfinite(source)
    return block
