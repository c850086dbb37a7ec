"""Which games are given to whom: every number once, whatever becomes of the workers."""

from __future__ import annotations

import random

import pytest

from ramify.training.leases import Leases
from tests.training.helpers import tiny


def test_games_are_given_in_order_and_left_over_ones_first():
    leases = Leases(tiny(), [3, 7], 10)
    assert leases.grant(0, 4).numbers == (3, 7, 10, 11)
    assert leases.grant(1, 2).numbers == (12, 13)


def test_a_lease_has_games_of_one_kind():
    config = tiny(loop__games=10, loop__rollout_iterations=1, loop__uniform_share=0.2)
    leases = Leases(config, [], 6)
    given = [leases.grant(0, 100) for _ in range(4)]
    assert [(lease.numbers, lease.source) for lease in given[:3]] == [
        (tuple(range(6, 10)), "rollouts"),
        ((10, 11), "uniform"),
        (tuple(range(12, 20)), "network"),
    ]
    assert given[3].source == "uniform"
    assert not given[1].continues(given[2])
    assert given[1].continues(given[3])


def test_variants_take_turns_by_iteration():
    config = tiny(game="hex", params={"size": 3}, variants=[{"params": {"size": 4}}], loop__games=5, network="1x4")
    leases = Leases(config, [], 0)
    boards = [leases.grant(0, 5).board for _ in range(6)]
    assert boards == [config.board_at(0, iteration) for iteration in range(6)]
    assert {0, 1} == {*boards}


def test_games_of_a_lost_worker_are_free_only_after_the_release():
    leases = Leases(tiny(), [], 0)
    leases.grant(0, 5)
    assert leases.finish(0, [1, 2]) == [1, 2]
    assert leases.lose(0) == 3
    assert leases.grant(1, 2).numbers == (5, 6)
    assert leases.finish(1, [3]) == [3]  # found in what the lost one had left
    leases.release(1)
    assert leases.grant(1, 3).numbers == (0, 4, 7)


def test_a_game_that_comes_again_is_not_counted_again():
    leases = Leases(tiny(), [2], 4)
    assert leases.finish(0, [1, 3]) == []  # of an earlier session
    assert leases.finish(0, [2, 2, 6]) == [2, 6]  # 6: an earlier session had come further
    assert leases.finish(1, [2, 6]) == []
    assert leases.finished == 2
    assert leases.grant(0, 3).numbers == (4, 5, 7)


@pytest.mark.parametrize("seed", range(5))
def test_every_number_is_finished_once_whatever_dies(seed):
    """Random workers that finish some games, die, and are handed over late; at the end the numbers have no gap."""
    rng, leases, done = random.Random(seed), Leases(tiny(), [], 0), list[int]()
    held: dict[int, list[int]] = {0: []}
    left_behind: list[int] = []
    started = 1
    for _ in range(400):
        worker = rng.choice([*held])
        action = rng.random()
        if action < 0.4:
            held[worker] += leases.grant(worker, rng.randint(1, 6)).numbers
        elif action < 0.8:
            finished = rng.sample(held[worker], min(len(held[worker]), rng.randint(0, 5)))
            held[worker] = [number for number in held[worker] if number not in finished]
            done += leases.finish(worker, finished)
            if rng.random() < 0.1:
                done += leases.finish(worker, finished)  # sent twice
        else:  # it dies; some of its games lie on its disk
            lost = held.pop(worker)
            left_behind += rng.sample(lost, rng.randint(0, len(lost)))
            leases.lose(worker)
            held[started] = []
            if rng.random() < 0.7:
                done += leases.finish(started, left_behind)
                left_behind = []
                leases.release(started)
            started += 1
    leases.release(started)
    for worker, numbers in held.items():
        done += leases.finish(worker, numbers)
    done += leases.finish(started, left_behind)
    while leases.free:
        done += leases.finish(started, leases.grant(started, 1).numbers)
    assert sorted(done) == list(range(leases.first))
    assert leases.finished == leases.first
