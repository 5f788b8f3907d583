"""Rows at the end of a table that hold totals or means of the others."""
from __future__ import annotations
import re
TOTAL_NAME = re.compile(
    r"(?i)((grand|sub)?[\s_-]*totals?|sums?|means?|averages?|avg|all|overall|gesamt|insgesamt|summe|mittelwert|durchschnitt|total général|somme|"
    r"moyenne|media|promedio|suma)\s*:?"
)
def is_total(text: str) -> bool:
    """Return whether a text names a total or a mean.

    >>> is_total("Grand total:"), is_total("Gesamt"), is_total("totally")
    (True, True, False)
    """
    return TOTAL_NAME.fullmatch(text.strip()) is not None
