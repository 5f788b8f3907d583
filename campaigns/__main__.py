"""Run a campaign: `python -m campaigns calls --cases 2000 --seed 3`."""

from __future__ import annotations

import argparse
import sys

from campaigns import base

CAMPAIGNS: dict[str, str] = {"calls": "campaigns.calls"}
"""Every campaign by name, and its module, which is imported when it runs."""


def main() -> int:
    """Run the campaigns that are named, or all; return 1 if a case did not end well."""
    parser = argparse.ArgumentParser(prog="python -m campaigns", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CAMPAIGNS)}; all where none is given")
    parser.add_argument("--cases", type=int, default=500, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print how to repeat each case that did not end well")
    given = parser.parse_args()
    unknown = set(given.names) - set(CAMPAIGNS)
    if unknown:
        parser.error(f"no campaign is called {', '.join(sorted(unknown))}; there are {', '.join(CAMPAIGNS)}")
    numbers = range(given.first, given.first + given.cases)
    return max([_run(name, given.seed, numbers, given.show) for name in given.names or CAMPAIGNS])


def _run(name: str, seed: int, numbers: range, show: bool) -> int:
    results = []
    for number, result in base.run(CAMPAIGNS[name], seed, numbers):
        results.append(result)
        if show and result.outcome not in base.FINE:
            print(f"{result.outcome}, case {number}: {result.call}\n    {result.detail}", flush=True)
    print(base.figures(name, seed, results))
    return int(any(result.outcome not in base.FINE for result in results))


if __name__ == "__main__":
    sys.exit(main())
