"""Networks as the search takes them, and the latent states of one tree."""

from __future__ import annotations

import reprlib
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ramify.engine.batch import LatentModel, LatentOutput
from ramify.engine.latents import Latents, is_tensor, to_device

Floats = NDArray[np.float32]


class MuZeroNetwork(Protocol):
    """A network that is asked about one state at a time. Arrays may be numpy's or torch's, hidden states anything.

    Logits, values and rewards must be finite: an action that the network thinks impossible has a very low logit, such
    as -1e9, and not -inf.
    """

    def initial_inference(self, observation: Any) -> tuple[Any, Any, Any]:
        """(hidden state, policy logits, value) of what is observed; the value is that of the player to move."""
        ...

    def recurrent_inference(self, hidden_state: Any, action: int) -> tuple[Any, Any]:
        """(next hidden state, reward) of an action; the reward is that of the player who takes it."""
        ...

    def prediction(self, state: Any) -> tuple[Any, Any]:
        """(policy logits, value) of a hidden state; the value is that of the player to move there."""
        ...


def as_numbers(given: Any) -> Floats:
    """A network's output as float32."""
    return np.asarray(given.detach().float().cpu().numpy() if is_tensor(given) else given, np.float32)


def as_number(given: Any) -> float:
    """A network's output as one number."""
    if given is None:
        raise ValueError("values and rewards must be single numbers, not None")
    number = as_numbers(given)
    if number.size != 1:
        raise ValueError(f"values and rewards must be single numbers, not arrays of shape {list(number.shape)}")
    return float(number.reshape(()))


def as_logits(policy: Any, what: str = "the policy logits") -> Floats:
    """A policy as one row of logits; ``what`` names it in the ValueError that is raised for anything else."""
    try:
        logits = None if policy is None else as_numbers(policy)
    except (TypeError, ValueError):
        logits = None
    if logits is None or not logits.ndim:
        raise ValueError(f"{what} must be an array of numbers, not {reprlib.repr(policy)}")
    return cast(Floats, as_row(logits, what))


def as_row(logits: Any, what: str = "the policy logits") -> Any:
    """Logits of shape [n] or [1, n], an array or a tensor, as [n]."""
    shape = list(logits.shape)
    if len(shape) != 1 and (len(shape) != 2 or shape[0] != 1):
        raise ValueError(f"{what} must be one row, of shape [n] or [1, n], not {shape}")
    return logits.reshape(-1)


def as_inputs(model: Any, array: NDArray[Any]) -> Any:
    """Observations or actions as a latent model takes them: a tensor on its ``input_device``, if it has one."""
    device = getattr(model, "input_device", None)
    return array if device is None else to_device(array, device)


def answered(function: Any, *inputs: Any, returns: tuple[str, ...]) -> tuple[Any, ...]:
    """What a function of a network returns; a ValueError names what is missing if it is not that many things."""
    found = function(*inputs)
    if not isinstance(found, tuple | list) or len(found) != len(returns):
        got = f"{len(found)} values" if isinstance(found, tuple | list) else type(found).__name__
        raise ValueError(f"{function.__name__} must return ({', '.join(returns)}), not {got}")
    return tuple(found)


INITIAL = ("hidden state", "policy logits", "value")
RECURRENT = ("next hidden state", "reward")
PREDICTION = ("policy logits", "value")
LOGITS_OF = "the policy logits of {}"


class OneByOne:
    """A network with the three functions of ``MuZeroNetwork`` as a latent model, row by row.

    ``counted_by`` is what gave ``num_actions`` logits at the root, for error messages.
    """

    def __init__(self, network: MuZeroNetwork, num_actions: int, acting: str, counted_by: str) -> None:
        self.network, self.num_actions, self.acting = network, num_actions, acting
        self._counted_by = counted_by

    def initial(self, observations: Any) -> LatentOutput:
        found = [answered(self.network.initial_inference, row, returns=INITIAL) for row in observations]
        policies = [as_logits(policy, LOGITS_OF.format("initial_inference")) for _, policy, _ in found]
        return self._output([hidden for hidden, _, _ in found], policies, [value for _, _, value in found], None)

    def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
        moved = [
            answered(self.network.recurrent_inference, latent, int(action), returns=RECURRENT)
            for latent, action in zip(latents, actions, strict=True)
        ]
        answers = [answered(self.network.prediction, hidden, returns=PREDICTION) for hidden, _ in moved]
        policies = [self._predicted(policy) for policy, _ in answers]
        rewards = np.array([as_number(reward) for _, reward in moved], np.float32)
        return self._output([hidden for hidden, _ in moved], policies, [value for _, value in answers], rewards)

    def _predicted(self, policy: Any) -> Floats:
        logits = as_logits(policy, LOGITS_OF.format("prediction"))
        if (count := len(logits)) != self.num_actions:
            actions = "1 action" if count == 1 else f"{count} actions"
            raise ValueError(
                f"prediction gave logits of {actions}, but {self._counted_by} gave {self.num_actions} at the root"
            )
        return logits

    def _output(
        self, hidden: list[Any], policies: list[Floats], values: list[Any], rewards: Floats | None
    ) -> LatentOutput:
        numbers = np.array([as_number(value) for value in values], np.float32)
        return LatentOutput(hidden_rows(hidden), np.stack(policies), numbers, rewards)


def hidden_rows(hidden: list[Any]) -> Any:
    """Hidden states as rows: of tensors and arrays one array, of anything else an array of objects."""
    if is_tensor(hidden[0]) or isinstance(hidden[0], np.ndarray):
        return hidden
    boxes = np.empty(len(hidden), object)
    boxes[:] = hidden
    return boxes


class Tree:
    """A latent model whose latent states can be found again by the actions that lead to them, for one search.

    The engine sees numbers of rows in place of latent states. The latent states themselves are rows of one array of the
    model's own type, on its device.
    """

    def __init__(self, model: LatentModel, root: LatentOutput) -> None:
        self.model, self.num_actions, self.acting = model, model.num_actions, model.acting
        self._root, self._latents = root, Latents()
        self._rewards: list[Any] = []
        self._children: dict[tuple[int, int], int] = {}

    def initial(self, observations: Any) -> LatentOutput:
        del observations  # the root was evaluated before the search
        return self._kept(self._root, [0.0] * len(self._root.logits))

    def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
        taken = as_inputs(self.model, np.asarray(actions, np.int32))
        found = self.model.recurrent(self._latents.take(np.asarray(latents, np.int32)), taken)
        first = len(self._rewards)
        for number, (parent, action) in enumerate(zip(latents, actions, strict=True)):
            self._children[int(parent), int(action)] = first + number
        rewards = as_numbers(np.zeros(len(actions)) if found.rewards is None else found.rewards)
        return self._kept(found, rewards.tolist())

    def _kept(self, found: LatentOutput, rewards: list[Any]) -> LatentOutput:
        first = len(self._rewards)
        self._rewards += rewards
        rows = np.arange(first, len(self._rewards), dtype=np.int32)
        self._latents.put(rows, found.latents, len(self._rewards))
        return LatentOutput(cast(Any, rows), found.logits, found.values, found.rewards)

    def row(self, actions: list[int]) -> int | None:
        """The row of the state that these actions lead to; None if the search never went there."""
        row: int | None = 0
        for action in actions:
            row = None if row is None else self._children.get((row, action))
        return row

    def hidden_state(self, row: int) -> Any:
        return self._latents.take(np.array([row], np.int32))[0]

    def reward(self, row: int, mover: int) -> float:
        """The reward on the way into a state, of the player who moved."""
        paid = self._rewards[row]
        return float(paid[mover] if isinstance(paid, list) else paid)
