"""The part of ``ramify inspect`` about learned models."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ramify.cli.common import watched
from ramify.cli.figures import Cell, decimal, percent, whole

if TYPE_CHECKING:
    from ramify.muzero.inspection import Depth, Show

GAMES = 32  # played by the model with itself
SHARES = ("mass on legal actions by depth", "same best action by depth")  # curves from 0 to 1


def import_for_run(name: Path) -> None:
    """Import what the run that ``name`` is, or is a network of, was started with: its game may be one of the user's."""
    from ramify.arena.network_files import CHECKPOINTS

    place = name.resolve()
    for folder in (place, *list(place.parents)[:3]):  # a network, a checkpoint, all checkpoints, the run
        if (folder / CHECKPOINTS).is_dir():
            from ramify.cli.train import import_remembered

            import_remembered(folder)


def learned_network(name: Path) -> Path | None:
    """The file of a learned network that ``name`` stands for, as --network takes it; None if it is none.

    Raises a ValueError for a run or a checkpoint whose network is damaged.
    """
    from ramify.arena.network_files import is_learned, network_file

    path = None
    with suppress(ValueError, OSError):
        path = network_file(str(name))
    return path if path is not None and is_learned(path) else None


def refuse_other(name: Path) -> None:
    """Raise a ValueError for what is neither a learned network nor a folder: another network, or nothing at all."""
    from ramify.arena.network_files import network_file
    from ramify.base.shipped import named, shipped_networks

    if name.is_dir():
        return
    try:
        network_file(str(name))
    except ValueError:
        if name.is_file():
            raise
        try:
            named(str(name), shipped_networks())
        except ValueError as unknown:
            raise ValueError(f"there is neither a folder nor a network {str(name)!r}: {unknown}") from None
    raise ValueError(
        f"{name} is a network that is not a learned model (muzero*); inspect shows learned models and folders of "
        f"games. 'ramify inspect GAMES --network {name}' compares it with recorded searches where both players act at "
        "once"
    )


def inspect_network(
    path: Path, games: int, simulations: int, discount: float, *, quiet: bool
) -> tuple[Any, list[Depth]]:
    """The game of a learned network, and what the network says at each depth of its own games."""
    from ramify.evaluators import LatentNetwork, Network
    from ramify.games import make, number_of_players
    from ramify.games.simulators import SimulatedGame
    from ramify.muzero.inspection import inspect_model, played_games
    from ramify.networks import load

    module = load(path)
    game = make(module.spec.game, **module.spec.params)
    model = LatentNetwork(module)
    # A simulator of one player is not searched in reasonable time: its positions are found by playing again.
    alone = isinstance(game, SimulatedGame) and number_of_players(game) == 1
    how: dict[str, Any] = {
        "positions": 8 * games,
        "evaluator": None if alone else Network(module, model.input_device),
        "simulations": simulations,
        "discount": discount,
    }
    with progress_bar(quiet) as show:
        records = played_games(game, model, games, simulations, seed=0, discount=discount, show=show)
        return game, inspect_model(game, model, records, show=show, **how)


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Show | None]:
    """A progress bar over what is being done; only on a terminal."""
    if not watched(quiet):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = [TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda phase, share: bar.update(task, description=phase, completed=share)


def shown_depths(found: list[Depth]) -> tuple[list[str], list[list[Cell]], dict[str, list[float]]]:
    """Head, rows and curves of the table by depth."""
    head = ["depth", "positions", "reward error", "value error", "mass on legal actions", "same best action"]
    rows: list[list[Cell]] = [
        [
            whole(one.depth),
            whole(one.positions),
            decimal(one.reward_error),
            decimal(one.value_error),
            percent(one.legal_mass),
            percent(one.agreement),
        ]
        for one in found
    ]
    curves = {
        "value error by depth": [one.value_error for one in found],
        "reward error by depth": [one.reward_error for one in found if one.reward_error is not None],
        SHARES[0]: [one.legal_mass for one in found],
        SHARES[1]: [one.agreement for one in found if one.agreement is not None],
    }
    return head, rows, {name: values for name, values in curves.items() if values}
