"""Model files of version 0.1.0 load, give the numbers that they gave then, and can be saved again."""

from __future__ import annotations

import json

import numpy as np
import pytest
from golden_answers import FILES, LEAST, as_recorded, ask, difference, parameters, read_expected, tolerance

import eigenlens
from eigenlens.model_file import read

RECORDS = read_expected()

NEWER = {"MixtureModel"}
"""Estimators that the version of the files did not have."""


def differences(name, model, record):
    """Return what a model answers otherwise than expected, one line for each."""
    found = []
    if type(model) is not getattr(eigenlens, record["class"]):
        found.append(f"a {type(model).__name__} is not a {record['class']}")
    given = as_recorded(json.loads(json.dumps(parameters(model))), record["parameters"])
    if given != record["parameters"]:
        found.append(f"parameters: {given} are not {record['parameters']}")
    answered = {}
    for key, expected in record["answers"].items():
        query, question, place = key.split("/", 2)
        if (query, question) not in answered:
            answered[query, question] = ask(model, query, question)
        now = answered[query, question]
        said = difference(now[place], expected, tolerance(f"{name}/{key}")) if place in now else "there is none"
        if said:
            found.append(f"{key}: {said}")
    return found


@pytest.mark.few(60)
@pytest.mark.parametrize("name", sorted(RECORDS))
def test_a_file_gives_the_same_numbers_and_so_does_its_copy(name, tmp_path):
    model = eigenlens.load(FILES / f"{name}.safetensors")
    assert not differences(name, model, RECORDS[name])
    model.save(tmp_path / "copy.safetensors")
    assert not differences(name, eigenlens.load(tmp_path / "copy.safetensors"), RECORDS[name])
    kind, arrays, header = read(FILES / f"{name}.safetensors")
    copy = read(tmp_path / "copy.safetensors")  # earlier versions read this one, too
    assert (kind, set(arrays), set(header)) == (copy[0], set(copy[1]), set(copy[2]))
    assert all(arrays[each].dtype == copy[1][each].dtype for each in arrays)


def test_every_file_has_expectations_and_every_expectation_a_file():
    assert {path.name for path in FILES.iterdir()} == {f"{name}.safetensors" for name in RECORDS}
    assert all(len(record["answers"]) > 5 and record["queries"] for record in RECORDS.values())


def test_every_public_estimator_has_a_file():
    public = {name for name in eigenlens.__all__ if hasattr(getattr(eigenlens, name), "save")}
    assert public - NEWER == {record["class"] for record in RECORDS.values()}


@pytest.mark.parametrize("name", ["pca-plain", "naive-bayes-labels-words", "bayes-classifier-mixture"])
def test_changes_are_noticed(name):
    """A number changed in its tenth digit, a label, a dtype and a parameter."""
    record = RECORDS[name]
    model = eigenlens.load(FILES / f"{name}.safetensors")
    for key, expected in record["answers"].items():
        if isinstance(expected, np.ndarray) and expected.dtype == np.float64 and expected.any():
            most = np.unravel_index(np.abs(expected).argmax(), expected.shape)
            other = expected.copy()
            other[most] += max(1e-10, 5.0 * tolerance(f"{name}/{key}")) * np.abs(other[most]) + 10.0 * LEAST
        elif isinstance(expected, np.ndarray):
            other = expected.astype(np.complex128)
        else:
            other = [expected, "other"]
        changed = record | {"answers": record["answers"] | {key: other}}
        assert len(differences(name, model, changed)) == 1, key
    assert len(differences(name, model, record | {"parameters": record["parameters"] | {"random_state": 99}})) == 1
    assert len(differences(name, model, record | {"class": "FactorAnalysis"})) == 1
