"""The model of throughput on a cluster against its simulation, in each of the regimes that it tells apart."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from tools.cluster_check import accounts, learner_seconds, part, with_other_work
from tools.cluster_scaling import Constants, model, simulate, table

PLAIN = Constants()
REGIMES = {
    "self_play": (PLAIN, 2),
    "learner": (replace(PLAIN, step=0.5), 8),
    "loaders": (replace(PLAIN, load=0.02, loaders=1), 4),
    "network": (replace(PLAIN, bandwidth=40_000.0, weights_bytes=50_000.0), 3),
}


@pytest.mark.parametrize("regime", REGIMES)
def test_the_simulation_agrees_with_the_model(regime):
    constants, processes = REGIMES[regime]
    limits, found = model(constants, processes, processes), simulate(constants, processes, processes)
    assert limits.narrowest == regime
    assert found.games == pytest.approx(limits.games, rel=0.06)
    assert found.ratio == pytest.approx(constants.replay_ratio, rel=0.06)
    assert (found.waiting > 0.1) == (regime in ("learner", "loaders"))  # these are behind what arrives


def test_messages_of_very_many_processes_leave_no_time_for_training():
    most = int((1 - PLAIN.look) / PLAIN.worker)
    assert model(PLAIN, most + 1, most + 1).games == 0
    assert simulate(PLAIN, most + 1, most + 1, seconds=30.0).games == 0


def test_a_line_for_every_number_of_processes():
    lines = table(PLAIN, [1, 64])
    assert [line.split("|")[1].strip() for line in lines[2:]] == ["1", "64"]


def test_the_part_of_the_time_with_a_core_is_that_of_threads_that_work():
    """One thread ran 3 s and waited 1 s; another one ran for a moment, and waited long before."""
    before = {"/proc/7/task/7/schedstat": (1_000, 2_000), "/proc/7/task/8/schedstat": (0, 0)}
    after = {
        "/proc/7/task/7/schedstat": (3_000_001_000, 1_000_002_000),
        "/proc/7/task/8/schedstat": (10_000_000, 9_000_000_000),
        "/proc/7/task/9/schedstat": (5_000_000_000, 0),  # it began later
    }
    assert part(before, after) == pytest.approx(0.75)


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="needs the accounts of Linux")
def test_a_thread_that_works_has_an_account_of_it():
    def used():
        return {name: ran for name, (ran, _) in accounts().items()}

    before, end = used(), time.thread_time() + 0.05
    while time.thread_time() < end:
        pass
    after = used()
    assert max(after[name] - before.get(name, 0) for name in after) >= 40e6


def test_with_other_work_all_speeds_are_lower():
    found = {"trainer_part": 0.5, "players_part": 0.25, "positions": 3.0, "ratio": 8.0}
    found["game_evaluations"] = PLAIN.game_evaluations
    slow = with_other_work(PLAIN, found)
    assert model(slow, 2, 2).self_play == pytest.approx(model(PLAIN, 2, 2).self_play / 4)
    longer = with_other_work(PLAIN, {**found, "game_evaluations": 2 * PLAIN.game_evaluations})
    assert model(longer, 2, 2).self_play == pytest.approx(model(slow, 2, 2).self_play / 2)
    half = replace(PLAIN, positions=3.0, replay_ratio=8.0, look=0.0, worker=0.0)
    assert model(with_other_work(half, found), 2, 2).learner == pytest.approx(model(half, 2, 2).learner / 2)


def test_a_step_and_a_game_are_told_apart():
    messages = PLAIN.look + 2 * PLAIN.worker
    runs = [
        {"steps_per_s": s, "played_per_s": g, "trainer_cpu_per_s": messages + 0.05 * s + 0.001 * g}
        for s, g in ((3.0, 60.0), (10.0, 5.0))
    ]
    assert learner_seconds(runs) == (pytest.approx(0.05), pytest.approx(0.001))
