"""`eigenlens select`: how many components, factors or components of a mixture the rows support, by several rules."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator
from typing import Annotated, Any, NamedTuple

import typer

from eigenlens.cli.commands.resume_command import resume_command
from eigenlens.cli.errors import exit_status, fail
from eigenlens.cli.files import OUTPUT_FORMATS, check_target, free_name, require_tables, write_table
from eigenlens.cli.options import (
    CheckpointOptions,
    DataFiles,
    Output,
    ReadingOptions,
    RunningOptions,
    given_flags,
    takes,
)
from eigenlens.cli.session import session
from eigenlens.errors import EigenlensError, closest, suggest
from eigenlens.tables.text_table import align


class SuggestedNumber(NamedTuple):
    """The number that one rule suggests for one model; None where the rule does not apply, with the reason as note."""

    model: str
    rule: str
    number: int | None
    note: str


@takes(reading=ReadingOptions, running=RunningOptions, saving=CheckpointOptions)
def select(
    files: DataFiles,
    reading: ReadingOptions,
    running: RunningOptions,
    saving: CheckpointOptions,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--models", "-m", metavar="LIST", help="pca, fa, gmm or mix, separated by commas. Default: pca, fa, gmm."
        ),
    ] = None,
    standardize: Annotated[
        bool, typer.Option("--standardize", metavar="", help="pca: divide columns by their standard deviations.")
    ] = False,
    most: Annotated[
        int, typer.Option("--most", metavar="K", min=1, help="gmm, mix: the most components that are tried.")
    ] = 6,
    output: Output = None,
) -> None:
    """Choose a number of components, by every rule for it.

    pca: components by shares of variance, parallel analysis, cross-validation and others. fa: factors by BIC, held-out
    likelihood, parallel analysis and partial correlations. gmm, mix: components by BIC, ICL and AIC; mix takes text.
    """
    require_tables("select", files, RULES)
    from eigenlens.cli.input_table import read_aloud
    from eigenlens.cli.table_checks import warn_suspicious_columns
    from eigenlens.cli.unit_check import warn_of_units_of_rows

    with session(running) as now:
        target = check_target(output, running.force, OUTPUT_FORMATS, files)
        names = _model_names(models)
        table = read_aloud(now, files, reading, mixed=names == ["mix"], guess=True)
        names = ["gmm"] if models is None and table.d == 1 else names
        warn_suspicious_columns(table)
        if "pca" in names and not standardize:
            warn_of_units_of_rows(now, table)
        if running.dry_run:
            return now.show_plan(f"choose the number of components of {', '.join(names)}", targets=[target])
        how, alone = (standardize, most, running.seed), len(names) == 1
        settings = dict(zip(("--standardize", "--most", "--seed"), how, strict=True)) | {"--models": names}
        with resume_command(now, saving, table, [target], **settings), now.progress("comparing"):
            rows = [each for name in names for each in _suggest(name, table, how, alone)]
        now.check_interrupt()
        now.show(_aligned(rows), always=target is None)
        columns = dict(zip(SuggestedNumber._fields, map(list, zip(*rows, strict=True)), strict=True))
        now.add_facts(suggested=columns)
        if target is not None:
            write_table(columns, target, now)
        now.show_written(target)
        now.show_warnings()
        now.show_next(_next_command(rows, files, reading, standardize))
    return None


def _model_names(models: list[str] | None) -> list[str]:
    typed = [word.strip() for each in models or DEFAULT_MODELS for word in each.split(",") if word.strip()]
    for word in typed:
        if word not in RULES:
            fail(
                f"--models {word}: its number of components is not chosen by rules",
                suggest(closest(word, RULES), RULES),
            )
    return list(dict.fromkeys(typed))


def _suggest(model: str, table: Any, how: tuple[bool, int, int], alone: bool) -> list[SuggestedNumber]:
    """Return what the rules of one model suggest; one among several that does not apply is a line with the reason.

    `how`: whether to standardize, the most components, and the seed.
    """
    try:
        return list(RULES[model](table, *how))
    except EigenlensError as error:
        if alone:
            raise
        return [SuggestedNumber(model, "", None, f"does not apply: {exit_status(error)[1]}")]


def _components(table: Any, standardize: bool, most: int, seed: int) -> Iterator[SuggestedNumber]:
    from eigenlens.pca.select_components import select_components

    found = select_components(
        table.source, standardize=standardize, sample_weight=table.weight, random_state=seed
    )  # fmt: skip
    for each in found:
        applies = not math.isnan(each.share)
        note = f"{each.share:.1%} of the variance; {each.note}" if applies else each.note
        yield SuggestedNumber("pca", each.rule, each.n_components if applies else None, " ".join(note.split()))


def _factors(table: Any, standardize: bool, most: int, seed: int) -> Iterator[SuggestedNumber]:
    from eigenlens.latent.factor.estimator import FactorAnalysis
    from eigenlens.latent.n_components import FACTOR_RULES

    for rule in FACTOR_RULES:
        model = FactorAnalysis(rule, random_state=seed)
        try:
            model.fit(table.source, sample_weight=table.weight)
        except EigenlensError as error:
            yield SuggestedNumber("fa", rule, None, f"does not apply: {exit_status(error)[1]}")
            continue
        choice = model.selection_
        tried = "" if choice is None else f" among {choice.counts.min()} to {choice.counts.max()}"
        yield SuggestedNumber("fa", rule, int(model.n_components_), f"{FACTOR_NOTES.get(rule, 'best')}{tried}")


FACTOR_NOTES = {
    "bic": "smallest BIC",
    "cv": "largest likelihood of held-out rows",
    "parallel": "above the 95% point of permuted columns (Horn 1965)",
    "map": "smallest mean squared partial correlation (Velicer 1976)",
}


def _mixtures(model: str, features: Any) -> Callable[..., Iterator[SuggestedNumber]]:
    def suggest_numbers(table: Any, standardize: bool, most: int, seed: int) -> Iterator[SuggestedNumber]:
        from eigenlens.mixture.select import select_mixture

        numbers = range(1, min(most, table.n) + 1)
        found = select_mixture(
            table.source, numbers, sample_weight=table.weight, random_state=seed, features=features
        )  # fmt: skip
        usable = [i for i in range(len(found.types)) if found.usable[i]] or list(range(len(found.types)))
        for rule in ("bic", "icl", "aic"):
            best = min(usable, key=lambda i: getattr(found, rule)[i])
            what = f"smallest {rule.upper()}, {getattr(found, rule)[best]:.2f}"
            note = what if features else f"{what}, covariance {found.types[best]}"
            yield SuggestedNumber(model, rule, int(found.components[best]), note)

    return suggest_numbers


RULES: dict[str, Callable[..., Iterator[SuggestedNumber]]] = {
    "pca": _components,
    "fa": _factors,
    "gmm": _mixtures("gmm", None),
    "mix": _mixtures("mix", "auto"),
}
"""The suggestions of numbers, by model."""

DEFAULT_MODELS = ["pca", "fa", "gmm"]
PREFERRED = ("parallel", "bic")
"""The rules whose numbers are fitted next."""


def _aligned(rows: list[SuggestedNumber]) -> str:
    lines = [[each.model, each.rule, "" if each.number is None else str(each.number), each.note] for each in rows]
    return align(SuggestedNumber._fields, lines, "<<><")


def _next_command(rows: list[SuggestedNumber], files: list[str], reading: ReadingOptions, standardize: bool) -> str:
    """Return the command that fits the first model with the number of its preferred rule."""
    able = [each for each in rows if each.number]
    if not able:
        return shlex.join(["eigenlens", "info", *files])
    own = {each.rule: each for each in able if each.model == able[0].model}
    best = next((own[rule] for rule in PREFERRED if rule in own), able[0])
    more = ["--standardize"] if standardize and best.model == "pca" else []
    words = ["eigenlens", "fit", best.model, *files, "-k", str(best.number), *more, *given_flags(reading)]
    return shlex.join([*words, "-o", free_name(f"{best.model}.safetensors")])
