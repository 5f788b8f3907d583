"""`eigenlens fit`: fit a model to the rows of files; of a mixture, also choose the number of components."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from eigenlens.catalogue import MODELS, page_of
from eigenlens.cli.commands.mixture_choice import parse_mixture_choice, select_best_mixture
from eigenlens.cli.commands.report import require_page, write_report
from eigenlens.cli.commands.resume_command import resume_command
from eigenlens.cli.errors import fail, phrase_with_flags, warning_line
from eigenlens.cli.files import (
    MODEL_SUFFIXES,
    REPORT_SUFFIXES,
    check_target,
    free_name,
    require_files,
    write_files,
)
from eigenlens.cli.genotypes.plink_files import find_plink_files, plink_writers
from eigenlens.cli.model_options import (
    MODEL_PANEL,
    ModelOptions,
    commands,
    find_model,
    keeps_rows,
    make_estimator,
    model_parameters,
    takes_genotypes,
)
from eigenlens.cli.options import CheckpointOptions, DataFiles, ReadingOptions, RunningOptions, given_flags, takes
from eigenlens.cli.output import TYPED_WORDS, drop_flags
from eigenlens.cli.session import session
from eigenlens.errors import closest, suggest, warn_user
from eigenlens.tables.text_table import join_words


@takes(model_options=ModelOptions, reading=ReadingOptions, running=RunningOptions, saving=CheckpointOptions)
def fit(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=f"{join_words(commands())}.")],
    files: DataFiles,
    model_options: ModelOptions,
    reading: ReadingOptions,
    running: RunningOptions,
    saving: CheckpointOptions,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the model here (.safetensors).")
    ] = None,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE", help="Write a report with charts here (.html).")
    ] = None,
    feature_weight: Annotated[
        list[str] | None,
        typer.Option(
            "--feature-weight",
            metavar="COLUMN=W",
            help="pca: the weight of a column: 3 means three copies of it; may be repeated. Default: 1 each.",
            rich_help_panel=MODEL_PANEL,
        ),
    ] = None,
    n_samples: Annotated[
        int | None,
        typer.Option(
            "--n-samples", metavar="N", min=2, help="The number of rows behind a covariance or correlation matrix."
        ),
    ] = None,
    rows: Annotated[
        bool, typer.Option("--rows", metavar="", help="Take a table that looks like a covariance matrix for rows.")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", metavar="", help="Fail with exit code 4, and write nothing, unless the fit converged."
        ),
    ] = False,
) -> None:
    """Fit a model to a table, and describe the result.

    MODEL is one of {models}. Those that learn from the classes in --label: {classes}.

    Without -k, ppca, fa, gmm and mix choose it by BIC, and gmm and mix print the table. Only {mixed} take columns of
    text: they choose a family of densities for each column and print the reason.

    Empty cells and those of --na are missing values: {incomplete} and pca --missing em fit the observed entries.
    """
    require_files(files)
    from eigenlens.cli.genotypes.genotype_table import find_command

    with session(running) as now:
        target = check_target(output, running.force, MODEL_SUFFIXES, files)
        page = check_target(report, running.force, REPORT_SUFFIXES, files)
        asked, model = model, find_command(model, files, rows, model_options)
        estimator, choice = _unfitted_model(model, model_options, running)
        require_page(estimator, page)
        entry, table = find_model(model), _read_rows(now, files, reading, model, asked, estimator)
        matrix = _find_matrix(now, table, rows or entry.genotypes)
        _adapt_to_table(now, estimator, model, model_options, None if matrix or entry.genotypes else table)
        outputs = [target, *(find_plink_files(target, running.force) if entry.genotypes else ()), page]
        if running.dry_run:
            return _show_plan(now, estimator, choice, outputs)
        selection, settings = None, {"self": estimator, "-k": choice, "--feature-weight": feature_weight}
        with resume_command(now, saving, table.fitted, outputs, **settings):
            if matrix is not None:
                table = _fit_matrix(now, estimator, matrix, n_samples, model, table)
            elif choice is None:
                weights = _column_weights(feature_weight, estimator, table)
                _fit_with_progress(estimator, table.fitted, now, entry.classes, weights)
            else:
                estimator, selection = select_best_mixture(estimator, choice, model_options, table.fitted, now)
            table = _keep_table(estimator, table, reading)
            _show_result(now, estimator, table if table.n else None)
            _check_convergence(now, strict, estimator)
            shown = {type(estimator).__name__: estimator} | ({} if selection is None else {"Choice": selection})
            _write_outputs(now, estimator, shown, table, outputs[:-1], page, reading)
        now.show_next(_next_command(estimator, files if table.n else [], target, page, reading), tried=target is None)
    return None


fit.__doc__ = str(fit.__doc__).format(
    models="; ".join(f"{entry.command} ({entry.about})" for entry in MODELS.values()),
    **{flag: ", ".join(commands(flag)) for flag in ("classes", "mixed", "incomplete")},
)


def _unfitted_model(model: str, options: ModelOptions, running: RunningOptions) -> tuple[Any, Any]:
    """Return the estimator that the command line asks for, and how to choose its number of components (None: given)."""
    given = asdict(options)
    extra = model_parameters(given.pop("set"))
    choice = parse_mixture_choice(options.k) if find_model(model).chooses and "n_components" not in extra else None
    if choice is not None:
        given["k"] = None
    return make_estimator(model, given | {"max_memory": running.max_memory}, extra, running.seed), choice


def _read_rows(now: Any, files: list[str], reading: ReadingOptions, model: str, asked: str, estimator: Any) -> Any:
    """Return the table of a model, and decide that it holds genotypes where another model was asked for."""
    from eigenlens.cli.genotypes.genotype_table import AS_GENOTYPES
    from eigenlens.cli.input_table import read_aloud

    entry = find_model(model)
    more = {"genotypes": True} if entry.genotypes else {"mixed": entry.mixed, "guess": True}
    table = read_aloud(now, files, reading, need_label=entry.classes, quiet=True, fitted=[estimator], **more)
    return table if asked == model else replace(table, decisions=(AS_GENOTYPES, *table.decisions))


def _keep_table(estimator: Any, table: Any, reading: ReadingOptions) -> Any:
    """Return the table that is shown with a fitted model, which remembers it unless it holds genotypes."""
    from eigenlens.cli.remembered_table import remember_table

    if not takes_genotypes(estimator):
        remember_table(estimator, table.fitted, reading)
    return table.scored(estimator)


def _find_matrix(now: Any, table: Any, rows: bool) -> Any:
    """Return the covariance matrix that a table holds, or None, also where its lines are rows; print what was read."""
    from eigenlens.cli.covariance_table import find_covariance, say_matrix
    from eigenlens.cli.input_table import say_read

    matrix = None if rows else find_covariance(table)
    say_read(now, table) if matrix is None else say_matrix(now, table, matrix)
    return matrix


def _adapt_to_table(now: Any, estimator: Any, model: str, options: ModelOptions, table: Any) -> None:
    """Set what depends on the rows (None without any) and is not given: components of kpca, missing values of pca."""
    from eigenlens.cli.advice.table_shape import shape_warnings
    from eigenlens.cli.table_checks import warn_suspicious_columns

    if table is None:
        return
    if model == "kpca" and options.k is None and table.n <= estimator.n_components:
        estimator.set_params(n_components=None)  # the default number of components may not exceed the rows
    if model == "pca" and options.missing is None and table.missing:
        estimator.set_params(missing="em")
        now.say("note", "missing entries are fitted by maximum likelihood; --missing raise stops instead.")
    warn_suspicious_columns(table.fitted)
    for warning in shape_warnings(table.fitted, model):
        warn_user(warning)
    if keeps_rows(model, asdict(options)):
        table.require_in_memory()


def _column_weights(words: Sequence[str] | None, estimator: Any, table: Any) -> dict[str, list[float]]:
    """Return the keyword of `fit` for words such as ash=3: one weight per column, 1 where none is given."""
    if not words:
        return {}
    if "feature_weight" not in inspect.signature(estimator.fit).parameters:
        fail("--feature-weight is not an option of this model", "it is for pca")
    names = [str(name) for name in table.source.names or range(table.source.n_features)]
    weights = dict.fromkeys(names, 1.0)
    for word in words:
        name, _, value = word.rpartition("=")
        if name not in weights:
            fail(f"--feature-weight {word!r} names no column of the table", suggest(closest(name, names), names))
        try:
            weights[name] = float(value)
        except ValueError:
            fail(f"--feature-weight {word!r} has no number after =", f"write for instance {name}=3")
    return {"feature_weight": list(weights.values())}


def _fit_with_progress(estimator: Any, table: Any, now: Any, with_label: bool, weights: dict[str, list[float]]) -> None:
    """Fit the estimator, with progress; an interrupt ends the command, whatever a fit makes of it."""
    parameters = estimator.get_params(deep=False)
    with now.progress(f"fitting {type(estimator).__name__}") as progress:
        if "verbose" in parameters:
            estimator.set_params(verbose=progress)
        weight = {} if table.weight is None else {"sample_weight": table.weight}
        estimator.fit(table.source, *([table.label] if with_label else []), **weight, **weights)
        if "verbose" in parameters:
            estimator.set_params(verbose=parameters["verbose"])
    now.check_interrupt()


def _show_plan(now: Any, estimator: Any, choice: Any, targets: list[Path | None]) -> None:
    from eigenlens.cli.summaries import python_call

    how = "" if choice is None else f", as many components as {choice[0].upper()} chooses"
    call = python_call(estimator)
    now.show_plan(f"fit {call}{how}", targets=targets, model=call)


def _fit_matrix(now: Any, estimator: Any, matrix: Any, n_samples: int | None, model: str, table: Any) -> Any:
    """Fit a model to a matrix, and return the table with this decision and no rows."""
    from eigenlens.cli.covariance_table import fit_covariance_table

    found = fit_covariance_table(estimator, matrix, n_samples, model)
    now.say("note", warning_line(found))
    now.add_facts(decisions=[warning_line(found)])
    return replace(table.without_rows, decisions=(found,))


def _show_result(now: Any, estimator: Any, table: Any) -> None:
    """Print the summary of a model and, unless there are no rows, its accuracy or a plot of them."""
    from eigenlens.cli.summaries import python_call, summarise
    from eigenlens.cli.terminal_plot import draw_model
    from eigenlens.cli.unit_check import warn_of_units
    from eigenlens.latent.tables import fit_indices

    if table is not None and table.missing:
        fit_indices(estimator, table.fitted.source, table.fitted.weight)  # the model keeps them, for its summary
    line, shown, facts = summarise(estimator)
    now.say("model", python_call(estimator))
    now.say("found", line)
    now.show(shown)
    now.add_facts(model=python_call(estimator), **facts)
    warn_of_units(now, estimator, None if table is None else table.fitted)
    if table is None:
        return
    if hasattr(estimator, "classes_"):
        _show_accuracy(now, estimator, table.fitted)
    if not (now.running.quiet or now.running.json):
        now.show(draw_model(estimator, table))


def _show_accuracy(now: Any, estimator: Any, table: Any) -> None:
    """Print the accuracy of a classifier on held-out rows, where the rows are in memory."""
    from eigenlens.cli.held_out_accuracy import cross_validated_accuracy

    with now.progress("cross-validating"):
        found = cross_validated_accuracy(estimator, table, now.running.seed)
    if isinstance(found, str):
        now.say("accuracy", f"not known for held-out rows: {found}")
    else:
        now.say("accuracy", f"{found.accuracy:.4f} ± {found.error:.2g} by {found.folds}-fold cross-validation")
        now.add_facts(cross_validated_accuracy=found.accuracy, cross_validated_accuracy_error=found.error)


def _check_convergence(now: Any, strict: bool, estimator: Any) -> None:
    from eigenlens.errors import ConvergenceWarning

    now.show_warnings()
    unfinished = [each for each in now.warnings if issubclass(each.category, ConvergenceWarning)]
    if strict and (unfinished or getattr(estimator, "converged_", True) is False):
        early = ConvergenceWarning("the iteration stopped before its tolerance")
        what, fix = phrase_with_flags(unfinished[0].message if unfinished else early)
        fix = f"{fix or 'simplify the model'}, or leave out --strict"
        fail(f"the fit did not converge: {what}", fix, "not converged under --strict")


def _write_outputs(
    now: Any, estimator: Any, shown: Any, table: Any, targets: list[Path | None], page: Path | None,
    reading: ReadingOptions,
) -> None:  # fmt: skip
    def draw(path: Path) -> None:
        with now.progress("writing the report"):
            known = {type(estimator).__name__: now.warning_texts()}
            write_report(shown, table, path, reading, now.running, known)

    target, *beside = targets
    jobs = [(target, estimator.save), *plink_writers(estimator, beside), (page, draw)]
    write_files(*((path, fill) for path, fill in jobs if path is not None), check=now.check_interrupt)
    now.show_written(*targets, page)


NEXT_COMMANDS = [
    ("predict_proba", "predict", "classes.csv"),
    ("transform", "transform", "scores.csv"),
    ("score_samples", "score", None),
]
"""The command to try after a fit, by the first method that the model has, and the file that it would write."""


def _next_command(
    estimator: Any, files: Sequence[str], target: Path | None, page: Path | None, reading: ReadingOptions
) -> str:
    """Return a command that applies the model, or the one that has just run with files to write if none was written."""
    able = target is not None
    return shlex.join(_apply_command(estimator, files, target, reading) if able else _fit_with_output(estimator, page))


def _fit_with_output(estimator: Any, page: Path | None) -> list[str]:
    """Return the same command, with files to write."""
    # A report that was written is not asked for again.
    typed = drop_flags(TYPED_WORDS.get(), "--json", "--quiet", "-q", "--force", "-f", valued="--report" if page else "")
    report = ["--report", free_name("report.html")] if page is None and page_of(estimator) else []
    return ["eigenlens", *typed, "-o", free_name("model.safetensors"), *report]


def _apply_command(estimator: Any, files: Sequence[str], target: Path | None, reading: ReadingOptions) -> list[str]:
    """Return a command that applies the model to the same rows."""
    no_scores = {"transform"} if getattr(estimator, "n_components_", None) == 0 else ()
    methods = [each for each in NEXT_COMMANDS if each[0] not in no_scores and hasattr(estimator, each[0])]
    able = [(name, written) for _, name, written in methods]
    if not able or not files:  # a covariance matrix has no rows
        return ["eigenlens", "info", str(target)]
    name, written = able[0]
    # The model remembers how the text is written and the roles of columns, by name; new rows may lie the other way.
    chosen = () if hasattr(estimator, "feature_names_in_") else ("id", "label", "columns", "drop")
    same = given_flags(reading, "where", "skip_missing", "transpose", *chosen)
    end = [] if written is None else ["-o", free_name(written)]
    return ["eigenlens", name, str(target), *files, *same, *end]
