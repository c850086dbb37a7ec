"""On a CPU every call is single-threaded, several run at once, and the threads of everybody else stay as they are."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
import pytest
import torch

import ramify as rf
from ramify.engine.batch import batch_of
from ramify.evaluators import Network, Onnx
from tests.evaluators.helpers import some_states
from tests.networks.helpers import net


@pytest.fixture
def three_threads() -> Iterator[None]:
    """As somebody who trains with three threads has it."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def in_new_thread() -> int:
    """Threads of torch in a thread that has not used it yet."""
    found = []
    thread = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    return found[0]


class Watching(torch.nn.Module):
    """Counts its calls and what threads torch would use in them; ``meeting``: calls wait for each other."""

    def __init__(self, parties: int = 1) -> None:
        super().__init__()
        self.meeting, self.parties = None, parties
        self.seen: list[tuple[int, int]] = []

    def __deepcopy__(self, memo: object) -> Watching:
        return self

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if self.parties > 1:
            self.meeting = self.meeting or threading.Barrier(self.parties, timeout=30)
            self.meeting.wait()
        self.seen.append((torch.get_num_threads(), len(x)))
        return torch.zeros(len(x), 25), torch.zeros(len(x))


def rows(count: int) -> rf.Batch:
    return batch_of(some_states(rf.make("hex", size=5), count))


@pytest.mark.usefixtures("three_threads")
@pytest.mark.parametrize("threads", [1, 2])
def test_an_evaluator_leaves_the_threads_of_others_alone(threads: int) -> None:
    module = Watching()
    Network(module, "cpu", threads=threads).evaluate(rows(40))
    assert (torch.get_num_threads(), in_new_thread()) == (3, 3)
    assert {seen for seen, _ in module.seen} == {1}  # and its own calls are single-threaded
    rf.search(rf.make("hex", size=5).initial_state(), Network(net("hex", "1x8"), "cpu"), simulations=8)
    assert (torch.get_num_threads(), in_new_thread()) == (3, 3)


@pytest.mark.usefixtures("three_threads")
def test_threads_share_a_batch() -> None:
    """Two calls wait for each other inside the network: they are under way at once."""
    module = Watching()
    evaluator = Network(module, "cpu", threads=2)
    module.parties = 2
    evaluator.evaluate(rows(45))
    assert sorted(module.seen) == [(1, 22), (1, 23)]
    module.seen.clear()
    module.parties = 1
    evaluator.evaluate(rows(20))  # too few to gain from it
    assert module.seen == [(1, 20)]


@pytest.mark.usefixtures("three_threads")
def test_a_split_batch_is_its_parts() -> None:
    """Bit for bit, again and again: where a batch is split depends on its rows and ``threads`` alone."""
    module, batch = net("hex", "2x8"), rows(70)
    two, one = Network(module, "cpu", threads=2), Network(module, "cpu")
    halves = [
        one.evaluate(rf.Batch(*(array[part] for array in vars(batch).values()))) for part in (slice(35), slice(35, 70))
    ]
    for _ in range(5):
        found = two.evaluate(batch)
        np.testing.assert_array_equal(found.logits, np.concatenate([half.logits for half in halves]))
        np.testing.assert_array_equal(found.values, np.concatenate([half.values for half in halves]))


@pytest.mark.usefixtures("three_threads")
def test_callers_in_several_threads_do_not_wait_for_each_other() -> None:
    module = Watching()
    evaluator, batch = Network(module, "cpu"), rows(2)
    module.parties = 3
    callers = [threading.Thread(target=evaluator.evaluate, args=(batch,)) for _ in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert module.seen == [(1, 2)] * 3


@pytest.mark.skipif(find_spec("onnxruntime") is None or find_spec("onnxscript") is None, reason="needs onnxruntime")
def test_onnx_gives_the_same_with_any_number_of_threads() -> None:
    """Calls of one thread each, of 32 rows, of which several run at once."""
    module, batch = net("hex", "1x8"), rows(100)
    content = rf.networks.onnx_bytes(module)
    evaluators = [Onnx(content, threads=threads) for threads in (1, 2, 3)]
    first, *others = [evaluator.evaluate(batch) for evaluator in evaluators]
    for other in others:
        np.testing.assert_array_equal(other.logits, first.logits)
        np.testing.assert_array_equal(other.values, first.values)
    options = evaluators[-1].session((3, 5, 5)).get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)
    alone = Onnx(content).evaluate(rf.Batch(*(array[64:96] for array in vars(batch).values())))
    np.testing.assert_array_equal(alone.logits, first.logits[64:96])
