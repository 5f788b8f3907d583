"""Exercises of the course: how many there are, how they are numbered, and that every answer runs and checks itself."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

COURSE = Path(__file__).parents[2] / "docs" / "course"
LECTURES = ("pca", "kernel-pca", "latent-gaussians", "density-estimation", "bayes-classifiers")
GRADES = ["For the class", "Homework", "For those who want more"]
EXERCISE = re.compile(r"^### (\d)\.(\d+) (.+?)\n(.*?)(?=^##|\Z)", flags=re.DOTALL | re.MULTILINE)
ANSWER = re.compile(r"^:::\{dropdown\} Answer\n(.*?)^:::$", flags=re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"^```\{run\}\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
NUMBERS = ("eight", "nine", "ten", "eleven", "twelve")


def page_of(lecture: str) -> str:
    return (COURSE / f"{lecture}-exercises.md").read_text(encoding="utf-8")


def test_there_are_more_than_forty_exercises():
    assert sum(len(EXERCISE.findall(page_of(lecture))) for lecture in LECTURES) > 40


@pytest.mark.parametrize("lecture", LECTURES)
def test_exercises_are_numbered_by_lecture_and_graded(lecture):
    page = page_of(lecture)
    found = [(int(chapter), int(number)) for chapter, number, *_ in EXERCISE.findall(page)]
    assert found == [(1 + LECTURES.index(lecture), number) for number in range(1, len(found) + 1)]
    assert re.findall(r"^## (.+)$", page, flags=re.MULTILINE) == GRADES


@pytest.mark.parametrize("lecture", LECTURES)
def test_the_syllabus_counts_the_exercises(lecture):
    count = len(EXERCISE.findall(page_of(lecture)))
    assert f"[{NUMBERS[count - 8]}](course/{lecture}-exercises.md)" in (COURSE.parent / "course.md").read_text("utf-8")


def test_the_syllabus_has_every_exercise_beside_one_topic_and_every_topic_of_a_lecture_has_one():
    lectures = (COURSE.parent / "course.md").read_text("utf-8").split("\n## Lecture ")[1:]
    for lecture, text in zip(LECTURES, lectures, strict=True):
        rows = [line for line in text.split("\n") if line.startswith("| ")][1:]
        beside = [re.findall(rf"\[(\d\.\d+)\]\(course/{lecture}-exercises\.md#", row) for row in rows]
        assert all(beside), rows[beside.index([])]
        found = [f"{chapter}.{number}" for chapter, number, *_ in EXERCISE.findall(page_of(lecture))]
        assert sorted(number for row in beside for number in row) == sorted(found)


@pytest.mark.parametrize("lecture", LECTURES)
def test_every_exercise_asks_something_and_has_one_answer_that_checks_itself(lecture):
    for _, number, title, text in EXERCISE.findall(page_of(lecture)):
        question, *answers = ANSWER.split(text)
        assert len(question.split()) > 10, title
        assert len(answers) == 2, (number, title)  # the answer, and nothing behind it
        assert not answers[1].strip()
        words, *blocks = re.split(r"^```", answers[0], flags=re.MULTILINE)
        assert len(words.split()) > 5, title
        assert any("assert " in block for block in blocks), title


@pytest.mark.parametrize("lecture", LECTURES)
def test_answers_run_without_warnings(lecture, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for block in BLOCK.findall(page_of(lecture)):
            exec(compile(block, f"{lecture}-exercises", "exec"), names)
