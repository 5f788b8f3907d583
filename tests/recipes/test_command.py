"""A command of one's own: a function in a module, and one entry in the table of commands."""

from __future__ import annotations

from typing import Annotated

import pytest
import typer

from eigenlens.cli import COMMANDS, Command, main
from eigenlens.cli.errors import fail
from eigenlens.cli.options import RunningOptions, takes


@takes(running=RunningOptions)
def greet(
    running: RunningOptions,
    name: Annotated[str, typer.Argument(help="Whom to greet.")] = "you",
    loud: Annotated[bool, typer.Option("--loud", help="Louder.")] = False,
) -> None:
    """Greet somebody.

    As often as wanted.
    """
    if name == "nobody":
        fail("there is nobody to greet", "name somebody")
    print(f"hello {name}{'!' if loud else ''}", running.seed)


@pytest.fixture(autouse=True)
def entry(monkeypatch):
    monkeypatch.setitem(COMMANDS, "greet", Command(f"{__name__}.greet", "Greet somebody.", ("greet you --loud",)))


def test_the_command_runs_with_the_options_that_all_have(capsys):
    assert main(["greet", "me", "--loud", "--seed", "3"]) == 0
    assert capsys.readouterr().out == "hello me! 3\n"


def test_its_errors_are_those_of_a_command(capsys):
    assert main(["greet", "nobody"]) == 2
    assert capsys.readouterr().err == "error: there is nobody to greet\n  fix: name somebody\n"


def test_it_is_in_the_help_and_has_its_own(capsys):
    assert main(["--help"]) == 0
    assert "Greet somebody." in capsys.readouterr().out
    assert main(["greet", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(text in out for text in ("As often as wanted.", "--loud", "--max-memory", "eigenlens greet you --loud"))
