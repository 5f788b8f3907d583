"""Eigenlens beside its peers on the same rows: time, memory and error, as Markdown on stdout.

python benchmarks/run.py                        all cases
python benchmarks/run.py --only tall-f64 wide   some of them
python benchmarks/run.py --only kernel          all whose names begin so
python benchmarks/run.py --scale small          to try the benchmark itself; its numbers say nothing
python benchmarks/run.py --write                also keeps the run in benchmarks/results and README.md
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import data
import kernel_pca
import peers
import reference
import results
import table
from cases import CASES as LINEAR
from cases import Case
from machine import Machine, measure_machine
from measure import Settings, race, race_files, say, weigh
from table import Line
from targets import Results, ours

CASES = LINEAR | kernel_pca.CASES


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", type=named, default=[list(CASES)], metavar="NAME",
                        help="cases to run, or how their names begin: " + ", ".join(CASES))  # fmt: skip
    parser.add_argument("--scale", choices=("full", "small"), default="full")
    parser.add_argument("--repeat", type=int, default=5, help="fits of each contestant; the best counts (default 5)")
    parser.add_argument("--patience", type=float, default=30.0,
                        help="seconds after which a contestant is not run again (default 30)")  # fmt: skip
    parser.add_argument("--share", type=float, default=0.1,
                        help="share of the rows that IncrementalPCA gets (default 0.1)")  # fmt: skip
    parser.add_argument("--no-memory", action="store_true", help="do not measure memory in fresh processes")
    parser.add_argument("--folder", type=Path, default=None, help="where temporary files go: 9 GB for the case 'files'")
    parser.add_argument("--write", action="store_true", help="keep the run in benchmarks/results and README.md")
    options = parser.parse_args(given)
    options.only = list(dict.fromkeys(name for names in options.only for name in names))
    if options.write and (options.scale != "full" or set(options.only) != set(CASES) or options.no_memory):
        parser.error("--write keeps whole tables only: leave out --scale small, --only and --no-memory.")
    return options


def named(name: str) -> list[str]:
    """The case of this name, or else all whose names begin so."""
    found = [name] if name in CASES else [case for case in CASES if case.startswith(f"{name}-")]
    if not found:
        raise argparse.ArgumentTypeError(f"no case is called {name!r}; there are {', '.join(CASES)}.")
    return found


def run(case: Case, settings: Settings, machine: Machine, absent: dict[str, str]) -> Line:
    """All contestants of a case, judged against the truth."""
    n, d = case.sizes(settings.small)
    names = peers.available(case.contestants, absent)
    X, results = _from_files(case, names, settings) if case.files else _in_memory(case, names, settings)
    truth = case.truth(X)
    for result in results.values():
        if result.fit.share == 1.0:
            result.error = reference.largest_error(result.fit.variances, truth)
    fit, size = ours(results).fit, _size(X)
    limit = machine.limit(case.flops(n, d, fit), case.read(size, fit), case.dtype)
    return Line(case, results, size, limit, truth, settings.small)


def _in_memory(case: Case, names: tuple[str, ...], settings: Settings) -> tuple[Any, Results]:
    assert case.make is not None
    X = case.make(*case.sizes(settings.small))
    results = race(names, X, case.k, settings)
    if settings.memory:
        say("    memory, in fresh processes")
        weigh(results, X, case.k, settings)
    return X, results


def _from_files(case: Case, names: tuple[str, ...], settings: Settings) -> tuple[Any, Results]:
    rows, frame = settings.folder / "rows.npy", settings.folder / "rows.parquet"
    say("    writing .npy and Parquet")
    data.write_npy(rows, *case.sizes(settings.small))
    data.write_parquet(frame, rows)
    entries: dict[str, tuple[Path, dict[str, Any]]] = {name: (rows, {}) for name in names}
    entries["Eigenlens Parquet"] = (frame, {})
    entries["scikit-learn IncrementalPCA"] = (rows, {"share": 1.0 if settings.small else settings.share})
    return np.load(rows, mmap_mode="r"), race_files(entries, int(case.k), settings)


def _size(X: Any) -> float:
    """Bytes of the rows."""
    if sparse.issparse(X):
        return float(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return float(X.nbytes)


def main() -> None:
    options = arguments()
    small, memory, absent = options.scale == "small", not options.no_memory, peers.missing()
    machine = measure_machine(small)
    say(str(machine))
    lines = []
    for name in options.only:
        say(f"{name}: {CASES[name].title(small)}")
        with tempfile.TemporaryDirectory(dir=options.folder, prefix="eigenlens-bench-") as folder:
            settings = Settings(Path(folder), small, options.repeat, options.patience, options.share, memory)
            lines.append(run(CASES[name], settings, machine, absent))
        gc.collect()
    found = table.collected(lines, machine, absent)
    print(results.markdown(found))
    if options.write:
        results.write(found)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")  # peers warn of their own dependencies; failures are caught and named
    main()
