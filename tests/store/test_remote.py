"""Tournaments that nodes of a cluster take part in."""

from __future__ import annotations

import pickle
import threading
from contextlib import contextmanager

import pytest

import ramify as rf
from ramify.arena import Tournament, round_robin
from ramify.arena.text import read_player
from ramify.cluster import ClusterConfig, Link
from ramify.store import Store, remote


@pytest.fixture
def plan():
    players = [read_player(text) for text in ("random", "search:simulations=4", "alphabeta:depth=1")]
    return Tournament(rf.make("tictactoe"), tuple(round_robin(players)), 20)


def test_the_work_of_a_node_is_divided_by_claims(plan, tmp_path):
    """Two that play the whole tournament at once store every game once, and the result is that of one alone."""
    arguments = (pickle.dumps(plan), (), str(tmp_path / "games.db"), 4)
    threads = [threading.Thread(target=remote.play_on_node, args=(Link(), *arguments)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Store(tmp_path / "games.db") as store:
        seen = []
        standings = plan.run(results=store.results(), watch=seen.append)
    assert seen[-1].found == 60  # nothing was left to play
    alone = plan.run()
    returns = [sorted((game.key, tuple(game.returns)) for game in found.games) for found in (standings, alone)]
    assert returns[0] == returns[1]


def test_nodes_need_a_store_that_they_reach(plan, tmp_path):
    config = ClusterConfig(address="auto")
    with (
        pytest.raises(ValueError, match="need a store that all of them reach"),
        remote.played_on_cluster(plan, str(tmp_path / "games.db"), config, 4),
    ):
        pass


def test_the_command_asks_the_cluster_for_help(run, tmp_path, monkeypatch):
    asked = []

    @contextmanager
    def helped(config, target, *arguments):
        target(Link(), *arguments)
        asked.append(config.address)
        yield

    monkeypatch.setattr(remote, "helped", helped)
    code, out, err = run("tournament", "tictactoe", "random", "alphabeta:depth=1", "--games", "4", "--cluster", "local")
    assert (code, err) == (0, "")
    assert asked == ["local"]
    assert "alphabeta" in out
    assert run("tournament", "tictactoe", "random", "search", "--cluster", "auto")[0] == 2
    assert run("tournament", "tictactoe", "random", "search", "--cluster", "nowhere")[0] == 2
