"""`eigenlens sample`: draw new rows from a model."""

from __future__ import annotations

from typing import Annotated

import typer

from eigenlens.cli.commands.apply import columns_of, free_column, give_columns
from eigenlens.cli.files import OUTPUT_FORMATS, check_target, require_files, require_memory
from eigenlens.cli.model_options import require_method
from eigenlens.cli.options import ModelFile, Output, RunningOptions, takes
from eigenlens.cli.session import session
from eigenlens.tables.text_table import count_noun


@takes(running=RunningOptions)
def sample(
    model: ModelFile,
    running: RunningOptions,
    rows: Annotated[int, typer.Option("-n", "--rows", metavar="N", min=1, help="Number of rows.")] = 100,
    output: Output = None,
) -> None:
    """Draw new rows from the model.

    The rows of a classifier come with their classes, in the column label.
    """
    require_files(model)
    from eigenlens.estimator.storage import load

    with session(running) as now:
        target = check_target(output, running.force, OUTPUT_FORMATS, [model])
        found = load(model)
        require_method(found, "sample", "draw rows")
        require_memory(rows * found.n_features_in_, running)
        if running.dry_run:
            return now.show_plan(f"draw {count_noun(rows, 'row')} from {type(found).__name__}", targets=[target])
        with now.progress("drawing rows"):
            labelled = {"return_labels": True} if hasattr(found, "classes_") else {}
            drawn = found.sample(rows, random_state=running.seed, **labelled)
        X, label = drawn if labelled else (drawn, None)
        columns = columns_of(X, found)
        give_columns(now, columns if label is None else {free_column("label", columns): label} | columns, target)
    return None
