"""Which worker plays which games: every number is given to one worker at a time, and counted once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ramify.training.config import TrainConfig

Source = Literal["network", "rollouts", "uniform"]  # what evaluates the positions of a game


@dataclass(frozen=True)
class Lease:
    """Games for one worker, all on the same board and with the same evaluator."""

    numbers: tuple[int, ...]
    board: int  # index into ``TrainConfig.make_games()``
    source: Source

    def continues(self, other: Lease) -> bool:
        """Whether its games can be played together with those of another lease."""
        return (self.board, self.source) == (other.board, other.source)


class Leases:
    """The games of a run: those not begun, those that workers have, and those that were lost with their worker.

    A game that was handed over is finished; it is recognised if it comes again. Lost games are given to others once
    whoever takes the place of the lost worker has handed over what was left of it (``release``).
    """

    def __init__(self, config: TrainConfig, unfinished: Sequence[int], first: int) -> None:
        self.config, self.stage = config, 0
        self.first = first  # all numbers from here on have not been given to anyone
        self.free = sorted(unfinished, reverse=True)  # given back, or left over from an earlier session; the next last
        self.held: dict[int, set[int]] = {}  # by worker
        self.orphans: dict[int, set[int]] = {}  # by worker that was lost
        self.finished = 0

    def grant(self, worker: int, count: int) -> Lease:
        """At least one and at most ``count`` games for a worker."""
        numbers = [self._next()]
        kind = self._kind(numbers[0])
        while len(numbers) < count:
            number = self._next()
            if self._kind(number) != kind:
                self.free.append(number)
                break
            numbers.append(number)
        self.held.setdefault(worker, set()).update(numbers)
        return Lease(tuple(numbers), *kind)

    def finish(self, worker: int, numbers: Iterable[int]) -> list[int]:
        """Count games that were handed over; returns those that were not known as finished."""
        new = [number for number in dict.fromkeys(numbers) if self._take(worker, number)]
        self.finished += len(new)
        return new

    def lose(self, worker: int) -> int:
        """A worker was lost; returns the number of games that it had not handed over."""
        lost = self.held.pop(worker, set())
        if lost:
            self.orphans[worker] = lost
        return len(lost)

    def release(self, before: int) -> None:
        """Let others play the games of lost workers with lower numbers than ``before``."""
        for worker in [worker for worker in self.orphans if worker < before]:
            self.free = sorted([*self.free, *self.orphans.pop(worker)], reverse=True)

    def _next(self) -> int:
        if self.free:
            return self.free.pop()
        self.first += 1
        return self.first - 1

    def _take(self, worker: int, number: int) -> bool:
        if number >= self.first:  # of an earlier session, which had come further
            self.free = sorted([*self.free, *range(self.first, number)], reverse=True)
            self.first = number + 1
            return True
        groups = [self.held.get(worker, set()), *self.held.values(), *self.orphans.values()]
        for group in groups:
            if number in group:
                group.remove(number)
                return True
        if number in self.free:
            self.free.remove(number)
            return True
        return False

    def _kind(self, number: int) -> tuple[int, Source]:
        config, loop = self.config, self.config.loop
        iteration, place = divmod(number, loop.games)
        board = config.board_at(self.stage, iteration)
        if iteration < loop.rollout_iterations:
            return board, "rollouts"
        return board, "uniform" if place < round(loop.uniform_share * loop.games) else "network"
