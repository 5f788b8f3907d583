"""The search of the built pages finds first what a student looks for: Sphinx's own search, in a real browser.

`make docs` builds the pages and `make search` runs these tests, as continuous integration does. Where the pages are not
built, or are older than their sources, they are skipped, and the summary of the tests says so.
"""

from __future__ import annotations

from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BUILT = DOCS / "build" / "html"
ASK = """(query) => Search._performSearch(...Search._parseQuery(query)).reverse().map(([page]) => page)"""

QUERIES = {
    "pca": "methods/pca",
    "principal components": "course/pca",
    "explained variance": "methods/pca",
    "eckart young": "course/pca",
    "rayleigh quotient": "course/pca",
    "power method": "course/pca",
    "how many components": "howto/choosing-k",
    "scree plot": "howto/choosing-k",
    "divisor n - 1": "methods/pca",
    "standardize": "howto/units",
    "biplot": "generated/gallery/pca/plot_07_biplot",
    "kernel pca": "methods/kernel-pca",
    "kernel trick": "course/kernel-pca",
    "feature map": "course/kernel-pca",
    "mercer": "course/kernel-pca",
    "pre-image": "course/kernel-pca",
    "probabilistic pca": "methods/probabilistic-pca",
    "em algorithm": "course/latent-gaussians",
    "missing values": "howto/missing-values",
    "factor analysis": "methods/factor-analysis",
    "varimax": "methods/factor-analysis",
    "maximum likelihood": "course/density-estimation",
    "gaussian mixture": "methods/gaussian-mixture",
    "bic": "howto/choosing-k",
    "bandwidth": "howto/bandwidths",
    "histogram": "methods/simple-densities",
    "curse of dimensionality": "course/density-estimation",
    "bias and variance": "course/density-estimation",
    "naive bayes": "methods/naive-bayes",
    "laplace smoothing": "methods/naive-bayes",
    "bayes error": "course/bayes-classifiers",
    "softmax": "course/bayes-classifiers",
    "generative discriminative": "course/bayes-classifiers",
    "fisher discriminant": "methods/discriminants",
    "lda": "methods/discriminants",
    "bootstrap": "howto/bootstrap",
    "outliers": "howto/outliers",
    "gpu": "howto/tensors",
    "correlation matrix": "howto/covariance-matrices",
    "weights": "howto/weights",
    "exercises": "course",
    "dual pca": "generated/gallery/pca/plot_04_dual_pca",
    "dask": "howto/dask",
    "parquet": "howto/large-files",
    "csv": "howto/ugly-files",
    "notation": "notation",
    "scores": "methods/pca",
    "eigenvalues": "course/pca",
    "svd": "methods/pca",
    "dimensionality reduction": "methods/pca",
    "rbf kernel": "methods/kernel-pca",
    "gram matrix": "course/kernel-pca",
    "polynomial kernel": "course/kernel-pca",
    "e-step": "course/latent-gaussians",
    "latent variable": "course/latent-gaussians",
    "promax": "methods/factor-analysis",
    "heywood case": "methods/factor-analysis",
    "clustering": "methods/gaussian-mixture",
    "k-means": "methods/gaussian-mixture",
    "parzen window": "methods/kernel-density",
    "silverman": "howto/bandwidths",
    "cross validation": "howto/choosing-k",
    "bernoulli": "methods/simple-densities",
    "standard error": "methods/simple-densities",
    "confidence interval": "howto/bootstrap",
    "bayes theorem": "course/bayes-classifiers",
    "logistic regression": "methods/naive-bayes",
    "spam": "methods/naive-bayes",
    "decision boundary": "methods/discriminants",
    "calibration": "generated/gallery/bayes/plot_07_calibration",
    "confusion matrix": "howto/reports",
    "denoising": "generated/gallery/kernel/plot_04_denoising",
    "install": "getting-started",
    "command line": "howto/command-line",
    "notebook": "howto/reports",
    "save model": "howto/saving",
    "report": "howto/reports",
    "anomaly detection": "howto/outliers",
    "scikit-learn": "howto/coming-from",
    "mahalanobis distance": "methods/pca",
    "scaling": "howto/units",
    "supplementary variables": "howto/supplementary",
    "genotypes": "howto/genotypes",
    "latent class analysis": "methods/latent-classes",
    "lagrange multiplier": "course/pca",
    "speed": "speed",
    "accuracy": "accuracy",
    "how many clusters": "howto/choosing-k",
    "excel": "howto/ugly-files",
    "categorical data": "howto/mixed-tables",
    "out of memory": "howto/large-files",
    "iris": "generated/reference/datasets",
    "why divide by n-1": "course/pca",
    "how to interpret loadings": "methods/pca",
    "pca vs factor analysis": "chooser",
    "incremental pca": "howto/large-files",
    "goodness of fit": "methods/factor-analysis",
    "multidimensional scaling": "course/kernel-pca-exercises",
    "gaussian naive bayes": "generated/gallery/bayes/plot_03_gaussian",
    "held-out likelihood": "howto/choosing-k",
}
"""By query, the page that has to come first."""


def up_to_date(index: Path) -> bool:
    """Whether the index of the search is newer than every page that it was made from."""
    sources = [path for folder in ("", "methods/", "course/", "howto/") for path in DOCS.glob(f"{folder}*.md")]
    return index.exists() and index.stat().st_mtime > max(path.stat().st_mtime for path in sources)


@pytest.fixture(scope="module")
def search(chromium):
    """Return the pages that a query finds, the best first."""
    if not up_to_date(BUILT / "searchindex.js"):
        pytest.skip("SEARCH NOT TESTED: the pages are not built, or are older than their sources (make docs)")
    page = chromium.new_page()
    page.goto((BUILT / "search.html").as_uri())
    page.wait_for_function("typeof Search !== 'undefined' && Search.hasIndex()")
    yield lambda query: page.evaluate(ASK, query)
    page.close()


def test_thirty_queries_are_asked():
    assert len(QUERIES) >= 30


@pytest.mark.parametrize("query", QUERIES)
def test_the_right_page_comes_first(search, query):
    found = search(query)
    assert found, "nothing was found"
    assert found[0] == QUERIES[query], found[:5]


def test_every_page_of_the_gallery_offers_its_notebook_and_its_script(search):
    pages = sorted((BUILT / "generated" / "gallery").rglob("plot_*.html"))
    assert len(pages) > 30
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for kind in ("ipynb", "py"):
            assert f"{page.stem}.{kind}" in text
            assert list((BUILT / "_downloads").rglob(f"{page.stem}.{kind}"))
