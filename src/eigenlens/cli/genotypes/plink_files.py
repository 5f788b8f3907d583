"""The files of PLINK that are written beside a model of genotypes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from eigenlens.cli.files import check_target


def find_plink_files(target: Path | None, force: bool) -> tuple[Path, ...]:
    """Return the files of PLINK beside a model of genotypes, once they may be written; none where none is written."""
    from eigenlens.genotypes.plink_output import PLINK_SUFFIXES

    wanted = [] if target is None else [str(target.with_suffix(each)) for each in PLINK_SUFFIXES]
    found = [check_target(each, force, (Path(each).suffix,)) for each in wanted]
    return tuple(each for each in found if each is not None)


def plink_writers(estimator: Any, targets: Sequence[Path | None]) -> list[tuple[Path | None, Callable[[Path], Any]]]:
    """Return each of these files with the function that writes it."""
    if not targets:
        return []
    from eigenlens.genotypes.plink_output import plink_texts

    texts = plink_texts(estimator.model_)
    return [(path, partial(Path.write_text, data=text)) for path, text in zip(targets, texts, strict=True)]
