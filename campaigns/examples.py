"""One fitted model, comparison and density of each kind, written as Python for generated calls."""

from __future__ import annotations

USUAL_ROWS = {"GenotypePCA": "copies({n}, 12, {s})"}
"""Rows that fit an estimator where the usual ones do not."""

FITTED = {
    name: f"eigenlens.{name}({options}).fit({USUAL_ROWS.get(name, 'rows({n}, {d}, {s})')}"
    f"{', labels({n})' if classes else ''})"
    for name, options, classes in [
        ("PCA", "", False),
        ("KernelPCA", "", False),
        ("SparsePCA", "2", False),
        ("GenotypePCA", "2", False),
        ("ProbabilisticPCA", "1", False),
        ("FactorAnalysis", "1", False),
        ("GaussianMixture", "2, n_init=1", False),
        ("MixtureModel", "2, n_init=1", False),
        ("KernelDensity", "", False),
        ("NaiveBayes", "", True),
        ("BayesClassifier", "eigenlens.GaussianMixture()", True),
        ("LinearDiscriminant", "", True),
        ("QuadraticDiscriminant", "", True),
    ]
}
"""One fitted model of each kind."""

COMPARISON = (
    "eigenlens.compare({{'one': eigenlens.GaussianMixture(), 'two': eigenlens.KernelDensity()}}, rows({n}, 1, {s}))"
)
"""Two models compared."""

DENSITIES = {
    "Bernoulli": "densities.Bernoulli(0.3)",
    "Categorical": "densities.Categorical([0.2, 0.8])",
    "Gaussian": "densities.Gaussian([0.0, 1.0], densities.Full(np.eye(2)))",
    "Histogram": "densities.Histogram([0.0, 1.0, 3.0], [0.4, 0.6])",
    "LinearGaussian": "densities.LinearGaussian(np.zeros(2), np.ones((2, 1)), 0.5)",
    "Mixture": "densities.Mixture([0.4, 0.6], (densities.Gaussian([0.0], densities.Spherical(1.0, 1)),) * 2)",
    "Multinomial": "densities.Multinomial([0.2, 0.3, 0.5], 4)",
    "Product": "densities.Product((densities.Bernoulli(0.3), densities.Histogram([0.0, 1.0, 3.0], [0.4, 0.6])))",
    "Full": "densities.Full(np.eye(2))",
    "Diagonal": "densities.Diagonal([1.0, 2.0])",
    "Spherical": "densities.Spherical(2.0, 2)",
    "GaussianFamily": "densities.GaussianFamily()",
    "BernoulliFamily": "densities.BernoulliFamily()",
    "CategoricalFamily": "densities.CategoricalFamily()",
    "HistogramFamily": "densities.HistogramFamily([-50.0, 0.0, 50.0])",
    "MultinomialFamily": "densities.MultinomialFamily()",
    "ProductFamily": "densities.ProductFamily([densities.GaussianFamily(), densities.BernoulliFamily()])",
}
"""One density, covariance and family of each kind."""
