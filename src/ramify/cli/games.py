"""``ramify games``: the games and their parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli import options
from ramify.cli.common import fail, parse_settings, print_json

if TYPE_CHECKING:
    from ramify.games import Game


def games(
    game: Annotated[str | None, typer.Argument(help="Show this game in detail. Default: list all games.")] = None,
    param: options.Params = None,
    json: options.AsJson = False,
) -> None:
    """List the games with their parameters, or show one game in detail.

    \b
    ramify games
    ramify games hex -p size=5
    ramify games my_game --import my_game.py
    """
    from ramify.games import list_games as names
    from ramify.games import make

    if game is None:
        rows = [summary(name) for name in names()]
        return print_json(rows) if json else print_list(rows)
    try:
        made = make(game, **parse_settings(param or []))
    except (ValueError, TypeError, ImportError) as error:
        fail(error)
    return print_json(detail(made)) if json else print_detail(detail(made))


def parameters(name: str) -> list[dict[str, Any]]:
    """The name, default and meaning of each parameter of a game."""
    from ramify import _core
    from ramify.games.registry import registered

    if name in _core.game_names():
        return [{"name": key, "default": value, "meaning": help} for key, value, help in _core.game_params(name)]
    factory = registered(name)
    return [] if factory is None else [own_parameter(parameter) for parameter in own_parameters(factory)]


def own_parameters(factory: Callable[..., Any]) -> list[inspect.Parameter]:
    """What the class or function of a game written in Python takes by name."""
    if isinstance(factory, type) and factory.__init__ is object.__init__:  # type: ignore[misc]
        return []  # its signature pretends to take anything
    function = factory.__init__ if isinstance(factory, type) else factory  # type: ignore[misc]
    given = list(inspect.signature(function).parameters.values())
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [parameter for parameter in given[isinstance(factory, type) :] if parameter.kind in by_name]


def own_parameter(parameter: inspect.Parameter) -> dict[str, Any]:
    """A parameter of a game written in Python: what its annotation says is its meaning."""
    empty = inspect.Parameter.empty
    meaning = "" if parameter.annotation is empty else annotation_text(parameter.annotation)
    required = parameter.default is empty
    known = {"name": parameter.name, "default": None if required else parameter.default, "meaning": meaning}
    return {**known, "required": True} if required else known


def annotation_text(annotation: Any) -> str:
    """An annotation as its author wrote it; of ``Annotated[int, "stones in the pile"]`` the type and the text."""
    if isinstance(annotation, str):
        return annotation
    texts = [text for text in getattr(annotation, "__metadata__", ()) if isinstance(text, str)]
    if texts:
        return f"{inspect.formatannotation(annotation.__origin__)}: {' '.join(texts)}"
    return inspect.formatannotation(annotation)


def description(name: str) -> str:
    """The docstring of the class or function of a game written in Python; empty for other games."""
    from ramify.games.registry import registered

    factory = registered(name)
    own = None if factory is None else factory.__doc__  # inspect.getdoc would take that of the base class
    return inspect.cleandoc(own) if own else ""


def summary(name: str) -> dict[str, Any]:
    """One entry of the list."""
    from ramify.games import presets

    try:
        return {"name": name, "parameters": parameters(name), "presets": presets(name)}
    except ImportError as error:  # of a package that does not work
        return {"name": name, "parameters": [], "presets": [], "problem": str(error)}


def detail(game: Game) -> dict[str, Any]:
    """The properties of a game, as plain data."""
    start = game.initial_state(seed=0)
    known = {row["name"]: row for row in parameters(game.name)}
    return {
        "name": game.name,
        "description": description(game.name),
        "parameters": [
            {"name": key, "value": value, "default": None, "meaning": "", **known.get(key, {})}
            for key, value in game.params.items()
        ],
        "num_actions": game.num_actions,
        "observation_shape": list(game.observation_shape),
        "simultaneous": game.simultaneous,
        "symmetries": [symmetry.name for symmetry in game.symmetries],
        "bytes_per_state": getattr(game, "state_bytes", None),
        "acting": list(start.acting),
        "initial_state": str(start),
    }


def print_list(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from ramify.games import families

    table = Table("game", "parameter", "default", "meaning", box=None, pad_edge=False)
    for row in rows:
        lines = [(entry["name"], show_default(entry), entry["meaning"]) for entry in row["parameters"]]
        if row["presets"]:
            lines.append(("preset", "", "one of " + ", ".join(row["presets"])))
        for number, line in enumerate(lines or [("", "", row.get("problem", ""))]):
            table.add_row(f"[bold]{escape(row['name'])}[/]" if number == 0 else "", *map(escape, line))
    console = Console(highlight=False)
    console.print(table)
    console.print("and " + ", ".join(f"[bold]{family}:NAME[/]" for family in families()))


def print_detail(data: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    console.print(f"[bold]{escape(data['name'])}[/]\n")
    if data["description"]:
        console.print(escape(data["description"]) + "\n")
    console.print(escape(data["initial_state"]) + "\n", soft_wrap=True)
    for entry in data["parameters"]:
        changed = entry["default"] is not None and entry["default"] != entry["value"]
        about = [entry["meaning"], *([f"default {show(entry['default'])}"] if changed else [])]
        text = escape(", ".join(filter(None, about)))
        console.print(escape(f"{entry['name']} = {show(entry['value'])}"), f"[dim]{text}[/]")
    shape = " x ".join(map(str, data["observation_shape"]))
    console.print(f"{data['num_actions']} actions, observation {shape}")
    console.print("simultaneous moves" if data["simultaneous"] else "sequential moves")
    console.print(f"symmetries: {escape(', '.join(data['symmetries']))}")
    if data["bytes_per_state"]:
        console.print(f"{data['bytes_per_state']} bytes per state in the core")


def show_default(entry: dict[str, Any]) -> str:
    return "required" if entry.get("required") else show(entry["default"])


def show(value: Any) -> str:
    """A parameter's value as a Python literal, truncated if it is long."""
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
