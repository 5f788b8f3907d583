"""What the tests compare with other systems, written down: the page of accuracy is made of it.

A test that takes the fixture `accuracy` compares through it. Run with --record-accuracy, the comparisons are written to
docs/data/accuracy.json; run without, each must already stand there, so that the page cannot fall behind the tests.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).parents[1] / "docs" / "data" / "accuracy.json"


@dataclass(frozen=True)
class Record:
    """One comparison.

    Attributes:
        what: the quantity and the data. system: whose numbers they are.
        values: how many numbers. ours, reference: the one of largest modulus in the reference, or the only one.
        asked: the tolerance. reached: largest difference, relative to the largest number of the reference;
            for "at least", how far ours is above.
        test: the file and the function.
    """

    what: str
    system: str
    values: int
    ours: float
    reference: float
    asked: str
    reached: float
    test: str


class Accuracy:
    """Compare with a reference, and keep what came."""

    def __init__(self, test: str, records: dict[tuple[str, str], Record], known: set[tuple[str, str]] | None) -> None:
        self.test, self.records, self.known = test, records, known

    def close(self, what: str, ours: Any, reference: Any, *, system: str, rtol: float = 0.0, atol: float = 0.0) -> None:
        """|ours − reference| ≤ atol + rtol |reference|, number by number."""
        mine, theirs = np.asarray(ours, dtype=np.float64), np.asarray(reference, dtype=np.float64)
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=atol, err_msg=f"{what}: {system}")
        largest = float(np.abs(theirs).max())
        reached = float(np.abs(mine - theirs).max()) / (largest or 1.0)
        self._keep(what, mine, theirs, system, tolerance(rtol, atol), reached)

    def at_least(self, what: str, ours: float, reference: float, *, system: str, slack: float) -> None:
        """Ours ≥ reference − slack: a likelihood that another system has found, or a higher one."""
        assert ours >= reference - slack, f"{what}: {ours!r} is below {reference!r} of {system}, less {slack:g}"
        asked = f"at least theirs, less {slack:g}"
        self._keep(what, np.asarray(ours), np.asarray(reference), system, asked, float(ours - reference))

    def _keep(self, what: str, ours: Any, reference: Any, system: str, asked: str, reached: float) -> None:
        at = int(np.abs(reference).argmax())
        mine, theirs = float(ours.flat[at]), float(reference.flat[at])
        record = Record(what, system, reference.size, mine, theirs, asked, reached, self.test)
        if self.known is not None:
            assert (what, system) in self.known, (
                f"{what!r} ({system}) is not in {FILE.name}; write it again: pytest tests --record-accuracy"
            )
        self.records[what, system] = record


def tolerance(rtol: float, atol: float) -> str:
    """In words."""
    parts = [f"{rtol:g} relative"] * bool(rtol) + [f"{atol:g} absolute"] * bool(atol)
    return " + ".join(parts) or "equal"


def read() -> list[dict[str, Any]]:
    """The records of the file; none if there is none."""
    found: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))["records"] if FILE.exists() else []
    return found


def write(records: dict[tuple[str, str], Record], whole: bool) -> None:
    """Replace the records of the same names, or, after a run of all tests, all of them."""
    kept = {} if whole else {(old["what"], old["system"]): old for old in read()}
    kept |= {key: asdict(record) for key, record in records.items()}
    about = "Written by pytest --record-accuracy; docs/accuracy.md shows it."
    FILE.parent.mkdir(parents=True, exist_ok=True)
    whole_file = {"about": about, "records": [kept[key] for key in sorted(kept)]}
    FILE.write_text(json.dumps(whole_file, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
