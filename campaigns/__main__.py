"""Run a campaign: `python -m campaigns calls --cases 2000 --seed 3`; all of them for the page, `--full --record`."""

from __future__ import annotations

import argparse
import sys
import time

from campaigns import base, record

CAMPAIGNS: dict[str, str] = {
    "calls": "campaigns.calls", "walk": "campaigns.walk", "tables": "campaigns.damaged_tables",
    "model-files": "campaigns.model_files",
    "kills": "campaigns.kills", "workers": "campaigns.workers", "kernels": "campaigns.kernels",
    "accuracy": "campaigns.accuracy", "threads": "campaigns.threads", "interrupts": "campaigns.interrupts",
    "bombs": "campaigns.bombs",
}  # fmt: skip
"""Every campaign by name, and its module, which is imported when it runs."""


def main() -> int:
    """Run the campaigns that are named, or all; return 1 if a case did not end well."""
    parser = argparse.ArgumentParser(prog="python -m campaigns", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CAMPAIGNS)}; all where none is given")
    parser.add_argument("--cases", type=int, default=500, help="how many")
    parser.add_argument("--full", action="store_true", help="as many cases as the page 'How it is tested' has")
    parser.add_argument("--record", action="store_true", help=f"write the figures to {record.FILE.name}, for that page")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print how to repeat each case that did not end well")
    given = parser.parse_args()
    unknown = set(given.names) - set(CAMPAIGNS)
    if unknown:
        parser.error(f"no campaign is called {', '.join(sorted(unknown))}; there are {', '.join(CAMPAIGNS)}")
    return max([_run(name, given) for name in given.names or CAMPAIGNS])


def _run(name: str, given: argparse.Namespace) -> int:
    cases = record.FULL_SIZES[name] if given.full else given.cases
    results, start = [], time.monotonic()
    for number, result in base.run(CAMPAIGNS[name], given.seed, range(given.first, given.first + cases)):
        results.append(result)
        if given.show and result.outcome not in base.FINE:
            print(f"{result.outcome}, case {number}: {result.call}\n    {result.detail}", flush=True)
    print(base.figures(name, given.seed, results), flush=True)
    if given.record:
        record.write(name, record.entry(name, given.seed, given.first, results, time.monotonic() - start))
    return int(any(result.outcome not in base.FINE for result in results))


if __name__ == "__main__":
    sys.exit(main())
