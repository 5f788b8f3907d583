"""A model file that was changed on purpose, with right checksums, is a model or an error that names file and entry."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from campaigns import kills, model_files
from campaigns.base import FINE
from campaigns.model_files import Content, original

import eigenlens
from eigenlens import model_file
from eigenlens.errors import ModelFileError


def changed(tmp_path: Path, model: str, arrays: Any = None, header: Any = None, **envelope: Any) -> Path:
    """Write the file of a model with other arrays, entries of its header or of its envelope, and a right digest."""
    content = Content(original(model))
    content.arrays |= arrays or {}
    content.arrays = {name: array for name, array in content.arrays.items() if array is not None}
    content.envelope["header"] |= header or {}
    content.envelope |= envelope
    path = tmp_path / "changed.safetensors"
    path.write_bytes(content.to_bytes())
    return path


CHANGES: dict[str, tuple[str, dict[str, Any], dict[str, Any], str]] = {
    "a mean that would broadcast": ("pca", {"mean": np.zeros(1)}, {}, "'mean'|'scale' has shape"),
    "a NaN": ("pca", {"scale": np.array([1.0, np.nan, 1.0])}, {}, r"'scale' holds nan at \[1\]"),
    "eigenvalues exchanged": ("pca", {"variances": np.array([0.1, 4.0])}, {}, "'variances' .* 'descending'"),
    "axes of another length": ("pca", {"components": np.ones((2, 3))}, {}, "'components' .* 'orthonormal rows'"),
    "a total of other variances": ("pca", {}, {"total": 1e6}, "'column_variances' do not have the sum 'total'"),
    "a negative variance": ("gmm-diag", {"variances": np.full((2, 3), -1.0)}, {}, "'variances' holds -1"),
    "weights of another sum": ("gmm-full", {"weights": np.array([0.5, 0.6])}, {}, "'weights' .* 'sum 1'"),
    "a covariance that is none": ("gmm-tied", {"covariances": -np.eye(3)[None]}, {}, "'covariances' .* 'positive"),
    "a class too many": ("lda", {"prior": np.full(4, 0.25)}, {}, r"'counts' has shape \(3,\)"),
    "a label twice": ("qda", {}, {"classes": ["a", "b", "b"]}, "'classes' must be 3 different labels"),
    "a class that is not there": ("nb-kde", {"group0.y": np.full(24, 7, np.int32)}, {}, "group0: 'y' holds 7"),
    "indices out of range": ("kpca-sparse", {"rows_indices": np.full(37, 99, np.int32)}, {}, "'rows_indices'"),
    "an array missing": ("kde", {"bandwidth": None}, {}, "lacks 'bandwidth'"),
    "a part in a part": ("bayes-gmm", {"1.means": np.zeros((1, 2))}, {}, "1: "),
    "a text for a number": ("ppca", {}, {"fit": "good"}, "'fit' must be an object"),
    "another type": ("pca", {"mean": np.zeros(3, np.float32)}, {}, "'mean' has the type float32"),
    "no kernel": ("kde", {}, {"kernel": "hat"}, "kernel='hat' is not known"),
    "a dtype of texts": ("lda", {}, {"class_dtype": "<U999999999"}, "not labels of the dtype '<U9"),
    "a name too few": ("pca", {}, {"feature_names": ["a"]}, "'feature_names' has 1 names for 3 columns"),
    "a surplus array": ("kde", {"surplus": np.ones(3)}, {}, "has the array 'surplus', which is not part"),
    "a surplus entry": ("gmm-full", {}, {"surplus": 1}, "the header has 'surplus', which is not part"),
    "an entry that nobody reads": ("nb", {}, {"groups": [{"family": "gaussian", "columns": [0, 1, 2], "said": "x"}]},
                                   "'said' is 'x', and such a model would store None"),
    "no names in a list": ("ppca", {}, {"feature_names": []}, "'feature_names' is a list, and such a model"),
    "other axes than the moments": ("pca", {"components": np.eye(3)[:2]}, {}, "'components' explain more of a column"),
    "half of the moments": ("pca", {"moments_scatter": np.eye(3)}, {}, "are not those of 'moments_scatter'"),
    "variances below the discarded": ("pca", {"variances": np.full(2, 1e-300)}, {}, "below those that were discarded"),
    "a mean without a square": ("pca", {"mean": np.full(3, 1e200)}, {}, "'mean' holds 1e\\+200"),
    "a scale without a square": ("gmm-diag", {"scale": np.full(3, np.nan)}, {}, "'scale' holds nan"),
    "a weight of one row": ("pca-uncentred", {}, {"weight": 1.0}, "'weight' holds 1.0, and must be above 1"),
    "bounds below variances": ("spca", {"bounds": np.zeros(2)}, {}, "'variances' are above 'bounds'"),
    "rows of another fit": ("kpca", {"rows": np.ones((24, 3))}, {}, "are not those of one fit"),
    "half of the coefficients": ("kpca-poly-uncentred", {"coefficients": np.ones((24, 2))}, {}, "those of one fit"),
    "no trace": ("kpca", {}, {"numbers": {"centre_norm": 0.5, "trace": 0.0, "weight": 24.0, "left_out": 0.0}},
                 "'trace' is 0"),
    "a path that ends elsewhere": ("ppca-missing", {"path": np.array([-9.0, -8.0])}, {},
                                   "'path' does not end with 'loglik'"),
    "a path without end": ("gmm-full", {"path": np.array([np.inf])}, {}, "'path' holds inf"),
    "variances below the rest": ("lda", {"covariance.rest": np.array(1.0)}, {}, "is below that off the axes"),
    "classes in another order": ("qda", {}, {"classes": ["right", "middle", "left"]}, "not in ascending order"),
    "more ones than rows": ("nb-bernoulli", {"group0.total": np.full((2, 3), 99.0)}, {}, "more ones than"),
    "a column of more rows": ("nb-multinomial", {"group0.rows": np.ones(2)}, {}, "'weight' is above 'rows'"),
    "counts without end": ("nb-multinomial", {"group0.total": np.full((2, 3), 1e200)}, {}, "what rows can count"),
    "moments of other rows": ("gmm-partial", {"moments.weight": np.ones(2)}, {}, "does not have the sum 'weight'"),
    "shares of other weights": ("mix", {"prior": np.array([0.01, 0.99])}, {}, "the shares of 'weight'"),
    "points without a square": ("kde", {"points": np.full((24, 1), 1e200)}, {}, "'points' holds 1e\\+200"),
    "no deviations": ("bayes-full", {},
                      {"family": ["GaussianFamily", {"covariance": "full", "names": None, "sigma": []}]},
                      "'sigma' has shape"),
    "two columns of one name": ("mix", {}, {"fields": [[0, "text", None], [0, "text", None]]}, "of the same name"),
    "a name that is no number": ("mix", {}, {"fields": [[{"$float": "inf"}, "text", None], [1, "text", None]]},
                                 "name is not finite"),
    "half of a column": ("mix", {}, {"fields": [[0, "text"], [1, "text", None]]}, "'fields' must have a list of 3"),
    "half of a choice": ("mix", {}, {"choices": [["categorical"], ["categorical", "text"]]}, "'choices' must have"),
    "words among numbers": ("mix", {}, {"fields": [[0, "number", None], [1, "text", None]]}, "are not all numbers"),
    "weights of no columns": ("nb", {"group0.weight": np.ones(3)}, {}, "'weight' has shape"),
    "no inverse variance": ("lda", {"covariance.along": np.array([1.0, 1.0, 1e-310])}, {}, "along' holds 1e-310"),
    "a class without a square": ("bayes-full", {"1.mean": np.full(3, 1e200)}, {}, "'mean' holds 1e\\+200"),
    "a table of other roles": ("pca", {}, {"table": {"rows": "many"}}, "'rows' is 'many', and must be of the type int"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_an_error_names_the_file_the_entry_and_what_is_wrong(tmp_path: Path, change: str) -> None:
    model, arrays, header, words = CHANGES[change]
    path = changed(tmp_path, model, arrays, header)
    with pytest.raises(ModelFileError) as caught:
        eigenlens.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert re.search(words, str(caught.value))
    assert "copy it again from its origin" in str(caught.value)


@pytest.mark.parametrize(("name", "value"), [("n_components", "many"), ("tol", -1.0), ("random_state", "x"), ("k", 1)])
def test_parameters_are_checked_as_by_fit(tmp_path: Path, name: str, value: Any) -> None:
    parameters = Content(original("pca")).envelope["header"]["parameters"]
    with pytest.raises(ModelFileError, match=name):
        eigenlens.load(changed(tmp_path, "pca", header={"parameters": parameters | {name: value}}))


def test_a_fit_ended_for_a_reason_that_there_is(tmp_path: Path) -> None:
    fit = Content(original("ppca-missing")).envelope["header"]["fit"]
    with pytest.raises(ModelFileError, match="'ended' is not a reason to stop"):
        eigenlens.load(changed(tmp_path, "ppca-missing", header={"fit": fit | {"ended": "tired"}}))


def test_a_parameter_that_every_version_had_may_not_be_missing(tmp_path: Path) -> None:
    parameters = Content(original("pca")).envelope["header"]["parameters"]
    later, always = ({key: value for key, value in parameters.items() if key != left} for left in ("center", "tol"))
    assert eigenlens.load(changed(tmp_path, "pca", header={"parameters": later})).center is True
    with pytest.raises(ModelFileError, match="'parameters' lacks 'tol'"):
        eigenlens.load(changed(tmp_path, "pca", header={"parameters": always}))


def test_a_file_of_another_version_says_which(tmp_path: Path) -> None:
    own = model_file._version()
    with pytest.raises(
        ModelFileError, match=rf"written by eigenlens 9\.1 in format 7, and this is eigenlens {own}.*upgrade"
    ):
        eigenlens.load(changed(tmp_path, "pca", version="9.1", format=7))
    with pytest.raises(ModelFileError, match=rf"'Forest'.*written by eigenlens 9\.1, and this is {own}: upgrade"):
        eigenlens.load(changed(tmp_path, "pca", version="9.1", kind="Forest"))
    assert eigenlens.load(changed(tmp_path, "pca", version="9.1")).n_components_ == 2


@pytest.mark.parametrize("number", [0, -1, True])
def test_formats_that_never_were(tmp_path: Path, number: Any) -> None:
    with pytest.raises(ModelFileError, match="its format is"):
        eigenlens.load(changed(tmp_path, "pca", format=number))


def test_what_could_not_be_loaded_is_not_saved(tmp_path: Path) -> None:
    model = eigenlens.PCA(2).fit(np.random.default_rng(0).normal(size=(20, 3)))
    model.save(tmp_path / "model.safetensors")
    before = (tmp_path / "model.safetensors").read_bytes()
    with pytest.raises(ModelFileError, match=r"PCA cannot be saved: tol=-1 must be"):
        model.set_params(tol=-1).save(tmp_path / "model.safetensors")
    assert (tmp_path / "model.safetensors").read_bytes() == before


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # as the campaign does, which looks at results
@pytest.mark.parametrize("first", range(0, 300, 30))
def test_files_changed_at_random_end_well(first: int) -> None:
    results = [model_files.run_case(17, number) for number in range(first, first + 30)]
    assert [result for result in results if result.outcome not in FINE] == []


@pytest.mark.long
def test_killed_saves_end_well() -> None:
    results = [kills.run_case(17, number) for number in range(12)]
    assert [result for result in results if result.outcome not in FINE] == []
