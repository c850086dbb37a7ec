"""Self-play with a latent model: the games that a plain loop of searches plays, however many at once."""

from __future__ import annotations

import gc
import itertools
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.engine import LatentOutput
from ramify.engine.latent_source import LatentSource
from ramify.selfplay import GameRecord, PlayConfig, SelfPlay, decode
from tests.engine.hashed_model import HashedModel
from tests.engine.tiny_games import Paths

GAMES: dict[str, tuple[dict[str, Any], str]] = {
    "hex": ({"size": 4}, "alternating"),
    "connect_four": ({}, "alternating"),
    "tictactoe": ({}, "single"),
    "pyrat": ({"width": 5, "height": 4, "cheese": 4, "max_turns": 10}, "both"),
    "goofspiel": ({"cards": 5}, "both"),
}


def make(name: str) -> Any:
    return Paths("alternating", zero_sum=True, turns=6) if name == "python" else rf.make(name, **GAMES[name][0])


def model_of(name: str) -> HashedModel:
    return HashedModel(make(name).num_actions, "alternating" if name == "python" else GAMES[name][1])


def player_of(name: str, model: Any = None, games: int = 6, parallel_games: int = 3, **more: Any) -> SelfPlay:
    search = {"simulations": 20, "noise_fraction": 0.25, **more.pop("search", {})}
    settings = {"max_moves": 16, **more.pop("play", {})}
    return SelfPlay(
        make(name),
        model or model_of(name),
        rf.SearchConfig(**search),
        PlayConfig(**settings),
        games=games,
        parallel_games=parallel_games,
        seed=more.pop("seed", 5),
        **more,
    )


def source_of(player: SelfPlay) -> LatentSource:
    assert isinstance(player._source, LatentSource)
    return player._source


def play(name: str, *given: Any, **more: Any) -> list[GameRecord]:
    found = [decode(data) for records in player_of(name, *given, **more) for data in records]
    return sorted(found, key=lambda record: record.number)


def same(first: GameRecord, second: GameRecord) -> bool:
    return repr(first) == repr(second)


@pytest.mark.parametrize("name", [*GAMES, "python"])
def test_games_depend_on_seed_and_number_alone(name: str) -> None:
    few: dict[str, Any] = {"search": {"simulations": 8}}
    alone = play(name, parallel_games=1, **few)
    assert [record.number for record in alone] == list(range(6))
    for parallel_games, threads in ((2, 1), (5, 2), (6, 3)):
        assert all(map(same, alone, play(name, parallel_games=parallel_games, threads=threads, **few)))
    assert not all(map(same, alone, play(name, seed=6, **few)))
    assert all(map(same, alone[4:], play(name, games=2, first=4, **few)))


@pytest.mark.parametrize("name", [*GAMES, "python"])
def test_the_games_are_those_of_a_plain_loop(name: str) -> None:
    """Without noise and temperature nothing is drawn: the best action after every search."""
    game, searcher = make(name), rf.Searcher(model_of(name), config=rf.SearchConfig(simulations=20))
    for record in play(name, search={"noise_fraction": 0.0}, play={"temperature": 0.0}, games=2):
        state = next(iter(record.states(game)))
        for move in record.moves:
            result = searcher.run(state)
            assert move.acting == state.acting
            assert move.actions == tuple(np.atleast_1d(result.action()))
            assert move.found is not None
            np.testing.assert_array_equal(move.found.visits, result.visits)
            np.testing.assert_array_equal(move.found.payoffs, result.payoffs)
            np.testing.assert_array_equal(move.found.value, result.value)
            state.apply(*move.actions)
        assert state.is_over or record.cut
        np.testing.assert_allclose(record.returns, state.returns, atol=1e-6)


def test_sampled_moves_follow_the_same_searches() -> None:
    """With a temperature the actions are drawn, but the searches before them are those of a Searcher."""
    game, searcher = make("hex"), rf.Searcher(model_of("hex"), config=rf.SearchConfig(simulations=20, batch=3))
    records = play("hex", search={"noise_fraction": 0.0, "batch": 3}, play={"opening_moves": 3})
    assert any(move.opening for record in records for move in record.moves)
    for record in records:
        for state, move in zip(record.states(game), record.moves, strict=False):
            if not move.opening:
                assert move.found is not None
                np.testing.assert_array_equal(move.found.visits, searcher.run(state).visits)


@pytest.mark.parametrize(
    ("search", "settings"),
    [
        ({"batch": 4, "max_in_flight": 1.0}, {}),
        ({"selection": "gumbel", "noise_fraction": 0.0}, {"acting": "improved"}),
        ({"fast_simulations": 5}, {"full_share": 0.5, "opening_moves": 2}),
    ],
)
def test_whatever_the_search(search: dict[str, Any], settings: dict[str, Any]) -> None:
    search = {"simulations": 10, **search}
    alone = play("hex", parallel_games=1, search=search, play=settings)
    assert all(map(same, alone, play("hex", parallel_games=4, threads=2, search=search, play=settings)))


def test_legal_actions_are_known_at_the_root() -> None:
    for record in play("tictactoe"):
        for state, move in zip(record.states(make("tictactoe")), record.moves, strict=False):
            assert move.found is not None
            np.testing.assert_array_equal(move.found.outcomes[state.acting[0]], state.legal_actions())


def test_batches_have_roots_and_other_rows() -> None:
    """Fast searches among full ones: games begin their moves at different times."""
    model = model_of("connect_four")
    play("connect_four", model, parallel_games=8, games=12, search={"fast_simulations": 7}, play={"full_share": 0.5})
    assert max(rows for _, rows in model.rows) == 4  # half of the games
    mixed = [
        (first, second)
        for (kind, first), (other, second) in itertools.pairwise(model.rows)
        if kind != other == "recurrent"
    ]
    assert any(first + second == 4 for first, second in mixed)


def test_slots_are_given_back_move_by_move() -> None:
    player = player_of("hex", games=12, parallel_games=4, search={"simulations": 30})
    slots, latents = source_of(player).slots, source_of(player).latents
    for _ in player:
        assert slots.capacity <= 4 * 32
    assert slots.held == 0
    assert latents.shape[0] <= 2 * 4 * 32
    halfway = player_of("hex", parallel_games=4)
    slots = source_of(halfway).slots
    moves = iter(halfway)
    for _ in range(25):
        next(moves)
    assert slots.held > 0
    moves.close()  # type: ignore[attr-defined]
    del halfway, moves
    gc.collect()
    assert slots.held == 0


class OnADevice(HashedModel):
    """As a model on a GPU: called in the thread of the games, tensors in and out."""

    asynchronous, input_device = True, "cpu"

    def _output(self, latents: Any, rewards: Any) -> LatentOutput:
        import torch

        out = super()._output(latents, rewards)
        arrays = [
            None if array is None else torch.from_numpy(np.ascontiguousarray(array))
            for array in (out.latents, out.logits, out.values, out.rewards)
        ]
        return LatentOutput(*arrays)  # type: ignore[arg-type]


def test_a_model_on_a_device_plays_the_same_games() -> None:
    pytest.importorskip("torch")
    assert all(map(same, play("hex"), play("hex", OnADevice(16), parallel_games=5, threads=2)))


class Stepping(OnADevice):
    """Called with padded batches, as a part of a step from slots to slots."""

    capturable = True


@pytest.mark.parametrize(("name", "per_player"), [("hex", False), ("hex", True), ("goofspiel", True)])
def test_steps_on_a_device_play_the_same_games(name: str, per_player: bool) -> None:
    """Batches are full or padded, and rewards are those of who acted or of both."""
    pytest.importorskip("torch")
    size, acting = make(name).num_actions, GAMES[name][1]
    wanted = play(name, HashedModel(size, acting, per_player=per_player), parallel_games=1)
    for parallel_games, threads in ((5, 1), (8, 2)):
        model = Stepping(size, acting, per_player=per_player)
        assert all(map(same, wanted, play(name, model, parallel_games=parallel_games, threads=threads)))


def test_a_model_that_fails_leaves_finished_games_and_can_go_on() -> None:
    class Failing(HashedModel):
        left = 150

        def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
            self.left -= 1
            if self.left == 0:
                raise ArithmeticError("overflow")
            return super().recurrent(latents, actions)

    player = player_of("hex", Failing(16), parallel_games=3)
    found: list[bytes] = []
    with pytest.raises(ArithmeticError):
        found.extend(itertools.chain.from_iterable(player))
    found += [data for records in player for data in records]
    records = sorted(map(decode, found), key=lambda record: record.number)
    assert all(map(same, records, play("hex")))
    assert len(records) == 6


def test_what_needs_the_rules_is_refused() -> None:
    with pytest.raises(ValueError, match="num_actions is 9, but hex has 16"):
        player_of("hex", HashedModel(9))
    with pytest.raises(ValueError, match="reuse must be False"):
        player_of("hex", play={"reuse": True})
    with pytest.raises(ValueError, match="fixed_batches is not available"):
        player_of("hex", fixed_batches=64)
    with pytest.raises(ValueError, match="solver=True needs the rules"):
        player_of("hex", search={"solver": True})
