"""Automatic decisions about a file, as values: what was decided, on which columns, and the option that changes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from eigenlens.errors import DataWarning, python_setting


@dataclass(frozen=True)
class Decision:
    """A decision that nobody asked for, in one sentence.

    `what` and `fix` may refer to options as {name}, to which `settings` gives values, as errors do: Python phrases
    them as arguments, the command line as flags.

    Attributes:
        subject: what it is about, in a word or two: "missing values", "units", "sheet", …
        what: what was decided. columns: names of the columns concerned, or () for the whole file.
        fix: how to decide otherwise. settings: {option: value} for the {name}s of `what` and `fix`.
        surprising: whether `eigenlens.scan` warns of it too. stays_text: whether it leaves numbers of columns unread.

    >>> settings = {"text": ["dose"]}
    >>> print(Decision("units", "the unit 'mg' of 'dose' is removed", ("dose",), "keep it with {text}", settings))
    the unit 'mg' of 'dose' is removed; keep it with text=['dose'].
    """

    subject: str
    what: str
    columns: tuple[str, ...] = ()
    fix: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    surprising: bool = False
    stays_text: bool = False

    @property
    def warning(self) -> DataWarning:
        """The same as a warning."""
        return DataWarning(self.what, columns=self.columns, fix=self.fix, settings=self.settings)

    def phrased(
        self, setting: Callable[[str, Any], str] = python_setting, name: Callable[[str], str] = str
    ) -> tuple[str, str]:
        """Return what was decided and how to decide otherwise, with options as `setting` and `name` write them."""
        return self.warning.phrased(setting, name)

    def __str__(self) -> str:
        return str(self.warning)
