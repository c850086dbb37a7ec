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
from ramify.training.config import TargetConfig, WindowConfig
from ramify.training.samples import Samples


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
        self._parts: list[dict[str, Tensor]] = []  # as they were added, oldest first
        self._window: dict[str, Tensor] | None = None  # all of them as one, until something is added
        self._cumulated: NDArray[np.float64] = np.zeros(0)
        self._games: NDArray[np.int64] = np.zeros(0, np.int64)
        self._surprise = torch.zeros(0)
        self._symmetries = Symmetries(game, device) if targets.augment else None

    def __len__(self) -> int:
        return sum(len(part["games"]) for part in self._parts)

    def add(self, samples: Samples, total: int | None = None) -> None:
        """Append positions and drop those that leave the window. ``total``: positions recorded so far."""
        self.total = self.total + len(samples) if total is None else total
        self.append(samples)
        self.trim(self.window.positions(self.total))

    def append(self, samples: Samples) -> None:
        """Append positions, whatever the size of the window."""
        if len(samples):
            self._parts.append({name: torch.from_numpy(array).to(self.device) for name, array in vars(samples).items()})
            self._window = None

    def trim(self, size: int, oldest: int = 0) -> None:
        """Drop positions of games numbered below ``oldest``, and the first positions beyond ``size``."""
        if oldest > 0:
            before = len(self)
            self._parts = [part for part in (_from_game(part, oldest) for part in self._parts) if len(part["games"])]
            if len(self) != before:
                self._window = None
        while (surplus := len(self) - max(0, size)) > 0:
            self.drop(surplus)

    @property
    def first_game(self) -> int:
        """The number of the game of the first position."""
        return int(self._parts[0]["games"][0])

    def drop(self, count: int) -> None:
        """Drop the first positions, at most ``count`` of them and only of those that were added first."""
        first = self._parts.pop(0)
        if len(first["games"]) > count:
            self._parts.insert(0, {name: tensor[count:] for name, tensor in first.items()})
        self._window = None

    def _whole(self) -> dict[str, Tensor]:
        """The window as one batch with sampling weights; rebuilt only after a change."""
        if self._window is None:
            self._window = joined(self._parts)
            self._games = self._window.pop("games").cpu().numpy()
            self._surprise = self._window.pop("surprise")
            surprise = self._surprise.cpu().numpy().astype(np.float64)
            relative = surprise / surprise.mean() if surprise.any() else np.ones_like(surprise)
            self._cumulated = np.cumsum(1 - self.targets.surprise + self.targets.surprise * relative)
        return self._window

    @property
    def games(self) -> NDArray[np.int64]:
        """The game number of each position in the window."""
        self._whole()
        return self._games

    def draw(self, rows: int, key: tuple[int, ...]) -> TrainingBatch:
        """Sample ``count`` rows, determined by the key and the window."""
        self._whole()
        rng = np.random.default_rng(key)
        places = np.searchsorted(self._cumulated, rng.random(rows) * self._cumulated[-1], side="right")
        places = np.minimum(places, len(self._cumulated) - 1)
        return self._rows(places, None if self._symmetries is None else rng.integers(len(self._symmetries), size=rows))

    def newest(self, rows: int) -> TrainingBatch:
        """The positions added last, without augmentation."""
        self._whole()
        return self._rows(np.arange(max(0, len(self._games) - rows), len(self._games)), None)

    def _rows(self, places: NDArray[Any], which: NDArray[Any] | None) -> TrainingBatch:
        index = torch.from_numpy(places).to(self.device)
        found = {name: tensor[index] for name, tensor in self._whole().items()}
        if which is not None and self._symmetries is not None:
            found = self._symmetries.turned(found, torch.from_numpy(which).to(self.device))
        return TrainingBatch(**found)


def _from_game(part: dict[str, Tensor], oldest: int) -> dict[str, Tensor]:
    """The rows of games numbered from ``oldest`` on."""
    kept = part["games"] >= oldest
    return part if bool(kept.all()) else {name: tensor[kept] for name, tensor in part.items()}


def joined(parts: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The rows of all parts. Where some have outcomes of several actions, the groups of the others are written out."""
    wide = max(part["groups"].shape[2] for part in parts)
    parts = [part if part["groups"].shape[2] == wide else {**part, "groups": _single(part, wide)} for part in parts]
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}


def _single(part: dict[str, Tensor], actions: int) -> Tensor:
    """Groups in which every action stands for itself."""
    old = part["groups"]
    return torch.arange(actions, dtype=old.dtype, device=old.device).expand(*old.shape[:2], actions)


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
