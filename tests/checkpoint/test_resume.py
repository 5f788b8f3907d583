"""A fit that ends early goes on from its checkpoint, and the model has the same bits as one that was never stopped."""

from __future__ import annotations

import os
import re
import warnings

import numpy as np
import pytest
from checkpoint_models import CASES, CLASSES, COMPLETE
from sklearn.base import clone

import eigenlens
from eigenlens import PCA, GaussianMixture, KernelDensity, NaiveBayes, ProbabilisticPCA, compare, select_mixture
from eigenlens.catalogue import MODELS
from eigenlens.checkpoint import Checkpoint
from eigenlens.checkpoint.passes import current_call
from eigenlens.data.memory import ArraySource
from eigenlens.errors import DataError, OptionError, ResourceError


class Stopped(BaseException):
    """What ends a fit: nothing catches it, as nothing catches the end of a process."""


class StoppingRows(ArraySource):
    """Rows in blocks; the fit that reads more blocks than it may is stopped."""

    def __init__(self, X, most=None):
        super().__init__(X, block_rows=50)
        self.most, self.read = most, 0

    def rows(self):
        for block in super().rows():
            if current_call() is not None or self.most is None:  # the description of the rows reads them too
                self.read += 1
            if self.most is not None and self.read > self.most:
                raise Stopped
            yield block


def saved(estimator, folder):
    estimator.save(folder / "model")
    return (folder / "model").read_bytes()


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("share", [0.05, 0.4, 0.8, 0.99])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.few(44)
def test_a_stopped_fit_goes_on_with_the_same_bits(tmp_path, name, share):
    case, path = CASES[name], tmp_path / "fit"
    whole = StoppingRows(case.X)
    reference = saved(clone(case.estimator).fit(whole, *case.targets), tmp_path)
    stopping = StoppingRows(case.X, most=max(1, int(share * whole.read)))
    with pytest.raises(Stopped):
        clone(case.estimator).fit(stopping, *case.targets, checkpoint=Checkpoint(path, seconds=0))
    again = StoppingRows(case.X)
    found = saved(clone(case.estimator).fit(again, *case.targets, checkpoint=Checkpoint(path, seconds=0)), tmp_path)
    assert not path.exists()
    assert found == reference


def test_every_kind_of_model_is_among_the_cases():
    assert {type(case.estimator).__name__ for case in CASES.values()} == set(MODELS) - {"KernelDensity", "GenotypePCA"}


def test_a_fit_without_a_seed_goes_on_with_the_seed_that_it_drew(tmp_path):
    mixture, path, models = GaussianMixture(3, n_init=3), tmp_path / "fit", []
    with pytest.raises(Stopped):
        clone(mixture).fit(StoppingRows(COMPLETE, most=60), checkpoint=Checkpoint(path, seconds=0))
    kept = path.read_bytes()
    for _ in range(2):
        path.write_bytes(kept)
        models.append(saved(clone(mixture).fit(StoppingRows(COMPLETE), checkpoint=path), tmp_path))
    assert models[0] == models[1]


def test_a_pass_goes_on_at_its_block_and_finished_ones_are_not_read_again(tmp_path):
    path, whole = tmp_path / "fit", StoppingRows(COMPLETE)
    PCA(2, solver="lanczos", random_state=0).fit(whole)
    seen = []
    stopping = StoppingRows(COMPLETE, most=whole.read - 2)
    with pytest.raises(Stopped):
        PCA(2, solver="lanczos", random_state=0).fit(stopping, checkpoint=Checkpoint(path, seconds=0))
    pca = PCA(2, solver="lanczos", random_state=0, verbose=lambda done, total, label: seen.append(done))
    pca.fit(StoppingRows(COMPLETE), checkpoint=path)
    assert seen[0] > 50  # not the first block
    assert seen == sorted(seen)  # of a single pass


def test_rows_of_weight_and_classes_of_their_own_are_part_of_the_call(tmp_path):
    path, weight = tmp_path / "fit", np.linspace(0.5, 1.5, len(COMPLETE))
    rows = StoppingRows(COMPLETE, most=8)
    with pytest.raises(Stopped):
        ProbabilisticPCA(2, solver="em").fit(rows, sample_weight=weight, checkpoint=Checkpoint(path, seconds=0))
    with pytest.raises(OptionError, match=r"sample_weight was array.*and is now array"):
        ProbabilisticPCA(2, solver="em").fit(StoppingRows(COMPLETE), sample_weight=2 * weight, checkpoint=path)


def stopped_mixture(path):
    with pytest.raises(Stopped):
        GaussianMixture(2, random_state=0).fit(StoppingRows(COMPLETE, most=20), checkpoint=path)


CHANGES = {
    "a parameter": (GaussianMixture(3, random_state=0), COMPLETE, "n_components was 2, and is now 3"),
    "the seed": (GaussianMixture(2, random_state=1), COMPLETE, "random_state was 0, and is now 1"),
    "the rows": (GaussianMixture(2, random_state=0), COMPLETE + 1e-12, "the entries of X was .*, and is now"),
    "their number": (GaussianMixture(2, random_state=0), COMPLETE[1:], "the shape of X was 240 rows of 5 columns"),
    "the model": (PCA(2), COMPLETE, "the call was GaussianMixture.fit, and is now PCA.fit"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_call_is_an_error_that_names_what_differs(tmp_path, change):
    estimator, X, words = CHANGES[change]
    stopped_mixture(tmp_path / "fit")
    before = (tmp_path / "fit").read_bytes()
    with pytest.raises(OptionError, match=words) as caught:
        estimator.fit(StoppingRows(X), checkpoint=tmp_path / "fit")
    assert "give another path, or delete the file" in str(caught.value)
    assert (tmp_path / "fit").read_bytes() == before


def test_a_file_that_changed_since_is_an_error_that_names_it(tmp_path):
    np.save(tmp_path / "rows.npy", COMPLETE)
    source = eigenlens.scan(tmp_path / "rows.npy", block_rows=50)
    stop = StoppingProgress(3)
    with pytest.raises(Stopped):
        PCA(2, solver="lanczos", random_state=0, verbose=stop).fit(source, checkpoint=Checkpoint(tmp_path / "fit", 0))
    np.save(tmp_path / "rows.npy", np.concatenate([COMPLETE, COMPLETE]))
    with pytest.raises(OptionError, match=re.escape(f"the file '{tmp_path / 'rows.npy'}' was 9,728 bytes")):
        PCA(2, solver="lanczos", random_state=0).fit(eigenlens.scan(tmp_path / "rows.npy"), checkpoint=tmp_path / "fit")


class StoppingProgress:
    """A callback of progress that stops the fit after some calls."""

    def __init__(self, most):
        self.left = most

    def __call__(self, done, total, label):
        self.left -= 1
        if self.left < 0:
            raise Stopped


def test_a_damaged_checkpoint_is_an_error_and_never_another_model(tmp_path):
    path = tmp_path / "fit"
    reference = saved(GaussianMixture(2, random_state=0).fit(COMPLETE), tmp_path)
    stopped_mixture(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(whole), 40):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(damaged))
        with pytest.raises((DataError, OptionError), match=r"damaged|not a checkpoint|another call"):
            GaussianMixture(2, random_state=0).fit(StoppingRows(COMPLETE), checkpoint=path)
    path.write_bytes(whole)
    found = GaussianMixture(2, random_state=0).fit(StoppingRows(COMPLETE), checkpoint=path)
    assert saved(found, tmp_path) == saved(GaussianMixture(2, random_state=0).fit(StoppingRows(COMPLETE)), tmp_path)
    assert reference


def test_a_call_that_asks_for_other_passes_is_an_error(tmp_path):
    """Something that no description of a call has: a solver of the user's that changes with the weather."""
    path, turns = tmp_path / "fit", [1.0]

    def solver(rows, wanted, tol, rng):
        from eigenlens.linalg.solve import SOLVERS

        rows.matmat(np.full((rows.size, 1), turns[0]))
        if turns[0] == 1.0:
            raise Stopped
        return SOLVERS["covariance"](rows, wanted, tol, rng)

    with pytest.raises(Stopped):
        PCA(2, solver=solver).fit(COMPLETE, checkpoint=path)
    turns[0] = 2.0
    with pytest.raises((DataError, OptionError), match=r"does not belong to this call|another call"):
        PCA(2, solver=solver).fit(COMPLETE, checkpoint=path)


def test_a_fit_that_fails_before_its_first_total_leaves_no_file(tmp_path):
    with pytest.raises(DataError):
        PCA(2).fit(np.array([["a", "b"], ["c", "d"]]), checkpoint=tmp_path / "fit")
    with pytest.raises(OptionError):
        PCA(99).fit(COMPLETE, checkpoint=tmp_path / "fit")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("path", ["", 3, "no/such/folder/fit", "."])
def test_a_path_that_cannot_be_written_is_an_error_before_any_work(path):
    with pytest.raises(OptionError, match="checkpoint="):
        PCA(2).fit(COMPLETE, checkpoint=path)


def test_kernel_densities_have_no_passes_to_record(tmp_path):
    with pytest.raises(OptionError, match="has no use for KernelDensity, which makes no passes over blocks of rows"):
        KernelDensity().fit(COMPLETE[:, :1], checkpoint=tmp_path / "fit")


def test_an_interrupt_keeps_the_best_model_and_the_checkpoint(tmp_path):
    import signal

    path = tmp_path / "fit"

    def interrupt(done, total, label):
        if label.startswith("EM: step 4"):
            os.kill(os.getpid(), signal.SIGINT)

    rows = StoppingRows(COMPLETE)
    options = {"n_init": 2, "tol": 1e-12, "random_state": 0}
    GaussianMixture(3, **options, verbose=interrupt).fit(rows, checkpoint=path)
    assert path.exists()
    found = GaussianMixture(3, **options).fit(StoppingRows(COMPLETE), checkpoint=path)
    assert not path.exists()
    reference = GaussianMixture(3, **options).fit(StoppingRows(COMPLETE))
    assert saved(found, tmp_path) == saved(reference, tmp_path)


def test_partial_fits_have_checkpoints_too(tmp_path):
    path = tmp_path / "fit"
    bayes = NaiveBayes("gaussian").partial_fit(COMPLETE, CLASSES)
    reference = saved(NaiveBayes("gaussian").partial_fit(COMPLETE, CLASSES).partial_fit(COMPLETE, CLASSES), tmp_path)
    with pytest.raises(Stopped):
        bayes.partial_fit(StoppingRows(COMPLETE, most=3), CLASSES, checkpoint=Checkpoint(path, seconds=0))
    assert path.exists()
    bayes.partial_fit(StoppingRows(COMPLETE), CLASSES, checkpoint=path)
    assert bayes.predict(COMPLETE).tolist() == eigenlens_predictions(reference, tmp_path)


def eigenlens_predictions(data, folder):
    (folder / "reference").write_bytes(data)
    return eigenlens.load(folder / "reference").predict(COMPLETE).tolist()


def test_a_selection_goes_on_from_its_checkpoint(tmp_path):
    path, options = tmp_path / "fit", {"n_init": 2, "random_state": 0}
    reference = select_mixture(StoppingRows(COMPLETE), range(1, 4), ["diag", "full"], **options)
    with pytest.raises(Stopped):
        select_mixture(StoppingRows(COMPLETE, most=200), range(1, 4), ["diag", "full"], checkpoint=path, **options)
    found = select_mixture(StoppingRows(COMPLETE), range(1, 4), ["diag", "full"], checkpoint=path, **options)
    assert found.types == reference.types
    assert np.array_equal(found.bic, reference.bic)
    assert not path.exists()


def test_a_comparison_goes_on_from_its_checkpoint(tmp_path):
    path, models = tmp_path / "fit", {"a": ProbabilisticPCA(2), "b": GaussianMixture(2, n_init=2, random_state=0)}
    reference = compare(models, COMPLETE, random_state=0)
    found = compare(models, COMPLETE, random_state=0, checkpoint=path)
    assert np.array_equal(found.means, reference.means)
    assert not path.exists()


def test_an_error_of_the_checkpoint_is_not_taken_for_one_of_a_model(tmp_path):
    import resource
    import signal

    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, limits[1]))
    try:
        with pytest.raises(ResourceError, match=r"cannot be written \(File too large\)"):
            select_mixture(COMPLETE, range(1, 3), ["full"], random_state=0, checkpoint=tmp_path / "fit")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


def test_dask_records_the_totals_of_passes(tmp_path):
    import dask.array as da

    path, X = tmp_path / "fit", da.from_array(COMPLETE, chunks=(50, 5))
    options = {"solver": "lanczos", "random_state": 0}
    reference = saved(PCA(2, **options).fit(X), tmp_path)
    with pytest.raises(Stopped):
        PCA(2, **options, verbose=StoppingProgress(1)).fit(X, checkpoint=path)
    assert path.exists()
    assert saved(PCA(2, **options).fit(X, checkpoint=path), tmp_path) == reference
    assert not path.exists()


def test_a_journal_of_partial_totals_stays_small(tmp_path, monkeypatch):
    from eigenlens.checkpoint import passes

    monkeypatch.setattr(passes, "FREE_BYTES", 4000)
    monkeypatch.setattr(passes, "BYTES_PER_SECOND", 1 << 30)
    path, sizes = tmp_path / "fit", []

    def note(done, total, label):
        sizes.append(path.stat().st_size if path.exists() else 0)

    X = np.random.default_rng(0).standard_normal((2000, 5))
    PCA(2, solver="covariance", verbose=note).fit(ArraySource(X, block_rows=10), checkpoint=Checkpoint(path, seconds=0))
    assert len(sizes) == 200
    assert max(sizes) < 12_000
