"""Principal components of genotypes beside PLINK 2: the same files and number of threads, fresh processes in turn.

python benchmarks/genotypes.py [--bed PATH] [--only first] [--threads 2] [--repeat 3] [--scale small] [--write]

Two files: 957 people × 14,389 variants (those of --bed, such as HapMap3, or simulated ones of that size), and simulated
5,000 × 200,000 with 0.5% of the calls missing. PLINK 2 and the command line are timed as whole processes, from start to
end, with their peak of resident memory; the line "fit", which is compared, is `GenotypePCA(10).fit(path)` alone, in a
process that has imported the package (imports take more than a second of the command line). Reading is beside
bed-reader: all calls as float32, from the system's cache. A peer that is not installed is left out and named. The exit
code is 1 if a line "missed" is printed.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import results
from eigenlens.native.genotypes import pack_codes
from launch import launch

SIZES = {"full": ((957, 14_389), (5_000, 200_000)), "small": ((300, 2_000), (500, 4_000))}
MEMORY = 2e9
"""Bytes of resident memory that our process may take at most."""

FIT = """
import sys, time, eigenlens
from eigenlens import GenotypePCA
start = time.perf_counter()
model = GenotypePCA(10).fit(sys.argv[1])
print(time.perf_counter() - start)
print(*(f"{value:.6g}" for value in model.eigenvalues_))
"""

READ = """
import sys, time
import numpy as np
from eigenlens.data.genotypes.genotype_files import open_genotypes
from eigenlens.genotypes.allele_frequencies import standardised_panels
start = time.perf_counter()
data = open_genotypes(sys.argv[1])
values = np.tile([2.0, np.nan, 1.0, 0.0], (len(data.variants), 1))
for _ in standardised_panels(data, np.arange(len(data.variants)), values):
    pass
print(time.perf_counter() - start)
"""

BED_READER = """
import sys, time
import numpy as np
from bed_reader import open_bed
start = time.perf_counter()
with open_bed(sys.argv[1], num_threads=int(sys.argv[2])) as file:
    m = file.sid_count
    for first in range(0, m, 4096):
        file.read(np.s_[:, first : min(first + 4096, m)], dtype="float32")
print(time.perf_counter() - start)
"""


@dataclass
class Run:
    """What became of one contestant: seconds of each repeat, also of the processor, peak memory, what it printed."""

    name: str
    command: list[str]
    inside: bool = False  # whether it prints its own time
    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    memory: float = 0.0
    printed: str = ""

    def once(self, environment: dict[str, str], folder: Path) -> None:
        used = launch(self.command, folder, environment)
        self.printed = used.printed
        self.seconds.append(float(used.printed.split()[0]) if self.inside else used.seconds)
        self.processor.append(used.processor)
        self.memory = max(self.memory, used.memory)


def simulate(path: Path, n: int, m: int, missing: float) -> Path:
    """Write people of four populations, Fst 0.01, as .bed, .bim and .fam."""
    rng, group = np.random.default_rng(0), np.arange(n) % 4
    with path.open("wb") as file:
        file.write(b"\x6c\x1b\x01")
        for start in range(0, m, 2_000):
            b = min(2_000, m - start)
            p, a = rng.uniform(0.05, 0.5, b), 0.99 / 0.01
            own = rng.beta(p * a, (1.0 - p) * a, (4, b)).astype(np.float32).T[:, group]
            copies = sum((rng.random((b, n), dtype=np.float32) < own).astype(np.uint8) for _ in range(2))
            codes = np.array([3, 2, 0], dtype=np.uint8)[copies]
            codes[rng.random((b, n), dtype=np.float32) < missing] = 1
            file.write(pack_codes(codes).tobytes())
    per_chromosome = m // 22 + 1
    lines = (f"{1 + j // per_chromosome}\trs{j}\t0\t{3000 * (j % per_chromosome) + 1}\tA\tG\n" for j in range(m))
    path.with_suffix(".bim").write_text("".join(lines))
    path.with_suffix(".fam").write_text("".join(f"0\tp{i}\t0\t0\t0\t-9\n" for i in range(n)))
    return path


def contestants(path: Path, threads: int) -> tuple[list[Run], list[str]]:
    """Those that can run, ours first, and the names of those that cannot."""
    python, stem, lacking = sys.executable, str(path.with_suffix("")), []
    out = ["-o", "ours.safetensors", "--force", "--quiet"]
    runs = [
        Run("Eigenlens, fit", [python, "-c", FIT, str(path)], inside=True),
        Run("Eigenlens, command line", [python, "-m", "eigenlens", "fit", "pca", str(path), "-k", "10", *out]),
    ]
    if plink := shutil.which("plink2"):
        # Variants of one allele, which a simulation may have, are left out by both.
        usual = [plink, "--bfile", stem, "--mac", "1", "--threads", str(threads), "--pca", "10"]
        runs.append(Run("plink2 --pca", [*usual, "--out", "theirs"]))
        runs.append(Run("plink2 --pca approx", [*usual, "approx", "--out", "approximate"]))
    else:
        lacking.append("plink2")
    runs.append(Run("Eigenlens, reading", [python, "-c", READ, str(path)], inside=True))
    if importlib.util.find_spec("bed_reader"):
        runs.append(Run("bed-reader, reading", [python, "-c", BED_READER, str(path), str(threads)], inside=True))
    else:
        lacking.append("bed-reader")
    return runs, lacking


def race(path: Path, threads: int, repeat: int, folder: Path) -> tuple[list[Run], list[str]]:
    runs, lacking = contestants(path, threads)
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = dict.fromkeys(names, str(threads))
    for _ in range(repeat):
        for run in runs:
            run.once(environment, folder)
    return runs, lacking


def part(title: str, runs: list[Run], folder: Path) -> tuple[results.Part, bool]:
    """The table of one file, and whether we were as fast as PLINK, and took as little memory as asked for."""
    best = {run.name: min(run.seconds) for run in runs}
    ours = {"reading": best["Eigenlens, reading"], "": best["Eigenlens, fit"]}
    rows = [
        (
            run.name, f"{min(run.seconds):.2f} s", f"{min(run.processor):.1f} s", f"{run.memory / 1e6:.0f} MB",
            f"{min(run.seconds) / ours['reading' if 'reading' in run.name else '']:.2f}",
        )
        for run in runs
    ]  # fmt: skip
    head = ("contestant", "time", "processor time", "peak memory", "× ours")
    plink = next((run for run in runs if run.name == "plink2 --pca"), None)
    met = max(run.memory for run in runs[:2]) < MEMORY
    after = f"Memory {'met' if met else 'missed'}: under {MEMORY / 1e9:g} GB."
    if plink is not None:
        ratio, command = (min(plink.seconds) / best[f"Eigenlens, {name}"] for name in ("fit", "command line"))
        theirs, mine = ((folder / f"{name}.eigenval").read_text().split()[:3] for name in ("theirs", "ours"))
        after += (
            f" Speed {'met' if ratio >= 1.0 else 'missed'}: plink2 --pca takes {ratio:.2f} times the time of the fit"
        )
        after += f", {command:.2f} times that of the command line. The first three eigenvalues are "
        after += f"{'' if theirs == mine else 'not '}those of PLINK, as printed."
        met = met and ratio >= 1.0
    return {"before": title, "table": results.table(head, rows), "after": after}, met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bed", type=Path, help="a file of 957 people × 14,389 variants")
    parser.add_argument("--only", choices=("first", "second"), help="one of the two files")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--scale", choices=SIZES, default="full")
    parser.add_argument("--folder", type=Path, help="where files go; default: a temporary folder")
    parser.add_argument("--write", action="store_true", help="keep the result in results/ and README.md")
    given = parser.parse_args()
    parts, good, missing = [], True, set()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        for place, (n, m) in enumerate(SIZES[given.scale]):
            if given.only == ("second", "first")[place]:
                continue
            own = place == 0 and given.bed is not None
            path = (
                given.bed.resolve()
                if own
                else simulate(folder / f"people{place}.bed", n, m, 0.0015 if place == 0 else 0.005)
            )
            runs, lacking = race(path, given.threads, given.repeat, folder)
            title = f"{n:,} people × {m:,} variants ({path.name if own else 'simulated'}), {given.threads} threads:"
            found, met = part(title, runs, folder)
            parts.append(found)
            good, missing = good and met, missing | set(lacking)
            print(f"\n{title}\n\n{results.grid(found['table'])}\n\n{found['after']}", flush=True)
    for each in sorted(missing):
        print(f"{each} is not installed, and left out.")
    if given.write:
        results.write(results.compared("genotypes", ("numpy", "scipy"), parts))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
