"""The part of ``ramify inspect`` about learned models."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ramify.muzero.inspection import Depth

GAMES = 32  # played by the model with itself


def learned_network(name: Path) -> Path | None:
    """The file of a learned network that ``name`` stands for, as --network takes it; None if it is none."""
    from ramify.arena.network_files import is_learned, network_file

    with suppress(ValueError, OSError):
        path = network_file(str(name))
        return path if is_learned(path) else None
    return None


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


def shown_depths(found: list[Depth]) -> tuple[list[str], list[list[str]], dict[str, list[float]]]:
    """Head, rows and curves of the table by depth."""
    head = ["depth", "positions", "reward error", "value error", "mass on legal actions", "same best action"]
    rows = [
        [
            str(one.depth),
            f"{one.positions:,}",
            "-" if one.reward_error is None else f"{one.reward_error:.3f}",
            f"{one.value_error:.3f}",
            f"{100 * one.legal_mass:.1f} %",
            "-" if one.agreement is None else f"{100 * one.agreement:.1f} %",
        ]
        for one in found
    ]
    curves = {
        "value error by depth": [one.value_error for one in found],
        "reward error by depth": [one.reward_error for one in found if one.reward_error is not None],
        "mass on legal actions by depth": [one.legal_mass for one in found],
        "same best action by depth": [one.agreement for one in found if one.agreement is not None],
    }
    return head, rows, {name: values for name, values in curves.items() if values}
