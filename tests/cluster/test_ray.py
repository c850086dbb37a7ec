"""Clusters of Ray on this machine: runs, and what they cost when processes and nodes are killed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from ramify.cluster.connection import private
from ramify.selfplay import read_folder
from ramify.training import cluster_play, train
from tests.training.test_cluster_play import clustered
from tests.training.test_overlap import iterations, taken

pytestmark = [
    pytest.mark.slow,  # Ray takes up to a minute to start on a busy machine
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install 'ramify[cluster]'"),
]


@contextmanager
def two_nodes(folder: Path, cpus: int = 1):
    """A cluster of two nodes on this machine, reachable from it alone; yields it and a function that adds a node."""
    (folder / "ray").mkdir()
    with pytest.MonkeyPatch.context() as patch, private() as ray:
        patch.setenv("RAY_TMPDIR", str(folder))
        from ray.cluster_utils import Cluster

        arguments = {"include_dashboard": False, "node_ip_address": "127.0.0.1"}
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": cpus, **arguments})
        try:
            cluster.add_node(num_cpus=cpus, **arguments)
            ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
            yield cluster
        finally:
            ray.shutdown()
            cluster.shutdown()


@pytest.fixture
def nodes():
    folder = Path(tempfile.mkdtemp(prefix="ramify-", dir="/tmp"))  # paths of sockets are limited
    try:
        with two_nodes(folder) as cluster:
            yield cluster
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def numbers(folder: Path) -> list[int]:
    return sorted(game.number for _, games in read_folder(folder / "games") for game in games)


class Watched:
    """Counts what workers hand over, and calls ``act(players)`` once after so many games."""

    def __init__(self, patch, acts):
        self.handed, self.acts, self.processes = 0, acts, set[int]()
        keep = cluster_play.ClusterPlayers._keep

        def kept(players, worker, shard):
            new = keep(players, worker, shard)
            self.handed += new
            if self.acts and self.handed >= self.acts[0][0]:
                self.acts.pop(0)[1](players)
            return new

        patch.setattr(cluster_play.ClusterPlayers, "_keep", kept)


def test_killing_a_process_and_then_a_node_costs_no_finished_game(nodes, tmp_path, monkeypatch, caplog):
    import ray

    second = next(iter(nodes.worker_nodes))

    def kill_process(players):
        ray.kill(players.workers.alive[0].actor)

    def kill_node(players):
        nodes.remove_node(second, allow_graceful=False)

    def join(players):
        nodes.add_node(num_cpus=1, include_dashboard=False, node_ip_address="127.0.0.1")

    watched = Watched(monkeypatch, [(40, kill_process), (100, kill_node), (160, join)])
    config = clustered(
        tmp_path,
        cluster__actors=2,
        loop__games=60,
        loop__iterations=5000,
        loop__max_seconds=150.0,
        loop__checkpoint_seconds=1.0,
    )

    def show(status):  # until the node that joined has played, too
        if sum(node.games > 0 for node in status.nodes) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "run", show=show)
    there = numbers(tmp_path / "run")
    assert not watched.acts
    assert len(there) == len({*there}) == watched.handed
    assert there[:160] == [*range(160)]
    assert caplog.text.count("a self-play process on") >= 2
    assert not [*(tmp_path / "scratch").rglob("*.games")]


def test_a_cluster_started_for_the_run(tmp_path):
    """Nothing of it is left: no process, no file, no variable."""
    before = {*Path("/tmp").iterdir()}
    variables = dict(os.environ)
    code = f"""
import os, sys
from pathlib import Path
from ramify.training import train
from tests.training.test_cluster_play import clustered
if __name__ == "__main__":
    before = dict(os.environ)
    folder = Path({str(tmp_path)!r})
    train(clustered(folder, cluster__address="local", cluster__actors=1, loop__max_seconds=120.0), folder / "run")
    left = {{name for name in os.environ if name.startswith("RAY_")}} - {{*before}}
    print("left", sorted(left - {{"RAY_USAGE_STATS_ENABLED"}}), "RAY_AUTH_TOKEN" in os.environ)
"""
    program = tmp_path / "program.py"
    program.write_text(code)
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=Path(__file__).parents[2],
        env={**variables, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "left [] False" in done.stdout
    assert done.stderr == ""
    assert taken(tmp_path / "run")["games"] >= 36
    assert iterations(tmp_path / "run")[-1]["cluster_processes"] == 1
    new = {path.name for path in {*Path("/tmp").iterdir()} - before}
    assert not [name for name in new if name.startswith(("ramify-games", "ray"))]
