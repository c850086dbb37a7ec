"""Processes that play the same games divide them: claims, their end, and games that others finish."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ramify as rf
from ramify.arena import Fixture, ParallelSettings, Played, Progress, SharedResults, match

pytest.importorskip("sqlalchemy")
pytest.importorskip("alembic")

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from ramify.arena import Interrupted
from ramify.arena import waiting as waiting_module
from ramify.store import Store
from ramify.store import claims as claims_module
from ramify.store import database as database_module
from ramify.store.results import StoredResults
from ramify.store.tables import ClaimRow
from tests.arena.helpers import DiceConfig
from tests.children import forking_context

WEAK, STRONG = DiceConfig(skill=0.0), DiceConfig(skill=0.9)
Two = tuple[StoredResults, StoredResults]


@pytest.fixture(scope="module")
def played() -> list[Played]:
    return list(match(rf.make("tictactoe"), WEAK, STRONG, 6))


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    with Store(place) as opened:
        yield opened


@pytest.fixture
def two(store: Store) -> Iterator[Two]:
    """What two processes have of one store."""
    pair = store.results(), store.results()
    for results in pair:
        results.meet([WEAK, STRONG])
    yield pair
    for results in pair:
        results.release()


def rows(store: Store) -> list[ClaimRow]:
    with store._database.reading() as session:
        return list(session.scalars(select(ClaimRow)))


def test_a_game_is_granted_to_one(two: Two, store: Store) -> None:
    first, second = two
    assert isinstance(first, SharedResults)
    keys = list("abcdef")
    assert first.claim(keys, 2).granted == ["a", "b"]
    answer = second.claim(keys, 3)
    assert (answer.granted, set(answer.taken)) == (["c", "d", "e"], {"a", "b"})
    assert first.claim(["a", "f"], 9).granted == ["a", "f"]  # its own ones again
    first.release()
    assert second.claim(keys, 9).granted == keys
    second.release()
    assert rows(store) == []


def test_finished_games_come_back_and_are_not_granted(two: Two, played: list[Played]) -> None:
    first, second = two
    keys = [one.key for one in played]
    assert second.find(keys) == {}
    first.claim(keys, 2)
    first.add(played[0])
    answer = second.claim(keys, 1)
    assert answer.finished == {keys[0]: played[0]}
    assert answer.granted == [keys[2]]
    # Between a look at the store and a claim, a game may be finished and its claim given back.
    first.add(played[1])
    first.release()
    granted, late = second._claims.claim(keys[1:3], set())
    assert granted == [keys[2]]
    assert [row.key for row in late] == [keys[1]]
    assert second.claim(keys[1:2], 1).finished == {keys[1]: played[1]}


def test_forfeits_are_played_again_once_and_not_by_everybody(two: Two, store: Store, played: list[Played]) -> None:
    first, second = two
    old, new = (replace(one, winner=0, reason="forfeit") for one in played[:2])
    first.add(old)
    keys = [old.key, new.key]
    assert second.find(keys) == {}
    first.add(new)
    answer = second.claim(keys, 2)
    assert answer.granted == [old.key]
    assert answer.finished == {new.key: new}


def test_games_that_are_replayed_are_divided_too(store: Store, played: list[Played]) -> None:
    once = store.results()
    once.meet([WEAK, STRONG])
    for one in played:
        once.add(one)
    keys = [one.key for one in played]
    first, second = store.results(replay=True), store.results(replay=True)
    for results in (first, second):
        results.meet([WEAK, STRONG])
        assert results.find(keys) == {}
    assert first.claim(keys, 1).granted == keys[:1]
    first.add(played[0])
    answer = second.claim(keys, 1)
    assert (answer.granted, dict(answer.finished)) == ([keys[1]], {keys[0]: played[0]})
    for results in (first, second):
        results.release()


def claim_and_die(place: str, pipe: Any) -> None:
    store = Store(place)
    pipe.send(store.results().claim(["a", "b"], 2).granted)
    pipe.recv()
    os._exit(1)


def test_claims_of_a_process_that_has_ended_are_taken_over_at_once(place: str, store: Store) -> None:
    context = forking_context()
    pipe, other = context.Pipe()
    process = context.Process(target=claim_and_die, args=(place, other))
    process.start()
    results = store.results()
    assert pipe.recv() == ["a", "b"]
    assert results.claim(["a", "b", "c"], 9).granted == ["c"]
    pipe.send("now")
    process.join()
    assert results.claim(["a", "b"], 9).granted == ["a", "b"]
    results.release()
    assert rows(store) == []


def test_claims_that_nobody_renews_expire(two: Two, store: Store) -> None:
    """Of another machine it is not known whether a process still runs."""
    first, second = two
    first._claims._owner = f"elsewhere/{2**40}/x"
    first.claim(["a"], 1)
    assert set(second.claim(["a"], 1).taken) == {"a"}
    store._database.write(lambda session: session.execute(update(ClaimRow).values(expires=ClaimRow.expires - 61)))
    assert second.claim(["a"], 1).granted == ["a"]
    assert set(first.claim(["a"], 1).taken) == {"a"}


def test_claims_are_renewed(two: Two, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims_module, "LEASE", 0.6)
    two[0].claim(["a"], 1)
    (before,) = rows(store)
    deadline = time.monotonic() + 30
    while rows(store)[0].expires == before.expires:
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(
    "parallel", [ParallelSettings(), pytest.param(ParallelSettings(2, workers=2), marks=pytest.mark.slow)]
)
def test_a_match_waits_for_the_games_of_others(two: Two, played: list[Played], parallel: ParallelSettings) -> None:
    first, second = two
    first.claim([played[0].key, played[3].key], 2)
    seen: list[Progress] = []

    def watch(progress: Progress) -> None:
        seen.append(progress)
        if progress.done == 4:  # all that were free; now the other process finishes one of its two, and ends
            first.add(played[3])
            first.release()

    again = match(rf.make("tictactoe"), WEAK, STRONG, 6, results=second, watch=watch, parallel=parallel)
    assert list(again) == played
    assert (seen[-1].done, seen[-1].found) == (6, 1)


def test_claims_are_given_back_on_ctrl_c(store: Store) -> None:
    def watch(progress: Progress) -> None:
        if progress.done == 2:
            assert rows(store) != []
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        match(rf.make("tictactoe"), WEAK, STRONG, 40, results=store.results(), watch=watch)
    assert rows(store) == []


def test_quick_games_are_claimed_in_few_transactions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_module, "BLOCK_SECONDS", 1e9)
    calls = []
    claim = StoredResults.claim

    def counted(self: StoredResults, keys: list[str], number: int):  # type: ignore[no-untyped-def]
        calls.append(number)
        return claim(self, keys, number)

    monkeypatch.setattr(StoredResults, "claim", counted)
    with Store(tmp_path / "x.db") as store:
        match(rf.make("tictactoe"), WEAK, STRONG, 300, results=store.results())
    assert len(calls) <= 6
    assert max(calls) >= 64


def test_results_without_claims_are_played_alone() -> None:
    """Storage of a user's own has three methods."""
    games: dict[str, Played] = {}

    class Own:
        def find(self, keys: list[str]) -> dict[str, Played]:
            return {key: games[key] for key in keys if key in games}

        def meet(self, players: object) -> None:
            pass

        def add(self, one: Played) -> None:
            games[one.key] = one

    match(rf.make("tictactoe"), WEAK, STRONG, 4, results=Own())
    assert len(games) == 4
    assert all(isinstance(one.fixture, Fixture) for one in games.values())


def test_ctrl_c_at_the_end_of_a_transaction_leaves_no_lock(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next transaction need not wait, although the error and all that it refers to are still there."""

    class Interrupted(Session):
        def begin(self, nested: bool = False) -> Any:
            return nullcontext()

        def close(self) -> None:
            raise KeyboardInterrupt

    order = insert(ClaimRow).values(key="a", owner="x", expires=0.0)
    with monkeypatch.context() as patched:
        patched.setattr(database_module, "Session", Interrupted)
        with pytest.raises(KeyboardInterrupt) as error:
            store._database.write(lambda session: session.execute(order))
    store._database.write(lambda session: session.execute(order), wait=0.5)
    assert len(rows(store)) == 1
    assert error.value.__context__ is None
