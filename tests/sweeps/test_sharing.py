"""Sweeps that several processes, or the nodes of a cluster, take part in."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import yaml

from ramify.arena import ParallelSettings
from ramify.cluster import ClusterConfig, Link
from ramify.store import Store
from ramify.store.errors import StoreError
from ramify.sweeps import Sweep, SweepConfig, remote
from tests.store.conftest import postgres  # noqa: F401 - a fixture
from tests.store.server import Server

pytest.importorskip("optuna")

SETTINGS: dict[str, Any] = {
    "game": "tictactoe",
    "player": "search:evaluator=rollout,simulations=4",
    "settings": {"c_puct": {"low": 0.5, "high": 4.0}},
    "opponents": ["random"],
    "trials": 6,
    "games": 8,
    "first_games": 8,
    "confirm_games": 8,
}


def take_part(config: SweepConfig, folder: Path, store: str | None = None) -> None:
    remote.sweep_on_node(Link(), config, (), folder, store, 4)


def in_threads(count: int, *arguments: Any) -> None:
    threads = [threading.Thread(target=take_part, args=arguments) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def check_shared(sweep: Sweep) -> None:
    """Trials are as many as asked for, or one more that two began at once; no two proposed the same."""
    trials = sweep.trials()
    assert len(trials) in (6, 7)
    assert max(Counter(trial.settings["c_puct"] for trial in trials).values()) == 1
    assert all(trial.games == 8 for trial in trials)
    result = sweep.run()
    assert result.trials[: len(trials)] == tuple(trials)  # nothing was left to do
    assert result.confirmation is not None


def test_processes_divide_the_trials(tmp_path: Path) -> None:
    config = SweepConfig(**SETTINGS)
    Sweep(config, tmp_path)  # whoever starts the others has made the study
    in_threads(2, config, tmp_path)
    check_shared(Sweep(config, tmp_path))


def test_processes_of_several_machines_share_a_database(postgres: Server, tmp_path: Path) -> None:  # noqa: F811
    place, config = postgres.new_place(), SweepConfig(**SETTINGS)
    first = Sweep(config, tmp_path / "a", store=place)
    in_threads(2, config, tmp_path / "b", place)
    check_shared(first)
    assert not (tmp_path / "a" / "games.sqlite").exists()
    assert not (tmp_path / "a" / "study.sqlite").exists()
    with Store(place) as store:  # which has its own tables, and no others
        assert store.kinds_of_games()[0][0] == "tictactoe"
    assert len(Sweep(config.replace(trials=9), tmp_path / "c", store=place).trials()) >= 6  # the same sweep
    assert Sweep(config.replace(games=10), tmp_path / "d", store=place).trials() == []  # another one


def test_a_database_that_does_not_answer_is_told_without_its_password(run: Any, tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(SETTINGS))
    code, _, err = run("sweep", str(tmp_path / "tiny.yaml"), "--store", "postgresql://me:secret@127.0.0.1:9/x")
    assert code == 2
    assert "postgresql://me@127.0.0.1:9/x cannot be reached" in err
    assert "secret" not in err


def test_a_database_that_is_lost_is_told(postgres: Server, tmp_path: Path) -> None:  # noqa: F811
    place = postgres.new_place()
    sweep = Sweep(SweepConfig(**SETTINGS), tmp_path, store=place)
    schema = postgres.execute(place, "SELECT current_schema()")[0][0]
    postgres.execute(place, f"DROP SCHEMA {schema}_sweeps CASCADE")
    with pytest.raises(StoreError, match="does not have the tables of this version"):
        sweep.run()


def test_proposals_belong_to_the_number_of_a_trial() -> None:
    """A process that resumes, or joins, does not propose what was proposed before."""
    import optuna

    from ramify.sweeps.sampler import SeededByTrial

    def proposed(parts: list[int]) -> list[float]:
        found = list[float]()
        study = optuna.create_study(sampler=SeededByTrial(3))
        for count in parts:
            study.sampler = SeededByTrial(3)  # as in a new process
            for _ in range(count):
                trial = study.ask()
                found.append(trial.suggest_float("x", 0.0, 1.0))
                study.tell(trial, found[-1])
        return found

    whole = proposed([14])
    assert proposed([3, 1, 10]) == whole
    assert len({*whole}) == 14


def test_a_message_gives_a_trial_back(tmp_path: Path) -> None:
    from optuna.trial import TrialState

    config, link = SweepConfig(**SETTINGS), Link()
    link.put(None)
    remote.sweep_on_node(link, config, (), tmp_path, None, 4)
    sweep = Sweep(config, tmp_path)
    assert sweep.trials() == []
    assert len(sweep.run().trials) == 6
    assert not sweep.study.get_trials(states=(TrialState.RUNNING,))


def test_a_trial_that_was_begun_and_stopped_is_played_first(tmp_path: Path) -> None:
    from optuna.trial import TrialState

    config, link = SweepConfig(**{**SETTINGS, "games": 32, "first_games": 32}), Link()
    real = Sweep._measure

    def measure(sweep: Sweep, trial: Any, settings: dict[str, Any]) -> float:
        link.put(None)
        return real(sweep, trial, settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sweep, "_measure", measure)
        remote.sweep_on_node(link, config, (), tmp_path, None, 4)
    waiting = Sweep(config, tmp_path).study.get_trials(states=(TrialState.WAITING,))
    assert len(waiting) == 1
    assert waiting[0].system_attrs["fixed_params"].keys() == {"c_puct"}


def test_nodes_need_a_store_that_they_reach(tmp_path: Path) -> None:
    for store in (None, str(tmp_path / "games.db")):
        with (
            pytest.raises(ValueError, match="need a store that all of them reach"),
            remote.swept_on_cluster(
                SweepConfig(**SETTINGS), tmp_path / "x", ParallelSettings(4), store, ClusterConfig(address="auto")
            ),
        ):
            pass
    assert not (tmp_path / "x").exists()


def test_the_command_asks_the_cluster_for_help(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[str | None]()

    @contextmanager
    def helped(config: ClusterConfig, target: Any, *arguments: Any, grace: float):
        target(Link(), *arguments)
        asked.append(config.address)
        yield

    monkeypatch.setattr(remote, "helped", helped)
    monkeypatch.setattr(remote, "connected", lambda _: nullcontext())
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump({**SETTINGS, "trials": 2}))
    command = ["sweep", str(tmp_path / "tiny.yaml"), "--cluster"]
    code, out, err = run(*command, "local")
    assert (code, err) == (0, "")
    assert asked == ["local"]
    assert "2 trials" in out
    assert run(*command, "auto")[0] == 2
    assert run(*command, "nowhere")[0] == 2


@pytest.mark.parametrize(("library", "extra"), [("ray", "cluster"), ("optuna", "sweep")])
def test_without_a_library_no_folder_is_made(
    library: str, extra: str, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setattr(remote, "connected", remote.connected if library == "ray" else lambda _: nullcontext())
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(SETTINGS))
    code, _, err = run("sweep", str(tmp_path / "tiny.yaml"), "--cluster", "local")
    assert code == 2
    assert "pip install" in err
    assert f"ramify[{extra}]" in err
    assert not Path("sweeps").exists()
