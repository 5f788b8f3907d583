"""`eigenlens compare`: which density fits best on rows held out."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from eigenlens.app.cli.errors import refuse
from eigenlens.app.cli.options import DataFiles, Output, Reading, Running, takes

__all__ = ["compare"]


@takes(reading=Reading, running=Running)
def compare(
    files: DataFiles,
    reading: Reading,
    running: Running,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--models",
            "-m",
            metavar="LIST",
            help="Models, separated by commas, each with options after colons: gmm:k=3,kde:bandwidth=scott,fa:k=2.",
        ),
    ] = None,
    cv: Annotated[int, typer.Option("--cv", metavar="N", min=2, help="How many folds.")] = 5,
    output: Output = None,
) -> None:
    """Compare densities by the log-likelihood of held-out rows.

    Every model is fitted to all folds but one and asked for the log density of the rows of that one. A difference of
    more than about two of its standard errors is a real one. Default models: ppca, fa, gmm with 1 to 3 Gaussians, kde.
    """  # fmt: skip
    from eigenlens.app.cli.reading import read_table
    from eigenlens.app.cli.running import session
    from eigenlens.app.cli.writing import FORMATS, checked_target, write_table

    with session(running) as now:
        target = checked_target(output, running.force, FORMATS)
        estimators = dict(_model(word, running) for word in _words(models))
        table = read_table(files, reading, running)
        now.say("read", str(table))
        if running.dry_run:
            return now.say("would", f"compare {', '.join(estimators)} in {cv} folds")
        found = _compared(estimators, table, cv, running, now)
        now.show(str(found))
        rows = _rows(found)
        now.tell(
            read={"rows": table.n, "columns": table.d}, cv=cv, best=found.best, table=rows, failures=found.failures
        )
        if running.quiet and not running.json:
            print(found.best)
        if len(found.failures) == len(found.names):
            first = next(iter(found.failures.values()))
            refuse(f"no model could be fitted: {first}", "look at the table with eigenlens info", "data")
        if target is not None:
            write_table(rows, target)
            now.say("wrote", str(target))
        for text in now.told():
            now.say("warning", text)
        now.say("next", f"eigenlens fit {_as_fit(found.best)} {files[0]} -o {found.best.split(':')[0]}.safetensors")
    return None


DEFAULT = ["ppca", "fa", "gmm:k=1", "gmm:k=2", "gmm:k=3", "kde"]


def _words(models: list[str] | None) -> list[str]:
    given = [word.strip() for each in models or DEFAULT for word in each.split(",") if word.strip()]
    doubled = [word for i, word in enumerate(given) if word in given[:i]]
    if doubled:
        refuse(f"--models names {doubled[0]} twice", "name each once, or give them different options: gmm:k=2,gmm:k=3")
    return given


def _model(word: str, running: Running) -> tuple[str, Any]:
    """The name of a model and its options, and the estimator."""
    from eigenlens.app.cli.models import kind_of, make, option_value

    name, *settings = word.split(":")
    pairs = [setting.partition("=") for setting in settings]
    if any(not sign for _, sign, _ in pairs):
        refuse(f"--models {word} has an option without a value", "write NAME:OPTION=VALUE, for instance gmm:k=3")
    kind = kind_of(name)
    if kind.classes or name == "kpca":
        refuse(f"{name} has no density of rows, so it cannot be compared", "use pca, ppca, fa, gmm or kde")
    options = {key: option_value(value) for key, _, value in pairs if key in kind.takes}
    extra = {key: option_value(value) for key, _, value in pairs if key not in kind.takes}
    return word, make(name, options, extra, running.seed)


def _compared(estimators: dict[str, Any], table: Any, cv: int, running: Running, now: Any) -> Any:
    from eigenlens.estimators.compare import compare as held_out

    if cv > table.n:
        refuse(f"--cv {cv} is more than the {table.n} rows", f"use at most --cv {table.n}")
    with now.progress(f"{len(estimators)} models in {cv} folds"):
        found = held_out(estimators, table.rows, cv=cv, sample_weight=table.weight, random_state=running.seed)
    now.check()
    return found


def _rows(found: Any) -> dict[str, Any]:
    return {
        "model": list(found.names),
        "log_density": found.means,
        "standard_error": found.errors,
        "behind": found.behind,
        "behind_standard_error": found.behind_errors,
        "fit_seconds": found.fit_seconds,
    }


def _as_fit(word: str) -> str:
    """A model of --models as `fit` wants it.

    >>> _as_fit("gmm:k=3"), _as_fit("kde:bandwidth=scott")
    ('gmm -k 3', 'kde --bandwidth scott')
    """
    from eigenlens.app.cli.models import MODELS

    name, *settings = word.split(":")
    flags = []
    for setting in settings:
        key, _, value = setting.partition("=")
        flag = "-k" if key == "k" else f"--{key}" if key in MODELS[name].takes else f"--set {key}"
        flags.append(f"{flag}={value}" if flag.startswith("--set") else f"{flag} {value}")
    return " ".join([name, *flags])
