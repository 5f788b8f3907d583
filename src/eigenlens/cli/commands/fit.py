"""`eigenlens fit`: from files to a model."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenlens.catalogue import page_of
from eigenlens.cli.commands.report import require_page, write_report
from eigenlens.cli.errors import refuse
from eigenlens.cli.input_files import require_files
from eigenlens.cli.model_options import ModelOptions, commands, find_model, joined, keeps_rows, unfitted_model
from eigenlens.cli.options import DataFiles, Reading, Running, flags, takes
from eigenlens.cli.output import TYPED, without

__all__ = ["fit"]


@takes(model_options=ModelOptions, reading=Reading, running=Running)
def fit(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=f"{joined(commands())}.")],
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
        bool,
        typer.Option(
            "--strict", metavar="", help="Fail with exit code 4, and write nothing, unless the fit converged."
        ),
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
    require_files(files)
    from eigenlens.cli.input_table import read_table
    from eigenlens.cli.output_files import checked_target
    from eigenlens.cli.session import session
    from eigenlens.cli.table_checks import warn_suspicious_columns

    with session(running) as now:
        target = checked_target(output, running.force, (".safetensors",))
        page = checked_target(report, running.force, (".html", ".htm"))
        estimator, choice = unfitted_model(model, model_options, running)
        require_page(estimator, page)
        entry = find_model(model)
        with now.progress("reading"):
            table = read_table(files, reading, running, need_label=entry.classes, mixed=entry.mixed)
        estimator = _fewer_if_few(estimator, model, model_options, table.n)
        now.say("read", str(table))
        warn_suspicious_columns(table)
        # Some models keep their rows, so these must fit into memory: better said before the fit.
        _ = table.rows if keeps_rows(model, asdict(model_options)) else None
        now.tell(read=table.facts)
        if running.dry_run:
            return _would(now, estimator, choice, [target, page])
        estimator, selection = _fitted(estimator, choice, model_options, table, now, entry.classes)
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
    from eigenlens.cli.mixture_choice import select_best_mixture

    if choice is not None:
        return select_best_mixture(estimator, choice, options.covariance, table, now)
    return _climbed(estimator, table, now, with_label), None


def _fewer_if_few(estimator: Any, model: str, options: ModelOptions, n: int) -> Any:
    """The number of kernel components that nobody asked for must not exceed the rows."""
    if model == "kpca" and options.k is None and n <= estimator.n_components:
        estimator.set_params(n_components=None)
    return estimator


def _climbed(estimator: Any, table: Any, now: Any, with_label: bool) -> Any:
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
    from eigenlens.cli.summaries import call

    written = [target for target in targets if target is not None]
    how = "" if choice is None else f", as many Gaussians as {choice[0].upper()} chooses"
    now.would(f"fit {call(estimator)}{how}", *(f"write {target}" for target in written), model=call(estimator),
              would_write=written)  # fmt: skip


def _say_result(now: Any, estimator: Any) -> None:
    from eigenlens.cli.summaries import call, summary

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
    from eigenlens.cli.output_files import write_whole

    def draw(path: Path) -> None:
        with now.progress("writing the report"):
            write_report(shown, table, path, reading, now.running)

    jobs = [(target, estimator.save), (page, draw)]
    write_whole(*((path, fill) for path, fill in jobs if path is not None), check=now.check)
    now.wrote(target, page)


NEXT = [
    ("predict_proba", "predict", "classes.csv"),
    ("transform", "transform", "scores.csv"),
    ("score_samples", "score", None),
]
"""What to try after a fit, by the first method that the model has: the command, and what it would write."""


def _say_next(
    now: Any, estimator: Any, files: Sequence[str], target: Path | None, page: Path | None, reading: Reading
) -> None:
    """The command to try after a fit."""
    words = _fit_again(estimator, page) if target is None else _apply_it(estimator, files, target, reading)
    now.say("next", shlex.join(words))
    now.tell(next=shlex.join(words))


def _fit_again(estimator: Any, page: Path | None) -> list[str]:
    """The same command, with files to write."""
    from eigenlens.cli.output_files import free_name

    # A report that is there already is not asked for again.
    typed = without(TYPED.get(), "--json", "--quiet", "-q", "--force", "-f", valued="--report" if page else "")
    report = ["--report", free_name("report.html")] if page is None and page_of(estimator) else []
    return ["eigenlens", *typed, "-o", free_name("model.safetensors"), *report]


def _apply_it(estimator: Any, files: Sequence[str], target: Path, reading: Reading) -> list[str]:
    """A command that uses the model, on the same rows."""
    from eigenlens.cli.output_files import free_name

    able = [(name, written) for method, name, written in NEXT if hasattr(estimator, method)]
    if not able:
        return ["eigenlens", "info", str(target)]
    (name, written) = able[0]
    named = hasattr(estimator, "feature_names_in_")
    chosen = () if named else ("columns", "drop")
    form = ("na", "separator", "header", "decimal", "thousands", "comment", "encoding")
    same = flags(reading, "id", "label", *form, "text", "where", "skip_missing", *chosen)
    end = [] if written is None else ["-o", free_name(written)]
    return ["eigenlens", name, str(target), *files, *same, *end]
