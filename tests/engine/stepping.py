"""One simulation at a time, with the whole root to look at after each."""

from __future__ import annotations

from typing import Any

import ramify as rf
from ramify.engine.latent_source import LatentSource
from ramify.engine.source import RulesSource, Source


class Stepper:
    """The engine behind the interface of the transcriptions: simulate(), visits, value."""

    def __init__(self, state: rf.State, evaluator: Any, config: rf.SearchConfig) -> None:
        latent = hasattr(evaluator, "recurrent")
        self.source: Source = LatentSource(evaluator) if latent else RulesSource(state.game, evaluator)
        self.search = self.source.new_search(state, config.for_evaluator(evaluator))
        self.source.begin([state])
        self.search.begin(0)

    def simulate(self) -> None:
        rows = self.search.collect(1, 1)
        if rows:
            self.search.write(self.source.arrays(rows), 0)
            logits, values, rewards = self.source.answer([rows])
            self.search.absorb(logits, values, 0, rewards)

    def report(self) -> dict[str, Any]:
        return self.search.report([])
