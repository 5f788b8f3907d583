"""The models by the names of the command line, the options that each takes, and how one is made."""

from __future__ import annotations

import difflib
import importlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eigenlens.cli.errors import refuse

__all__ = ["MODELS", "Kind", "keeps_rows", "kind_of", "make", "option_value", "takes_text", "why_not"]


@dataclass(frozen=True)
class Kind:
    """A model.

    Attributes:
        home: its class, as "module:name", imported when it is needed. about: one line.
        takes: {option of the command line: parameter of the class}. default: parameters where no option says other.
        classes: whether it learns from labels. wraps: whether options it does not take are its density's.
        mixed: whether columns may be text. whole: whether it keeps all rows, so that they must fit into memory.
        chosen: whether the number of components is chosen by a criterion where no option says it.
        needs: an option without which it cannot be made, and what to say then.
    """

    home: str
    about: str
    takes: Mapping[str, str] = field(default_factory=dict)
    default: Mapping[str, Any] = field(default_factory=dict)
    classes: bool = False
    wraps: bool = False
    mixed: bool = False
    whole: bool = False
    chosen: bool = False
    needs: tuple[str, str] | None = None


_K = {"k": "n_components"}
_KERNEL = {name: name for name in ("kernel", "gamma", "degree", "solver", "approximation", "preimage", "max_memory")}

MODELS: dict[str, Kind] = {
    "pca": Kind(
        "eigenlens.pca.estimator:PCA",
        "principal components",
        _K | {name: name for name in ("standardize", "whiten", "solver", "missing")},
    ),
    "kpca": Kind(
        "eigenlens.kernel_pca.estimator:KernelPCA",
        "kernel principal components",
        _K | _KERNEL | {"landmarks": "n_landmarks"},
        {"n_components": 10},
    ),
    "ppca": Kind(
        "eigenlens.latent.ppca.estimator:ProbabilisticPCA",
        "probabilistic principal components; missing entries welcome",
        _K | {"solver": "solver"},
        {"n_components": "bic"},
    ),
    "fa": Kind(
        "eigenlens.latent.factor.estimator:FactorAnalysis",
        "factor analysis; missing entries welcome",
        _K | {name: name for name in ("rotation", "standardize", "solver")},
        {"n_components": "bic"},
    ),
    "gmm": Kind(
        "eigenlens.mixture.estimator:GaussianMixture",
        "a mixture of Gaussians: density and soft clusters",
        _K | {"covariance": "covariance_type", "factors": "n_factors", "prior": "prior"},
        chosen=True,
    ),
    "kde": Kind(
        "eigenlens.kde.estimator:KernelDensity",
        "a kernel density estimate",
        {name: name for name in ("kernel", "bandwidth", "adaptive")},
        whole=True,
    ),
    "nb": Kind(
        "eigenlens.bayes.naive.estimator:NaiveBayes",
        "naive Bayes: classes from columns taken as independent",
        {"smoothing": "smoothing"},
        classes=True,
        mixed=True,
    ),
    "bayes": Kind(
        "eigenlens.bayes.classifier.estimator:BayesClassifier",
        "classes from one density each (--density gmm, kde, ppca or fa)",
        {"density": "density"},
        classes=True,
        wraps=True,
        needs=("density", "say which density each class has: --density gmm, kde, ppca or fa"),
    ),
    "lda": Kind(
        "eigenlens.bayes.discriminant.linear:LinearDiscriminant",
        "linear discriminants: classes, and the axes that part them best",
        _K | {"shrinkage": "shrinkage"},
        classes=True,
    ),
    "qda": Kind(
        "eigenlens.bayes.discriminant.quadratic:QuadraticDiscriminant",
        "quadratic discriminants: a Gaussian of its own for each class",
        {"shrinkage": "shrinkage"},
        classes=True,
    ),
}  # fmt: skip
"""Models by name; a new one is an entry here."""

ALIASES = {"n_components": "k"}
NUMBERS = {"k", "gamma", "bandwidth", "landmarks", "smoothing", "shrinkage", "prior", "max_memory"}
"""Options that are numbers where they look like one, and names otherwise."""


def kind_of(name: str) -> Kind:
    """The model of this name."""
    if name not in MODELS:
        near = difflib.get_close_matches(name.lower(), [*MODELS, *LONG], n=1, cutoff=0.5)
        guess = f"did you mean {LONG.get(near[0], near[0])}? " if near else ""
        refuse(f"{name!r} is no model", f"{guess}use one of {', '.join(MODELS)}")
    return MODELS[name]


LONG = {
    "kernel-pca": "kpca", "probabilistic-pca": "ppca", "factor-analysis": "fa", "gaussian-mixture": "gmm",
    "mixture": "gmm", "kernel-density": "kde", "density": "kde", "naive-bayes": "nb", "bayes-classifier": "bayes",
    "linear-discriminant": "lda", "quadratic-discriminant": "qda", "kmeans": "gmm",
}  # fmt: skip
"""What people may call the models."""


def keeps_rows(name: str, options: Mapping[str, Any]) -> bool:
    """Whether a model, or the density that it wraps, keeps all rows."""
    kind = kind_of(name)
    density = options.get("density")
    return kind.whole or bool(kind.wraps and density and kind_of(str(density)).whole)


def takes_text(model: Any) -> bool:
    """Whether columns of text are welcome to a fitted model."""
    return any(kind.mixed and kind.home.endswith(f":{type(model).__name__}") for kind in MODELS.values())


def make(name: str, options: Mapping[str, Any], extra: Mapping[str, Any], seed: int) -> Any:
    """An unfitted estimator by its name, the options of the command line (None: not given) and further parameters."""
    kind = kind_of(name)
    given = {option: value for option, value in options.items() if value is not None and value is not False}
    if kind.needs and kind.needs[0] not in given and kind.takes.get(kind.needs[0]) not in extra:
        refuse(f"{name} needs --{kind.needs[0]}".replace("--k", "-k"), kind.needs[1])
    _refuse_idle(given)
    inner: dict[str, Any] = {}
    if kind.wraps:
        inner = {
            option: value for option, value in given.items() if option not in kind.takes and option != "max_memory"
        }
        given = {option: value for option, value in given.items() if option in kind.takes}
    values = dict(kind.default) | {kind.takes[option]: value for option, value in _taken(name, kind, given)}
    if kind.wraps:
        values["density"] = _density(str(values["density"]), inner, seed)
    estimator_class = _imported(name, kind.home)
    known = inspect.signature(estimator_class).parameters
    for parameter in extra:
        if parameter not in known:
            refuse(f"--set {parameter}: {name} has no such parameter", f"it has {', '.join(known)}")
    random = {"random_state": seed} if "random_state" in known else {}
    return estimator_class(**(values | random | dict(extra)))


IDLE: dict[str, tuple[str, tuple[str, ...]]] = {
    "landmarks": ("approximation", ("rpcholesky", "nystroem", "fourier")),
    "degree": ("kernel", ("poly",)),
    "factors": ("covariance", ("ppca", "factor")),
}
"""Options that say something only beside certain values of another."""


def _refuse_idle(given: Mapping[str, Any]) -> None:
    for option, (other, values) in IDLE.items():
        if option in given and given.get(other) not in values:
            refuse(f"--{option} says nothing without --{other} {' or '.join(values)}", f"add --{other} {values[0]}")


def _density(name: str, options: Mapping[str, Any], seed: int) -> Any:
    if name not in MODELS or MODELS[name].classes or name == "kpca":
        refuse(f"--density {name} is no density of rows", "use gmm, kde, ppca, fa or pca")
    return make(name, options, {}, seed)


def _taken(name: str, kind: Kind, given: dict[str, Any]) -> list[tuple[str, Any]]:
    """The options that the model takes; another is refused, but for a limit of memory, which all commands have."""
    found = []
    for option, value in given.items():
        if option in kind.takes:
            found.append((option, option_value(value) if option in NUMBERS else value))
        elif option != "max_memory":
            flag = "-k" if option == "k" else f"--{option}"
            takers = ", ".join(other for other, each in MODELS.items() if option in each.takes)
            mine = ", ".join("-k" if each == "k" else f"--{each}" for each in kind.takes if each != "max_memory")
            refuse(f"{flag} is no option of {name}", f"{flag} is for {takers}; {name} takes {mine}")
    return found


def option_value(text: Any) -> Any:
    """A word of the command line as a number, true, false, null, a list, or itself.

    >>> [option_value(text) for text in ("3", "0.9", "mle", "true", "[1, 2]")]
    [3, 0.9, 'mle', True, [1, 2]]
    """
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return {"True": True, "False": False, "None": None}.get(text, text)


def _imported(name: str, home: str) -> Any:
    module, _, attribute = home.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError):
        there = ", ".join(each for each in MODELS if _exists(MODELS[each].home))
        refuse(f"the model {name} ({attribute}) is not in this version of eigenlens", f"use one of {there}, or upgrade")


def _exists(home: str) -> bool:
    module, _, attribute = home.partition(":")
    try:
        return hasattr(importlib.import_module(module), attribute)
    except ImportError:
        return False


ABLE = {
    "transform": "pca, kpca, ppca, fa or lda",
    "inverse_transform": "pca, kpca, ppca or fa",
    "impute": "ppca, fa or gmm",
    "sample": "pca, ppca, fa, gmm, kde or a classifier",
    "score_samples": "pca, ppca, fa, gmm or kde",
    "predict": "gmm, nb, bayes, lda or qda",
    "predict_proba": "gmm, nb, bayes, lda or qda",
}
"""Which models can do what, for errors."""


def why_not(model: Any, method: str, verb: str) -> None:
    """Refuse a model that has no such method."""
    if not hasattr(model, method):
        refuse(f"a {type(model).__name__} cannot {verb}", f"fit {ABLE.get(method, 'another model')}", "data")
