"""How far a learned model can be trusted: it is unrolled along real games and compared with the rules, by depth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.engine import LatentOutput, SearchConfig, Searcher
from ramify.engine.latents import as_array, is_tensor, loaded_torch
from ramify.engine.seen import SeenPosition
from ramify.games import Game, State
from ramify.muzero.model import as_inputs, as_numbers
from ramify.selfplay import PlayConfig, SelfPlay
from ramify.selfplay.records import GameRecord, decode

Show = Callable[[str, float], None]  # told what is being done, and which share of it is done: less than 1
Start = tuple[list[State], list[tuple[int, ...]], int]  # the states and actions of a game, and a place in it

SEARCH = {"c_puct": 1.25, "c_base": 19652.0, "normalize": "minmax"}  # MuZero's


@dataclass(frozen=True)
class Depth:
    """What a model says after so many actions inside it, on average over positions that really came then."""

    depth: int
    positions: int
    reward_error: float | None  # mean distance to the real reward of the action before; None at depth 0
    value_error: float  # mean distance to what the model says if it sees the real position
    legal_mass: float  # policy mass on legal actions
    agreement: float | None  # share of searches in the model with the best action of a search by the rules


def played_games(
    game: Game, model: Any, games: int, simulations: int, seed: int, discount: float, show: Show | None = None
) -> list[GameRecord]:
    """Games of the model with itself, with some chance in the choice of actions. ``show`` is told how far they are."""
    search = SearchConfig(simulations=simulations, discount=discount, noise_fraction=0.25, **SEARCH)
    play = PlayConfig(temperature=1.0, temperature_end=0.5, opening_moves=0 if model.acting == "single" else 2)
    cut = play.replace(max_moves=500)
    found = SelfPlay(game, model, search, cut, games=games, parallel_games=min(games, 64), seed=seed)
    made = list[GameRecord]()
    for records in found:
        made += map(decode, records)
        if show is not None and len(made) < games:
            show(f"playing {games} games, {found.counts['moves']:,} moves so far", len(made) / games)
    return made


def inspect_model(
    game: Game,
    model: Any,
    records: Sequence[GameRecord],
    *,
    depths: int = 5,
    positions: int = 256,
    simulations: int = 50,
    evaluator: Any = None,
    discount: float = 1.0,
    seed: int = 0,
    show: Show | None = None,
) -> list[Depth]:
    """Compare a latent model with the rules along games, at depths from 0 to ``depths``.

    ``positions``: how many starts are drawn from the games. ``evaluator``: what values positions in the search by the
    rules; None: there is no such search. ``show`` is told which depth is compared.
    """
    compare = partial(_depth, model, simulations=simulations, evaluator=evaluator, discount=discount)
    tell = partial(_tell_depth, show, depths)
    chosen = _starts(game, records, positions, seed)
    tell(0)
    now = initial(model, [states[number] for states, _, number in chosen])
    found = [compare([states[number] for states, _, number in chosen], now, None, 0)]
    for depth in range(1, depths + 1):
        tell(depth)
        kept = [i for i, (_, taken, number) in enumerate(chosen) if number + depth <= len(taken)]
        if not kept:
            break
        chosen = [chosen[i] for i in kept]
        actions = np.array([taken[number + depth - 1] for _, taken, number in chosen], np.int32)
        now = recurrent(model, rows(now, kept), actions)
        before = [states[number + depth - 1] for states, _, number in chosen]
        here = [states[number + depth] for states, _, number in chosen]
        errors = reward_errors(before, actions, now.rewards)
        going_on = [i for i, state in enumerate(here) if not state.is_over]
        if not going_on:
            break
        there = rows(now, going_on)
        ongoing = [here[i] for i in going_on]
        found.append(compare(ongoing, there, errors, depth))
    return found


def _tell_depth(show: Show | None, depths: int, depth: int) -> None:
    if show is not None:
        show(f"comparing the model with the rules {depth} of {depths} actions on", depth / (depths + 1))


def _starts(game: Game, records: Sequence[GameRecord], positions: int, seed: int) -> list[Start]:
    """Positions drawn from the games, up to so many."""
    starts = list[Start]()
    for record in records:
        states = list(record.states(game))
        taken = [move.actions for move in record.moves]
        starts += [(states, taken, number) for number in range(len(taken))]
    if not starts:
        raise ValueError("there are no positions to inspect: the games have no moves")
    return [starts[i] for i in np.random.default_rng(seed).permutation(len(starts))[:positions]]


def _depth(
    model: Any,
    states: list[State],
    said: LatentOutput,
    errors: NDArray[Any] | None,
    depth: int,
    simulations: int,
    evaluator: Any,
    discount: float,
) -> Depth:
    seen = initial(model, states)
    logits = as_numbers(said.logits).reshape(len(states), -1, model.num_actions)  # of both players, or of who acts
    masses = [
        softmax(logits[row, player if logits.shape[1] == 2 else 0])[state.legal_actions(player)].sum()
        for row, state in enumerate(states)
        for player in state.acting
    ]
    agreement = None
    if evaluator is not None:
        config = SearchConfig(simulations=simulations, discount=discount, **SEARCH)
        by_rules = Searcher(states[0].game, evaluator, config).run_many(states)
        inside = Searcher(FromLatents(model, said), config=config).run_many(_numbered(states))  # type: ignore[arg-type]
        same = [one.best_action == other.best_action for one, other in zip(by_rules, inside, strict=True)]
        agreement = float(np.mean(same))
    return Depth(
        depth,
        len(states),
        None if errors is None else float(errors.mean()),
        float(np.abs(as_numbers(said.values) - as_numbers(seen.values)).mean()),
        float(np.mean(masses)),
        agreement,
    )


class FromLatents:
    """A latent model whose roots are latent states that it gave before; observations are their numbers."""

    def __init__(self, model: Any, roots: LatentOutput) -> None:
        self.model, self.roots = model, roots
        self.num_actions, self.acting = model.num_actions, model.acting

    def initial(self, observations: Any) -> LatentOutput:
        found = rows(self.roots, np.asarray(observations)[:, 0].astype(np.int64).tolist())
        return LatentOutput(found.latents, found.logits, found.values)

    def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
        return recurrent(self.model, LatentOutput(latents, None, None), np.asarray(actions))


def _numbered(states: Sequence[State]) -> list[SeenPosition]:
    """Positions that show only their number."""
    return [
        SeenPosition([float(number)], state.acting, [state.legal_actions(player) for player in state.acting])
        for number, state in enumerate(states)
    ]


def initial(model: Any, states: Sequence[State]) -> LatentOutput:
    """What a model says of real positions."""
    seen = np.stack([state.observation(0 if 0 in state.acting else 1) for state in states]).astype(np.float32)
    return _on_host(model.initial(as_inputs(model, seen)))


def recurrent(model: Any, before: LatentOutput, actions: NDArray[Any]) -> LatentOutput:
    """What a model says after actions [B, players]."""
    taken = actions if model.acting == "both" else actions.reshape(len(actions))
    return _on_host(model.recurrent(before.latents, as_inputs(model, taken.astype(np.int32))))


def rows(found: LatentOutput, numbers: Sequence[int]) -> LatentOutput:
    """Some rows of a model's answer."""
    index: Any = np.asarray(numbers, np.int64)
    latents: Any = found.latents
    kept = latents[loaded_torch().from_numpy(index).to(latents.device)] if is_tensor(latents) else latents[index]
    paid = None if found.rewards is None else found.rewards[index]
    return LatentOutput(kept, found.logits[index], found.values[index], paid)


def _on_host(found: LatentOutput) -> LatentOutput:
    """A model's answer with everything but the latent states as numpy arrays; copies, as models reuse their memory."""
    paid = None if found.rewards is None else as_numbers(found.rewards).copy()
    latents = as_array(found.latents, len(found.values))
    kept = latents.clone() if is_tensor(latents) else latents
    return LatentOutput(kept, as_numbers(found.logits).copy(), as_numbers(found.values).copy(), paid)


def reward_errors(states: Sequence[State], actions: NDArray[Any], said: Any) -> NDArray[np.float64]:
    """Distances between a model's rewards and those of the rules, for actions in these positions."""
    errors = np.zeros(len(states))
    for row, (state, taken) in enumerate(zip(states, actions, strict=True)):
        real = state.copy().apply(*taken.tolist())
        wanted = real if np.ndim(said[row]) else real[state.acting[0]]
        errors[row] = float(np.abs(said[row] - wanted).mean())
    return errors


def softmax(logits: NDArray[Any]) -> NDArray[np.float64]:
    """Probabilities from logits."""
    powers = np.exp(logits.astype(np.float64) - logits.max())
    return np.asarray(powers / powers.sum())
