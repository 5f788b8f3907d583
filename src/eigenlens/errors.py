"""Every exception and warning of the package.

Each error names the argument, its value, the bound it broke and the way out. The classes are also
subclasses of the built-in that a reader would expect, so `except ValueError` keeps working.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "ConvergenceWarning",
    "DataError",
    "DataWarning",
    "EigenlensError",
    "MissingExtra",
    "ModelFileError",
    "OptionError",
    "ResourceError",
    "SourceChanged",
]


class EigenlensError(Exception):
    """The base of all errors raised on purpose by this package."""


class OptionError(EigenlensError, ValueError):
    """A parameter is outside its range, or does not fit the data."""


class DataError(EigenlensError, ValueError):
    """The rows cannot be used as they are: text, infinities, missing values, no rows, …"""


class SourceChanged(DataError):
    """A file vanished or changed between two passes over it."""


class ModelFileError(DataError):
    """A model file is truncated, altered, foreign or of a newer format."""


class ResourceError(EigenlensError, MemoryError):
    """The work needs more memory than it may take."""


class MissingExtra(EigenlensError, ImportError):
    """An optional library is needed and not installed.

    >>> raise MissingExtra("polars", extra="tables", need="reading tables from files")
    Traceback (most recent call last):
      ...
    eigenlens.errors.MissingExtra: reading tables from files needs polars: pip install 'eigenlens[tables]'
    """

    def __init__(self, library: str, *, extra: str, need: str) -> None:
        super().__init__(f"{need} needs {library}: pip install 'eigenlens[{extra}]'")


class DataWarning(UserWarning):
    """The rows can be used, but the answer deserves a second look (a constant column, …)."""


def __getattr__(name: str) -> Any:
    """`ConvergenceWarning` is made when it is first asked for: importing scikit-learn for its parent takes a second."""
    if name != "ConvergenceWarning":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = _convergence_warning()
    return globals()[name]


def _convergence_warning() -> type[Warning]:
    from sklearn import exceptions

    about = "An iteration stopped before its tolerance; the message says by how much and what to raise."
    return type("ConvergenceWarning", (exceptions.ConvergenceWarning,), {"__module__": __name__, "__doc__": about})
