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
from eigenlens.app.cli.words import command_line

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
            help="How many components, factors or Gaussians; a share of the variance (0.9) or a rule (mle, parallel, "
            "gavish-donoho, cv, kaiser) for pca; bic or cv for ppca and fa.",
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
        str | None, _option("--shrinkage", metavar="S", help="lda: shrink covariances; a number or auto.")
    ] = None
    set: Annotated[
        list[str] | None,
        _option("--set", metavar="NAME=VALUE", help="Any other parameter of the model in Python; may be repeated."),
    ] = None


@takes(model_options=ModelOptions, reading=Reading, running=Running)
def fit(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="pca, kpca, ppca, fa, gmm, kde, nb, bayes or lda.")],
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
    density a class) and lda (linear discriminants). The last three learn from the classes in --label.

    Empty cells and those of --na are missing entries: ppca, fa and pca --missing em fit what is there.
    """
    from eigenlens.app.cli.models import kind_of
    from eigenlens.app.cli.reading import read_table
    from eigenlens.app.cli.running import session
    from eigenlens.app.cli.writing import checked_target

    with session(running) as now:
        target = checked_target(output, running.force, (".safetensors",))
        page = checked_target(report, running.force, (".html", ".htm"))
        estimator = unfitted(model, model_options, running)
        require_page(estimator, page)
        table = read_table(files, reading, running, need_label=kind_of(model).classes, mixed=kind_of(model).mixed)
        estimator = _fewer_if_few(estimator, model, model_options, table.n)
        now.say("read", str(table))
        _ = page is None or table.rows  # a report shows rows, so they must fit into memory: better said before the fit
        now.tell(read={"files": table.paths, "rows": table.n, "columns": table.d, "missing": table.missing})
        if running.dry_run:
            return _would(now, estimator, [target, page])
        fitted(estimator, table, now, kind_of(model).classes)
        _say_result(now, estimator)
        _say_warnings(now, strict, estimator)
        _write(now, estimator, table, target, page, reading)
        _say_next(now, estimator, files, output, reading)
    return None


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


def unfitted(model: str, options: ModelOptions, running: Running) -> Any:
    """The estimator that the command line asks for."""
    from eigenlens.app.cli.models import make

    given = asdict(options)
    extra = settings(given.pop("set"))
    return make(model, given | {"max_memory": running.max_memory}, extra, running.seed)


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


def _would(now: Any, estimator: Any, targets: list[Path | None]) -> None:
    from eigenlens.app.cli.summaries import call

    now.say("would fit", call(estimator))
    written = [target for target in targets if target is not None]
    now.say("would", *(f"write {target}" for target in written))
    now.tell(dry_run=True, model=call(estimator), would_write=written)


def _say_result(now: Any, estimator: Any) -> None:
    from eigenlens.app.cli.summaries import call, summary

    line, shown, facts = summary(estimator)
    now.say("model", call(estimator))
    now.say("found", line)
    now.show(shown)
    now.tell(model=call(estimator), **facts)


def _say_warnings(now: Any, strict: bool, estimator: Any) -> None:
    from eigenlens.errors import ConvergenceWarning

    for text in now.told():
        now.say("warning", text)
    unfinished = [each for each in now.warnings if issubclass(each.category, ConvergenceWarning)]
    if strict and (unfinished or getattr(estimator, "converged_", True) is False):
        what = str(unfinished[0].message) if unfinished else "the iteration stopped before its tolerance"
        refuse(
            f"the fit did not converge: {' '.join(what.split()).rstrip('.')}",
            "raise --set max_iter=…, simplify the model, or leave out --strict",
            "not-converged",
        )


def _write(now: Any, estimator: Any, table: Any, target: Path | None, page: Path | None, reading: Reading) -> None:
    from eigenlens.app.cli.writing import size_of, write_whole

    written = []
    if target is not None:
        write_whole(target, estimator.save)
        written.append(target)
    if page is not None:
        with now.progress("writing the report"):
            write_report({type(estimator).__name__: estimator}, table, page, reading, now.running)
        written.append(page)
    for path in written:
        now.say("wrote", f"{path} ({size_of(path)})")
    now.tell(written=written)


def require_page(estimator: Any, page: Path | None) -> None:
    """Refuse a report on a model that has no page, before the fit."""
    if page is not None and not _has_page(estimator):
        refuse(f"there is no report on a {type(estimator).__name__} yet", "leave out --report", "usage")


def _has_page(estimator: Any) -> bool:
    from eigenlens.app.report import PAGES

    return type(estimator).__name__ in PAGES


def write_report(models: dict[str, Any], table: Any, page: Path, reading: Reading, running: Running) -> None:
    """The HTML report of models on the rows of a table."""
    from eigenlens.app.report import report

    extra = {} if table.label is None else {str(reading.label): table.label}
    title = f"{', '.join(models)} of {', '.join(path.name for path in table.paths[:3])}"
    report(
        models, table.source, page, title=title, ids=table.ids, columns=extra, command=command_line(),
        random_state=running.seed,
    )  # fmt: skip


NEXT = [
    ("transform", "transform {model} {file} -o scores.csv"),
    ("predict_proba", "predict {model} {file} --proba -o classes.csv"),
    ("score_samples", "score {model} {file}"),
]
"""What to try after a fit, by the first method that the model has."""


def _say_next(now: Any, estimator: Any, files: Sequence[str], output: str | None, reading: Reading) -> None:
    if output is None:
        report = " --report report.html" if _has_page(estimator) else ""
        now.say("next", f"{command_line()} -o model.safetensors{report}")
        return
    suggestion = next((text for method, text in NEXT if hasattr(estimator, method)), "info {model}")
    same = shlex.join(flags(reading, "id", "label", "na", "separator", "header", "decimal"))
    line = suggestion.format(model=shlex.quote(output), file=f"{shlex.quote(files[0])} {same}".strip())
    now.say("next", f"eigenlens {line}")
    now.tell(next=f"eigenlens {line}")
