"""`eigenlens sample`: new rows drawn from a model."""

from __future__ import annotations

from typing import Annotated

import typer

from eigenlens.cli.commands.apply import columns_of, free_column, give, require_memory, would_write
from eigenlens.cli.input_files import require_files
from eigenlens.cli.options import ModelFile, Output, Running, takes
from eigenlens.cli.output import counted

__all__ = ["sample"]


@takes(running=Running)
def sample(
    model: ModelFile,
    running: Running,
    rows: Annotated[int, typer.Option("-n", "--rows", metavar="N", min=1, help="How many rows.")] = 100,
    output: Output = None,
) -> None:
    """New rows drawn from the model.

    Those of a classifier come with their classes, in the column label.
    """
    require_files(model)
    from eigenlens.cli.model_options import require_method
    from eigenlens.cli.output_files import FORMATS, checked_target
    from eigenlens.cli.session import session
    from eigenlens.estimator.storage import load

    with session(running) as now:
        target = checked_target(output, running.force, FORMATS)
        found = load(model)
        require_method(found, "sample", "draw rows")
        require_memory(rows * found.n_features_in_, running)
        if running.dry_run:
            return now.would(f"draw {counted(rows, 'row')} from {type(found).__name__}", *would_write(target))
        with now.progress("drawing rows"):
            drawn = found.sample(rows, random_state=running.seed)
        X, label = drawn if isinstance(drawn, tuple) else (drawn, None)
        columns = columns_of(X, found)
        give(now, columns if label is None else {free_column("label", columns): label} | columns, target)
    return None
