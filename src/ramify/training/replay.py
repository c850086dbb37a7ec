"""The replay window: the positions from which training batches are sampled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ramify.evaluators.symmetries import distinct
from ramify.games import Game
from ramify.training.compact import AnySamples, CompactSamples
from ramify.training.config import TargetConfig, WindowConfig
from ramify.training.rows import Rows, Sparse

FACTS = ("games", "surprise")  # of rows: by these they are dropped and sampled, on the CPU


@dataclass(frozen=True)
class TrainingBatch:
    """The rows of one training step, on the device; see Samples."""

    observations: Tensor
    policies: Tensor
    legal: Tensor
    values: Tensor
    draws: Tensor
    scores: Tensor
    owners: Tensor
    groups: Tensor
    cheese: Tensor
    final_scores: Tensor
    payoffs: Tensor
    pair_visits: Tensor
    collected: Tensor


class Replay:
    """A window over the latest positions of one game, on the device that trains.

    Rows are sampled with replacement, as a function of a key: the same window and the same key give the same batch.
    """

    def __init__(self, game: Game, window: WindowConfig, targets: TargetConfig, device: torch.device) -> None:
        self.game, self.window, self.targets, self.device = game, window, targets, device
        self.total = 0  # positions ever added
        self._rows, self._facts = Rows(device), Rows(torch.device("cpu"))  # facts: game numbers and surprise
        self._window: dict[str, Tensor] | None = None  # all rows, until something changes
        self._cumulated: NDArray[np.float64] = np.zeros(0)
        self._symmetries = Symmetries(game, device) if targets.augment else None

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, samples: AnySamples, total: int | None = None) -> None:
        """Append positions and drop those that leave the window. ``total``: positions recorded so far."""
        self.total = self.total + len(samples) if total is None else total
        self.append(samples)
        self.drop(len(self) - self.window.positions(self.total))

    def append(self, samples: AnySamples) -> None:
        """Append positions, whatever the size of the window."""
        if not len(samples):
            return
        columns: dict[str, Tensor | Sparse]
        if isinstance(samples, CompactSamples):
            columns = samples.columns(self.device)
        else:
            columns = {name: torch.from_numpy(array) for name, array in vars(samples).items()}
        self._facts.append({name: columns.pop(name) for name in FACTS})
        if len(self):
            columns = self._alike(columns)
        self._rows.append(columns)
        self._window = None

    def _alike(self, columns: dict[str, Tensor | Sparse]) -> dict[str, Tensor | Sparse]:
        """The columns with groups as wide as those in the window. Where only some have outcomes of several actions, the
        groups of the others are written out."""
        old, new = self._rows["groups"], columns["groups"]
        if old.shape[2] < new.shape[2]:
            self._rows.replace({**self._rows.columns(), "groups": _single(old, new.shape[2])})
        if isinstance(new, Sparse) or new.shape[2] >= old.shape[2]:
            return columns
        return {**columns, "groups": _single(new, old.shape[2])}

    def drop(self, count: int) -> None:
        """Drop the first positions."""
        if count > 0:
            self._rows.drop(count)
            self._facts.drop(count)
            self._window = None

    def drop_games_before(self, number: int) -> None:
        """Drop the positions of games with lower numbers."""
        if len(self) and not (kept := self._facts["games"] >= number).all():
            self._rows.keep(kept)
            self._facts.keep(kept)
            self._window = None

    def _whole(self) -> dict[str, Tensor]:
        """The window as one batch with sampling weights; prepared again only after a change."""
        if self._window is None:
            self._window = self._rows.columns()
            surprise = self._facts["surprise"].numpy().astype(np.float64)
            relative = surprise / surprise.mean() if surprise.any() else np.ones_like(surprise)
            self._cumulated = np.cumsum(1 - self.targets.surprise + self.targets.surprise * relative)
        return self._window

    @property
    def games(self) -> NDArray[np.int64]:
        """The game number of each position in the window; valid until the window changes."""
        return self._facts["games"].numpy() if len(self) else np.zeros(0, np.int64)

    def draw(self, rows: int, key: tuple[int, ...]) -> TrainingBatch:
        """Sample ``count`` rows, determined by the key and the window."""
        self._whole()
        rng = np.random.default_rng(key)
        places = np.searchsorted(self._cumulated, rng.random(rows) * self._cumulated[-1], side="right")
        places = np.minimum(places, len(self._cumulated) - 1)
        return self._batch(places, None if self._symmetries is None else rng.integers(len(self._symmetries), size=rows))

    def newest(self, rows: int) -> TrainingBatch:
        """The positions added last, without augmentation."""
        self._whole()
        return self._batch(np.arange(max(0, len(self) - rows), len(self)), None)

    def _there(self, array: NDArray[Any]) -> Tensor:
        """An array on the device. From pinned memory it is copied without waiting for what the device still does."""
        tensor, on_gpu = torch.from_numpy(array), self.device.type == "cuda"
        return (tensor.pin_memory() if on_gpu else tensor).to(self.device, non_blocking=on_gpu)

    def _batch(self, places: NDArray[Any], which: NDArray[Any] | None) -> TrainingBatch:
        index = self._there(places)
        found = {name: tensor[index] for name, tensor in self._whole().items()}
        if which is not None and self._symmetries is not None:
            found = self._symmetries.turned(found, self._there(which))
        return TrainingBatch(**found)


def _single(groups: Tensor, actions: int) -> Tensor:
    """Groups in which every action stands for itself, in place of none."""
    return torch.arange(actions, dtype=groups.dtype, device=groups.device).expand(*groups.shape[:2], actions)


class Symmetries:
    """A game's symmetries as index tensors."""

    def __init__(self, game: Game, device: torch.device) -> None:
        maps = distinct(game)
        observation = np.stack([symmetry.observation for symmetry in maps]).astype(np.int64)
        self.observation = torch.from_numpy(observation).to(device)
        actions = np.stack([symmetry.actions for symmetry in maps]).astype(np.int64)
        self.actions = torch.from_numpy(actions).to(device)
        self.inverse = torch.from_numpy(np.argsort(actions, axis=1)).to(device)

    def __len__(self) -> int:
        return len(self.observation)

    def turned(self, rows: dict[str, Tensor], which: Tensor) -> dict[str, Tensor]:
        """Each row transformed by the symmetry of that index."""
        shape, cells = rows["observations"].shape, self.observation[which]
        places = self.inverse[which]  # the action from which each action comes
        inverse = places.unsqueeze(1).expand_as(rows["policies"])
        result = {
            **rows,
            "observations": rows["observations"].flatten(1).gather(1, cells).view(shape),
            "policies": rows["policies"].gather(2, inverse),
            "legal": rows["legal"].gather(2, inverse),
        }
        for name in ("owners", "cheese"):  # lie as the first plane does
            if count := rows[name].shape[1]:
                result[name] = rows[name].gather(1, cells[:, :count])
        if rows["groups"].shape[2]:
            old = rows["groups"].gather(2, inverse).long()
            result["groups"] = self.actions[which].unsqueeze(1).expand_as(old).gather(2, old).to(rows["groups"].dtype)
        if rows["pair_visits"].shape[1]:
            result["pair_visits"] = _pairs(rows["pair_visits"].unsqueeze(1), places).squeeze(1)
            result["payoffs"] = _pairs(rows["payoffs"], places)
        return result


def _pairs(matrices: Tensor, places: Tensor) -> Tensor:
    """Matrices [B, n, A, A] with rows and columns taken from these places [B, A]."""
    rows = matrices.gather(2, places[:, None, :, None].expand_as(matrices))
    return rows.gather(3, places[:, None, None, :].expand_as(matrices))
