"""The list of models: one entry per model holds everything that the rest of the package knows about it.

The public names of `eigenlens`, `eigenlens.load`, the command line, the reports and the reference of the documentation
follow from the entries. Parts of a model are named by their dotted paths and imported on first use. So this module
imports nothing of the package, and any layer may use it: a classifier reads back a density of any other package, and
the command line prints its help without NumPy.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple


class OptionNames(NamedTuple):
    """The names that an option accepts, for help texts.

    Attributes:
        registry: the dictionary whose keys these are, by its dotted path; a test compares the two, since importing a
            registry, and with it NumPy, would make `--help` slow. "" if there is none.
        names: its keys, in order; a solver may also be "auto", the first, where that is not a key.
    """

    registry: str
    names: tuple[str, ...]


class ModelEntry(NamedTuple):
    """All that the package knows about one model.

    Attributes:
        estimator: its class, by its dotted path; so are the other parts.
        command: its name on the command line. about: one line for help texts. group: its part of the reference.
        aliases: other names that people may type, suggested where they do.
        options: {option of the command line: parameter of the class}. defaults: {parameter: value} where the command
            line differs from the class.
        names: {option: the names it accepts}.
        required: an option that must be given, or "".
        density: whether it has the log-density of rows, so that it can be compared, and be the density of a class.
        classes: whether it learns from labels. wraps: whether options that it does not take are those of its density.
        mixed: whether columns may hold text. incomplete: whether it fits rows with missing values by default.
        genotypes: whether its rows are genotypes, read by variants; a report shows their scores.
        keeps_rows: whether it keeps all rows, which must then fit into memory.
        by_units: whether the units of the columns decide what it finds, unless they are standardised.
        chooses: whether the command line chooses the number of components by a criterion where none is given.
        summary: fitted estimator → (line, table, facts) of the command line; "" for the classes of a classifier.
        page: (fitted estimator, rows) → the charts of its page in a report; "" if it has none.
        live: (fitted estimator, rows, …) → the charts that follow each change in the explorer; "" if none.
        export: fitted estimator → {name: Parameter} that `export` writes besides its attributes.
        projection: fitted estimator → (mean, map) of a linear projection, which can be written as ONNX.
    """

    estimator: str
    command: str
    about: str
    group: str = "Structure"
    aliases: tuple[str, ...] = ()
    options: Mapping[str, str] = {}
    defaults: Mapping[str, Any] = {}
    names: Mapping[str, OptionNames] = {}
    required: str = ""
    density: bool = False
    classes: bool = False
    wraps: bool = False
    mixed: bool = False
    incomplete: bool = False
    genotypes: bool = False
    keeps_rows: bool = False
    by_units: bool = False
    chooses: bool = False
    summary: str = ""
    page: str = ""
    live: str = ""
    export: str = ""
    projection: str = ""


def _same(*options: str) -> dict[str, str]:
    """Return options whose parameters have the same name."""
    return {option: option for option in options}


_K = {"k": "n_components"}

_SHRINKAGE = "eigenlens.bayes.discriminant.options"

_ROTATIONS = OptionNames(
    "eigenlens.rotation.ROTATIONS", ("varimax", "quartimax", "equamax", "promax", "oblimin", "geomin")
)

MODELS: dict[str, ModelEntry] = {
    "PCA": ModelEntry(
        "eigenlens.pca.estimator.PCA",
        "pca",
        "principal components",
        options=_K | _same("center", "standardize", "whiten", "rotation", "solver", "missing") | {"zca": "whiten"},
        names={
            "rotation": _ROTATIONS,
            "k": OptionNames(
                "eigenlens.linalg.n_components.N_COMPONENTS_RULES", ("mle", "parallel", "gavish-donoho", "cv", "kaiser")
            ),
            "solver": OptionNames(
                "eigenlens.linalg.solve.SOLVERS",
                ("auto", "covariance", "gram", "svd", "lanczos", "randomized", "power"),
            ),
            "missing": OptionNames("eigenlens.pca.options.MISSING_VALUE_METHODS", ("raise", "em")),
        },
        density=True,
        by_units=True,
        summary="eigenlens.cli.summaries.pca_summary",
        page="eigenlens.reporting.pages.pca.pca_page",
        live="eigenlens.reporting.pages.pca.pca_live",
        projection="eigenlens.cli.onnx.principal_projection",
    ),
    "SparsePCA": ModelEntry(
        "eigenlens.sparse_pca.estimator.SparsePCA",
        "spca",
        "sparse principal components: few columns each",
        aliases=("sparse-pca",),
        options=_K | {"nonzero": "n_nonzero", "standardize": "standardize"},
        by_units=True,
        summary="eigenlens.cli.summaries.sparse_summary",
        page="eigenlens.reporting.pages.sparse_pca.sparse_page",
        projection="eigenlens.cli.onnx.sparse_projection",
    ),
    "GenotypePCA": ModelEntry(
        "eigenlens.genotypes.estimator.GenotypePCA",
        "gpca",
        "principal components of genotypes (.bed, .pgen), as PLINK has them",
        aliases=("genotype-pca", "genotypes", "eigenstrat", "smartpca"),
        options=_K | _same("missing", "solver", "chromosomes"),
        genotypes=True,
        names={
            "missing": OptionNames("eigenlens.genotypes.options.MISSING_CALL_METHODS", ("pairwise", "mean")),
            "solver": OptionNames("eigenlens.genotypes.fit.GENOTYPE_SOLVERS", ("auto", "gram", "lanczos")),
        },
        summary="eigenlens.cli.summaries.genotype_summary",
        page="eigenlens.reporting.pages.genotypes.genotype_page",
    ),
    "KernelPCA": ModelEntry(
        "eigenlens.kernel_pca.estimator.KernelPCA",
        "kpca",
        "kernel principal components",
        aliases=("kernel-pca",),
        options=_K
        | _same("kernel", "center", "standardize", "gamma", "sigma", "degree", "coef0", "solver", "approximation")
        | _same("preimage", "max_memory")
        | {"landmarks": "n_landmarks"},
        defaults={"n_components": 10},
        names={
            "kernel": OptionNames(
                "eigenlens.kernel_pca.kernels.KERNELS",
                ("linear", "poly", "rbf", "laplacian", "sigmoid", "cosine", "precomputed"),
            ),
            "gamma": OptionNames("eigenlens.kernel_pca.gamma.GAMMA_RULES", ("scale", "median")),
            "solver": OptionNames("eigenlens.kernel_pca.fit.GRAM_SOLVERS", ("auto", "dense", "lanczos", "randomized")),
            "approximation": OptionNames(
                "eigenlens.kernel_pca.features.APPROXIMATIONS", ("rpcholesky", "nystroem", "fourier")
            ),
            "preimage": OptionNames("eigenlens.kernel_pca.preimage.PREIMAGES", ("fixed-point", "mds", "ridge")),
        },
        by_units=True,
        summary="eigenlens.cli.summaries.kernel_summary",
        page="eigenlens.reporting.pages.kernel_pca.kernel_page",
        live="eigenlens.reporting.pages.kernel_pca.kernel_live",
        export="eigenlens.cli.commands.export.kernel_parameters",
    ),
    "ProbabilisticPCA": ModelEntry(
        "eigenlens.latent.ppca.estimator.ProbabilisticPCA",
        "ppca",
        "probabilistic principal components",
        aliases=("probabilistic-pca",),
        options=_K | _same("standardize", "solver"),
        defaults={"n_components": "bic"},
        names={
            "k": OptionNames("eigenlens.latent.n_components.DIMENSION_RULES", ("bic", "cv")),
            "solver": OptionNames(
                "eigenlens.latent.ppca.fit.PPCA_SOLVERS", ("auto", "closed-form", "em", "accelerated-em")
            ),
        },
        density=True,
        incomplete=True,
        by_units=True,
        summary="eigenlens.cli.summaries.ppca_summary",
        page="eigenlens.reporting.pages.latent.latent_page",
        live="eigenlens.reporting.pages.latent.latent_live",
        projection="eigenlens.cli.onnx.latent_projection",
    ),
    "FactorAnalysis": ModelEntry(
        "eigenlens.latent.factor.estimator.FactorAnalysis",
        "fa",
        "factor analysis",
        aliases=("factor-analysis",),
        options=_K | _same("rotation", "standardize", "solver"),
        defaults={"n_components": "bic"},
        names={
            "k": OptionNames("eigenlens.latent.n_components.FACTOR_RULES", ("bic", "cv", "parallel", "map")),
            "rotation": _ROTATIONS,
            "solver": OptionNames(
                "eigenlens.latent.factor.solvers.FACTOR_SOLVERS",
                ("auto", "quasi-newton", "em", "minres", "principal-axis"),
            ),
        },
        density=True,
        incomplete=True,
        summary="eigenlens.cli.summaries.factor_summary",
        page="eigenlens.reporting.pages.latent.latent_page",
        live="eigenlens.reporting.pages.latent.latent_live",
        projection="eigenlens.cli.onnx.latent_projection",
    ),
    "GaussianMixture": ModelEntry(
        "eigenlens.mixture.estimator.GaussianMixture",
        "gmm",
        "Gaussian mixture: density and soft clusters",
        group="Densities",
        aliases=("gaussian-mixture", "mixture", "kmeans"),
        options=_K | {"covariance": "covariance_type", "factors": "n_factors"} | _same("standardize", "prior"),
        names={
            "k": OptionNames("", ("bic", "icl", "aic")),  # of mixture.select.CRITERIA, those that need no folds
            "covariance": OptionNames(
                "eigenlens.mixture.structures.COVARIANCE_STRUCTURES",
                ("full", "tied", "diag", "spherical", "ppca", "factor"),
            ),
            "prior": OptionNames("eigenlens.mixture.prior.PRIORS", ("none", "conjugate")),
        },
        density=True,
        incomplete=True,
        chooses=True,
        summary="eigenlens.cli.summaries.mixture_summary",
        page="eigenlens.reporting.pages.mixture.mixture_page",
        live="eigenlens.reporting.pages.mixture.mixture_live",
    ),
    "MixtureModel": ModelEntry(
        "eigenlens.bayes.latent_classes.estimator.MixtureModel",
        "mix",
        "mixture of any families: latent classes of mixed columns",
        group="Densities",
        aliases=("latent-classes", "lca", "mixture-model"),
        options=_K,
        names={"k": OptionNames("", ("bic", "icl", "aic"))},
        density=True,
        mixed=True,
        incomplete=True,
        chooses=True,
        summary="eigenlens.cli.summaries.latent_class_summary",
        page="eigenlens.reporting.pages.latent_classes.latent_class_page",
        export="eigenlens.cli.commands.export.family_parameters",
    ),
    "KernelDensity": ModelEntry(
        "eigenlens.kde.estimator.KernelDensity",
        "kde",
        "kernel density estimate",
        group="Densities",
        aliases=("kernel-density", "density"),
        options=_same("kernel", "bandwidth", "standardize", "adaptive", "bounds", "boundary"),
        names={
            "kernel": OptionNames(
                "eigenlens.kde.kernels.SMOOTHING_KERNELS",
                ("gaussian", "box", "epanechnikov", "triangular", "biweight", "triweight", "cosine", "laplace"),
            ),
            "bandwidth": OptionNames(
                "eigenlens.kde.bandwidth.BANDWIDTH_RULES",
                ("silverman", "scott", "sheather-jones", "sheather-jones-dpi", "isj", "lscv", "lscv-exact", "mlcv"),
            ),
            "boundary": OptionNames(
                "eigenlens.kde.bounds.BOUNDARIES", ("reflect", "renormalize", "periodic", "linear")
            ),
        },
        density=True,
        keeps_rows=True,
        summary="eigenlens.cli.summaries.density_summary",
        page="eigenlens.reporting.pages.kde.density_page",
        live="eigenlens.reporting.pages.kde.density_live",
        export="eigenlens.cli.commands.export.kernel_parameters",
    ),
    "NaiveBayes": ModelEntry(
        "eigenlens.bayes.naive.estimator.NaiveBayes",
        "nb",
        "naive Bayes: classes from columns taken as independent",
        group="Classifiers",
        aliases=("naive-bayes",),
        options=_same("smoothing"),
        classes=True,
        mixed=True,
        incomplete=True,
        summary="eigenlens.cli.summaries.naive_summary",
        page="eigenlens.reporting.pages.bayes.bayes_page",
        export="eigenlens.cli.commands.export.family_parameters",
    ),
    "BayesClassifier": ModelEntry(
        "eigenlens.bayes.classifier.estimator.BayesClassifier",
        "bayes",
        "Bayes classifier: one density of your choice per class",
        group="Classifiers",
        aliases=("bayes-classifier",),
        options=_same("density"),
        required="density",
        classes=True,
        wraps=True,
        summary="eigenlens.cli.summaries.bayes_summary",
        page="eigenlens.reporting.pages.bayes.bayes_page",
        export="eigenlens.cli.commands.export.density_parameters",
    ),
    "LinearDiscriminant": ModelEntry(
        "eigenlens.bayes.discriminant.estimator.LinearDiscriminant",
        "lda",
        "linear discriminants: classes, and the axes that separate them best",
        group="Classifiers",
        aliases=("linear-discriminant",),
        options=_K | _same("shrinkage", "standardize"),
        names={
            "shrinkage": OptionNames(f"{_SHRINKAGE}.LINEAR_SHRINKAGES", ("auto", "ledoit-wolf", "ledoit-wolf-by-class"))
        },
        classes=True,
        incomplete=True,
        summary="eigenlens.cli.summaries.linear_summary",
        page="eigenlens.reporting.pages.bayes.bayes_page",
        projection="eigenlens.cli.onnx.discriminant_projection",
    ),
    "QuadraticDiscriminant": ModelEntry(
        "eigenlens.bayes.discriminant.estimator.QuadraticDiscriminant",
        "qda",
        "quadratic discriminants: one Gaussian per class",
        group="Classifiers",
        aliases=("quadratic-discriminant",),
        options=_same("shrinkage", "standardize"),
        names={"shrinkage": OptionNames(f"{_SHRINKAGE}.QUADRATIC_SHRINKAGES", ("auto", "ledoit-wolf"))},
        classes=True,
        incomplete=True,
        summary="eigenlens.cli.summaries.quadratic_summary",
        page="eigenlens.reporting.pages.bayes.bayes_page",
    ),
}
"""Every model by the name of its estimator class, which is also the name that its files carry."""

PAGES: dict[str, str] = {
    "eigenlens.mixture.select.MixtureSelection": "eigenlens.reporting.pages.mixture_selection.selection_page",
    "eigenlens.comparison.compare.Comparison": "eigenlens.reporting.pages.comparison.comparison_page",
}
"""Report pages of results that are not models, by the dotted path of their class; those of models are in `MODELS`."""


def import_part(path: str) -> Any:
    """Return what a dotted path names.

    >>> import_part("eigenlens.catalogue.MODELS") is MODELS
    True
    """
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def estimator_class(name: str) -> Any:
    """Return the estimator class of a model of the catalogue.

    >>> estimator_class("PCA").__name__
    'PCA'
    """
    return import_part(MODELS[name].estimator)


def _class_paths(value: Any) -> Iterator[str]:
    """Yield the dotted paths of a value's class and of its parents, so that a user's subclass is like its parent."""
    return (f"{each.__module__}.{each.__qualname__}" for each in type(value).__mro__)


def entry_of(model: Any) -> ModelEntry | None:
    """Return the entry of an estimator, or of the class that it derives from; None if there is none."""
    entries = {entry.estimator: entry for entry in MODELS.values()}
    return next((entries[path] for path in _class_paths(model) if path in entries), None)


def page_of(value: Any) -> str:
    """Return the report page of a model or another result, by its dotted path; "" if it has none."""
    pages = PAGES | {entry.estimator: entry.page for entry in MODELS.values()}
    return next((pages[path] for path in _class_paths(value) if path in pages), "")


def model_entry(command: str) -> ModelEntry | None:
    """Return the entry of a model by its name on the command line.

    >>> model_entry("kpca").about
    'kernel principal components'
    """
    return next((entry for entry in MODELS.values() if entry.command == command), None)
