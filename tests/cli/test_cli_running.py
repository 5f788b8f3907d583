"""Options that every command has, and what happens to commands that are stopped or run out of something."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

from eigenlens.cli import COMMANDS, main

RNG = np.random.default_rng(8)
X = RNG.standard_normal((60, 3)) @ RNG.standard_normal((3, 3))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with a table and models of it."""
    home, made = os.getcwd(), tmp_path_factory.mktemp("models")
    os.chdir(made)
    table = dict(zip("abc", X.T, strict=True)) | {"kind": np.resize(["u", "v"], 60)}
    pl.DataFrame(table).write_csv("t.csv")
    for name, more in {"pca": (), "ppca": ("-k", "1"), "nb": ("--label", "kind"), "kpca": ("-k", "2")}.items():
        columns = ("-c", "a:c") if name != "nb" else ()
        assert main(["fit", name, "t.csv", *columns, *more, "-o", f"{name}.safetensors", "-q"]) == 0
    os.chdir(home)
    return made


@pytest.fixture
def folder(models, tmp_path, monkeypatch):
    """The same in a new folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(models, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def run(folder, capsys):
    """A command line: (exit code, standard output, standard error)."""

    def command(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return command


WORDS = {
    "demo": ("demo", "two-circles", "-o", "shown"),
    "demo data": ("demo", "two-circles", "--data", "circles.csv"),
    "info": ("info", "t.csv"),
    "info model": ("info", "nb.safetensors"),
    "fit": ("fit", "pca", "t.csv", "-c", "a:c", "-o", "new.safetensors", "--report", "new.html"),
    "fit classes": ("fit", "nb", "t.csv", "--label", "kind", "-o", "new.safetensors"),
    "transform": ("transform", "pca.safetensors", "t.csv", "-o", "new.csv"),
    "denoise": ("denoise", "kpca.safetensors", "t.csv", "-o", "new.csv"),
    "impute": ("impute", "ppca.safetensors", "t.csv", "-o", "new.csv"),
    "sample": ("sample", "nb.safetensors", "-n", "4", "-o", "new.csv"),
    "score": ("score", "nb.safetensors", "t.csv", "--label", "kind", "-o", "new.csv"),
    "predict": ("predict", "nb.safetensors", "t.csv", "--label", "kind", "-o", "new.csv"),
    "compare": ("compare", "t.csv", "-c", "a:c", "-m", "ppca:k=1,pca:k=1", "-o", "new.csv"),
    "select": ("select", "t.csv", "-c", "a:c", "-m", "pca", "-o", "new.csv"),
    "completion": ("completion", "fish"),
    "report": ("report", "pca.safetensors", "t.csv", "-o", "new.html"),
    "export": ("export", "pca.safetensors", "-o", "new.json"),
}


def test_every_command_is_tried_here():
    assert {words[0] for words in WORDS.values()} == set(COMMANDS) - {"explore"}  # a server, which writes no file


@pytest.mark.parametrize("case", WORDS)
def test_a_dry_run_says_what_it_would_do_and_does_nothing(run, folder, case):
    before = sorted(folder.rglob("*"))
    code, out, err = run(*WORDS[case], "--dry-run", "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert sorted(folder.rglob("*")) == before
    if case not in ("info", "info model", "completion"):  # which write nothing
        assert told["dry_run"] is True
        assert told["would"]
        assert any(word.startswith(("new", "shown", "circles")) for line in told["would"] for word in line.split())


@pytest.mark.parametrize("case", WORDS)
def test_json_is_one_value_with_what_the_words_say(run, folder, case):
    words = [word.replace("new", "other") for word in WORDS[case]]
    code, out, err = run(*words, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    if case.startswith("demo"):
        words = ["demo", "two-circles", *(["-o", "again"] if "-o" in words else ["--data", "again.csv"])]
    code, said, _ = run(*(word.replace("other", "new") for word in words))
    assert code == 0
    numbers = {f"{value:.4g}" for value in floats(told)}
    headings = {line.split()[0] for line in said.splitlines() if line[:1].isalpha()}
    assert {"written": "wrote", "read": "read", "next": "next"}.keys() & told.keys() >= {
        key for key, heading in {"written": "wrote", "read": "read"}.items() if heading in headings
    }
    if case in ("fit", "score", "predict"):
        shown = {word for line in said.splitlines() for word in line.split() if "." in word and word[0].isdigit()}
        assert {f"{float(word):.4g}" for word in shown if is_number(word)} & numbers


def floats(value):
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from floats(each)
    elif isinstance(value, float):
        yield value


def is_number(word):
    try:
        return np.isfinite(float(word))
    except ValueError:
        return False


@pytest.mark.parametrize("case", WORDS)
def test_quiet_gives_results_and_nothing_else(run, case):
    code, out, err = run(*WORDS[case], "--quiet")
    assert (code, err) == (0, "")
    if case in ("score", "compare"):
        assert len(out.split()) == 1
    elif "info" in case:
        assert "next" not in out
        assert ("a       float" in out) == (case == "info")
    elif case == "completion":
        assert out.startswith("# Completion of eigenlens.")
    else:
        assert out == ""


@pytest.mark.parametrize(
    "case", [case for case in WORDS if ("-o" in WORDS[case][1:] and case != "demo") or case == "demo data"]
)
def test_files_are_replaced_by_force_alone(run, folder, case):
    for name in ("new.safetensors", "new.html", "new.csv", "new.json", "circles.csv"):
        (folder / name).write_text("mine")
    code, _, err = run(*WORDS[case])
    assert code == 2
    assert "exists already" in err
    assert "--force" in err
    assert run(*WORDS[case], "--force", "-q")[0] == 0
    written = WORDS[case][WORDS[case].index("-o" if "-o" in WORDS[case] else "--data") + 1]
    assert (folder / written).read_bytes() != b"mine"


def test_the_seed_decides_everything_random(run, folder):
    drawn = [run("sample", "nb.safetensors", "-n", 5, "--seed", seed)[1] for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("fit", "kde", "t.csv", "-c", "a:c"), "all 60 rows in memory"),
        (("fit", "kpca", "t.csv", "-c", "a:c", "-k", "2"), "--max-memory allows"),
        (("compare", "t.csv", "-c", "a:c", "-m", "ppca:k=1"), "all 60 rows in memory"),
        (("sample", "pca.safetensors", "-n", "1000"), "the result needs 24.0 kB"),
    ],
)
def test_too_little_memory_is_reported(run, words, what):
    code, _, err = run(*words, "--max-memory", "100B")
    assert code == 6
    assert what in err.splitlines()[0]
    assert err.splitlines()[1].startswith("  fix: ")


@pytest.mark.parametrize("words", [("pca",), ("ppca", "-k", "1"), ("gmm", "-k", "2"), ("lda", "--label", "kind")])
def test_rows_by_blocks_give_the_same_model(run, words):
    columns = ("--columns", "a:c") if words[0] != "lda" else ()
    found = []
    for more in ((), ("--max-memory", "100B")):
        code, out, _ = run("fit", words[0], "t.csv", *columns, *words[1:], *more, "--json")
        assert code == 0
        found.append(json.loads(out))
    assert [each["read"]["missing"] for each in found] == [0, None]
    for name in ("explained_variance", "means", "scalings", "loglik"):
        if name in found[0]:
            np.testing.assert_allclose(found[1][name], found[0][name], rtol=1e-6)


# ---- as a program -------------------------------------------------------------------------------------------


def program(*words, **options):
    return [sys.executable, "-m", "eigenlens", *map(str, words)], options


def test_threads_are_limited_in_libraries_loaded_and_not_yet_loaded():
    code = """
import numpy
from eigenlens.cli.options import RunningOptions
from eigenlens.cli.session import session
import os
with session(RunningOptions(threads=1)):
    import scipy.linalg, polars, threadpoolctl
    from eigenlens.resources import thread_count
    most = max(pool["num_threads"] for pool in threadpoolctl.threadpool_info())
    print(most, thread_count(), polars.thread_pool_size())
print(os.environ["OPENBLAS_NUM_THREADS"], os.environ.get("MKL_NUM_THREADS"))
"""
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_THREADS")}
    environment |= {"OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "1 1 1\n2 None\n"


LIMITED = {
    "transform": ("transform", "pca.safetensors", "rows.npy", "-o", "z.csv"),
    "parquet": ("transform", "pca.safetensors", "rows.npy", "-o", "z.parquet"),
    "npy": ("transform", "pca.safetensors", "rows.npy", "-o", "z.npy"),
    "fit": ("fit", "kde", "rows.npy", "--bandwidth", "0.3", "-o", "k.safetensors", "--report", "k.html"),
    "demo": ("demo", "-o", "shown"),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("case", LIMITED)
def test_a_full_disk_leaves_nothing(folder, case):
    np.save("rows.npy", RNG.standard_normal((3000, 3)))
    before = sorted(folder.iterdir())
    command, _ = program(*LIMITED[case])

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))

    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit)
    assert done.returncode == 6, done.stderr
    assert done.stderr.startswith("error: nothing more can be written: ")
    assert done.stderr.endswith("\n  fix: make room on that disk, or write to another one\n")
    assert sorted(folder.iterdir()) == before


@pytest.mark.few(1)
@pytest.mark.parametrize("case", ["fit", "score", "export"])
def test_an_interrupt_ends_the_command_and_leaves_nothing(folder, case):
    np.save("rows.npy", RNG.standard_normal((60_000 if case == "fit" else 1_000_000, 4)))
    assert main(["fit", "kde", "rows.npy", "--bandwidth", "0.3", "-o", "kde.safetensors", "-q"]) == 0
    words = {
        "fit": ("fit", "kpca", "rows.npy", "-k", "5", "--max-memory", "1GB", "-o", "m.safetensors"),
        "score": ("score", "kde.safetensors", "rows.npy", "-o", "d.csv"),
        "export": ("export", "kde.safetensors", "-o", "k.csv"),
    }[case]
    before = sorted(folder.iterdir())
    command, _ = program(*words, "--progress")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        started = "exporting …\n" if case == "export" else "scoring …\n" if case == "score" else "fitting KernelPCA …\n"
        while (line := process.stderr.readline()) != started:
            assert line == "reading …\n"  # a busy machine takes long enough to read for a line of its own
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in (130, -signal.SIGINT)
        assert process.stderr.read().endswith("interrupted: nothing was written\n")
    assert sorted(folder.iterdir()) == before


@pytest.mark.long
def test_progress_is_for_terminals_unless_it_is_asked_for(folder):
    pty = pytest.importorskip("pty")
    np.save("rows.npy", RNG.standard_normal((1_000_000, 4)))
    assert main(["fit", "kde", "rows.npy", "--bandwidth", "0.3", "-o", "kde.safetensors", "-q"]) == 0
    command, _ = program("score", "kde.safetensors", "rows.npy")  # minutes of work on any machine: it ends by kill
    leader, follower = pty.openpty()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=follower, env=os.environ | {"TERM": "xterm"}
    ) as shown:
        os.close(follower)
        seen = b""
        while b"scoring" not in seen:
            seen += os.read(leader, 4096)
        shown.kill()
    os.close(leader)
    assert b"scoring" in seen
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as silent:
        time.sleep(3.0)
        silent.kill()
        assert silent.stderr.read() == ""
