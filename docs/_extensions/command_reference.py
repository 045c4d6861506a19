"""The page of all commands, from the options and help texts of the program itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from gia_science.cli.main import app

HEAD = """# Commands

This page is made from the program. The same is printed by `gia COMMAND --help`. Exit codes: 0 done; 1 done, but some
rows were not predicted, or something was found; 2 the request cannot be carried out; 130 interrupted.
"""


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its full name: ``gia datasets show``."""
    yield from _below("gia", typer.main.get_command(app))


def option_names(command: Any) -> set[str]:
    """All spellings of the options of a command."""
    found = {"--help", "-h"}
    for parameter in command.params:
        if parameter.param_type_name == "option":
            found |= {*parameter.opts, *parameter.secondary_opts}
    return found


def command_page() -> str:
    """The page, as Markdown."""
    return "\n".join([HEAD, *(_section(name, command) for name, command in commands())])


def _below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    for child_name, child in getattr(command, "commands", {}).items():
        full = f"{name} {child_name}"
        if getattr(child, "commands", None):
            yield from _below(full, child)
        else:
            yield full, child


def _section(name: str, command: Any) -> str:
    lines = [f"## {name}", "", *_help(command.help or ""), ""]
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    usage = " ".join([name, *map(_argument, arguments), *(["[OPTIONS]"] if options else [])])
    lines += ["```text", usage, "```", ""]
    for argument in arguments:
        lines += _entry(f"`{_argument(argument)}`", argument)
    for option in options:
        names = ", ".join(f"`{spelling}`" for spelling in (*option.opts, *option.secondary_opts))
        lines += _entry(names, option)
    return "\n".join(lines)


def _help(text: str) -> list[str]:
    """Help as Markdown: its paragraphs that are commands become code."""
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    return [f"    {part}\n" if part.startswith("gia ") else f"{part}\n" for part in paragraphs if part]


def _argument(argument: Any) -> str:
    name = (argument.metavar or argument.name or "").upper()
    shown = f"{name}..." if argument.nargs == -1 else name
    return shown if argument.required else f"[{shown}]"


def _entry(term: str, parameter: Any) -> list[str]:
    text = (parameter.help or "").strip()
    if parameter.param_type_name == "option" and parameter.required:
        text += " Required."
    default = parameter.default
    if isinstance(default, int | float | str | Path) and not isinstance(default, bool) and default != "":
        text += f" Default: `{default}`."
    return [term, f": {text.strip() or 'See above.'}", ""]
