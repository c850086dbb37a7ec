"""A latent model made of whole numbers: its answers are the same in any batch, as numpy arrays and as tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ramify.engine import LatentOutput

PRIME = 2_147_483_647


class HashedModel:
    """A latent state is (number, depth); ``per_player`` models give logits, values and rewards of both players."""

    def __init__(self, num_actions: int, acting: str = "alternating", per_player: bool = False) -> None:
        self.num_actions, self.acting, self.per_player = num_actions, acting, per_player or acting == "both"
        self.rows: list[tuple[str, int]] = []  # of every call

    def initial(self, observations: Any) -> LatentOutput:
        self.rows.append(("initial", len(observations)))
        seen = np.asarray(observations).reshape(len(observations), -1)
        numbers = (seen * 1024).astype(np.int64) @ np.arange(3, 3 + seen.shape[1], dtype=np.int64) ** 3
        return self._output(np.stack([numbers % PRIME, np.zeros_like(numbers)], axis=1), None)

    def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
        self.rows.append(("recurrent", len(actions)))
        latents, actions = np.asarray(latents), np.asarray(actions).astype(np.int64)
        taken = actions if actions.ndim == 1 else 31 * actions[:, 0] + actions[:, 1]
        numbers = (latents[:, 0] * 48_271 + taken * 7_919 + 12_345) % PRIME
        return self._output(np.stack([numbers, latents[:, 1] + 1], axis=1), self._numbers(numbers, 1, 5)[..., 0] / 4)

    def _numbers(self, numbers: Any, columns: int, salt: int) -> Any:
        """Numbers from -1 to 1, [rows, 2, columns]."""
        factors = np.arange(1, 2 * columns + 1, dtype=np.int64) * 16_807 + salt
        mixed = (numbers[:, None] * factors) % 1_009
        return (mixed.astype(np.float32) / np.float32(504.5) - 1).reshape(len(numbers), 2, columns)

    def _output(self, latents: Any, rewards: Any) -> LatentOutput:
        logits = 2 * self._numbers(latents[:, 0], self.num_actions, 7)
        values = self._numbers(latents[:, 0], 1, 11)[..., 0]
        if self.per_player:
            return LatentOutput(latents, logits, values, rewards)
        return LatentOutput(latents, logits[:, 0], values[:, 0], None if rewards is None else rewards[:, 0])


class Reference:
    """The same model as tests/reference/muzero.py calls one."""

    def __init__(self, model: HashedModel) -> None:
        self.model = model

    def initial(self, observations: Any) -> tuple[Any, ...]:
        out = self.model.initial(observations)
        return out.latents, out.logits, out.values

    def recurrent(self, latents: Any, actions: Any) -> tuple[Any, ...]:
        out = self.model.recurrent(np.asarray(latents), actions)
        return out.latents, out.rewards, out.logits, out.values
