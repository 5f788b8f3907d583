"""Delimited text as frames of text, a piece of the files at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from eigenlens.cli.columns import text_records
from eigenlens.cli.sniffing import Text
from eigenlens.data.files.dialect import column_names
from eigenlens.data.files.polars import import_polars, same_columns, unreadable
from eigenlens.data.files.records import PIECE_BYTES

__all__ = ["text_blocks"]


def text_blocks(paths: Sequence[Path], text: Text, missing: Sequence[str] = ()) -> Iterator[Any]:
    """Frames of all columns, in the order of the first file; empty cells and those in `missing` are null."""
    pl = import_polars()
    names = [column_names(path, text.dialect) for path in paths]
    same_columns(paths, names, ordered=False)
    places = {f"column_{place}": pl.String for place in range(1, len(names[0]) + 1)}
    how = {"has_header": False, "separator": text.separator, "schema": places, "null_values": list(missing) or None}
    for path, own in zip(paths, names, strict=True):
        for piece in text_records(path, text, PIECE_BYTES, len(names[0])):
            try:
                frame = pl.read_csv(piece, **how)
            except pl.exceptions.PolarsError as error:
                raise unreadable(path, error) from error
            yield frame.rename(dict(zip(places, own, strict=True))).select(names[0])
