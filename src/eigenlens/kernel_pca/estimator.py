"""`KernelPCA`: the scikit-learn estimator for exact and approximate kernel PCA with pre-images."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenlens import checks
from eigenlens.arrays import Array, Like, as_host, dense, is_tensor, to_numpy
from eigenlens.data.coerce import as_source, is_dask, require_finite, rereadable
from eigenlens.data.rows import mean_over_rows, row_count
from eigenlens.data.source import Source, progress_callback
from eigenlens.errors import ConvergenceWarning, DataWarning, warn_user
from eigenlens.estimator.base import ProjectionEstimator, forward, model_view, per_score
from eigenlens.estimator.rows import dense_blocks, map_rows, per_row, require_finite_rows, validate_rows
from eigenlens.kernel_pca import storage
from eigenlens.kernel_pca.features import APPROXIMATIONS, fit_landmark_components
from eigenlens.kernel_pca.fit import KernelPCAFit, fit_kernel_pca
from eigenlens.kernel_pca.kernels.precomputed import Precomputed
from eigenlens.kernel_pca.model import KernelComponents
from eigenlens.kernel_pca.options import (
    check_diagonal,
    check_gram_solver,
    check_kernel_components,
    check_n_landmarks,
    memory_budget,
    resolve_kernel,
    rows_in_memory,
    warn_default_gamma,
    warn_kernel_fit,
)
from eigenlens.kernel_pca.preimage import (
    PREIMAGES,
    InverseMap,
    PreImageOptions,
    PreImages,
    find_preimages,
    learn_inverse,
)
from eigenlens.linalg.spectrum import Outcome
from eigenlens.missing.standardize import StandardizedColumns


@dataclass(eq=False, repr=False)
class KernelPCA(StandardizedColumns, ProjectionEstimator):
    """Principal components of phi(x), through the kernel k(x, y) = <phi(x), phi(y)> alone.

    The centred Gram matrix K̄ = (I − 1pᵀ) K (I − p1ᵀ) has eigenvalues lam and eigenvectors u; the component of unit
    length in feature space is v = Σ u_i phi(x_i) / √lam, and the score of a row is <phi(x) − mean, v> (Schölkopf, Smola
    and Müller 1998, "Nonlinear component analysis as a kernel eigenvalue problem"). Without centring, K takes the place
    of K̄, and zero the place of the mean.

    Parameters:
        n_components: int; a float in (0, 1) for the share of variance in feature space; None for all of them.
        kernel: a key of `eigenlens.kernel_pca.kernels.KERNELS`, "linear", "poly" (gamma x·y + coef0)^degree, "rbf"
            exp(−gamma|x − y|²), "laplacian" exp(−gamma|x − y|₁), "sigmoid" tanh(gamma x·y + coef0), "cosine" or
            "precomputed" (X is the kernel matrix); or a callable k(X, Y) that returns a matrix (n, m).
        center: False for components about the origin of feature space instead of the mean of phi, also of a
            precomputed matrix.
        standardize: use the kernel of the columns divided by their standard deviations (divisor Σw), k(x / s, y / s).
            Nothing is subtracted, so that sparse rows stay sparse; "rbf" and "laplacian" do not depend on that. gamma
            is then that of standardised columns, for which 1/d is a sensible width; pre-images are in the units of the
            columns.
        gamma: a number; None for 1/d; "scale" for 1/(d var X); "median" for the median heuristic.
        sigma: of "rbf" instead of gamma, k = exp(−|x − y|² / 2 sigma²): gamma = 1 / (2 sigma²).
        degree, coef0: of "poly" and "sigmoid". kernel_params: a dict of a kernel's other options, or of keywords for a
            callable.
        solver: "auto" (see `eigenlens.kernel_pca.route.choose_eigen_route`), "dense", "lanczos" ("arpack" in
            scikit-learn) or "randomized".
        approximation: None for the exact solution; "rpcholesky" or "nystroem" for landmarks, with the exact share of
            the trace that is left out; "fourier" for random features. These read a Source or a Dask array in passes.
        n_landmarks: their number; or, below 1, the share of the trace that may be left out. None for 1000 or n.
        preimage: the method of `inverse_transform` and `denoise`: "fixed-point", "mds" or "ridge".
        max_memory: bytes (or a text such as "4GB") that an exact fit may use beside the rows; None for 80 per cent of
            the free memory. A Gram matrix beyond it is never stored: its tiles are recomputed in every pass.
        random_state: seed of the starts, landmarks and frequencies.
        tol: residual ‖K̄u − lam u‖ / lam₁ that iterative solvers must meet.
        verbose: True for a progress bar, or a callable (rows done, rows in all, what).

    Attributes:
        eigenvalues_: (k,) of the Gram matrix, centred unless center=False. eigenvectors_: (n, k), of an exact fit.
        coefficients_: (n, k) alpha of the components v = Σ alpha_i phi(x_i), of length 1; of an approximation
            (m, k), by its landmarks or random features.
        explained_variance_: (k,) eigenvalues_ over Σw − 1; over Σw without centring, where it is a mean square.
        explained_variance_ratio_: eigenvalues_ over the trace.
        approximation_error_: the share of the trace of the Gram matrix that is left out; 0 for an exact fit. For
            "fourier" an estimate of the relative error of the kernel values.
        gamma_: the number used. n_components_, n_samples_, n_landmarks_: k, n and the number of rows stored.
        scale_: (d,) standard deviations by which columns are divided, ones unless standardised.
        solver_: an `Outcome`: solver, reason, passes, residuals. model_: the frozen `KernelComponents`.

    Example:
        >>> from sklearn.datasets import make_circles
        >>> X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
        >>> Z = KernelPCA(5, kernel="poly", degree=2, gamma=1.0).fit_transform(X)
        >>> inner, outer = Z[y == 1, 4], Z[y == 0, 4]  # the fifth component is nearly a function of the radius
        >>> bool(inner.min() > outer.max() or outer.min() > inner.max())
        True
    """

    n_components: int | float | None = None
    _: KW_ONLY
    kernel: str | Callable[..., Any] = "rbf"
    center: bool = True
    standardize: bool = False
    gamma: float | str | None = None
    sigma: float | None = None
    degree: int = 3
    coef0: float = 1.0
    kernel_params: Mapping[str, Any] | None = None
    solver: str = "auto"
    approximation: str | Callable[..., Any] | None = None
    n_landmarks: int | float | None = None
    preimage: str = "fixed-point"
    max_memory: int | float | str | None = None
    random_state: Any = None
    tol: float = 1e-9
    verbose: Any = False

    _storage = storage
    _state = "model_"

    # ---- fitting ----------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Fit the components to the rows of X (n, d), row i counting sample_weight[i] times.

        checkpoint: a path, or a `Checkpoint`, from which the same call goes on after its process was killed.
        """
        self._fit(X, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and return the scores (n, k) of the same rows, which an exact fit computes anyway."""
        X = rereadable(X)
        fit = self._fit(X, sample_weight)
        if fit is None or is_dask(X) or np.any(np.isnan(fit.scores)):
            return self.transform(X)
        return self._like(fit.scores)

    def _fit(self, X: Any, sample_weight: Any) -> KernelPCAFit | None:
        source = validate_rows(self, X, sample_weight, reset=True)
        n_components = check_kernel_components(self, source)
        rows, units = self._standardize(source)
        rng = checks.generator(self.random_state)
        with progress_callback(self.verbose) as progress:
            if self.approximation is None:
                fit = self._exact(rows, n_components, rng, progress)
                model, outcome, self._exact_fit = fit.model, fit.outcome, True
            else:
                fit, self._exact_fit = None, False
                model, outcome = self._approximate(rows, n_components, rng, progress)
        self._rows_like, self._scale = Like(X, source.dtype), None if units is None else units.scale
        model = replace(model, scale=self._scale, rows=model.rows if is_tensor(X) else as_host(model.rows))
        self.model_, self.solver_, self.n_samples_ = model, outcome, row_count(source)
        self._inverse: dict[int, InverseMap] = {}
        return fit

    def _approximate(
        self, source: Source, n_components: Any, rng: np.random.Generator, progress: Any
    ) -> tuple[KernelComponents, Outcome]:
        choose = checks.choice(
            "approximation", self.approximation, APPROXIMATIONS, takes="source, kernel, n_landmarks, rng, progress"
        )
        kernel, self.gamma_ = resolve_kernel(self, source, rng)
        warn_default_gamma(self, kernel, source)
        asked = check_n_landmarks(self, source)
        found = fit_landmark_components(
            source, kernel, choose, asked, n_components, rng=rng, progress=progress, center=self.center
        )
        if not found.met:
            left_out = f"{found.reason}, which leave out {found.model.left_out:.2g} of the trace"
            what = f"{{n_landmarks}} is an error that was not reached: {left_out}"
            warn_user(DataWarning(what, settings={"n_landmarks": asked}))
        name = self.approximation if isinstance(self.approximation, str) else "callable"
        return found.model, Outcome(name, found.reason, found.passes)

    def _exact(self, source: Source, n_components: Any, rng: np.random.Generator, progress: Any) -> KernelPCAFit:
        rows = rows_in_memory(self, source)
        kernel, self.gamma_ = resolve_kernel(self, rows, rng, source.weight)
        fit = fit_kernel_pca(
            rows,
            kernel,
            n_components,
            weight=source.weight,
            center=self.center,
            solver=check_gram_solver(self.solver),
            tol=checks.real("tol", self.tol, 0.0, 1.0),
            max_memory=memory_budget(self.max_memory, rows),
            rng=rng,
            progress=progress,
        )
        warn_kernel_fit(fit, self)
        warn_default_gamma(self, kernel, as_source(rows).weighted(source.weight))
        return fit

    # ---- rows to scores and back ------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Return the scores (n, k) of the rows of X, in its dtype and on its device; a Dask array gives a Dask array.

        For kernel="precomputed", X (n, m) holds the kernel values of the new rows with the fitted ones.
        """
        check_is_fitted(self)
        source = validate_rows(self, X)
        # A kernel that tends to a limit far away would hide an infinity.
        return map_rows(source, self.model_.scores, self.n_components_, check_rows=True)

    @per_score
    def inverse_transform(self, X: Any) -> Any:
        """Return rows (n, d) whose images are near the points with scores X (n, k), by the method of `preimage`."""
        scores = self._check_scores(X)
        return Like(scores)(self._back(self.model_, to_numpy(scores), None).rows)

    @per_row(lambda self: self.n_features_in_, lambda self, source: source.dtype)
    def denoise(self, X: Any, n_components: int | None = None) -> Any:
        """Return denoised rows (n, d): pre-images of the projections of phi(x) onto the first components.

        The search starts from the rows themselves. `n_components` may be fewer than were fitted.
        """
        check_is_fitted(self)
        k = self.n_components_ if n_components is None else n_components
        k = checks.integer("n_components", k, 1, self.n_components_, "the number of components fitted")
        source = validate_rows(self, X)
        model = self.model_.first(k)
        parts = []
        for rows in source.rows():
            Z = to_numpy(model.scores(require_finite_rows(rows, source)))
            require_finite(source, Z)
            parts.append(self._back(model, Z, dense(rows)).rows)
        return Like(X, source.dtype)(np.concatenate(parts))

    @per_row()
    def reconstruction_error(self, X: Any, k: int | None = None, *, diagonal: Any = None) -> Any:
        """Return the squared distance (n,) of each phi(x) from the subspace of the first k components (None for all).

            |phi(x) − mean|² − |z|²

        It is small for rows like the fitted ones, and large for novel ones (Hoffmann 2007, "Kernel PCA for novelty
        detection"). For kernel="precomputed", `diagonal` (n,) holds the values k(x, x), which X does not.
        """
        check_is_fitted(self)
        k = self.n_components_ if k is None else k
        model = self.model_.first(checks.integer("k", k, 1, self.n_components_, "the number of components fitted"))
        source = validate_rows(self, X)
        norms, start = check_diagonal(self, diagonal, source.n_rows), 0
        errors = []
        for rows in dense_blocks(source):
            own = None if norms is None else norms[start : start + len(rows)]
            errors.append(model.squared_distances(require_finite_rows(rows, source), own)[1])
            start += len(rows)
        require_finite(source, *errors)
        return np.concatenate(errors)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, *, diagonal: Any = None) -> float:
        """Return minus the mean of `reconstruction_error`, weighted: the larger, the better the rows are described.

        It compares numbers of components, not kernels: a wider kernel brings all rows nearer to each other.
        """
        errors = to_numpy(self.reconstruction_error(X, diagonal=diagonal))
        return -mean_over_rows(errors, checks.weights(sample_weight, len(errors)))

    def _back(self, model: KernelComponents, Z: Array, start: Array | None) -> PreImages:
        method = checks.name("preimage", self.preimage, PREIMAGES)
        options = PreImageOptions(learned=self._learned(model) if method == "ridge" else None)
        found = find_preimages(model, Z, method, start, options)
        if np.any(found.failed):
            first = int(np.flatnonzero(found.failed)[0])
            what = (
                f"the method {method!r} found no pre-image for {int(found.failed.sum())} of {len(found.failed)} rows "
                f"(first: row {first}); the nearest fitted rows were returned for them. Other rows are not affected"
            )
            fix, settings = "{preimage} always finds one", {"preimage": "ridge"}
            warn_user(ConvergenceWarning(what, fix=fix, settings=settings))
        return found

    def _learned(self, model: KernelComponents) -> InverseMap | None:
        """Return the learned inverse map for this number of components, learned once."""
        k = model.coefficients.shape[1]
        if model.kernel.identity or isinstance(model.kernel, Precomputed):
            return None
        if k not in self._inverse:
            self._inverse[k] = learn_inverse(model)
        return self._inverse[k]

    # ---- learned attributes: views of the model ---------------------------------------------------------

    eigenvalues_ = model_view("eigenvalues", "The eigenvalues (k,) of the (centred) Gram matrix, descending.")
    coefficients_ = model_view(
        "coefficients", "The coefficients alpha (n, k) of the components v = Σ alpha_i phi(x_i) of length 1."
    )
    explained_variance_ = model_view("variances", "The variances (k,) of the scores.")
    explained_variance_ratio_ = model_view(
        "ratio", "The shares (k,) of the variance in feature space, by the trace of the (centred) Gram matrix."
    )

    @property
    def eigenvectors_(self) -> Any:
        """The eigenvectors (n, k) of the weighted Gram matrix, centred unless center=False, of unit length."""
        if not self._exact_fit:
            raise AttributeError("eigenvectors_ exists after an exact fit; an approximation has coefficients_.")
        return self._like(self.model_.unit_vectors)

    approximation_error_ = forward(
        "model_.left_out", "The share of the trace of the Gram matrix that is left out; 0 for an exact fit."
    )

    @property
    def n_components_(self) -> int:
        """The number k of components."""
        return int(self.model_.eigenvalues.size)

    @property
    def n_landmarks_(self) -> int:
        """The number of landmarks or features: all rows for an exact fit."""
        return int(self.model_.coefficients.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = str(self.kernel) == "precomputed"
        return tags
