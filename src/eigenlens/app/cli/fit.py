"""`eigenlens fit`: from files to a model."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenlens.app.cli.errors import refuse
from eigenlens.app.cli.options import DataFiles, Reading, Running, flags, takes
from eigenlens.app.cli.words import TYPED, command_line, without

__all__ = ["ModelOptions", "fit", "fitted", "settings"]

MODEL = "Model"


def _option(*names: str, **more: Any) -> Any:
    return typer.Option(*names, rich_help_panel=MODEL, **more)


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


@takes(model_options=ModelOptions, reading=Reading, running=Running)
def fit(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="pca, kpca, ppca, fa, gmm, kde, nb, bayes, lda or qda.")
    ],
    files: DataFiles,
    model_options: ModelOptions,
    reading: Reading,
    running: Running,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the model here (.safetensors).")
    ] = None,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE", help="Write a report with pictures here (.html).")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail with exit code 4, and write nothing, unless the fit converged.")
    ] = False,
) -> None:
    """Fit a model to a table, and say what was found.

    MODEL is one of pca (principal components), kpca (kernel principal components), ppca (probabilistic principal
    components), fa (factor analysis), gmm (Gaussian mixture), kde (kernel density), nb (naive Bayes), bayes (one
    density a class), lda and qda (linear and quadratic discriminants). The last four learn from the classes in --label.

    Without -k, ppca, fa and gmm choose by BIC, and gmm prints the table. Text columns are welcome to nb alone, which
    gives each column a family of densities and says why.

    Empty cells and those of --na are missing entries: ppca, fa, gmm, nb and pca --missing em fit what is there.
    """
    from eigenlens.app.cli.models import keeps_rows, kind_of
    from eigenlens.app.cli.reading import read_table
    from eigenlens.app.cli.running import session
    from eigenlens.app.cli.writing import checked_target

    with session(running) as now:
        target = checked_target(output, running.force, (".safetensors",))
        page = checked_target(report, running.force, (".html", ".htm"))
        estimator, choice = unfitted(model, model_options, running)
        require_page(estimator, page)
        kind = kind_of(model)
        with now.progress("reading"):
            table = read_table(files, reading, running, need_label=kind.classes, mixed=kind.mixed)
        estimator = _fewer_if_few(estimator, model, model_options, table.n)
        now.say("read", str(table))
        # Some models keep their rows, so these must fit into memory: better said before the fit.
        _ = table.rows if keeps_rows(model, asdict(model_options)) else None
        now.tell(read=table.facts)
        if running.dry_run:
            return _would(now, estimator, choice, [target, page])
        estimator, selection = _fitted(estimator, choice, model_options, table, now, kind.classes)
        _say_result(now, estimator)
        _say_warnings(now, strict, estimator)
        shown = {type(estimator).__name__: estimator} | ({} if selection is None else {"Choice": selection})
        _write(now, estimator, shown, table, target, page, reading)
        _say_next(now, estimator, files, target, page, reading)
    return None


def _fitted(
    estimator: Any, choice: Any, options: ModelOptions, table: Any, now: Any, with_label: bool
) -> tuple[Any, Any]:
    """The fitted estimator, and the table that it was chosen from (None where there was no choice)."""
    from eigenlens.app.cli.choosing import chosen_mixture

    if choice is not None:
        return chosen_mixture(estimator, choice, options.covariance, table, now)
    return fitted(estimator, table, now, with_label), None


def settings(words: Sequence[str] | None) -> dict[str, Any]:
    """{name: value} of words such as max_iter=500.

    >>> settings(["max_iter=500", "init=random"])
    {'max_iter': 500, 'init': 'random'}
    """
    from eigenlens.app.cli.models import option_value

    found = {}
    for word in words or ():
        name, sign, value = word.partition("=")
        if not sign or not name.strip():
            refuse(f"--set {word!r} is not of the form NAME=VALUE", "write for instance --set max_iter=500")
        found[name.strip()] = option_value(value.strip())
    return found


def unfitted(model: str, options: ModelOptions, running: Running) -> tuple[Any, Any]:
    """The estimator that the command line asks for, and how its number of components is to be chosen (None: given)."""
    from eigenlens.app.cli.choosing import asked_for
    from eigenlens.app.cli.models import kind_of, make

    given = asdict(options)
    extra = settings(given.pop("set"))
    choice = asked_for(options.k) if kind_of(model).chosen and "n_components" not in extra else None
    if choice is not None:
        given["k"] = None
    return make(model, given | {"max_memory": running.max_memory}, extra, running.seed), choice


def _fewer_if_few(estimator: Any, model: str, options: ModelOptions, n: int) -> Any:
    """The number of kernel components that nobody asked for must not exceed the rows."""
    if model == "kpca" and options.k is None and n <= estimator.n_components:
        estimator.set_params(n_components=None)
    return estimator


def fitted(estimator: Any, table: Any, now: Any, with_label: bool) -> Any:
    """The estimator after its fit, with progress; an interrupt ends the command, whatever a fit makes of it."""
    parameters = estimator.get_params(deep=False)
    with now.progress(f"fitting {type(estimator).__name__}") as progress:
        if "verbose" in parameters:
            estimator.set_params(verbose=progress)
        weight = {} if table.weight is None else {"sample_weight": table.weight}
        estimator.fit(table.source, *([table.label] if with_label else []), **weight)
        if "verbose" in parameters:
            estimator.set_params(verbose=parameters["verbose"])
    now.check()
    return estimator


def _would(now: Any, estimator: Any, choice: Any, targets: list[Path | None]) -> None:
    from eigenlens.app.cli.summaries import call

    written = [target for target in targets if target is not None]
    how = "" if choice is None else f", as many Gaussians as {choice[0].upper()} chooses"
    now.would(f"fit {call(estimator)}{how}", *(f"write {target}" for target in written), model=call(estimator),
              would_write=written)  # fmt: skip


def _say_result(now: Any, estimator: Any) -> None:
    from eigenlens.app.cli.summaries import call, summary

    line, shown, facts = summary(estimator)
    now.say("model", call(estimator))
    now.say("found", line)
    now.show(shown)
    now.tell(model=call(estimator), **facts)


def _say_warnings(now: Any, strict: bool, estimator: Any) -> None:
    from eigenlens.errors import ConvergenceWarning

    now.warned()
    unfinished = [each for each in now.warnings if issubclass(each.category, ConvergenceWarning)]
    if strict and (unfinished or getattr(estimator, "converged_", True) is False):
        what = str(unfinished[0].message) if unfinished else "the iteration stopped before its tolerance"
        refuse(
            f"the fit did not converge: {' '.join(what.split()).rstrip('.')}",
            "raise --set max_iter=…, simplify the model, or leave out --strict",
            "not-converged",
        )


def _write(
    now: Any,
    estimator: Any,
    shown: dict[str, Any],
    table: Any,
    target: Path | None,
    page: Path | None,
    reading: Reading,
) -> None:
    from eigenlens.app.cli.writing import write_whole

    def draw(path: Path) -> None:
        with now.progress("writing the report"):
            write_report(shown, table, path, reading, now.running)

    jobs = [(target, estimator.save), (page, draw)]
    write_whole(*((path, fill) for path, fill in jobs if path is not None), check=now.check)
    now.wrote(target, page)


def require_page(estimator: Any, page: Path | None) -> None:
    """Refuse a report on a model that has no page, before the fit."""
    if page is not None and not _has_page(estimator):
        from eigenlens.app.report import PAGES

        fix = f"there is one on {', '.join(name for name in PAGES if name != 'Comparison')}"
        refuse(f"there is no report on a {type(estimator).__name__}", fix)


def _has_page(estimator: Any) -> bool:
    from eigenlens.app.report import PAGES

    return type(estimator).__name__ in PAGES


def write_report(models: dict[str, Any], table: Any, page: Path, reading: Reading, running: Running) -> None:
    """The HTML report of models on the rows of a table."""
    from eigenlens.app.report import report

    extra = {} if table.label is None else {str(reading.label): table.label}
    names = [name for name, model in models.items() if hasattr(model, "fit")]
    title = f"{', '.join(names)} of {', '.join(path.name for path in table.paths[:3])}"
    classes = table.label if any(hasattr(model, "classes_") for model in models.values()) else None
    report(
        models, table.source, page, classes, title=title, ids=table.ids, columns=extra, sample_weight=table.weight,
        command=command_line(), random_state=running.seed,
    )  # fmt: skip


NEXT = [
    ("predict_proba", "predict", "classes.csv"),
    ("transform", "transform", "scores.csv"),
    ("score_samples", "score", None),
]
"""What to try after a fit, by the first method that the model has: the command, and what it would write."""


def _say_next(
    now: Any, estimator: Any, files: Sequence[str], target: Path | None, page: Path | None, reading: Reading
) -> None:
    words = _fit_again(estimator, page) if target is None else _apply_it(estimator, files, target, reading)
    now.say("next", shlex.join(words))
    now.tell(next=shlex.join(words))


def _fit_again(estimator: Any, page: Path | None) -> list[str]:
    """The same command, with files to write."""
    from eigenlens.app.cli.writing import free_name

    # A report that is there already is not asked for again.
    typed = without(TYPED.get(), "--json", "--quiet", "-q", "--force", "-f", valued="--report" if page else "")
    report = ["--report", free_name("report.html")] if page is None and _has_page(estimator) else []
    return ["eigenlens", *typed, "-o", free_name("model.safetensors"), *report]


def _apply_it(estimator: Any, files: Sequence[str], target: Path, reading: Reading) -> list[str]:
    """A command that uses the model, on the same rows."""
    from eigenlens.app.cli.writing import free_name

    able = [(name, written) for method, name, written in NEXT if hasattr(estimator, method)]
    if not able:
        return ["eigenlens", "info", str(target)]
    (name, written) = able[0]
    named = hasattr(estimator, "feature_names_in_")
    chosen = () if named else ("columns", "drop")
    same = flags(reading, "id", "label", "na", "separator", "header", "decimal", "where", "skip_missing", *chosen)
    end = [] if written is None else ["-o", free_name(written)]
    return ["eigenlens", name, str(target), *files, *same, *end]
