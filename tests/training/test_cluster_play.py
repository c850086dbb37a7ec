"""Runs whose games are played by workers on a cluster; here these are threads (see tests/cluster for Ray)."""

from __future__ import annotations

import collections
import copy
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

import ramify as rf
from ramify.networks import make, save
from ramify.selfplay import SelfPlay, decode, read_folder
from ramify.selfplay.handover import STOP, Kept, Ready, adopt, own_place
from ramify.training import cluster_play, node_player, overlap, player, train
from ramify.training.leases import Lease
from ramify.training.node_player import Pause, Report, Shard, Want, Weights, play_on_node
from ramify.training.shards import own_shards
from tests.training.helpers import tiny
from tests.training.in_threads import DyingLink, InMemory, Killed, ThreadWorkers, use_threads
from tests.training.test_overlap import AtOnce, iterations, taken


def clustered(folder: Path, **changes):
    settings = {"address": "auto", "scratch": str(folder / "scratch"), "parallel_games": 4}
    loop = {"overlap": None, "checkpoint_seconds": 0.2, "max_seconds": 60.0, "games_per_shard": 8, "loaders": 1}
    given = {f"cluster__{name}": value for name, value in settings.items()}
    given |= {f"loop__{name}": value for name, value in loop.items()}
    return tiny(**{**given, **changes})


@pytest.fixture
def threads(monkeypatch):
    use_threads(monkeypatch)
    monkeypatch.setattr(overlap, "ProcessPoolExecutor", AtOnce)
    monkeypatch.setattr(cluster_play, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(player, "SHARD_SECONDS", 0.1)
    monkeypatch.setattr(node_player, "REPORT_SECONDS", 0.05)
    monkeypatch.setattr(node_player, "WAIT_SECONDS", 0.02)


def numbers(folder: Path) -> list[int]:
    return sorted(game.number for _, games in read_folder(folder / "games") for game in games)


def test_more_games_can_be_added_while_games_are_played():
    """Games added in parts are those of the same numbers, and no place stays empty for lack of them."""

    def games(first, later):
        play = SelfPlay(rf.make("tictactoe"), games=len(first), unfinished=first, parallel_games=3, seed=5)
        found = []
        for records in play:
            found += records
            if later:
                play.add(later.pop())
        assert play.not_begun == 0
        return {decode(record).number: record for record in found}

    whole = games([4, 9, 2, 30, 31, 7], [])
    assert games([4], [[31, 7], [2, 30], [9]]) == whole
    unlisted = SelfPlay(rf.make("tictactoe"), games=3)
    with pytest.raises(ValueError, match="only self-play of listed games"):
        unlisted.add([5])


def test_a_run_on_a_cluster_trains_on_the_games_of_all_nodes(threads, tmp_path):
    seen = []
    config = clustered(tmp_path, loop__rollout_iterations=1, loop__uniform_share=0.5)
    train(config, tmp_path / "run", show=lambda status: seen.append(copy.deepcopy(status.nodes)))
    there = numbers(tmp_path / "run")
    assert len(there) == len({*there})
    assert {*range(taken(tmp_path / "run")["games"])} - {*there} <= {*range(36 + 8)}
    assert taken(tmp_path / "run")["games"] >= 36
    assert sum(line["games"] for line in iterations(tmp_path / "run")) == taken(tmp_path / "run")["games"]
    networks = {header["network"] is None for header, _ in read_folder(tmp_path / "run" / "games")}
    assert networks == {True, False}  # rollouts and equal priors; the network
    assert {node.host for node in seen[-1]} == {"first aaaaaa", "second bbbbbb"}
    assert iterations(tmp_path / "run")[-1]["bytes_per_game"] > 10
    assert not (tmp_path / "scratch").exists() or not [*(tmp_path / "scratch").rglob("*.games")]


def test_the_replay_ratio_is_kept(threads, tmp_path):
    """Self-play waits for training, and training catches up at the end."""
    config = clustered(tmp_path, loop__replay_ratio=8.0, loop__iterations=6, cluster__backlog=0.3)
    most = []

    def show(status):
        most.append(any(node.waiting for node in status.nodes))

    train(config, tmp_path / "run", show=show)
    last = iterations(tmp_path / "run")[-1]
    assert 0 <= last["step"] * 16 - 8 * last["positions"] < 16
    assert any(most)


def test_killed_workers_cost_no_finished_game(threads, tmp_path, monkeypatch, caplog):
    """Both workers are killed again and again; what they had finished is handed over by those that replace them."""
    handed, finished, kills = [], [], [0]
    keep, add = cluster_play.ClusterPlayers._keep, node_player.NodePlayer._hand_over

    def count(player):
        before = {*player.unkept}
        add(player)
        finished.extend({*player.unkept} - before)

    def kept(players, worker, shard):
        new = keep(players, worker, shard)
        handed.append(new)
        if len(handed) % 4 == 3 and kills[0] < 4 and players.workers.alive:
            kills[0] += 1
            players.workers.kill(players.workers.alive[kills[0] % len(players.workers.alive)])
        return new

    monkeypatch.setattr(cluster_play.ClusterPlayers, "_keep", kept)
    monkeypatch.setattr(node_player.NodePlayer, "_hand_over", count)
    train(clustered(tmp_path, loop__iterations=6, loop__games_per_shard=4), tmp_path / "run")
    there = numbers(tmp_path / "run")
    assert kills[0] == 4
    assert caplog.text.count("a self-play process on") == 4
    assert len(there) == len({*there}) == sum(handed)
    assert there[:60] == [*range(60)]  # games that were lost in play were played by others
    assert not [*(tmp_path / "scratch").rglob("*.games")]


def test_a_run_can_be_stopped_and_resumed(threads, tmp_path):
    config = clustered(tmp_path, loop__iterations=2)
    train(config, tmp_path / "run")
    before = numbers(tmp_path / "run")
    train(clustered(tmp_path, loop__iterations=5), tmp_path / "run")
    counts = collections.Counter(numbers(tmp_path / "run"))
    assert {*before} <= {*counts}
    assert max(counts.values()) == 1
    assert taken(tmp_path / "run")["games"] >= 60


def test_an_error_on_a_node_ends_the_run_and_names_the_node(threads, tmp_path, monkeypatch):
    monkeypatch.setattr(node_player.NodePlayer, "_start", lambda *_: 1 / 0)
    with pytest.raises(RuntimeError, match=r"self-play failed on (first|second): ZeroDivisionError"):
        train(clustered(tmp_path), tmp_path / "run")


def test_a_cluster_without_room_is_an_error(threads, tmp_path, monkeypatch):
    monkeypatch.setattr(ThreadWorkers, "room", 0)
    with pytest.raises(ValueError, match="no node of the cluster has 64 CPUs and 0 GPUs"):
        train(clustered(tmp_path, cluster__cpus_per_actor=64), tmp_path / "run")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loop__exact": True, "loop__overlap": None}, "loop.exact=true needs cluster.address=null"),
        ({"loop__overlap": False}, "loop.overlap=false needs cluster.address=null"),
        ({"records": ["labels"], "loop__overlap": None}, "needs no cluster.address"),
    ],
)
def test_settings_that_a_cluster_does_not_allow(changes, message):
    with pytest.raises(ValueError, match=message):
        tiny(cluster__address="local", **changes)


class Directed:
    """A player in a thread, directed by hand."""

    def __init__(self, folder: Path, **changes):
        config = clustered(folder, **changes)
        self.link, self.folder = DyingLink(), folder
        self.weights = [self.network(folder, seed) for seed in range(6)]
        arguments = (self.link, config, folder / "scratch", self.version(0), "cpu")
        self.thread = threading.Thread(target=self.play, args=arguments, daemon=True)
        self.thread.start()
        self.seen, self.unread = [], []

    @staticmethod
    def play(*arguments):
        with suppress(Killed):
            play_on_node(*arguments)

    @staticmethod
    def network(folder: Path, seed: int) -> InMemory:
        module = make(rf.make("tictactoe"), "mlp:1x16", seed=seed)
        return InMemory(save(folder / f"{seed}", module).read_bytes())

    def version(self, number: int) -> Weights:
        return Weights(number, self.weights[number])

    def messages(self):
        """What has come until now; what is not taken from it is there the next time."""
        self.unread += self.link.take(0.1)
        while self.unread:
            self.seen.append(self.unread.pop(0))
            yield self.seen[-1]

    def wait_for(self, what, condition=lambda _: True):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            for message in self.messages():
                if isinstance(message, what) and condition(message):
                    return message
            assert self.thread.is_alive()
        raise TimeoutError(what)

    def stop(self):
        self.link.put(STOP)
        end = time.monotonic() + 60
        while self.thread.is_alive() and time.monotonic() < end:
            for message in self.messages():
                if isinstance(message, Shard):
                    self.link.put(Kept(message.name))
        assert not self.thread.is_alive()
        self.seen += [*self.unread, *self.link.take()]


@pytest.fixture
def directed(threads, tmp_path):
    made = []

    def start(**changes):
        made.append(Directed(tmp_path, **changes))
        return made[-1]

    yield start
    for one in made:
        one.link.dead = True
        one.thread.join(60)


def test_a_worker_plays_what_it_is_given_and_keeps_shards_until_they_are_taken(directed, tmp_path):
    player = directed()
    player.wait_for(Ready)
    assert player.wait_for(Want).games >= 4
    player.link.put(Lease((5, 6, 7, 8, 9, 10, 11, 12), 0, "network"))
    shard = player.wait_for(Shard)
    assert len(shard.numbers) > 0
    place = next(path for path in (tmp_path / "scratch").iterdir() if path.is_dir())
    assert shard.name in [path.name for path in own_shards(place / "games")]
    player.link.put(Kept(shard.name))
    player.stop()
    played = [number for message in player.seen if isinstance(message, Shard) for number in message.numbers]
    assert sorted(played) == [*range(5, 13)]
    assert not (tmp_path / "scratch").exists()  # everything was taken


def test_weights_are_fetched_in_the_background_up_to_the_largest_age(directed):
    player = directed(cluster__max_age=2)
    player.wait_for(Ready)
    player.weights[2].held_back = player.weights[3].held_back = True
    player.link.put(Lease(tuple(range(100_000)), 0, "network"))
    player.link.put(player.version(2))
    for _ in range(3):
        assert player.wait_for(Report).version == 0  # not there yet, and not too old
    assert player.weights[2].fetched == 0
    player.link.put(player.version(3))  # too old now: waits for it
    player.wait_for(Report, lambda report: report.version == 3)
    assert player.weights[3].fetched == 1
    player.link.put(player.version(4))
    player.wait_for(Report, lambda report: report.version == 4)


def test_a_paused_worker_plays_nothing(directed):
    player = directed()
    player.wait_for(Ready)
    player.link.put(Lease(tuple(range(100_000)), 0, "network"))
    player.wait_for(Report, lambda report: report.progress and report.progress.games > 0)
    player.link.put(Pause(True))
    moves = player.wait_for(Report, lambda report: report.waiting).progress.moves
    for _ in range(3):
        assert player.wait_for(Report).progress.moves == moves
    player.link.put(Pause(False))
    player.wait_for(Report, lambda report: report.progress.moves > moves)


def test_games_of_a_dead_process_are_found_by_the_next_one(threads, tmp_path):
    """Killed by the system, a worker leaves a journal and shards."""
    from tests.children import run_python

    code = f"""
import os, threading, signal
import torch
from pathlib import Path
import ramify.training.node_player as node_player
from tests.training.test_cluster_play import Directed, Lease, Ready, Report
player = Directed(Path({str(tmp_path)!r}), loop__games_per_shard=100000)
player.wait_for(Ready)
node_player.REPORT_SECONDS = 0.01
player.link.put(Lease(tuple(range(100, 100000)), 0, "uniform"))
count = player.wait_for(Report, lambda report: report.progress and report.progress.games >= 20).progress.games
print(count, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = run_python(code)
    assert done.code == -9, done.err
    with own_place(tmp_path / "scratch") as place:
        adopt(tmp_path / "scratch", place)
        found = numbers(place)
        assert len(found) >= int(done.out)
        assert len(found) == len({*found})
        assert min(found) >= 100
        assert [path.name for path in (tmp_path / "scratch").iterdir() if path.is_dir()] == [place.name]


def test_without_ray_no_folder_is_made(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    code, _, err = run("train", "hex-5", "cluster.address=local", "--folder", "run")
    assert code == 2
    assert "work on a cluster needs Ray: pip install 'ramify[cluster]'" in err
    assert not Path("run").exists()
