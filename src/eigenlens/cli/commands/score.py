"""`eigenlens score`: how well a model fits rows."""

from __future__ import annotations

from typing import Any

from eigenlens.cli.commands.apply import beside, would_write
from eigenlens.cli.input_files import require_files
from eigenlens.cli.options import DataFiles, ModelFile, Output, Reading, Running, takes
from eigenlens.cli.output import counted

__all__ = ["score"]


@takes(reading=Reading, running=Running)
def score(model: ModelFile, files: DataFiles, reading: Reading, running: Running, output: Output = None) -> None:
    """How well the model fits rows: mean log density, or accuracy.

    Accuracy is that of a classifier on the classes in --label; the table shows which it takes for which.

    -o writes the log density of every row (for a classifier, 1 where it was right). With --quiet the number is all
    that is printed.
    """
    require_files(model, files)
    from eigenlens.cli.input_table import read_table
    from eigenlens.cli.model_options import takes_text
    from eigenlens.cli.output_files import FORMATS, checked_target, write_table
    from eigenlens.cli.session import session
    from eigenlens.estimator.storage import load

    with session(running) as now:
        target = checked_target(output, running.force, FORMATS)
        found = load(model)
        classifier = _scorable(found)
        with now.progress("reading"):
            table = read_table(files, reading, running, model=found, need_label=classifier, mixed=takes_text(found))
        now.say("read", str(table))
        now.tell(read=table.facts)
        if running.dry_run:
            return now.would(f"score {counted(table.n, 'row')} with {type(found).__name__}", *would_write(target))
        with now.progress("scoring"):
            name, values, mean = _scored(found, table, classifier, now)
        if running.quiet and not running.json:
            print(f"{mean:.10g}")
        now.check()
        if target is not None:
            write_table(beside(table, reading) | {name: values}, target, now.check)
        now.wrote(target)
        now.warned()
    return None


def _scorable(found: Any) -> bool:
    """Whether the model is a classifier; one that is neither this nor a density is refused."""
    from eigenlens.cli.model_options import require_method

    if not hasattr(found, "classes_"):
        require_method(found, "score_samples", "score rows: it has no density")
    return hasattr(found, "classes_")


def _scored(found: Any, table: Any, classifier: bool, now: Any) -> tuple[str, Any, float]:
    """The name of the score, its values (n,) and their mean, after they were told."""
    import numpy as np

    from eigenlens.cli.commands.apply import judge, weighted_mean

    if classifier:
        judged = judge(found.classes_, found.predict(table.source), table.label, table.weight)
        now.say("score", judged.line)
        now.show(str(judged))
        now.tell(rows=table.n, **judged.facts)
        return "accuracy", judged.right, judged.accuracy
    values = np.asarray(found.score_samples(table.source), dtype=np.float64)
    mean, error = weighted_mean(values, table.weight)
    now.say("score", f"log density {mean:.6g} ± {error:.2g}")
    now.tell(rows=table.n, log_density=mean, standard_error=error)
    return "log_density", values, mean
