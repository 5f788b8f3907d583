"""The page "How it is tested" shows what the campaigns wrote down, and speaks of every campaign."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))
sys.path.append(str(Path(__file__).parents[2] / "docs" / "extensions"))
from campaigns import record
from campaigns.__main__ import CAMPAIGNS
from campaigns.base import Outcome, Result

import campaign_figures

PAGE = Path(__file__).parents[2].joinpath("docs", "how-it-is-tested.md").read_text(encoding="utf-8")


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Two campaigns in a file of their own, one of which did not end well."""
    file = tmp_path / "campaigns.json"
    good = [Result(Outcome.OK, "python -m campaigns accuracy  # PCA, a | b", "relative error 1e-16")]
    bad = [Result(Outcome.CLEAR, "f()"), Result(Outcome.NAN, "g(1)", "NaN in result")]
    record.write("calls", record.entry("calls", 3, 0, bad, 60.0), file)
    record.write("accuracy", record.entry("accuracy", 3, 0, good, 6.0), file)
    monkeypatch.setattr(campaign_figures, "FILE", file)
    return file


def test_every_campaign_has_figures_a_size_and_words():
    assert set(campaign_figures.figures()) == set(record.FULL_SIZES) == set(CAMPAIGNS)
    assert [name for name in CAMPAIGNS if f"`{name}`\n: " not in PAGE] == []


def test_recorded_outcomes_add_up():
    for entry in campaign_figures.figures().values():
        outcomes = entry["outcomes"]
        assert set(outcomes) == set(map(str, Outcome))
        assert sum(outcomes.values()) == entry["cases"] > 0
        failed = entry["cases"] - outcomes["ok"] - outcomes["clear error"]
        assert len(entry["failures"]) == min(failed, record.MOST_FAILURES)


@pytest.mark.usefixtures("written")
def test_a_case_that_failed_is_on_the_page():
    made = campaign_figures.pages()
    assert "| `calls` | 2 | 0 | 1 | 1 silent NaN | 3 |" in made["campaigns.md"]
    assert "silent NaN: g(1): NaN in result" in made["campaigns.md"]
    assert "| PCA, a \\| b | relative error 1e-16 |" in made["campaign-accuracy.md"]


def test_a_campaign_that_is_recorded_again_replaces_itself_alone(written):
    record.write("calls", record.entry("calls", 4, 0, [Result(Outcome.OK, "f()")], 1.0), written)
    kept = json.loads(written.read_text(encoding="utf-8"))["campaigns"]
    assert kept["calls"]["seed"] == 4
    assert kept["accuracy"]["seed"] == 3
    assert "did not end as they should" not in campaign_figures.pages()["campaigns.md"]
