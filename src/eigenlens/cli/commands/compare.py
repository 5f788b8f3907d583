"""`eigenlens compare`: densities compared by the log-likelihood of held-out rows."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenlens.cli.commands.report import write_report
from eigenlens.cli.commands.resume_command import resume_command
from eigenlens.cli.errors import exit_status, fail, warning_line
from eigenlens.cli.files import (
    OUTPUT_FORMATS,
    REPORT_SUFFIXES,
    check_target,
    free_name,
    require_tables,
    write_files,
    write_table,
)
from eigenlens.cli.model_options import commands, find_model, flag_of, make_estimator, option_value, takes_text
from eigenlens.cli.options import (
    CheckpointOptions,
    DataFiles,
    Output,
    ReadingOptions,
    RunningOptions,
    given_flags,
    takes,
)
from eigenlens.cli.session import session
from eigenlens.errors import EigenlensError, OptionError
from eigenlens.tables.text_table import join_words


@takes(reading=ReadingOptions, running=RunningOptions, saving=CheckpointOptions)
def compare_densities(
    files: DataFiles,
    reading: ReadingOptions,
    running: RunningOptions,
    saving: CheckpointOptions,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--models",
            "-m",
            metavar="LIST",
            help="Models, separated by commas, each with options after colons: gmm:k=3,kde:bandwidth=scott,fa:k=2.",
        ),
    ] = None,
    cv: Annotated[int, typer.Option("--cv", metavar="N", min=2, help="Number of folds.")] = 5,
    output: Output = None,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE", help="Write a report with charts here (.html).")
    ] = None,
) -> None:
    """Compare densities by the log-likelihood of held-out rows.

    Every model is fitted to all folds but one, and scored by the log-density of the rows of that one. A difference is
    real if it is more than about two of its standard errors. Default: ppca, fa, gmm with 1 to 3 Gaussians, and kde.

    --report has a page of the comparison, and one of the best model, fitted to all rows. With --quiet only the name of
    the best model is printed.
    """
    require_tables("compare", files)
    from eigenlens.cli.input_table import read_aloud
    from eigenlens.cli.table_checks import warn_suspicious_columns

    with session(running) as now:
        target = check_target(output, running.force, OUTPUT_FORMATS, files)
        page = check_target(report, running.force, REPORT_SUFFIXES, files)
        estimators = dict(_make_model(word, running) for word in _model_words(models))
        fits = list(estimators.values())
        table = read_aloud(now, files, reading, mixed=all(map(takes_text, fits)), guess=True, fitted=fits)
        warn_suspicious_columns(table)
        now.add_facts(cv=cv)
        if running.dry_run:
            plan = f"compare {', '.join(estimators)} in {cv} folds"
            return now.show_plan(plan, targets=[target, page], models=list(estimators))
        how = {"--models": estimators, "--cv": cv, "--seed": running.seed}
        with resume_command(now, saving, table, [target, page], **how):
            found = _compare_models(estimators, table, cv, running, now)
        now.show(str(found))
        rows = _table_columns(found)
        now.add_facts(best=found.best, table=rows, failures=found.failures)
        if running.quiet and not running.json:
            print(found.best)
        if target is not None:
            write_table(rows, target, now)
        if page is not None:
            _write_page(found, estimators, table, page, reading, now)
        now.show_written(target, page)
        now.show_warnings()
        now.show_next(_next_command(found.best, files, reading))
    return None


DEFAULT_MODELS = ["ppca", "fa", "gmm:k=1", "gmm:k=2", "gmm:k=3", "kde"]


def _model_words(models: list[str] | None) -> list[str]:
    typed = [word.strip() for each in models or DEFAULT_MODELS for word in each.split(",") if word.strip()]
    given = [each for word in typed for each in _numbered(word)]
    doubled = [word for i, word in enumerate(given) if word in given[:i]]
    if doubled:
        fail(f"--models names {doubled[0]} twice", "name each once, or give them different options: gmm:k=2,gmm:k=3")
    return given


def _numbered(word: str) -> list[str]:
    """Expand a mixture without a number of Gaussians into three, with one, two and three.

    >>> _numbered("gmm:covariance=diag"), _numbered("kde")
    (['gmm:k=1:covariance=diag', 'gmm:k=2:covariance=diag', 'gmm:k=3:covariance=diag'], ['kde'])
    """
    name, *settings = word.split(":")
    given = any(setting.startswith(("k=", "n_components=")) for setting in settings)
    return [":".join([name, f"k={k}", *settings]) for k in (1, 2, 3)] if name == "gmm" and not given else [word]


def _make_model(word: str, running: RunningOptions) -> tuple[str, Any]:
    """Return a word of --models, and its estimator."""
    name, *settings = word.split(":")
    pairs = [setting.partition("=") for setting in settings]
    if any(not sign for _, sign, _ in pairs):
        fail(f"--models {word} has an option without a value", "write NAME:OPTION=VALUE, for instance gmm:k=3")
    entry = find_model(name)
    if not entry.density:
        fail(f"{name} has no density of rows, so it cannot be compared", f"use {join_words(commands('density'))}")
    options = {key: option_value(value) for key, _, value in pairs if key in entry.options}
    extra = {key: option_value(value) for key, _, value in pairs if key not in entry.options}
    return word, make_estimator(name, options, extra, running.seed)


def _compare_models(estimators: dict[str, Any], table: Any, cv: int, running: RunningOptions, now: Any) -> Any:
    from eigenlens.comparison.compare import compare as held_out

    if cv > table.n:
        fail(f"--cv {cv} is more than the {table.n} rows", f"use at most --cv {table.n}")
    before = len(now.warnings)
    with now.progress(f"{len(estimators)} models in {cv} folds"):
        found = held_out(estimators, table.named_rows, cv=cv, sample_weight=table.weight, random_state=running.seed)
    now.warnings[before:] = _one_of_each(now.warnings[before:])
    now.check_interrupt()
    if len(found.failures) == len(found.names):
        first, cause = next((why, found.causes.get(name)) for name, why in found.failures.items())
        if isinstance(cause, OptionError):
            raise cause
        fail(f"no model could be fitted: {first}", "look at the table with eigenlens info", "data")
    causes = {name: error for name, error in found.causes.items() if isinstance(error, EigenlensError)}
    flagged = {
        name: found.failures[name].replace(f"{type(error).__name__}: {error}", _sentence(error))
        for name, error in causes.items()
    }
    return replace(found, failures=dict(found.failures) | flagged)


DETAILS = re.compile(r"\([^()]*\)|'[^']*'|[-−]?[0-9][0-9.,e+-]*")
"""The parts of a warning that differ from fold to fold: numbers, names, and what is in brackets."""


def _one_of_each(warnings: list[Any]) -> list[Any]:
    """Return the first of the warnings that differ in numbers and names alone, as those of a model in its folds do."""
    first: dict[str, Any] = {}
    for each in warnings:
        first.setdefault(DETAILS.sub("", warning_line(each.message)), each)
    return list(first.values())


def _write_page(
    found: Any, estimators: dict[str, Any], table: Any, page: Path, reading: ReadingOptions, now: Any
) -> None:
    """Write the report of a comparison, and of the best model fitted to all rows."""
    weight = {} if table.weight is None else {"sample_weight": table.weight}
    with now.progress("writing the report"):
        best = estimators[found.best].fit(table.named_rows, **weight)
        shown = {"Comparison": found, found.best: best}
        write_files(
            (page, lambda path: write_report(shown, table, path, reading, now.running)), check=now.check_interrupt
        )


def _sentence(error: EigenlensError) -> str:
    """Return the message of an error, with the flags of the command line."""
    _, what, fix = exit_status(error)
    return f"{what}; {fix}." if fix else f"{what}."


def _table_columns(found: Any) -> dict[str, Any]:
    return {
        "model": list(found.names),
        "log_density": found.means,
        "standard_error": found.errors,
        "behind": found.behind,
        "behind_standard_error": found.behind_errors,
        "fit_seconds": found.fit_seconds,
    }


def _next_command(best: str, files: list[str], reading: ReadingOptions) -> str:
    """Return the command that fits the best model to the same rows."""
    name, *rest = _fit_words(best)
    words = ["eigenlens", "fit", name, *files, *rest, *given_flags(reading)]
    return shlex.join([*words, "-o", free_name(f"{name}.safetensors")])


def _fit_words(word: str) -> list[str]:
    """Return a model of --models as the words of `fit`.

    >>> _fit_words("gmm:k=3"), _fit_words("kde:bandwidth=scott"), _fit_words("gmm:k=2:n_init=3")
    (['gmm', '-k', '3'], ['kde', '--bandwidth', 'scott'], ['gmm', '-k', '2', '--set', 'n_init=3'])
    """
    name, *settings = word.split(":")
    words = [name]
    for setting in settings:
        key, _, value = setting.partition("=")
        if key not in find_model(name).options:
            words += ["--set", setting]
        elif key in ("standardize", "whiten", "adaptive"):
            words += [f"--{key}"]
        else:
            words += [flag_of(key), value]
    return words
