"""Self-play: the same games however they are played, records that replay, and nothing lost when something breaks."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.engine.policies import outcome_weights
from ramify.selfplay import GameRecord, PlayConfig, SelfPlay, decode
from ramify.selfplay.run import measure
from tests.engine.random_games import RandomGame
from tests.reference.evaluators import HashEvaluator

GAMES: dict[str, dict[str, Any]] = {
    "hex": {"size": 4},
    "connect_four": {},
    "pyrat": {"width": 5, "height": 4, "cheese": 4, "max_turns": 10},
    "goofspiel": {"cards": 5},
    "tictactoe": {},
    "chess": {},
}


def make(name: str) -> Any:
    return RandomGame("mixed", 3) if name == "python" else rf.make(name, **GAMES[name])


def play(
    name: str, evaluator: Any = "hash", games: int = 8, parallel_games: int = 3, threads: int = 1, **more: Any
) -> list[GameRecord]:
    search = {"simulations": 24, "noise_fraction": 0.25, **more.pop("search", {})}
    settings = {"max_moves": 16, **more.pop("play", {})}
    player = SelfPlay(
        make(name),
        HashEvaluator(4, True) if evaluator == "hash" else evaluator,
        rf.SearchConfig(**search),
        PlayConfig(**settings),
        games=games,
        parallel_games=parallel_games,
        threads=threads,
        seed=more.pop("seed", 5),
        **more,
    )
    return sorted((decode(data) for found in player for data in found), key=lambda record: record.number)


def same(first: GameRecord, second: GameRecord) -> bool:
    return repr(first) == repr(second)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "chess" else ()) for name in (*GAMES, "python")]
)
def test_games_depend_on_seed_and_number_alone(name: str) -> None:
    few: dict[str, Any] = {"search": {"simulations": 10}}
    alone = play(name, parallel_games=1, **few)
    assert [record.number for record in alone] == list(range(8))
    for places, threads in ((2, 1), (5, 2), (8, 3)):
        assert all(map(same, alone, play(name, parallel_games=places, threads=threads, **few)))
    assert not all(map(same, alone, play(name, parallel_games=4, seed=6, **few)))
    later = play(name, games=3, first=5, **few)
    assert all(map(same, alone[5:], later))


@pytest.mark.parametrize("settings", [{"batch": 4, "max_in_flight": 1.0}, {"graph": True}, {"fast_simulations": 6}])
@pytest.mark.parametrize("reuse", [False, True])
def test_whatever_the_search(settings: dict[str, Any], reuse: bool) -> None:
    settings = {"simulations": 12, **settings}
    options: dict[str, Any] = {"search": settings, "play": {"reuse": reuse, "opening_moves": 3, "full_share": 0.5}}
    alone = play("hex", parallel_games=1, **options)
    assert all(map(same, alone, play("hex", parallel_games=6, threads=2, **options)))
    moves = [move for record in alone for move in record.moves]
    assert any(move.opening for move in moves)
    assert all((move.found is not None) == (move.full and not move.opening) for move in moves)
    if "fast_simulations" in settings:
        assert 0.2 < np.mean([move.full for move in moves if not move.opening]) < 0.8


@pytest.mark.parametrize("name", [*GAMES, "python"])
def test_records_replay(name: str) -> None:
    game = make(name)
    for record in play(name, play={"opening_moves": 2}):
        *before, last = record.states(game)
        assert len(before) == len(record.moves)
        assert last.is_over or record.cut
        np.testing.assert_allclose(last.returns, record.returns, atol=1e-5)
        for state, move in zip(before, record.moves, strict=True):
            assert state.acting == move.acting
            if move.found is not None:
                for player in move.acting:
                    np.testing.assert_array_equal(move.found.outcomes[player], state.outcomes(player)[0])
                    assert abs(move.found.priors[player].sum() - 1) < 0.01
                assert move.found.visits.sum() == 23


def test_a_record_holds_what_the_search_found() -> None:
    (record,) = play("hex", games=1, search={"noise_fraction": 0.0}, play={"temperature": 0.0})
    game = make("hex")
    for state, move in zip(record.states(game), record.moves, strict=False):
        result = rf.search(state, HashEvaluator(4, True), simulations=24)
        assert move.found is not None
        np.testing.assert_array_equal(move.found.visits, result.visits)
        np.testing.assert_array_equal(move.found.payoffs, result.payoffs)
        np.testing.assert_array_equal(move.found.priors[move.acting[0]], result.priors[move.acting[0]])
        assert move.actions == (result.action(),)
        player = state.acting[0]
        root = move.found.root(rf.SearchConfig(simulations=24))
        for method in ("visits", "pruned", "improved"):
            weights = outcome_weights(root, player, method)
            expected = result.policy(player, method)[result.outcomes[player]]
            np.testing.assert_allclose(weights / weights.sum(), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "search", "acting"),
    [
        ("pyrat", {"selection": "regret"}, "average"),
        ("pyrat", {}, "nash"),
        ("hex", {"selection": "gumbel", "noise_fraction": 0.0}, "visits"),
        ("hex", {"forced_playouts": 2.0}, "pruned"),
        ("connect_four", {"solver": True}, "improved"),
    ],
)
def test_any_acting_policy(name: str, search: dict[str, Any], acting: str) -> None:
    options: dict[str, Any] = {"search": {"simulations": 16, **search}, "play": {"acting": acting}, "games": 4}
    alone = play(name, parallel_games=1, **options)
    assert all(map(same, alone, play(name, parallel_games=4, threads=2, **options)))
    assert all(record.moves for record in alone)


def test_averages_need_a_search_that_has_them() -> None:
    with pytest.raises(ValueError, match=r'acting="average" needs the search setting selection="regret" or "exp3"'):
        SelfPlay(make("pyrat"), None, rf.SearchConfig(), PlayConfig(acting="average"), games=1)


def test_settings_of_nash_change_how_games_are_played() -> None:
    options: dict[str, Any] = {"games": 3, "play": {"acting": "nash"}}
    usual = play("goofspiel", **options)
    options["play"] = {"acting": "nash", "nash": {"min_visits": 0, "choose": "entropy"}}
    assert not all(map(same, usual, play("goofspiel", **options)))


@pytest.mark.parametrize("evaluator", [None, rf.evaluators.Rollout(2)])
def test_evaluators_of_the_core(evaluator: Any) -> None:
    alone = play("hex", evaluator, parallel_games=1)
    assert all(map(same, alone, play("hex", evaluator, parallel_games=5, threads=2)))
    assert len(alone) == 8


def test_resignation_spares_some_games() -> None:
    class Gloomy:
        def evaluate(self, batch: rf.Batch) -> rf.Evaluation:
            return rf.Evaluation(np.zeros((len(batch), 16), np.float32), np.full(len(batch), -1.0, np.float32))

    options: dict[str, Any] = {"resign_below": -0.2, "resign_moves": 1, "playthrough": 0.5}
    records = play("hex", Gloomy(), games=60, parallel_games=20, play=options, search={"simulations": 1})
    resigned = [record for record in records if record.resigned]
    assert 10 < len(resigned) < 50
    for record in resigned:
        loser = len(record.moves) % 2  # the one whose turn it was
        assert record.returns[loser] == -1


class OnADevice:
    """Answers in bfloat16, later, and from memory that it uses again: as a GPU does."""

    asynchronous, needs_legal = True, False

    def __init__(self) -> None:
        self.inner, self.turn = HashEvaluator(4, True), 0
        self.memory: list[Any] = [None, None]

    def prepare_arrays(self, arrays: dict[str, Any]) -> dict[str, Any]:
        return arrays

    def rounded(self, batch: rf.Batch) -> tuple[Any, Any]:
        legal = np.ones((len(batch), 2, 16), np.bool_)
        found = self.inner.evaluate(rf.Batch(batch.observations, legal, batch.acting, batch.keys))
        rows, movers = np.arange(len(batch)), batch.acting[:, 1].astype(int)
        logits = np.asarray(found.logits)[rows, movers]
        return (logits.view(np.uint32) >> 16).astype(np.uint16), np.asarray(found.values)[rows, movers]

    def submit_raw(self, batch: rf.Batch) -> Any:
        self.turn = 1 - self.turn
        turn, self.memory[self.turn] = self.turn, self.rounded(batch)
        return lambda: self.memory[turn]

    def evaluate(self, batch: rf.Batch) -> rf.Evaluation:
        halves, values = self.rounded(batch)
        return rf.Evaluation((halves.astype(np.uint32) << 16).view(np.float32), values)


def test_answers_of_a_device_are_read_where_they_lie() -> None:
    class AtOnce(OnADevice):
        asynchronous = False

    assert all(
        map(same, play("hex", AtOnce(), parallel_games=1), play("hex", OnADevice(), parallel_games=6, threads=2))
    )


def test_a_batch_is_renewed_once_and_by_its_own_pool() -> None:
    def player() -> SelfPlay:
        return SelfPlay(rf.make("hex", size=4), OnADevice(), rf.SearchConfig(simulations=8), parallel_games=6)

    first, other = player(), player()
    arrays = first._source.arrays(0, 3)
    logits, values = np.zeros((3, 16), np.float32), np.zeros(3, np.float32)
    batch = first._pool.gather(0, arrays)
    with pytest.raises(ValueError, match="another pool"):
        other._pool.refill(batch, logits, values, None, arrays)
    with pytest.raises(rf.EvaluatorError, match="3 rows needs as many values"):
        first._pool.refill(batch, logits, values[:2], None, arrays)
    assert len(first._pool.refill(batch, logits, values, None, arrays)) == 3
    with pytest.raises(ValueError, match="absorbed before"):
        first._pool.refill(batch, logits, values, None, arrays)
    assert first.counts["evaluations"] == 3


def test_an_automatic_batch_has_one_leaf_of_each_game() -> None:
    # One search on a device takes 16 at once; here the games fill the batch.
    search = rf.SearchConfig(simulations=1600)
    assert search.for_evaluator(OnADevice()).batch == 16
    for given, leaves in ((search, 1), (search.replace(batch=4), 4)):
        play = SelfPlay(rf.make("hex", size=4), OnADevice(), given, games=1, parallel_games=2, fixed_batches=leaves)
        assert play.search.batch == leaves


def test_overlapping_evaluations_count_once_as_busy_time() -> None:
    class Slow(OnADevice):
        def submit_raw(self, batch: rf.Batch) -> Any:
            answer, ready = super().submit_raw(batch), time.perf_counter() + 0.01
            return lambda: (time.sleep(max(0.0, ready - time.perf_counter())), answer())[1]

    search = rf.SearchConfig(simulations=8)
    selfplay = SelfPlay(rf.make("hex", size=4), Slow(), search, games=4, parallel_games=4)
    for _ in selfplay:
        pass
    assert selfplay.batches > 4
    assert 0.005 * selfplay.batches < selfplay.busy  # two at once take at least 0.01 s together
    assert 0 < measure(selfplay).busy <= 1


def test_evaluators_may_be_called_for_both_shares_at_once() -> None:
    """Only those that say so; the games are the same, though the answers for the first share come last."""

    class Both(HashEvaluator):
        concurrent, wait = True, 0.1

        def __init__(self) -> None:
            super().__init__(4, True)
            self.lock, self.inside, self.most, self.calls = threading.Lock(), 0, 0, 0

        def evaluate(self, batch: rf.Batch) -> rf.Evaluation:
            with self.lock:
                self.inside, self.calls = self.inside + 1, self.calls + 1
                self.most, turn = max(self.most, self.inside), self.calls
            time.sleep(self.wait if turn < 4 and turn % 2 else 0)
            try:
                return super().evaluate(batch)
            finally:
                with self.lock:
                    self.inside -= 1

    class One(Both):
        concurrent = False

    both, one = Both(), One()
    assert all(map(same, play("hex", both, parallel_games=6), play("hex", one, parallel_games=6)))
    assert (both.most, one.most) == (2, 1)


class Breaking:
    """Answers for a while, then in a way that no pool can use."""

    def __init__(self, how: str, after: int = 200) -> None:
        self.how, self.after, self.inner = how, after, HashEvaluator(4, True)

    def evaluate(self, batch: rf.Batch) -> Any:
        self.after -= 1
        if self.after > 0:
            return self.inner.evaluate(batch)
        logits, values = np.zeros((len(batch), 2, 16), np.float32), np.zeros((len(batch), 2), np.float32)
        if self.how == "nan":
            logits[0] = np.nan
        elif self.how == "values":
            values[-1] = np.inf
        elif self.how == "shape":
            logits = logits[:, :, :3]
        elif self.how == "crash":
            raise RuntimeError("the network is gone")
        elif self.how == "memory":
            raise MemoryError("out of memory")
        return rf.Evaluation(logits, values)


@pytest.mark.parametrize(
    ("how", "error", "text"),
    [
        ("nan", rf.EvaluatorError, "row"),
        ("values", rf.EvaluatorError, "row"),
        ("shape", rf.EvaluatorError, "shape"),
        ("crash", RuntimeError, "gone"),
        ("memory", MemoryError, "memory"),
    ],
)
def test_a_broken_evaluator_costs_only_games_in_play(how: str, error: type[Exception], text: str) -> None:
    player = SelfPlay(
        make("hex"), Breaking(how), rf.SearchConfig(simulations=12), games=500, parallel_games=6, threads=2
    )
    finished: list[bytes] = []

    def play_on() -> None:
        for found in player:
            finished.extend(found)

    with pytest.raises(error, match=text):
        play_on()
    assert finished
    assert all(decode(data).moves for data in finished)
    assert len(finished) == player.counts["games"]


def test_stop_finishes_what_is_in_play() -> None:
    player = SelfPlay(make("hex"), HashEvaluator(4, True), rf.SearchConfig(simulations=8), parallel_games=6)
    finished: list[bytes] = []
    for found in player:
        finished.extend(found)
        if len(finished) >= 10:
            player.stop()
    assert 10 <= len(finished) < 30


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"temprature": 1.0}, "temperature"),
        ({"full_share": 2.0}, "full_share"),
        ({"temperature": 0.5, "temperature_end": 1.0}, "temperature_end"),
    ],
)
def test_impossible_settings_are_named(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        PlayConfig(**settings)


@pytest.mark.parametrize("moves", [0, 4, 1000])
def test_the_temperature_may_fall_in_one_step(moves: int) -> None:
    """Before, moves are drawn; from then on they are the most visited ones."""
    schedule = {"temperature": 2.0, "temperature_end": 0.0, "temperature_moves": moves, "temperature_half_life": 1e-3}
    drawn = 0
    for record in play("connect_four", games=6, search={"noise_fraction": 0.0}, play=schedule):
        for number, (state, move) in enumerate(zip(record.states(make("connect_four")), record.moves, strict=False)):
            greedy = rf.search(state, HashEvaluator(4, True), simulations=24).action()
            if number >= moves:
                assert move.actions == (greedy,)
            drawn += move.actions != (greedy,)
    assert (drawn > 0) == (moves > 0)
    assert drawn > 20 or moves < 1000


def test_games_that_end_in_their_opening_are_given_too() -> None:
    player = SelfPlay(rf.make("tictactoe"), play=PlayConfig(opening_moves=255), games=40, seed=1)
    assert len([record for finished in player for record in finished]) == 40


def test_self_play_without_an_evaluator_plays_random_games() -> None:
    settings = rf.SearchConfig(simulations=10)
    unsaid, said = (
        [game for lot in SelfPlay(rf.make("hex", size=3), evaluator, settings, games=3) for game in lot]
        for evaluator in (None, rf.evaluators.Rollout())
    )
    assert sorted(unsaid) == sorted(said)


def test_the_table_has_rows_for_what_there_is(run) -> None:
    words = ["selfplay", "tictactoe", "games", "--games", "2", "--simulations", "4"]
    network = ["--network", "1x8", "--device", "cpu", "--cache", "100"]
    for more, rows in (([], ()), (network, ("batch", "utilization", "cache"))):
        code, out, _ = run(*words, *more)
        assert code == 0
        assert [name for name in ("batch", "utilization", "cache") if name in out] == list(rows)
