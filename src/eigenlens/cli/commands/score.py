"""`eigenlens score`: the mean log-density of rows, or the accuracy of a classifier on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.cli.commands.apply import TRAINING_ROWS, id_and_labels, put_beside
from eigenlens.cli.files import OUTPUT_FORMATS, check_target, require_files, write_table
from eigenlens.cli.model_options import require_method
from eigenlens.cli.options import DataFiles, ModelFile, Output, ReadingOptions, RunningOptions, takes
from eigenlens.cli.session import session
from eigenlens.cli.summaries import confusion_summary
from eigenlens.tables.text_table import count_noun


@takes(reading=ReadingOptions, running=RunningOptions)
def score(
    model: ModelFile, files: DataFiles, reading: ReadingOptions, running: RunningOptions, output: Output = None
) -> None:
    """Score rows: their mean log-density, or the accuracy of their classes.

    A classifier is compared with the classes in --label; the table is its confusion matrix.

    -o writes the log-density of every row (for a classifier, 1 where it was correct). With --quiet only the number is
    printed.
    """
    require_files(model, files)
    from eigenlens.cli.advice.missing_entries import warn_empty_rows
    from eigenlens.cli.input_table import read_aloud
    from eigenlens.estimator.storage import load

    with session(running) as now:
        target = check_target(output, running.force, OUTPUT_FORMATS, [model, *files])
        found = load(model)
        classifier = hasattr(found, "classes_")
        if not classifier:
            require_method(found, "score_samples", "score rows, since it has no density")
        table = read_aloud(now, files, reading, model=found, need_label=classifier)
        if running.dry_run:
            plan = f"score {count_noun(table.n, 'row')} with {type(found).__name__}"
            return now.show_plan(plan, targets=[target])
        with now.progress("scoring"):
            name, values, mean = _score_rows(found, table, classifier, now)
        if running.quiet and not running.json:
            print(f"{mean:.10g}")
        now.check_interrupt()
        warn_empty_rows(table, "predict" if classifier else "score_samples")
        if target is not None:
            columns = put_beside(id_and_labels(table, reading, target), {name: values})
            write_table(columns, target, now)
        now.show_written(target)
        now.show_warnings()
    return None


def _score_rows(found: Any, table: Any, classifier: bool, now: Any) -> tuple[str, Any, float]:
    """Return the name of the score, its values (n,) and their mean, and print them."""
    if classifier:
        from eigenlens.bayes.tables import count_confusion
        from eigenlens.cli.remembered_table import is_fitted_table

        confusion = count_confusion(found.classes_, table.label, found.predict(table.source), table.weight)
        note = TRAINING_ROWS if is_fitted_table(found, table) else ""
        line, matrix, facts = confusion_summary(confusion, note)
        now.say("score", line)
        now.show(matrix)
        now.add_facts(rows=table.n, **facts)
        return "accuracy", confusion.right.astype(np.float64), confusion.accuracy
    values = np.asarray(found.score_samples(table.source), dtype=np.float64)
    mean, error = _weighted_mean(values, table.weight)
    now.say("score", f"log density {mean:.6g} ± {error:.2g}")
    now.add_facts(rows=table.n, log_density=mean, standard_error=error)
    return "log_density", values, mean


def _weighted_mean(values: Array, weight: Array | None) -> tuple[float, float]:
    """Return the weighted mean and its standard error."""
    w = np.ones(len(values)) if weight is None else weight
    mean, n = float(np.average(values, weights=w)), float(w.sum())
    return mean, float(np.sqrt(np.average((values - mean) ** 2, weights=w) / max(n - 1.0, 1.0)))
