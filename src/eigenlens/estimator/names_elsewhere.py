"""Names that other packages have for our models and parameters: the error about one says what it is here."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

CLASSES_ELSEWHERE = {
    "BayesianGaussianMixture": 'GaussianMixture(prior="conjugate")',
    "BernoulliNB": 'NaiveBayes("bernoulli")',
    "CategoricalNB": 'NaiveBayes("categorical")',
    "ComplementNB": 'NaiveBayes("complement", prior="uniform")',
    "FFTKDE": "KernelDensity",
    "FactorAnalyzer": "FactorAnalysis",
    "KDEUnivariate": "KernelDensity",
    "GaussianNB": 'NaiveBayes("gaussian")',
    "IncrementalPCA": "PCA and its partial_fit",
    "LinearDiscriminantAnalysis": "LinearDiscriminant",
    "Mclust": "select_mixture",
    "MultinomialNB": 'NaiveBayes("multinomial")',
    "NaiveKDE": "KernelDensity",
    "PPCA": "ProbabilisticPCA",
    "QuadraticDiscriminantAnalysis": "QuadraticDiscriminant",
    "StepMix": "MixtureModel",
    "TreeKDE": "KernelDensity",
    "TruncatedSVD": "PCA(center=False)",
    "factanal": 'FactorAnalysis(standardize=True, rotation="varimax")',
    "flexmix": "MixtureModel",
    "gaussian_kde": "KernelDensity",
    "kpca": "KernelPCA",
    "lda": "LinearDiscriminant",
    "naiveBayes": "NaiveBayes",
    "poLCA": "MixtureModel",
    "prcomp": "PCA",
    "princomp": "PCA",
    "qda": "QuadraticDiscriminant",
}
"""Classes and functions of other packages, and what they are here; see `docs/howto/coming-from.md`."""

PARAMETERS_ELSEWHERE = {
    "alpha": "smoothing",
    "atol": "tol",
    "bw": "bandwidth",
    "class_prior": "prior",
    "eigen_solver": "solver",
    "fit_inverse_transform": "preimage",
    "fit_prior": "prior",
    "init_params": "init",
    "n_factors": "n_components",
    "priors": "prior",
    "reg_param": "reg",
    "rescale_with_mean": "center",
    "rescale_with_std": "standardize",
    "rtol": "tol",
    "scale": "standardize",
    "svd_method": "solver",
    "svd_solver": "solver",
    "var_smoothing": "added_variance",
}
"""Parameters of scikit-learn, KDEpy, prince and factor_analyzer, and the parameter here where a model has it."""

PARAMETERS_WITHOUT_COUNTERPART = {
    "batch_size",
    "breadth_first",
    "copy",
    "copy_X",
    "force_alpha",
    "iterated_power",
    "leaf_size",
    "n_jobs",
    "n_oversamples",
    "power_iteration_normalizer",
    "remove_zero_eig",
    "store_covariance",
    "verbose_interval",
}
"""Parameters of scikit-learn that may be left out: what they choose is automatic here, or always so."""


def reject_foreign_parameters(estimator: type, given: Iterable[str]) -> None:
    """Raise the error of an unexpected parameter, with its name here, where other packages have it.

    >>> class Model:
    ...     def __init__(self, solver="auto"): ...
    >>> reject_foreign_parameters(Model, ["svd_solver"])
    Traceback (most recent call last):
      ...
    TypeError: Model() got an unexpected keyword argument 'svd_solver'; its name here is solver
    """
    foreign = [name for name in given if name in PARAMETERS_ELSEWHERE or name in PARAMETERS_WITHOUT_COUNTERPART]
    if not foreign:
        return
    known = inspect.signature(estimator.__init__).parameters  # type: ignore[misc]
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        return  # a subclass that takes any
    for name in foreign:
        here = PARAMETERS_ELSEWHERE.get(name)
        if name not in known and (here in known or name in PARAMETERS_WITHOUT_COUNTERPART):
            hint = f"its name here is {here}" if here else "leave it out"
            raise TypeError(f"{estimator.__name__}() got an unexpected keyword argument {name!r}; {hint}")
