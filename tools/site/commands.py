"""The page with every command and its options, read from the command line itself."""

from __future__ import annotations

import inspect
from typing import Any

import typer

from tools.site.markdown import cell, code, table


def pages() -> dict[str, str]:
    """{path: Markdown} of the reference of the command line."""
    from ramify.cli.app import GROUPS, app

    commands: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    parts = [
        "# Commands\n",
        "The game is the first argument of every command that needs one, `-p` sets its parameters and `-s` settings of "
        "the search. Every command has `--help`, and long ones stop at Ctrl-C without losing finished work.\n",
    ]
    for group, functions in GROUPS.items():
        parts.append(f"## {group}\n")
        parts += [command_text(name, commands[name]) for name in (f.__name__.replace("_", "-") for f in functions)]
    return {"reference/commands.md": "\n".join(parts)}


def command_text(name: str, command: Any) -> str:
    """A command: what it does, examples, arguments and options."""
    words, _, examples = inspect.cleandoc(command.help or "").partition("\x08")
    usage = " ".join([f"ramify {name}", *(argument_form(p) for p in command.params if is_argument(p)), "[OPTIONS]"])
    parts = [f"### ramify {name}\n", paragraphs(words), f'```text title="Usage"\n{usage}\n```\n']
    if examples.strip():
        parts.append(f'```text title="Examples"\n{inspect.cleandoc(examples).strip()}\n```\n')
    rows = [
        [", ".join(code(text) for text in names(p)), default_text(p), cell(p.help or "")]
        for p in command.params
        if not p.hidden
    ]
    return "\n".join([*parts, table(["argument or option", "default", "meaning"], rows)])


def paragraphs(text: str) -> str:
    """The words of a help text, safe for Markdown."""
    return "\n\n".join(cell(part) for part in text.split("\n\n") if part.strip()) + "\n"


def is_argument(parameter: Any) -> bool:
    return not parameter.opts[0].startswith("-")


def argument_form(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name).upper()
    form = f"{name}..." if parameter.nargs == -1 else name
    return form if parameter.required else f"[{form}]"


def names(parameter: Any) -> list[str]:
    """An option as it is typed, with the form of its value."""
    if is_argument(parameter):
        return [(parameter.metavar or parameter.name).upper()]
    value = f" {parameter.metavar}" if parameter.metavar and not parameter.is_flag else ""
    return [f"{text}{value}" for text in (*parameter.opts, *parameter.secondary_opts)]


def default_text(parameter: Any) -> str:
    if isinstance(parameter.show_default, str):
        return code(parameter.show_default)
    if parameter.required:
        return "required"
    default = parameter.default
    if default is None or default == "" or default is False or callable(default):
        return ""
    return code(getattr(default, "value", default))
