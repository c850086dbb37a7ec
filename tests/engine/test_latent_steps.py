"""Steps of a latent model from slots to slots: the same as separate calls for selecting, evaluating and keeping."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.engine import LatentOutput
from ramify.engine.latent_source import LatentSource
from tests.engine.positions import walk

torch = pytest.importorskip("torch")


class Mixing:
    """Made of torch operations alone: latent states are mixed with the actions taken by fixed random weights."""

    def __init__(self, acting: str, device: str, *, capturable: bool) -> None:
        self.num_actions, self.acting, self.capturable = 9, acting, capturable
        self.input_device, self.asynchronous = device, device == "cuda"
        self.rows: set[int] = set()
        generator = torch.Generator().manual_seed(3)
        self.mix, self.moves, self.heads = (
            torch.randn(shape, generator=generator).to(device) for shape in ((8, 8), (9, 8), (8, 11))
        )

    def output(self, latents: Any) -> LatentOutput:
        found = torch.tanh(latents @ self.heads)
        both = self.acting == "both"
        logits, values = 3 * found[:, :9], found[:, 9]
        if both:
            logits, values = torch.stack([logits, logits.flip(1)], 1), torch.stack([values, -values], 1)
        return LatentOutput(latents, logits, values, values / 2 if both else found[:, 10])

    def initial(self, observations: Any) -> LatentOutput:
        return self.output(torch.tanh(observations.flatten(1)[:, :8] + 0.5))

    def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
        self.rows.add(len(latents))
        taken = self.moves[actions.long()] if actions.ndim == 1 else self.moves[actions.long()].sum(1)
        return self.output(torch.tanh(latents @ self.mix + taken))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("acting", ["alternating", "both"])
def test_steps_from_slots_to_slots_equal_separate_calls(acting: str, device: str) -> None:
    """Batches have roots and other rows, sizes that are padded, and more slots than there were at first."""
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs CUDA")
    roots = [walk("goofspiel" if acting == "both" else "tictactoe", seed) for seed in range(5)]
    found = []
    for capturable in (False, True):
        model = Mixing(acting, device, capturable=capturable)
        searcher = rf.Searcher(model, config=rf.SearchConfig(simulations=150, batch=3, in_flight=2))
        found.append(searcher.run_many(roots, seeds=range(5)) + searcher.run_many(roots[:2], seeds=range(2)))
        assert all(rows & (rows - 1) == 0 for rows in model.rows) == capturable
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one.visits, other.visits)
        np.testing.assert_allclose(one.value, other.value, atol=1e-5)


def test_latent_states_of_another_shape_are_refused() -> None:
    class Growing(Mixing):
        def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
            out = super().recurrent(latents, actions)
            return LatentOutput(torch.cat([out.latents, out.latents], 1), out.logits, out.values, out.rewards)

    searcher = rf.Searcher(Growing("alternating", "cpu", capturable=True), config=rf.SearchConfig(simulations=5))
    with pytest.raises(rf.EvaluatorError, match=r"latent states of shape \[1, 8\], not \[1, 16\]"):
        searcher.run(walk("tictactoe", 0))


def test_every_array_of_a_batch_grows_with_its_rows() -> None:
    """Those of a step are padded to powers of two, so that they have room where the others have none."""
    source = LatentSource(Mixing("alternating", "cpu", capturable=True), (3, 3))
    for rows in (5, 7, 9):
        assert min(len(array) for array in source.arrays(0, rows).values()) >= rows
