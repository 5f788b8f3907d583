"""The recipe for a rotation: one function, and one entry in `ROTATIONS`."""

from __future__ import annotations

import numpy as np
import pytest

import eigenlens
from eigenlens import FactorAnalysis
from eigenlens.catalogue import MODELS
from eigenlens.cli import main
from eigenlens.errors import OptionError
from eigenlens.latent import tables
from eigenlens.rotation import ROTATIONS


def by_angle(L, *, degrees=30.0):
    """Rotate the first two factors by a given angle: the matrix T (k, k) is enough."""
    T = np.eye(L.shape[1])
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    T[:2, :2] = [[c, -s], [s, c]]
    return T


@pytest.fixture(autouse=True)
def entry(monkeypatch):
    monkeypatch.setitem(ROTATIONS, "mine", by_angle)


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.standard_normal((150, 2)) @ rng.standard_normal((2, 6)) + rng.standard_normal((150, 6))


@pytest.mark.parametrize("degrees", [30.0, 70.0])
def test_the_rotation_is_taken_by_name_with_its_own_options(X, degrees):
    plain = FactorAnalysis(2).fit(X)
    mine = FactorAnalysis(2, rotation="mine", rotation_options={"degrees": degrees}).fit(X)
    T = by_angle(plain.loadings_, degrees=degrees)
    np.testing.assert_allclose(mine.loadings_, plain.loadings_ @ T, atol=1e-12)
    np.testing.assert_allclose(mine.transform(X), plain.transform(X) @ T, atol=1e-12)
    np.testing.assert_allclose(mine.factor_correlations_, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(mine.score_samples(X), plain.score_samples(X), atol=1e-12)


def test_it_is_saved_with_the_model(X, tmp_path):
    fitted = FactorAnalysis(2, rotation="mine").fit(X)
    fitted.save(tmp_path / "model")
    np.testing.assert_array_equal(eigenlens.load(tmp_path / "model").loadings_, fitted.loadings_)


def test_tables_and_plots_take_it(X):
    table = tables.rotation(FactorAnalysis(2).fit(X), "mine")
    assert table.name == "mine"
    np.testing.assert_allclose(table.after.values, table.before.values @ by_angle(table.before.values), atol=1e-12)


def test_errors_name_it(X, monkeypatch):
    with pytest.raises(OptionError, match="did you mean 'mine'"):
        FactorAnalysis(2, rotation="mime").fit(X)
    with pytest.raises(OptionError, match=r"use one of 'varimax', .*'oblimin', .*'mine'"):
        FactorAnalysis(2, rotation="other").fit(X)
    with pytest.raises(OptionError, match=r"rotation_options=\{'angle': 3\} do not fit rotation='mine'"):
        FactorAnalysis(2, rotation="mine", rotation_options={"angle": 3}).fit(X)
    monkeypatch.setitem(ROTATIONS, "mine", lambda L: np.eye(L.shape[1] + 1))
    with pytest.raises(
        OptionError, match=r"rotation='mine' returned an array of shape \(3, 3\); return a Rotation, or T"
    ):
        FactorAnalysis(2, rotation="mine").fit(X)


def test_the_command_line_takes_it(X, tmp_path, capsys):
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",", header="a,b,c,d,e,f", comments="")
    rows, model = str(tmp_path / "rows.csv"), str(tmp_path / "model.safetensors")
    assert main(["fit", "fa", rows, "-k", "2", "--rotation", "mine", "-o", model]) == 0
    loadings = FactorAnalysis(2, rotation="mine").fit(X).loadings_
    np.testing.assert_allclose(np.abs(eigenlens.load(model).loadings_), np.abs(loadings), atol=1e-6)
    capsys.readouterr()
    assert main(["fit", "fa", rows, "-k", "2", "--rotation", "mime"]) == 2
    assert "did you mean 'mine'" in capsys.readouterr().err


def test_help_and_docstring_list_the_registered_names(capsys):
    """An entry that is meant to stay has its name in the catalogue too, which help reads without importing NumPy."""
    known = [name for name in ROTATIONS if name != "mine"]
    assert list(MODELS["FactorAnalysis"].names["rotation"].names) == known
    assert main(["fit", "--help"]) == 0
    text = capsys.readouterr().out
    assert all(name in text and f'"{name}"' in (FactorAnalysis.__doc__ or "") for name in known)


def test_a_function_needs_no_name(X):
    np.testing.assert_array_equal(
        FactorAnalysis(2, rotation=by_angle).fit(X).loadings_, FactorAnalysis(2, rotation="mine").fit(X).loadings_
    )
