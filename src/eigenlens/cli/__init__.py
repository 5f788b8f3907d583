"""The command line: `eigenlens fit pca wine.csv -k 0.9 --report wine.html`.

Only what `--help` needs is imported here, so that it is quick; each command imports the rest when it runs.
"""

from __future__ import annotations

import gc
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import typer

from eigenlens.catalogue import import_part
from eigenlens.cli.errors import EXIT_CODES, Interrupted, OutputClosed, exit_status
from eigenlens.cli.output import TYPED_WORDS, json_text, show_controls


class Command(NamedTuple):
    """A command: its function by its dotted path, one line about it, and examples of its use."""

    function: str
    about: str
    examples: tuple[str, ...]


COMMANDS: dict[str, Command] = {
    "demo": Command(
        "eigenlens.cli.commands.demo.demo",
        "See what eigenlens does, on data that comes with it.",
        ("demo", "demo --list", "demo two-circles -o circles", "demo wine --data wine.csv"),
    ),
    "info": Command(
        "eigenlens.cli.commands.info.info",
        "Describe a data file (types, missing values, ranges) or a model file.",
        ("info wine.csv", "info air-quality.parquet --json", "info wine.safetensors"),
    ),
    "fit": Command(
        "eigenlens.cli.commands.fit.fit",
        "Fit a model to a table, and describe the result.",
        (
            "fit pca wine.csv -k 0.9 --standardize --label cultivar -o wine.safetensors --report wine.html",
            "fit ppca air-quality.parquet -k 2 -o ppca.safetensors",
            "fit fa questionnaire.csv -k 3 --rotation varimax",
            "fit gmm old-faithful.csv -k 1:3 --covariance full -o gmm.safetensors",
            "fit kde old-faithful.csv --columns 'waiting minutes' --bandwidth isj",
            "fit kpca digits.npy --gamma median --approximation rpcholesky --landmarks 100 -o kpca.safetensors",
            "fit nb iris.csv --label species -o nb.safetensors",
            "fit bayes iris.csv --label species --density gmm -k 2 --where 'petal width > 0.1'",
            "fit lda iris.csv --label species --shrinkage ledoit-wolf -o lda.safetensors",
        ),
    ),
    "transform": Command(
        "eigenlens.cli.commands.transform.transform",
        "Compute the scores of rows: principal components, factors, discriminants.",
        (
            "transform wine.safetensors wine.csv -o scores.parquet",
            "transform wine.safetensors wine.csv --id id | head",
        ),
    ),
    "denoise": Command(
        "eigenlens.cli.commands.denoise.denoise",
        "Reconstruct rows from their scores, without the noise.",
        ("denoise kpca.safetensors digits.npy -o clean.npy", "denoise wine.safetensors wine.csv -o smooth.csv"),
    ),
    "impute": Command(
        "eigenlens.cli.commands.impute.impute",
        "Fill in missing values by their means given the rest of the row.",
        ("impute ppca.safetensors air-quality.parquet --std -o filled.parquet",),
    ),
    "sample": Command(
        "eigenlens.cli.commands.sample.sample",
        "Draw new rows from the model.",
        ("sample gmm.safetensors -n 1000 --seed 7 -o drawn.csv", "sample nb.safetensors -n 5"),
    ),
    "score": Command(
        "eigenlens.cli.commands.score.score",
        "Score rows: their mean log-density, or the accuracy of their classes.",
        ("score gmm.safetensors old-faithful.csv", "score nb.safetensors iris.csv --label species -o right.csv"),
    ),
    "predict": Command(
        "eigenlens.cli.commands.predict.predict",
        "Predict the class of each row, or its component of a mixture.",
        (
            "predict nb.safetensors iris.csv --proba -o classes.csv",
            "predict lda.safetensors iris.csv --label species -o judged.csv",
        ),
    ),
    "compare": Command(
        "eigenlens.cli.commands.compare.compare_densities",
        "Compare densities by the log-likelihood of held-out rows.",
        ("compare iris.csv --models gmm,kde,ppca,fa --cv 5", "compare iris.csv -m gmm:k=1:covariance=diag,pca:k=2"),
    ),
    "select": Command(
        "eigenlens.cli.commands.select.select",
        "Choose a number of components, by every rule for it.",
        (
            "select wine.csv --standardize",
            "select old-faithful.csv -m gmm",
            "select questionnaire.csv -m fa,pca --json",
        ),
    ),
    "report": Command(
        "eigenlens.cli.commands.report.report_models",
        "Write one self-contained HTML file with interactive charts.",
        ("report wine.safetensors wine.csv --label cultivar -o wine-again.html",),
    ),
    "explore": Command(
        "eigenlens.explorer.command.explore_file",
        "Explore a table: choose columns, model and options on a local page, and see the plots change.",
        ("explore wine.csv", "explore wine.csv --no-browser --port 8080"),
    ),
    "export": Command(
        "eigenlens.cli.commands.export.export",
        "Write the parameters of a model for other programs.",
        (
            "export wine.safetensors -o wine.json",
            "export wine.safetensors --only loadings -o loadings.csv",
            "export lda.safetensors -o lda.onnx",
        ),
    ),
    "completion": Command(
        "eigenlens.cli.commands.completion.completion",
        "Print a script that completes commands, models, options and files in a shell.",
        ("completion bash", "completion fish"),
    ),
}
"""The commands by name, in the order of the help."""

SETTINGS = {"help_option_names": ["-h", "--help"]}
FIRST_STEPS = ("demo", "info wine.csv", "fit pca wine.csv -k 0.9 --report wine.html")
INTERRUPTED = "interrupted: nothing was written"
EXIT_CODES_HELP = f"[bold]Exit codes[/]  {' · '.join(f'{code} {kind}' for kind, code in EXIT_CODES.items())}"


def _examples(lines: Sequence[str]) -> str:
    listed = "\n".join(f"  eigenlens {line}".replace("[", "\\[") for line in lines)
    return f"\b\n[bold]Examples[/]\n{listed}\n  (eigenlens demo NAME --data NAME.csv makes the tables)"


def _version(wanted: bool) -> None:
    if wanted:
        from eigenlens import __version__

        print(f"eigenlens {__version__}")
        raise typer.Exit


def make_app(name: str | None = None) -> typer.Typer:
    """Return the typer application: the command of this name in full, the others by one line; all in full if None."""
    app = typer.Typer(
        rich_markup_mode="rich",
        no_args_is_help=True,
        add_completion=False,
        context_settings=SETTINGS,
        help=PROGRAM_HELP,
        epilog=f"{_examples(FIRST_STEPS)}\n\n{EXIT_CODES_HELP}",
    )
    app.callback()(_eigenlens)
    for each in COMMANDS:
        _add(app, each, _function(each) if name in (None, each) else _stub)
    return app


def _alone(name: str) -> typer.Typer:
    """Return an application of one command: with several, typer would load pydantic, which takes time."""
    app = typer.Typer(rich_markup_mode="rich", add_completion=False, context_settings=SETTINGS)
    _add(app, name, _function(name))
    return app


def _add(app: typer.Typer, name: str, function: Callable[..., None]) -> None:
    command = COMMANDS[name]
    about = command.about if function is _stub else _unwrapped(inspect.getdoc(function) or "")
    app.command(name, help=about, epilog=_examples(command.examples) + f"\n\n{EXIT_CODES_HELP}")(function)


PROGRAM_HELP = """Find structure and estimate densities in data: from a file to a report in one command.

Start with [bold]eigenlens demo[/], or with [bold]eigenlens info FILE[/] on a table of your own. Results go to \
standard output, progress to standard error; nothing is overwritten without --force."""


def _eigenlens(
    version: bool = typer.Option(
        False, "--version", metavar="", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None: ...


def _stub() -> None: ...


def _function(name: str) -> Callable[..., None]:
    function: Callable[..., None] = import_part(COMMANDS[name].function)
    return function


def _unwrapped(text: str) -> str:
    """Return paragraphs on one line each, since the terminal wraps them."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


GARBAGE_THRESHOLD = 50_000
"""Objects that are made between two searches for garbage: imports make hundreds of thousands, none of them garbage.

Python's own 700 would have them searched again and again, for a tenth of a second of every command.
"""


def main(words: Sequence[str] | None = None) -> int:
    """Run a command line (that of the process if None); return the exit code."""
    typed = list(sys.argv[1:] if words is None else words)
    if words is None:
        gc.set_threshold(GARBAGE_THRESHOLD)
    for name in ("stdout", "stderr"):  # None where the shell has closed them
        setattr(sys, name, getattr(sys, name) or open(os.devnull, "w"))  # noqa: SIM115
    token = TYPED_WORDS.set(tuple(typed))
    try:
        return run_command(typed)
    except (BrokenPipeError, OutputClosed):
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # or Python would complain at its end
        return EXIT_CODES["done"]
    except (KeyboardInterrupt, Interrupted, typer.Abort):
        print(INTERRUPTED, file=sys.stderr)
        return EXIT_CODES["interrupted"]
    except Exception as error:
        if os.environ.get("EIGENLENS_TRACEBACK"):
            raise
        return _fail(*describe_error(error), typed)
    finally:
        TYPED_WORDS.reset(token)


def run_command(typed: list[str]) -> int:
    """Run the words of a command line, and return the exit code; errors are raised."""
    if typed and typed[0] in COMMANDS:
        app, words, name = _alone(typed[0]), typed[1:], f"eigenlens {typed[0]}"
    else:
        app, words, name = make_app(""), typed, "eigenlens"
    result = typer.main.get_command(app).main(args=words, prog_name=name, standalone_mode=False)
    sys.stdout.flush()
    if result == EXIT_CODES["interrupted"]:  # met by typer, while a command was being loaded
        print(INTERRUPTED, file=sys.stderr)
    return result if isinstance(result, int) else EXIT_CODES["done"]


def describe_error(error: Exception) -> tuple[int, str, str]:
    """Return the exit code, message and fix; typer finds usage errors, by a class that has moved between versions."""
    if isinstance(error, typer.BadParameter.__mro__[1]):
        message: Any = getattr(error, "format_message", lambda: str(error))
        text = " ".join(str(message()).split()).rstrip(".")
        return EXIT_CODES["usage"], text[:1].lower() + text[1:], ""
    return exit_status(error)


def _fail(code: int, message: str, fix: str, typed: list[str]) -> int:
    command = next((word for word in typed if not word.startswith("-")), "")
    if not message:  # a command line without words prints the help
        return code
    see_help = f"see eigenlens {command + ' ' if command in COMMANDS else ''}--help"
    fix, working = _check_fix(code, message, fix, typed)
    fix = fix or (see_help if code == EXIT_CODES["usage"] else "")
    for heading, text in (("error", message), ("  fix", fix), ("  try", working)):
        if text:
            print(show_controls(f"{heading}: {text}"), file=sys.stderr)
    if "--json" in typed:
        print(json_text({"error": message, "fix": fix or None, "try": working, "exit_code": code}, indent=2))
    return code


def _check_fix(code: int, message: str, fix: str, typed: list[str]) -> tuple[str, str | None]:
    """Return the part of a fix that works, and a command that does, of a command that has read a table."""
    kind = {EXIT_CODES[kind]: kind for kind in ("usage", "data")}.get(code)
    if kind is None or not fix or typed[0] not in ADVISED:
        return fix, None
    from eigenlens.cli.advice.fixes import check_fix

    return check_fix(typed, kind, message, fix)


ADVISED = ("fit", "compare", "select", "transform", "denoise", "impute", "score", "predict", "report")
"""Commands whose errors come with advice that is tried: they read tables."""
