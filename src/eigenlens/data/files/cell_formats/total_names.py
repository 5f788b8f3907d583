"""Words in cells that name a total, a mean or another statistic: their rows hold no data, and the cells no numbers."""

from __future__ import annotations

import re

TOTAL_NAME = re.compile(
    r"(?i)((grand|sub)?[\s_-]*totals?|sums?|((class|course|group)[\s_-])?(means?|averages?)|avg|medians?|std\.?[\s_-]?dev\.?|stdev|"
    r"standard deviations?|all|overall|gesamt|insgesamt|(zwischen|gesamt)?summe|mittelwert|durchschnitt|mittel|"
    r"standardabweichung|somme|sous[\s-]total|moyenne|total g[eé]n[eé]ral|promedio|suma|"
    r"points possible|possible points|max(imum|\.)?[\s_-](points|score|punkte)|out of)\s*:?|(grand )?totals?:\s.*"
)

BESIDE_TOTAL = re.compile(
    r"(?i)(s\.?d\.?|s\.?e\.?(m\.?)?|std\.?|min(imum|\.)?|max(imum|\.)?|n|counts?|anzahl|var(iance|\.)?|cv ?%?|"
    r"range|mode|skew(ness)?|kurtosis|(2[05]|50|7[05])%|q[123]|geo(metric)?[\s_-]?mean|points|(due )?dates?)\s*:?"
)
"""Names of other statistics, which are totals only beside one: SD may be a state, and N an answer."""


def is_total(text: str) -> bool:
    """Return whether a text names a total or a mean.

    >>> is_total("Grand total:"), is_total("Gesamt"), is_total("totally")
    (True, True, False)
    """
    return TOTAL_NAME.fullmatch(text.strip()) is not None


def names_statistic(text: str) -> bool:
    """Return whether a text among numbers names a total or another statistic, rather than that a number is missing.

    >>> names_statistic("Max points"), names_statistic("Maximum"), names_statistic("unknown"), names_statistic("n")
    (True, True, False, False)
    """
    return is_total(text) or (len(text.strip()) > 1 and BESIDE_TOTAL.fullmatch(text.strip()) is not None)
