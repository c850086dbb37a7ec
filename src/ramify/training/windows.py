"""The replay window of a run over all its boards: stages of its curriculum, and variants."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ramify.games import Game
from ramify.training.compact import AnySamples
from ramify.training.config import TargetConfig, WindowConfig
from ramify.training.replay import Replay, TrainingBatch


class StagedReplay:
    """The latest positions of a run, by stage: boards of several sizes cannot be in one batch.

    The size of the window is that of all together; the positions of the games with the lowest numbers leave it first.
    """

    def __init__(
        self,
        games: Sequence[Game],
        window: WindowConfig,
        targets: TargetConfig,
        device: torch.device,
        games_per_iteration: int,
        replay_of: Callable[[Game], Replay] | None = None,
    ) -> None:
        """``replay_of``: makes the window of one board; by default a plain Replay."""
        self.window, self.games_per_iteration = window, games_per_iteration
        replay_of = replay_of or (lambda game: Replay(game, window, targets, device))
        self.stages = [replay_of(game) for game in games]
        self.total = 0  # positions ever added
        self._newest = len(self.stages) - 1  # the stage added to last

    def __len__(self) -> int:
        return sum(map(len, self.stages))

    def add(self, samples: AnySamples, total: int | None = None, stage: int = -1) -> None:
        """Append positions of a stage and drop those that leave the window. ``total``: positions recorded so far."""
        self.total = self.total + len(samples) if total is None else total
        if len(samples):
            self._newest = stage % len(self.stages)
            self.stages[stage].append(samples)
        if oldest := self.oldest(int(samples.games.max())) if len(samples) else 0:
            for replay in self.stages:
                replay.drop_games_before(oldest)
        self._drop(len(self) - self.window.positions(self.total))

    def _drop(self, count: int) -> None:
        """Drop so many positions, of the games with the lowest numbers."""
        filled = [replay for replay in self.stages if len(replay)]
        if count <= 0 or not filled:
            return
        last = filled[0]  # of which a part of a game is dropped
        if len(filled) > 1:
            kept = np.partition(np.concatenate([replay.games for replay in filled]), count)[count]
            last = next(replay for replay in filled if (replay.games == kept).any())
            for replay in filled:
                earlier = int((replay.games < kept).sum())
                replay.drop(earlier)
                count -= earlier
        last.drop(count)

    def oldest(self, game: int) -> int:
        """The first game in the window once this one is in it, if the window is limited to some iterations."""
        if self.window.last_iterations is None:
            return 0
        return max(0, (game // self.games_per_iteration + 1 - self.window.last_iterations) * self.games_per_iteration)

    @property
    def shares(self) -> NDArray[np.float64]:
        """The share of each stage or variant in the window."""
        return np.array([len(replay) for replay in self.stages], np.float64) / max(len(self), 1)

    @property
    def mean_age(self) -> float:
        """Mean age of the positions in the window, in games since the newest."""
        games = np.concatenate([replay.games for replay in self.stages if len(replay)])
        return float((games.max() - games).mean())  # games do not come in the order of their numbers

    def newest(self, rows: int) -> TrainingBatch:
        """The positions added last, of one stage, without augmentation."""
        return self.stages[self._newest].newest(rows)
