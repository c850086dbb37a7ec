"""Clusters of Ray on this machine: runs, and what they cost when processes and nodes are killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from ramify.arena import ParallelSettings
from ramify.cluster import ClusterConfig
from ramify.protocols import node_engines
from ramify.protocols.teaching import teach
from ramify.selfplay import read_folder
from ramify.training import as_yaml, cluster_play, train
from tests.protocols.test_cluster_teaching import keys_in
from tests.protocols.test_teacher import config as taught
from tests.training.test_cluster_play import clustered
from tests.training.test_overlap import iterations, taken
from tools.cluster_proof import NODE, proof, two_nodes

pytestmark = [
    pytest.mark.slow,  # Ray takes up to a minute to start on a busy machine
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install 'ramify[cluster]'"),
]


@pytest.fixture
def nodes():
    with two_nodes() as cluster:
        yield cluster


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
        nodes.add_node(num_cpus=1, **NODE)

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


def test_a_tournament_with_help_from_a_cluster(tmp_path):
    arguments = ["tournament", "tictactoe", "random", "search:simulations=400", "--games", "2000", "--json"]
    code = f"from ramify.cli import main; main({[*arguments, '--cluster', 'local']!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["played"] + found["found"] == 2000  # here, and by the processes of the cluster
    assert found["complete"]


def test_labelling_goes_on_when_an_engine_and_then_a_node_are_killed(nodes, tmp_path):
    import ray

    second = next(iter(nodes.worker_nodes))
    acts = [
        (40, lambda: ray.kill(engines[0].workers.alive[0].actor)),
        (120, lambda: nodes.remove_node(second, allow_graceful=False)),
        (200, lambda: nodes.add_node(num_cpus=1, **NODE)),
    ]
    engines = list[node_engines.NodeEngines]()
    handed = list[int]()

    def save(source, played, *, renumber):
        engines[:] = [source]
        for game in real(source, played, renumber=renumber):
            yield game
            handed.extend(game.keys)

    def show(progress):
        if acts and progress.new >= acts[0][0]:
            acts.pop(0)[1]()
        if sum(node.positions > 0 for node in progress.nodes) == 3:  # the node that joined has labelled, too
            raise KeyboardInterrupt

    cluster = ClusterConfig(address="auto", actors=2, scratch=str(tmp_path / "scratch"))
    real, node_engines.NodeEngines._save = node_engines.NodeEngines._save, save
    try:
        done = teach(tmp_path / "labels", taught(), 100_000, cluster=cluster, progress=show)
    finally:
        node_engines.NodeEngines._save = real
    keys = keys_in(tmp_path / "labels")
    assert not acts
    assert sorted(keys) == sorted(handed)
    assert len(keys) == len({*keys}) == done.positions >= 200
    assert not [*(tmp_path / "scratch").rglob("*.games")]


def leave_trials_to_nodes(monkeypatch, number):
    """Sweeps of this process play no trials, and wait for so many of other processes."""
    from ramify.sweeps import Sweep

    def only_wait(sweep):
        end = time.monotonic() + 240
        while len(sweep.trials()) < number and time.monotonic() < end:
            time.sleep(0.5)

    monkeypatch.setattr(Sweep, "_play_trials", only_wait)


def test_trials_of_a_sweep_are_played_on_nodes(nodes, tmp_path, monkeypatch):
    """The process that started the sweep plays none of them."""
    pytest.importorskip("optuna")
    from ramify.sweeps import SweepConfig
    from ramify.sweeps.remote import swept_on_cluster
    from tests.sweeps.test_sharing import SETTINGS

    leave_trials_to_nodes(monkeypatch, 6)
    cluster = ClusterConfig(address="local", actors=2)  # the nodes that there are
    config = SweepConfig(**SETTINGS)
    with swept_on_cluster(config, tmp_path / "sweep", ParallelSettings(4), None, cluster) as sweep:
        result = sweep.run()
    assert len(result.trials) in (6, 7)
    assert len({trial.settings["c_puct"] for trial in result.trials}) == len(result.trials)
    assert result.confirmation is not None
    assert (tmp_path / "sweep" / "best.yaml").exists()


def test_tuning_and_training_in_turn_on_nodes(nodes, tmp_path, monkeypatch):
    """Both parts of a round are done by processes on nodes; this one only trains."""
    pytest.importorskip("optuna")
    from ramify.sweeps import Improve, load_improve
    from tests.sweeps.test_improve import YAML

    leave_trials_to_nodes(monkeypatch, 2)
    played = Watched(monkeypatch, [])
    config = clustered(tmp_path, cluster__address=None, loop__iterations=1)
    (tmp_path / "tiny.yaml").write_text(as_yaml(config))
    (tmp_path / "loop.yaml").write_text(YAML.replace("TINY", str(tmp_path / "tiny.yaml")))
    cluster = ClusterConfig(address="local", actors=2)  # the nodes that there are
    found = Improve(
        load_improve(tmp_path / "loop.yaml", rounds=1), tmp_path / "loop", ParallelSettings(4), cluster=cluster
    ).run()
    assert [one.number for one in found] == [0, 1]
    assert len(numbers(tmp_path / "loop" / "000" / "run")) == played.handed > 0


@pytest.mark.parametrize("kill", [False, True])
def test_hex_is_learnt_on_two_nodes_whatever_is_killed(tmp_path, kill):
    """The level of ``ramify demo``: about 95 % of the solved positions. Three minutes on two cores."""
    found = proof(tmp_path, {}, kill)
    assert found["lost"] == found["twice_in_records"] == found["kills_left"] == 0
    assert found["in_records"] == found["handed_over"] >= 7 * 768
    assert found["solved_share"] >= 0.9
