"""Which rows a report shows, what it says of the others, how large it is, and that its Python makes it again."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import eigenlens
from eigenlens import (
    PCA,
    BayesClassifier,
    GaussianMixture,
    KernelDensity,
    LinearDiscriminant,
    NaiveBayes,
    OptionError,
    ProbabilisticPCA,
    compare,
    report,
    scan,
    select_mixture,
)
from eigenlens.data.coerce import as_table
from eigenlens.data.memory import ArraySource
from eigenlens.reporting import packing
from eigenlens.reporting import rows as shown
from eigenlens.reporting.code import literal
from eigenlens.tables.rows import max_rows, plane_counts, sample_rows
from written_reports import axis, contents, layers, named, numbers

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.standard_normal((60, 4)) @ RNG.standard_normal((4, 4)), columns=list("abcd"))
HOSTILE = [
    "<script>alert(1)</script>",
    "</script>",
    "\"quoted\" 'too'",
    "new\nline",
    "😀",
    "\u2028",
    "__proto__",
    "a" * 9_000,
]


# ---- samples --------------------------------------------------------------------------------------------------


class Unknown(ArraySource):
    """Rows of which nobody knows how many there are."""

    def __init__(self, X, **options):
        super().__init__(X, **options)
        self.n_rows = None


def test_a_sample_is_drawn_evenly_in_one_pass():
    counts = np.zeros(100)
    rows = np.arange(100.0)[:, None]
    for seed in range(400):
        found = sample_rows(Unknown(rows, block_rows=7), 10, np.random.default_rng(seed))
        np.testing.assert_array_equal(found.numbers[:, 0], found.chosen)
        assert np.all(np.diff(found.chosen) > 0)
        counts[found.chosen] += 1
    assert found.total == 100
    assert counts.sum() == 4_000
    # each count is binomial(400, 0.1): mean 40, standard deviation 6
    assert np.abs(counts - 40.0).max() < 27.0
    assert np.abs(counts.reshape(10, 10).sum(axis=1) - 400.0).max() < 90.0


def test_few_rows_are_all_shown_and_text_is_kept():
    table = pd.DataFrame({"n": [1.0, np.nan, 3.0], "t": ["x", None, "y"]})
    found = sample_rows(as_table(table), 5, np.random.default_rng(0))
    assert found.texts[1].tolist() == ["x", None, "y"]
    np.testing.assert_array_equal(found.numbers, [[1.0, np.nan], [np.nan, np.nan], [3.0, np.nan]])


def test_planes_count_every_row():
    Z = RNG.standard_normal((500, 3))
    (found,) = plane_counts(iter(np.array_split(Z, 7)), [(0, 2)], Z[:50], (8, 6))
    edges = [np.linspace(*found.x, 9), np.linspace(*found.y, 7)]
    expected = np.histogram2d(Z[:, 0], Z[:, 2], bins=edges)[0].T
    np.testing.assert_array_equal(found.counts, expected)
    assert found.outside == 500 - expected.sum()
    assert found.outside > 0


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr("eigenlens.tables.rows.MAX_POINTS", 300)


def many(kind, tmp_path):
    rows = np.random.default_rng(3).standard_normal((2_000, 3)) @ np.diag([3.0, 2.0, 1.0])
    makers = {
        "array": lambda: rows,
        "source": lambda: Unknown(rows, block_rows=170),
        "parquet": lambda: _parquet(rows, tmp_path),
        "sparse": lambda: sparse.csr_matrix(rows),
        "polars": lambda: pytest.importorskip("polars").DataFrame(rows, schema=list("abc")),
        "dask": lambda: pytest.importorskip("dask.array").from_array(rows, chunks=(300, 3)),
    }
    return rows, makers[kind]()


def _parquet(rows, folder):
    pd.DataFrame(rows, columns=list("abc")).to_parquet(folder / "rows.parquet")
    return scan(folder / "rows.parquet")


@pytest.mark.parametrize("kind", ["array", "source", "parquet", "sparse", "polars", "dask"])
def test_many_rows_of_any_kind_are_a_sample_over_a_density_of_all(few, tmp_path, kind):
    rows, given = many(kind, tmp_path)
    model = PCA(2).fit(given)
    found = contents(report(model, given, tmp_path / "x.html", ids=[f"id {i}" for i in range(2_000)]))
    assert (found["rows"]["total"], found["rows"]["shown"]) == (2_000, 300)
    assert found["rows"]["note"].startswith("300 of 2,000 rows, drawn at random, are shown as points.")
    chart = named(found["first"]["charts"], "Scores")
    places = [int(name.split()[1]) for name in found["rows"]["ids"]]
    Z = np.asarray(model.transform(rows if kind not in ("parquet", "polars") else ArraySource(rows)))
    np.testing.assert_allclose(numbers(axis(chart, 0), found), Z[places, 0], atol=1e-4)
    (box,) = chart["densities"]
    assert box["pair"] == [0, 1]
    counts = numbers(box["counts"], found).reshape(box["height"], box["width"])
    edges = [np.linspace(box["x0"], box["x1"], box["width"] + 1), np.linspace(box["y0"], box["y1"], box["height"] + 1)]
    np.testing.assert_array_equal(counts, np.histogram2d(Z[:, 0], Z[:, 1], bins=edges)[0].T)
    assert counts.sum() > 1_950
    assert "count all 2,000 rows" in chart["about"]
    assert "Parallel analysis is left out" in named(found["first"]["charts"], "Scree")["about"]


def test_a_mixture_has_all_rows_behind_it_too(few, tmp_path):
    rows, _ = many("array", tmp_path)
    model = GaussianMixture(2, n_init=1, random_state=0).fit(rows)
    found = contents(report(model, rows, tmp_path / "x.html"))
    chart = named(found["first"]["charts"], "Components")
    assert 1_950 < numbers(chart["density"]["counts"], found).sum() <= 2_000
    assert "are not fitted here" in named(found["first"]["charts"], "How many components")["paragraphs"][0]


def test_dask_frames_are_rows(tmp_path):
    frame = pytest.importorskip("dask.dataframe").from_pandas(X, npartitions=2)
    pages = [contents(report(PCA(2).fit(X), rows, tmp_path / "x.html")) for rows in (frame, X)]
    assert pages[0]["rows"]["shown"] == pages[1]["rows"]["shown"] == len(X)


def test_wide_tables_show_fewer_rows():
    assert max_rows(100) == 200_000
    assert max_rows(5_000) == 4_000
    assert max_rows(10**9) == 1_000


# ---- size -----------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_rows_are_fewer_where_the_file_would_be_too_large(tmp_path, monkeypatch):
    rows = np.random.default_rng(0).standard_normal((30_000, 6))
    model, ids = PCA(4).fit(rows), [f"row with a name {i}" for i in range(30_000)]
    whole = report(model, rows, tmp_path / "whole.html", ids=ids).stat().st_size
    monkeypatch.setattr(packing, "MAX_FILE_BYTES", int(0.6 * whole))
    path = report(model, rows, tmp_path / "x.html", ids=ids)
    assert 0.5 * whole < path.stat().st_size <= 0.6 * whole
    found = contents(path)
    kept = found["rows"]["shown"]
    assert 1_000 < kept < 30_000
    assert f"{kept:,} of 30,000 rows, drawn at random, are shown as points." in found["rows"]["note"]
    places = [int(name.split()[-1]) for name in found["rows"]["ids"]]
    chart = named(found["first"]["charts"], "Scores")
    np.testing.assert_allclose(numbers(axis(chart, 0), found), model.transform(rows)[places, 0], atol=1e-3)
    column = next(each for each in found["rows"]["columns"] if each["name"] == "x3")
    np.testing.assert_allclose(numbers(column["values"], found), rows[places, 3], atol=1e-3)


def test_a_report_that_can_never_be_small_is_rejected(tmp_path, monkeypatch):
    monkeypatch.setattr(packing, "MAX_FILE_BYTES", 1_000)
    with pytest.raises(OptionError, match="give fewer models"):
        report(PCA(2).fit(X), X, tmp_path / "x.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_200_000_rows_of_many_columns_and_pages_stay_below_10_mb(tmp_path):
    rows = np.random.default_rng(0).standard_normal((210_000, 30)).astype(np.float32)
    models = {f"PCA {k}": PCA(k).fit(rows) for k in (4, 5, 6)}
    labels = {"text": [HOSTILE[i % 8] for i in range(210_000)]}
    ids = [f"{'long identifier ' * 20}{i}" for i in range(210_000)]
    path = report(models, rows, tmp_path / "x.html", ids=ids, columns=labels)
    assert path.stat().st_size < 10_000_000
    found = contents(path)
    assert "Rows are called by their position" in found["rows"]["note"]
    assert found["rows"]["columns"][0]["values"]["levels"][0] in [packing.shorten(name) for name in HOSTILE]


@pytest.mark.long
def test_five_thousand_columns(tmp_path):
    rows = np.random.default_rng(0).standard_normal((40, 5_000))
    path = report(PCA(3).fit(rows), rows, tmp_path / "x.html")
    assert path.stat().st_size < 2_000_000
    found = contents(path)
    assert len(found["rows"]["columns"]) == 200
    assert "4,800 columns are not offered for colouring" in found["rows"]["note"]
    listed = named(found["overview"]["charts"], "Columns")["columns"][0]["values"]
    assert listed[4_999] == "x4999"
    assert "The 25 longest arrows of 5,000." in named(found["first"]["charts"], "Biplot")["about"]


def test_large_images_are_shown_smaller(tmp_path):
    images = np.random.default_rng(0).standard_normal((8, 130, 130)).cumsum(axis=1).cumsum(axis=2)
    rows = images.reshape(8, -1)
    found = contents(report(PCA(3).fit(rows), rows, tmp_path / "x.html"))
    grid = named(found["first"]["charts"], "Reconstruction")["frames"][0]["charts"][0]
    assert (grid["width"], grid["height"]) == (43, 43)
    pixels = numbers(grid["images"][0]["pixels"], found).reshape(43, 43)
    np.testing.assert_allclose(pixels[2, 5], images[0, 6:9, 15:18].mean(), atol=0.05)


def test_what_charts_share_is_written_once(tmp_path):
    rows = np.random.default_rng(0).standard_normal((400, 3))
    found = contents(report(KernelDensity(bandwidth=0.5).fit(rows), rows, tmp_path / "x.html"))
    charts = found["first"]["charts"]
    first, second = named(charts, "x0 and x1"), named(charts, "x0 and x2")
    assert first["x"] == second["x"]
    assert first["x"].keys() == {"ref"}
    np.testing.assert_allclose(numbers(first["x"], found), rows[:, 0], rtol=1e-6)


# ---- text -----------------------------------------------------------------------------------------------------


def test_names_ids_and_labels_are_only_text(tmp_path):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.standard_normal((60, 8)), columns=HOSTILE)
    y = np.array(["</script>", "<img src=x onerror=alert(1)>"])[(rows.iloc[:, 0] > 0).astype(int)]
    models = {
        "</script><script>": PCA(3).fit(rows), "nb": NaiveBayes().fit(rows, y),
        "lda": LinearDiscriminant().fit(rows, y), "ppca": ProbabilisticPCA(2).fit(rows),
        "kde": KernelDensity(bandwidth=1.0).fit(rows),
        "gmm": GaussianMixture(1, n_init=1).fit(rows),
    }  # fmt: skip
    path = report(
        models, rows, tmp_path / "x.html", y=y, title="</title><script>", ids=[f"<i>{i}</i>" for i in range(60)],
        columns={"<b>": ["</script>\n"] * 60}, command="<script>",
    )  # fmt: skip
    found = contents(path)
    assert found["rows"]["ids"][3] == "<i>3</i>"
    offered = [column["name"] for column in found["rows"]["columns"]]
    assert set(HOSTILE[:7]) < set(offered)
    assert max(map(len, offered)) <= 160
    assert found["first"]["title"] == "</script><script>"
    assert re.fullmatch(r"page-1-[-a-z0-9]+", found["first"]["id"])
    assert path.stat().st_size < 1_500_000


def test_long_names_that_begin_alike_stay_apart(tmp_path):
    rows = pd.DataFrame(RNG.standard_normal((30, 3)), columns=["x" * 100 + str(j) for j in range(3)])
    found = contents(report(PCA(2).fit(rows), rows, tmp_path / "x.html"))
    (cells,) = layers(named(found["first"]["charts"], "Loadings"), "cell")
    assert len(set(cells["y"])) == 3


# ---- what it says of itself -----------------------------------------------------------------------------------


def python_of(found):
    return next(code["text"] for code in found["overview"]["charts"][-1]["code"] if code["label"] == "Python")


def test_the_python_shown_makes_the_same_report(tmp_path, monkeypatch):
    y = np.where(X["a"] > 0, "p", "q")
    given = {"X": X, "y": y, "ids": [f"i{i}" for i in range(60)], "columns": {"half": ["l", "r"] * 30}}
    models = {
        "PCA": PCA(0.9, standardize=True).fit(X),
        "class": NaiveBayes({"a": "kde"}, prior=[0.25, 0.75]).fit(X, y),
        "Bayes <rule>": BayesClassifier(GaussianMixture(1, covariance_type="diag", n_init=1)).fit(X, y),
        "FA": ProbabilisticPCA(1, random_state=np.int64(3)).fit(X),
        "kde": KernelDensity(bandwidth=np.array([0.5, 0.5, 1.0, 1.0])).fit(X),
        "sizes": select_mixture(X, [1, 2], ["diag"], random_state=1, n_init=1),
    }
    path = tmp_path / "x.html"
    first = contents(report(models, X, path, y, ids=given["ids"], columns=given["columns"], title="A 'title'"))
    path.unlink()
    monkeypatch.chdir(tmp_path)
    exec(python_of(first), dict(given))
    second = contents(path)
    for found in (first, second):  # how long a fit took differs
        columns = named(found["pages"][6]["charts"], "Mixtures compared")["columns"]
        columns[:] = [column for column in columns if column["name"] != "fit s"]
    assert first == second


def test_weights_are_part_of_the_python(tmp_path, monkeypatch):
    w = np.arange(1.0, 61.0)
    first = contents(report(PCA(2).fit(X, sample_weight=w), X, tmp_path / "x.html", sample_weight=w))
    monkeypatch.chdir(tmp_path)
    exec(python_of(first), {"X": X, "sample_weight": w})
    assert contents(tmp_path / "x.html") == first


def test_the_python_of_a_comparison_says_what_it_cannot_know(tmp_path):
    found = compare({"a": GaussianMixture(1, n_init=1)}, X, cv=2, random_state=0)
    text = python_of(contents(report([found, PCA(2).fit(X)], X, tmp_path / "x.html")))
    assert "# Comparison: eigenlens.compare({…}, X), of estimators that the result does not keep." in text
    assert "eigenlens.report({'PCA 2': pca_2}, X, 'x.html')" in text
    compile(text, "x", "exec")


def test_literals_come_back():
    for value in (1.5, float("inf"), [1, (2,), None], {"a": np.array([[1.0, np.nan]])}, np.int64(3), True, "q'\n"):
        back = eval(literal(value), {"np": np, "eigenlens": eigenlens})
        np.testing.assert_equal(back, value)
    assert literal(lambda x: x) is None
    assert literal(np.random.default_rng(0)) is None


def test_the_overview_says_what_was_done(tmp_path):
    incomplete = X.copy()
    incomplete.iloc[:3, 1] = np.nan
    model = PCA(2, standardize=True, missing="em", random_state=7).fit(incomplete)
    found = contents(report(model, incomplete, tmp_path / "x.html", command="eigenlens fit pca x.csv", random_state=5))
    facts = dict(found["overview"]["charts"][0]["facts"])
    assert facts["rows"] == "60"
    assert facts["missing values"] == "3 (1.25% of the entries)"
    assert facts["preprocessing"] == (
        "columns centred; columns divided by their standard deviations; missing values by EM"
    )
    assert facts["seeds"] == "PCA: 7; sample of rows: 5"
    assert facts["PCA"] == "PCA(n_components=2, standardize=True, missing='em', random_state=7)"
    codes = {code["label"]: code["text"] for code in found["overview"]["charts"][-1]["code"]}
    assert codes["Command line"] == "eigenlens fit pca x.csv"
    chart = named(found["first"]["charts"], "Scores")
    np.testing.assert_allclose(numbers(axis(chart, 0), found), model.transform(incomplete)[:, 0], rtol=1e-5, atol=1e-6)


def test_warnings_of_making_a_page_stand_at_its_top(tmp_path):
    rows = np.array([[0.0, 0.0], [1.0, 0.0]] * 10)
    model = NaiveBayes({0: "bernoulli", 1: "bernoulli"}, smoothing=0.0).fit(rows, ["b", "a"] * 10)
    found = contents(report(model, [*rows.tolist(), [0.0, 1.0]], tmp_path / "x.html"))
    (said,) = [text for text in found["first"]["charts"][0]["warnings"] if "density 0 in every class" in text]
    assert said.startswith("1 rows have density 0")


# ---- parallel analysis ----------------------------------------------------------------------------------------


def test_the_band_of_noise_is_that_of_shuffled_columns(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 8)) * 2.0 + rng.standard_normal((200, 8))
    model = PCA(standardize=True).fit(rows)
    found = contents(report(model, rows, tmp_path / "x.html"))
    scree = named(found["first"]["charts"], "Scree")
    (band,) = layers(scree, "band")
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0, ddof=1)
    first = []
    for _ in range(200):
        shuffled = np.column_stack([rng.permutation(column) for column in standard.T])
        first.append(100.0 * np.linalg.eigvalsh(np.cov(shuffled.T))[-1] / 8.0)
    assert band["high"][0] == pytest.approx(np.quantile(first, 0.95), rel=0.03)
    assert band["low"][0] == pytest.approx(np.quantile(first, 0.05), rel=0.03)
    (bars,) = layers(scree, "bar")
    above = np.array(bars["y"]) > np.array(band["high"])
    assert above.tolist() == [True, True] + [False] * 6
    other = contents(report(model, rows[:50], tmp_path / "y.html"))
    assert "not the rows, or the weights, of the fit" in named(other["first"]["charts"], "Scree")["about"]


def test_there_is_no_plot_of_outliers_where_every_row_is_equally_far(tmp_path):
    """With as many columns as rows, all components, and so T² = (n − 1)² / n for every row."""
    wide = RNG.standard_normal((20, 60))
    found = contents(report(PCA().fit(wide), wide, tmp_path / "all.html"))
    titles = [chart["title"] for chart in found["first"]["charts"]]
    assert "Rows that matter most" in titles
    assert "Outliers" not in titles
    found = contents(report(PCA(5).fit(wide), wide, tmp_path / "some.html"))
    assert "Outliers" in [chart["title"] for chart in found["first"]["charts"]]


def test_names_on_the_circle_do_not_cover_each_other(tmp_path):
    base = RNG.standard_normal(80)
    rows = pd.DataFrame(
        {f"c{j}": base + 0.05 * RNG.standard_normal(80) for j in range(8)} | {"z": RNG.standard_normal(80)}
    )
    found = contents(report(PCA(2, standardize=True).fit(rows), rows, tmp_path / "x.html"))
    (words,) = layers(named(found["first"]["charts"], "Correlation circle"), "text")
    for side in ("start", "end"):
        y = np.sort([at for at, which in zip(words["y"], words["side"], strict=True) if which == side])
        assert np.all(np.diff(y) > 0.08)


@pytest.mark.parametrize("far", [1, 70_000])
def test_places_of_rows_come_back_exactly(far):
    """Steps of 16 bits, or as they are where those are too short: a row must not be called by another's place."""
    chosen = np.sort(RNG.choice(40_000_000, 50_000, replace=False))
    chosen[-1] += far * 1_000
    rows = shown.ShownRows(np.zeros((50_000, 1)), chosen, 10**9, ("a",), None, {}, {}, ())
    steps = packing.share_repeats({"rows": rows.data()}, None)["rows"]["steps"]
    np.testing.assert_array_equal(np.cumsum(numbers(steps, {})), chosen + 1)
    kept = np.array([3, 40_000, 49_999])
    steps = packing.share_repeats({"rows": rows.data(keep=kept)}, kept)["rows"]["steps"]
    np.testing.assert_array_equal(np.cumsum(numbers(steps, {})), chosen[kept] + 1)
