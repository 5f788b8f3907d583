"""A fitted model, rows and an output: what the commands that apply models share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eigenlens.app.cli.errors import refuse
from eigenlens.app.cli.options import Reading, Running
from eigenlens.app.cli.present import require_files
from eigenlens.app.cli.words import counted

__all__ = ["apply", "beside", "columns_of", "free_column", "give", "require_memory", "row_names", "would_write"]


def apply(
    model: str,
    files: list[str],
    reading: Reading,
    running: Running,
    output: str | None,
    able: tuple[str, str],
    work: Callable[[Any, Any], dict[str, Any]],
    judged: Callable[[Any, Any, dict[str, Any]], Any] = lambda found, table, columns: None,
) -> None:
    """Load, read, work, write. `able`: the method that the model must have, and what it is for."""
    require_files(model, files)
    from eigenlens.app.cli.models import takes_text, why_not
    from eigenlens.app.cli.reading import read_table
    from eigenlens.app.cli.running import session
    from eigenlens.app.cli.writing import FORMATS, checked_target
    from eigenlens.estimators import load

    with session(running) as now:
        target = checked_target(output, running.force, FORMATS)
        found = load(model)
        why_not(found, *able)
        with now.progress("reading"):
            table = read_table(files, reading, running, model=found, mixed=takes_text(found))
        now.tell(read=table.facts)
        if target is not None or running.dry_run:
            now.say("read", str(table))
        if running.dry_run:
            return now.would(f"{able[1]} with {type(found).__name__}", *would_write(target))
        if able[0] in WIDE:
            require_memory(table.n * table.d, running)
        with now.progress(able[1]):
            columns = work(found, table)
        now.check()
        verdict = judged(found, table, columns)
        give(now, beside(table, reading) | columns, target, verdict)
    return None


WIDE = {"inverse_transform", "impute"}
"""What gives as many numbers as it takes."""


def require_memory(entries: int, running: Running) -> None:
    """Refuse a result that is larger than what may be held."""
    from eigenlens.app.cli.opening import memory_limit
    from eigenlens.app.cli.writing import in_words

    size, most = 8 * entries, memory_limit(running, share=1)
    if size > most:
        what = f"the result takes {in_words(size)}, and {in_words(most)} may be taken"
        refuse(what, "raise --max-memory, or take rows in parts, with --where or -n", "resources")


def would_write(target: Any) -> list[str]:
    """What a dry run would write."""
    return [] if target is None else [f"write {target}"]


def row_names(model: Any, d: int) -> tuple[str, ...]:
    """The names of the columns of a model's rows."""
    from eigenlens.views.tables import names_of

    return names_of(model, d)


def columns_of(X: Any, model: Any) -> dict[str, Any]:
    """Rows as named columns, be they an array or a frame."""
    if hasattr(X, "columns"):
        return {str(name): X[name].to_numpy() for name in X.columns}
    return dict(zip(row_names(model, X.shape[1]), X.T, strict=True))


def free_column(name: str, taken: Any) -> str:
    """The name, with _ behind it as long as a column has it."""
    return name if name not in taken else free_column(f"{name}_", taken)


def beside(table: Any, reading: Reading) -> dict[str, Any]:
    """The columns of ids and labels."""
    pairs = ((reading.id, table.ids), (reading.label, table.label))
    return {str(name): values for name, values in pairs if values is not None}


def give(now: Any, columns: dict[str, Any], target: Any, judged: Any = None) -> None:
    """The columns into the file, or to standard output as CSV or JSON; with what predictions are worth, if known."""
    from eigenlens.app.cli.writing import write_table

    n = len(next(iter(columns.values())))
    now.tell(rows=n, **({} if judged is None else judged.facts))
    if target is None and now.running.json:
        now.tell(columns=columns)
        return
    write_table(columns, target, now.check)
    if target is None:
        now.aside(*([] if judged is None else [judged.line]), *(f"warning: {text}" for text in now.told()))
        return
    if judged is not None:
        now.say("score", judged.line)
        now.show(str(judged))
    now.wrote(target, note=f"{counted(n, 'row')}, {counted(len(columns), 'column')}")
    now.tell(names=list(columns))
    now.warned()
