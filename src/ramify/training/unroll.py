"""The replay window of learned models: batches are pieces of games, along which the model is unrolled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ramify.games import Game
from ramify.training.config import TargetConfig, UnrollConfig, WindowConfig
from ramify.training.replay import Replay

LEAST_PRIORITY = 1e-3  # of positions whose value was known


@dataclass(frozen=True)
class UnrollBatch:
    """Pieces of games on the device: B positions and K actions from each. Players are in the order of the model's
    outputs. Positions after the end of a game are absorbing: values and rewards are 0, and any action leads to them."""

    observations: Tensor  # [B, *shape]: of the first positions
    following: Tensor  # [B, K, *shape]: of those after each action; [B, 0, *shape] unless they are wanted
    actions: Tensor  # [B, K, players]
    rewards: Tensor  # [B, K, players]: of the players who act
    values: Tensor  # [B, K + 1, players]
    policies: Tensor  # [B, K + 1, players, num_actions]; zeros without a target
    legal: Tensor  # [B, K + 1, players, num_actions]; nothing after the end
    groups: Tensor  # as in Samples, [B * (K + 1), players, num_actions]; empty where no two actions are the same
    known: Tensor  # [B, K + 1]: whether value and reward are known; not from the cut of a game on
    real: Tensor  # [B, K + 1]: whether this is a position of the game
    weights: Tensor  # [B]: against the bias of priorities


class UnrollReplay(Replay):
    """A window over the latest games of one game; see ``Replay``."""

    def __init__(
        self,
        game: Game,
        window: WindowConfig,
        targets: TargetConfig,
        device: torch.device,
        unroll: UnrollConfig,
        discount: float,
        observe: bool = False,
    ) -> None:
        super().__init__(game, window, targets, device)
        self.unroll, self.discount, self.observe = unroll, discount, observe
        self._importance = self._plain = np.zeros(0)  # weights of losses, and of sampling without priorities

    def _whole(self) -> dict[str, Tensor]:
        if self._window is None:
            window = super()._whole()
            self._plain = np.diff(self._cumulated, prepend=0.0)
            self._refresh(window)
        assert self._window is not None
        return self._window

    def _refresh(self, window: dict[str, Tensor]) -> None:
        """Compute value targets, and weights of sampling, from what searches and games say."""
        window["targets"] = self._targets(window)
        weights = self._plain
        self._importance = np.ones_like(weights)
        if self.unroll.priority:
            weights = weights * self._priorities(window)
            self._importance = self._plain * weights.sum() / (weights * self._plain.sum())
        self._cumulated = np.cumsum(weights)

    def _targets(self, window: dict[str, Tensor]) -> Tensor:
        """Value targets of both players, [n, 2]."""
        steps, returns = self.unroll.n_step, window["returns"]
        if steps is None:
            return returns
        rewards, left, count = window["rewards"], window["left"], len(returns)
        after = torch.where(window["roots"].isnan(), returns, window["roots"])
        found = torch.zeros_like(returns)
        for step in range(min(steps, count)):
            found[: count - step] += self.discount**step * rewards[step:]
        if steps < count:
            found[: count - steps] += self.discount**steps * after[steps:]
        return torch.where((left > steps).unsqueeze(1), found, returns)  # near the end the rest of the game is known

    def _priorities(self, window: dict[str, Tensor]) -> NDArray[np.float64]:
        """How often positions are sampled by the error of the search's values, relative to others."""
        errors = (window["targets"] - window["roots"]).abs()
        viewers = window["viewers"].long().unsqueeze(1)
        found = errors.gather(1, viewers).squeeze(1).double().cpu().numpy()
        usual = float(np.nanmean(found)) if np.isfinite(found).any() else 1.0
        priorities: NDArray[np.float64] = np.where(np.isnan(found), usual, found) + LEAST_PRIORITY
        return priorities**self.unroll.priority

    def draw(self, rows: int, key: tuple[int, ...]) -> UnrollBatch:  # type: ignore[override]
        """Sample pieces of games, determined by the key and the window."""
        self._whole()
        rng = np.random.default_rng(key)
        places = np.searchsorted(self._cumulated, rng.random(rows) * self._cumulated[-1], side="right")
        places = np.minimum(places, len(self._cumulated) - 1)
        which = None if self._symmetries is None else rng.integers(len(self._symmetries), size=rows)
        return self._pieces(places, which, rng)

    def newest(self, rows: int) -> UnrollBatch:  # type: ignore[override]
        """Pieces that begin at the positions added last, without augmentation."""
        self._whole()
        places = np.arange(max(0, len(self) - rows), len(self))
        return self._pieces(places, None, np.random.default_rng(len(self)))

    def _pieces(self, places: NDArray[Any], which: NDArray[Any] | None, rng: np.random.Generator) -> UnrollBatch:
        """The pieces from these places on, with the symmetries of these numbers."""
        window, steps = self._whole(), self.unroll.steps
        first = self._there(places)
        ahead = torch.arange(steps + 1, device=self.device)
        real = ahead < window["left"][first].unsqueeze(1)
        at = (first.unsqueeze(1) + ahead).clamp(max=len(self) - 1)
        known = real | window["ended"][first].unsqueeze(1)
        values = self._viewed(window["targets"], window, at) * real.unsqueeze(2)
        rewards = self._viewed(window["rewards"], window, at)[:, :-1] * real[:, :-1].unsqueeze(2)
        policies, legal = window["policies"][at], window["legal"][at]
        policies = policies * real[:, :, None, None]
        legal = legal & real[:, :, None, None]
        actions = window["actions"][at[:, :-1]].long()
        any_action = rng.integers(self.game.num_actions, size=tuple(actions.shape))
        actions = torch.where(real[:, :-1].unsqueeze(2), actions, self._there(any_action))
        following = window["observations"][at[:, 1:] if self.observe else at[:, :0]]
        batch = UnrollBatch(
            observations=window["observations"][first],
            following=following,
            actions=actions,
            rewards=rewards,
            values=values,
            policies=policies,
            legal=legal,
            groups=window["groups"][at].flatten(0, 1),
            known=known,
            real=real,
            weights=self._there(self._importance[places].astype(np.float32)),
        )
        return batch if which is None else self._turned(batch, self._there(which))

    def _viewed(self, both: Tensor, window: dict[str, Tensor], at: Tensor) -> Tensor:
        """Numbers [n, 2] of player 0 and 1 at these places, in the order of the model's outputs: [..., players]."""
        found = both[at]
        if window["actions"].shape[1] == 2:
            return found
        return found.gather(2, window["viewers"][at].long().unsqueeze(2))

    def _turned(self, batch: UnrollBatch, which: Tensor) -> UnrollBatch:
        """Each piece transformed by the symmetry of that index, from its first position to its last."""
        maps = self._symmetries
        assert maps is not None
        cells, places, images = maps.observation[which], maps.inverse[which], maps.actions[which]
        inverse = places[:, None, None, :].expand_as(batch.policies)
        seen, following, groups = batch.observations, batch.following, batch.groups
        later = cells.unsqueeze(1).expand(*following.shape[:2], -1)
        if groups.shape[2]:
            old = groups.view(*batch.policies.shape).gather(3, inverse).long()
            turned = images[:, None, None, :].expand_as(old).gather(3, old)
            groups = turned.flatten(0, 1).to(groups.dtype)
        return UnrollBatch(
            observations=seen.flatten(1).gather(1, cells).view_as(seen),
            following=following.flatten(2).gather(2, later).view_as(following) if following.numel() else following,
            actions=images.unsqueeze(1).expand(*batch.actions.shape[:2], -1).gather(2, batch.actions),
            rewards=batch.rewards,
            values=batch.values,
            policies=batch.policies.gather(3, inverse),
            legal=batch.legal.gather(3, inverse),
            groups=groups,
            known=batch.known,
            real=batch.real,
            weights=batch.weights,
        )

    # Reanalyse.

    def searched(self, places: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """What was seen and legal at these places of the window, and who acted."""
        window, index = self._whole(), torch.from_numpy(places).to(self.device)
        return {name: window[name][index].cpu().numpy() for name in ("observations", "legal", "viewers")}

    def renew(self, places: NDArray[Any], policies: NDArray[np.float32], roots: NDArray[np.float32]) -> None:
        """Replace the policy targets and the search's values at these places."""
        window, index = self._whole(), torch.from_numpy(places).to(self.device)
        fresh = torch.from_numpy(policies).to(self.device)
        if window["groups"].shape[2]:  # what other actions with the same effect have belongs to the one that stands
            fresh = torch.zeros_like(fresh).scatter_add(2, window["groups"][index].long(), fresh)
        window["policies"][index] = fresh
        window["roots"][index] = torch.from_numpy(roots).to(self.device)
        self._refresh(window)
