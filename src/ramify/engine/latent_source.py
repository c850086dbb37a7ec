"""A latent model as a source of evaluations: whole batches, with the latent states of all trees in one array."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify import _core
from ramify.engine.batch import Arrays, LatentModel, per_player
from ramify.engine.config import SearchConfig
from ramify.engine.latent_steps import Inputs, Outputs, Steps
from ramify.engine.latents import Latents, from_bits, loaded_torch, to_device, to_host
from ramify.games import Game, State, number_of_players
from ramify.games.chance import refuse_learned_model

Found = tuple[NDArray[Any], NDArray[np.float32], NDArray[np.float32]]  # logits, values, rewards


@dataclass(frozen=True)
class Part:
    """Rows of a batch that went into one call of the model, with functions that return what came out."""

    rows: Any  # a slice, or the numbers of the rows
    acting: NDArray[np.bool_]
    moved: NDArray[np.bool_]  # who acted on the way here
    logits: Callable[[], Any]
    values: Callable[[], Any]
    rewards: Callable[[], Any]


class Started:
    """A batch that the model is evaluating."""

    def __init__(self, wait: Callable[[], Outputs]) -> None:
        self._wait = wait

    def result(self) -> Outputs:
        return self._wait()


class LatentSource:
    """Rows are roots, which the model encodes, or pairs of a latent state and the actions taken there."""

    def __init__(self, model: LatentModel, observation_shape: Sequence[int] = ()) -> None:
        if model.acting not in ("alternating", "single", "both"):
            raise ValueError(
                f"a latent model's attribute acting must be 'alternating', 'single' or 'both', not {model.acting!r}"
            )
        self.model = model
        self.num_actions = int(model.num_actions)
        self.name = type(model).__name__
        self.slots = _core.Slots()
        self.latents = Latents()
        self._zero_sum = model.acting != "single"
        device = getattr(model, "input_device", None)
        self._device = None if device is None else loaded_torch().device(device)
        self.overlaps = bool(getattr(model, "asynchronous", False))
        self.concurrent = False  # the latents of all lanes are in one tensor
        self._steps = Steps(model, self.latents) if getattr(model, "capturable", False) else None
        self._shape = tuple(observation_shape)  # of the states that are searched, otherwise of the latest one
        self._arrays: dict[int, Arrays] = {}
        self._made: dict[int, tuple[Any, ...]] = {}  # by lane: shape of an observation, and whether in pinned memory
        self._inputs: dict[int, Inputs] = {}  # by lane, for steps: the block in which some of its arrays lie

    def core(self) -> dict[str, Any]:
        """The model as the compiled pool sees it."""
        return {"num_actions": self.num_actions, "acting": self.model.acting, "slots": self.slots}

    def new_search(self, state: State, config: SearchConfig) -> _core.Search:
        self.check_game(getattr(state, "game", None))
        legal = [state.legal_actions(player).tolist() if player in state.acting else [] for player in (0, 1)]
        acting = sum(1 << player for player in state.acting)
        seen = np.ascontiguousarray(state.observation(0 if 0 in state.acting else 1), np.float32)
        self._shape = seen.shape
        return _core.make_latent_search(
            self.num_actions, self.model.acting, acting, legal[0], legal[1], config.model_dump(), self.slots, seen
        )

    def check_game(self, game: Game | None) -> None:
        """Raise a ValueError for a game that the model cannot be one of; None: nothing is known of it."""
        if game is None:
            return
        refuse_learned_model(game)
        if number_of_players(game) == 1 and self.model.acting != "single":
            raise ValueError(f"{game.name} is a game of one player: the model's acting cannot be {self.model.acting!r}")

    def begin(self, states: Sequence[State]) -> None:
        pass  # searches bring their observations with them, and their latent states have slots of their own

    def follow_weights(self) -> None:
        pass  # latent states have no keys: nothing is cached

    def arrays(self, lane: int, rows: int) -> Arrays:
        arrays, wanted = self._arrays.get(lane), (self._shape, self._pinned())
        if arrays is None or len(arrays["acting"]) < rows or self._made[lane] != wanted:
            self._arrays[lane] = arrays = self._new_arrays(rows)
            self._made[lane] = wanted
            if self._steps is not None:
                self._inputs[lane] = block = Inputs(rows, self._pinned())
                arrays.update(parents=block.parents, slots=block.slots, actions=block.actions)
        return arrays

    def _new_arrays(self, rows: int) -> Arrays:
        arrays: Arrays = {
            "observations": np.zeros((rows, *self._shape), np.float32),
            "acting": np.zeros((rows, 2), np.uint8),
            "parents": np.zeros(rows, np.int32),
            "actions": np.zeros((rows, 2), np.int32),
            "slots": np.zeros(rows, np.int32),
        }
        if self._pinned():  # copies to the GPU need not be waited for
            arrays = {name: loaded_torch().from_numpy(array).pin_memory().numpy() for name, array in arrays.items()}
        return arrays

    def _pinned(self) -> bool:
        device = self._device if self._device is not None else self.latents.device
        return device is not None and device.type == "cuda"

    def start(self, lane: int, rows: int) -> Started | None:
        return Started(self._submit(lane, rows)) if self.overlaps else None

    def answer(self, lane: int, counts: Sequence[int]) -> Outputs:
        return self._submit(lane, sum(counts))()

    def _submit(self, lane: int, rows: int) -> Callable[[], Outputs]:
        """Start the evaluation of a lane's first rows; the result waits for it, and until then its arrays must stay."""
        arrays = self._arrays[lane]
        roots = arrays["parents"][:rows] < 0
        count = int(np.count_nonzero(roots))
        if self._steps is not None and not count:
            wait = self._steps.start(lane, self._inputs[lane], slice(0, rows), rows, self.slots.capacity)
            return lambda: self._read(arrays, rows, wait)
        if count in (0, rows):
            parts = [self._encode(arrays, slice(0, rows)) if count else self._advance(lane, slice(0, rows))]
        else:
            parts = [self._encode(arrays, np.flatnonzero(roots)), self._advance(lane, np.flatnonzero(~roots))]
        return lambda: self._joined(parts, rows)

    def _encode(self, arrays: Arrays, rows: Any) -> Part:
        return self._part(arrays, rows, self.model.initial(self._input(arrays["observations"][rows])))

    def _advance(self, lane: int, rows: Any) -> Part:
        arrays = self._arrays[lane]
        if self._steps is not None:
            count = len(arrays["parents"][rows])
            return self._stepped(
                arrays, rows, self._steps.start(lane, self._inputs[lane], rows, count, self.slots.capacity)
            )
        parents, actions = arrays["parents"][rows], arrays["actions"][rows]
        taken = actions if self.model.acting == "both" else np.maximum(actions[:, 0], actions[:, 1])
        return self._part(arrays, rows, self.model.recurrent(self.latents.take(parents), self._input(taken)))

    def _stepped(self, arrays: Arrays, rows: Any, wait: Callable[[], Outputs]) -> Part:
        once = functools.cache(wait)
        acting, moved = arrays["acting"][rows].view(np.bool_), arrays["actions"][rows] >= 0
        return Part(rows, acting, moved, lambda: once()[0], lambda: once()[1], lambda: once()[2])

    def _read(self, arrays: Arrays, rows: int, wait: Callable[[], Outputs]) -> Outputs:
        found = wait()
        if self._fitting(found, rows):
            return found
        return self._joined([self._stepped(arrays, slice(0, rows), lambda: found)], rows)

    def _fitting(self, found: Outputs, rows: int) -> bool:
        """Whether the core reads what a step found as it is."""
        logits, values, rewards = found
        alternating = self.model.acting == "alternating"
        for players in ((), (2,)):
            if values.shape == (rows, *players) and logits.shape == (rows, *players, self.num_actions):
                paid = rewards is None or rewards.shape == (rows, 2) or (alternating and rewards.shape == (rows,))
                return paid and (bool(players) or alternating)
        return False

    def _part(self, arrays: Arrays, rows: Any, output: Any) -> Part:
        """What one call of the model found; its latent states are kept at once."""
        check_output(output)
        actions = arrays["actions"][rows]
        self.latents.put(arrays["slots"][rows], output.latents, self.slots.capacity)
        return Part(
            rows,
            arrays["acting"][rows].view(np.bool_),
            actions >= 0,
            to_host(output.logits, "logits", half=True),
            to_host(output.values, "values"),
            to_host(output.rewards, "rewards"),
        )

    def _input(self, array: NDArray[Any]) -> Any:
        if self._device is None:
            return array
        if self._device.type == "cuda":
            return loaded_torch().from_numpy(array).pin_memory().to(self._device, non_blocking=True)
        return to_device(array, self._device)

    def _joined(self, parts: list[Part], rows: int) -> Found:
        found = [self._per_row(part) for part in parts]
        if len(found) == 1:
            return found[0]
        if len({(array.dtype, array.shape[1:]) for array, _, _ in found}) > 1:
            found = [self._per_row(part, expand=True) for part in parts]
        logits, values, rewards = (np.empty((rows, *array.shape[1:]), array.dtype) for array in found[0])
        for part, answer in zip(parts, found, strict=True):
            logits[part.rows], values[part.rows], rewards[part.rows] = answer
        return logits, values, rewards

    def _per_row(self, part: Part, expand: bool = False) -> Found:
        """A part's answer as the core reads it; ``expand``: logits and values of both players in any case."""
        n, logits, values, rewards = len(part.acting), part.logits(), part.values(), part.rewards()
        if rewards is None:
            rewards = np.zeros((n, 2), np.float32)
        rewards = per_player(rewards, n, part.moved, what="rewards", actions=None, zero_sum=self._zero_sum)
        if not expand and self._fits(logits, values, part.acting):
            return np.ascontiguousarray(logits), np.ascontiguousarray(values), rewards
        acting, numbers = part.acting, from_bits(logits)
        logits = per_player(numbers, n, acting, what="logits", actions=self.num_actions, zero_sum=self._zero_sum)
        values = per_player(values, n, acting, what="values", actions=None, zero_sum=self._zero_sum)
        return logits, values, rewards

    def _fits(self, logits: Any, values: Any, acting: NDArray[np.bool_]) -> bool:
        """Whether the core reads these arrays as they are: of both players, or of the one who acts."""
        if not isinstance(logits, np.ndarray) or logits.dtype not in (np.float32, np.uint16):
            return False
        if not isinstance(values, np.ndarray) or values.dtype != np.float32:
            return False
        n = len(acting)
        if values.shape == (n, 2):
            return bool(logits.shape == (n, 2, self.num_actions))
        if values.shape != (n,) or logits.shape != (n, self.num_actions) or not self._zero_sum:
            return False
        return not bool((acting[:, 0] & acting[:, 1]).any())


def check_output(output: Any) -> None:
    """Raise an EvaluatorError unless a model's answer has all parts of a LatentOutput."""
    if not all(hasattr(output, name) for name in ("latents", "logits", "values", "rewards")):
        raise _core.EvaluatorError(f"the model must return a LatentOutput, not {type(output).__name__}")
