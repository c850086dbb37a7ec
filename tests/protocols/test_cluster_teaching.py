"""Teaching on the nodes of a cluster; here these are threads (see tests/cluster for Ray)."""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from ramify.cluster import ClusterConfig
from ramify.protocols import node_engines, node_teacher, teaching
from ramify.protocols.process import EngineError
from ramify.protocols.taught_games import TaughtGame, labelled_keys
from ramify.protocols.teacher import TeachConfig
from ramify.protocols.teaching import labelled, teach
from ramify.selfplay import decode, read_folder
from ramify.selfplay.encoding import Label, RecordWriter, count_recorded, with_number, without_labels
from ramify.selfplay.handover import scratch_folder
from ramify.selfplay.records import pack_shard, place_shard
from tests.protocols.test_teacher import FAKE, config
from tests.training.in_threads import ThreadWorkers, use_threads

pytest.importorskip("chess")
pytest.importorskip("zstandard")


@pytest.fixture
def threads(monkeypatch):
    use_threads(monkeypatch, node_engines, teaching)
    monkeypatch.setattr(node_engines, "SHARE_SECONDS", 0.05)
    monkeypatch.setattr(node_teacher, "WAIT_SECONDS", 0.02)


@pytest.fixture
def cluster(threads, tmp_path):
    return ClusterConfig(address="auto", scratch=str(tmp_path / "scratch"))


def keys_in(folder: Path) -> list[int]:
    return [key for _, games in read_folder(folder) for game in games for key in labelled_keys(game)]


def numbers_in(folder: Path) -> list[int]:
    return [game.number for _, games in read_folder(folder) for game in games]


def test_a_label_can_be_taken_out_of_a_record():
    """The record is then the one that would have been written without it."""

    def written(labels, number=3):
        writer = RecordWriter(number, 0, start="8/8/8/8/8/8/8/K6k w - - 0 1", draws=True)
        writer.add_opening(0, 5)
        for place in range(4):
            label = Label({7: 0.5, 9: 0.25}, 0.125 * place, 0.5)
            writer.add(place % 2, 7, [2, 7, 9], label if place in labels else None)
        return writer.finish([1.0, -1.0])

    whole = written({0, 1, 3})
    assert without_labels(whole, {1}) == written({0, 3})
    assert without_labels(whole, {0, 2}) == written({1})
    assert without_labels(whole, {0, 1, 2}) == written(set())
    assert without_labels(whole, set()) == whole
    assert count_recorded(written({1})) == 1
    assert with_number(whole, 8) == written({0, 1, 3}, number=8)


def test_nodes_label_no_position_twice(cluster, tmp_path):
    """Two nodes play nearly the same games, and do not know in time what the other one labels."""
    same = config(opening_moves=0, random_shares=(0.05,), play_temperature=(0.01, 0.02), label_share=1.0)
    done = teach(tmp_path / "labels", same, 80, cluster=cluster)
    keys = keys_in(tmp_path / "labels")
    assert len(keys) == len({*keys}) == done.positions == labelled(tmp_path / "labels")[0] >= 80
    assert len(numbers_in(tmp_path / "labels")) == len({*numbers_in(tmp_path / "labels")})
    assert sum(node.positions for node in done.nodes) == done.new
    assert {node.host for node in done.nodes} == {"first aaaaaa", "second bbbbbb"}
    assert not (tmp_path / "scratch").exists() or not [*(tmp_path / "scratch").iterdir()]
    again = teach(tmp_path / "labels", same, done.positions + 40, cluster=cluster)
    keys = keys_in(tmp_path / "labels")
    assert len(keys) == len({*keys}) == again.positions


def test_nodes_are_told_what_others_have_labelled(cluster, tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(ThreadWorkers, "tell", lambda self, worker, message: told.append((worker, message)))
    seen = teaching.open_seen(tmp_path, 100)
    engines = node_engines.NodeEngines(config(), {}, tmp_path, seen, 0, cluster)
    engines.workers.alive = [worker(number, host) for number, host in enumerate("aab")]
    played = TaughtGame(b"", 2, 5, keys=(11, 2**64 - 1))
    for one, arrived in ((0, played), (2, TaughtGame(b"", 1, 5, keys=(13,)))):
        for _ in engines._receive(engines.workers.alive[one], node_engines.Finished("x", arrived)):
            pass
    told.clear()
    time.sleep(0.06)
    engines._share()
    assert {(to.number, tuple(sorted(message))) for to, message in told} == {(1, (13,)), (2, (11, 2**64 - 1))}
    told.clear()
    time.sleep(0.06)
    engines._share()
    assert not told


def worker(number: int, host: str):
    from ramify.cluster import Node, Worker

    return Worker(number, Node(host, host, 1, 0, False), None, None, None)


def test_processes_that_die_cost_no_finished_game(cluster, tmp_path, monkeypatch, caplog):
    """They are killed with games that are on their node only; those that replace them hand these games over."""
    written, deaths = list[int](), Counter[int]()
    place, receive = node_teacher.place_shard, node_engines.NodeEngines._receive

    def placed(path, data):
        done = place(path, data)
        written.extend(labelled_keys(decode(node_teacher.read_records(done)[1][0])))
        return done

    def received(engines, worker, message):
        if isinstance(message, node_engines.Finished) and message.name and not message.left_behind:
            deaths[worker.node.id] += 1
            if deaths[worker.node.id] in (1, 3):
                engines.workers.kill(worker)  # and the message is lost
                return
        yield from receive(engines, worker, message)

    monkeypatch.setattr(node_teacher, "place_shard", placed)
    monkeypatch.setattr(node_engines.NodeEngines, "_receive", received)
    done = teach(tmp_path / "labels", config(), 120, cluster=cluster)
    keys = keys_in(tmp_path / "labels")
    assert {*written} == {*keys}
    assert len(keys) == len({*keys}) == done.positions
    assert len(numbers_in(tmp_path / "labels")) == len({*numbers_in(tmp_path / "labels")})
    assert caplog.text.count("an engine process on") >= 2
    assert not [*(tmp_path / "scratch").rglob("*.games")]


def test_what_an_earlier_session_left_on_a_node_is_saved(cluster, tmp_path):
    """Also if its number is that of another game by now; if it was saved already, it is not saved again."""
    first = teach(tmp_path / "other", config(seed=5), 10, cluster=cluster)
    records = [record for path in teaching.records.shards(tmp_path / "other") for record in read_all(path)]
    folder = tmp_path / "labels"
    left = scratch_folder(cluster.scratch, folder) / "12-left" / "games"
    for record in [records[0], records[0], *records[1:]]:
        place_shard(left / "000000.games", pack_shard([record], {"game": "chess", "params": {}, "left": str(left)}))
    done = teach(folder, config(), first.positions + 30, cluster=cluster)
    keys = keys_in(folder)
    assert {*keys} >= {*keys_in(tmp_path / "other")}
    assert len(keys) == len({*keys}) == done.positions
    assert len(numbers_in(folder)) == len({*numbers_in(folder)})
    assert not left.exists()


def read_all(path: Path) -> list[bytes]:
    return teaching.records.read_records(path)[1]


def test_stopping_keeps_everything(cluster, tmp_path):
    def stop(progress) -> None:
        if progress.new:
            raise KeyboardInterrupt

    done = teach(tmp_path / "labels", config(), 1_000_000, cluster=cluster, progress=stop)
    assert 0 < done.new == labelled(tmp_path / "labels")[0] == len({*keys_in(tmp_path / "labels")})
    assert not [*(tmp_path / "scratch").rglob("*.games")]


def test_it_is_told_where_an_engine_does_not_work(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(ThreadWorkers, "hosts", 1)
    with pytest.raises(EngineError, match=r"labelling failed on first: .*out of luck.* \(5 times in a row\)"):
        teach(
            tmp_path / "a", TeachConfig(command=f"{sys.executable} -S -c 'exit(\"out of luck\")'"), 9, cluster=cluster
        )
    with pytest.raises(EngineError, match=r"labelling failed on first: .*no program 'no-such-engine'"):
        teach(tmp_path / "b", TeachConfig(command="no-such-engine"), 9, cluster=cluster)
    monkeypatch.setattr(ThreadWorkers, "room", 0)
    with pytest.raises(ValueError, match="no node of the cluster has 1 CPUs for an engine"):
        teach(tmp_path / "c", config(), 9, cluster=cluster)


def test_the_command(threads, run, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    asked = ["--engine", FAKE, "--positions", "20", "--teach", "max_moves=9", "--cluster"]
    code, out, err = run("teach", "labels", *asked, "local")
    assert (code, err) == (0, "")
    assert "labelled positions" in out
    code, _, err = run("teach", "labels", *asked, "nowhere")
    assert code == 2
    assert "must be local, auto or HOST:PORT" in err


def test_without_ray_no_folder_is_made(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    code, _, err = run("teach", "labels", "--engine", FAKE, "--cluster", "local")
    assert code == 2
    assert "pip install 'ramify[cluster]'" in err
    assert not Path("labels").exists()
