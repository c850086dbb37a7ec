"""Training data from game records: one row per recorded position, from the view of the acting player.

Arrays are in the viewer's order, like network outputs: the acting player first, player 0 where both act.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.engine.config import SearchConfig
from ramify.engine.policies import outcome_weights
from ramify.games import Game, State
from ramify.selfplay.records import FoundBySearch, GameRecord, Move
from ramify.training.config import TargetConfig

# Games whose first two planes are the viewer's cells and the other player's: who owns a cell at the end is known.
OWNED = ("hex", "connect_four", "tictactoe")


@dataclass(frozen=True)
class Samples:
    """Training positions. ``players`` is 1 if the network predicts only for the viewer, else 2."""

    observations: NDArray[np.float32]  # [n, *observation_shape]
    policies: NDArray[np.float32]  # [n, players, num_actions]; zeros without a target
    legal: NDArray[np.bool_]  # [n, players, num_actions]
    values: NDArray[np.float32]  # [n, players]: rewards still to come
    scores: NDArray[np.float32]  # [n]: the whole game's returns, the viewer's less the other's
    owners: NDArray[np.int8]  # [n, cells]: 1 the viewer's at the end, -1 the other's; no cells where unknown
    surprise: NDArray[np.float32]  # [n]: what the policy target tells beyond the prior, in nats
    games: NDArray[np.int64]  # [n]: number of the game

    def __len__(self) -> int:
        return len(self.games)


def join(parts: Sequence[Samples]) -> Samples:
    """Concatenate samples."""
    return Samples(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Samples)))


def make_samples(
    game: Game, records: Iterable[GameRecord], search: SearchConfig, targets: TargetConfig, players: int, owners: bool
) -> Samples:
    """The recorded positions of games, ordered by game number."""
    parts = [game_samples(game, record, search, targets, players, owners) for record in sorted(records, key=_number)]
    return join([blank(game, 0, players, owners), *parts])


def _number(record: GameRecord) -> int:
    return record.number


def blank(game: Game, count: int, players: int, owners: bool) -> Samples:
    """Arrays of zeros for ``count`` positions."""
    actions = (count, players, game.num_actions)
    return Samples(
        np.zeros((count, *game.observation_shape), np.float32),
        np.zeros(actions, np.float32),
        np.zeros(actions, np.bool_),
        np.zeros((count, players), np.float32),
        np.zeros(count, np.float32),
        np.zeros((count, cells(game) if owners else 0), np.int8),
        np.zeros(count, np.float32),
        np.zeros(count, np.int64),
    )


def cells(game: Game) -> int:
    """Number of cells in an observation's planes."""
    if game.name not in OWNED:
        raise ValueError(f"an ownership head cannot be trained for {game.name}, only for {', '.join(OWNED)}")
    return int(np.prod(game.observation_shape[1:]))


def game_samples(
    game: Game, record: GameRecord, search: SearchConfig, targets: TargetConfig, players: int, owners: bool
) -> Samples:
    """The recorded positions of one game."""
    states, rewards = replay(game, record)
    values = value_targets(record, rewards, targets, search.discount)
    made = blank(game, sum(move.found is not None for move in record.moves), players, owners)
    made.games[:] = record.number
    row = 0
    for number, (state, move) in enumerate(zip(states, record.moves, strict=False)):
        if move.found is None:
            continue
        order = (move.acting[0], 1 - move.acting[0])[:players]
        made.observations[row] = state.observation(move.acting[0])
        made.values[row] = values[number, list(order)]
        made.scores[row] = record.returns[order[0]] - record.returns[1 - order[0]]
        if owners:
            made.owners[row] = final_owners(states[-1], order[0])
        fill_policies(made, row, state, move, move.found, order, search, targets)
        row += 1
    return made


def fill_policies(
    made: Samples,
    row: int,
    state: State,
    move: Move,
    found: FoundBySearch,
    order: tuple[int, ...],
    search: SearchConfig,
    targets: TargetConfig,
) -> None:
    """Write the policy targets of the acting players, the legal actions, and KL(target ‖ prior)."""
    root = found.root(search)
    skipped = targets.skips_policy(root)
    for place, player in enumerate(order):
        if player not in move.acting:
            continue
        if skipped:
            made.legal[row, place, state.legal_actions(player)] = True
            continue
        weights = outcome_weights(root, player, targets.policy, targets.nash)
        total = weights.sum()
        share = weights / total if total > 0 else found.priors[player].astype(np.float64)
        made.policies[row, place, found.outcomes[player]] = share
        made.legal[row, place, state.legal_actions(player)] = True
        positive = share > 0
        prior = np.maximum(found.priors[player][positive], 1e-9)
        made.surprise[row] += max(0.0, float((share[positive] * np.log(share[positive] / prior)).sum()))


def replay(game: Game, record: GameRecord) -> tuple[list[State], NDArray[np.float64]]:
    """All positions, the final one included, and the rewards [moves, 2]; a resignation is paid at the last move."""
    state = game.initial_state(seed=record.seed)
    states, rewards = [state.copy()], np.zeros((len(record.moves), 2))
    for number, move in enumerate(record.moves):
        rewards[number] = state.apply(*move.actions)
        states.append(state.copy())
    if len(rewards):
        rewards[-1] += record.returns - rewards.sum(axis=0)
    return states, rewards


def value_targets(
    record: GameRecord, rewards: NDArray[np.float64], targets: TargetConfig, discount: float
) -> NDArray[np.float64]:
    """The value target of each position and player, [moves, 2].

    The remaining rewards of a cut game are unknown; the value of the last search estimates them from its position on.
    The targets of earlier positions therefore use that value and only the rewards before it. Moves after the last
    search are not recorded.
    """
    moves = record.moves
    found = [None if move.found is None else move.found.value.astype(np.float64) for move in moves]
    fade = 1 - 1 / max(targets.short_moves, 1.0)
    own = 1 - targets.root_share - targets.short_share
    values = np.zeros((len(moves), 2))
    to_come = short = np.zeros(2)
    estimated = record.cut
    for number in range(len(moves) - 1, -1, -1):
        root = found[number]
        to_come, short = (rewards[number] + discount * later for later in (to_come, short))
        if estimated and root is not None:
            to_come = short = root
            estimated = False
        short = short if root is None else (1 - fade) * root + fade * short
        root = to_come if root is None else root
        values[number] = own * to_come + targets.root_share * root + targets.short_share * short
    return values


def final_owners(state: State, viewer: int) -> NDArray[np.int8]:
    """The owner of each cell at the end: 1 the viewer, -1 the other player."""
    planes: NDArray[Any] = state.observation(viewer)[:2].reshape(2, -1)
    owners: NDArray[np.int8] = (planes[0] - planes[1]).astype(np.int8)
    return owners
