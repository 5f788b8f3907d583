"""The options of `fit` that are about models, and the estimator that they ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from eigenlens.cli.errors import refuse
from eigenlens.cli.options import Running

__all__ = ["ModelOptions", "settings", "unfitted"]

MODEL = "Model"


def _option(*names: str, **more: Any) -> Any:
    return typer.Option(*names, rich_help_panel=MODEL, **({"metavar": ""} | more))


@dataclass(frozen=True)
class ModelOptions:
    """Options of models; each model takes some of them."""

    k: Annotated[
        str | None,
        _option(
            "-k", "--components", metavar="K",
            help="How many components, factors, Gaussians or discriminants. pca: also a share of the variance (0.9) or "
            "a rule (mle, parallel, gavish-donoho, cv, kaiser). ppca, fa: also bic or cv; default bic. gmm: also a "
            "range (1:6), bic, icl or aic; default bic over 1 to 6.",
        ),
    ] = None  # fmt: skip
    standardize: Annotated[
        bool, _option("--standardize", help="pca, fa: divide columns by their standard deviations.")
    ] = False
    whiten: Annotated[bool, _option("--whiten", help="pca: scores of unit variance.")] = False
    solver: Annotated[str | None, _option("--solver", metavar="NAME", help="pca, kpca, ppca, fa: which algorithm.")] = (
        None
    )
    missing: Annotated[
        str | None,
        _option("--missing", metavar="HOW", help="pca: em fits the entries that are there; raise refuses gaps."),
    ] = None
    kernel: Annotated[
        str | None,
        _option("--kernel", metavar="NAME", help="kpca: rbf, poly, laplacian, …; kde: gaussian, epanechnikov, box, …"),
    ] = None
    gamma: Annotated[
        str | None, _option("--gamma", metavar="G", help="kpca: width of the kernel; a number, scale or median.")
    ] = None
    degree: Annotated[int | None, _option("--degree", metavar="N", help="kpca: of the kernel poly.")] = None
    approximation: Annotated[
        str | None,
        _option("--approximation", metavar="NAME", help="kpca: rpcholesky, nystroem or fourier, for many rows."),
    ] = None
    landmarks: Annotated[
        str | None, _option("--landmarks", metavar="N", help="kpca: landmarks of an approximation.")
    ] = None
    preimage: Annotated[
        str | None, _option("--preimage", metavar="NAME", help="kpca: fixed-point, mds or ridge, for denoise.")
    ] = None
    rotation: Annotated[
        str | None,
        _option("--rotation", metavar="NAME", help="fa: varimax, quartimax, equamax, promax or oblimin."),
    ] = None
    covariance: Annotated[
        str | None, _option("--covariance", metavar="KIND", help="gmm: full, tied, diag, spherical, ppca or factor.")
    ] = None
    factors: Annotated[
        int | None, _option("--factors", metavar="N", help="gmm: latent dimensions of --covariance ppca and factor.")
    ] = None
    prior: Annotated[str | None, _option("--prior", metavar="NAME", help="gmm: conjugate keeps components apart.")] = (
        None
    )
    bandwidth: Annotated[
        str | None,
        _option(
            "--bandwidth", metavar="H", help="kde: a number, or silverman, scott, sheather-jones, isj, lscv, mlcv."
        ),
    ] = None
    adaptive: Annotated[bool, _option("--adaptive", help="kde: wider kernels where rows are rare.")] = False
    density: Annotated[
        str | None, _option("--density", metavar="MODEL", help="bayes: the density of each class; its options apply.")
    ] = None
    smoothing: Annotated[str | None, _option("--smoothing", metavar="A", help="nb: counts added to each category.")] = (
        None
    )
    shrinkage: Annotated[
        str | None, _option("--shrinkage", metavar="S", help="lda, qda: of covariances; 0 to 1, or ledoit-wolf.")
    ] = None
    set: Annotated[
        list[str] | None,
        _option(
            "--set",
            metavar="NAME=VALUE",
            help="Any other parameter of the model in Python, its value as JSON or a word: max_iter=500, "
            '\'features={"age": "kde"}\'; may be repeated.',
        ),
    ] = None


def settings(words: Sequence[str] | None) -> dict[str, Any]:
    """{name: value} of words such as max_iter=500.

    >>> settings(["max_iter=500", "init=random"])
    {'max_iter': 500, 'init': 'random'}
    """
    from eigenlens.cli.models import option_value

    found = {}
    for word in words or ():
        name, sign, value = word.partition("=")
        if not sign or not name.strip():
            refuse(f"--set {word!r} is not of the form NAME=VALUE", "write for instance --set max_iter=500")
        found[name.strip()] = option_value(value.strip())
    return found


def unfitted(model: str, options: ModelOptions, running: Running) -> tuple[Any, Any]:
    """The estimator that the command line asks for, and how its number of components is to be chosen (None: given)."""
    from eigenlens.cli.choosing import asked_for
    from eigenlens.cli.models import kind_of, make

    given = asdict(options)
    extra = settings(given.pop("set"))
    choice = asked_for(options.k) if kind_of(model).chosen and "n_components" not in extra else None
    if choice is not None:
        given["k"] = None
    return make(model, given | {"max_memory": running.max_memory}, extra, running.seed), choice
