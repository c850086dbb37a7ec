"""Training data of learned models (MuZero): every move of a game, in order, so that models can be unrolled along it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ramify.engine.config import SearchConfig
from ramify.games import Game, number_of_players
from ramify.selfplay.records import GameRecord
from ramify.training.config import TargetConfig
from ramify.training.samples import (
    Samples,
    blank,
    by_number,
    cut_by_limits,
    fill_policies,
    join,
    replay,
    value_targets,
    without_groups,
)

SAME_SUM = 1e-5  # how far, relative to their size, rewards may be from adding up to 0


@dataclass(frozen=True)
class Trajectories(Samples):
    """Positions of whole games, one row per move; moves without a recorded search have no policy target.

    ``values`` of Samples are not used: value targets follow from ``returns``, ``rewards`` and ``roots``.
    """

    actions: NDArray[np.int32]  # [n, players]: taken here
    rewards: NDArray[np.float32]  # [n, 2]: of player 0 and 1, for these actions
    roots: NDArray[np.float32]  # [n, 2]: the search's values of player 0 and 1; nan without a search
    returns: NDArray[np.float32]  # [n, 2]: value targets of player 0 and 1, without bootstrapping
    viewers: NDArray[np.int8]  # [n]: the acting player; 0 where both act
    left: NDArray[np.int32]  # [n]: moves to the end of the record, this one included
    ended: NDArray[np.bool_]  # [n]: the game came to its end; otherwise it was cut, and what follows is unknown


def make_trajectories(
    game: Game, records: Iterable[GameRecord], search: SearchConfig, targets: TargetConfig, players: int
) -> Trajectories:
    """The moves of games, ordered by game number."""
    parts = [game_trajectory(game, record, search, targets, players) for record in by_number(records) if record.moves]
    return without_groups(join([_blank(game, 0, players), *parts]))


def _blank(game: Game, count: int, players: int) -> Trajectories:
    zeros = np.zeros((count, 2), np.float32)
    return Trajectories(
        **vars(blank(game, count, players, ())),
        actions=np.zeros((count, players), np.int32),
        rewards=zeros.copy(),
        roots=np.full((count, 2), np.nan, np.float32),
        returns=zeros.copy(),
        viewers=np.zeros(count, np.int8),
        left=np.arange(count, 0, -1, dtype=np.int32),
        ended=np.zeros(count, np.bool_),
    )


def game_trajectory(
    game: Game, record: GameRecord, search: SearchConfig, targets: TargetConfig, players: int
) -> Trajectories:
    """The moves of one game."""
    _check_order(game, record, players)
    states, rewards = replay(game, record)
    _check_rewards(game, record, rewards, players)
    record = cut_by_limits(record, states[-1])
    made = _blank(game, len(record.moves), players)
    made.games[:] = record.number
    made.ended[:] = not record.cut
    made.rewards[:] = rewards
    made.returns[:] = value_targets(record, rewards, targets, search.discount)
    for row, (state, move) in enumerate(zip(states, record.moves, strict=False)):
        both = (move.acting[0], 1 - move.acting[0])
        made.viewers[row] = both[0]
        made.actions[row] = move.actions
        made.observations[row] = state.observation(both[0])
        made.scores[row] = record.returns[both[0]] - record.returns[both[1]]
        if move.found is not None:
            made.roots[row] = move.found.value
            fill_policies(made, row, state, move, move.found, both[:players], search, targets)
            continue
        for place, player in enumerate(both[:players]):
            if player in move.acting:
                made.legal[row, place, state.legal_actions(player)] = True
    return made


def _check_order(game: Game, record: GameRecord, players: int) -> None:
    """Raise a ValueError unless the players act as a learned model has it: both always, in turn, or only player 0."""
    acting = [move.acting for move in record.moves]
    if players == 2:
        wrong = any(len(one) != 2 for one in acting)
    elif number_of_players(game) == 1:
        wrong = any(one != (0,) for one in acting)
    else:
        wrong = any(len(one) != 1 or one == before for before, one in zip([(), *acting], acting, strict=False))
    if wrong:
        raise ValueError(
            f"a learned model needs players who always act in turn, or always at once, or a single player: in game "
            f"{record.number} of {game.name} they do not"
        )


def _check_rewards(game: Game, record: GameRecord, rewards: NDArray[np.float64], players: int) -> None:
    """Raise a ValueError where players act in turn, and what one of them gains is not what the other one loses.

    In games in turn a learned model knows the value of the player to move alone.
    """
    if players == 2 or number_of_players(game) == 1:
        return
    sums = np.abs(rewards.sum(axis=1)) > SAME_SUM * (1 + np.abs(rewards).max(axis=1))
    if sums.any():
        first, second = rewards[int(sums.argmax())]
        raise ValueError(
            f"a learned model of a game in turn needs rewards that add up to 0: in game {record.number} of {game.name} "
            f"an action gives {first:g} and {second:g}. Train another kind of network, such as network.kind=mlp with "
            "network.per_player=true"
        )
