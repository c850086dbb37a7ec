"""Players without a network: what they choose, that it depends on the turn alone, and the games they refuse."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.arena import Turn, player_config, player_kinds
from tests.engine.minimax import best_actions, walk

TURN_BASED = ("tictactoe", "connect_four", "hex", "chess")


def turn(state: rf.State, seed: int = 0, player: int | None = None) -> Turn:
    return Turn(state, state.acting[0] if player is None else player, seed)


def choose(kind: str, turns: list[Turn], **settings: Any) -> list[int]:
    player = player_config(kind, **settings).open(turns[0].state.game)
    try:
        return player.choose(turns)
    finally:
        player.close()


def test_the_kinds_are_known() -> None:
    assert {"random", "greedy", "alphabeta"} <= set(player_kinds())
    assert player_config("alphabeta", depth=3).label == "alphabeta:depth=3"
    assert player_config("alphabeta", depth=3).identity != player_config("alphabeta", depth=2).identity
    assert player_config("alphabeta", depth=3).identity == player_config("alphabeta", depth=3).identity


# ---------- random ----------


@pytest.mark.parametrize("name", [*TURN_BASED, "goofspiel"])
def test_random_play_is_legal_and_follows_the_seed(name: str) -> None:
    state = rf.make(name).initial_state(seed=1)
    for player in state.acting:
        turns = [turn(state, seed, player) for seed in range(300)]
        actions = choose("random", turns)
        assert set(actions) <= set(state.legal_actions(player).tolist())
        assert choose("random", turns[::-1]) == actions[::-1]
        assert len(set(actions)) > 1


def test_random_play_is_even() -> None:
    state = rf.make("connect_four").initial_state()
    counts = Counter(choose("random", [turn(state, seed) for seed in range(7000)]))
    assert sum((count - 1000) ** 2 / 1000 for count in counts.values()) < 22.5  # chi-squared of 6 degrees: p = 0.001


# ---------- alpha-beta ----------


@pytest.mark.parametrize("name", TURN_BASED)
def test_alphabeta_plays_what_the_search_finds(name: str) -> None:
    states = [walk(rf.make(name, **({"size": 5} if name == "hex" else {})), seed, 4) for seed in range(4)]
    found = [rf.alphabeta(state, depth=2).action for state in states]
    turns = [turn(state, seed) for seed, state in enumerate(states)]
    assert choose("alphabeta", turns, depth=2) == found
    assert choose("alphabeta", [turns[2]], depth=2) == found[2:3]


def test_alphabeta_breaks_ties_by_the_seed() -> None:
    state = rf.make("tictactoe").initial_state()
    turns = [turn(state, seed) for seed in range(200)]
    assert len(set(choose("alphabeta", turns[:20], depth=2))) == 1
    actions = choose("alphabeta", turns, depth=2, ties=True)
    assert set(actions) == set(range(9))  # nothing is decided within two plies
    assert actions == choose("alphabeta", turns, depth=2, ties=True)
    won = rf.make("connect_four").state("a g b g c f")  # only d wins
    assert set(choose("alphabeta", [turn(won, seed) for seed in range(20)], depth=2, ties=True)) == {3}


def test_alphabeta_does_not_swallow_ctrl_c() -> None:
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            choose("alphabeta", [turn(rf.make("chess").initial_state())], seconds=60)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, previous)


def play(state: rf.State, kinds: tuple[tuple[str, dict[str, Any]], ...], seed: int) -> int:
    """The winner of a game between two players, or -1."""
    players = [player_config(kind, **settings).open(state.game) for kind, settings in kinds]
    for number in range(10_000):
        if state.is_over:
            break
        chosen = [players[p].choose([Turn(state, p, seed * 10_000 + number)])[0] for p in state.acting]
        state.apply(*chosen)
    returns = state.returns
    return -1 if returns[0] == returns[1] else int(returns[1] > returns[0])


@pytest.mark.parametrize(("name", "params"), [("hex", {"size": 5}), ("connect_four", {}), ("chess", {})])
def test_more_thought_wins_more_games(name: str, params: dict[str, Any]) -> None:
    game = rf.make(name, **params)
    ranks = (("random", {}), ("greedy", {"ties": True}), ("alphabeta", {"depth": 3, "ties": True}))
    for weak, strong in (ranks[:2], ranks[1:]):
        points = 0.0
        for seed in range(20):
            seats = (weak, strong) if seed % 2 else (strong, weak)
            winner = play(walk(game, seed // 2, 3), seats, seed)  # every opening from both sides
            points += 0.5 if winner < 0 else seats[winner] == strong
        assert points >= 14, (weak, strong, points)


# ---------- greedy ----------


def test_greedy_takes_what_looks_best_next() -> None:
    for name in ("connect_four", "hex"):
        for seed in range(10):
            state = walk(rf.make(name, **({"size": 5} if name == "hex" else {})), seed, 6)
            _, equals = best_actions(state, 1)
            assert choose("greedy", [turn(state)])[0] in equals
            assert set(choose("greedy", [turn(state, s) for s in range(60)], ties=True)) == set(equals)


WALLED = {  # a wall between start and cheese, and mud on the short way round
    "width": 3, "height": 2, "walls": [[[0, 0], [1, 0]]], "mud": [[[0, 1], [1, 1], 2]], "cheese": [[2, 0]],
    "p1": [0, 0], "p2": [2, 1], "max_turns": 30,
}  # fmt: skip


def test_greedy_in_pyrat_goes_round_walls_and_mud() -> None:
    game = rf.make("pyrat", width=3, height=2, cheese=1, symmetric=False)
    state = game.state(**WALLED)
    assert choose("greedy", [turn(state, 0, 0)]) == [0]  # up: the wall leaves no other way
    assert choose("greedy", [turn(state, 0, 1)]) == [2]  # down, onto the cheese
    muddy = game.state(**{**WALLED, "cheese": [[1, 1], [0, 0]], "p1": [0, 1]})
    assert choose("greedy", [turn(muddy, 0, 0)]) == [2]  # one step down against three turns through mud


def test_greedy_in_pyrat_waits_where_there_is_nothing_to_choose() -> None:
    game = rf.make("pyrat", width=3, height=2, cheese=1, symmetric=False)
    stuck = game.state(**{**WALLED, "p1": [0, 1]})
    stuck.apply(1, 4)  # into the mud
    assert choose("greedy", [turn(stuck, 0, 0)]) == [4]
    on_cheese = game.state(**{**WALLED, "p1": [2, 0]})
    assert choose("greedy", [turn(on_cheese, 0, 0)]) == [4]


def test_greedy_in_pyrat_takes_the_nearest_cheese_first() -> None:
    """On open boards the first cheese is reached in as many turns as it is cells away."""
    game = rf.make("pyrat", preset="open", cheese=9)
    player = player_config("greedy").open(game)
    for seed in range(5):
        state = game.initial_state(seed)
        cells = np.array(state.fields["cheese"])  # type: ignore[attr-defined]
        nearest = np.abs(cells - state.fields["p1"]).sum(axis=1).min()  # type: ignore[attr-defined]
        for number in range(1, int(nearest) + 1):
            rewards = state.apply(player.choose([turn(state, 0, 0)])[0], 4)
            assert (rewards[0] > 0) == (number == nearest)


def test_greedy_in_pyrat_beats_chance() -> None:
    game = rf.make("pyrat", width=7, height=5, cheese=5, max_turns=60)
    wins = [play(game.initial_state(seed), (("greedy", {}), ("random", {})), seed) for seed in range(10)]
    assert wins.count(0) >= 9


# ---------- refusals ----------


def test_games_that_cannot_be_played() -> None:
    for name in ("tictactoe", "goofspiel"):
        with pytest.raises(ValueError, match=f"greedy player needs .*{name}"):
            player_config("greedy").open(rf.make(name))
    with pytest.raises(ValueError, match="turn-based game; in goofspiel"):
        player_config("alphabeta", depth=2).open(rf.make("goofspiel"))
    with pytest.raises(ValueError, match="a game that ranks its actions"):
        player_config("alphabeta", depth=2, width=4).open(rf.make("tictactoe"))
    with pytest.raises(ValueError, match="at least one of depth, nodes and seconds"):
        player_config("alphabeta")
    with pytest.raises(ValueError, match="did you mean 'depth'"):
        player_config("alphabeta", dept=2)
