"""The search of the built pages finds first what a student looks for: Sphinx's own search, in a real browser.

`make docs` builds the pages and `make search` runs these tests, as continuous integration does. Where the pages are not
built they are skipped, and the summary of the tests says so.
"""

from __future__ import annotations

from pathlib import Path

import pytest

BUILT = Path(__file__).parents[2] / "docs" / "build" / "html"
ASK = """(query) => Search._performSearch(...Search._parseQuery(query)).reverse().map(([page]) => page)"""

QUERIES = {
    "pca": "methods/pca",
}
"""By query, the page that has to come first."""


@pytest.fixture(scope="module")
def search(chromium):
    """Return the pages that a query finds, the best first."""
    if not (BUILT / "searchindex.js").exists():
        pytest.skip("SEARCH NOT TESTED: the pages are not built (make docs)")
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
