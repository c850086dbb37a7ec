"""Parallel self-play: search one half of the games while the positions of the other half are evaluated."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from ramify import _core
from ramify.base.deprecation import renamed_arguments
from ramify.base.seeds import checked_seed
from ramify.engine.batch import Evaluator, LatentModel, NativeEvaluator
from ramify.engine.cache import EvaluationCache
from ramify.engine.config import SearchConfig
from ramify.engine.native import named_evaluator
from ramify.engine.pipeline import Pipeline
from ramify.engine.source import Answer, RulesSource, Source
from ramify.games import Game
from ramify.games.ending import CUT_GAMES, NEED_AN_END, refuse_endless
from ramify.games.registry import checked_game
from ramify.selfplay.config import PlayConfig
from ramify.selfplay.latent import latent_source
from ramify.selfplay.starts import placed, start_positions

BUSY = (
    "this SelfPlay is in use by another thread: one thread at a time may iterate over it or read its counts; only "
    "stop() may be called from other threads"
)

SHARES = 2  # of the games: one share is searched while the other is evaluated


class SelfPlay:
    """Self-play games with one evaluator, or with a latent model in its place.

    Iteration yields lists of finished game records (bytes), often empty.

    ``parallel_games`` are played at once and each finished one is replaced, until ``games`` are done (None: until
    ``stop``). Games are numbered: first those in ``unfinished``, then from ``first`` on. A game depends only on
    ``seed`` and its number. ``fixed_batches`` pads every batch to one size, for evaluators whose rounding depends on
    the batch size, such as ONNX Runtime's: then results do not depend on ``parallel_games`` or ``threads`` either.
    (Torch may also round by a row's place in the batch.) Ctrl-C raises KeyboardInterrupt out of the iteration; ``take``
    then returns the games finished in the meantime, and a new iteration continues.
    """

    @renamed_arguments(places="parallel_games")
    def __init__(
        self,
        game: Game,
        evaluator: Evaluator | NativeEvaluator | LatentModel | None = None,
        search: SearchConfig | None = None,
        play: PlayConfig | None = None,
        *,
        games: int | None = None,
        parallel_games: int = 256,
        threads: int = 1,
        seed: int = 0,
        first: int = 0,
        unfinished: Sequence[int] = (),
        fixed_batches: int | None = None,
    ) -> None:
        for name, wanted, given in (("search", SearchConfig, search), ("play", PlayConfig, play)):
            if given is not None and not isinstance(given, wanted):
                raise TypeError(f"{name} must be a {wanted.__name__}, not {type(given).__name__}")
        for name, least, number in (
            ("parallel_games", 1, parallel_games),
            ("threads", 1, threads),
            ("first", 0, first),
            ("games", 0, games or 0),
            *(("unfinished", 0, number) for number in unfinished),
        ):
            if isinstance(number, bool) or not isinstance(number, int) or not least <= number < 2**63:
                raise ValueError(f"{name} must be an integer of at least {least}, not {number!r}")
        self.game = checked_game(game, "self-play")
        self.evaluator = evaluator if evaluator is not None else named_evaluator()
        search = search if search is not None else SearchConfig()
        # Many games fill a batch, one leaf each: "auto" is 1 here, whatever the device.
        self.search = search.replace(batch=search.batch_size).for_evaluator(self.evaluator)
        self.play = play if play is not None else PlayConfig()
        self.seed = checked_seed(seed)
        self.openings = start_positions(self.game, self.play.openings, self.play.opening_share)
        if self.play.acting == "average" and self.search.selection not in ("regret", "exp3"):
            raise ValueError('acting="average" needs the search setting selection="regret" or "exp3"')
        native = self.evaluator if isinstance(self.evaluator, NativeEvaluator) else None
        rollouts = 0 if native is None else native.rollouts
        self._native = native is not None
        if rollouts > 0 or self.play.max_moves is None:
            refuse_endless(game, NEED_AN_END if rollouts > 0 else CUT_GAMES)
        latent = latent_source(game, evaluator, self.play, fixed_batches) if hasattr(evaluator, "recurrent") else None
        cached = self.search.cache and not self._native and latent is None
        self.cache = EvaluationCache(self.evaluator, self.search.cache) if cached else None
        self._pool = _core.make_pool(
            game,
            self.search.replace(threads=1).model_dump(),
            self.play.core(self.search, native),
            self.seed,
            parallel_games,
            list(unfinished),
            first,
            -1 if games is None else games,
            threads,
            SHARES,
            None if latent is None else latent.core(),
            None if self.cache is None else self.cache.core,
            [opening.state for opening in self.openings],
        )
        self._alone = _core.Exclusive(BUSY)
        self._stopping, self._listed = False, games == len(unfinished)
        rows = (parallel_games + 1) // 2 * self.search.batch_size
        if fixed_batches is not None and fixed_batches < rows:
            raise ValueError(f"fixed_batches must be at least {rows} for {parallel_games} parallel games")
        self._rows = max(rows, fixed_batches or 0)
        self._source: Source
        if latent is not None:
            self._source = latent
        else:
            asked = None if self._native else self.evaluator
            self._source = RulesSource(game, asked, fixed_batches, self.cache)  # type: ignore[arg-type]
        self._pipeline = Pipeline(self._source, SHARES)
        self.started = time.perf_counter()

    @property
    def batches(self) -> int:
        """Number of batches evaluated."""
        return self._pipeline.batches

    @property
    def evaluated(self) -> int:
        """Number of positions evaluated."""
        return self._pipeline.evaluated

    @property
    def busy(self) -> float:
        """Seconds in which the evaluator worked."""
        return self._pipeline.busy

    @property
    def counts(self) -> dict[str, int]:
        """Counts of games, moves, evaluations, simulations, draws, resigned and active games, and bytes of graphs.

        ``cache_hits`` and ``cache_misses`` count the leaves that were found in the cache, and those that were not.
        """
        return self._pool.counts

    def spent(self) -> dict[str, float]:
        """Seconds in which the evaluator was busy, and seconds of the loop by activity."""
        return {"busy": self._pipeline.busy, **self._pipeline.spent()}

    def take(self) -> list[bytes]:
        """Games finished since the iteration last yielded some, for use after it was interrupted."""
        return [placed(record, self.openings) for record in self._pool.take_finished()]

    def stop(self) -> None:
        """Start no new games and finish those in progress. May be called from any thread."""
        self._stopping = True

    def add(self, numbers: Sequence[int]) -> None:
        """Play the games with these numbers too. Only for self-play whose games were all named by ``unfinished``, and
        only from the thread that iterates over it."""
        if not self._listed:
            raise ValueError("only self-play of listed games (games=len(unfinished)) can be given more of them")
        self._pool.add(list(numbers))

    @property
    def not_begun(self) -> int:
        """Number of games that have not begun yet."""
        return self._pool.not_begun

    def __iter__(self) -> Iterator[list[bytes]]:
        with self._alone:
            yield from self._play_native() if self._native else self._play()
            if left := self.take():  # games that ended in their opening, when there was nothing to search
                yield left

    def _play(self) -> Iterator[list[bytes]]:
        try:
            with self._pipeline:
                # What a device returns lies in memory of its own: the next batch may be written while it is read.
                renew = self._renew if self._source.overlaps else None
                while True:
                    for share in range(SHARES):
                        self._pipeline.refill(share, self._gather, renew=renew)
                    yield self.take()
                    if self._pipeline.idle and self._pool.idle:
                        return
        finally:  # finished games were yielded already; leaves in flight are cancelled
            self._pool.cancel()

    def _play_native(self) -> Iterator[list[bytes]]:
        while not self._pool.idle:
            for share in range(SHARES):
                self._gather(share)
            yield self.take()

    def _gather(self, share: int) -> _core.LeafBatch:
        if self._stopping:
            self._pool.stop()
        return self._pool.gather(share, self._source.arrays(share, self._rows))

    def _renew(self, share: int, batch: _core.LeafBatch, answer: Answer) -> _core.LeafBatch:
        if self._stopping:
            self._pool.stop()
        return self._pool.refill(batch, *answer, self._source.arrays(share, self._rows))
