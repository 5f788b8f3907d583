"""Commands that go on where they were killed, from a checkpoint that is removed once their files are written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from eigenlens.cli.errors import fail
from eigenlens.cli.options import CheckpointOptions


@contextmanager
def resume_command(
    now: Any, options: CheckpointOptions, table: Any, targets: list[Path | None], **settings: Any
) -> Iterator[None]:
    """Record the passes of the block over the rows of a table, or read those of the same command that was killed.

    `targets`: the files that the block writes. `settings`: what else its result depends on, `self` an estimator.
    """
    if options.checkpoint is None:
        yield
        return
    from eigenlens.checkpoint.passes import Checkpoint, record_passes
    from eigenlens.estimator.resume import describe_call, require_passes

    path = Path(options.checkpoint).expanduser()
    if any(target is not None and target.absolute() == path.absolute() for target in targets):
        fail(f"'{path}' is both the checkpoint and an output", "give them different names")
    if "self" in settings:
        require_passes(settings["self"], options.checkpoint)
    given = {"X": table.source, "the labels": table.label, "the weights": table.weight, **settings}
    try:
        with record_passes(Checkpoint(path, options.checkpoint_seconds), lambda: describe_call("the command", given)):
            yield
    except KeyboardInterrupt:
        if path.exists():
            now.say_aside(f"the checkpoint '{path}' is kept: the same command goes on from it")
        raise
