"""`SparsePCA`: the scikit-learn estimator for sparse principal components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from eigenlens import checks
from eigenlens.arrays import Like
from eigenlens.data.source import Source, progress_callback
from eigenlens.estimator.base import ProjectionEstimator, forward, model_view, per_score
from eigenlens.estimator.covariance_matrix import read_covariance
from eigenlens.estimator.rows import map_blocks, map_rows, per_row, rows_from_moments, validate_rows
from eigenlens.linalg.operators import CentredRows, project_rows
from eigenlens.sparse_pca import storage
from eigenlens.sparse_pca.best_support import PROOF_TOL
from eigenlens.sparse_pca.fit import fit_sparse_components
from eigenlens.sparse_pca.model import SparseComponents
from eigenlens.sparse_pca.options import check_max_nodes, check_nonzero


@dataclass(eq=False, repr=False)
class SparsePCA(ProjectionEstimator):
    """Directions of large variance that use few columns each, so that they can be read: max vᵀS v, ‖v‖ = 1, ‖v‖₀ ≤ s.

    Components are found one after the other; each is the one that adds most to the variance explained by those before
    it. Truncated power steps (Yuan and Zhang 2013) from many starts find a support, and branch and bound (Berk and
    Bertsimas 2019) improves it or proves it to be the best; up to a few dozen columns it nearly always does. Only the
    covariance matrix of the rows is needed, which takes one pass.

    Parameters:
        n_components: the number k of components.
        n_nonzero: the largest number s of columns of a component, one number or one per component; None for √d, rounded
            up. 1 chooses columns; d is PCA.
        standardize: divide columns by their standard deviations: components of the correlation matrix.
        max_nodes: supports or groups of them that branch and bound examines per component; None for about a second's
            work, which is none beyond some 700 columns. 0 keeps what the power steps found.
        verbose: True for a progress bar, or a callable (done, total, text).

    Attributes:
        components_: (k, d) unit vectors with at most s entries other than 0, the largest of each positive.
        explained_variance_: (k,) the variance of the scores of each that the scores before do not explain, the adjusted
            variance of Zou, Hastie and Tibshirani (2006); divisor n − 1. The scores are correlated.
        explained_variance_ratio_: (k,) over `total_variance_`, the sum of the variances of all columns.
        bound_: (k,) no component with as few columns could have added more. optimal_: (k,) whether that is proved.
        loadings_: (d, k) components_.T * sqrt(explained_variance_). mean_, scale_: (d,).
        n_components_, n_samples_: k, and the number of rows with positive weight.
        n_nodes_: how many nodes branch and bound opened. model_: the frozen `SparseComponents`.

    Later directions are not constrained by earlier ones, so components need not be orthogonal, and may share columns.
    Errors: NaN and infinities, and more components than explain all the variance.

    Example:
        >>> X = [[2.0, 1.9, 0.1], [-2.0, -2.1, 0.0], [0.1, 0.0, 1.0], [-0.1, 0.2, -1.1]]
        >>> sparse = SparsePCA(2, n_nonzero=[2, 1]).fit(X)
        >>> sparse.components_.round(2), sparse.optimal_
        (array([[0.71, 0.71, 0.  ], [0.  , 0.  , 1.  ]]), array([ True,  True]))
    """

    n_components: int = 2
    _: KW_ONLY
    n_nonzero: int | Sequence[int] | None = None
    standardize: bool = False
    max_nodes: int | None = None
    verbose: Any = False

    axis_stem: ClassVar[str] = "SPC"
    _storage = storage

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Fit the components of the rows of X (n, d), row i counting sample_weight[i] times.

        checkpoint: a path, or a `Checkpoint`, from which the same call goes on after its process was killed.
        """
        source = validate_rows(self, X, sample_weight, reset=True)
        with progress_callback(self.verbose) as progress:
            rows = CentredRows(source, standardize=checks.boolean("standardize", self.standardize), progress=progress)
            return self._fit_rows(X, source, rows, progress)

    def fit_covariance(self, S: Any, n_samples: float, mean: Any = None) -> Self:
        """Fit the components of rows of which only the covariance or correlation matrix S (d, d) is known.

        S, n_samples and mean are as those of `PCA.fit_covariance`: the divisor of S is n_samples − 1.

        >>> S = [[4.0, 0.0, 0.0], [0.0, 3.0, 2.0], [0.0, 2.0, 3.0]]
        >>> SparsePCA(1, n_nonzero=2).fit_covariance(S, n_samples=50).explained_variance_
        array([5.])
        """
        given = read_covariance(self, S, n_samples, mean, constant=True)
        standardize = checks.boolean("standardize", self.standardize)
        rows = rows_from_moments(given.moments(given.n - 1.0), standardize=standardize)
        return self._fit_rows(S, given.source, rows, None)

    def _fit_rows(self, X: Any, source: Source, rows: CentredRows, progress: Any) -> Self:
        counts = check_nonzero(self.n_components, self.n_nonzero, source.n_features)
        self._model, found = fit_sparse_components(rows, counts, check_max_nodes(self.max_nodes), progress)
        self.n_samples_, self.n_nodes_ = rows.n_rows, sum(each.nodes for each in found)
        self._rows_like = Like(X, source.dtype)
        return self

    def transform(self, X: Any) -> Any:
        """Return the scores (n, k) of the rows of X, V (x − mean) / scale, in X's dtype and on its device."""
        check_is_fitted(self)
        project = partial(project_rows, mean=self.model_.mean, V=self.model_.score_map)
        # Columns that no component uses would hide what is not finite in them.
        return map_rows(validate_rows(self, X), project, self.n_components_, check_rows=True)

    @per_score
    def inverse_transform(self, X: Any) -> Any:
        """Return the rows (n, d) in the space of the components that have the scores X (n, k).

        Columns that no component uses are at their means.
        """
        Z = self._check_scores(X)
        like = Like(Z)
        return Z @ like(self.model_.row_map) + like(self.model_.mean)

    @per_row()
    def reconstruction_error(self, X: Any) -> Any:
        """Return the squared distance (n,) of each row from its projection, in the units of the analysis."""
        check_is_fitted(self)
        return map_blocks(validate_rows(self, X), self.model_.squared_error)

    # ---- learned attributes: views of the model ---------------------------------------------------------

    @property
    def model_(self) -> SparseComponents:
        """The frozen model."""
        check_is_fitted(self)
        return self._model

    components_ = model_view("components", "The components (k, d), unit vectors with few entries, one per row.")
    explained_variance_ = model_view("variances", "The variance (k,) that each component adds to those before it.")
    loadings_ = model_view("loadings", "The loadings (d, k), components_.T * sqrt(explained_variance_).")
    mean_ = model_view("mean", "The means (d,) of the columns.")
    scale_ = model_view("scale", "The scales (d,) of the columns, ones unless standardised.")
    bound_ = model_view("bounds", "An upper bound (k,) on the variance that a component as sparse could have added.")
    total_variance_ = forward("model_.total", "The sum of the variances of all columns.")

    @property
    def explained_variance_ratio_(self) -> Any:
        """The shares (k,) of the total variance that the components explain."""
        return self._like(self.model_.variances / self.model_.total)

    @property
    def optimal_(self) -> Any:
        """Whether each component (k,) is proved to be the best with as few columns, given those before it."""
        return self._like.exact(self.model_.bounds <= self.model_.variances * (1.0 + 10.0 * PROOF_TOL))

    @property
    def n_components_(self) -> int:
        """The number k of components."""
        return int(self.model_.components.shape[0])
