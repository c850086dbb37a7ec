"""MuZero's search: an interface to ``ramify.Searcher`` over a learned model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ramify.engine import Searcher
from ramify.engine.batch import LatentModel, LatentOutput
from ramify.engine.latent_source import check_output
from ramify.engine.policies import tempered
from ramify.engine.seen import SeenPosition
from ramify.muzero.config import MCTSConfig
from ramify.muzero.model import OneByOne, Tree, as_number, as_numbers, hidden_rows
from ramify.muzero.node import Node, RootNode

LEAST = 1e-30  # priors of 0 have a logit, too


class MCTS:
    """Searches a learned model: the rules say what is legal at the root, and nothing else.

    ``network``: any object with ``initial_inference``, ``recurrent_inference`` and ``prediction`` (see
    ``MuZeroNetwork``), or a latent model with ``initial`` and ``recurrent`` over batches. ``seed`` is that of the root
    noise; None draws one.
    """

    def __init__(self, network: Any, config: MCTSConfig | None = None, *, seed: int | None = None) -> None:
        self.network = network
        self.config = config if config is not None else MCTSConfig()
        self._rng = np.random.default_rng(seed)
        self._root: RootNode | None = None

    @property
    def nodes(self) -> Mapping[tuple[int, ...], Node]:
        """The visited nodes of the latest search, by the actions that lead to them."""
        return {} if self._root is None else dict(self._root.walk())

    def run(
        self, root: RootNode, observation: Any, legal_actions: Sequence[int]
    ) -> tuple[tuple[int, ...], list[float]]:
        """Search from ``root``; returns the actions and the share of visits of each.

        A root with a hidden state is searched from there, otherwise from what ``observation`` is encoded to. Children
        of the root have their priors; a root without children gets those of the network. Afterwards the root and all
        nodes below it can be read, and not changed.
        """
        actions = _checked_actions(root, legal_actions)
        evaluated = self._evaluate(root, observation)
        model = self._model(evaluated)
        tree = Tree(model, _with_priors(evaluated, root))
        searcher = Searcher(tree, config=self.config.search(), seed=int(self._rng.integers(2**63)))
        player = root.to_play or 0
        result = searcher.run(SeenPosition(np.zeros(1), [player], [actions]))  # type: ignore[arg-type]
        root._bind(result, tree, [], player, int(result.visits.sum()) + 1)
        root._grow()
        self._root = root
        counts = [child.visit_count for child in root.children.values()]
        return tuple(root.children), [count / sum(counts) for count in counts]

    def _evaluate(self, root: RootNode, observation: Any) -> LatentOutput:
        """Latent state, logits and value of the root."""
        hidden, network = root.hidden_state, self.network
        if hasattr(network, "initial_inference"):
            if hidden is None:
                hidden, logits, value = network.initial_inference(observation)
            else:
                logits, value = network.prediction(hidden)
            return LatentOutput(
                hidden_rows([hidden]), as_numbers(logits).reshape(1, -1), np.array([as_number(value)], np.float32)
            )
        if hidden is not None:
            raise ValueError(
                "a latent model encodes its roots itself: give RootNode(0) without a hidden state, or a network with "
                "initial_inference, recurrent_inference and prediction"
            )
        if not hasattr(network, "recurrent"):
            raise TypeError(
                "network must have initial_inference, recurrent_inference and prediction, or initial and recurrent; "
                f"{type(network).__name__} has neither"
            )
        return _encoded(network, observation)

    def _model(self, evaluated: LatentOutput) -> LatentModel:
        if hasattr(self.network, "initial_inference"):
            return OneByOne(self.network, np.shape(evaluated.logits)[-1], self.config.acting)
        return cast(LatentModel, self.network)


def _encoded(model: Any, observation: Any) -> LatentOutput:
    """A latent model's answer to one observation, as arrays."""
    rows = np.asarray(observation, np.float32)[None]
    device = getattr(model, "input_device", None)
    if device is not None:
        from ramify.engine.latents import loaded_torch

        rows = loaded_torch().from_numpy(rows).to(device)
    found = model.initial(rows)
    check_output(found)
    return LatentOutput(found.latents, as_numbers(found.logits), as_numbers(found.values))


def _with_priors(evaluated: LatentOutput, root: RootNode) -> LatentOutput:
    """The evaluation of the root with the priors of its children in place of the network's."""
    if not root.children:
        return evaluated
    logits = np.full_like(np.asarray(evaluated.logits), np.log(LEAST))
    for action, child in root.children.items():
        if not 0 <= action < logits.shape[-1]:
            raise ValueError(f"action {action} has no policy: the network's has {logits.shape[-1]} actions")
        logits[..., action] = np.log(max(child.prior, LEAST))
    return LatentOutput(evaluated.latents, logits, evaluated.values)


def _checked_actions(root: RootNode, legal_actions: Sequence[int]) -> list[int]:
    """The actions of the root."""
    if not isinstance(root, RootNode):
        raise TypeError(f"root must be a RootNode, not {type(root).__name__}")
    if root._result is not None:
        raise ValueError("this root has been searched: make a new RootNode for the next search")
    legal = [int(action) for action in legal_actions]
    if not legal:
        raise ValueError("there are no legal actions: a finished game cannot be searched")
    if unknown := set(root.children) - set(legal):
        raise ValueError(f"children of the root must be legal actions, unlike {sorted(unknown)}")
    return sorted(root.children) or legal


def mask_policy(policy: Any, legal_actions: Sequence[int]) -> NDArray[np.float32]:
    """Policy logits with -1e32 for all actions that are not legal."""
    logits = as_numbers(policy).reshape(-1)
    masked = np.full_like(logits, -1e32)
    legal = np.asarray(legal_actions, np.int64)
    masked[legal] = logits[legal]
    return masked


def select_action(
    network: Any,
    config: MCTSConfig,
    observation: Any,
    legal_actions: Sequence[int],
    temperature: float = 1.0,
    *,
    seed: int | None = None,
) -> int:
    """Search and choose an action: in proportion to visits ** (1 / temperature), or the most visited with 0.

    ``seed`` determines noise and choice; None draws one.
    """
    if not temperature >= 0:
        raise ValueError(f"temperature must be at least 0, not {temperature!r}")
    rng = np.random.default_rng(seed)
    search = MCTS(network, config, seed=int(rng.integers(2**63)))
    actions, probabilities = search.run(RootNode(0), observation, legal_actions)
    if temperature == 0:
        return actions[int(np.argmax(probabilities))]
    return int(rng.choice(actions, p=tempered(np.array(probabilities), temperature)))
