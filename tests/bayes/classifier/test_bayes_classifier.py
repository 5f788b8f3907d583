"""`BayesClassifier`: one density per class, of every kind; equivalences, missing values, weights, files, bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.mixture import GaussianMixture as PeerMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity as PeerDensity

import eigenlens
from eigenlens import (
    PCA,
    ConvergenceWarning,
    DataError,
    DataWarning,
    FactorAnalysis,
    OptionError,
    ProbabilisticPCA,
    load,
    scan,
)
from eigenlens import model_file as io
from eigenlens.bayes.classifier.estimator import BayesClassifier
from eigenlens.bayes.discriminant.estimator import QuadraticDiscriminant
from eigenlens.cli.commands.export import parameters
from eigenlens.data.memory import ArraySource
from eigenlens.densities import GaussianFamily, HistogramFamily
from eigenlens.kde.estimator import KernelDensity
from eigenlens.latent.families import FactorFamily, PPCAFamily
from eigenlens.mixture.estimator import GaussianMixture

DENSITIES = {
    "gaussian": GaussianMixture(1, n_init=1, random_state=0),
    "mixture": GaussianMixture(2, covariance_type="diag", n_init=2, random_state=0),
    "ppca": ProbabilisticPCA(2),
    "factor": FactorAnalysis(1),
    "kernel": KernelDensity(bandwidth="silverman"),
    "pca": PCA(2),
    "family": GaussianFamily(),
    "independent": GaussianFamily("diagonal"),
    "round": GaussianFamily("spherical"),
    "ppca family": PPCAFamily(2),
    "factor family": FactorFamily(1),
}


@pytest.fixture(params=DENSITIES, ids=str)
def density(request):
    return DENSITIES[request.param]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.arange(180) % 3
    X = rng.standard_normal((180, 1)) * [1.0, 0.8, -0.9, 0.7] + 0.7 * rng.standard_normal((180, 4))
    return X + 1.5 * rng.standard_normal((3, 4))[y], y


def loaded(estimator, path):
    estimator.save(path)
    assert io.read(path)[0] == "BayesClassifier"
    return load(path)


# ---- what it is ---------------------------------------------------------------------------------------------


def test_it_is_the_prior_and_a_density_fitted_to_each_class(density, data):
    X, y = data
    found = BayesClassifier(density).fit(X, y)
    for c in range(3):
        own = X[y == c]
        if hasattr(density, "estimate"):
            alone = density.estimate(density.summarise(next(ArraySource(own).blocks()))).log_density(X)
        else:
            alone = clone(density).fit(own).score_samples(X)
        assert_allclose(found.predict_joint_log_proba(X)[:, c], alone + np.log(1 / 3), rtol=1e-9, atol=1e-9)
    joint = found.predict_joint_log_proba(X)
    assert_allclose(found.predict_log_proba(X), joint - np.logaddexp.reduce(joint, axis=1)[:, None], atol=1e-12)
    assert_array_equal(found.predict(X), joint.argmax(axis=1))
    assert found.score(X, y) > 0.7
    assert len(found.densities_) == 3
    assert (found.n_samples_, found.class_count_.tolist()) == (180, [60.0, 60.0, 60.0])


def test_full_gaussians_are_quadratic_discriminants_and_independent_ones_naive_bayes():
    X, y = load_iris(return_X_y=True)
    quadratic = QuadraticDiscriminantAnalysis().fit(X, y).predict_log_proba(X)
    for density in (GaussianFamily(), GaussianMixture(1, n_init=1)):
        assert_allclose(BayesClassifier(density).fit(X, y).predict_log_proba(X), quadratic, rtol=1e-8, atol=1e-8)
    naive = GaussianNB(var_smoothing=0.0).fit(X, y).predict_log_proba(X)
    found = BayesClassifier(GaussianFamily("diagonal")).fit(X, y).predict_log_proba(X)
    assert_allclose(found, naive, rtol=1e-8, atol=1e-8)


def test_densities_of_scikit_learn(data):
    X, y = data
    ours = BayesClassifier(KernelDensity(bandwidth=0.8)).fit(X, y).predict_log_proba(X)
    theirs = BayesClassifier(PeerDensity(bandwidth=0.8)).fit(X, y)
    assert_allclose(theirs.predict_log_proba(X), ours, rtol=1e-6, atol=1e-6)
    assert theirs.sample(7, random_state=0).shape == (7, 4)
    mixture = BayesClassifier(PeerMixture(2, random_state=0)).fit(X, y)
    assert mixture.sample(7, random_state=0).shape == (7, 4)
    with pytest.raises(OptionError, match="takes no sample_weight in fit"):
        BayesClassifier(PeerMixture(2)).fit(X, y, sample_weight=np.ones(180))
    with pytest.raises(OptionError, match="cannot be saved"):
        mixture.save("nowhere")


@pytest.mark.parametrize(
    ("density", "columns"),
    [
        (HistogramFamily(np.linspace(-9.0, 9.0, 13), 0.5), 1),
        (GaussianFamily(sigma=np.array([0.5, 1.0, 2.0, 3.0])), 4),
        (PPCAFamily(1, prior=np.diag([1.0, 2.0, 3.0, 4.0]), prior_weight=4.0), 4),
    ],
    ids=["histogram", "known-variances", "prior"],
)
def test_families_with_arrays_are_saved(density, columns, data, tmp_path):
    X, y = data[0][:, :columns], data[1]
    found = BayesClassifier(density).fit(X, y)
    found.save(tmp_path / "model")
    again = eigenlens.load(tmp_path / "model")
    assert_array_equal(again.predict_log_proba(X), found.predict_log_proba(X))
    assert_array_equal(again.fit(X, y).predict_log_proba(X), found.predict_log_proba(X))


def test_the_seed_of_a_classifier_is_that_of_densities_without_one(data):
    X, y = data
    density = GaussianMixture(4, n_init=1, max_iter=3)
    with pytest.warns(ConvergenceWarning):
        fits = [BayesClassifier(density, random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    first, again, other = (found.predict_log_proba(X) for found in fits)
    assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert density.random_state is None
    assert len({part.random_state for part in fits[0].densities_}) == 3
    own = BayesClassifier(GaussianMixture(2, n_init=1, random_state=7), random_state=0).fit(X, y)
    assert [part.random_state for part in own.densities_] == [7, 7, 7]


def test_a_loaded_classifier_has_the_seed_that_was_given(data, tmp_path):
    for seed in (None, 7):
        density = GaussianMixture(1, n_init=1, random_state=seed)
        again = loaded(BayesClassifier(density, random_state=0).fit(*data), tmp_path / "model")
        assert (again.random_state, again.density.random_state) == (0, seed)


def test_kernel_densities_follow_any_shape():
    X = np.random.default_rng(0).uniform(0.0, [4.0, 1.0], (600, 2))
    y = X[:, 0].astype(int) % 2  # stripes
    kernel = BayesClassifier(KernelDensity(bandwidth=0.1)).fit(X[:300], y[:300])
    linear = BayesClassifier(ProbabilisticPCA(1)).fit(X[:300], y[:300])
    assert kernel.score(X[300:], y[300:]) > 0.95
    assert linear.score(X[300:], y[300:]) < 0.8
    far = kernel.predict_log_proba([[50.0, 0.0], [-1e4, 30.0]])
    assert np.all(np.isfinite(far).any(axis=1))
    assert_array_equal(kernel.predict([[50.0, 0.0], [-1e4, 30.0]]), [1, 0])


def test_samples(density, data):
    X, y = data
    found = BayesClassifier(density, prior=[0.5, 0.3, 0.2], random_state=0).fit(X, y)
    rows, labels = found.sample(3000, return_labels=True)
    assert_allclose(np.bincount(labels) / 3000, [0.5, 0.3, 0.2], atol=0.04)
    for c in range(3):
        assert_allclose(rows[labels == c].mean(axis=0), X[y == c].mean(axis=0), atol=0.35)
    assert_array_equal(found.sample(3000), rows)
    assert not np.array_equal(found.sample(3000, random_state=1), rows)
    assert found.score(rows, labels) > 0.7


# ---- laws ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gaussian", "ppca", "kernel", "family", "factor family"])
def test_weights_are_copies(name, data):
    X, y = data
    w = np.random.default_rng(1).integers(0, 4, 180)
    density = DENSITIES[name]
    weighted = BayesClassifier(density).fit(X, y, sample_weight=w)
    repeated = BayesClassifier(density).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_allclose(weighted.predict_log_proba(X), repeated.predict_log_proba(X), rtol=1e-6, atol=1e-6)
    assert_allclose(weighted.class_prior_, repeated.class_prior_)
    assert weighted.n_samples_ == np.count_nonzero(w)


@pytest.mark.parametrize("name", ["gaussian", "factor", "kernel", "family", "independent"])
def test_units_and_the_order_of_columns_change_nothing(name, data):
    X, y = data
    order, scale = [2, 0, 3, 1], np.array([1e-3, 1.0, 1e4, 7.0])
    found = BayesClassifier(DENSITIES[name]).fit(X, y).predict_log_proba(X)
    other = BayesClassifier(DENSITIES[name]).fit((X * scale)[:, order], y)
    assert_allclose(other.predict_log_proba((X * scale)[:, order]), found, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["family", "independent", "ppca family", "pca"])
def test_partial_fit_is_exact(name, data):
    X, y = data
    w = np.random.default_rng(1).uniform(0.5, 2.0, 180)
    whole, parts = BayesClassifier(DENSITIES[name]).fit(X, y, sample_weight=w), BayesClassifier(DENSITIES[name])
    for part in np.array_split(np.argsort(y, kind="stable"), 5):
        parts.partial_fit(X[part], y[part], classes=[0, 1, 2], sample_weight=w[part])
    assert_allclose(parts.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-7, atol=1e-8)
    assert_allclose(parts.class_count_, whole.class_count_)
    with pytest.raises(DataError, match="class 5"):
        parts.partial_fit(X, np.where(y == 0, 5, y))


def test_no_partial_fit_where_it_is_not_exact(data):
    assert not hasattr(BayesClassifier(KernelDensity()), "partial_fit")
    with pytest.raises(AttributeError):
        BayesClassifier(FactorAnalysis(1)).partial_fit(*data)
    X, y = data
    early = BayesClassifier(GaussianFamily()).partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
    with pytest.raises(DataError, match="class 2 has no rows yet"):
        early.predict(X)


@pytest.mark.parametrize("name", ["gaussian", "ppca", "family", "ppca family"])
def test_every_kind_of_rows(name, data, tmp_path):
    import dask.array as da
    import polars as pl

    X, y = data
    np.save(tmp_path / "rows.npy", X)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.assign(kind=y).to_csv(tmp_path / "rows.csv", index=False)
    plain = BayesClassifier(DENSITIES[name]).fit(X, y).predict_log_proba(X)
    kinds = {
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "sparse": sp.csr_matrix(X),
        "dask": da.from_array(X, chunks=(50, 4)),
        "blocks": ArraySource(X, block_rows=23),
        "file": scan(tmp_path / "rows.npy", block_rows=31),
    }
    for kind, rows in kinds.items():
        found = BayesClassifier(DENSITIES[name]).fit(rows, y)
        assert_allclose(found.predict_log_proba(rows), plain, rtol=1e-6, atol=1e-6, err_msg=kind)
    labelled = BayesClassifier(DENSITIES[name]).fit(scan(tmp_path / "rows.csv", label="kind"))
    assert_allclose(labelled.predict_log_proba(frame), plain, rtol=1e-6, atol=1e-6)


# ---- missing values -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gaussian", "mixture", "ppca", "factor", "kernel", "family", "independent"])
def test_missing_values_in_rows_to_be_classified_leave_their_columns_out(name, data):
    X, y = data
    found = BayesClassifier(DENSITIES[name], prior="uniform").fit(X, y)
    Z = X[:6].copy()
    Z[1, 2] = Z[2, :3] = Z[3] = np.nan
    frozen = [getattr(part, "model_", part) for part in found.densities_]
    twin = np.log(1 / 3) + np.stack(
        [part.marginal([0, 1, 3]).log_density(Z[1:2, [0, 1, 3]]) for part in frozen], axis=1
    )
    assert_allclose(found.predict_joint_log_proba(Z)[1:2], twin, rtol=1e-7)
    assert_allclose(found.predict_proba(Z)[3], 1 / 3)
    whole = found.predict_joint_log_proba(X[:6])
    assert_allclose(found.predict_joint_log_proba(Z)[[0, 4, 5]], whole[[0, 4, 5]], rtol=1e-9)


def test_missing_values_in_fit_where_the_density_takes_them(data):
    X, y = data
    Z = X.copy()
    Z[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    found = BayesClassifier(ProbabilisticPCA(2)).fit(Z, y)
    for c in range(3):
        alone = ProbabilisticPCA(2).fit(Z[y == c])
        assert_allclose(found.predict_joint_log_proba(X)[:, c], alone.score_samples(X) + np.log(1 / 3), rtol=1e-6)


@pytest.mark.long
def test_families_maximise_the_likelihood_of_the_observed_entries(data):
    X, y = data
    Z = X.copy()
    Z[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    w = np.random.default_rng(1).integers(0, 3, len(y))
    for options in ({}, {"sample_weight": w}):
        found = BayesClassifier(GaussianFamily()).fit(Z, y, **options)
        quadratic = QuadraticDiscriminant().fit(Z, y, **options)
        assert_allclose(found.predict_log_proba(Z), quadratic.predict_log_proba(Z), rtol=1e-6, atol=1e-6)
    for family, twin in ((PPCAFamily(2), ProbabilisticPCA(2)), (FactorFamily(1), FactorAnalysis(1))):
        found = BayesClassifier(family).fit(Z, y).predict_joint_log_proba(Z)
        assert_allclose(found, BayesClassifier(twin).fit(Z, y).predict_joint_log_proba(Z), rtol=1e-4, atol=1e-4)
    with pytest.raises(OptionError, match="incomplete rows"):
        BayesClassifier(GaussianFamily()).fit(Z, y).partial_fit(X, y)
    with pytest.raises(DataError, match="NaN"):
        BayesClassifier(GaussianFamily()).partial_fit(Z, y)
    Z[0, 0] = np.inf
    with pytest.raises(DataError, match="infinity"):
        BayesClassifier(GaussianFamily()).fit(Z, y)
    Z[0, 0], Z[y == 1, 3] = 0.0, np.nan
    with pytest.raises(DataError, match="column 3 of class 1 has no observed entry"):
        BayesClassifier(GaussianFamily()).fit(Z, y)


def test_kernels_stand_on_whole_rows_and_the_others_count_for_the_prior(data):
    X, y = data
    Z = X.copy()
    Z[:20, 1] = np.nan
    with pytest.warns(DataWarning, match="20 incomplete rows only count for the prior .*: 7 of 60 of class 0, 7 of 60"):
        found = BayesClassifier(KernelDensity(bandwidth="silverman")).fit(Z, y)
    whole = BayesClassifier(KernelDensity(bandwidth="silverman"), prior="uniform").fit(X[20:], y[20:])
    assert_allclose(found.class_prior_, 1 / 3)
    assert_allclose(found.predict_log_proba(Z), whole.predict_log_proba(Z), rtol=1e-9, atol=1e-9)
    w = np.where(np.arange(180) < 20, 0.0, 2.0)  # rows without weight may be incomplete, without a warning
    BayesClassifier(KernelDensity(bandwidth=1.0)).fit(Z, y, sample_weight=w)
    Z[y == 2, 0] = np.nan
    with pytest.raises(DataError, match="class 2 has no complete row"):
        BayesClassifier(KernelDensity(bandwidth=1.0)).fit(Z, y)
    with pytest.raises(DataError, match="NaN"):
        BayesClassifier(PeerDensity()).fit(Z, y)


# ---- files --------------------------------------------------------------------------------------------------


def test_save_and_load(density, data, tmp_path):
    X, y = data
    frame, labels = pd.DataFrame(X, columns=list("abcd")), np.array(["low", "mid", "high"])[y]
    found = BayesClassifier(density, prior={"low": 0.2, "mid": 0.3, "high": 0.5}).fit(frame, labels)
    again = loaded(found, tmp_path / "model")
    assert_allclose(again.predict_log_proba(frame), found.predict_log_proba(frame), rtol=1e-12, atol=1e-12)
    assert again.predict(frame).tolist() == found.predict(frame).tolist()
    assert_allclose(again.sample(5, random_state=0), found.sample(5, random_state=0), rtol=1e-9)
    drawn = [one.sample(5, random_state=0, return_labels=True)[1].tolist() for one in (again, found)]
    assert drawn[0] == drawn[1]
    assert list(again.feature_names_in_) == list("abcd")
    assert type(again.density) is type(density)
    refitted = clone(again).fit(frame, labels)
    assert_allclose(refitted.predict_log_proba(frame), found.predict_log_proba(frame), rtol=1e-6, atol=1e-6)


def test_loaded_models_do_not_go_on(data, tmp_path):
    again = loaded(BayesClassifier(GaussianFamily()).fit(*data), tmp_path / "model")
    with pytest.raises(OptionError, match="loaded from a file"):
        again.partial_fit(*data)


# ---- bad input ----------------------------------------------------------------------------------------------


def test_the_warning_of_a_density_names_its_class(data):
    X, y = data
    two = np.where(np.arange(180) < 2, 9, y)
    with pytest.warns(DataWarning, match="class 9 of 2 rows: too little spread for a PCA"):
        BayesClassifier(PCA(2)).fit(X, two)  # which has no density of two rows, and knows it when asked
    with pytest.warns(DataWarning, match=r"class 9 \(2 rows\): 1 of 1 components have collapsed"):
        BayesClassifier(GaussianMixture(1)).fit(X, two)
    with pytest.raises(OptionError, match=r"class 0 \(60 rows\): n_components=4"):
        BayesClassifier(ProbabilisticPCA(4)).fit(X, y)
    for density in (GaussianMixture(1), GaussianFamily()):
        late = BayesClassifier(density).partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
        with pytest.raises(DataError, match="class 2 has no rows yet"):
            late.predict(X)
    with pytest.raises(OptionError, match=r"k=4.* must have k below the number of columns of X, 4 feature"):
        BayesClassifier(PPCAFamily(4)).fit(X, y)


def test_bad_arguments(data):
    X, y = data
    with pytest.raises(OptionError, match="density='gaussian' must be a density estimator"):
        BayesClassifier("gaussian").fit(X, y)
    with pytest.raises(OptionError, match="must be a density estimator"):
        BayesClassifier(GaussianMixture).fit(X, y)
    with pytest.raises(DataError, match=r"1 class \(0\)"):
        BayesClassifier(GaussianFamily()).fit(X[y == 0], y[y == 0])
    with pytest.raises(DataError, match="contains NaN"):
        BayesClassifier(GaussianFamily()).fit(X, np.where(y == 1, np.nan, y))
    with pytest.raises(OptionError, match="sum to 1"):
        BayesClassifier(GaussianFamily(), prior=[0.5, 0.5, 0.5]).fit(X, y)
    frame = pd.DataFrame(X, columns=list("abcd"))
    found = BayesClassifier(GaussianFamily()).fit(frame, y)
    with pytest.raises(ValueError, match="same order"):
        found.predict(frame[list("bacd")])
    with pytest.raises(ValueError, match="missing"):
        found.predict(frame[list("abc")])
    X = X.copy()
    X[0, 0] = np.inf
    with pytest.raises(DataError, match="infinity"):
        found.predict(pd.DataFrame(X, columns=list("abcd")))
    with pytest.raises(DataError, match="infinity"):
        BayesClassifier(GaussianFamily()).fit(X, y)


def test_a_row_that_no_class_can_explain_has_the_prior(data):
    X, y = data
    found = BayesClassifier(KernelDensity(kernel="box", bandwidth=1.0), prior=[0.2, 0.5, 0.3]).fit(X, y)
    with pytest.warns(DataWarning, match="density 0 in every class"):
        assert_allclose(found.predict_proba(np.full((1, 4), 1e3)), [[0.2, 0.5, 0.3]])


def test_columns_that_differ_from_those_of_the_fit_are_named(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"c{j}" for j in range(12)]
    frame = pd.DataFrame(rng.standard_normal((30, 12)), columns=names)
    found = BayesClassifier(GaussianFamily("diagonal")).fit(frame, np.arange(30) % 2)
    other = frame.drop(columns=["c9"]).assign(extra=1.0)
    other.to_csv(tmp_path / "other.csv", index=False)
    frame[[*names[:2], "c3", "c2", *names[4:]]].to_csv(tmp_path / "turned.csv", index=False)
    with pytest.raises(DataError, match=r"X lacks 'c9'; new are 'extra'; give X the columns of the fit"):
        found.predict(scan(tmp_path / "other.csv"))
    with pytest.raises(DataError, match=r"their order differs \(column 2 is 'c3', not 'c2'\)"):
        found.predict(scan(tmp_path / "turned.csv"))


@pytest.mark.filterwarnings("ignore::eigenlens.DataWarning")
def test_parameters_of_a_density_of_some_columns_are_shown():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 4)), np.arange(40) % 2
    X[y == 1, 2] = 4.0
    X[:, 0] = 1.0  # left out, so the density of class 1 is of some of some columns
    found = parameters(BayesClassifier(GaussianMixture(1, n_init=1)).fit(X, y))
    assert found["0.density.means_"].value.shape == (1, 3)
    assert found["1.density.density.means_"].value.shape == (1, 2)
    assert_allclose(found["1.density.variances"].value > 0.0, [False, True, False])
