"""A search of a perfect model equals the search of the rules, visit for visit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.selfplay import GameRecord, PlayConfig, SelfPlay, decode
from tests.muzero.perfect import GAMES, Perfect
from tests.reference import muzero
from tests.reference.config import Config

POSITIONS = 100
MUZERO: dict[str, Any] = {"c_puct": 1.25, "c_base": 19652.0, "discount": 0.997, "normalize": "minmax"}
# Far below what any legal action is worth before its first visit, unless its prior lifts it: no prior, no visit.
PLAIN: dict[str, Any] = {"c_puct": 40.0, "fpu": "parent", "fpu_offset": 3.0}
# Noise is drawn for every legal action of a model, and for every outcome of the rules: in PyRat these are fewer.
NOISE = {"tictactoe": 0.25, "connect_four": 0.25, "hex": 0.25, "pyrat": 0.0}


def positions(name: str, count: int = POSITIONS, turns: int = 8) -> list[rf.State]:
    """Random walks of up to so many turns from one start, to anywhere before the end."""
    game, found = rf.make(name, **GAMES[name]), list[rf.State]()
    for seed in range(count):
        rng, state = np.random.default_rng(seed), game.initial_state(seed=7)
        for _ in range(int(rng.integers(0, turns + 1))):
            after = state.after(*(int(rng.choice(state.legal_actions(player))) for player in state.acting))
            if after.is_over:
                break
            state = after
        found.append(state)
    return found


def start_of(name: str) -> Any:
    return rf.make(name, **GAMES[name]).initial_state(seed=7).fields if name == "pyrat" else None  # type: ignore[attr-defined]


def searched(
    name: str, states: list[rf.State], simulations: int, **settings: Any
) -> tuple[Perfect, list[Any], list[Any]]:
    """A perfect model, and the searches of these states by the rules and by the model."""
    model, seeds = Perfect(states[0].game, 3, start_of(name)), list(range(len(states)))
    config = rf.SearchConfig(simulations=simulations, noise_fraction=NOISE[name], **settings)
    by_rules = rf.Searcher(states[0].game, model, config).run_many(states, seeds)
    return model, by_rules, rf.Searcher(model, config=config).run_many(states, seeds)


@pytest.mark.parametrize("name", GAMES)
def test_a_hundred_positions_up_to_the_end(name: str) -> None:
    states = positions(name)
    model, by_rules, learned = searched(name, states, 28, **PLAIN)
    for state, rules, latent in zip(states, by_rules, learned, strict=True):
        compare(state, rules, latent)
    assert model.after_end > 0  # the model goes on where the rules have ended


@pytest.mark.parametrize("name", GAMES)
def test_a_hundred_positions_before_the_end_with_the_settings_of_muzero(name: str) -> None:
    """After the end, values of 0 enter the range of min-max normalisation: searches that get there are left out."""
    states = positions(name, 260 if name == "tictactoe" else 130, turns=2)
    _, by_rules, learned = searched(name, states, 20, **MUZERO)
    triples = zip(states, by_rules, learned, strict=True)
    before = [(state, rules, latent) for state, rules, latent in triples if not rules.stats["terminals"]]
    assert len(before) >= POSITIONS
    for state, rules, latent in before:
        compare(state, rules, latent)


def compare(state: rf.State, rules: Any, latent: Any) -> None:
    """Equal for all outcomes of the rules; actions without a prior have no visit."""
    places = [
        np.searchsorted(mine, stands) if mine[0] >= 0 else np.zeros(1, int)
        for stands, mine in zip(rules.outcomes, latent.outcomes, strict=True)
    ]
    there = np.ix_(*places)
    assert latent.visits.sum() == rules.visits.sum() == latent.visits[there].sum()
    np.testing.assert_array_equal(latent.visits[there], rules.visits, err_msg=str(state))
    np.testing.assert_array_equal(latent.payoffs[(slice(None), *there)], rules.payoffs)
    np.testing.assert_array_equal(latent.value, rules.value)


POOL: dict[str, tuple[dict[str, Any], int]] = {  # parameters and number of games
    "tictactoe": ({}, 20),
    "connect_four": ({}, 8),
    "hex": ({"size": 4}, 12),
    "pyrat": ({"width": 5, "height": 4, "cheese": 4, "max_turns": 12, "wall_density": 0.0, "mud_density": 0.0}, 12),
}


def games_with(name: str, evaluator: Any) -> list[GameRecord]:
    params, games = POOL[name]
    player = SelfPlay(
        rf.make(name, **params),
        evaluator,
        rf.SearchConfig(simulations=24, noise_fraction=NOISE[name], **PLAIN),
        PlayConfig(opening_moves=2),
        games=games,
        parallel_games=8,
        seed=5,
    )
    return sorted((decode(data) for records in player for data in records), key=lambda record: record.number)


@pytest.mark.parametrize("name", POOL)  # to the last move, without normalisation: after the end, 0 enters the range
def test_a_hundred_positions_of_the_pool(name: str) -> None:
    game = rf.make(name, **POOL[name][0])
    start = game.initial_state(seed=0).fields if name == "pyrat" else None  # type: ignore[attr-defined]
    model = Perfect(game, 4, start)
    by_rules, learned = games_with(name, Evaluating(model)), games_with(name, model)
    searched = 0
    for first, second in zip(by_rules, learned, strict=True):
        np.testing.assert_array_equal(first.returns, second.returns)
        for state, rules, latent in zip(first.states(game), first.moves, second.moves, strict=False):
            assert (rules.acting, rules.actions, rules.opening) == (latent.acting, latent.actions, latent.opening)
            if rules.found is not None:
                compare(state, rules.found, latent.found)
                searched += 1
    assert searched >= POSITIONS


class Evaluating:
    """Only the evaluator of a perfect model."""

    def __init__(self, model: Perfect) -> None:
        self.evaluate = model.evaluate


def transcribed(state: rf.State, model: Perfect, simulations: int) -> muzero.Search:
    class Called:
        def initial(self, observations: Any) -> Any:
            out = model.initial(observations)
            return out.latents, out.logits, out.values

        def recurrent(self, latents: Any, actions: Any) -> Any:
            out = model.recurrent(latents, actions)
            return out.latents, out.rewards, out.logits, out.values

    search = muzero.Search(state, Called(), Config(**MUZERO))
    for _ in range(simulations):
        search.simulate()
    return search


@pytest.mark.parametrize("name", ["tictactoe", "connect_four", "hex"])
def test_the_transcription_agrees(name: str) -> None:
    for state in positions(name, 6):
        model = Perfect(state.game, 9)
        found = rf.Searcher(model, config=rf.SearchConfig(simulations=40, **MUZERO)).run(state)
        expected = transcribed(state, model, 40)
        np.testing.assert_array_equal(found.visits, expected.visits)
        np.testing.assert_allclose(found.value, expected.value, atol=1e-6)
