"""``ramify games``: which games there are and what they can be told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli.common import fail, parse_settings, print_json

if TYPE_CHECKING:
    from ramify.games import Game


def games(
    name: Annotated[str | None, typer.Argument(help="One game, in detail.")] = None,
    settings: Annotated[list[str] | None, typer.Argument(help="Its parameters, as key=value.")] = None,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """List the games with their parameters, or show one in detail."""
    from ramify.games import list_games as names
    from ramify.games import make

    if name is None:
        rows = [summary(game) for game in names()]
        return print_json(rows) if json else print_list(rows)
    try:
        game = make(name, **parse_settings(settings or []))
    except (ValueError, ImportError) as error:
        fail(str(error))
    return print_json(detail(game)) if json else print_detail(detail(game))


def parameters(name: str) -> list[dict[str, Any]]:
    """Name, default and meaning of every parameter of a game."""
    from ramify import _core
    from ramify.games import make

    if name in _core.game_names():
        return [{"name": key, "default": value, "meaning": help} for key, value, help in _core.game_params(name)]
    return [{"name": key, "default": value, "meaning": ""} for key, value in make(name).params.items()]


def summary(name: str) -> dict[str, Any]:
    """One game of the list."""
    from ramify.games import presets

    return {"name": name, "parameters": parameters(name), "presets": presets(name)}


def detail(game: Game) -> dict[str, Any]:
    """Everything that can be said of a game without playing it."""
    start = game.initial_state(seed=0)
    known = {row["name"]: row["meaning"] for row in parameters(game.name)} if ":" not in game.name else {}
    return {
        "name": game.name,
        "parameters": [
            {"name": key, "value": value, "meaning": known.get(key, "")} for key, value in game.params.items()
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
        lines = [(entry["name"], show(entry["default"]), entry["meaning"]) for entry in row["parameters"]]
        if row["presets"]:
            lines.append(("preset", "", "one of " + ", ".join(row["presets"])))
        for number, line in enumerate(lines or [("", "", "")]):
            table.add_row(f"[bold]{escape(row['name'])}[/]" if number == 0 else "", *map(escape, line))
    console = Console(highlight=False)
    console.print(table)
    console.print("and " + ", ".join(f"[bold]{family}:NAME[/]" for family in families()))


def print_detail(data: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    console.print(f"[bold]{escape(data['name'])}[/]\n")
    console.print(escape(data["initial_state"]) + "\n", soft_wrap=True)
    for entry in data["parameters"]:
        console.print(escape(f"{entry['name']} = {show(entry['value'])}"), f"[dim]{escape(entry['meaning'])}[/]")
    shape = " x ".join(map(str, data["observation_shape"]))
    console.print(f"{data['num_actions']} actions, observation {shape}")
    console.print("both players act at once" if data["simultaneous"] else "players act in turn")
    console.print(f"symmetries: {escape(', '.join(data['symmetries']))}")
    if data["bytes_per_state"]:
        console.print(f"{data['bytes_per_state']} bytes per state in the core")


def show(value: Any) -> str:
    """A parameter's value as one would type it in Python, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
