"""`eigenlens report`: an HTML report of fitted models on the rows of a table."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import typer

from eigenlens.catalogue import MODELS, page_of
from eigenlens.cli.errors import fail, warning_line
from eigenlens.cli.files import REPORT_SUFFIXES, check_target, is_model_file, require_files, write_files
from eigenlens.cli.model_options import takes_text
from eigenlens.cli.options import ReadingOptions, RunningOptions, takes
from eigenlens.cli.output import command_line
from eigenlens.cli.session import session


@takes(reading=ReadingOptions, running=RunningOptions)
def report_models(
    files: Annotated[
        list[str],
        typer.Argument(metavar="MODEL… FILE…", help="Model files (.safetensors), and the data files to show them on."),
    ],
    reading: ReadingOptions,
    running: RunningOptions,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Write here (.html).")] = "report.html",
) -> None:
    """Write one self-contained HTML file with interactive charts.

    It has a page for each model, which opens on its plots, and a last one about the data and the code. It needs no
    network and no server: open it in any browser, or send it by mail. Points can be coloured by --label and found by
    --id.
    """
    require_files(files)
    from eigenlens.cli.covariance_table import find_covariance
    from eigenlens.cli.input_table import read_aloud
    from eigenlens.estimator.storage import load
    from eigenlens.reporting.remarks import fit_remarks

    with session(running) as now:
        target = check_target(output, running.force, REPORT_SUFFIXES, files)
        models, tables = _split_files(files)
        found = _name_models([load(path) for path in models], models)
        for each in found.values():
            require_page(each, target)
        group, mixed = _group_models(list(found.values())), any(map(takes_text, found.values()))
        table = read_aloud(now, tables, reading, model=group, mixed=mixed, guess=True)
        if all(hasattr(each, "fit_covariance") for each in found.values()) and find_covariance(table) is not None:
            table = table.without_rows
        else:
            _warn_of_rows(group, table)
        table = table.scored(next(iter(found.values())))
        now.add_facts(models=list(found))
        if running.dry_run or target is None:
            return now.show_plan(targets=[target])
        with now.progress("writing the report"):
            about = now.warning_texts()
            known = {name: [*map(warning_line, fit_remarks(model)), *about] for name, model in found.items()}
            job = target, lambda path: write_report(found, table, path, reading, running, known)
            write_files(job, check=now.check_interrupt)
        now.show_warnings()
        now.show_written(target)
        now.say("next", f"open {target} in a browser")
    return None


def _warn_of_rows(model: Any, table: Any) -> None:
    """Warn of numbers that mean missing, and of other units than those of the fit."""
    from eigenlens.cli.remembered_table import feature_units, recall_units
    from eigenlens.cli.table_checks import warn_sentinels
    from eigenlens.cli.unit_check import warn_other_units

    warn_sentinels(table)
    warn_other_units(recall_units(model), feature_units(table))


def _split_files(files: list[str]) -> tuple[list[str], list[str]]:
    """Return the model files and the data files of a command line; both are needed."""
    models = [file for file in files if is_model_file(file)]
    tables = [file for file in files if file not in models]
    if not models or not tables:
        lacking = "model file (.safetensors)" if not models else "data file"
        fail(f"report needs a {lacking}", "write: eigenlens report MODEL.safetensors FILE -o report.html")
    return models, tables


def _group_models(models: list[Any]) -> Any:
    """Return one object with the columns of all models, for reading a table that serves all of them."""
    names = [list(getattr(model, "feature_names_in_", ())) for model in models]
    if len(models) == 1 or not all(names):
        return models[0]
    columns = list(dict.fromkeys(name for own in names for name in own))
    return SimpleNamespace(called="models", models=models, feature_names_in_=columns)


def _name_models(models: list[Any], paths: list[str]) -> dict[str, Any]:
    """Return models by the names of their classes, and of their files where two have the same class."""
    classes = [type(model).__name__ for model in models]
    return {
        name if classes.count(name) == 1 else f"{name} ({Path(path).stem})": model
        for name, path, model in zip(classes, paths, models, strict=True)
    }


def require_page(estimator: Any, page: Path | None) -> None:
    """Raise an error if a report is wanted of a model that has no page, before the fit."""
    if page is not None and not page_of(estimator):
        fix = f"there is one for {', '.join(name for name, entry in MODELS.items() if entry.page)}"
        fail(f"there is no report for a {type(estimator).__name__}", fix)


def write_report(
    models: dict[str, Any], table: Any, page: Path, reading: ReadingOptions, running: RunningOptions,
    warnings: dict[str, list[str]] | None = None,
) -> None:  # fmt: skip
    """Write the HTML report of models on the rows of a table, with the warnings that are known of each model's fit."""
    from eigenlens.reporting import report
    from eigenlens.reporting.class_names import words_of_class

    names = [words_of_class(name) for name in models if name != "Choice"]
    title = f"{', '.join(names)} of {', '.join(path.name for path in table.paths[:3])}"
    classes = table.classes if any(hasattr(model, "classes_") for model in models.values()) else None
    report(
        models, table.source, page, classes, title=title, ids=table.ids, columns=table.shown_columns,
        sample_weight=table.weight_of_fit, warnings=warnings,
        decisions=[warning_line(each) for each in table.decisions], command=command_line(), reading=table.script,
        random_state=running.seed,
    )  # fmt: skip
