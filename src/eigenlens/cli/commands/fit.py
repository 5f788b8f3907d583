"""`eigenlens fit`: fit a model to the rows of files."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenlens.catalogue import MODELS, page_of
from eigenlens.cli.errors import fail
from eigenlens.cli.input_files import require_files
from eigenlens.cli.model_options import ModelOptions, commands, find_model, joined, keeps_rows, unfitted_model
from eigenlens.cli.options import DataFiles, ReadingOptions, RunningOptions, given_flags, takes
from eigenlens.cli.output import TYPED_WORDS, drop_flags


@takes(model_options=ModelOptions, reading=ReadingOptions, running=RunningOptions)
def fit(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=f"{joined(commands())}.")],
    files: DataFiles,
    model_options: ModelOptions,
    reading: ReadingOptions,
    running: RunningOptions,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the model here (.safetensors).")
    ] = None,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE", help="Write a report with charts here (.html).")
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", metavar="", help="Fail with exit code 4, and write nothing, unless the fit converged."
        ),
    ] = False,
) -> None:
    """Fit a model to a table, and describe the result.

    MODEL is one of {models}. Those that learn from the classes in --label: {classes}.

    Without -k, ppca, fa and gmm choose it by BIC, and gmm prints the table. Only {mixed} takes columns of text: it
    chooses a family of densities for each column and prints the reason.

    Empty cells and those of --na are missing values: {incomplete} and pca --missing em fit the observed entries.
    """
    require_files(files)
    from eigenlens.cli.commands.report import require_page
    from eigenlens.cli.input_table import read_table
    from eigenlens.cli.output_files import check_target
    from eigenlens.cli.session import session
    from eigenlens.cli.table_checks import warn_suspicious_columns

    with session(running) as now:
        target = check_target(output, running.force, (".safetensors",))
        page = check_target(report, running.force, (".html", ".htm"))
        estimator, choice = unfitted_model(model, model_options, running)
        require_page(estimator, page)
        entry = find_model(model)
        with now.progress("reading"):
            table = read_table(files, reading, running, need_label=entry.classes, mixed=entry.mixed)
        estimator = _limit_components(estimator, model, model_options, table.n)
        now.say("read", str(table))
        warn_suspicious_columns(table)
        # Some models keep their rows, which must then fit into memory: check it before the fit.
        _ = table.rows if keeps_rows(model, asdict(model_options)) else None
        now.add_facts(read=table.facts)
        if running.dry_run:
            return _show_plan(now, estimator, choice, [target, page])
        estimator, selection = _fit_model(estimator, choice, model_options, table, now, entry.classes)
        _show_result(now, estimator)
        _check_convergence(now, strict, estimator)
        shown = {type(estimator).__name__: estimator} | ({} if selection is None else {"Choice": selection})
        _write_outputs(now, estimator, shown, table, target, page, reading)
        _show_next(now, estimator, files, target, page, reading)
    return None


fit.__doc__ = str(fit.__doc__).format(
    models="; ".join(f"{entry.command} ({entry.about})" for entry in MODELS.values()),
    **{flag: ", ".join(commands(flag)) for flag in ("classes", "mixed", "incomplete")},
)


def _fit_model(
    estimator: Any, choice: Any, options: ModelOptions, table: Any, now: Any, with_label: bool
) -> tuple[Any, Any]:
    """Return the fitted estimator, and the table that it was chosen from (None where there was no choice)."""
    from eigenlens.cli.mixture_choice import select_best_mixture

    if choice is not None:
        return select_best_mixture(estimator, choice, options.covariance, table, now)
    return _fit_with_progress(estimator, table, now, with_label), None


def _limit_components(estimator: Any, model: str, options: ModelOptions, n: int) -> Any:
    """Return the estimator with a default number of kernel components that does not exceed the rows."""
    if model == "kpca" and options.k is None and n <= estimator.n_components:
        estimator.set_params(n_components=None)
    return estimator


def _fit_with_progress(estimator: Any, table: Any, now: Any, with_label: bool) -> Any:
    """Fit the estimator, with progress; an interrupt ends the command, whatever a fit makes of it."""
    parameters = estimator.get_params(deep=False)
    with now.progress(f"fitting {type(estimator).__name__}") as progress:
        if "verbose" in parameters:
            estimator.set_params(verbose=progress)
        weight = {} if table.weight is None else {"sample_weight": table.weight}
        estimator.fit(table.source, *([table.label] if with_label else []), **weight)
        if "verbose" in parameters:
            estimator.set_params(verbose=parameters["verbose"])
    now.check_interrupt()
    return estimator


def _show_plan(now: Any, estimator: Any, choice: Any, targets: list[Path | None]) -> None:
    from eigenlens.cli.summaries import python_call

    written = [target for target in targets if target is not None]
    how = "" if choice is None else f", as many Gaussians as {choice[0].upper()} chooses"
    call = python_call(estimator)
    now.show_plan(f"fit {call}{how}", *(f"write {target}" for target in written), model=call, would_write=written)


def _show_result(now: Any, estimator: Any) -> None:
    from eigenlens.cli.summaries import python_call, summarise

    line, shown, facts = summarise(estimator)
    now.say("model", python_call(estimator))
    now.say("found", line)
    now.show(shown)
    now.add_facts(model=python_call(estimator), **facts)


def _check_convergence(now: Any, strict: bool, estimator: Any) -> None:
    from eigenlens.errors import ConvergenceWarning

    now.show_warnings()
    unfinished = [each for each in now.warnings if issubclass(each.category, ConvergenceWarning)]
    if strict and (unfinished or getattr(estimator, "converged_", True) is False):
        what = str(unfinished[0].message) if unfinished else "the iteration stopped before its tolerance"
        fail(
            f"the fit did not converge: {' '.join(what.split()).rstrip('.')}",
            "raise --set max_iter=…, simplify the model, or leave out --strict",
            "not-converged",
        )


def _write_outputs(
    now: Any,
    estimator: Any,
    shown: dict[str, Any],
    table: Any,
    target: Path | None,
    page: Path | None,
    reading: ReadingOptions,
) -> None:
    from eigenlens.cli.commands.report import write_report
    from eigenlens.cli.output_files import write_files

    def draw(path: Path) -> None:
        with now.progress("writing the report"):
            write_report(shown, table, path, reading, now.running)

    jobs = [(target, estimator.save), (page, draw)]
    write_files(*((path, fill) for path, fill in jobs if path is not None), check=now.check_interrupt)
    now.show_written(target, page)


NEXT_COMMANDS = [
    ("predict_proba", "predict", "classes.csv"),
    ("transform", "transform", "scores.csv"),
    ("score_samples", "score", None),
]
"""The command to try after a fit, by the first method that the model has, and the file that it would write."""


def _show_next(
    now: Any, estimator: Any, files: Sequence[str], target: Path | None, page: Path | None, reading: ReadingOptions
) -> None:
    """Print a command to try next."""
    words = _fit_with_output(estimator, page) if target is None else _apply_command(estimator, files, target, reading)
    now.say("next", shlex.join(words))
    now.add_facts(next=shlex.join(words))


def _fit_with_output(estimator: Any, page: Path | None) -> list[str]:
    """Return the same command, with files to write."""
    from eigenlens.cli.output_files import free_name

    # A report that was written is not asked for again.
    typed = drop_flags(TYPED_WORDS.get(), "--json", "--quiet", "-q", "--force", "-f", valued="--report" if page else "")
    report = ["--report", free_name("report.html")] if page is None and page_of(estimator) else []
    return ["eigenlens", *typed, "-o", free_name("model.safetensors"), *report]


def _apply_command(estimator: Any, files: Sequence[str], target: Path, reading: ReadingOptions) -> list[str]:
    """Return a command that applies the model to the same rows."""
    from eigenlens.cli.output_files import free_name

    able = [(name, written) for method, name, written in NEXT_COMMANDS if hasattr(estimator, method)]
    if not able:
        return ["eigenlens", "info", str(target)]
    (name, written) = able[0]
    named = hasattr(estimator, "feature_names_in_")
    chosen = () if named else ("columns", "drop")
    form = ("na", "separator", "header", "decimal", "thousands", "encoding")
    same = given_flags(reading, "id", "label", *form, "text", "where", "skip_missing", *chosen)
    end = [] if written is None else ["-o", free_name(written)]
    return ["eigenlens", name, str(target), *files, *same, *end]
