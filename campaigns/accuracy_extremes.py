"""Cases at the ends of the range of numbers, of ranks and of weights, for the campaign of accuracy."""

from __future__ import annotations

import numpy as np
from sklearn import decomposition, discriminant_analysis, naive_bayes, neighbors

import eigenlens as el
from campaigns.accuracy_references import (
    AccuracyCase,
    Array,
    Comparison,
    Rng,
    centred_rows,
    exact,
    gaussian_log_density,
    kernel_log_density,
    principal_axes,
)


def _rows(rng: Rng, n: int, d: int) -> Array:
    return np.round(1024.0 * rng.standard_normal((n, d)) @ rng.standard_normal((d, d))) / 1024.0


def _classes(rng: Rng, n: int, d: int) -> tuple[Array, Array]:
    y = np.arange(n) % 2
    return _rows(rng, n, d) + y[:, None], y


def _factor_density(rng: Rng) -> Comparison:
    """The log density of factors of which one variable has next to no noise, against the matrix W Wᵀ + Psi."""
    z = rng.standard_normal((200, 1))
    X = z @ rng.standard_normal((1, 5)) + 0.5 * rng.standard_normal((200, 5))
    X[:, 0] = 2.0 * z[:, 0]
    model = el.FactorAnalysis(1).fit(X).model_
    half = np.vstack([exact(model.loadings).T, np.diag(np.sqrt(exact(model.noise)))])
    wanted = gaussian_log_density(X[:20], exact(model.mean), *principal_axes(half))
    return Comparison(model.log_density(X[:20]), None, wanted, np.maximum(np.abs(wanted), 1.0))


def _matrix_bandwidth(rng: Rng, far: float) -> Comparison:
    """The density far away by a bandwidth matrix, which rotates to a product of kernels."""
    X, y = rng.standard_normal((100, 2)), far * np.array([[1.0, 0.5], [-1.0, 2.0], [0.0, 1.0]])
    H = np.array([[0.5, 0.3], [0.3, 0.4]])
    L = np.linalg.cholesky(H).astype(np.longdouble)
    inverse = np.array([[1.0 / L[0, 0], 0.0], [-L[1, 0] / (L[0, 0] * L[1, 1]), 1.0 / L[1, 1]]])
    wanted = (
        kernel_log_density(exact(X) @ inverse.T, exact(y) @ inverse.T, 1.0, "gaussian") - np.log(L.diagonal()).sum()
    )
    return Comparison(el.KernelDensity(bandwidth=H).fit(X).score_samples(y), None, wanted)


def _near_duplicates(rng: Rng) -> Comparison:
    """Eigenvalues of the centred Gram matrix of rows that are nearly equal in pairs."""
    X = rng.standard_normal((12, 3))
    X = np.concatenate([X, X + 1e-8])
    E = exact(X)
    K = np.exp(-np.sum((E[:, None] - E) ** 2, axis=2) / 3.0)
    K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    wanted = np.sqrt(principal_axes(K)[0][:5])  # singular values of a symmetric matrix
    theirs = decomposition.KernelPCA(5, kernel="rbf", eigen_solver="dense").fit(X).eigenvalues_
    return Comparison(el.KernelPCA(5).fit(X).eigenvalues_, theirs, wanted, wanted[0])


def _naive_units(rng: Rng, unit: float, weight: float = 1.0) -> Comparison:
    """The log-odds of Gaussian naive Bayes do not depend on the unit of the columns, nor on that of weights."""
    X, y = _classes(rng, 100, 3)
    w = np.full(100, weight)
    ours = el.NaiveBayes("gaussian", added_variance=0.0).fit(X * unit, y, sample_weight=w)
    theirs = naive_bayes.GaussianNB(var_smoothing=0.0).fit(X * unit, y, sample_weight=w)
    new, wanted = X[:10], np.zeros(10, dtype=np.longdouble)
    for c, sign in ((0, -1.0), (1, 1.0)):
        part = exact(X[y == c])
        mean, variance = part.mean(axis=0), part.var(axis=0)
        wanted += sign * np.sum(-0.5 * np.log(variance) - 0.5 * (exact(new) - mean) ** 2 / variance, axis=1)
    found, there = (np.diff(model.predict_joint_log_proba(new * unit), axis=1).ravel() for model in (ours, theirs))
    return Comparison(found, there, wanted, np.maximum(np.abs(wanted), 1.0))


def _weighted_density(rng: Rng, weight: float) -> Comparison:
    X, y = rng.standard_normal((100, 2)), rng.standard_normal((5, 2))
    w = weight * np.linspace(1.0, 2.0, 100)
    theirs = neighbors.KernelDensity(bandwidth=0.5).fit(X, sample_weight=w).score_samples(y)
    found = el.KernelDensity(bandwidth=0.5, tol=1e-14).fit(X, sample_weight=w).score_samples(y)
    return Comparison(found, theirs, kernel_log_density(X, y, 0.5, "gaussian", w), 1.0)


def _single_precision(rng: Rng) -> Comparison:
    """Rows of float32 about 1e8, where they are multiples of 8; sums are float64."""
    X = (1e8 + 8.0 * np.round(100.0 * rng.standard_normal((300, 3)) @ rng.standard_normal((3, 3)))).astype(np.float32)
    theirs = decomposition.PCA(3).fit(X).explained_variance_
    found = el.PCA(3).fit(X).model_.variances
    return Comparison(found, theirs, principal_axes(centred_rows(X))[0])


def _wide_discriminant(rng: Rng) -> Comparison:
    """Fewer rows than columns, shrunk by a half towards the diagonal."""
    X, y = _classes(rng, 10, 14)
    parts = [exact(X[y == c]) for c in (0, 1)]
    rows = np.concatenate([part - part.mean(axis=0) for part in parts]) / np.sqrt(np.longdouble(10))
    half = np.vstack([rows, np.diag(np.sqrt(np.sum(rows * rows, axis=0)))]) * np.sqrt(np.longdouble(0.5))
    values, V = principal_axes(half)
    means = [part.mean(axis=0) for part in parts]
    wanted = np.subtract(*(gaussian_log_density(X, mean, values, V) for mean in means[::-1]))
    found = el.LinearDiscriminant(shrinkage=0.5).fit(X, y).decision_function(X)
    return Comparison(found, None, wanted, np.maximum(np.abs(wanted), 1.0))


def _graded_discriminant(rng: Rng) -> Comparison:
    """The log-odds of a linear discriminant do not depend on the units of columns."""
    X, y = _classes(rng, 200, 4)
    units = np.array([1e-8, 1.0, 1e8, 1e3])
    E = np.concatenate([exact(X[y == c]) - exact(X[y == c]).mean(axis=0) for c in (0, 1)])
    values, V = principal_axes(E / np.sqrt(np.longdouble(200)))
    logs = [gaussian_log_density(X[:10], exact(X[y == c]).mean(axis=0), values, V) for c in (0, 1)]
    wanted = logs[1] - logs[0]
    theirs = discriminant_analysis.LinearDiscriminantAnalysis().fit(X * units, y).decision_function(X[:10] * units)
    found = el.LinearDiscriminant().fit(X * units, y).decision_function(X[:10] * units)
    return Comparison(found, theirs, wanted, np.maximum(np.abs(wanted), 1.0))


EXTREME_CASES = [
    AccuracyCase("FactorAnalysis, a variable without noise", _factor_density),
    *(
        AccuracyCase(f"KernelDensity, bandwidth matrix, {far:g} away", lambda rng, far=far: _matrix_bandwidth(rng, far))
        for far in (1e2, 1e6, 1e100)
    ),
    AccuracyCase("KernelPCA, rows equal to 1e-8 in pairs", _near_duplicates),
    *(
        AccuracyCase(f"NaiveBayes, unit {unit:g}", lambda rng, unit=unit: _naive_units(rng, unit))
        for unit in (1e-150, 1e-100, 1e100)
    ),
    *(
        AccuracyCase(f"NaiveBayes, weights {weight:g}", lambda rng, weight=weight: _naive_units(rng, 1.0, weight))
        for weight in (1e-90, 1e90)
    ),
    *(
        AccuracyCase(f"KernelDensity, weights {weight:g}", lambda rng, weight=weight: _weighted_density(rng, weight))
        for weight in (1e-90, 1e90)
    ),
    AccuracyCase("PCA, float32 about 1e8", _single_precision),
    AccuracyCase("LinearDiscriminant, fewer rows than columns", _wide_discriminant),
    AccuracyCase("LinearDiscriminant, units 1e-8 to 1e8", _graded_discriminant),
]
