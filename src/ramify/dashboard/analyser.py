"""A search that goes on in slices while somebody looks at it, with one network or with several side by side."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ramify.dashboard.views import moves_table
from ramify.engine import Searcher, SearchResult
from ramify.games import State
from ramify.games.pictures import Analysis
from ramify.presentation.described import analysis_of

if TYPE_CHECKING:
    from ramify.dashboard.site import Site

SLICE = 0.25  # seconds of a search before others have their turn


@dataclass
class Line:
    """The search of one network."""

    key: str
    name: str = ""
    searcher: Searcher | None = None
    first: SearchResult | None = None  # after one simulation: what the network says by itself
    result: SearchResult | None = None
    seconds: float = 0.0
    done: bool = False
    first_found: Analysis | None = None
    found: Analysis | None = None
    table: str = ""  # of moves, as HTML
    _described: SearchResult | None = None

    def describe(self, state: State) -> None:
        """Read from the graph what the page shows; in the thread of the search, before its next slice."""
        if self.result is None or self.result is self._described:
            return
        self.found = analysis_of(state, self.result)
        self.table = "".join(moves_table(state, self.result, player) for player in self.result.acting)
        self._described = self.result

    @property
    def simulations(self) -> int:
        return 0 if self.result is None else int(self.result.visits.sum()) + 1


@dataclass
class Analyser:
    """The searches of a position. ``work`` runs in a thread; everything else belongs to the page."""

    site: Site
    state: State
    lines: list[Line]
    settings: dict[str, Any]
    limit: int  # simulations
    stopped: bool = False
    started: float = field(default_factory=time.monotonic)

    def work(self) -> None:
        """One slice of the first network whose search is not done; the others follow in turn."""
        line = min((line for line in self.lines if not line.done), key=lambda line: line.seconds, default=None)
        if line is None or self.stopped:
            return
        if line.searcher is None:
            self._begin(line)
        assert line.searcher is not None
        before, begun = line.simulations, time.monotonic()
        line.result = line.searcher.run(self.state)
        line.seconds += time.monotonic() - begun
        over = time.monotonic() - self.started > self.site.config.budget.analysis_seconds
        decided = line.result.proven is not None or (line.simulations == before and before > 1)
        line.done = over or decided or line.simulations >= self.limit

    def _begin(self, line: Line) -> None:
        """Load the network, and ask it alone."""
        catalog, game = self.site.catalog, self.state.game
        alone, line.name = catalog.searcher(game, line.key, (1, None), 0, {"solver": False})
        line.first = alone.run(self.state)
        line.first_found = analysis_of(self.state, line.first)
        settings = {"max_nodes": self.site.config.budget.nodes // len(self.lines), **self.settings}
        line.searcher, _ = catalog.searcher(game, line.key, (self.limit, SLICE), 0, settings)

    @property
    def done(self) -> bool:
        return self.stopped or all(line.done for line in self.lines)

    def stop(self) -> None:
        """End the search; what it has found stays."""
        self.stopped = True
        for line in self.lines:
            if line.searcher is not None:
                line.searcher.stop()
