"""Naive Bayes on files with text: by blocks exactly what the whole frame gives; its own files with odd categories."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

import eigenlens
from eigenlens.bayes.naive.estimator import NaiveBayes
from eigenlens.data.files.formats import parquet as tables
from eigenlens.data.files.scan import scan
from eigenlens.errors import DataError, OptionError
from eigenlens.pca.estimator import PCA

WRITERS = {
    ".csv": pl.DataFrame.write_csv,
    ".parquet": lambda frame, path: frame.write_parquet(path, row_group_size=70),
    ".arrow": pl.DataFrame.write_ipc,
}
TABLES = pytest.mark.parametrize("suffix", WRITERS)


def table(n: int = 300, seed: int = 0) -> pl.DataFrame:
    """Every kind of column, missing values, a category in the last rows only, and classes that depend on them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    drink = np.array(["coffee", "juice", "tea"])[(y + (rng.random(n) < 0.4)) % 3].tolist()
    return pl.DataFrame(
        {
            "height": [None if i % 13 == 0 else v for i, v in enumerate(rng.normal(100 + 30 * y, 9.0))],
            "drink": [None if i % 11 == 0 else "late" if i >= n - 3 else drink[i] for i in range(n)],
            "kids": rng.poisson(1 + y).clip(max=6),
            "works": rng.random(n) < 0.2 + 0.3 * y,
            "flag": (rng.random(n) < 0.3 + 0.2 * y).astype(float),
            "kind": np.array(["child", "adult", "senior"])[y],
        }
    )


@pytest.fixture
def small_pieces(monkeypatch):
    """Limits so low that there are many blocks."""
    monkeypatch.setattr(tables, "SLAB_BYTES", 6000)
    monkeypatch.setattr("eigenlens.data.files.text.PIECE_BYTES", 900)


@TABLES
def test_files_by_blocks_are_the_whole_frame(tmp_path, suffix, small_pieces):
    """The counts are equal, bit by bit; moments are merged, so equal up to rounding."""
    frame = table()
    WRITERS[suffix](frame, tmp_path / f"t{suffix}")
    X, y = frame.drop("kind"), frame["kind"]
    source = scan(tmp_path / f"t{suffix}", label="kind", block_rows=37)
    weight = np.random.default_rng(1).integers(0, 3, len(frame)).astype(float)
    for w in (None, weight):
        expected = NaiveBayes().fit(X, y, sample_weight=w)
        found = NaiveBayes().fit(source, sample_weight=w)
        assert found.features_ == expected.features_
        assert found.classes_.tolist() == ["adult", "child", "senior"]
        for column in ("drink", "kids"):
            for label in found.classes_:
                ours, theirs = found.density(column, label), expected.density(column, label)
                assert ours.levels == theirs.levels
                assert ours.probabilities.tolist() == theirs.probabilities.tolist()
        np.testing.assert_allclose(
            found.predict_log_proba(source), expected.predict_log_proba(X), rtol=1e-11, atol=1e-12
        )
        np.testing.assert_array_equal(found.predict(source), expected.predict(X))
    assert [family for _, family, _ in found.features_] == [
        "gaussian", "categorical", "categorical", "bernoulli", "bernoulli",
    ]  # fmt: skip
    assert "late" in found.density("drink", "adult").levels
    reasons = found.explain(source)
    np.testing.assert_allclose(reasons.contributions, expected.explain(X).contributions, atol=1e-10)


@TABLES
def test_several_files_in_other_orders_and_one_after_another(tmp_path, suffix):
    first, second = table(seed=1), table(seed=2)
    WRITERS[suffix](first, tmp_path / f"a{suffix}")
    WRITERS[suffix](second.select(reversed(second.columns)), tmp_path / f"b{suffix}")
    both = pl.concat([first, second])
    families = {"kids": "categorical", "flag": "bernoulli", "height": "gaussian"}
    expected = NaiveBayes(families).fit(both.drop("kind"), both["kind"])
    together = NaiveBayes(families).fit(scan(f"{tmp_path}/*{suffix}", label="kind"))
    apart = NaiveBayes(families)
    for name in "ab":
        apart.partial_fit(scan(tmp_path / f"{name}{suffix}", columns=first.columns[:-1], label="kind"))
    for rule in (together, apart):
        np.testing.assert_allclose(
            rule.predict_log_proba(both.drop("kind")), expected.predict_log_proba(both.drop("kind")), rtol=1e-11,
            atol=1e-12,
        )  # fmt: skip


@TABLES
def test_numbers_only_models_still_reject_text(tmp_path, suffix):
    WRITERS[suffix](table(), tmp_path / f"t{suffix}")
    for fit in (lambda X: PCA(2).fit(X), lambda X: eigenlens.GaussianMixture(2).fit(X)):
        with pytest.raises(DataError, match=r"column 'drink' has text in 27\d rows .* drop=\['drink', 'kind'\]"):
            fit(scan(tmp_path / f"t{suffix}"))


@TABLES
def test_files_whose_columns_are_not_those_of_the_fit(tmp_path, suffix):
    frame = table()
    rule = NaiveBayes().fit(frame.drop("kind"), frame["kind"])
    WRITERS[suffix](frame.drop("kind").with_columns(height=pl.lit("tall")), tmp_path / f"text{suffix}")
    with pytest.raises(DataError, match="'height' holds text or categories, and was fitted on numbers"):
        rule.predict(scan(tmp_path / f"text{suffix}"))
    WRITERS[suffix](frame.drop("kind").with_columns(drink=pl.lit(3)), tmp_path / f"numbers{suffix}")
    with pytest.raises(DataError, match="'drink' holds numbers, and was fitted on text"):
        rule.predict(scan(tmp_path / f"numbers{suffix}"))
    WRITERS[suffix](frame.drop("kind", "drink"), tmp_path / f"fewer{suffix}")
    with pytest.raises(DataError, match="columns of X are"):
        rule.predict(scan(tmp_path / f"fewer{suffix}"))


@TABLES
def test_columns_of_files_are_found_by_name(tmp_path, suffix):
    frame = table()
    X = frame.drop("kind")
    rule = NaiveBayes().fit(X, frame["kind"])
    more = frame.select(reversed(frame.columns)).with_columns(name=pl.Series([f"row {i}" for i in range(len(frame))]))
    WRITERS[suffix](more, tmp_path / f"more{suffix}")
    np.testing.assert_array_equal(rule.predict_proba(scan(tmp_path / f"more{suffix}")), rule.predict_proba(X))
    np.testing.assert_array_equal(rule.predict_proba(more.lazy()), rule.predict_proba(X))
    rule.partial_fit(scan(tmp_path / f"more{suffix}", label="kind"))
    twice = NaiveBayes().fit(pl.concat([X, X]), pl.concat([frame["kind"], frame["kind"]]))
    np.testing.assert_allclose(rule.predict_log_proba(X), twice.predict_log_proba(X), rtol=1e-10, atol=1e-11)


def test_scans_without_a_label_need_one(tmp_path):
    table().write_csv(tmp_path / "t.csv")
    with pytest.raises((DataError, OptionError), match="label"):
        NaiveBayes().fit(scan(tmp_path / "t.csv"))
    with pytest.raises(DataError, match="150 labels"):
        NaiveBayes().fit(scan(tmp_path / "t.csv", drop="kind"), table()["kind"][:150])


def test_families_that_keep_rows_and_files(tmp_path):
    table().write_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="'height' has the family 'kde', which keeps all rows"):
        NaiveBayes({"height": "kde"}).fit(scan(tmp_path / "t.parquet", label="kind"))


def test_declared_categories_are_smoothed_in_every_container(tmp_path):
    """Enumerations, pandas' categories and Arrow's dictionaries declare a category that never occurs; text does not."""
    drinks, y = ["tea", "juice", "tea", "juice"], [0, 0, 1, 1]
    enum = pl.DataFrame({"v": pl.Series(drinks, dtype=pl.Enum(["tea", "milk", "juice"]))})
    enum.write_ipc(tmp_path / "t.arrow")
    for X in (
        enum,
        enum.lazy(),
        enum.to_arrow(),
        pd.DataFrame({"v": pd.Categorical(drinks, categories=["tea", "milk", "juice"])}),
        scan(tmp_path / "t.arrow"),
    ):
        density = NaiveBayes().fit(X, y).density("v", 0)
        assert (density.levels, density.probabilities.tolist()) == (("tea", "milk", "juice"), [2 / 5, 1 / 5, 2 / 5])
    pool = pl.DataFrame({"v": pl.Series([*drinks, "milk"], dtype=pl.Categorical)})[:4]
    pool.write_parquet(tmp_path / "t.parquet")
    for X in (pool, pool.cast(pl.String), scan(tmp_path / "t.parquet")):
        density = NaiveBayes().fit(X, y).density("v", 0)
        assert (density.levels, density.probabilities.tolist()) == (("juice", "tea"), [1 / 2, 1 / 2])


# ---- its own files ------------------------------------------------------------------------------------------------

CATEGORIES = {
    "text": ["a", "ß"],
    "integers": [1, 2],
    "floats": [0.1, float("inf")],
    "booleans": [True, False],
    "dates": [datetime.date(2020, 1, 1), datetime.date(2020, 2, 29)],
    "bytes": [b"a", b"\xff\x00"],
    "mixed": [1, "1", 1.5],
    "tuples": [("a", 1), ("b", (2, 3))],
}


@pytest.mark.parametrize(
    ("kind", "declared"),
    [(kind, declared) for kind in CATEGORIES for declared in (True, False) if declared or kind != "dates"],
)
def test_odd_categories_are_saved_and_read_again(tmp_path, kind, declared):
    categories = CATEGORIES[kind]
    values = np.empty(60, dtype=object)
    for i in range(60):
        values[i] = categories[i % len(categories)]
    column = pd.Series(values)
    if declared:
        column = pd.Series(pd.Categorical(column, categories=categories))
    X = pd.DataFrame({"v": column})
    rule = NaiveBayes({"v": "categorical"}, smoothing={"v": {categories[0]: 2.0}}).fit(X, np.arange(60) % 7 % 2)
    rule.save(tmp_path / "rule.safetensors")
    back = eigenlens.load(tmp_path / "rule.safetensors")
    assert back.density("v", 0).levels == rule.density("v", 0).levels
    assert [*map(type, back.density("v", 0).levels)] == [*map(type, rule.density("v", 0).levels)]
    assert back.get_params() == rule.get_params()
    np.testing.assert_array_equal(back.predict_log_proba(X), rule.predict_log_proba(X))
    np.testing.assert_array_equal(
        back.partial_fit(X, np.arange(60) % 2).predict_proba(X), rule.partial_fit(X, np.arange(60) % 2).predict_proba(X)
    )


@pytest.mark.parametrize(
    "categories",
    [
        [pd.Timestamp("2020"), pd.Timestamp("2021")],
        list(pd.interval_range(0, 2)),
        [decimal.Decimal("1.5"), decimal.Decimal("2")],
        [frozenset("a"), frozenset("b")],
    ],
    ids=["times", "intervals", "decimals", "sets"],
)
def test_categories_that_no_file_holds_are_rejected_by_name(tmp_path, categories):
    X = pd.DataFrame({"when": pd.Categorical(categories * 10, categories=categories)})
    rule = NaiveBayes().fit(X, [0, 0, 1, 1] * 5)
    with pytest.raises(OptionError, match=r"column 'when' has the category .* model file cannot hold; .*astype\(str\)"):
        rule.save(tmp_path / "rule.safetensors")
    assert not list(tmp_path.iterdir())
