"""Genotypes on the command line: people as rows, with the columns of a table about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.catalogue import MODELS
from eigenlens.cli.column_roles import ColumnRoles
from eigenlens.cli.errors import fail
from eigenlens.cli.input_table import Table
from eigenlens.cli.model_options import ModelOptions, flag_of
from eigenlens.cli.options import TEXT_OPTIONS, ReadingOptions, given_flags
from eigenlens.data.files.decision import Decision
from eigenlens.data.genotypes.base import Genotypes
from eigenlens.data.genotypes.genotype_files import is_genotype_path, open_genotypes
from eigenlens.data.genotypes.people_table import JoinedPeople, join_people
from eigenlens.data.memory import ArraySource
from eigenlens.errors import closest, suggest
from eigenlens.tables.names import axis_names
from eigenlens.tables.text_table import count_noun

MAX_CATEGORIES = 60
"""A column of people with at most this many different texts is one to colour by, where none is named."""

TAKEN = ("people", "id", "label", *TEXT_OPTIONS)
"""Options of reading that genotypes take; those about text are for the table of people."""


@dataclass(frozen=True, eq=False)
class GenotypeTable(Table):
    """People with their calls; after a fit, with their scores in place of these."""

    def scored(self, estimator: Any) -> Table:
        """Return the people with their scores on the components of a fitted model, those of the fit their own."""
        same = estimator.people_.pairs == self.source.people.pairs
        scores = np.asarray(estimator.scores_ if same else estimator.transform(self.source))
        names = axis_names(estimator, scores.shape[1])
        return replace(self, source=ArraySource(scores, names=tuple(names)), scores=scores)

    @property
    def script(self) -> str:
        """Python that names the files, and the columns that were joined to them."""
        paths = [str(path) for path in self.paths]
        return f"X = {(paths[0] if len(paths) == 1 else paths)!r}"

    def __str__(self) -> str:
        people = "1 person" if self.n == 1 else f"{self.n:,} people"
        return f"{self.shown_paths}: {people}, {count_noun(self.d, 'variant')}"


def find_command(model: str, files: Sequence[str], rows: bool, options: ModelOptions) -> str:
    """Return the model that a command line means: pca of genotypes is gpca, unless they are to be plain rows.

    >>> [find_command("pca", [file], False, ModelOptions()) for file in ("people.bed", "people.csv")]
    ['gpca', 'pca']
    """
    if model != "pca" or rows or not all(map(is_genotype_path, files)):
        return model
    plain, own = (MODELS[name].options for name in ("PCA", "GenotypePCA"))
    given = [name for name in plain if name not in own and getattr(options, name) not in (None, False)]
    if given:
        what = f"{flag_of(given[0])} is not an option of pca of genotypes, which standardises by allele frequencies"
        fail(what, "leave it out, or add --rows to take the genotypes as any table of numbers")
    return "gpca"


AS_GENOTYPES = Decision(
    "genotypes",
    "genotypes: variants are standardised by √(2p(1 − p)), p the frequency of an allele, as PLINK does (gpca)",
    fix="--rows takes them as any table of numbers",
)
"""The decision where pca is asked for and genotypes are given."""


def read_genotype_table(paths: Sequence[str], reading: ReadingOptions) -> Table:
    """Return the people of files of genotypes, with the columns of the table about them."""
    names = [each.name for each in fields(reading) if each.name not in TAKEN]
    if others := given_flags(reading, *names):
        fix = "choose people and variants with plink2 --keep and --extract"
        fail(f"{others[0]} is not for genotypes", fix)
    data = open_genotypes(list(paths))
    joined = None if reading.people is None else _join(data, reading)
    columns = {} if joined is None else joined.columns
    labels = _labels(columns, reading)
    others_shown = tuple(name for name in columns if name not in labels and _informative(columns[name]))
    roles = ColumnRoles(
        features=[], text=[], id="IID", labels=labels, weight=None, supplementary=others_shown, unused=()
    )
    beside: Mapping[str, Array] = columns | {"IID": data.people.distinct_names}
    return GenotypeTable(
        paths=tuple(map(Path, paths)), source=data, n=data.n, d=len(data.variants), missing=0, skipped=0, roles=roles,
        beside=lambda name: beside[name], label=columns[labels[0]] if labels else None, weight=None,
        decisions=() if joined is None else _decisions(joined, labels, reading),
    )  # fmt: skip


def _join(data: Genotypes, reading: ReadingOptions) -> JoinedPeople:
    written = {name: value for name in TEXT_OPTIONS if (value := getattr(reading, name)) is not None}
    return join_people(data.people, reading.people, reading.id, **written)


def _labels(columns: Mapping[str, Array], reading: ReadingOptions) -> tuple[str, ...]:
    """Return the columns to colour by: those of --label, or else the texts that several people share."""
    if not reading.label:
        return tuple(name for name, values in columns.items() if values.dtype.kind in "OU" and _informative(values))
    for name in reading.label:
        if name not in columns:
            what = f"--label {name!r} is not a column of --people" if reading.people else "--label needs --people FILE"
            fail(what, suggest(closest(name, columns), columns) if columns else "name a table of the people")
    return tuple(reading.label)


def _informative(values: Array) -> bool:
    """Return whether a column tells groups of people apart: numbers that differ, or a few texts."""
    known = [value for value in values.tolist() if value is not None and value == value]
    return len(set(known)) > 1 and (values.dtype.kind == "f" or len(set(known)) <= MAX_CATEGORIES)


def _decisions(joined: JoinedPeople, labels: Sequence[str], reading: ReadingOptions) -> tuple[Decision, ...]:
    found = f"{int(joined.found.sum()):,} of {joined.found.size:,} people were found in '{reading.people}'"
    colour = f"; {labels[0]!r} colours them" if labels and not reading.label else ""
    return (Decision("people", f"{found} by the column {joined.key!r}{colour}"),)
