"""The choice of a mixture by `-k bic`, `-k icl` or `-k 2:5`: what is asked for, the comparison, and its table."""

from __future__ import annotations

import re
from typing import Any

from eigenlens.cli.errors import fail
from eigenlens.cli.model_options import ModelOptions

MAX_COMPONENTS = 6
"""The most components that are tried unless more are asked for."""

CRITERIA = ("bic", "icl", "aic")
SHOWN = 8
"""Lines of the table in words; --json has all."""

MixtureChoice = tuple[str, range | None]


def parse_mixture_choice(k: str | None) -> MixtureChoice | None:
    """Return the criterion and the numbers to try that -k asks for; None where it is a number.

    >>> parse_mixture_choice(None), parse_mixture_choice("icl"), parse_mixture_choice("2:5"), parse_mixture_choice("3")
    (('bic', None), ('icl', None), ('bic', range(2, 6)), None)
    """
    if k is None or k in CRITERIA:
        return k or "bic", None
    found = re.fullmatch(r"(\d+):(\d+)", k)
    if found is None:
        return None
    low, high = int(found[1]), int(found[2])
    if not 1 <= low <= high:
        fail(f"-k {k} is not a range of numbers of components", "write the smaller one first, from 1 on: -k 1:6")
    return "bic", range(low, high + 1)


def select_best_mixture(
    estimator: Any, choice: MixtureChoice, asked: ModelOptions, table: Any, now: Any
) -> tuple[Any, Any]:
    """Return the best mixture by the criterion, and the table of all; of one structure where that is asked for."""
    from eigenlens.mixture.select import select_mixture

    criterion, numbers = choice
    set_apart = ("n_components", "covariance_type", "random_state", "verbose")
    options = {name: value for name, value in estimator.get_params(deep=False).items() if name not in set_apart}
    with now.progress("comparing mixtures") as progress:
        found = select_mixture(
            table.source, numbers or range(1, min(MAX_COMPONENTS, table.n) + 1), asked.covariance, criterion,
            sample_weight=table.weight, random_state=estimator.random_state, verbose=progress, **options,
        )  # fmt: skip
    now.check_interrupt()
    if found.best is None:
        fail(f"no mixture could be fitted: {found.remarks[0]}", "look at the table with eigenlens info", "data")
    _tell(found, now)
    return found.best.set_params(verbose=False), found


def _tell(found: Any, now: Any) -> None:
    lines = str(found).splitlines()
    more = len(lines) - 1 - SHOWN
    kept = [line[:110].rstrip() for line in lines[: SHOWN + 1]]
    now.say("compared", f"{len(lines) - 1} mixtures by {found.criterion.upper()}, the smaller the better")
    now.show("\n".join([*kept, *([f"… {more} more"] if more > 0 else [])]))
    names = ("components", "loglik", "parameters", "bic", "aic", "icl", "seconds")
    rows = {"covariance": list(found.types)} | {name: getattr(found, name) for name in names}
    now.add_facts(compared=rows | {"usable": found.usable}, criterion=found.criterion)
    best, most = int(found.components[0]), int(max(found.components))
    if best == most > 1:
        now.say("note", f"{best} is the most that was tried: -k {best}:{2 * best} tries more")
