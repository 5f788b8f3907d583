"""Small data sets that come with the package, and simulators of others."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.data.example_tables import (
    AIR_QUALITY,
    AMINO_ACIDS,
    CHERRY_TREES,
    CRAB_COUNTS,
    ERUPTION_MINUTES,
    ROLE_CONFLICT_COUNTS,
    TOBAMOVIRUS_COUNTS,
    UK_FOODS,
    WAITING_MINUTES,
)
from eigenlens.errors import MissingExtra, OptionError


@dataclass(frozen=True, eq=False)
class Example:
    """A table with its names.

    Attributes:
        name: the name that `load` takes.
        data: (n, d) float64. rows: (n,) row names. columns: (d,) column names.
        about: one sentence on its contents and its source.
        labels: (n,) classes, or None. classes: what they are called.
        weight: (n,) how often each row counts, or None for once.
        others: {name: (n,)} further variables of the rows, such as the truth behind a simulation.
    """

    name: str
    data: Array
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    about: str
    labels: tuple[str, ...] | None = None
    classes: str = "label"
    weight: Array | None = None
    others: Mapping[str, Array] = field(default_factory=dict)

    def frame(self, library: str = "pandas") -> Any:
        """Return the table as a frame, so that models and plots know the names of its columns.

        Args:
            library: "pandas", whose index holds the names of the rows, or "polars".

        >>> load("iris").frame().head(2)
                  sepal length  sepal width  petal length  petal width
        flower 1           5.1          3.5           1.4          0.2
        flower 2           4.9          3.0           1.4          0.2
        """
        if library not in FRAMES:
            fix = f"known: {', '.join(map(repr, FRAMES))}"
            raise OptionError("is not a library of frames", argument="library", value=library, fix=fix)
        try:
            return FRAMES[library](self)
        except ImportError as error:
            extra = "tables" if library == "polars" else library
            raise MissingExtra(library, extra=extra, need="a frame of an example") from error


def _pandas_frame(example: Example) -> Any:
    import pandas

    return pandas.DataFrame(example.data, index=list(example.rows), columns=list(example.columns))


def _polars_frame(example: Example) -> Any:
    import polars

    return polars.DataFrame(example.data, schema=list(example.columns))


FRAMES = {"pandas": _pandas_frame, "polars": _polars_frame}
"""Libraries of frames by name, each with the function that makes one of an example."""


def load(name: str, **options: Any) -> Example:
    """Return an embedded example by name; simulators take options, such as the number of rows and a seed.

    >>> food = load("uk-food")
    >>> food.data.shape, food.rows
    ((4, 17), ('England', 'N Ireland', 'Scotland', 'Wales'))
    >>> load("two-circles", n=50, seed=1).data.shape
    (50, 2)
    """
    if not isinstance(name, str) or name not in EXAMPLES:
        known = ", ".join(map(repr, EXAMPLES))
        raise OptionError("is not an example", argument="name", value=name, fix=f"known: {known}")
    accepted = inspect.signature(EXAMPLES[name]).parameters
    for option in options:
        if option not in accepted:
            takes = f"takes {', '.join(accepted)}" if accepted else "takes no options"
            what = f"is not an option of the example {name!r}, which {takes}"
            raise OptionError(what, argument=option, value=options[option])
        _check_option(option, options[option], accepted[option].default)
    return EXAMPLES[name](**options)


MAX_SIZE = 10_000_000
"""The largest size of a simulation: these are examples."""


def _check_option(option: str, value: Any, default: Any) -> None:
    """Raise for an option of a simulation that is not a number of its kind: whole where its default is."""
    if option == "seed":
        checks.generator(value, option)
    elif isinstance(default, int):
        checks.integer(option, value, 1, MAX_SIZE)
    else:
        checks.not_negative(option, value)


# ---- tables -------------------------------------------------------------------------------------------------


def _uk_food() -> Example:
    return Example(
        "uk-food",
        np.array(list(UK_FOODS.values()), dtype=np.float64).T,
        ("England", "N Ireland", "Scotland", "Wales"),
        tuple(UK_FOODS),
        "What people in four countries eat, in grams per person per week of 17 kinds of food (UK, DEFRA 1997).",
    )


def _crabs() -> Example:
    ratio = 0.5835 + 0.004 * np.arange(len(CRAB_COUNTS))
    return Example(
        "crabs",
        ratio[:, None],
        tuple(f"{value:.4f}" for value in ratio),
        ("forehead / body length",),
        "Foreheads of 1000 shore crabs of Naples over their lengths, in 29 bins of width 0.004 with their counts as "
        "weights: the first mixture ever fitted (Weldon's measurements; Pearson 1894).",
        weight=np.array(CRAB_COUNTS, dtype=np.float64),
    )


def _role_conflict() -> Example:
    answers = 1.0 - np.array(list(np.ndindex(2, 2, 2, 2)), dtype=np.float64)
    return Example(
        "role-conflict",
        answers,
        tuple("".join("fd"[int(answer)] for answer in row) for row in answers),
        ("A", "B", "C", "D"),
        "Whether 216 students put a duty to all (1) or to a friend (0) first in four situations, the 16 patterns of "
        "answers with their counts as weights (Stouffer and Toby 1951; the latent classes of Goodman 1974).",
        weight=np.array(ROLE_CONFLICT_COUNTS, dtype=np.float64),
    )


def _old_faithful() -> Example:
    return Example(
        "old-faithful",
        np.column_stack([ERUPTION_MINUTES, WAITING_MINUTES]).astype(np.float64),
        _numbered("eruption", len(ERUPTION_MINUTES)),
        ("eruption minutes", "waiting minutes"),
        "272 eruptions of the geyser Old Faithful in Yellowstone: how long they lasted, and how long it took until the "
        "next (Härdle 1991, as R has them).",
    )


def _tobamovirus() -> Example:
    return Example(
        "tobamovirus",
        np.array(TOBAMOVIRUS_COUNTS, dtype=np.float64),
        _numbered("virus", len(TOBAMOVIRUS_COUNTS)),
        AMINO_ACIDS,
        "How often 18 amino acids occur in the coat proteins of 38 viruses like that of the tobacco mosaic "
        "(Fauquet et al. 1988; Ripley 1996).",
    )


def _trees() -> Example:
    return Example(
        "trees",
        np.array(list(CHERRY_TREES.values()), dtype=np.float64).T,
        _numbered("tree", len(CHERRY_TREES["height (ft)"])),
        tuple(CHERRY_TREES),
        "Diameter, height and volume of 31 felled black cherry trees (Ryan, Joiner and Ryan 1976).",
    )


def _air_quality() -> Example:
    days = [f"{month} {day + 1}" for month, n in _SUMMER_DAYS.items() for day in range(n)]
    return Example(
        "air-quality",
        np.array(list(AIR_QUALITY.values()), dtype=np.float64).T,
        tuple(days),
        tuple(AIR_QUALITY),
        "Ozone, radiation, wind and temperature in New York on 153 days of 1973, with 44 missing entries (Chambers et "
        "al. 1983, as R has them).",
        labels=tuple(day.split()[0] for day in days),
        classes="month",
    )


_SUMMER_DAYS = {"May": 31, "June": 30, "July": 31, "August": 31, "September": 30}


def _iris() -> Example:
    from sklearn.datasets import load_iris

    found = load_iris()
    return Example(
        "iris",
        np.asarray(found.data, dtype=np.float64),
        _numbered("flower", len(found.data)),
        tuple(name.removesuffix(" (cm)") for name in found.feature_names),
        "Sepals and petals of 150 irises of three species, in centimetres (Anderson 1935; Fisher 1936).",
        labels=tuple(str(found.target_names[code]) for code in found.target),
        classes="species",
    )


def _wine() -> Example:
    from sklearn.datasets import load_wine

    found = load_wine()
    return Example(
        "wine",
        np.asarray(found.data, dtype=np.float64),
        _numbered("bottle", len(found.data)),
        tuple(name.replace("_", " ").replace("/", " ") for name in found.feature_names),
        "13 chemical measurements of 178 wines of three cultivars from one region of Italy (Forina et al. 1988; UCI).",
        labels=tuple(np.array(["Barolo", "Grignolino", "Barbera"])[found.target].tolist()),
        classes="cultivar",
    )


def _digits() -> Example:
    from sklearn.datasets import load_digits

    found = load_digits()
    return Example(
        "digits",
        np.asarray(found.data, dtype=np.float64),
        _numbered("digit", len(found.data)),
        tuple(f"pixel {i} {j}" for i in range(8) for j in range(8)),
        "1797 handwritten digits, 8×8 pixels of 0 to 16 (UCI, as scikit-learn has them).",
        labels=tuple(map(str, found.target)),
    )


# ---- simulations --------------------------------------------------------------------------------------------

_ERUPTIONS = (
    (0.36, (2.04, 54.5), ((0.069, 0.435), (0.435, 33.7))),
    (0.64, (4.29, 80.0), ((0.170, 0.940), (0.940, 36.0))),
)
"""Shares, means and covariances like those of the geyser's short and long eruptions."""


def _simulated_geyser(n: int = 272, seed: int = 0) -> Example:
    rng = np.random.default_rng(seed)
    shares = [share for share, _, _ in _ERUPTIONS]
    kind = rng.choice(2, size=n, p=shares)
    drawn = np.stack([rng.multivariate_normal(mean, spread, size=n) for _, mean, spread in _ERUPTIONS])
    return Example(
        "simulated-geyser",
        drawn[kind, np.arange(n)],
        _numbered("eruption", n),
        ("eruption minutes", "waiting minutes"),
        "Simulated eruptions of a geyser like Old Faithful: how long they last, and how long one waits for the next.",
        labels=tuple(np.array(["short", "long"])[kind]),
    )


def _two_circles(n: int = 400, seed: int = 0, noise: float = 0.05, inner: float = 0.4) -> Example:
    rng = np.random.default_rng(seed)
    ring = np.arange(n) % 2
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    radius = np.where(ring == 0, 1.0, inner)[:, None]
    points = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return Example(
        "two-circles",
        points + noise * rng.standard_normal((n, 2)),
        _numbered("point", n),
        ("x", "y"),
        "Simulated points on two noisy circles, one in the other: no straight line parts them, kernel components do.",
        labels=tuple(np.array(["outer", "inner"])[ring]),
    )


def _arc(n: int = 200, seed: int = 0, noise: float = 0.05, turn: float = 0.75) -> Example:
    """Simulate points on a part of the unit circle, `turn` being 1 for the whole of it, open at the bottom."""
    rng = np.random.default_rng(seed)
    angle = 2.0 * np.pi * turn * rng.uniform(-0.5, 0.5, n)
    return Example(
        "arc",
        np.column_stack([np.sin(angle), np.cos(angle)]) + noise * rng.standard_normal((n, 2)),
        _numbered("point", n),
        ("x", "y"),
        "Simulated points on a noisy arc: one number, the angle, says nearly all, and no straight line shows it.",
        others={"angle": angle},
    )


def _gene_map(
    n: int = 400, markers: int = 600, side: int = 6, generations: int = 100, seed: int = 0,
    people: int = 30, migration: float = 0.2,
) -> Example:  # fmt: skip
    """Simulate genotypes in villages on a grid of side × side, each of `people` persons.

    In every generation a share `migration` of each
    village comes from its neighbours, and chance drift moves the frequency of every allele: Binomial(2 people, p) /
    2 people (the stepping-stone model of Kimura and Weiss 1964). Frequencies of villages far apart then differ more.
    n persons have two copies of each marker, 0, 1 or 2 of the counted allele (compare Novembre et al. 2008).
    """
    rng = np.random.default_rng(seed)
    p = np.broadcast_to(rng.uniform(0.2, 0.8, markers), (side, side, markers)).copy()
    for _ in range(generations):
        p = rng.binomial(2 * people, (1.0 - migration) * p + migration * _neighbours(p)) / (2.0 * people)
    home = rng.integers(side, size=(n, 2))
    genotypes = rng.binomial(2, p[home[:, 0], home[:, 1]]).astype(np.float64)
    return Example(
        "gene-map",
        genotypes,
        _numbered("person", n),
        tuple(f"marker {j + 1}" for j in range(markers)),
        "Simulated genotypes of people on a map whose neighbours marry: the first two components redraw the map.",
        others={"east": home[:, 0] + rng.uniform(0, 1, n), "north": home[:, 1] + rng.uniform(0, 1, n)},
    )


def _neighbours(p: Array) -> Array:
    """Return the mean of the four neighbours of each village; at the border a village is its own neighbour."""
    wide = np.pad(p, ((1, 1), (1, 1), (0, 0)), mode="edge")
    return np.asarray((wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]) / 4.0)


_TRAITS = {"calm": (0.85, 0.75, 0.7, 0.65), "curious": (0.8, 0.75, 0.7, 0.6), "sociable": (0.85, 0.8, 0.65, 0.6)}
"""Loadings of the items of a questionnaire on the trait that they ask for."""


def _questionnaire(n: int = 500, seed: int = 0, points: int = 7) -> Example:
    """Simulate x = W z + e of unit variance, each item loading on one trait, cut into answers from 1 to `points`."""
    from scipy.linalg import block_diag

    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, len(_TRAITS)))
    W = block_diag(*(np.reshape(items, (-1, 1)) for items in _TRAITS.values()))
    names = [f"{trait} {i + 1}" for trait, items in _TRAITS.items() for i in range(len(items))]
    felt = z @ W.T + np.sqrt(1.0 - (W**2).sum(axis=1)) * rng.standard_normal((n, len(W)))
    middle = (points + 1) / 2.0
    answers = np.clip(np.round(middle + felt * (points - 1) / 5.0), 1, points)
    return Example(
        "questionnaire",
        answers,
        _numbered("person", n),
        tuple(names),
        f"Simulated answers, 1 to {points}, to twelve questions that measure three traits, four questions each.",
        others={trait: z[:, j] for j, trait in enumerate(_TRAITS)},
    )


def _numbered(what: str, n: int) -> tuple[str, ...]:
    return tuple(f"{what} {i + 1}" for i in range(n))


EXAMPLES: dict[str, Callable[..., Example]] = {
    "uk-food": _uk_food,
    "crabs": _crabs,
    "role-conflict": _role_conflict,
    "old-faithful": _old_faithful,
    "tobamovirus": _tobamovirus,
    "trees": _trees,
    "iris": _iris,
    "wine": _wine,
    "air-quality": _air_quality,
    "digits": _digits,
    "two-circles": _two_circles,
    "arc": _arc,
    "gene-map": _gene_map,
    "questionnaire": _questionnaire,
    "simulated-geyser": _simulated_geyser,
}
"""Examples by name; a new one is a function and one entry here."""
