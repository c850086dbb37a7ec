"""MuZero's search: an interface to ``ramify.Searcher`` over a learned model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from ramify.base.seeds import checked_seed
from ramify.engine import Searcher
from ramify.engine.batch import LatentModel, LatentOutput
from ramify.engine.latent_source import check_output
from ramify.engine.latents import is_tensor
from ramify.engine.policies import tempered
from ramify.engine.result import ActionOrPair
from ramify.engine.seen import SeenPosition
from ramify.muzero.config import MCTSConfig
from ramify.muzero.model import (
    INITIAL,
    LOGITS_OF,
    PREDICTION,
    OneByOne,
    Tree,
    answered,
    as_inputs,
    as_logits,
    as_numbers,
    as_pair,
    as_policies,
    as_row,
    as_values,
    hidden_rows,
)
from ramify.muzero.node import Node, RootNode

MASKED = -1e32  # logit of an action that is not legal
LEAST = 1e-30  # priors of 0 have a logit, too
FUNCTIONS = ("initial_inference", "recurrent_inference", "prediction")  # of a network
BATCHED = ("initial", "recurrent", "acting", "num_actions")  # of a latent model


class MCTS:
    """Searches a learned model: the rules say what is legal at the root, and nothing else.

    ``network``: any object with ``initial_inference``, ``recurrent_inference`` and ``prediction`` (see
    ``MuZeroNetwork``), or a latent model with ``initial`` and ``recurrent`` over batches. ``seed`` is that of the root
    noise; None draws one. The attribute ``acting`` says who acts: what ``config`` has, or a latent model's own.
    """

    def __init__(self, network: Any, config: MCTSConfig | None = None, *, seed: int | None = None) -> None:
        if config is not None and not isinstance(config, MCTSConfig):
            raise TypeError(f"config must be an MCTSConfig, not {type(config).__name__}")
        self.network = _checked_network(network)
        self.config = config if config is not None else MCTSConfig()
        self.acting: str = self.config.acting if hasattr(network, FUNCTIONS[0]) else network.acting
        self._rng = _generator(seed)
        self._root: RootNode | None = None

    @property
    def nodes(self) -> Mapping[tuple[Any, ...], Node]:
        """The visited nodes of the latest search, by the actions that lead to them."""
        return {} if self._root is None else dict(self._root.walk())

    def run(self, root: RootNode, observation: Any, legal_actions: Sequence[Any]) -> tuple[tuple[Any, ...], Any]:
        """Search from ``root``; returns the actions and the share of visits of each.

        A root with a hidden state is searched from there, otherwise from what ``observation`` is encoded to. Children
        of the root have their priors, and legal actions that have no child are not searched; a root without children
        gets one for every legal action, with the network's prior. Afterwards the root and all nodes below it can be
        read, and not changed.

        Where both players act at once, ``legal_actions`` is a pair of lists, and so is all that is returned: the
        actions of player 0 and of player 1, and the shares of visits of each. Such a root is given without children.
        """
        actions = _checked_actions(root, legal_actions, self.acting)
        evaluated = self._evaluate(root, observation)
        model = self._model(evaluated, root)
        tree = Tree(model, _with_priors(evaluated, root))
        searcher = Searcher(tree, config=self.config.search(), seed=int(self._rng.integers(2**63)))
        players = (0, 1) if self.acting == "both" else (root.to_play or 0,)
        result = searcher.run(SeenPosition(np.zeros(1), players, actions))  # type: ignore[arg-type]
        root._bind(result, tree, [], None if self.acting == "both" else players[0], int(result.visits.sum()) + 1)
        root._grow()
        self._root = root
        if self.acting == "both":
            marginals = [result.visits.sum(axis=1 - player).tolist() for player in players]
            return tuple(tuple(mine.tolist()) for mine in result.outcomes), tuple(map(_shares, marginals))
        return tuple(root.children), _shares([child.visit_count for child in root.children.values()])

    def _evaluate(self, root: RootNode, observation: Any) -> LatentOutput:
        """Latent state, logits and value of the root."""
        hidden, network, acting = root.hidden_state, self.network, self.acting
        if hasattr(network, "initial_inference"):
            if hidden is None:
                hidden, policy, value = answered(network.initial_inference, observation, returns=INITIAL)
                logits = as_policies(policy, LOGITS_OF.format("initial_inference"), acting)
            else:
                policy, value = answered(network.prediction, hidden, returns=PREDICTION)
                logits = as_policies(policy, LOGITS_OF.format("prediction"), acting)
            return LatentOutput(hidden_rows([hidden]), logits[None], as_values(value, acting)[None])
        if hidden is not None:
            raise ValueError(
                "a latent model encodes its roots itself: give RootNode(0) without a hidden state, or a network with "
                "initial_inference, recurrent_inference and prediction"
            )
        return _encoded(network, observation)

    def _model(self, evaluated: LatentOutput, root: RootNode) -> LatentModel:
        if hasattr(self.network, "initial_inference"):
            counted_by = "initial_inference" if root.hidden_state is None else "it"  # prediction
            return OneByOne(self.network, np.shape(evaluated.logits)[-1], self.acting, counted_by)
        return cast(LatentModel, self.network)


def _checked_network(network: Any) -> Any:
    """The network, if it has the functions of one; raises a TypeError that names those it lacks."""
    one_by_one = hasattr(network, FUNCTIONS[0]) or not hasattr(network, BATCHED[0])
    missing = [name for name in (FUNCTIONS if one_by_one else BATCHED) if not hasattr(network, name)]
    if not missing:
        return network
    hint = ""
    if hasattr(network, "spec"):  # a torch module of this package
        hint = "; wrap a network of ramify.networks as ramify.evaluators.LatentNetwork(network)"
    raise TypeError(
        f"network must have {', '.join(FUNCTIONS[:-1])} and {FUNCTIONS[-1]}, or {' and '.join(BATCHED[:2])}; "
        f"{type(network).__name__} lacks {', '.join(missing)}{hint}"
    )


def _encoded(model: Any, observation: Any) -> LatentOutput:
    """A latent model's answer to one observation, as arrays."""
    found = model.initial(as_inputs(model, np.asarray(observation, np.float32)[None]))
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
        if not child.prior >= 0:
            raise ValueError(f"the prior of action {action} must be at least 0, not {child.prior}")
        logits[..., action] = np.log(max(child.prior, LEAST))
    return LatentOutput(evaluated.latents, logits, evaluated.values)


def _generator(seed: int | None) -> np.random.Generator:
    """Random numbers of a seed that is checked; None draws one."""
    return np.random.default_rng(None if seed is None else checked_seed(seed))


def _shares(counts: list[int]) -> list[float]:
    """The share of each in all visits."""
    total = sum(counts)
    return [count / total for count in counts]


def _checked_actions(root: RootNode, legal_actions: Sequence[Any], acting: str) -> list[list[int]]:
    """The actions of the root, of each acting player."""
    if not isinstance(root, RootNode):
        raise TypeError(f"root must be a RootNode, not {type(root).__name__}")
    if root._result is not None:
        raise ValueError("this root has been searched: make a new RootNode for the next search")
    if acting == "both":
        return _checked_pair(root, legal_actions)
    legal = _as_actions(legal_actions)
    if not legal:
        raise ValueError("there are no legal actions: a finished game cannot be searched")
    if unknown := set(root.children) - set(legal):
        raise ValueError(f"children of the root must be legal actions, unlike {sorted(unknown)}")
    return [sorted(root.children) or legal]


def _checked_pair(root: RootNode, legal_actions: Any) -> list[list[int]]:
    """The actions of a root where both players act at once."""
    if root.children:
        raise ValueError(
            "where both players act at once, give a root without children: the prior of a pair of actions is the "
            "product of what the network has for both"
        )
    if root.to_play is not None:
        raise ValueError(f"where both players act at once, to_play of the root must be None, not {root.to_play}")
    given = as_pair(legal_actions, "legal_actions")
    legal = [_as_actions(actions, f"legal_actions of player {player}") for player, actions in enumerate(given)]
    for player, actions in enumerate(legal):
        if not actions:
            raise ValueError(f"player {player} has no legal actions: a finished game cannot be searched")
    return legal


def _as_actions(legal_actions: Any, what: str = "legal_actions") -> list[int]:
    """Legal actions as numbers; raises a ValueError, about ``what``, for what are none, such as a mask."""
    try:
        given = legal_actions.cpu().numpy() if is_tensor(legal_actions) else np.asarray(list(legal_actions))
    except (TypeError, ValueError):  # not iterable, or lists of different lengths
        given = np.array(None)  # refused below
    if given.size == 0:
        return []
    if given.dtype == bool:
        raise ValueError(f"{what} must be numbers of actions, not a mask: use numpy.flatnonzero(mask)")
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"{what} must be a list of whole numbers, not {legal_actions!r}")
    if given.min() < 0:
        raise ValueError(f"{what} must be numbers of actions, from 0 on, not {int(given.min())}")
    actions = [int(action) for action in given]
    if len(set(actions)) < len(actions):
        twice = next(action for action in actions if actions.count(action) > 1)
        raise ValueError(
            f"{what} has action {twice} twice: give the number of each legal action once; for a mask, use "
            "numpy.flatnonzero(mask)"
        )
    return actions


def mask_policy(policy: Any, legal_actions: Sequence[int]) -> Any:
    """Policy logits with -1e32 for all actions that are not legal: an array, or a tensor if that is what is given."""
    legal = _as_actions(legal_actions)
    if not legal:
        raise ValueError("there are no legal actions")
    logits: Any = as_row(policy) if is_tensor(policy) else as_logits(policy)
    if max(legal) >= len(logits):
        raise ValueError(f"action {max(legal)} has no policy: there are {len(logits)} actions")
    masked = logits.new_full(logits.shape, MASKED) if is_tensor(logits) else np.full_like(logits, MASKED)
    masked[legal] = logits[legal]
    return masked


def _check_temperature(temperature: Any) -> None:
    try:
        possible = bool(temperature >= 0)
    except (TypeError, ValueError, RuntimeError):  # texts, None, and arrays and tensors of several numbers
        raise ValueError(f"temperature must be a number, not {temperature!r}") from None
    if not possible:
        raise ValueError(f"temperature must be at least 0, not {temperature!r}")


def select_action(
    network: Any,
    config: MCTSConfig,
    observation: Any,
    legal_actions: Sequence[Any],
    temperature: float = 1.0,
    *,
    seed: int | None = None,
) -> ActionOrPair:
    """Search and choose an action: in proportion to visits ** (1 / temperature), or the most visited with 0.

    ``seed`` determines noise and choice; None draws one. Where both players act at once, a pair of actions is returned,
    each chosen by the visits of its player alone.
    """
    _check_temperature(temperature)
    rng = _generator(seed)
    search = MCTS(network, config, seed=int(rng.integers(2**63)))
    actions, probabilities = search.run(RootNode(0), observation, legal_actions)
    if search.acting == "both":
        first, second = (_chosen(rng, *one, temperature) for one in zip(actions, probabilities, strict=True))
        return first, second
    return _chosen(rng, actions, probabilities, temperature)


def _chosen(rng: np.random.Generator, actions: Sequence[int], probabilities: list[float], temperature: float) -> int:
    """One of a player's actions, by its share of visits."""
    if temperature == 0:
        return actions[int(np.argmax(probabilities))]
    return int(rng.choice(actions, p=tempered(np.array(probabilities), temperature)))
