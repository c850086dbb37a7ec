"""Several processes that train one network: the same steps as one process, but for rounding."""

from __future__ import annotations

import pytest
import torch

import ramify as rf
from ramify.networks.blocks import BatchRenorm, renormalized
from ramify.training import Learner, LossConfig, OptimizerConfig, train
from ramify.training.learner import ParallelLearner
from ramify.training.parallel import rows_that_count
from tests.training.helpers import losses, tiny
from tests.training.test_learner import CPU, batch_of


@pytest.mark.parametrize(
    "name", [pytest.param("hex", marks=pytest.mark.slow), "pyrat", pytest.param("boards", marks=pytest.mark.slow)]
)
def test_two_processes_learn_what_one_does(name):
    """With batch normalisation (renormalisation, where a run has several boards), masked losses, clipping and averaged
    weights; judged without the other process."""
    if name == "hex":
        game, heads = rf.make("hex", size=3), ["wdl", "ownership"]
        network = {"kind": "resnet", "blocks": 1, "channels": 8, "heads": heads}
    else:
        game, heads = rf.make("pyrat", width=3, height=3, cheese=3, max_turns=10), ["cheese", "final_score", "payoffs"]
        network = {"kind": "resnet", "blocks": 1, "channels": 8, "heads": heads}
    batches = batch_of(game, heads=heads)
    for batch in batches:
        batch.policies[:5] = 0  # rows without a policy target, most of them in the first part
    module = rf.networks.make(game, network)
    if name == "boards":
        for part in renormalized(module).modules():
            if isinstance(part, BatchRenorm):
                part.num_batches_tracked += 1000  # outputs are corrected to the running statistics
    arguments = (module, OptimizerConfig(clip=0.5), LossConfig(nash=0.1), CPU)
    one, two = Learner(*arguments), ParallelLearner(*arguments, processes=2)
    try:
        for number, batch in enumerate(batches[:6]):
            alone, together = one.learn(batch, number / 6), two.learn(batch, number / 6)
            assert alone.keys() == together.keys()
            for key, value in alone.items():
                assert float(together[key]) == pytest.approx(float(value), rel=2e-3, abs=2e-5), (number, key)
        expected, found = one.judge(batches[-1]), two.judge(batches[-1])
        assert found == pytest.approx(expected, rel=1e-2, abs=1e-3)
        for key, tensor in one.playing.state_dict().items():
            torch.testing.assert_close(two.playing.state_dict()[key], tensor, rtol=1e-2, atol=1e-3)
    finally:
        two.close()
    evaluator = rf.evaluators.Network(two.playing)  # its normalisation is folded like any other
    assert rf.search(game.initial_state(), evaluator, simulations=10).visits.sum() > 0


@pytest.mark.slow
def test_a_run_with_two_learners_goes_on_after_a_stop(tmp_path):
    both = {"loop__learners": 2, "loop__iterations": 2}
    train(tiny(**both), tmp_path / "two")
    train(tiny(**{**both, "loop__iterations": 3}), tmp_path / "two")
    train(tiny(), tmp_path / "one")
    assert losses(tmp_path / "two")[0] == pytest.approx(losses(tmp_path / "one")[0], rel=1e-4)


def test_parts_have_to_be_equal():
    with pytest.raises(ValueError, match="learners=3 must divide batch=16"):
        tiny(loop__learners=3)


def test_rows_are_counted_in_one_process():
    assert rows_that_count(torch.tensor([True, False, True])) == 2
    assert rows_that_count(torch.tensor([False])) == 1
