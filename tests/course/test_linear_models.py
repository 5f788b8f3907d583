"""Items of the courses on PCA and probabilistic PCA, each in three lines or fewer of the library."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial import procrustes as scipy_procrustes
from scipy.stats import multivariate_normal

from eigenlens import PCA, KernelDensity, ProbabilisticPCA, SparsePCA, datasets, procrustes
from eigenlens.densities import LinearGaussian
from eigenlens.errors import ConvergenceWarning
from eigenlens.textbook import (
    PowerMethod,
    complete_log_likelihood,
    em_path,
    em_step,
    expected_complete_log_likelihood,
    expected_latents,
    maximise_expected,
    power_path,
)


def course_rows(n=120, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + np.arange(d)


X = course_rows()
N = len(X)
MEAN = X.mean(axis=0)
S = (X - MEAN).T @ (X - MEAN) / N  # the divisor of the courses


def test_item_2_frobenius_norm():
    pca = PCA(center=False).fit(X)
    norm = np.sqrt((pca.singular_values_**2).sum())
    np.testing.assert_allclose(norm, np.sqrt(np.trace(X.T @ X)), rtol=1e-13)


def test_item_4_left_singular_vectors():
    U = PCA(3, center=False).fit(X).left_singular_vectors()
    np.testing.assert_allclose(np.abs(U.T @ np.linalg.svd(X)[0][:, :3]), np.eye(3), atol=1e-10)


def test_item_5_uncentred_components():
    pca = PCA(3, center=False).fit(X)
    np.testing.assert_allclose(np.abs(pca.components_ @ np.linalg.svd(X)[2][:3].T), np.eye(3), atol=1e-10)
    best = np.linalg.norm(np.linalg.svd(X, compute_uv=False)[3:]) ** 2
    np.testing.assert_allclose(pca.reconstruction_error(X).sum(), best, rtol=1e-10)


def test_item_9_variance_with_divisor_n():
    pca = PCA(2).fit(X)
    np.testing.assert_allclose(pca.singular_values_**2 / N, np.linalg.eigvalsh(S)[:-3:-1], rtol=1e-12)


def test_item_41_standardisation_with_divisor_n():
    pca = PCA(standardize=True).fit(X)
    np.testing.assert_allclose(pca.scale_ * np.sqrt((N - 1) / N), X.std(axis=0), rtol=1e-13)
    correlations = np.corrcoef(X.T)
    np.testing.assert_allclose(pca.explained_variance_, np.linalg.eigvalsh(correlations)[::-1], rtol=1e-10)


def test_item_56_pca_and_probabilistic_pca_of_the_same_rows():
    noise = PCA(2).fit(X).noise_variance_ * (N - 1) / N
    np.testing.assert_allclose(ProbabilisticPCA(2).fit(X).noise_variance_, noise, rtol=1e-10)


def test_item_65_uncentred_first_component():
    pca = PCA(1, center=False).fit(X)
    v = pca.components_[0]
    np.testing.assert_allclose(pca.explained_variance_[0], np.mean((X @ v) ** 2), rtol=1e-12)
    others = np.random.default_rng(1).standard_normal((6, 500))
    assert np.all(np.mean((X @ (others / np.linalg.norm(others, axis=0))) ** 2, axis=0) <= pca.explained_variance_[0])


def test_item_86_second_moments_of_a_sample():
    pca = PCA(center=False).fit(X)
    np.testing.assert_allclose(pca.get_covariance(), X.T @ X / N, rtol=1e-10)
    Z = pca.left_singular_vectors() * pca.singular_values_  # z_i = λ_i u_i, of mean square λ_i² / n
    np.testing.assert_allclose((Z**2).mean(axis=0), pca.singular_values_**2 / N, rtol=1e-10)


def test_item_122_eigenvalues_of_kernel_pca_over_n():
    from eigenlens import KernelPCA

    found = KernelPCA(3, kernel="linear").fit(X).eigenvalues_ / N
    np.testing.assert_allclose(found, np.linalg.eigvalsh(S)[:-4:-1], rtol=1e-10)


def test_item_45_number_of_components_after_the_fit():
    pca = PCA().fit(X)
    few = pca.truncated(2)
    values, vectors = np.linalg.eigh(S)
    np.testing.assert_allclose(few.explained_variance_ * (N - 1) / N, values[:-3:-1], rtol=1e-10)
    V = vectors[:, -2:]
    rebuilt = MEAN + (X - MEAN) @ V @ V.T
    np.testing.assert_allclose(pca.inverse_transform(pca.transform(X)[:, :2]), rebuilt, atol=1e-10)


def test_item_89_error_for_every_number_of_components():
    errors = PCA().fit(X).reconstruction_error(X, k=range(7), per_row=False)
    values = np.linalg.eigvalsh(S)[::-1] * N / (N - 1)
    np.testing.assert_allclose(errors, [values[q:].sum() for q in range(7)], atol=1e-10)


def test_item_115_the_data_enter_only_through_their_covariance():
    ppca = ProbabilisticPCA(2).fit_covariance(S, n_samples=N, mean=MEAN)
    pca = PCA(2).fit_covariance(S * N / (N - 1), n_samples=N, mean=MEAN)
    np.testing.assert_allclose(ppca.loglik_, ProbabilisticPCA(2).fit(X).loglik_, rtol=1e-12)
    np.testing.assert_allclose(pca.explained_variance_, PCA(2).fit(X).explained_variance_, rtol=1e-12)


def test_item_11_power_method_with_a_start_and_its_path():
    start = np.ones(6)
    path = power_path(S, start, steps=200)
    v = start / np.linalg.norm(start)
    for t in range(3):
        np.testing.assert_allclose(path.vectors[t], v, atol=1e-12)
        v = S @ v / np.linalg.norm(S @ v)
    assert np.all(np.diff(path.quotients) >= -1e-9)
    np.testing.assert_allclose(path.quotients[-1], np.linalg.eigvalsh(S)[-1], rtol=1e-10)
    with pytest.warns(ConvergenceWarning, match="after 3 iterations"):
        few = PCA(1, solver=PowerMethod(start, max_iter=3)).fit(X)
    third = path.vectors[3] if few.components_[0] @ path.vectors[3] > 0 else -path.vectors[3]
    np.testing.assert_allclose(few.components_[0], third, atol=1e-9)


def test_item_13_power_method_on_the_gram_matrix():
    path = power_path(X @ X.T, np.ones(N), steps=300)
    u = PCA(1, center=False).fit(X).left_singular_vectors()[:, 0]
    np.testing.assert_allclose(np.abs(u @ path.vectors[-1]), 1.0, rtol=1e-10)
    np.testing.assert_allclose(path.quotients[-1], np.linalg.norm(X, 2) ** 2, rtol=1e-10)


START = LinearGaussian(MEAN, np.random.default_rng(3).standard_normal((6, 2)), 1.0)


def test_item_110_complete_data_log_likelihood():
    Z = np.random.default_rng(4).standard_normal((N, 2))
    found = complete_log_likelihood(START, X, Z)
    given = multivariate_normal(np.zeros(6), np.eye(6)).logpdf(X - MEAN - Z @ START.loadings.T).sum()
    np.testing.assert_allclose(found, given + multivariate_normal(np.zeros(2)).logpdf(Z).sum(), rtol=1e-12)
    latents = expected_latents(START, X)
    means, covariance = START.posterior(X)
    np.testing.assert_allclose(latents.means, means, atol=1e-10)
    draws = means + np.random.default_rng(5).multivariate_normal(np.zeros(2), covariance, (4000, N))
    simulated = np.mean([complete_log_likelihood(START, X, Z) for Z in draws])
    np.testing.assert_allclose(expected_complete_log_likelihood(START, X, latents), simulated, rtol=1e-3)


def test_item_112_m_step_maximises_the_expected_likelihood():
    latents = expected_latents(START, X)
    best = maximise_expected(MEAN, X, latents)
    top, rng = expected_complete_log_likelihood(best, X, latents), np.random.default_rng(6)
    for _ in range(50):
        other = LinearGaussian(
            MEAN, best.loadings + 1e-3 * rng.standard_normal((6, 2)), best.noise * rng.uniform(0.9, 1.1)
        )
        assert expected_complete_log_likelihood(other, X, latents) < top


def test_item_113_em_version_1():
    W, noise = START.loadings, START.noise
    with pytest.warns(ConvergenceWarning, match="stopped after 40 steps"):
        ppca = ProbabilisticPCA(2, solver="em", init=(W, noise), max_iter=40).fit(X)
    logliks = []
    for _ in range(40):  # the ten lines of the course, by NumPy
        M_inverse = np.linalg.inv(W.T @ W + noise * np.eye(2))
        Z = (X - MEAN) @ W @ M_inverse
        ZZ = N * noise * M_inverse + Z.T @ Z
        W = (X - MEAN).T @ Z @ np.linalg.inv(ZZ)
        left = np.sum((X - MEAN) ** 2) - 2.0 * np.sum(Z * ((X - MEAN) @ W)) + np.trace(ZZ @ W.T @ W)
        noise = left / X.size
        logliks.append(multivariate_normal(MEAN, W @ W.T + noise * np.eye(6)).logpdf(X).sum())
    np.testing.assert_allclose(ppca.loglik_path_, logliks, rtol=1e-12)
    np.testing.assert_allclose(ppca.get_covariance(), W @ W.T + noise * np.eye(6), rtol=1e-9, atol=1e-9)
    model = em_step(START, X)
    np.testing.assert_allclose(model.log_density(X).sum(), logliks[0], rtol=1e-12)


def test_item_114_em_version_2_is_version_1():
    path = em_path(START, S, N, steps=30)
    model = START
    for t in range(31):
        np.testing.assert_allclose(path.models[t].loadings, model.loadings, atol=1e-10)
        np.testing.assert_allclose(path.models[t].noise, model.noise, rtol=1e-11)
        np.testing.assert_allclose(path.logliks[t], model.log_density(X).sum(), rtol=1e-11)
        model = em_step(model, X)
    assert np.all(np.diff(path.logliks) > -1e-9)


def test_item_81_inverse_root_of_the_covariance():
    Z = PCA(whiten="zca").fit_transform(X)
    values, vectors = np.linalg.eigh(S * N / (N - 1))
    np.testing.assert_allclose(Z, (X - MEAN) @ (vectors / np.sqrt(values)) @ vectors.T, atol=1e-9)


def test_item_107_no_latent_dimension_is_the_worst():
    logliks = [ProbabilisticPCA(q).fit(X).loglik_ for q in range(5)]
    noise = np.trace(S) / 6
    np.testing.assert_allclose(logliks[0], -N * 6 / 2 * (np.log(2 * np.pi * noise) + 1), rtol=1e-12)
    assert np.all(np.diff(logliks) > 0.0)


def test_item_76_sparse_components():
    sparse = SparsePCA(2, n_nonzero=3).fit(X)
    assert sparse.optimal_.all()
    parts = [list(each) for each in combinations(range(6), 3)]
    best = max(np.linalg.eigvalsh(S[np.ix_(each, each)])[-1] for each in parts) * N / (N - 1)
    np.testing.assert_allclose(sparse.explained_variance_[0], best, rtol=1e-12)
    assert np.all(np.count_nonzero(sparse.components_, axis=1) <= 3)


@pytest.mark.parametrize(("d", "n", "h"), [(2, 19, 0.538), (3, 67, 0.438), (4, 223, 0.384), (5, 768, 0.349)])
def test_item_77_curse_of_dimensionality(d, n, h):
    """The numbers of rows of Silverman (1986, table 4.2): with fewer the relative squared error at 0 is above 0.1."""
    rng = np.random.default_rng(d)
    found = [
        KernelDensity(bandwidth=h).fit(rng.standard_normal((n, d))).density(np.zeros((1, d)))[0] for _ in range(600)
    ]
    errors = (np.array(found) * (2.0 * np.pi) ** (d / 2) - 1.0) ** 2
    assert abs(errors.mean() - 0.1) < 4.0 * errors.std() / np.sqrt(errors.size)


def test_item_178_genetic_map():
    genes = datasets.load("gene-map")
    place = np.column_stack([genes.others["east"], genes.others["north"]])
    found = procrustes(PCA(2).fit_transform(genes.data), place)
    assert found.correlation > 0.9
    assert found.correlation**2 == pytest.approx(1.0 - scipy_procrustes(place, found.rows)[2], rel=1e-10)
