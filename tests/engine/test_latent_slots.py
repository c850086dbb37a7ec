"""Slots of latent states: shared by all trees, given back, and without influence on what is found."""

from __future__ import annotations

import gc
import itertools
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify import _core
from ramify.engine import LatentOutput
from ramify.engine.latent_source import LatentSource
from tests.engine.hashed_model import HashedModel, Reference
from tests.engine.helpers import assert_same_result
from tests.engine.positions import walk
from tests.reference import muzero
from tests.reference.config import Config

SETTINGS: dict[str, Any] = {"c_puct": 1.25, "c_base": 19652.0, "discount": 0.997, "normalize": "minmax"}
CHUNK = 8  # slots that a search takes at once


def states(count: int = 5) -> list[rf.State]:
    return [walk("tictactoe", seed) for seed in range(count)]


def searcher_of(model: Any, seed: int = 0, **settings: Any) -> rf.Searcher:
    return rf.Searcher(model, config=rf.SearchConfig(**{"simulations": 60, **settings}), seed=seed)


def source_of(searcher: rf.Searcher) -> LatentSource:
    source = searcher._source
    assert isinstance(source, LatentSource)
    return source


# ---------- the search ----------


@pytest.mark.parametrize("acting", ["alternating", "single"])
@pytest.mark.parametrize("settings", [{}, SETTINGS])
def test_trees_that_begin_at_different_times_equal_the_transcription(acting: str, settings: dict[str, Any]) -> None:
    """Every tree visit for visit; a new one joins in each round, so that batches have roots and other rows."""
    model, roots = HashedModel(9, acting), states()
    source = LatentSource(model)
    config = rf.SearchConfig(**{"c_puct": 1.0, **settings})
    searches = [source.new_search(state, config) for state in roots]
    slow = [
        muzero.Search(
            state, Reference(HashedModel(9, acting)), Config(**settings, priors_from_logits=_core.softmax), acting
        )
        for state in roots
    ]
    for search in searches:
        search.begin(0)
    group = _core.Group(1)
    for number in range(40):
        begun = min(number + 1, len(roots))
        batch = group.gather(searches[:begun], 0, 1, [1] * begun, source.arrays(0, len(roots)))
        batch.absorb(*source.answer(0, batch.counts))
        for search, reference in zip(searches[:begun], slow, strict=False):
            reference.simulate()
            np.testing.assert_array_equal(search.report([])["edge_visits"], reference.visits)
            np.testing.assert_allclose(search.report([])["value"], reference.value, atol=1e-5)
    assert model.rows[1:3] == [("initial", 1), ("recurrent", 1)]  # a mixed batch is two calls
    assert model.rows[-1] == ("recurrent", len(roots))


@pytest.mark.parametrize("acting", ["alternating", "single", "both"])
@pytest.mark.parametrize(("batch", "threads"), [(1, 1), (4, 1), (4, 3)])
def test_many_searches_equal_separate_ones(acting: str, batch: int, threads: int) -> None:
    roots = [walk("goofspiel", seed) for seed in range(4)] if acting == "both" else states()
    model = HashedModel(roots[0].game.num_actions, acting)
    together = searcher_of(model, batch=batch, threads=threads).run_many(roots, seeds=range(len(roots)))
    for seed, (state, result) in enumerate(zip(roots, together, strict=True)):
        alone = searcher_of(model, seed, batch=batch).run(state)
        assert_same_result(result, alone, stats=False)


@pytest.mark.parametrize(("threads", "in_flight"), [(1, 1), (1, 3), (3, 1), (3, 2)])
def test_every_node_was_evaluated_from_its_own_latent_state(threads: int, in_flight: int) -> None:
    """Each evaluation is what the model says of the actions that lead there, whichever thread took the slot."""
    model, state = HashedModel(9), states()[0]
    searcher = searcher_of(model, simulations=400, batch=16, in_flight=in_flight, threads=threads, max_in_flight=0.5)
    searcher.run(state)
    search, player = searcher._search, state.acting[0]
    assert search is not None
    paths: list[tuple[list[tuple[int, int]], Any]] = [([], model.initial(state.observation(player)[None]))]
    checked = 0
    while paths:
        path, out = paths.pop()
        report, mover = search.report(path), (player + len(path)) % 2
        assert report["evaluation"][mover] == out.values[0]
        checked += 1
        for action, visits in zip(report["outcomes"][mover], report["edge_visits"].ravel(), strict=True):
            if visits:
                joint = (int(action), -1) if mover == 0 else (-1, int(action))
                paths.append(([*path, joint], model.recurrent(out.latents, np.array([action]))))
    assert checked == 400


def test_a_batch_may_have_answers_of_two_forms() -> None:
    class TwoForms(HashedModel):
        """Speaks of both players at roots, and of the acting player elsewhere."""

        def initial(self, observations: Any) -> LatentOutput:
            out = super().initial(observations)
            logits, values = np.asarray(out.logits), np.asarray(out.values)
            return LatentOutput(
                out.latents, np.stack([logits, logits], 1), np.stack([values, -values], 1).astype(np.float64)
            )

    state = rf.make("tictactoe").initial_state()
    found = []
    for model in (HashedModel(9), TwoForms(9)):
        source = LatentSource(model)
        searches = [source.new_search(state, rf.SearchConfig(c_puct=1.0)) for _ in range(2)]
        group = _core.Group(1)
        for search in searches:
            search.begin(0)
        for number in range(20):
            now = searches[: 1 + (number > 5)]
            batch = group.gather(now, 0, 1, [1] * len(now), source.arrays(0, 2))
            batch.absorb(*source.answer(0, batch.counts))
        found.append([search.report([])["edge_visits"].tolist() for search in searches])
    assert found[0] == found[1]


def test_a_model_has_its_say_in_the_settings_as_an_evaluator_has() -> None:
    class Careful(HashedModel):
        c_puct, backend = 2.5, "numpy"

    searcher = searcher_of(Careful(9))
    assert searcher.config.c_puct == 2.5
    assert searcher.run(states()[0]).stats["backend"] == "numpy"
    assert searcher_of(HashedModel(9)).config.c_puct == 1.0


def test_states_searched_together_must_look_alike() -> None:
    model = HashedModel(9)
    searcher = searcher_of(model)
    with pytest.raises(rf.InvalidInput, match="observations of one shape"):
        searcher.run_many([rf.make("tictactoe").initial_state(), rf.make("hex", size=3).initial_state()])
    for game in (rf.make("tictactoe"), rf.make("hex", size=3)):  # one after the other they may differ
        assert searcher.run(game.initial_state()).visits.sum() == 59


# ---------- kinds of latent states ----------


class Torch(HashedModel):
    """Latent states and answers are tensors; ``form`` says how."""

    def __init__(self, form: str, num_actions: int = 9, acting: str = "alternating") -> None:
        super().__init__(num_actions, acting)
        self.form = form
        if form in ("device", "overlapping"):
            self.input_device = "cpu"
        self.asynchronous = form == "overlapping"  # half of the trees are searched while the others are evaluated

    def _check(self, given: Any) -> None:
        import torch

        assert isinstance(given, torch.Tensor) == hasattr(self, "input_device")

    def initial(self, observations: Any) -> LatentOutput:
        self._check(observations)
        return self._tensors(super().initial(observations))

    def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
        import torch

        self._check(actions)
        assert isinstance(latents, torch.Tensor)
        return self._tensors(super().recurrent(latents.detach(), actions))

    def _tensors(self, out: LatentOutput) -> LatentOutput:
        import torch

        latents: Any = torch.from_numpy(np.asarray(out.latents))
        if self.form == "list":
            return LatentOutput(list(latents), out.logits, out.values, out.rewards)
        logits, values = torch.from_numpy(np.asarray(out.logits)), torch.from_numpy(np.asarray(out.values))
        rewards = None if out.rewards is None else torch.from_numpy(np.asarray(out.rewards))
        if self.form == "gradients":
            latents = latents.double().requires_grad_()
            logits, values = logits.requires_grad_(), values.requires_grad_()
        return LatentOutput(latents, logits.bfloat16() if self.form == "bfloat16" else logits, values, rewards)


@pytest.mark.parametrize("form", ["plain", "device", "overlapping", "list", "gradients"])
@pytest.mark.parametrize("acting", ["alternating", "single"])
def test_tensors_and_arrays_give_the_same(form: str, acting: str) -> None:
    pytest.importorskip("torch")
    expected = searcher_of(HashedModel(9, acting), batch=2).run_many(states())
    searcher = searcher_of(Torch(form, acting=acting), batch=2)
    for first, second in zip(searcher.run_many(states()), expected, strict=True):
        assert_same_result(first, second)
    assert source_of(searcher).latents.device.type == "cpu"
    needed, (kept, columns) = source_of(searcher).slots.capacity, source_of(searcher).latents.shape
    assert needed <= kept < 2 * needed  # grown by doubling
    assert columns == 2


def test_latent_states_stay_on_a_gpu() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")

    class Cuda(Torch):
        def __init__(self) -> None:
            super().__init__("device")
            self.input_device, self.asynchronous = "cuda", True

        def initial(self, observations: Any) -> LatentOutput:
            assert observations.is_cuda
            return self._moved(HashedModel.initial(self, observations.cpu()))

        def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
            assert latents.is_cuda
            assert actions.is_cuda
            return self._moved(HashedModel.recurrent(self, latents.cpu(), actions.cpu()))

        def _moved(self, out: LatentOutput) -> LatentOutput:
            arrays = (out.latents, out.logits, out.values, out.rewards)
            return LatentOutput(*(x if x is None else torch.from_numpy(np.ascontiguousarray(x)).cuda() for x in arrays))

    expected = searcher_of(HashedModel(9), batch=2).run_many(states())
    searcher = searcher_of(Cuda(), batch=2)
    for first, second in zip(searcher.run_many(states()), expected, strict=True):
        assert_same_result(first, second)
    assert source_of(searcher).latents.device.type == "cuda"


def test_logits_may_be_bfloat16() -> None:
    pytest.importorskip("torch")

    class Rounded(HashedModel):
        """The same logits as numbers: bfloat16 has the upper half of the bits, rounded to nearest."""

        def _output(self, latents: Any, rewards: Any) -> LatentOutput:
            import torch

            out = super()._output(latents, rewards)
            logits = torch.from_numpy(np.asarray(out.logits)).bfloat16().float().numpy()
            return LatentOutput(out.latents, logits, out.values, out.rewards)

    for acting in ("alternating", "single"):  # of one player read as they are, and expanded
        expected = searcher_of(Rounded(9, acting)).run_many(states())
        for first, second in zip(
            searcher_of(Torch("bfloat16", acting=acting)).run_many(states()), expected, strict=True
        ):
            assert_same_result(first, second)


def test_whole_numbers_in_sixteen_bits_are_numbers() -> None:
    class Whole(HashedModel):
        def _output(self, latents: Any, rewards: Any) -> LatentOutput:
            out = super()._output(latents, rewards)
            logits = np.round(3 * (np.asarray(out.logits) + 2))
            return LatentOutput(out.latents, logits.astype(self.kind), out.values, out.rewards)

        kind: Any = np.float32

    expected = searcher_of(Whole(9)).run(states()[0])
    model = Whole(9)
    model.kind = np.uint16
    assert_same_result(searcher_of(model).run(states()[0]), expected)


def test_objects_may_be_latent_states() -> None:
    class Objects(HashedModel):
        def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
            return super().recurrent(np.array([dict(one)["latent"] for one in latents]), actions)

        def _output(self, latents: Any, rewards: Any) -> LatentOutput:
            out = super()._output(latents, rewards)
            return LatentOutput([{"latent": one} for one in latents], out.logits, out.values, out.rewards)

    expected = searcher_of(HashedModel(9), batch=3).run_many(states())
    for first, second in zip(searcher_of(Objects(9), batch=3).run_many(states()), expected, strict=True):
        assert_same_result(first, second)


class Shapes(HashedModel):
    """Latent states of another kind below the root."""

    change: Any = staticmethod(lambda latents: latents)

    def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
        out = super().recurrent(latents, actions)
        return LatentOutput(self.change(np.asarray(out.latents)), out.logits, out.values, out.rewards)


def test_latent_states_may_become_wider_numbers() -> None:
    class Narrow(Shapes):
        def initial(self, observations: Any) -> LatentOutput:
            out = super().initial(observations)
            return LatentOutput(np.asarray(out.latents).astype(np.int32), out.logits, out.values)

    state = rf.make("tictactoe").initial_state()
    assert_same_result(searcher_of(Narrow(9)).run(state), searcher_of(HashedModel(9)).run(state))


def test_latent_states_have_one_shape() -> None:
    model = Shapes(9)
    model.change = lambda latents: latents[:, :1]
    with pytest.raises(rf.EvaluatorError, match=r"one shape: \[1\] after \[2\] before"):
        searcher_of(model).run(states()[0])


# ---------- what is taken is given back ----------


@pytest.mark.core
def test_slots_are_shared_and_given_back() -> None:
    slots = _core.Slots()
    assert (slots.capacity, slots.held) == (0, 0)
    settings = rf.SearchConfig(c_puct=1.0).model_dump()
    searches = [_core.make_latent_search(4, "alternating", 1, [], [], settings, slots) for _ in range(3)]
    for search in searches:
        search.begin(0)
    seen: list[int] = []
    for _ in range(10):
        seen += [slot for search in searches for slot in collect(search, 1)]
    assert sorted(seen) == sorted(set(seen))  # nobody shares one
    assert max(seen) < slots.capacity == 3 * 2 * CHUNK == slots.held
    del searches[-1], search
    gc.collect()
    assert slots.held == 2 * 2 * CHUNK
    searches[0].release_slots()
    assert slots.held == 2 * CHUNK
    assert searches[0].report([])["visits"] == 10  # still there to look at
    with pytest.raises(RuntimeError, match="cannot go on"):
        collect(searches[0], 1)
    fresh = _core.make_latent_search(4, "alternating", 1, [], [], settings, slots)
    fresh.begin(0)
    assert set(collect(fresh, 1)) < set(seen)  # used again
    assert slots.capacity == 3 * 2 * CHUNK
    del searches, fresh
    gc.collect()
    assert slots.held == 0


def collect(search: _core.Search, leaves: int, absorb: bool = True) -> list[int]:
    """Collects leaves and has them absorbed; returns their slots."""
    arrays = {
        "acting": np.zeros((leaves, 2), np.uint8),
        "parents": np.zeros(leaves, np.int32),
        "actions": np.zeros((leaves, 2), np.int32),
        "slots": np.zeros(leaves, np.int32),
    }
    batch = _core.Group(1).gather([search], 0, leaves, [leaves], arrays)
    rows = len(batch)
    if absorb:
        zeros = np.zeros((rows, 2), np.float32)
        batch.absorb(np.zeros((rows, 2, 4), np.float32), zeros, zeros)
    return arrays["slots"][:rows].tolist()


@pytest.mark.core
@pytest.mark.parametrize("threads", [1, 3])
def test_cancelled_leaves_give_their_slots_back(threads: int) -> None:
    slots = _core.Slots()
    settings = rf.SearchConfig(c_puct=1.0, threads=threads, max_in_flight=1.0).model_dump()
    search = _core.make_latent_search(4, "alternating", 1, [], [], settings, slots)
    search.begin(0)
    for _ in range(20):
        collect(search, 4)
    nodes, capacity = search.stats["nodes"], slots.capacity
    for _ in range(100):
        collect(search, 4, absorb=False)
        search.cancel()
    assert slots.capacity <= capacity + CHUNK  # not four more in every round
    assert search.stats["nodes"] >= nodes
    taken = list(itertools.chain.from_iterable(collect(search, 4) for _ in range(20)))
    assert len(set(taken)) == len(taken)


@pytest.mark.core
def test_many_threads_take_and_give() -> None:
    slots = _core.Slots()
    settings = rf.SearchConfig(c_puct=1.0).model_dump()
    group = _core.Group(4)
    for _ in range(5):
        searches = [_core.make_latent_search(4, "alternating", 1, [], [], settings, slots) for _ in range(32)]
        for search in searches:
            search.begin(0)
        group.run_native(searches, 0, 0, [50] * 32, 1e9)
        assert slots.held == slots.capacity == 32 * 7 * CHUNK
        assert all(search.stats["nodes"] == 50 for search in searches)
        del searches, search
        gc.collect()
        assert slots.held == 0


def test_moves_without_end_need_no_more_slots() -> None:
    searcher = searcher_of(HashedModel(9), simulations=30)
    source, results, needed = source_of(searcher), [], []
    for seed in range(12):
        results.append(searcher.run(walk("tictactoe", seed)))  # results keep their searches alive
        results += searcher.run_many(states(2))
        needed.append(source.slots.capacity)
    assert needed[0] == needed[-1] == 64
    searcher.reset()
    assert source.slots.held == 0
    assert results[0].visits.sum() == 29


def test_a_searcher_that_ends_gives_everything_back() -> None:
    searcher = searcher_of(HashedModel(9))
    slots = source_of(searcher).slots
    searcher.run(states()[0])
    assert slots.held >= 60
    del searcher
    gc.collect()
    assert slots.held == 0


def test_a_model_that_fails_loses_no_slots() -> None:
    class Failing(HashedModel):
        left = 10

        def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
            self.left -= 1
            if self.left < 0:
                raise ArithmeticError("overflow")
            return super().recurrent(latents, actions)

    model = Failing(9)
    searcher = searcher_of(model, batch=4)
    slots = source_of(searcher).slots
    for _ in range(20):
        with pytest.raises(ArithmeticError):
            searcher.run(states()[0])
        with pytest.raises(ArithmeticError):
            searcher.run_many(states(3))
    before = slots.capacity
    model.left = 10**9
    assert_same_result(searcher.run(states()[0]), searcher_of(HashedModel(9), batch=4).run(states()[0]), stats=False)
    assert slots.capacity <= max(before, 64 + CHUNK)
