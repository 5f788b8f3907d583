"""Fit one model of every kind that a file can hold, save it, and write down what it answers.

Run once, with the version that the files are to be of, and never again: `python tests/golden/make.py`. It takes its
data from seeded generators; what the models are asked is in `golden_answers.py`, as literal numbers.
"""

from __future__ import annotations

import datetime
import sys
import tempfile
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from golden_answers import EXPECTED, FILES, LARGE, NAMES, answers, difference, level_frame, parameters, write_expected
from scipy import sparse

import eigenlens
from bed_files import write_bed
from eigenlens import (
    PCA,
    BayesClassifier,
    FactorAnalysis,
    GaussianMixture,
    GenotypePCA,
    KernelDensity,
    KernelPCA,
    LinearDiscriminant,
    NaiveBayes,
    ProbabilisticPCA,
    QuadraticDiscriminant,
    SparsePCA,
)
from eigenlens.densities import Full, Gaussian, GaussianFamily, Mixture

Models = Iterator[tuple[str, Any, list[str]]]
"""Name, fitted model, and the names of the queries that it is asked."""


# ---- data -----------------------------------------------------------------------------------------------------------


def rows(n: int = 30, d: int = 4, seed: int = 0) -> np.ndarray:
    """Return rows (n, d) with two common factors and noise in every column."""
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(2, d)) + np.array([[1.0], [0.0]])
    return rng.normal(size=(n, 2)) @ loadings + 0.6 * rng.normal(size=(n, d)) + 0.3 * np.arange(d)


def with_missing(X: np.ndarray, share: float = 0.15) -> np.ndarray:
    """Return a copy of X in which some entries are missing, none of the first column's."""
    absent = np.random.default_rng(1).random(X.shape) < share
    absent[:, 0] = False
    return np.where(absent, np.nan, X)


def clusters(n: int = 36, d: int = 3, classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (n, d) of some clusters, and the number of each row's."""
    rng = np.random.default_rng(2)
    y = np.arange(n) % classes
    return rng.normal(size=(n, d)) * rng.uniform(0.4, 1.0, (classes, d))[y] + 2.5 * rng.normal(size=(classes, d))[y], y


def named(X: np.ndarray) -> pd.DataFrame:
    """Return X as a pandas frame whose columns have names outside ASCII."""
    return pd.DataFrame(X, columns=NAMES[: X.shape[1]])


def polars(X: np.ndarray) -> pl.DataFrame:
    """Return X as a Polars frame with the same names."""
    return pl.DataFrame({name: X[:, j] for j, name in enumerate(NAMES[: X.shape[1]])})


def thinned(X: np.ndarray) -> sparse.csr_array:
    """Return X as a sparse array, small entries as zeros."""
    return sparse.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))


WEIGHT = np.tile([1.0, 2.0, 0.5], 20)


# ---- latent variables -----------------------------------------------------------------------------------------------


def pca() -> Models:
    """Yield principal components."""
    X = rows()
    yield "plain", PCA(2).fit(X), ["rows"]
    yield "all", PCA().fit(X), ["rows"]
    yield "standardize", PCA(2, standardize=True).fit(X), ["rows"]
    yield "whiten", PCA(2, whiten=True).fit(X), ["rows"]
    yield "standardize-whiten-pandas", PCA(3, standardize=True, whiten=True).fit(named(X)), ["pandas"]
    yield "polars", PCA(2, random_state=3).fit(polars(X)), ["polars"]
    yield "float32", PCA(2).fit(X.astype(np.float32)), ["float32", "rows"]
    yield "sparse", PCA(2).fit(thinned(X)), ["sparse", "rows"]
    yield "weights", PCA(2).fit(X, sample_weight=WEIGHT[:30]), ["rows"]
    yield "wide", PCA(3, random_state=np.random.default_rng(0)).fit(rows(8, 12)), ["rows"]
    yield "missing", PCA(2, missing="em").fit(with_missing(X)), ["rows", "missing"]
    em = PCA(2, missing="em", standardize=True, whiten=True).fit(named(with_missing(X)))
    yield "missing-standardize-pandas", em, ["pandas", "pandas missing"]
    yield "partial", PCA(2).partial_fit(X[:11]).partial_fit(X[11:]), ["rows"]
    yield "partial-pandas", PCA(0.9, standardize=True).partial_fit(named(X[:9])).partial_fit(named(X[9:])), ["pandas"]
    yield "merged", PCA(2).partial_fit(X[:11]).merge(PCA(2).partial_fit(X[11:])), ["rows"]
    for solver in ("covariance", "gram", "svd", "lanczos", "randomized", "power"):
        yield f"solver-{solver}", PCA(2, solver=solver, random_state=0).fit(X), ["rows"]
    for rule in ("mle", "parallel"):
        yield f"rule-{rule}", PCA(rule, random_state=0).fit(X), ["rows"]


def kernel_pca() -> Models:
    """Yield kernel principal components."""
    X = rows()
    for kernel in ("linear", "poly", "rbf", "laplacian", "sigmoid", "cosine"):
        yield kernel, KernelPCA(2, kernel=kernel, gamma=0.1, degree=2, coef0=0.5).fit(X), ["rows"]
    at = np.linspace(-1.0, 1.0, 12)
    gram = np.exp(-(np.subtract.outer(at, at) ** 2))
    yield "precomputed", KernelPCA(2, kernel="precomputed").fit(gram), ["kernel"]
    for preimage in ("mds", "ridge"):
        yield f"preimage-{preimage}", KernelPCA(3, preimage=preimage, gamma=0.1).fit(X), ["rows"]
    yield "preimage-ridge-poly", KernelPCA(3, kernel="poly", preimage="ridge").fit(X), ["rows"]
    for name in ("rpcholesky", "nystroem", "fourier"):
        options = {"approximation": name, "n_landmarks": 10, "gamma": 0.1, "random_state": 0}
        yield name, KernelPCA(2, **options).fit(X), ["rows"]
        yield f"{name}-laplacian-pandas", KernelPCA(2, kernel="laplacian", **options).fit(named(X)), ["pandas"]
    yield "fourier-sparse", KernelPCA(2, **options).fit(thinned(X)), ["sparse", "rows"]
    poly = KernelPCA(2, kernel="poly", degree=2, approximation="rpcholesky", n_landmarks=0.01, random_state=0)
    yield "rpcholesky-poly-share", poly.fit(X), ["rows"]
    ridge = KernelPCA(2, approximation="nystroem", n_landmarks=12, preimage="ridge", gamma=0.1, random_state=0)
    yield "nystroem-ridge-weights", ridge.fit(X, sample_weight=WEIGHT[:30]), ["rows"]
    yield "nystroem-sparse", KernelPCA(2, approximation="nystroem", n_landmarks=9, random_state=0).fit(thinned(X)), [
        "sparse", "rows",
    ]  # fmt: skip
    yield "gamma-scale", KernelPCA(0.8, gamma="scale").fit(X), ["rows"]
    yield "gamma-median-polars", KernelPCA(2, gamma="median", random_state=0).fit(polars(X)), ["polars"]
    yield "gamma-none-all", KernelPCA(max_memory="1GB", kernel_params={"unused": 1}).fit(X[:9]), ["rows"]
    for solver in ("dense", "lanczos", "randomized"):
        yield f"solver-{solver}", KernelPCA(2, solver=solver, gamma=0.1, random_state=0).fit(X), ["rows"]
    yield "sparse", KernelPCA(2, gamma=0.2).fit(thinned(X)), ["sparse", "rows"]
    yield "float32", KernelPCA(2, gamma=0.1).fit(X.astype(np.float32)), ["float32", "rows"]
    yield "weights", KernelPCA(2, gamma=0.1).fit(X, sample_weight=WEIGHT[:30]), ["rows"]


def probabilistic_pca() -> Models:
    """Yield probabilistic principal components."""
    X = rows()
    both = ["rows", "missing"]
    yield "closed-form", ProbabilisticPCA(2).fit(X), both
    yield "em", ProbabilisticPCA(2, solver="em", random_state=0).fit(X), both
    yield "em-stopped", ProbabilisticPCA(1, solver="em", max_iter=2, random_state=0).fit(X), ["rows"]
    yield "missing", ProbabilisticPCA(2, random_state=0).fit(with_missing(X)), both
    yield "missing-pandas", ProbabilisticPCA(1, random_state=0).fit(named(with_missing(X))), ["pandas missing"]
    constant = with_missing(rows(30, 5))
    constant[:, 2], constant[4] = 3.0, np.nan
    yield "missing-constant-column", ProbabilisticPCA(1, random_state=0).fit(constant), both
    yield "bic", ProbabilisticPCA("bic").fit(X), ["rows"]
    yield "cv-missing", ProbabilisticPCA("cv", random_state=0).fit(with_missing(X)), ["missing"]
    yield "float32-weights", ProbabilisticPCA(2).fit(X.astype(np.float32), sample_weight=WEIGHT[:30]), ["float32"]
    yield "polars", ProbabilisticPCA(2, random_state=5).fit(polars(X)), ["polars"]


def factor_analysis() -> Models:
    """Yield factor analyses."""
    X = rows(40, 6)
    both = ["rows", "missing"]
    yield "plain", FactorAnalysis(2).fit(X), both
    for rotation in ("varimax", "quartimax", "equamax", "promax", "oblimin"):
        yield rotation, FactorAnalysis(2, rotation=rotation).fit(X), both
    options = {"promax": {"power": 3}, "oblimin": {"gamma": -0.5, "kaiser": False}, "varimax": {"polish": True}}
    for rotation, given in options.items():
        fa = FactorAnalysis(2, rotation=rotation, rotation_options=given, standardize=True)
        yield f"{rotation}-options-pandas", fa.fit(named(X)), ["pandas"]
    yield "standardize", FactorAnalysis(2, standardize=True).fit(X), both
    yield "em", FactorAnalysis(1, solver="em").fit(X), ["rows"]
    yield "missing", FactorAnalysis(1).fit(with_missing(X)), both
    judged = FactorAnalysis(1, rotation="varimax", standardize=True).fit(with_missing(X))
    judged.goodness_of_fit(with_missing(X))
    yield "missing-judged", judged, both
    for rule in ("bic", "cv", "parallel"):
        yield rule, FactorAnalysis(rule, random_state=0).fit(X), ["rows"]
    yield "wide", FactorAnalysis(2).fit(rows(8, 10)), ["rows"]
    S = named(np.cov(X.T))
    yield (
        "covariance",
        FactorAnalysis(2, rotation="oblimin").fit_covariance(S, n_samples=40, mean=X.mean(0)),
        ["pandas"],
    )
    yield "covariance-bic", FactorAnalysis("bic").fit_covariance(np.corrcoef(X.T), n_samples=40), ["rows"]
    yield "float32-weights", FactorAnalysis(1).fit(X.astype(np.float32), sample_weight=WEIGHT[:40]), ["float32"]


# ---- densities ------------------------------------------------------------------------------------------------------

TYPES = ("full", "tied", "diag", "spherical", "ppca", "factor")


def mixture(K: int = 2, **options: Any) -> GaussianMixture:
    """Return a mixture that tries few starts, from a fixed seed."""
    return GaussianMixture(K, **{"n_init": 2, "random_state": 0, **options})


def gaussian_mixture() -> Models:
    """Yield Gaussian mixtures."""
    X, y = clusters()
    both = ["rows", "missing"]
    for name in TYPES:
        yield name, mixture(covariance_type=name).fit(X), both
        yield f"{name}-missing", mixture(covariance_type=name).fit(with_missing(X)), both
        chunks = mixture(covariance_type=name).partial_fit(X[:20]).partial_fit(X[20:28]).partial_fit(X[28:])
        yield f"{name}-partial", chunks, ["rows"]
    four = rows(36, 4)
    yield "ppca-two-factors-pandas", mixture(covariance_type="ppca", n_factors=2).fit(named(four)), ["pandas"]
    yield "factor-two-factors-polars", mixture(covariance_type="factor", n_factors=2).fit(polars(four)), ["polars"]
    for name in ("full", "diag"):
        yield f"{name}-prior", mixture(3, covariance_type=name, prior="conjugate").fit(X), ["rows"]
    yield "one-column", mixture().fit(X[:, :1]), ["rows"]
    yield "binned", mixture().fit_binned([-np.inf, -2.0, -1.0, 0.0, 1.0, np.inf], [5, 9, 3, 8, 6]), ["rows"]
    empty = with_missing(X)
    empty[3], empty[:, 2] = np.nan, 1.5
    yield "constant-column-empty-row", mixture(1).fit(empty), both
    tied = np.concatenate([X, np.tile([[9.0, 9.0, 9.0]], (6, 1))])
    yield "collapsed", mixture(3).fit(tied), ["rows"]
    far = (np.array([0.5, 0.49, 0.01]), np.array([*(X[y == c].mean(0) for c in (0, 1)), [90.0, 90.0, 90.0]]))
    yield "lost-component", mixture(3, init=(*far, np.tile(np.eye(3), (3, 1, 1)))).fit(X), ["rows"]
    given = Mixture(np.array([0.5, 0.5]), tuple(Gaussian(X[y == c].mean(0), Full(np.eye(3))) for c in (0, 1)))
    yield "start-mixture", mixture(init=given).fit(X), ["rows"]
    yield "start-responsibilities", mixture(init=np.eye(2)[y], accelerate=False).fit(X), ["rows"]
    yield "stopped", mixture(3, init="random", max_iter=2, floor=1e-3).fit(X), ["rows"]
    yield "fit-then-partial", mixture().fit(X[:25]).partial_fit(X[25:], decay=0.9), ["rows"]
    yield "float32-weights", mixture().fit(X.astype(np.float32), sample_weight=WEIGHT[:36]), ["float32", "rows"]
    changed = mixture(covariance_type="factor").fit(X).set_params(covariance_type="diag", n_factors=2)
    yield "parameters-set-since", changed, ["rows"]


def sparse_pca() -> Models:
    """Yield sparse principal components."""
    X = rows(40, 6)
    yield "plain", SparsePCA(2).fit(X), ["rows"]
    yield "counts-standardize-pandas", SparsePCA(3, n_nonzero=[3, 2, 1], standardize=True).fit(named(X)), ["pandas"]
    yield "float32-weights", SparsePCA(2).fit(X.astype(np.float32), sample_weight=WEIGHT[:40]), ["float32", "rows"]
    yield "sparse-without-search", SparsePCA(1, n_nonzero=3, max_nodes=0).fit(thinned(X)), ["rows"]


def kernel_density() -> Models:
    """Yield kernel densities."""
    one, two = rows(24, 1), rows(24, 2)
    inside = np.random.default_rng(3).beta(1.2, 2.0, (24, 2))
    kernels = ("gaussian", "box", "epanechnikov", "triangular", "biweight", "triweight", "cosine", "laplace")
    for kernel in kernels:
        yield f"{kernel}-one-column", KernelDensity(kernel=kernel).fit(one), ["rows"]
        yield f"{kernel}-two-columns", KernelDensity(kernel=kernel, bandwidth=0.9).fit(two), ["rows", "missing"]
    for boundary in ("reflect", "renormalize"):
        options = {"boundary": boundary, "random_state": 0}
        kde = KernelDensity(bounds=(0.0, 1.0), tol=1e-15, **options)
        yield f"{boundary}-one-column", kde.fit(inside[:, :1]), ["unit"]
        half = KernelDensity(bounds=[(0.0, None), None], kernel="epanechnikov", bandwidth=[0.2, 0.3], **options)
        yield f"{boundary}-two-columns", half.fit(inside), ["unit"]
        laplace = KernelDensity(bounds=(-np.inf, 1.0), kernel="laplace", bandwidth=0.1, **options)
        yield f"{boundary}-laplace", laplace.fit(inside[:, :1]), ["unit"]
        yield f"{boundary}-adaptive", KernelDensity(bounds=(0, 1), adaptive=True, **options).fit(inside), ["unit"]
    yield "adaptive-one-column", KernelDensity(adaptive=True).fit(one), ["rows"]
    yield "adaptive-two-columns", KernelDensity(adaptive=True, kernel="biweight").fit(two), ["rows", "missing"]
    matrix = np.array([[0.3, 0.1], [0.1, 0.4]])
    yield "bandwidth-matrix", KernelDensity(bandwidth=matrix, tol=1e-15).fit(two), ["rows", "missing"]
    yield "bandwidth-matrix-adaptive", KernelDensity(bandwidth=matrix, adaptive=True).fit(two), ["rows"]
    yield "bandwidth-array", KernelDensity(bandwidth=np.array([0.3, 0.5]), tol=1e-15).fit(two), ["rows"]
    for rule in ("silverman", "sheather-jones", "lscv"):
        kde = KernelDensity(bandwidth=rule, tol=1e-10).fit(named(two), sample_weight=WEIGHT[:24])
        yield f"{rule}-weights-pandas", kde, ["pandas"]
    yield "polars", KernelDensity(bandwidth=0.7).fit(polars(rows(20, 3))), ["polars"]
    yield "float32", KernelDensity(bandwidth=0.5, tol=1e-15).fit(two.astype(np.float32)), ["float32", "rows"]


# ---- classifiers ----------------------------------------------------------------------------------------------------


def people(n: int = 40) -> tuple[dict[str, Any], np.ndarray]:
    """Return columns of every kind, some with missing values, and classes in words."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, n)
    drinks = np.array(["tea", "Kaffee", "jus ☕"])[(y + (rng.random(n) < 0.4)) % 3].tolist()
    columns = {
        "größe": [None if i % 9 == 4 else v for i, v in enumerate(rng.normal(120.0 + 25.0 * y, 9.0).round(1).tolist())],
        "drink": [None if i % 11 == 3 else drink for i, drink in enumerate(drinks)],
        "size": [None if i % 13 == 5 else "SML"[(k + i % 2) % 3] for i, k in enumerate(y.tolist())],
        "kids": rng.poisson(1 + y).clip(max=4).tolist(),
        "works": (rng.random(n) < 0.2 + 0.3 * y).tolist(),
        "flag": [
            None if i % 10 == 2 else v for i, v in enumerate((rng.random(n) < 0.3 + 0.2 * y).astype(float).tolist())
        ],
    }
    return columns, np.array(["child", "adult", "senior"])[y]


def naive_bayes() -> Models:
    """Yield naive Bayes classifiers."""
    columns, words = people()
    sizes = ["S", "M", "L", "XL"]
    frame = pd.DataFrame(columns | {"size": pd.Categorical(columns["size"], categories=sizes)})
    asked = ["people", "strangers"]
    yield "auto-pandas", NaiveBayes().fit(frame, words), asked
    in_polars = pl.DataFrame(columns).with_columns(pl.col("size").cast(pl.Enum(sizes)))
    yield "auto-polars", NaiveBayes(random_state=1).fit(in_polars, words), ["people polars"]
    arrow = pa.table({name: pa.array(values) for name, values in columns.items()})
    yield "auto-arrow", NaiveBayes().fit(arrow, pa.array(words.tolist())), ["people arrow"]
    for unknown in ("smooth", "ignore", "error"):
        yield f"unknown-{unknown}", NaiveBayes(unknown=unknown, smoothing=0.5).fit(frame, words), asked
    first = (
        NaiveBayes().partial_fit(frame[:25], words[:25], classes=np.unique(words)).partial_fit(frame[25:], words[25:])
    )
    yield "partial", first, asked
    for family in ("shared-gaussian", "kde", "mixture", "gaussian"):
        rule = NaiveBayes({"größe": family, "kids": "gaussian" if family == "kde" else family})
        yield f"mixed-{family}", rule.fit(frame, words), asked
    smoothing = {"drink": {"tea": 2.0, "Kaffee": 1.0, "jus ☕": 0.5}, "kids": 0.25}
    yield "smoothing-by-level", NaiveBayes(smoothing=smoothing, prior="uniform").fit(frame, words), ["people"]
    prior = {"child": 0.5, "adult": 0.3, "senior": 0.2}
    yield "prior-by-class", NaiveBayes(prior=prior, added_variance={"größe": 4.0}, floor=1e-6).fit(frame, words), asked
    yield "prior-array-weights", NaiveBayes(prior=np.array([0.2, 0.3, 0.5])).fit(frame, words, WEIGHT[:40]), ["people"]

    X, y = clusters(37, 4, 3)  # one more of the first class, so that no row is a tie
    both = ["rows", "missing"]
    labels = {"integers": y - 1, "small-integers": y.astype(np.uint8), "booleans": y > 0, "floats": y.astype(float)}
    labels |= {"words": np.array(["ä", "b", "cc"])[y], "objects": np.array(["ä", "b", "cc"], dtype=object)[y]}
    for name, given in labels.items():
        yield f"labels-{name}", NaiveBayes().fit(X, given), both
    for family in ("shared-gaussian", "kde", "mixture"):
        yield family, NaiveBayes(family, max_components=2).fit(with_missing(X), y), both
    yield "kde-number", NaiveBayes("kde", bandwidth=0.7).fit(X, y), ["rows"]
    yield "kde-sheather-jones", NaiveBayes("kde", bandwidth="sheather-jones").fit(X, y, WEIGHT[:37]), ["rows"]
    absent = X.copy()
    absent[y == 2, 1] = np.nan
    for family in ("gaussian", "kde", "mixture"):
        yield f"{family}-class-without-entries", NaiveBayes(family, max_components=2).fit(absent, y), both
    yield "float32", NaiveBayes().fit(X.astype(np.float32), y), ["float32"]
    pairs = pd.DataFrame(X[:, :3], columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]))
    yield "kde-two-line-names", NaiveBayes({("a", 2): "kde"}).fit(pairs, y), ["two-line names"]
    yield "kde-by-number", NaiveBayes({0: "kde", np.int64(2): "shared-gaussian"}).fit(X, y), ["rows"]

    counts = np.random.default_rng(5).poisson(1.0 + np.arange(4) * (y[:, None] % 2), (37, 4)).astype(float)
    yield "multinomial", NaiveBayes("multinomial").fit(counts, y), ["counts"]
    blocks = NaiveBayes({(0, 1): "multinomial", (2, 3): "multinomial"}, smoothing=0.1).fit(counts, y)
    yield "multinomial-blocks", blocks, ["counts"]
    yield "sparse-counts", NaiveBayes().fit(sparse.csr_array(counts), y), ["sparse counts"]
    yield "bernoulli", NaiveBayes("bernoulli").fit((counts > 1.0).astype(float), y), ["binary", "counts"]
    yield "bernoulli-sparse", NaiveBayes().fit(sparse.csr_array((counts > 1.0).astype(float)), y), ["binary"]
    yield "categorical", NaiveBayes("categorical", unknown="ignore").fit(counts.clip(max=3.0), y), ["counts"]
    some = np.where(np.isnan(absent), np.nan, counts.clip(max=3.0))
    yield "categorical-class-without-entries", NaiveBayes("categorical", smoothing=0.0).fit(some, y), ["counts"]
    some[:, 2] = np.nan
    yield "column-without-entries", NaiveBayes().fit(some, y), ["counts", "missing"]
    large = np.array([[LARGE + 1 + 2 * (i % 3), 3 + 2 * (i % 2)] for i in range(30)])
    yield "large-integers", NaiveBayes("categorical").fit(large, np.arange(30) // 4 % 2), ["large integers"]
    objects = np.array([[["a", "ß"][(i // 2) % 2], 0.25 * i] for i in range(20)], dtype=object)
    objects[3, 0], objects[5, 1] = None, None
    two = NaiveBayes({0: "bernoulli"}).fit(objects, np.arange(20) % 2)
    yield "objects-two-levels", two, ["objects"]
    levels = NaiveBayes("categorical", smoothing={"dates": {datetime.date(2020, 1, 1): 2.0}})
    yield "odd-levels", levels.fit(level_frame(40), np.arange(40) % 3 % 2), ["levels"]


def discriminants(kind: Any) -> Models:
    """Yield discriminants of one kind."""
    X, y = clusters(40, 4, 3)
    both = ["rows", "missing"]
    linear = kind is LinearDiscriminant
    yield "plain", kind().fit(X, y), both
    yield "words-pandas", kind(prior="uniform").fit(named(X), np.array(["ä", "b", "cc"])[y]), ["pandas"]
    yield "booleans-polars", kind(random_state=2).fit(polars(X), y > 0), ["polars"]
    yield "objects", kind(prior=[0.2, 0.3, 0.5]).fit(X, np.array(["ä", "b", "cc"], dtype=object)[y]), ["rows"]
    yield "prior-by-class", kind(prior={0: 0.6, 1: 0.4, 2: 0.0}).fit(X, y), ["rows"]
    for target in ("diagonal", "identity"):
        yield f"shrinkage-{target}", kind(shrinkage=0.3, target=target).fit(X, y), both
    rules = ["ledoit-wolf", "auto"] + ["ledoit-wolf-by-class"] * linear
    for rule in rules:
        yield rule, kind(shrinkage=rule).fit(X, y, sample_weight=WEIGHT[:40]), ["rows"]
    yield "missing", kind().fit(with_missing(X), y), both
    yield "missing-ledoit-wolf", kind(shrinkage="ledoit-wolf").fit(with_missing(X), y), both
    yield "partial", kind().partial_fit(X[:15], y[:15], classes=[0, 1, 2]).partial_fit(X[15:], y[15:]), ["rows"]
    wide, labels = clusters(10, 12, 2)
    yield "wide-shrinkage", kind(shrinkage=0.5).fit(wide, labels), both
    yield "wide-ledoit-wolf-identity", kind(shrinkage="ledoit-wolf", target="identity").fit(wide, labels), ["rows"]
    yield "wide", kind().fit(wide, labels), ["rows"]
    constant = X.copy()
    constant[:, 1] = 2.0
    yield "constant-column", kind().fit(constant, y), ["rows"]
    yield "float32", kind().fit(X.astype(np.float32), y), ["float32", "rows"]
    if linear:
        yield "one-direction", kind(1).fit(X, y), both
    else:
        yield "reg", kind(reg=0.2).fit(X, y), ["rows"]
        yield "wide-reg", kind(reg=0.2).fit(wide, labels), ["rows"]


def bayes_classifier() -> Models:
    """Yield Bayes classifiers with every density that can be saved."""
    families = import_module(".".join(["eigenlens", "fitting", "latent_families"]))  # their place in version 0.1.0
    X, y = clusters(40, 3, 2)
    words = np.array(["niedrig", "høj"])[y]
    both = ["rows", "missing"]
    densities = {
        "mixture": GaussianMixture(2, covariance_type="diag", n_init=2, random_state=0),
        "mixture-factor": GaussianMixture(1, covariance_type="factor", n_init=1),
        "ppca": ProbabilisticPCA(1),
        "factor": FactorAnalysis(1, rotation="varimax", standardize=True),
        "kernel": KernelDensity(bandwidth="silverman"),
        "kernel-array": KernelDensity(bandwidth=np.array([0.4, 0.5, 0.6]), kernel="biweight"),
        "kernel-bounds": KernelDensity(bandwidth=0.5, bounds=(-20.0, 20.0), boundary="renormalize"),
        "pca": PCA(2),
        "full-family": GaussianFamily(),
        "diagonal-family": GaussianFamily("diagonal"),
        "spherical-family": GaussianFamily("spherical"),
        "ppca-family": families.PPCAFamily(1),
        "factor-family": families.FactorFamily(1, steps=5),
    }
    for name, density in densities.items():
        yield name, BayesClassifier(density).fit(X, words), ["rows", "missing"]
    for name in ("mixture", "ppca", "factor", "kernel", "full-family", "diagonal-family"):
        yield f"{name}-missing", BayesClassifier(densities[name], prior="uniform").fit(with_missing(X), y), both
    named_family = GaussianFamily(names=tuple(NAMES[:3]))
    prior = {"niedrig": 0.3, "høj": 0.7}
    yield "full-family-names-pandas", BayesClassifier(named_family, prior=prior).fit(named(X), words), ["pandas"]
    yield "pca-polars", BayesClassifier(PCA(1), prior=[0.4, 0.6]).fit(polars(X), y > 0), ["polars"]
    seeded = BayesClassifier(GaussianMixture(2, n_init=1), random_state=0)
    yield "seeded-weights", seeded.fit(X, y, sample_weight=WEIGHT[:40]), ["rows"]
    yield "float32", BayesClassifier(GaussianFamily()).fit(X.astype(np.float32), y), ["float32", "rows"]
    parts = BayesClassifier(GaussianFamily()).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    yield "full-family-partial", parts, ["rows"]
    chunks = BayesClassifier(GaussianMixture(1, n_init=1, random_state=0)).partial_fit(X[:30], y[:30])
    yield "mixture-partial", chunks.partial_fit(X[30:], y[30:]), ["rows"]

    # Classes with a column of one value, a class of one row, and a column that is constant in all rows.
    thin, labels = np.insert(X, 1, 7.0, axis=1), np.where(np.arange(40) == 5, 9, y)
    thin[y == 1, 3] = 0.5
    for name in ("mixture", "ppca", "factor", "kernel", "pca", "full-family", "diagonal-family", "factor-family"):
        yield f"{name}-thin-classes", BayesClassifier(densities[name]).fit(thin, labels), both
    yield "kernel-thin-classes-pandas", BayesClassifier(densities["kernel"]).fit(named(thin), labels), ["pandas"]
    line = np.tile(X[:, :1], (1, 3))
    yield "ppca-all-on-a-line", BayesClassifier(ProbabilisticPCA(1, max_iter=77)).fit(line, y), ["rows"]
    wide, groups = clusters(10, 12, 2)
    yield "pca-wide-class-of-one-row", BayesClassifier(PCA(1)).fit(wide, np.where(np.arange(10) == 0, 9, groups)), both


MODELS = {
    "pca": pca,
    "kernel-pca": kernel_pca,
    "probabilistic-pca": probabilistic_pca,
    "factor-analysis": factor_analysis,
    "gaussian-mixture": gaussian_mixture,
    "kernel-density": kernel_density,
    "naive-bayes": naive_bayes,
    "linear-discriminant": lambda: discriminants(LinearDiscriminant),
    "quadratic-discriminant": lambda: discriminants(QuadraticDiscriminant),
    "bayes-classifier": bayes_classifier,
}
"""The models of the first files."""


def genotype_pca() -> Models:
    """Yield components of genotypes, of an array and of a .bed file with variants on several chromosomes."""
    rng = np.random.default_rng(11)
    X = rng.binomial(2, np.where(np.arange(30)[:, None] % 2, 0.3, 0.6), (30, 12)).astype(float)
    yield "plain", GenotypePCA(3, chromosomes=None).fit(X), ["copies"]
    X[rng.random(X.shape) < 0.05] = np.nan
    yield "missing", GenotypePCA(2, chromosomes=None).fit(X), ["copies"]
    yield "mean-lanczos", GenotypePCA(2, missing="mean", solver="lanczos").fit(X), ["copies"]
    with tempfile.TemporaryDirectory() as folder:
        chromosomes = ["1"] * 5 + ["chr2"] * 5 + ["X", "25"]
        path = write_bed(Path(folder), X, chromosomes=chromosomes, alleles=[("A", "G"), ("CT", "C")] * 6)
        yield "bed-file", GenotypePCA(2).fit(path), ["copies"]


LATER = {"sparse-pca": sparse_pca, "genotype-pca": genotype_pca}
"""Models that were added since, each with a file of expected answers of its own: `make.py sparse-pca`."""


def main(later: str = "") -> None:
    """Write the files and the expected answers; report where a loaded model answers differently from the fitted one."""
    target = EXPECTED.with_name(f"expected-{later}.safetensors.gz") if later else EXPECTED
    if target.exists():
        sys.exit(f"{target} exists: golden files are never rewritten.")
    FILES.mkdir(exist_ok=bool(later))
    records: dict[str, dict[str, Any]] = {}
    for kind, models in ({later: LATER[later]} if later else MODELS).items():
        for variant, model, queries in models():
            name = f"{kind}-{variant}"
            if name in records:
                sys.exit(f"two models have the name {name}.")
            fitted = answers(model, queries)
            model.save(FILES / f"{name}.safetensors")
            loaded = eigenlens.load(FILES / f"{name}.safetensors")
            found = answers(loaded, queries)
            for key in sorted({*fitted, *found}):
                said = difference(found.get(key), fitted.get(key))
                if said and "/partial_fit/" not in key:  # not every model goes on from a file
                    print(f"{name}: {key}: loaded and fitted: {said}")
            given = {"class": type(model).__name__, "parameters": parameters(loaded), "queries": queries}
            records[name] = given | {"answers": found}
    write_expected(records, target)
    print(f"{len(records)} models, {sum(len(record['answers']) for record in records.values())} answers")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
