"""Two versions of Eigenlens on the same work: what a change of the code costs or saves.

python benchmarks/versions.py OLD/src NEW/src                both, in turn, and the ratio of their times
python benchmarks/versions.py OLD/src NEW/src --only kde     some of the work
python benchmarks/versions.py OLD/src NEW/src --write ABOUT  also keeps the table, under a sentence on what changed

Every piece of work runs in a process of its own per version and round, so that a slow moment hits both; the best time
counts. The compiled kernels of each version must have been built beside its sources.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import results

PREPARE = """
import json, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
import eigenlens as el
rng = np.random.default_rng(0)
def correlated(n, d, seed=1):
    r = np.random.default_rng(seed)
    return r.standard_normal((n, d)) @ r.standard_normal((d, d)) + r.standard_normal(d)
def incomplete(X, share=0.2):
    return np.where(np.random.default_rng(2).random(X.shape) < share, np.nan, X)
def blobs(n, d, k):
    r = np.random.default_rng(3)
    return r.standard_normal((n, d)) + 4.0 * r.standard_normal((k, d))[r.integers(k, size=n)]
def text_table(rows, folder):
    import polars as pl
    r = np.random.default_rng(4)
    path = f"{folder}/table.csv"
    pl.DataFrame({f"c{j}": r.standard_normal(rows) for j in range(20)}).write_csv(path)
    return path
"""

WORK = {
    "pca small": ("X = correlated(150, 4)", "el.PCA(2).fit_transform(X)"),
    "pca tall": ("X = correlated(400_000, 50)", "el.PCA(10).fit(X)"),
    "pca wide": ("X = correlated(300, 300) @ rng.standard_normal((300, 20_000))", "el.PCA(10).fit(X)"),
    "pca float32": ("X = correlated(400_000, 50).astype(np.float32)", "el.PCA(10).fit(X)"),
    "pca csv": ("path = text_table(200_000, folder)", "el.PCA(5).fit(el.scan(path))"),
    "pca missing": ("X = incomplete(correlated(5_000, 20))", "el.PCA(5, missing='em').fit(X)"),
    "kernel pca exact": ("X = correlated(3_000, 20)", "el.KernelPCA(10).fit(X)"),
    "kernel pca landmarks": ("X = correlated(50_000, 20)",
                             "el.KernelPCA(10, approximation='rpcholesky', n_landmarks=300, random_state=0).fit(X)"),
    "ppca": ("X = correlated(100_000, 30)", "el.ProbabilisticPCA(5).fit(X)"),
    "ppca missing": ("X = incomplete(correlated(5_000, 50))", "el.ProbabilisticPCA(10).fit(X)"),
    "factor analysis": ("X = correlated(10_000, 60)", "el.FactorAnalysis(6).fit(X)"),
    "mixture small": ("X = blobs(500, 3, 3)", "el.GaussianMixture(3, random_state=0).fit(X)"),
    "mixture full": ("X = blobs(100_000, 10, 8)", "el.GaussianMixture(8, random_state=0, max_iter=30).fit(X)"),
    "mixture diagonal": ("X = blobs(100_000, 20, 8)",
                         "el.GaussianMixture(8, covariance_type='diag', random_state=0, max_iter=30).fit(X)"),
    "mixture missing": ("X = incomplete(blobs(20_000, 8, 3))", "el.GaussianMixture(3, random_state=0).fit(X)"),
    "kde line": ("x = rng.standard_normal((100_000, 1))", "el.KernelDensity().fit(x).score_samples(x)"),
    "kde plane": ("X = rng.standard_normal((20_000, 2))", "el.KernelDensity().fit(X).score_samples(X)"),
    "kde bounded": ("x = rng.random((50_000, 1))",
                    "el.KernelDensity(bandwidth=0.05, bounds=(0.0, 1.0)).fit(x).score_samples(x)"),
    "kde wider than its bounds": ("x = rng.random((20_000, 1))",
                    "el.KernelDensity(bandwidth=3.0, kernel='cosine', bounds=(0.0, 1.0)).fit(x).score_samples(x)"),
    "bandwidth sj": ("x = rng.standard_normal((1_000_000, 1))",
                     "el.KernelDensity(bandwidth='sheather-jones').fit(x)"),
    "naive bayes gaussian": ("X = blobs(500_000, 20, 5); y = rng.integers(5, size=500_000)",
                             "el.NaiveBayes().fit(X, y).predict(X)"),
    "naive bayes categories": ("X = rng.integers(8, size=(500_000, 20)); y = rng.integers(5, size=500_000)",
                               "el.NaiveBayes('categorical').fit(X, y).predict(X)"),
    "naive bayes many categories": (
        "import polars as pl; y = rng.integers(2, size=300_000); "
        "X = pl.DataFrame({'a': rng.integers(100_000, size=300_000).astype(str)})",
        "el.NaiveBayes().fit(X, y)"),
    "linear discriminant": ("X = blobs(300_000, 30, 5); y = rng.integers(5, size=300_000)",
                            "el.LinearDiscriminant().fit(X, y).predict(X)"),
    "quadratic discriminant": ("X = blobs(300_000, 30, 5); y = rng.integers(5, size=300_000)",
                               "el.QuadraticDiscriminant().fit(X, y).predict(X)"),
    "bayes classifier": ("X = blobs(50_000, 5, 3); y = rng.integers(3, size=50_000)",
                         "el.BayesClassifier(el.GaussianMixture(2, random_state=0)).fit(X, y).predict(X)"),
    "save and load": ("m = el.GaussianMixture(3, random_state=0).fit(blobs(500, 3, 3)); p = f'{folder}/m.safetensors'",
                      "m.save(p); el.load(p)"),
}  # fmt: skip
"""The name of a piece of work: its preparation, and what is timed."""

FIT = ["-m", "eigenlens", "fit", "pca", "{folder}/iris.csv", "--force", "-o", "{folder}/iris.safetensors"]

COMMANDS = {
    "import eigenlens": ["-c", "import eigenlens"],
    "command --help": ["-m", "eigenlens", "--help"],
    "command fit --help": ["-m", "eigenlens", "fit", "--help"],
    "command info": ["-m", "eigenlens", "info", "{folder}/iris.csv"],
    "command fit pca": FIT,
    "command fit pca --report": [*FIT, "--report", "{folder}/iris.html"],
}
"""Whole commands, with the start of Python."""

TIMER = """
folder = sys.argv[1]
{prepare}
times = []
begin = time.perf_counter()
while len(times) < 3 or (time.perf_counter() - begin < 1.0 and len(times) < 200):
    start = time.perf_counter()
    {work}
    times.append(time.perf_counter() - start)
print(json.dumps(min(times)))
"""

WHOLE = """
import subprocess, sys, time, json, os
times = []
for _ in range(5):
    start = time.perf_counter()
    done = subprocess.run([sys.executable, *sys.argv[2:]], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    times.append(time.perf_counter() - start)
    if done.returncode: sys.exit(done.stderr.decode())
print(json.dumps(min(times)))
"""


def seconds(source: Path, name: str, folder: str) -> float:
    """Return the best time of a piece of work with the package in `source`, in a fresh process."""
    if name in WORK:
        prepare, work = WORK[name]
        arguments = ["-c", PREPARE + TIMER.format(prepare=prepare, work=work), folder]
    else:
        arguments = ["-c", WHOLE, folder, *(part.format(folder=folder) for part in COMMANDS[name])]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{name} failed with {source}:\n{done.stderr[-2000:]}")
    return float(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--rounds", type=int, default=5, help="processes per version and piece of work")
    parser.add_argument("--only", nargs="+", default=[""], help="how the names of the work begin")
    parser.add_argument("--write", metavar="ABOUT", help="keep the table, under a sentence on what changed")
    options = parser.parse_args()
    rows = []
    print("| work | before | after | after / before |\n|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        write_iris(Path(folder) / "iris.csv")
        for name in [name for name in (*WORK, *COMMANDS) if name.startswith(tuple(options.only))]:
            rounds = [
                [seconds(source, name, folder) for source in (options.old, options.new)] for _ in range(options.rounds)
            ]
            before, after = (min(times) for times in zip(*rounds, strict=True))
            rows.append((name, f"{1e3 * before:.4g} ms", f"{1e3 * after:.4g} ms", f"{after / before:.2f}"))
            print(f"| {' | '.join(rows[-1])} |", flush=True)
    if options.write:
        keep(rows, options.write, options.rounds)


def keep(rows: list[tuple[str, str, str, str]], about: str, rounds: int) -> None:
    """Keep the table, and put it into README.md."""
    introduction = (
        f"{about} Best of {rounds} processes per version, in turn, each of which takes the best of at least three "
        "runs; ratios within 0.1 of 1 are noise of the machine."
    )
    table = results.table(("work", "before", "after", "after / before"), rows)
    part: results.Part = {"before": introduction, "table": table, "after": ""}
    results.write(results.compared("versions", ("numpy", "scipy", "scikit-learn", "polars"), [part]))


def write_iris(path: Path) -> None:
    """Write the measurements of the flowers as a table with names, as a newcomer would have it."""
    from sklearn.datasets import load_iris

    iris = load_iris()
    lines = [",".join(iris.feature_names), *(",".join(map(str, row)) for row in iris.data)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
