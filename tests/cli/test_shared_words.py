"""Columns with the same few words, whose order is not known, are warned of, with the model that takes them."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from eigenlens.cli import main

RNG = np.random.default_rng(5)
POLISH = ["zdecydowanie nie", "raczej nie", "trudno powiedzieć", "raczej tak", "zdecydowanie tak"]
WORDS = "have the same 5 words, whose order is not known, and are not fitted"


def answers(words, columns=3, n=60):
    """Return a table of numbers beside columns of words, the first of which has them all."""
    named = {f"q{j}": [words[i] for i in RNG.integers(0, len(words), n)] for j in range(1, columns + 1)}
    named["q1"][: len(words)] = words
    return pl.DataFrame(named | {"x": RNG.normal(size=n).round(3), "y": RNG.normal(size=n).round(3)})


@pytest.fixture
def warned(tmp_path, monkeypatch, capsys):
    """The warnings of a fit to a table."""
    monkeypatch.chdir(tmp_path)

    def fit(table, *words):
        table.write_csv("t.csv", separator=";")
        capsys.readouterr()
        assert main(["fit", *words, "t.csv", "--json"]) == 0
        return json.loads(capsys.readouterr().out).get("warnings", [])

    return fit


def test_answers_in_an_unknown_order_are_warned_of(warned):
    (found,) = [text for text in warned(answers(POLISH), "pca") if WORDS in text]
    assert found.startswith("columns 'q1', 'q2', 'q3' ")
    assert "write 1 to 5 for the words in the file; fit mix takes them as categories" in found


def test_the_model_that_is_named_takes_them_and_does_not_warn(warned):
    assert not any("same 5 words" in text for text in warned(answers(POLISH), "mix", "-k", "2"))


@pytest.mark.parametrize(
    "table",
    [
        answers(["never", "rarely", "sometimes", "often", "always"]),  # an order that is known: numbers
        answers(POLISH, columns=2),
        answers(["Graz", "Linz", "Wels"]),
        answers([f"town {letter}" for letter in "abcdefghij"]),
    ],
    ids=["known", "two", "three words", "many words"],
)
def test_other_words_are_not(warned, table):
    assert not any("whose order is not known" in text for text in warned(table, "pca"))
