"""What the columns of Parquet and Arrow files hold, by the types that the files declare."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eigenlens.data.files.polars import listed
from eigenlens.data.table import Field
from eigenlens.errors import DataError

__all__ = ["table_field"]


def table_field(name: str, types: dict[Path, Any]) -> Field:
    """What a column of this name is in all files, by its types there; dates and nested values are refused."""
    kinds = {path: _kind(name, dtype) for path, dtype in types.items()}
    met = [kind for kind in dict.fromkeys(kinds.values()) if kind != "empty"]
    if "text" in met and len(met) > 1:
        text, other = (next(p for p, kind in kinds.items() if (kind == "text") == wanted) for wanted in (True, False))
        raise DataError(
            f"column {name!r} holds text in '{text}' ({types[text]}) and numbers in '{other}' ({types[other]}): write "
            f"it as one kind, or leave it out with drop={listed([name])}."
        )
    if len(met) > 1:
        return Field(name, "number")
    return Field(name, met[0] if met else "number", _declared(list(types.values())) if met == ["text"] else None)


def _kind(name: str, dtype: Any) -> str:
    if dtype.is_numeric() or str(dtype) in ("Boolean", "Null"):
        return {"Boolean": "boolean", "Null": "empty"}.get(str(dtype), "integer" if dtype.is_integer() else "number")
    if str(dtype).startswith(("String", "Categorical", "Enum", "Binary")):
        return "text"
    kind = "dates or times" if dtype.is_temporal() else "nested values" if dtype.is_nested() else "no numbers"
    raise DataError(
        f"column {name!r} holds {kind} ({dtype}): leave it out with drop={listed([name])}, "
        "or write it as numbers first."
    )


def _declared(types: list[Any]) -> tuple[Any, ...] | None:
    """Return the categories that an Enum declares, over all files in the order met; None for other types."""
    if not all(str(dtype).startswith("Enum") for dtype in types):
        return None
    return tuple(dict.fromkeys(category for dtype in types for category in dtype.categories.to_list()))
