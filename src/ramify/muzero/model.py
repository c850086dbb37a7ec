"""Networks as the search takes them, and the latent states of one tree."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ramify.engine.batch import LatentModel, LatentOutput
from ramify.engine.latents import Latents, is_tensor, to_device
from ramify.engine.result import ActionOrPair

Floats = NDArray[np.float32]


class MuZeroNetwork(Protocol):
    """A network that is asked about one state at a time. Arrays may be numpy's or torch's, hidden states anything.

    Logits, values and rewards must be finite: an action that the network thinks impossible has a very low logit, such
    as -1e9, and not -inf.

    Where both players act at once, an action is a pair (a0, a1), the policy logits are those of both players, of shape
    [2, n], and a value or a reward is a pair of numbers, of player 0 and player 1.
    """

    def initial_inference(self, observation: Any) -> tuple[Any, Any, Any]:
        """(hidden state, policy logits, value) of what is observed; the value is that of the player to move."""
        ...

    def recurrent_inference(self, hidden_state: Any, action: Any) -> tuple[Any, Any]:
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
        hint = "; a network of two players who act at once needs MCTSConfig(acting='both')" if shape[0] == 2 else ""
        raise ValueError(f"{what} must be one row, of shape [n] or [1, n], not {shape}{hint}")
    return logits.reshape(-1)


def as_pair(given: Any, what: str) -> list[Any]:
    """What belongs to player 0 and what to player 1, from a list, an array or a tensor; of shape [1, 2, ...], too."""
    if getattr(given, "ndim", 0) > 1 and len(given) == 1:
        given = given[0]
    parts = list(given) if isinstance(given, tuple | list) or getattr(given, "ndim", 0) > 0 else []
    if len(parts) != 2:
        raise ValueError(
            f"{what} must be a pair, one of each player, where both players act at once, not {reprlib.repr(given)}"
        )
    return parts


def as_policies(policy: Any, what: str, acting: str) -> Floats:
    """Policy logits of the player to move, [n], or of both players where they act at once, [2, n]."""
    if acting != "both":
        return as_logits(policy, what)
    rows = [as_logits(row, f"{what} for player {player}") for player, row in enumerate(as_pair(policy, what))]
    if len(rows[0]) != len(rows[1]):
        raise ValueError(f"{what} must be of as many actions for both players, not {len(rows[0])} and {len(rows[1])}")
    return np.stack(rows)


def as_values(given: Any, acting: str) -> Floats:
    """A value or a reward: one number, or one of each player where both act at once."""
    if acting != "both":
        return np.asarray(as_number(given), np.float32)
    return np.array([as_number(number) for number in as_pair(given, "values and rewards")], np.float32)


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
        what = LOGITS_OF.format("initial_inference")
        policies = [as_policies(policy, what, self.acting) for _, policy, _ in found]
        return self._output([hidden for hidden, _, _ in found], policies, [value for _, _, value in found], None)

    def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
        moved = [
            answered(self.network.recurrent_inference, latent, as_action(action), returns=RECURRENT)
            for latent, action in zip(latents, actions, strict=True)
        ]
        answers = [answered(self.network.prediction, hidden, returns=PREDICTION) for hidden, _ in moved]
        policies = [self._predicted(policy) for policy, _ in answers]
        rewards = np.array([as_values(reward, self.acting) for _, reward in moved], np.float32)
        return self._output([hidden for hidden, _ in moved], policies, [value for _, value in answers], rewards)

    def _predicted(self, policy: Any) -> Floats:
        logits = as_policies(policy, LOGITS_OF.format("prediction"), self.acting)
        if (count := logits.shape[-1]) != self.num_actions:
            actions = "1 action" if count == 1 else f"{count} actions"
            raise ValueError(
                f"prediction gave logits of {actions}, but {self._counted_by} gave {self.num_actions} at the root"
            )
        return logits

    def _output(
        self, hidden: list[Any], policies: list[Floats], values: list[Any], rewards: Floats | None
    ) -> LatentOutput:
        numbers = np.array([as_values(value, self.acting) for value in values], np.float32)
        return LatentOutput(hidden_rows(hidden), np.stack(policies), numbers, rewards)


def as_action(taken: Any) -> ActionOrPair:
    """An action as a whole number, or a pair of them where both players act at once."""
    return int(taken) if np.ndim(taken) == 0 else (int(taken[0]), int(taken[1]))


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
        self._children: dict[tuple[int, ActionOrPair], int] = {}

    def initial(self, observations: Any) -> LatentOutput:
        del observations  # the root was evaluated before the search
        return self._kept(self._root, [0.0] * len(self._root.logits))

    def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
        taken = as_inputs(self.model, np.asarray(actions, np.int32))
        found = self.model.recurrent(self._latents.take(np.asarray(latents, np.int32)), taken)
        first = len(self._rewards)
        for number, (parent, action) in enumerate(zip(latents, actions, strict=True)):
            self._children[int(parent), as_action(action)] = first + number
        rewards = as_numbers(np.zeros(len(actions)) if found.rewards is None else found.rewards)
        return self._kept(found, rewards.tolist())

    def _kept(self, found: LatentOutput, rewards: list[Any]) -> LatentOutput:
        first = len(self._rewards)
        self._rewards += rewards
        rows = np.arange(first, len(self._rewards), dtype=np.int32)
        self._latents.put(rows, found.latents, len(self._rewards))
        return LatentOutput(cast(Any, rows), found.logits, found.values, found.rewards)

    def row(self, actions: Sequence[ActionOrPair]) -> int | None:
        """The row of the state that these actions lead to; None if the search never went there."""
        row: int | None = 0
        for action in actions:
            row = None if row is None else self._children.get((row, action))
        return row

    def hidden_state(self, row: int) -> Any:
        return self._latents.take(np.array([row], np.int32))[0]

    def rewards(self, row: int, mover: int) -> tuple[float, float]:
        """The rewards of both players on the way into a state; a model may give that of the player who moved alone."""
        paid = self._rewards[row]
        if isinstance(paid, list):
            return float(paid[0]), float(paid[1])
        other = 0.0 - paid if self.acting == "alternating" else 0.0
        return (paid, other) if mover == 0 else (other, paid)

    def turn(self, player: int | None) -> int | None:
        """The player to move after this one, and before; None where both act at once."""
        return 1 - player if self.acting == "alternating" and player is not None else player
