"""The families that a naive Bayes factor may have, by name, one kind per module."""

from eigenlens.bayes.naive.families.base import Factor
from eigenlens.bayes.naive.families.bernoulli import BernoulliFactor
from eigenlens.bayes.naive.families.categorical import CategoricalFactor
from eigenlens.bayes.naive.families.complement import ComplementFactor
from eigenlens.bayes.naive.families.gaussian import GaussianFactor
from eigenlens.bayes.naive.families.kde import KdeFactor
from eigenlens.bayes.naive.families.mixture import MixtureFactor
from eigenlens.bayes.naive.families.multinomial import MultinomialFactor

FACTORS: dict[str, Factor] = {
    "gaussian": GaussianFactor(),
    "shared-gaussian": GaussianFactor(shared=True),
    "categorical": CategoricalFactor(),
    "bernoulli": BernoulliFactor(),
    "multinomial": MultinomialFactor(),
    "complement": ComplementFactor(),
    "normalized-complement": ComplementFactor(normalized=True),
    "kde": KdeFactor(),
    "mixture": MixtureFactor(),
}
"""Families by name; a family of the user's own takes the place of a name anywhere."""
