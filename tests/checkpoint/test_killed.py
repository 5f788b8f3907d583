"""Real processes, killed at random moments: the same program goes on, and the model file has the same bytes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from eigenlens.checkpoint.passes import record_passes, recorded

FITS = {
    "mixture": "GaussianMixture(3, n_init=2, tol=1e-13, random_state=0).fit(rows, checkpoint=checkpoint)",
    "mixture with missing values": "GaussianMixture(2, n_init=1, random_state=0).fit(holes, checkpoint=checkpoint)",
    "lanczos": "PCA(4, solver='lanczos', tol=0, random_state=0).fit(rows, checkpoint=checkpoint)",
    "ppca with missing values": "ProbabilisticPCA(2).fit(holes, checkpoint=checkpoint)",
    "naive bayes": "NaiveBayes('gaussian').fit(rows, labels, checkpoint=checkpoint)",
    "latent classes": "MixtureModel(2, n_init=2, random_state=0).fit(rows, checkpoint=checkpoint)",
}

PROGRAM = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from eigenlens import *
from eigenlens.checkpoint import Checkpoint
rows, holes = scan("rows.npy", block_rows=2000), scan("holes.npy", block_rows=2000)
labels = np.load("labels.npy")
checkpoint = Checkpoint(sys.argv[2], seconds=0) if len(sys.argv) > 2 else None
print("begin", flush=True)
{fit}.save(sys.argv[1])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path, rng = tmp_path_factory.mktemp("killed"), np.random.default_rng(0)
    X = rng.standard_normal((30_000, 6)) @ rng.standard_normal((6, 6))
    X[:10_000] += 1.5
    np.save(path / "rows.npy", X)
    np.save(path / "holes.npy", np.where(rng.random(X.shape) < 0.05, np.nan, X))
    np.save(path / "labels.npy", np.arange(len(X)) % 3)
    return path


def start(folder, fit, *arguments):
    program = PROGRAM.format(fit=FITS[fit])
    process = subprocess.Popen([sys.executable, "-c", program, *arguments], cwd=folder, stdout=subprocess.PIPE)
    with process.stdout:
        assert process.stdout.readline() == b"begin\n"
    return process


def run(folder, fit, *arguments):
    began = time.monotonic()
    process = start(folder, fit, *arguments)
    assert process.wait() == 0
    return (folder / arguments[0]).read_bytes(), time.monotonic() - began


def check_killed(folder, fit, kills, seed):
    rng = np.random.default_rng(seed)
    reference, seconds = run(folder, fit, "reference")
    checkpoint = folder / "fit.checkpoint"
    checkpoint.unlink(missing_ok=True)
    for _ in range(kills):
        process = start(folder, fit, "model", checkpoint.name)
        time.sleep(float(rng.uniform(0.0, 0.5 * seconds)))
        process.kill()
        if process.wait() == 0:
            break
    found, _ = run(folder, fit, "model", checkpoint.name)
    assert found == reference
    assert not checkpoint.exists()
    assert [name for name in os.listdir(folder) if name.endswith(".part")] == []


def test_a_killed_mixture_goes_on_with_the_same_bits(folder):
    check_killed(folder, "mixture", kills=1, seed=0)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("fit", FITS)
def test_fits_that_are_killed_again_and_again_end_with_the_same_bits(folder, fit, seed):
    check_killed(folder, fit, kills=4, seed=seed)


@pytest.mark.long
def test_the_command_goes_on_after_an_interrupt(folder: Path):
    command = [sys.executable, "-m", "eigenlens", "fit", "gmm", "rows.npy", "-k", "3", "--max-memory", "1MB", "-q"]
    options = ["--set", "n_init=2", "--set", "tol=1e-13", "--force"]
    done = subprocess.run([*command, *options, "-o", "a.safetensors"], cwd=folder, check=False)
    assert done.returncode == 0
    saving = ["-o", "b.safetensors", "--checkpoint", "command.checkpoint", "--checkpoint-seconds", "0"]
    process = subprocess.Popen([*command[:-1], *options, *saving], cwd=folder, stderr=subprocess.PIPE)
    while not (folder / "command.checkpoint").exists():
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert b"the same command goes on from it" in process.communicate()[1]
    assert process.returncode == 130
    assert (folder / "command.checkpoint").exists()
    subprocess.run([*command, *options, *saving], cwd=folder, check=True)
    assert (folder / "a.safetensors").read_bytes() == (folder / "b.safetensors").read_bytes()
    assert not (folder / "command.checkpoint").exists()


def test_passes_after_an_interrupt_are_not_recorded(tmp_path):
    path = tmp_path / "call.checkpoint"
    with record_passes(path, dict):
        assert recorded("rows", (1,), lambda: "first") == "first"
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert recorded("rows", (2,), lambda: "for the best so far") == "for the best so far"
    assert path.exists()
    with record_passes(path, dict):
        assert recorded("rows", (1,), lambda: "again") == "first"
        assert recorded("rows", (3,), lambda: "second") == "second"
    assert not path.exists()
