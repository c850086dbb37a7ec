"""Matches: fair pairs, the same games however they are played, and failures that end one game only."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

import ramify as rf
from ramify.arena import (
    Choice,
    Interrupted,
    Limits,
    MatchConfig,
    Memory,
    Openings,
    ParallelSettings,
    Played,
    WorkerPool,
    match,
    read_player,
)
from ramify.arena.matches import fixtures
from ramify.arena.runner import MatchRunner, deliver
from tests.arena import helpers

WEAK, STRONG = helpers.DiceConfig(skill=0.0), helpers.DiceConfig(skill=0.9)


@pytest.fixture(scope="module")
def tictactoe() -> rf.Game:
    return rf.make("tictactoe")


def by_key(games: list[Played]) -> dict[str, Played]:
    return {played.key: played for played in games}


def test_games_come_in_pairs_with_seats_exchanged(tictactoe: rf.Game) -> None:
    games = match(tictactoe, STRONG, WEAK, 40)
    for first, second in zip(games[::2], games[1::2], strict=True):
        assert first.fixture.opening == second.fixture.opening
        assert first.fixture.players == second.fixture.players[::-1] == (STRONG.identity, WEAK.identity)
    assert len(by_key(games)) == 40
    won = sum(played.points[played.fixture.players.index(STRONG.identity)] for played in games)
    assert won > 24


def test_who_is_named_first_does_not_matter(tictactoe: rf.Game) -> None:
    assert by_key(match(tictactoe, STRONG, WEAK, 20)) == by_key(match(tictactoe, WEAK, STRONG, 20))
    assert by_key(match(tictactoe, STRONG.label, WEAK, 20)) == by_key(match(tictactoe, STRONG, WEAK.label, 20))


def test_a_player_can_play_itself(tictactoe: rf.Game) -> None:
    games = match(tictactoe, WEAK, WEAK, 40)
    assert len(by_key(games)) == 40
    assert len({played.actions for played in games}) > 30


def test_a_game_is_what_its_actions_say(tictactoe: rf.Game) -> None:
    for played in match(tictactoe, STRONG, WEAK, 20):
        state = tictactoe.initial_state(played.fixture.opening.start)
        for turn in played.actions:
            state.apply(*turn)
        assert state.is_over
        assert tuple(state.returns) == played.returns
        assert played.points[0] == {1.0: 1.0, 0.0: 0.5, -1.0: 0.0}[played.returns[0]]
        assert played.reason == "end"


@pytest.mark.parametrize(
    ("name", "params", "players"),
    [
        ("hex", {"size": 3}, ("search:simulations=20", "search:simulations=8,selection=gumbel,evaluator=uniform")),
        ("goofspiel", {"cards": 4}, ("search:simulations=20,temperature_moves=9", "test_dice")),
        ("pyrat", {"preset": "tiny", "max_turns": 12}, ("search:simulations=5", "test_dice")),
    ],
)
def test_together_in_workers_and_one_by_one_are_the_same_games(
    name: str, params: dict[str, object], players: tuple[str, str]
) -> None:
    game = rf.make(name, **params)
    first, second = map(read_player, players)
    alone = match(game, first, second, 12, parallel=ParallelSettings(concurrency=1))
    assert len({played.actions for played in alone}) > 4
    assert alone == match(game, first, second, 12, parallel=ParallelSettings(concurrency=5))
    assert alone == match(game, first, second, 12, parallel=ParallelSettings(concurrency=3, workers=2))


@pytest.mark.slow
@pytest.mark.parametrize("parallel", [ParallelSettings(10), ParallelSettings(3, 2)])
def test_networks_too(tmp_path: Path, parallel: ParallelSettings) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("torch")
    game = rf.make("hex", size=3)
    file = rf.networks.save(tmp_path / "net", rf.networks.make(game, "mlp:1x8"))
    players = [read_player(f"network:network={file}"), read_player(f"search:network={file},simulations=8")]
    alone = match(game, players[0], players[1], 10, parallel=ParallelSettings(concurrency=1))
    assert alone == match(game, players[0], players[1], 10, parallel=parallel)


def test_players_get_the_turns_of_all_their_games_at_once(tictactoe: rf.Game) -> None:
    runner = MatchRunner.open(tictactoe, [WEAK, STRONG])
    for fixture in fixtures(tictactoe, [(WEAK, STRONG)], 16, MatchConfig()):
        runner.add(fixture)
    runner.round()
    for player in runner.players.values():
        assert isinstance(player, helpers.Dice)
        assert player.batches == [8]


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("raise", "RuntimeError: no idea"),
        ("illegal", "999 is no legal action"),
        ("text", "'a1' is no legal action"),
        ("bool", "True is no legal action"),
        ("few", "1 turns, but 0 actions"),
    ],
)
@pytest.mark.parametrize("together", [1, 12])
def test_a_player_that_fails_loses_that_game_only(tictactoe: rf.Game, how: str, words: str, together: int) -> None:
    broken = helpers.BrokenConfig(how=how)
    games = match(tictactoe, broken, WEAK, 24, parallel=ParallelSettings(concurrency=together))
    lost = [played for played in games if played.reason == "forfeit"]
    assert 0 < len(lost) < 24
    for played in lost:
        seat = played.fixture.players.index(broken.identity)
        assert played.points[seat] == 0
        assert words in played.detail
        assert f"player {seat} at turn" in played.detail
    assert [played for played in games if played.reason == "end"] == [
        played for played in match(tictactoe, helpers.BrokenConfig(how=how), WEAK, 24) if played.reason == "end"
    ]


def test_both_may_fail_at_once() -> None:
    game = rf.make("goofspiel", cards=5)
    games = match(game, helpers.BrokenConfig(ply=2), helpers.BrokenConfig(how="illegal", ply=2), 30)
    both = [played for played in games if ";" in played.detail]
    assert both
    assert all(played.points == (0.5, 0.5) for played in both)


def test_states_are_lent_as_copies(tictactoe: rf.Game) -> None:
    games = match(tictactoe, helpers.BrokenConfig(how="change", ply=99), WEAK, 10)
    assert all(played.reason == "end" for played in games)


@pytest.mark.parametrize("workers", [0, 1])
def test_wrong_settings_are_raised_before_the_first_game(tictactoe: rf.Game, workers: int) -> None:
    kept = Memory()
    with pytest.raises(ValueError, match="plays no games"):
        match(
            tictactoe,
            WEAK,
            helpers.BrokenConfig(how="open"),
            10,
            results=kept,
            parallel=ParallelSettings(workers=workers),
        )
    assert not kept.games
    with pytest.raises(ValueError, match="even number"):
        match(tictactoe, WEAK, STRONG, 7)
    with pytest.raises(ValueError, match="concurrency"):
        ParallelSettings(concurrency=0)


def test_long_games_are_cut_and_say_so(tictactoe: rf.Game) -> None:
    games = match(tictactoe, WEAK, STRONG, 20, config=MatchConfig(limits=Limits(max_moves=6)))
    cut = [played for played in games if played.reason == "cut"]
    assert cut
    assert all(len(played.actions) == 6 and played.points == (0.5, 0.5) for played in cut)
    assert all(len(played.actions) <= 6 for played in games)
    assert not set(by_key(games)) & set(by_key(match(tictactoe, WEAK, STRONG, 20)))


class Judge:
    """Says what a table says of every turn: the value for player 0, by ply."""

    def __init__(self, values: list[float | None]) -> None:
        self.values = values

    def consider(self, turns):
        for turn in turns:
            value = self.values[turn.ply]
            own = None if value is None else value if turn.player == 0 else -value
            yield Choice(int(turn.state.legal_actions()[0]), own)

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("values", "winner", "length"),
    [
        ([0.0, 0.96, 0.97, 0.98, 0.99, 1.0, 1.0], 0, 5),
        ([-0.99] * 7, 1, 4),
        ([0.99, -0.99, 0.99, 0.99, 0.99, 0.99, 0.99], 0, 6),
        ([0.99, 0.99, 0.99, None, 0.99, 0.99, 0.99], 0, 7),  # the game itself ends here
        ([0.94] * 7, 0, 7),
    ],
)
def test_adjudication_needs_both_players_for_long_enough(
    tictactoe: rf.Game, values: list[float | None], winner: int, length: int
) -> None:
    limits = Limits(adjudicate_above=0.95)
    config = MatchConfig(Openings("none"), limits=limits)
    runner = MatchRunner(tictactoe, dict.fromkeys((WEAK.identity, STRONG.identity), Judge(values)))  # type: ignore[arg-type]
    runner.add(fixtures(tictactoe, [(WEAK, STRONG)], 2, config)[0])
    finished: list[Played] = []
    while len(runner):
        finished += runner.round()
    assert finished[0].winner == winner
    assert len(finished[0].actions) == length
    assert finished[0].reason == ("end" if length == 7 else "adjudicated")


def test_limits_are_checked() -> None:
    with pytest.raises(ValueError, match="without adjudicate_above"):
        Limits(adjudicate_moves=9)
    assert Limits().content() == {}
    assert Limits(max_moves=5).content() == {"max_moves": 5}


@pytest.mark.parametrize("workers", [0, 2])
def test_ctrl_c_keeps_finished_games(tictactoe: rf.Game, workers: int) -> None:
    slow, kept = helpers.DiceConfig(skill=0.5, seconds=0.01), Memory()
    seen = threading.Event()

    def interrupt() -> None:
        seen.wait(60)
        os.kill(os.getpid(), signal.SIGINT)

    helper = threading.Thread(target=interrupt)
    helper.start()
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background ignore Ctrl-C
    try:
        with pytest.raises(Interrupted) as stopped:
            match(
                tictactoe,
                slow,
                WEAK,
                1000,
                results=kept,
                parallel=ParallelSettings(4, workers),
                watch=lambda progress: seen.set() if progress.done >= 5 else None,
            )
    finally:
        signal.signal(signal.SIGINT, handler)
        helper.join()
    assert 5 <= len(kept.games) < 1000
    assert len(stopped.value.played) == len(kept.games)
    fresh = match(tictactoe, slow.replace(seconds=0.0), WEAK, 40)
    assert all(kept.games[played.key] == played for played in fresh if played.key in kept.games)


def test_an_interrupt_between_two_finished_games_loses_none(tictactoe: rf.Game) -> None:
    games, got = match(tictactoe, WEAK, STRONG, 6), []

    def finish(played: Played) -> None:
        got.append(played)
        if len(got) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        deliver(games, finish)
    assert set(by_key(got)) == set(by_key(games))


def test_a_worker_that_dies_is_an_error_and_leaves_nobody_behind(tictactoe: rf.Game) -> None:
    import multiprocessing

    from ramify.arena.workers import WorkerError

    def kill(progress: object) -> None:
        for child in multiprocessing.active_children():
            child.kill()

    with pytest.raises(WorkerError, match="ended"):
        match(
            tictactoe,
            WEAK,
            helpers.DiceConfig(skill=0.1, seconds=0.02),
            400,
            parallel=ParallelSettings(2, 1),
            watch=kill,
        )
    time.sleep(0.1)
    assert not multiprocessing.active_children()


def test_workers_stay_for_further_games(tictactoe: rf.Game) -> None:
    """The same processes play other players and another game; an error ends them, and new ones are started."""
    import multiprocessing

    def who() -> set[int | None]:
        return {child.pid for child in multiprocessing.active_children()}

    hex_game, two = rf.make("hex", size=3), ParallelSettings(3, 2)
    with WorkerPool() as pool:
        assert match(tictactoe, WEAK, STRONG, 8, parallel=two, pool=pool) == match(tictactoe, WEAK, STRONG, 8)
        first = who()
        assert len(first) == 2
        other = helpers.DiceConfig(skill=0.3)
        assert match(hex_game, other, WEAK, 8, parallel=two, pool=pool) == match(hex_game, other, WEAK, 8)
        assert who() == first
        with pytest.raises(ValueError, match="plays no games"):
            match(tictactoe, WEAK, helpers.BrokenConfig(how="open"), 4, parallel=two, pool=pool)
        assert not who()
        assert len(match(tictactoe, WEAK, STRONG, 2, parallel=two, pool=pool)) == 2
        assert len(who()) == 2
        assert not who() & first
    assert not who()


def test_seconds_are_measured_and_no_part_of_a_game(tictactoe: rf.Game) -> None:
    slow = helpers.DiceConfig(skill=0.0, seconds=0.005)
    games = match(tictactoe, slow, STRONG, 4, parallel=ParallelSettings(1))
    for played in games:
        seat = played.fixture.players.index(slow.identity)
        turns = Counter(ply % 2 for ply in range(2, len(played.actions)))[seat]
        assert played.seconds[seat] >= 0.005 * turns
    assert games == match(tictactoe, WEAK, STRONG, 4)


def test_a_match_needs_a_game_and_not_its_name() -> None:
    with pytest.raises(TypeError, match=r"match needs a game \(see ramify.make\), not the name 'hex'"):
        match("hex", WEAK, STRONG, 2)  # type: ignore[arg-type]
