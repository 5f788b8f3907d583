"""The common part of the commands that apply a fitted model to rows, and of those that write columns."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from eigenlens.cli.commands.table_parts import is_in_memory, map_parts
from eigenlens.cli.files import OUTPUT_FORMATS, check_target, open_table, require_files, require_memory
from eigenlens.cli.model_options import require_method
from eigenlens.cli.options import ReadingOptions, RunningOptions
from eigenlens.cli.session import session
from eigenlens.cli.summaries import confusion_summary
from eigenlens.data.files.write import join_blocks
from eigenlens.tables.names import feature_names
from eigenlens.tables.text_table import count_noun


def apply_model(
    model: str,
    files: list[str],
    reading: ReadingOptions,
    running: RunningOptions,
    output: str | None,
    able: tuple[str, str],
    work: Callable[[Any, Any], dict[str, Any]],
    confusion: Callable[[Any, Any, dict[str, Any]], Any] = lambda found, table, columns: None,
    named: bool = True,
) -> None:
    """Load the model, read the rows, do the work and write; rows that stay in files, one block after the other.

    `able`: the method that is needed, and what it is for. `named`: whether ids and labels stand beside the result.
    """
    require_files(model, files)
    from eigenlens.cli.input_table import read_aloud
    from eigenlens.cli.remembered_table import is_fitted_table
    from eigenlens.cli.table_checks import warn_of_new_rows
    from eigenlens.estimator.storage import load

    with session(running) as now:
        target = check_target(output, running.force, OUTPUT_FORMATS, [model, *files])
        found = load(model)
        require_method(found, *able)
        # Rows that go to standard output go there alone.
        table = read_aloud(now, files, reading, model=found, quiet=target is None and not running.dry_run)
        if running.dry_run:
            return now.show_plan(f"{able[1]} with {type(found).__name__}", targets=[target])
        if able[0] in AS_WIDE_AS_ROWS and is_in_memory(table):
            require_memory(table.n * table.d, running)
        judged = list[Any]()

        def results() -> Iterator[dict[str, Any]]:
            for part, columns in map_parts(table, partial(work, found)):
                now.check_interrupt()
                judged.append(confusion(found, part, columns))
                yield put_beside(id_and_labels(part, reading, target) if named else {}, columns)

        with now.progress(able[1]) as progress:
            written = write_parts(now, results(), target, lambda done: progress(done, table.n, able[1]))
        warn_of_new_rows(found, table, able[0])
        known = [each for each in judged if each is not None]
        total = functools.reduce(operator.add, known) if known else None
        note = TRAINING_ROWS if total is not None and is_fitted_table(found, table) else ""
        say_written(now, written, target, total, note)
    return None


AS_WIDE_AS_ROWS = {"inverse_transform", "impute"}
"""Methods whose result has as many numbers as the rows."""


def columns_of(X: Any, model: Any) -> dict[str, Any]:
    """Return rows, an array or a frame, as named columns."""
    if hasattr(X, "columns"):
        return {str(name): X[name].to_numpy() for name in X.columns}
    return dict(zip(feature_names(model, X.shape[1]), X.T, strict=True))


def free_column(name: str, taken: Any) -> str:
    """Return the name, with _ appended as long as a column has it."""
    return name if name not in taken else free_column(f"{name}_", taken)


def id_and_labels(table: Any, reading: ReadingOptions, target: Path | None) -> dict[str, Any]:
    """Return the columns of ids and labels; for an array of numbers (.npy) only those that were asked for."""
    array = target is not None and target.suffix.lower() == ".npy"
    ids = {} if table.ids is None or (array and not reading.id) else {str(table.roles.id): table.ids}
    return ids | ({} if array and not reading.label else dict(table.labels))


def put_beside(given: dict[str, Any], columns: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of a result after others, whose names they do not take."""
    return given | {free_column(name, given): column for name, column in columns.items()}


TRAINING_ROWS = "on the rows of the fit: new rows have a lower one, such as the cross-validated one that fit prints"


class WrittenTable(NamedTuple):
    """The number of rows, and the names of the columns, of a table that was written."""

    rows: int
    names: list[str]


def write_parts(
    now: Any,
    parts: Iterable[dict[str, Any]],
    target: Path | None,
    progress: Callable[[int], None] = lambda done: None,
) -> WrittenTable:
    """Write columns, some rows at a time, to the file, or to standard output as CSV or JSON."""
    n, names, kept = 0, list[str](), list[dict[str, Any]]()
    aside = target is None and now.running.json
    with contextlib.nullcontext(kept.append) if aside else open_table(target, now) as write:
        for columns in parts:
            write(columns)
            n, names = n + len(next(iter(columns.values()))), list(columns)
            progress(n)
    if aside:
        now.add_facts(columns=join_blocks(kept))
    return WrittenTable(n, names)


def give_columns(now: Any, columns: dict[str, Any], target: Path | None) -> None:
    """Write columns to the file, or to standard output as CSV or JSON, and print what was written."""
    say_written(now, write_parts(now, [columns], target), target)


def say_written(now: Any, written: WrittenTable, target: Path | None, confusion: Any = None, note: str = "") -> None:
    """Print what was written.

    `confusion`: of predictions and known classes, whose accuracy is printed, with a note on it.
    """
    line, matrix, facts = ("", "", {}) if confusion is None else confusion_summary(confusion, note)
    now.add_facts(rows=written.rows, **facts)
    if target is None and now.running.json:
        return
    if target is None:
        now.say_aside(*filter(None, [line]), *(f"warning: {text}" for text in now.warning_texts()))
        return
    if confusion is not None:
        now.say("score", line)
        now.show(matrix)
    now.show_written(target, note=f"{count_noun(written.rows, 'row')}, {count_noun(len(written.names), 'column')}")
    now.add_facts(names=written.names)
    now.show_warnings()
