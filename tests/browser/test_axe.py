"""Accessibility: axe-core finds nothing to complain of, on any page of any model, light or dark."""

from __future__ import annotations

from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import eigenlens
from browser.conftest import SKIPPED
from eigenlens.catalogue import MODELS

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"

RUN = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations.map(({ id, nodes }) => [id, nodes.length, nodes[0].html.slice(0, 160), nodes[0].failureSummary]);
}"""

RNG = np.random.default_rng(0)
N = 90
KIND = np.array(["ash", "birch", "oak"])[np.arange(N) % 3]
LEAVES = pd.DataFrame(
    RNG.standard_normal((N, 4)) + 3.0 * np.eye(3, 4)[np.arange(N) % 3], columns=["length", "width", "weight", "age"]
)
ANSWERS = pd.DataFrame({"often": np.array(["no", "yes"])[np.arange(N) % 2], "where": KIND, "age": LEAVES["age"]})

GENOTYPES = RNG.binomial(2, 0.3 + 0.2 * np.eye(3).repeat(20, axis=1)[np.arange(N) % 3]).astype(float)


def fitted(name):
    """A model of the catalogue, fitted to leaves or answers, and their rows."""
    needed = {
        "n_components": {"n_components": 2, "random_state": 0},
        "density": {"density": eigenlens.ProbabilisticPCA(1)},
    }
    kind = getattr(eigenlens, name)
    known = signature(kind).parameters
    model = kind(**{key: value for more in needed.values() for key, value in more.items() if key in known})
    if name == "GenotypePCA":
        return model.fit(GENOTYPES), GENOTYPES
    X = ANSWERS if name == "MixtureModel" else LEAVES
    return model.fit(X, *([KIND] if "prior" in known else [])), X


OTHERS = {
    "MixtureSelection": lambda: (eigenlens.select_mixture(LEAVES, [1, 2], random_state=0), LEAVES),
    "Comparison": lambda: (
        eigenlens.compare({"kde": eigenlens.KernelDensity(), "ppca": eigenlens.ProbabilisticPCA(1)}, LEAVES),
        LEAVES,
    ),
}
"""Results that are no models but have pages."""


@pytest.fixture(scope="module")
def written(chromium, tmp_path_factory):
    """A report of each model by its name, made when it is asked for."""
    folder, made = tmp_path_factory.mktemp("axe"), {}

    def of(name):
        if name not in made:
            model, X = OTHERS[name]() if name in OTHERS else fitted(name)
            ids = [f"leaf {i}" for i in range(N)]
            made[name] = eigenlens.report(model, X, folder / f"{name}.html", KIND, ids=ids, columns={"kind": KIND})
        return made[name]

    return of


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", [*MODELS, *OTHERS])
def test_axe_finds_nothing(written, visit, name, scheme):
    if not AXE.is_file():
        pytest.skip(f"{SKIPPED}: axe-core is not installed (npm ci in web/)")
    seen = visit(written(name), scheme=scheme)
    seen.page.evaluate(AXE.read_text(encoding="utf-8"))
    found = {}
    for tab in seen.page.get_by_role("tab").all():
        tab.click()
        seen.settle()
        found[tab.inner_text()] = seen.page.evaluate(RUN)
    assert {title: each for title, each in found.items() if each} == {}
