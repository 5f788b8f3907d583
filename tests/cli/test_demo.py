"""The demonstration, from end to end."""

from __future__ import annotations

import os
import subprocess
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from eigenlens import PCA, datasets
from eigenlens.cli.commands import demo
from eigenlens.data.examples import Example

mpl.use("Agg")


def test_demo_prints_the_table_and_writes_two_figures_and_a_report(tmp_path, capsys):
    open_before = plt.get_fignums()
    written = demo.show_first_example(tmp_path / "new" / "report")
    printed = capsys.readouterr().out
    assert "component  eigenvalue  share %  cumulative %" in printed
    assert "PC1         105073.35    67.44         67.44" in printed
    assert "N Ireland stands apart" in printed
    assert [path.name for path in written] == ["scree.png", "biplot.png", "report.html"]
    assert written == demo.targets("uk-food", tmp_path / "new" / "report")
    assert sorted((tmp_path / "new" / "report").iterdir()) == sorted(written)
    assert all(f"wrote {path}" in printed for path in written)
    page = written[-1].read_text(encoding="utf-8")
    assert "What people in four countries eat" in page
    assert '"N Ireland"' in page
    assert "eigenlens demo" in page
    for path in written[:2]:
        picture = plt.imread(path)
        assert picture.shape[:2] == (675, 900)  # 6 by 4.5 inches at 150 dpi
        assert picture[..., :3].std() > 0.05
    assert plt.get_fignums() == open_before


def test_demo_replaces_older_figures(tmp_path):
    (tmp_path / "scree.png").write_bytes(b"old")
    demo.show_first_example(tmp_path)
    assert (tmp_path / "scree.png").read_bytes()[:4] == b"\x89PNG"


def test_a_figure_that_cannot_be_put_in_place_leaves_nothing_behind(tmp_path):
    (tmp_path / "scree.png").mkdir()
    with pytest.raises(OSError):
        demo.show_first_example(tmp_path)
    plt.close("all")
    assert [path.name for path in tmp_path.iterdir()] == ["scree.png"]


def test_findings_follow_the_numbers():
    food = datasets.load("uk-food")
    share, apart, foods = demo.findings(PCA().fit(food.data), food)
    assert share == "PC1 holds 67.4% of the variance; 2 of 4 components reach 90%."
    assert apart.startswith("On PC1, N Ireland stands apart")
    assert "Fresh fruit (less), Alcoholic drinks (less), Fresh potatoes (more)" in foods

    turned = Example("turned", -food.data[::-1], food.rows[::-1], food.columns, "the same, upside down")
    _, apart, foods = demo.findings(PCA().fit(turned.data), turned)
    assert apart.startswith("On PC1, N Ireland stands apart")
    assert "Fresh fruit (more), Alcoholic drinks (more), Fresh potatoes (less)" in foods

    rng = np.random.default_rng(0)
    data = np.concatenate([rng.standard_normal((5, 3)), [[0.0, 50.0, 0.0]]])
    example = Example("one", data, tuple("abcdef"), ("u", "v", "w"), "one row far away")
    _, apart, columns = demo.findings(PCA().fit(data), example, top=1)
    assert "f stands apart" in apart
    assert "v (more)" in columns


@pytest.mark.long
def test_demo_runs_as_a_module_without_a_display(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "MPLBACKEND")}
    command = [sys.executable, "-W", "error", "-m", "eigenlens.cli.commands.demo", "out"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert (tmp_path / "out" / "biplot.png").exists()
    assert os.path.join("out", "scree.png") in done.stdout
    assert os.path.join("out", "report.html") in done.stdout


@pytest.mark.parametrize("name", ["two-circles", "questionnaire"])
def test_other_examples_have_a_report_too(name, tmp_path):
    said = []
    written = demo.run_demo(name, tmp_path, say=lambda *words, **more: said.extend(words))
    assert written == demo.targets(name, tmp_path)
    assert datasets.load(name).columns[0] in written[0].read_text(encoding="utf-8")
    assert said[0] == datasets.load(name).about


def test_every_example_has_a_model_to_show():
    assert list(demo.DEMO_MODELS) == list(datasets.EXAMPLES)
