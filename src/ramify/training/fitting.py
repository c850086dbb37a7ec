"""Default settings of a training run for games without a preset, derived from the size of the game.

The rules are in ``docs/methods/training.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ramify import _core
from ramify.games import Game
from ramify.networks.layouts import unit_returns

TRIAL_GAMES = 8  # random games played to measure the size of a game
LONGEST = 1000  # turns after which such a game is stopped
SMALL_BOARD = 9  # cells; up to here an MLP learns faster than a residual tower
POSITIONS = 4000  # recorded per iteration
SLOW_POSITIONS = 1000  # the same for games written in Python, which take minutes for the above
ITERATIONS = 10
MINUTES = 10  # time limit of a run
ROLLOUT_TURNS = 60  # longest games for which rollouts are informative and fast enough


@dataclass(frozen=True)
class GameSize:
    """Measures of a game's size. Choices and turns are averages over random games."""

    inputs: int  # size of an observation
    cells: int | None  # of the board, if observations are planes of a board
    actions: int
    choices: float  # distinct legal actions of an acting player
    turns: float  # per game


def game_size(game: Game) -> GameSize:
    """Measure the size of a game. The result is deterministic."""
    shape, rng = game.observation_shape, np.random.default_rng(0)
    choices, turns = list[int](), 0
    for number in range(TRIAL_GAMES):
        state = game.initial_state(seed=number)
        for _ in range(LONGEST):
            if state.is_over:
                break
            legal = [state.legal_actions(player) for player in state.acting]
            choices += [len(state.outcomes(player)[0]) for player in state.acting]
            state.apply(*(int(rng.choice(actions)) for actions in legal))
            turns += 1
    board = len(shape) == 3 and min(shape[1:]) >= 3
    return GameSize(
        math.prod(shape),
        math.prod(shape[1:]) if board else None,
        game.num_actions,
        float(np.mean(choices)) if choices else 1.0,
        turns / TRIAL_GAMES,
    )


def fitted_settings(game: Game) -> dict[str, Any]:
    """Arguments of ``TrainConfig`` for a game, without its name and parameters."""
    size, native = game_size(game), isinstance(game, _core.Game)
    share = 1.0 if size.turns <= 12 else 0.3  # fraction of searches that are full and recorded
    positions = POSITIONS if native else SLOW_POSITIONS
    games = _clamp(_multiple(positions / (max(size.turns, 1) * share), 32), 32, 1024)
    network = fitted_network(size)
    rollouts = native and not game.simultaneous and size.turns <= ROLLOUT_TURNS
    loop: dict[str, Any] = {"iterations": ITERATIONS, "max_seconds": 60.0 * MINUTES, "games": games, "batch": 256}
    loop |= {"rollout_iterations": 2} if rollouts else {}
    loop |= {"parallel_games": min(games, 512 if native else 64), "threads": 2 if native else 1}
    loop |= {"games_per_shard": games}
    return {
        "network": network,
        "search": fitted_search(game, size, share),
        "play": fitted_play(game, size, share),
        "targets": {"policy": "average", "root_share": 0.25} if game.simultaneous else {"root_share": 0.25},
        "window": {"size": 10 * positions},
        "optimizer": {"learning_rate": 0.002 if network.get("channels", 0) >= 64 else 0.004},
        "loop": loop,
    }


def fitted_network(size: GameSize) -> dict[str, Any]:
    """A residual tower for boards, larger for more cells and actions; an MLP for other games."""
    if size.cells is None or size.cells <= SMALL_BOARD:
        width = _clamp(2 ** math.ceil(math.log2(2 * (size.inputs + size.actions))), 64, 512)
        return {"kind": "mlp", "layers": 2, "width": width}
    if size.cells <= 64 and size.actions <= 128:
        return {"kind": "resnet", "blocks": 3, "channels": 32}
    if size.cells <= 128 and size.actions <= 1024:
        return {"kind": "resnet", "blocks": 4, "channels": 48}
    return {"kind": "resnet", "blocks": 6, "channels": 64}


def fitted_search(game: Game, size: GameSize, share: float) -> dict[str, Any]:
    """More simulations for games with more choices; regret matching for simultaneous games."""
    simulations = _clamp(_multiple(32 + 2 * size.choices, 8), 40, 200)
    search: dict[str, Any] = {"simulations": simulations}
    if share < 1:
        search["fast_simulations"] = max(8, simulations // 4)
    if game.simultaneous:
        search["selection"] = "regret"  # needs no root noise to explore
    else:
        search |= {"noise_fraction": 0.25, "noise_alpha": round(_clamp(10 / size.choices, 0.1, 1.0), 2)}
    search |= {"fpu": "reduction", "fpu_offset": 0.2, "c_puct": 1.4}
    if not unit_returns(game):
        search["normalize"] = "remaining" if isinstance(game, _core.Game) else "minmax"
    return search


def fitted_play(game: Game, size: GameSize, share: float) -> dict[str, Any]:
    """Varied games: random openings, and actions sampled during the first third of a game.

    In simultaneous games actions are sampled until the end, because optimal strategies are mixed.
    """
    play: dict[str, Any] = {"full_share": share, "opening_moves": _clamp(int(size.turns / 5), 0, 4)}
    if game.simultaneous:
        return {**play, "acting": "average", "temperature_end": 1.0}
    return {**play, "temperature_half_life": float(_clamp(round(size.turns / 3), 2, 15))}


def _multiple(number: float, of: int) -> int:
    return of * math.ceil(number / of)


def _clamp(number: Any, least: Any, most: Any) -> Any:
    return max(least, min(most, number))
