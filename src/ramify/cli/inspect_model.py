"""The part of ``ramify inspect`` about learned models."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ramify.cli.figures import Cell, decimal, percent, whole

if TYPE_CHECKING:
    from ramify.muzero.inspection import Depth

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
    """The file of a learned network that ``name`` stands for, as --network takes it; None if it is none."""
    from ramify.arena.network_files import is_learned, network_file

    with suppress(ValueError, OSError):
        path = network_file(str(name))
        return path if is_learned(path) else None
    return None


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


def inspect_network(path: Path, games: int, simulations: int, discount: float) -> tuple[Any, list[Depth]]:
    """The game of a learned network, and what the network says at each depth of its own games."""
    from ramify.evaluators import LatentNetwork, Network
    from ramify.games import make
    from ramify.muzero.inspection import inspect_model, played_games
    from ramify.networks import load

    module = load(path)
    game = make(module.spec.game, **module.spec.params)
    model = LatentNetwork(module)
    records = played_games(game, model, games, simulations, seed=0, discount=discount)
    # A single player's task cannot be searched by its rules in reasonable time: positions are found by playing again.
    evaluator = None if module.acting == "single" else Network(module, model.input_device)
    found = inspect_model(
        game, model, records, simulations=simulations, evaluator=evaluator, discount=discount, positions=8 * games
    )
    return game, found


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
