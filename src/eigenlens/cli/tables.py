"""Rows to work on, with their ids, labels and weights; in memory, or in files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.cli.errors import fail
from eigenlens.cli.output import count_noun
from eigenlens.cli.output_files import format_size
from eigenlens.data.memory import ArraySource

__all__ = ["HeldRows", "Table"]


class HeldRows(ArraySource):
    """Rows of files that are held in memory, with their columns' names."""

    def __init__(self, X: Array, names: tuple[str, ...] | None) -> None:
        super().__init__(X, names=names)


@dataclass(frozen=True, eq=False)
class Table:
    """Rows to work on.

    Attributes:
        paths: the files. source: the rows, a Source in memory where they fit; a frame where columns may be text.
        n, d: rows and columns. missing: missing entries, None while rows are in files. skipped: rows left out.
        ids, label, weight: (n,) or None. unused: columns of the file that play no part.
        script: Python that reads them again, "" where it is not known.
    """

    paths: tuple[Path, ...]
    source: Any
    n: int
    d: int
    missing: int | None
    skipped: int
    ids: Array | None
    label: Array | None
    weight: Array | None
    unused: tuple[Any, ...]
    script: str = ""

    @property
    def rows(self) -> Array:
        """(n, d) the rows as one array."""
        if self.missing is None:
            size = self.n * self.d * self.source.dtype.itemsize
            fail(
                f"this needs all {self.n:,} rows in memory ({format_size(size)})",
                "raise --max-memory, or take fewer rows with --where, or fewer columns with --columns",
                "resources",
            )
        return np.asarray(self.source.array)

    @property
    def named_rows(self) -> Any:
        """(n, d) the rows as one array, or as a frame where the columns have names: for warnings that name them."""
        X = self.rows
        if self.source.names is None:
            return X
        from eigenlens.data.files.polars import import_polars

        return import_polars().DataFrame(X, schema=list(self.source.names))

    @property
    def facts(self) -> dict[str, Any]:
        """The same as `str`, for --json."""
        counts = {"rows": self.n, "columns": self.d, "missing": self.missing, "skipped": self.skipped}
        return {"files": self.paths} | counts

    def __str__(self) -> str:
        files = str(self.paths[0]) if len(self.paths) == 1 else f"{len(self.paths)} files"
        parts = [f"{count_noun(self.n, 'row')}, {count_noun(self.d, 'column')}"]
        if self.missing:
            parts.append(f"{self.missing:,} missing entries ({self.missing / (self.n * self.d):.1%})")
        parts += [f"{count_noun(self.skipped, 'row')} left out"] if self.skipped else []
        parts += ["too large for memory, read by blocks"] if self.missing is None else []
        return f"{files}: {', '.join(parts)}"
