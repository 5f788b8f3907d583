"""The scores of all rows as a table beside the file that is explored: written when asked to, and over no other file."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from eigenlens.data.files.base import pl
from eigenlens.data.memory import ArraySource
from eigenlens.errors import DataError, OptionError
from eigenlens.explorer.explored_table import ExploredTable
from eigenlens.explorer.question import Question


def write_scores(table: ExploredTable, question: Question, model: Any) -> Path:
    """Write the scores (n, k) of all rows, under their names or positions, and return the path of the new file."""
    if table.path is None:
        raise DataError("rows in memory lie beside no file", fix="save the CSV of the scores, or use the script")
    if not hasattr(model, "transform"):
        raise OptionError("has no scores", argument="model", value=question.model, fix="choose a model of components")
    names = None if question.id is None else table.entries(question.id)
    path, file = _new_file(table.path)
    with file:
        start = 0
        for X in table.blocks_of(question.columns("active")):
            Z = np.asarray(model.transform(ArraySource(X, names=question.columns("active"))))
            some = slice(start, start + len(X))
            rows = np.arange(start + 1, start + len(X) + 1) if names is None else names[some]
            scores = {str(name): Z[:, j] for j, name in enumerate(model.get_feature_names_out())}
            pl.DataFrame({_free("row" if names is None else str(question.id), scores): rows} | scores).write_csv(
                file, include_header=start == 0
            )
            start += len(X)
    return path


def _free(name: str, taken: Any) -> str:
    return name if name not in taken else f"{name} (name)"


def _new_file(path: Path) -> tuple[Path, TextIO]:
    """Open a new file beside another one: `table-scores.csv`, `table-scores-2.csv` where that is taken, and so on."""
    for number in count(1):
        target = path.with_name(f"{path.stem}-scores{'' if number == 1 else f'-{number}'}.csv")
        try:
            return target, target.open("x", encoding="utf-8", newline="")
        except FileExistsError:
            continue
        except OSError as error:
            what = f"cannot write {target.name!r} beside the table: {error.strerror}"
            raise DataError(what, fix="save the CSV of the scores from their plot") from error
    raise AssertionError
