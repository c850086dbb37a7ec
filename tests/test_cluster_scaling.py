"""The model of throughput on a cluster against its simulation, in each of the regimes that it tells apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

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
