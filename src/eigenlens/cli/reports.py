"""HTML reports of models on the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eigenlens.cli.errors import refuse
from eigenlens.cli.options import Reading, Running
from eigenlens.cli.output import command_line

__all__ = ["has_page", "require_page", "write_report"]


def require_page(estimator: Any, page: Path | None) -> None:
    """Refuse a report on a model that has no page, before the fit."""
    if page is not None and not has_page(estimator):
        from eigenlens.reporting import PAGES

        fix = f"there is one on {', '.join(name for name in PAGES if name != 'Comparison')}"
        refuse(f"there is no report on a {type(estimator).__name__}", fix)


def has_page(estimator: Any) -> bool:
    """Whether there is a page on models of this class."""
    from eigenlens.reporting import PAGES

    return type(estimator).__name__ in PAGES


def write_report(models: dict[str, Any], table: Any, page: Path, reading: Reading, running: Running) -> None:
    """The HTML report of models on the rows of a table."""
    from eigenlens.reporting import report

    extra = {} if table.label is None else {str(reading.label): table.label}
    names = [name for name, model in models.items() if hasattr(model, "fit")]
    title = f"{', '.join(names)} of {', '.join(path.name for path in table.paths[:3])}"
    classes = table.label if any(hasattr(model, "classes_") for model in models.values()) else None
    report(
        models, table.source, page, classes, title=title, ids=table.ids, columns=extra, sample_weight=table.weight,
        command=command_line(), reading=table.script, random_state=running.seed,
    )  # fmt: skip
