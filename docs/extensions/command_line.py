"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import re
from typing import Any


def pages() -> dict[str, str]:
    """generated/command-line.md: every command with its arguments, options and examples."""
    import typer.main

    from eigenlens.cli import COMMANDS, make_app

    group: Any = typer.main.get_command(make_app())
    commands = [group.commands[name] for name in COMMANDS]
    shared = set.intersection(*({_row(p) for p in _shown(command, "option")} for command in commands))
    every = _table("option", [(_flags(p), p) for p in _shown(commands[0], "option") if _row(p) in shared])
    parts = [f"## Options of every command\n\n{every}"]
    parts += [_command(name, group.commands[name], COMMANDS[name].examples, shared) for name in COMMANDS]
    return {"command-line.md": "\n\n".join(parts) + "\n"}


def _shown(command: Any, kind: str) -> list[Any]:
    return [p for p in command.params if p.param_type_name == kind and not getattr(p, "hidden", False)]


def _row(parameter: Any) -> tuple[str, str]:
    return _flags(parameter), plain(getattr(parameter, "help", None) or "")


def _command(name: str, command: Any, examples: tuple[str, ...], shared: set[tuple[str, str]]) -> str:
    arguments = _shown(command, "argument")
    options = [p for p in _shown(command, "option") if _row(p) not in shared]
    usage = " ".join(["eigenlens", name, *(_metavar(p) for p in arguments), "[options]"])
    shown = "\n".join(wrapped(f"eigenlens {line}") for line in examples)
    parts = [f"## {name}", plain(command.help or ""), f"```text\n{usage}\n```"]
    if arguments:
        parts.append(_table("argument", [(_metavar(p), p) for p in arguments]))
    if options:
        parts.append(_table("option", [(_flags(p), p) for p in options]))
    parts.append(f"```sh\n{shown}\n```")
    return "\n\n".join(parts)


def wrapped(line: str, width: int = 94) -> str:
    """A command that is too long for the page goes on in the next line, from an option on."""
    at = line.rfind(" -", 0, width - 2)
    return line if len(line) <= width or at < 0 else f"{line[:at]} \\\n    {line[at + 1 :]}"


def _table(kind: str, rows: list[tuple[str, Any]]) -> str:
    lines = [f"| {kind} | meaning |", "|---|---|"]
    for name, parameter in rows:
        cell = (plain(getattr(parameter, "help", None) or "") + _default(parameter)).replace("|", "\\|")
        lines.append(f"| `{name}` | {cell} |".replace("\n", " "))
    return "\n".join(lines)


def _metavar(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name or "").upper().strip("[]")
    return name if parameter.required else f"[{name}]"


def _flags(parameter: Any) -> str:
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    if getattr(parameter, "is_flag", False):
        return names
    return f"{names} {(parameter.metavar or parameter.type.name or '').upper()}".strip()


def _default(parameter: Any) -> str:
    value = parameter.default
    if value in (None, False, "", ()) or callable(value) or parameter.required or "UNSET" in repr(value).upper():
        return ""
    return f" (default {value})"


def plain(text: str) -> str:
    """Without the terminal's marks for bold text, and with what looks like an option as code."""
    text = re.sub(r"\[/?(bold|dim|italic|/)?[a-z ]*\](?<!\\\[)", "", text.replace("\\[", "\x00")).replace("\x00", "[")
    text = " ".join(text.split()) if "\n\n" not in text else text
    text = re.sub(r"(?<![\w`-])(--?[a-z][\w-]*)", r"`\1`", text)
    return text.replace("<", "&lt;").replace("*", "\\*")
