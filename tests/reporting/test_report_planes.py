"""How the charts of a report begin: where a reconstruction tells something, and what the axes of scores say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from eigenlens import PCA, KernelPCA, LinearDiscriminant, report
from written_reports import contents, named, numbers

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.standard_normal((60, 6)) @ RNG.standard_normal((6, 6)), columns=list("abcdef"))
SIDE = np.where(X["a"] > 0, "high", "low")


def charts(path, model, **given):
    return contents(report(model, X, path, **given))["first"]["charts"]


def test_a_reconstruction_from_all_components_begins_where_little_is_lost(tmp_path):
    found = named(charts(tmp_path / "r.html", PCA().fit(X)), "Reconstruction")
    lost = [float(frame["value"].split(", ")[1].removesuffix("% lost")) for frame in found["frames"]]
    assert found["fitted"] == len(lost) - 1
    assert lost[-1] == 0.0
    assert found["start"] < found["fitted"]
    assert lost[found["start"]] <= 10.0 or found["start"] == found["fitted"] - 1
    assert all(share > 10.0 for share in lost[: found["start"]])


def test_a_reconstruction_from_fewer_begins_as_fitted(tmp_path):
    found = named(charts(tmp_path / "r.html", PCA(3).fit(X)), "Reconstruction")
    assert found["start"] == found["fitted"] == len(found["frames"]) - 1


def test_axes_of_kernel_components_have_their_shares(tmp_path):
    model = KernelPCA(3, gamma=0.1).fit(X)
    found = charts(tmp_path / "r.html", model)
    labels = [axis["label"] for axis in named(found, "Embedding")["axes"]]
    assert labels == [f"component {j + 1} ({s:.1%})" for j, s in enumerate(model.explained_variance_ratio_)]
    linear = named(named(found, "Embedding by width")["frames"][0]["charts"], "Linear PCA of the same rows")
    share = PCA(2).fit(X).explained_variance_ratio_[0]
    assert linear["axes"][0]["label"] == f"component 1 ({share:.1%})"


@pytest.mark.parametrize(
    ("title", "model", "given"),
    [
        ("Scores", PCA(1).fit(X), {}),
        ("Discriminant direction", LinearDiscriminant().fit(X, SIDE), {"y": SIDE}),
        ("Embedding", KernelPCA(1, gamma=0.1).fit(X), {}),
    ],
)
def test_rows_on_one_axis_do_not_hide_each_other(tmp_path, title, model, given):
    path = tmp_path / "r.html"
    found = named(charts(path, model, **given), title)
    heights = numbers(found["y"], contents(path))
    assert found["ylabel"] == ""
    assert "Height is chance" in found["about"]
    assert np.unique(heights).size == 60
    assert not found.get("equal")
