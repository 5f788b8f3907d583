"""`eigenlens score`: the mean log-density of rows, or the accuracy of a classifier on them."""

from __future__ import annotations

import functools
import operator
from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.cli.commands.apply import TRAINING_ROWS, id_and_labels, put_beside, write_parts
from eigenlens.cli.commands.table_parts import map_parts
from eigenlens.cli.files import OUTPUT_FORMATS, check_target, require_files
from eigenlens.cli.model_options import require_method
from eigenlens.cli.options import DataFiles, ModelFile, Output, ReadingOptions, RunningOptions, takes
from eigenlens.cli.session import session
from eigenlens.cli.summaries import confusion_summary
from eigenlens.tables.text_table import count_noun, with_error


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
    from eigenlens.cli.input_table import read_aloud
    from eigenlens.cli.remembered_table import is_fitted_table
    from eigenlens.cli.table_checks import warn_of_new_rows
    from eigenlens.estimator.storage import load

    with session(running) as now:
        target = check_target(output, running.force, OUTPUT_FORMATS, [model, *files])
        found = load(model)
        if not (classifier := hasattr(found, "classes_")):
            require_method(found, "score_samples", "score rows, since it has no density")
        table = read_aloud(now, files, reading, model=found, need_label=classifier)
        if running.dry_run:
            return now.show_plan(f"score {count_noun(table.n, 'row')} with {type(found).__name__}", targets=[target])
        scores = list[Any]()

        def results() -> Iterator[dict[str, Any]]:
            for part, (name, values, score) in map_parts(table, partial(_score_rows, found, classifier=classifier)):
                now.check_interrupt()
                scores.append(score)
                yield put_beside(id_and_labels(part, reading, target), {name: values}) if target is not None else {}

        with now.progress("scoring"):
            deque(results(), maxlen=0) if target is None else write_parts(now, results(), target)
        known = classifier and is_fitted_table(found, table)
        mean = _show_score(now, functools.reduce(operator.add, scores), table.n, TRAINING_ROWS if known else "")
        if running.quiet and not running.json:
            print(f"{mean:.10g}")
        method, label = ("predict", table.label) if classifier else ("score_samples", None)
        warn_of_new_rows(found, table, method, label)
        now.show_written(target)
        now.show_warnings()
    return None


def _score_rows(found: Any, table: Any, classifier: bool) -> tuple[str, Array, Any]:
    """Return the name of the score, its values (n,), and what makes their mean: a confusion, or a weighted mean."""
    if classifier:
        from eigenlens.bayes.tables import count_confusion

        confusion = count_confusion(found.classes_, table.label, found.predict(table.source), table.weight)
        return "accuracy", confusion.right.astype(np.float64), confusion
    values = np.asarray(found.score_samples(table.source), dtype=np.float64)
    return "log_density", values, WeightedMean.of(values, table.weight)


def _show_score(now: Any, total: Any, n: int, note: str) -> float:
    """Print the score of all rows, and return it."""
    if isinstance(total, WeightedMean):
        now.say("score", with_error(f"log density {total.mean:.6g}", total.error, ".2g"))
        now.add_facts(rows=n, log_density=total.mean, standard_error=total.error)
        return total.mean
    line, matrix, facts = confusion_summary(total, note)
    now.say("score", line)
    now.show(matrix)
    now.add_facts(rows=n, **facts)
    return float(total.accuracy)


class WeightedMean(NamedTuple):
    """A weighted mean that merges: Σw, the mean, and Σ w (v − mean)²."""

    weight: float
    mean: float
    square: float

    @classmethod
    def of(cls, values: Array, weight: Array | None) -> WeightedMean:
        """Return the mean of values (n,) with weights (n,).

        >>> halves = WeightedMean.of(np.array([1.0, 3.0]), None) + WeightedMean.of(np.array([5.0]), None)
        >>> halves == WeightedMean.of(np.array([1.0, 3.0, 5.0]), None)
        True
        """
        w = np.ones(len(values)) if weight is None else weight
        mean = float(np.average(values, weights=w))
        square = float(w @ (values - mean) ** 2) if np.isfinite(mean) else np.nan
        return cls(float(w.sum()), mean, square)

    def __add__(self, other: Any) -> WeightedMean:
        weight = self.weight + other.weight
        mean = (self.weight * self.mean + other.weight * other.mean) / weight
        between = (other.mean - self.mean) ** 2 * self.weight * other.weight / weight
        return WeightedMean(weight, mean, self.square + other.square + between)

    @property
    def error(self) -> float:
        """The standard error of the mean; NaN of one row, and where a row has density 0."""
        return float(np.sqrt(self.square / self.weight / (self.weight - 1.0))) if self.weight > 1.0 else np.nan
