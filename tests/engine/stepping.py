"""One simulation at a time, with the whole root to look at after each."""

from __future__ import annotations

from typing import Any

import ramify as rf
from ramify import _core
from ramify.engine.source import LatentSource, RulesSource, Source


class Stepper:
    """The engine behind the interface of the transcriptions: simulate(), visits, value."""

    def __init__(self, state: rf.State, evaluator: Any, config: rf.SearchConfig) -> None:
        latent = hasattr(evaluator, "recurrent")
        self.source: Source = LatentSource(evaluator) if latent else RulesSource(state.game, evaluator)
        self.search = self.source.new_search(state, config.for_evaluator(evaluator))
        self.group = _core.Group(1)
        self.source.begin([state])
        self.search.begin(0)

    def simulate(self) -> None:
        batch = self.collect()
        if batch:
            batch.absorb(*self.source.answer(0, batch.counts))

    def collect(self, number: int = 0) -> _core.LeafBatch:
        """One leaf, or none if the simulation needs no evaluation; ``number`` tells batches in flight apart."""
        return self.group.gather([self.search], number, 1, [1], self.source.arrays(number, 1))

    def report(self) -> dict[str, Any]:
        return self.search.report([])
