"""The page "where is what" and CONTRIBUTING.md name files that exist and names that they define."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "eigenlens"
PAGE = (ROOT / "docs" / "where-is-what.md").read_text(encoding="utf-8")
QUESTIONS = [line for line in PAGE.split("\n## ")[0].splitlines() if line.startswith("| ") and "?" in line]
RECIPES = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PATH = re.compile(r"`([a-z_]+/[\w/.-]*|(?:catalogue|errors|model_file)\.py)`")


def test_twenty_questions_are_answered():
    assert len(QUESTIONS) == 20


@pytest.mark.parametrize("line", QUESTIONS)
def test_an_answer_names_a_file_that_exists(line):
    answer = line.split("|")[2]
    paths = PATH.findall(answer)
    assert paths
    for path in paths:
        assert (PACKAGE / path).exists() or (ROOT / path).exists(), path
    for name, path in re.findall(r"`(\w+)` in `([\w/]+\.py)`", answer):
        assert re.search(rf"(?m)^(?:def|class) {name}\b|^{name}\b", (PACKAGE / path).read_text(encoding="utf-8"))


def test_the_recipes_name_files_that_exist():
    paths = [path for path in PATH.findall(RECIPES) if not path.startswith("docs/build")]
    assert len(paths) > 10
    assert [path for path in paths if not (PACKAGE / path).exists() and not (ROOT / path).exists()] == []


def test_every_recipe_has_a_test():
    for recipe in re.findall(r"`(tests/recipes/\w+\.py)`", RECIPES):
        assert (ROOT / recipe).exists(), recipe
    assert set(re.findall(r"`tests/recipes/(\w+\.py)`", RECIPES)) == {
        p.name for p in (ROOT / "tests/recipes").glob("*.py")
    }
