"""Spellings of earlier versions: they work in this version, with a warning that names the new one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from typer.core import TyperCommand, TyperGroup

from ramify.cli.common import print_warning

RENAMED = {"--setting": "--set", "--places": "--parallel-games", "--together": "--concurrency"}
# Options that are gone, and whether a value follows them.
GONE = {"--game": True, "--size": True, "--red": True, "--blue": True, "--swap": False}
KEY = re.compile(r"[A-Za-z_]\w*=")
PLAYER = re.compile(r"(search|network|random|greedy|alphabeta|uci|htp)(:|$)")
PARAMETERS_AS_WORDS = ("analyze", "games", "play", "watch")
PLAYERS_FIRST = ("match", "tournament", "gate")
WATCHED = {"--red": "search:simulations=4000", "--blue": "search:simulations=20000"}

_typed: list[str] = []  # the arguments of the command that runs


@dataclass
class Line:
    """A command line: options with their values, and words."""

    options: list[list[str]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def arguments(self) -> list[str]:
        flat = [text for option in self.options for text in option]
        return [*flat, *(["--"] if any(word.startswith("-") for word in self.words) else []), *self.words]

    def take(self, name: str) -> str | None:
        """The value of an option, which is removed; of several, the last."""
        found = [option for option in self.options if option[0] == name]
        self.options = [option for option in self.options if option[0] != name]
        return None if not found else found[-1][-1]


class Command(TyperCommand):
    """A command that also understands the spellings of earlier versions."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        arguments = current_spelling(self, ctx.info_name or "", list(args))
        _typed[:] = arguments
        return super().parse_args(ctx, arguments)

    def get_params(self, ctx: Any) -> list[Any]:
        return flags_without_type(super().get_params(ctx))


class Commands(TyperGroup):
    """All commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        return flags_without_type(super().get_params(ctx))


def flags_without_type(params: list[Any]) -> list[Any]:
    """The same parameters; help would show the type of a flag as if a value had to follow it."""
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


def typed_arguments() -> list[str]:
    """The arguments of the command that runs, as typed, in today's spelling."""
    return list(_typed)


def current_spelling(command: TyperCommand, name: str, arguments: list[str]) -> list[str]:
    """The arguments in today's spelling; the same list where nothing is old."""
    valued = {
        text: not getattr(option, "is_flag", False)
        for option in command.params
        for text in option.opts
        if text.startswith("-")
    }
    line, changed = split(arguments, {**GONE, "--set": True, **dict.fromkeys(RENAMED, True), **valued}), False
    for change in (rename_options, give_parameters, put_game_first, name_watched_players):
        changed |= change(line, name, valued)
    return line.arguments() if changed else arguments


def split(arguments: list[str], valued: dict[str, bool]) -> Line:
    """Options with their values, apart from words. ``valued``: whether a value follows an option."""
    line, rest = Line(), list(arguments)
    while rest:
        text = rest.pop(0)
        if text == "--":
            line.words += rest
            break
        if not text.startswith("-") or text == "-":
            line.words.append(text)
        elif text.startswith("--") and "=" in text:
            name, _, value = text.partition("=")
            line.options.append([name, value] if valued.get(name) else [text])
        else:
            line.options.append([text, rest.pop(0)] if valued.get(text) and rest else [text])
    return line


def rename_options(line: Line, _: str, valued: dict[str, bool]) -> bool:
    changed = False
    for option in line.options:
        new = RENAMED.get(option[0])
        if option[0] == "--set" and "--set" not in valued:
            new = "--param"
        if new in valued and option[0] not in valued:
            print_warning(f"{option[0]} is now {short(new)}")
            option[0], changed = new, True
    return changed


def short(option: str) -> str:
    return {"--set": "-s (--set)", "--param": "-p (--param)"}.get(option, option)


def give_parameters(line: Line, name: str, valued: dict[str, bool]) -> bool:
    """``size=5`` as a word, ``--size 5`` and ``--swap`` are parameters of the game."""
    if "--param" not in valued:
        return False
    found: list[tuple[str, str]] = []
    for old in ("--size", "--swap"):
        if old not in valued and any(option[0] == old for option in line.options):
            value = line.take(old)
            found.append((old, f"{old[2:]}={'true' if old == '--swap' else value}"))
    if name in PARAMETERS_AS_WORDS:
        found += [(word, word) for word in line.words if KEY.match(word)]
        line.words = [word for word in line.words if not KEY.match(word)]
    for old, word in found:
        print_warning(f"{old} is now -p {word}")
        line.options.append(["--param", word])
    return bool(found)


def put_game_first(line: Line, name: str, valued: dict[str, bool]) -> bool:
    """``--game hex`` is the first argument; players used to play Hex."""
    changed = False
    if "--game" not in valued and any(option[0] == "--game" for option in line.options):
        game = line.take("--game") or ""
        print_warning(f"--game {game} is now the first argument: ramify {name} {game} ...")
        line.words, changed = [game, *line.words], True
    elif name in PLAYERS_FIRST and line.words and PLAYER.match(line.words[0]):
        print_warning(f"the game is now the first argument: ramify {name} hex {' '.join(line.words)}")
        line.words, changed = ["hex", *line.words], True
    return changed


def name_watched_players(line: Line, name: str, _: dict[str, bool]) -> bool:
    """``watch --red 100 --blue 200`` names two players."""
    if name != "watch" or not any(option[0] in WATCHED for option in line.options):
        return False
    budgets = {option: line.take(option) for option in WATCHED}
    players = [
        WATCHED[option] if budget is None else f"search:simulations={budget}" for option, budget in budgets.items()
    ]
    line.words = [*(line.words or ["hex"]), *players]
    print_warning(f"--red and --blue are now players: ramify watch {' '.join(line.words)}")
    return True
