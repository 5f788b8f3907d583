"""Densities with a closed form: frozen values, built by hand or by `fit`.

>>> from eigenlens.densities import Bernoulli
>>> coin = Bernoulli.fit([1, 0, 1, 1, 0, 1, 1, 1, 0, 1])
>>> coin.probability, coin.standard_errors(), coin.confidence_intervals()
(0.7, 0.1449, (0.3968, 0.8922))

Chunks are summarised on their own, and merge:

>>> from eigenlens.densities import Block, CategoricalFamily
>>> family = CategoricalFamily(smoothing=1.0)
>>> monday, tuesday = (family.summarise(Block(x)) for x in (["red", "blue"], ["red", "green"]))
>>> family.estimate(monday + tuesday).probabilities
array([0.25 , 0.25 , 0.375])
"""

from eigenlens.data.source import Block
from eigenlens.densities.base import Density, Family
from eigenlens.densities.bins import bin_edges
from eigenlens.densities.covariance import Diagonal, Full, Spherical
from eigenlens.densities.discrete import Bernoulli, BernoulliFamily, Categorical, CategoricalFamily
from eigenlens.densities.gaussian import Gaussian, GaussianFamily
from eigenlens.densities.histogram import Histogram, HistogramFamily
from eigenlens.densities.intervals import Fitted
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.densities.maximum_likelihood import LikelihoodMaximum, log_likelihood, maximise_likelihood
from eigenlens.densities.mixture import Mixture
from eigenlens.densities.multinomial import Multinomial, MultinomialFamily
from eigenlens.densities.product import Product, ProductFamily

__all__ = [
    "Bernoulli",
    "BernoulliFamily",
    "Block",
    "Categorical",
    "CategoricalFamily",
    "Density",
    "Diagonal",
    "Family",
    "Fitted",
    "Full",
    "Gaussian",
    "GaussianFamily",
    "Histogram",
    "HistogramFamily",
    "LikelihoodMaximum",
    "LinearGaussian",
    "Mixture",
    "Multinomial",
    "MultinomialFamily",
    "Product",
    "ProductFamily",
    "Spherical",
    "bin_edges",
    "log_likelihood",
    "maximise_likelihood",
]
