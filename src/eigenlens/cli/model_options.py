"""The options of `fit` that concern models, and the estimator that they ask for.

Which models take an option, and the names that it accepts, come from the catalogue.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from eigenlens.catalogue import MODELS, ModelEntry, entry_of, import_part, model_entry
from eigenlens.cli.errors import fail
from eigenlens.cli.options import option_field
from eigenlens.errors import closest, suggest
from eigenlens.tables.text_table import join_words

MODEL_PANEL = "Model"


def commands(*flags: str) -> list[str]:
    """Return the names of the models on the command line, of those whose entries have all these flags.

    >>> commands("density")
    ['pca', 'ppca', 'fa', 'gmm', 'mix', 'kde']
    """
    return [entry.command for entry in MODELS.values() if all(getattr(entry, flag) for flag in flags)]


def flag_of(option: str) -> str:
    """Return the flag of an option of models."""
    return "-k" if option == "k" else f"--{option.replace('_', '-')}"


def _about(option: str, text: str) -> str:
    """Return the help of an option: the models that take it, and `text` with their names in place of {names}.

    >>> _about("whiten", "scores of unit variance."), _about("gamma", "a number, {names}.")
    ('pca: scores of unit variance.', 'kpca: a number, scale or median.')
    """
    taking = [entry for entry in MODELS.values() if option in entry.options]
    if "{names}" not in text:
        return f"{', '.join(entry.command for entry in taking)}: {text}"
    alike: dict[str, list[str]] = {}  # models that accept the same names
    for entry in taking:
        alike.setdefault(join_words(entry.names[option].names), []).append(entry.command)
    parts = [f"{', '.join(takers)}: {text.rstrip('.').replace('{names}', names)}" for names, takers in alike.items()]
    return "; ".join(parts) + "."


def _option(name: str, text: str, **more: Any) -> Any:
    return option_field(more.pop("flag", f"--{name}"), _about(name, text), panel=MODEL_PANEL, **more)


def _names(command: str, option: str = "k") -> str:
    """Return the names that an option of one model accepts."""
    entry = model_entry(command)
    return "" if entry is None else join_words(entry.names[option].names)


@dataclass(frozen=True)
class ModelOptions:
    """Options of models; each model takes some of them."""

    k: str | None = option_field(
        "-k",
        "Number of components, factors, Gaussians or discriminants. pca: also a share of the variance (0.9) "
        f"or a rule ({_names('pca')}). ppca: also {_names('ppca')}; default bic. fa: also {_names('fa')}; default "
        f"bic. gmm: also a range (1:6), {_names('gmm')}; default bic over 1 to 6.",
        "--components",
        metavar="K",
        panel=MODEL_PANEL,
    )
    standardize: bool = _option("standardize", "divide columns by their standard deviations.", default=False)
    nonzero: str | None = _option(
        "nonzero", "columns that a component may use, a number or one per component ([5,2,2]).", metavar="N"
    )
    center: bool | None = _option(
        "center", "whether means are subtracted, of rows or in feature space; default yes.", flag="--center/--no-center"
    )
    whiten: bool = _option("whiten", "scale scores to unit variance.", default=False)
    zca: bool = _option("zca", "whiten, and turn back to the axes of the columns.", default=False)
    solver: str | None = _option("solver", "{names}.", metavar="NAME")
    missing: str | None = _option("missing", "treatment of missing values: {names}.", metavar="HOW")
    chromosomes: str | None = _option(
        "chromosomes",
        "autosomes (all but X, Y and MT), all, or a list such as 1,2,X; default autosomes.",
        metavar="LIST",
    )
    kernel: str | None = _option("kernel", "{names}.", metavar="NAME")
    gamma: str | None = _option("gamma", "scale of the kernel: a number, {names}.", metavar="G")
    sigma: float | None = _option("sigma", "width of the kernel rbf, instead of gamma = 1 / (2 sigma²).", metavar="S")
    degree: int | None = _option("degree", "degree of the kernel poly.", metavar="N")
    coef0: float | None = _option("coef0", "constant term of the kernels poly and sigmoid.", metavar="C")
    approximation: str | None = _option("approximation", "{names}, for many rows.", metavar="NAME")
    landmarks: str | None = _option(
        "landmarks", "number of landmarks or random features of an approximation.", metavar="N"
    )
    preimage: str | None = _option("preimage", "{names}, for denoise.", metavar="NAME")
    rotation: str | None = _option("rotation", "{names}.", metavar="NAME")
    covariance: str | None = _option("covariance", "{names}.", metavar="KIND")
    factors: int | None = _option("factors", "latent dimensions of --covariance ppca and factor.", metavar="N")
    prior: str | None = _option("prior", "{names}, which keeps components from collapsing.", metavar="NAME")
    bandwidth: str | None = _option("bandwidth", "a number, or {names}.", metavar="H")
    adaptive: bool = _option("adaptive", "wider kernels where rows are sparse.", default=False)
    bounds: str | None = _option("bounds", "where the density ends, such as 0:24, or 0: for one end.", metavar="A:B")
    boundary: str | None = _option("boundary", "what happens at --bounds: {names}.", metavar="HOW")
    density: str | None = _option(
        "density", f"density of each class: {join_words(commands('density'))}; its options apply.", metavar="MODEL"
    )
    smoothing: str | None = _option("smoothing", "count added to each category.", metavar="A")
    shrinkage: str | None = _option(
        "shrinkage", "shrinkage of covariances: a number from 0 to 1, or {names}.", metavar="S"
    )
    set: list[str] | None = option_field(
        "--set",
        "Any other parameter of the model in Python, its value as JSON or a word: max_iter=500, "
        '\'features={"age": "kde"}\'; may be repeated.',
        metavar="NAME=VALUE",
        panel=MODEL_PANEL,
    )


def model_parameters(words: Sequence[str] | None) -> dict[str, Any]:
    """Return {name: value} of words such as max_iter=500.

    >>> model_parameters(["max_iter=500", "init=random"])
    {'max_iter': 500, 'init': 'random'}
    """
    found = {}
    for word in words or ():
        name, sign, value = word.partition("=")
        if not sign or not name.strip():
            fail(f"--set {word!r} is not of the form NAME=VALUE", "write for instance --set max_iter=500")
        found[name.strip()] = option_value(value.strip())
    return found


def option_value(text: Any) -> Any:
    """Return a word of the command line as a number, true, false, null, a list, or unchanged.

    >>> [option_value(text) for text in ("3", "0.9", "mle", "true", "[1, 2]")]
    [3, 0.9, 'mle', True, [1, 2]]
    """
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return {"True": True, "False": False, "None": None}.get(text, text)


def find_model(command: str) -> ModelEntry:
    """Return the entry of the model of this name on the command line; an unknown name is an error."""
    entry = model_entry(command)
    if entry is None:
        known = {name: entry.command for entry in MODELS.values() for name in (entry.command, *entry.aliases)}
        near = [known[name] for name in closest(command, known)]
        fail(f"{command!r} is not a model", suggest(near, commands()))
    return entry


def keeps_rows(command: str, options: Mapping[str, Any]) -> bool:
    """Return whether a model, or the density that it wraps, keeps all rows."""
    entry, density = find_model(command), options.get("density")
    return entry.keeps_rows or bool(entry.wraps and density and find_model(str(density)).keeps_rows)


def takes_text(model: Any) -> bool:
    """Return whether a fitted model takes columns of text."""
    entry = entry_of(model)
    return entry is not None and entry.mixed


def takes_genotypes(model: Any) -> bool:
    """Return whether a fitted model takes genotypes, read by variants."""
    entry = entry_of(model)
    return entry is not None and entry.genotypes


def make_estimator(command: str, options: Mapping[str, Any], extra: Mapping[str, Any], seed: int) -> Any:
    """Return an unfitted estimator by its name, options of the command line (None: not given) and other parameters."""
    entry = find_model(command)
    given = {option: value for option, value in options.items() if value is not UNSET.get(option)}
    if entry.required and entry.required not in given and entry.options[entry.required] not in extra:
        fix = (
            f"add --density {join_words(commands('density'))}" if entry.wraps else f"see --help about {entry.required}"
        )
        fail(f"{command} needs {flag_of(entry.required)}", fix)
    _check_companions(given)
    own = {option: value for option, value in given.items() if option in entry.options or not entry.wraps}
    values = dict(entry.defaults) | {entry.options[option]: value for option, value in _check_taken(entry, own)}
    made = import_part(entry.estimator)
    known = inspect.signature(made).parameters
    own_extra = {parameter: value for parameter, value in extra.items() if parameter in known}
    other_extra = {parameter: value for parameter, value in extra.items() if parameter not in known}
    if entry.wraps and isinstance(values.get("density"), str):
        inner = {option: value for option, value in given.items() if option not in own}
        values["density"] = _make_density(values["density"], inner, other_extra, seed)
    elif other_extra:
        fail(f"{command} has no parameter '{next(iter(other_extra))}'", f"it has {', '.join(known)}")
    random = {"random_state": seed} if "random_state" in known else {}
    return made(**(values | random | own_extra))


COMPANIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "landmarks": ("approximation", MODELS["KernelPCA"].names["approximation"].names),
    "degree": ("kernel", ("poly",)),
    "factors": ("covariance", ("ppca", "factor")),
    "coef0": ("kernel", ("poly", "sigmoid")),
}
"""Options that have an effect only together with certain values of another."""


def _check_companions(given: Mapping[str, Any]) -> None:
    for option, (other, values) in COMPANIONS.items():
        if option in given and given.get(other) not in values:
            fail(f"--{option} has no effect without --{other} {join_words(values)}", f"add --{other} {values[0]}")


def _make_density(command: str, options: Mapping[str, Any], extra: Mapping[str, Any], seed: int) -> Any:
    if command not in commands("density"):
        fail(f"--density {command} is not a density of rows", f"use {join_words(commands('density'))}")
    return make_estimator(command, options, extra, seed)


UNSET = {each.name: each.default for each in fields(ModelOptions)}
"""The values of options that are not given."""

FLAG_VALUES = {"zca": "zca"}
"""What a flag sets its parameter to, where that is not True."""


def parse_bounds(text: str) -> Any:
    """Return the pair of numbers of a text such as 0:24, None for an end without a bound; JSON gives one per column.

    >>> parse_bounds("0:24"), parse_bounds("0:"), parse_bounds("[[0, 1], null]")
    ((0, 24), (0, None), [[0, 1], None])
    """
    low, sign, high = text.partition(":")
    return tuple(option_value(end) if end else None for end in (low, high)) if sign else option_value(text)


NUMBERS = {"k", "nonzero", "gamma", "bandwidth", "landmarks", "smoothing", "shrinkage", "prior", "max_memory"}
"""Options that are numbers where they look like one, and names otherwise."""


def _check_taken(entry: ModelEntry, given: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the options that the model takes; another is an error, except a limit of memory, which commands have."""
    taken = []
    for option, value in given.items():
        if option in entry.options:
            taken.append((option, _typed_value(option, value)))
        elif option != "max_memory":
            takers = ", ".join(other.command for other in MODELS.values() if option in other.options)
            own = ", ".join(flag_of(each) for each in entry.options if each != "max_memory")
            fix = f"{flag_of(option)} is for {takers}; {entry.command} takes {own}"
            fail(f"{flag_of(option)} is not an option of {entry.command}", fix)
    return taken


def _typed_value(option: str, value: Any) -> Any:
    """Return what the text of an option means."""
    if option == "bounds":
        return parse_bounds(value)
    if option == "chromosomes":
        return {"all": None, "autosomes": value}.get(value, [name.strip() for name in value.split(",")])
    return option_value(value) if option in NUMBERS else FLAG_VALUES.get(option, value)


def require_method(model: Any, method: str, verb: str) -> None:
    """Raise an error that names the models with this method, unless the model has it."""
    if not hasattr(model, method):
        able = [entry.command for entry in MODELS.values() if hasattr(import_part(entry.estimator), method)]
        fail(f"a {type(model).__name__} cannot {verb}", f"fit {join_words(able) or 'another model'}", "data")
