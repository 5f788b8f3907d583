"""`eigenlens completion`: a script by which a shell completes commands, models, options and their names.

The script has all words in it, so that nothing of eigenlens is started where a key is pressed; paths are left to the
shell.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import Annotated, Any, NamedTuple

import typer

from eigenlens.catalogue import MODELS
from eigenlens.cli.commands.demo import DEMO_MODELS
from eigenlens.cli.commands.select import RULES
from eigenlens.cli.errors import fail
from eigenlens.cli.model_options import commands, flag_of
from eigenlens.cli.options import RunningOptions, takes
from eigenlens.cli.session import session
from eigenlens.errors import closest, suggest


class CompletedOption(NamedTuple):
    """An option of a command: its flags, whether a value follows, and one line about it."""

    flags: list[str]
    valued: bool
    about: str


@takes(running=RunningOptions)
def completion(
    running: RunningOptions, shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")] = "bash"
) -> None:
    """Print a script that completes commands, models, options and files in a shell.

    bash: eigenlens completion bash > ~/.local/share/bash-completion/completions/eigenlens

    zsh: the line source <(eigenlens completion zsh) at the end of ~/.zshrc

    fish: eigenlens completion fish > ~/.config/fish/completions/eigenlens.fish
    """
    with session(running) as now:
        if shell not in SHELLS:
            fail(f"{shell!r} is not a shell that is known here", suggest(closest(shell, SHELLS), SHELLS))
        script = SHELLS[shell]()
        now.add_facts(shell=shell, script=script)
        if not running.json:
            print(script, end="")


def find_options() -> dict[str, list[CompletedOption]]:
    """Return the options of every command."""
    from eigenlens.cli import make_app

    app: Any = typer.main.get_command(make_app())
    found = {}
    for name, command in app.commands.items():
        options = [each for each in command.params if each.param_type_name == "option"]
        found[name] = [CompletedOption(_flags(each), not each.is_flag, each.help or "") for each in options]
        found[name].append(CompletedOption(["-h", "--help"], False, "Show this message and exit."))
    return found


def _flags(option: Any) -> list[str]:
    return [*option.opts, *option.secondary_opts]


def option_names() -> dict[str, list[str]]:
    """Return the names that options accept, by flag."""
    found: dict[str, list[str]] = {}
    for entry in MODELS.values():
        for option, names in entry.names.items():
            if option in entry.options:
                found[flag_of(option)] = list(dict.fromkeys([*found.get(flag_of(option), []), *names.names]))
    return found | {"--density": commands("density"), "--models": list(dict.fromkeys([*commands("density"), *RULES]))}


def first_words() -> dict[str, list[str]]:
    """Return the words that may follow a command, of those that do not start with files."""
    return {"fit": commands(), "demo": list(DEMO_MODELS), "completion": list(SHELLS)}


def _bash() -> str:
    options = find_options()
    values = "\n".join(f"    {_case(flag)}) words={_quoted(names)} ;;" for flag, names in option_names().items())
    flags = "\n".join(
        f"    {name}) words={_quoted(flag for each in listed for flag in each.flags)} ;;"
        for name, listed in options.items()
    )
    starts = "\n".join(f"    {name}) words={_quoted(names)} ;;" for name, names in first_words().items())
    return BASH.format(commands=_quoted([*options, "--help", "--version"]), values=values, flags=flags, starts=starts)


def _case(flag: str) -> str:
    """Return a flag as a pattern, with the short one that means the same."""
    return {"-k": "-k|--components", "--models": "-m|--models"}.get(flag, flag)


def _quoted(words: Any) -> str:
    return shlex.quote(" ".join(words))


BASH = """\
# Completion of eigenlens.
_eigenlens() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=''
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    words={commands}
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  case "$before" in
{values}
  esac
  if [[ -z $words && $current == -* ]]; then
    case "${{COMP_WORDS[1]}}" in
{flags}
    esac
  elif [[ -z $words ]] && ((COMP_CWORD == 2)); then
    case "${{COMP_WORDS[1]}}" in
{starts}
    esac
  fi
  [[ -n $words ]] && COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _eigenlens eigenlens
"""


def _zsh() -> str:
    start = "(( $+functions[compdef] )) || { autoload -U compinit && compinit }"
    return f"{start}\nautoload -U +X bashcompinit && bashcompinit\n{_bash()}"


def _fish() -> str:
    return "\n".join(_fish_lines()) + "\n"


def _fish_lines() -> Iterator[str]:
    from eigenlens.cli import COMMANDS

    names = option_names()
    yield "# Completion of eigenlens."
    for name, command in COMMANDS.items():
        yield f"complete -c eigenlens -n __fish_use_subcommand -f -a {name} -d {shlex.quote(command.about)}"
    for name, words in first_words().items():
        # The second word of the command line, and no file.
        second = f"__fish_seen_subcommand_from {name}; and test (count (commandline -opc)) -eq 2"
        yield f"complete -c eigenlens -n {shlex.quote(second)} -f -a {_quoted(words)}"
    for name, options in find_options().items():
        for each in options:
            accepted = next((names[flag] for flag in each.flags if flag in names), None)
            value = "" if not each.valued else " -r" if accepted is None else f" -x -a {_quoted(accepted)}"
            flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in each.flags)
            about = shlex.quote(each.about.partition(".")[0][:60])
            yield f"complete -c eigenlens -n '__fish_seen_subcommand_from {name}' {flags}{value} -d {about}"


SHELLS: dict[str, Callable[[], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
"""Scripts by the name of the shell."""
