"""The MuZero interface where both players act at once."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import ramify as rf
from ramify.engine import LatentOutput
from ramify.engine.seen import SeenPosition
from ramify.muzero import MCTS, MCTSConfig, Node, RootNode, select_action
from tests.engine.hashed_model import HashedModel
from tests.reference import graph_search
from tests.reference.config import Config

QUIET = MCTSConfig(root_exploration_fraction=0.0, acting="both")
LEGAL = [[0, 2], [1, 2, 3]]
SEEN = np.array([0.25, 1.0])


class Both:
    """A hashed model asked about one state at a time; ``box`` makes hidden states, ``pair`` all that is per player."""

    def __init__(self, box: Any = tuple, pair: Any = np.asarray, seed: int = 0) -> None:
        self.model, self.box, self.pair, self.seed = HashedModel(4, "both"), box, pair, seed
        self.asked: list[Any] = []

    def initial_inference(self, observation: Any) -> tuple[Any, Any, Any]:
        return self._said(self.model.initial(np.asarray(observation)[None] + self.seed))

    def recurrent_inference(self, hidden_state: Any, action: Any) -> tuple[Any, Any]:
        self.asked.append(action)
        out = self.model.recurrent(np.asarray(hidden_state)[None], np.array([action]))
        return self.box(np.asarray(out.latents)[0]), self.pair(out.rewards[0])

    def prediction(self, state: Any) -> tuple[Any, Any]:
        return self._said(self.model._output(np.asarray(state)[None], None))[1:]

    def _said(self, out: LatentOutput) -> tuple[Any, Any, Any]:
        return self.box(np.asarray(out.latents)[0]), self.pair(out.logits[0]), self.pair(out.values[0])


class Inside:
    """A latent state as tests/reference has positions: rewards are the model's, and there is no end."""

    is_over, acting = False, (0, 1)

    def __init__(self, model: HashedModel, latent: Any, legal: Any = None) -> None:
        self.game = self.model = model
        self.latent, self.legal = latent, legal or [range(model.num_actions)] * 2

    def copy(self) -> Inside:
        return Inside(self.model, self.latent, self.legal)

    def legal_actions(self, player: int) -> Any:
        return np.array(self.legal[player])

    def outcomes(self, player: int) -> Any:
        index = np.full(self.model.num_actions, -1)
        index[self.legal[player]] = range(len(self.legal[player]))
        return self.legal_actions(player), index

    def apply(self, *actions: int) -> Any:
        out = self.model.recurrent(self.latent[None], np.array([actions]))
        self.latent, self.legal = np.asarray(out.latents)[0], [range(self.model.num_actions)] * 2
        return out.rewards[0]


def evaluated(state: Any) -> Any:
    out = state.model._output(state.latent[None], None)
    return out.logits[0], out.values[0]


def transcribed(seed: int, simulations: int) -> graph_search.Search:
    """Decoupled PUCT in plain Python, over the same model."""
    model = HashedModel(4, "both")
    root = Inside(model, np.asarray(model.initial(SEEN[None] + seed).latents)[0], LEGAL)
    config = Config(c_puct=1.25, c_base=19652, discount=0.997, normalize="minmax")
    search = graph_search.Search(cast(Any, root), cast(Any, evaluated), config)
    for _ in range(simulations):
        search.simulate()
    return search


def tensors() -> dict[str, Any]:
    torch = pytest.importorskip("torch")
    return {"box": torch.from_numpy, "pair": torch.from_numpy}


def batch_of_one(numbers: Any) -> Any:
    return pytest.importorskip("torch").from_numpy(numbers)[None]


BOXES: dict[str, Any] = {
    "objects": dict,
    "arrays": lambda: {"box": np.asarray},
    "lists": lambda: {"pair": list},
    "tensors": tensors,
    "batches of one": lambda: {"pair": batch_of_one},
}


@pytest.mark.parametrize("boxed", [*BOXES, "latent model"])
def test_it_searches_as_the_transcription_does(boxed: str) -> None:
    for seed in range(3):
        network: Any = Both(**BOXES[boxed](), seed=seed) if boxed in BOXES else HashedModel(4, "both")
        seen = SEEN if boxed in BOXES else SEEN + seed
        root = RootNode(0)
        actions, shares = MCTS(network, QUIET).run(root, seen, LEGAL)
        expected = transcribed(seed, 51)
        visits = expected.root.edge_visits
        assert actions == ((0, 2), (1, 2, 3))
        np.testing.assert_allclose(shares[0], visits.sum(axis=1) / 50)
        np.testing.assert_allclose(shares[1], visits.sum(axis=0) / 50)
        compare(root, expected.root, depth=3)


def compare(node: Node, expected: graph_search.Node, depth: int) -> None:
    """Visits, priors, values and rewards of the engine's nodes and of the transcription's."""
    assert (node.visit_count, node.to_play) == (expected.visits, None)
    for player in (0, 1):
        assert node.value(player) == pytest.approx(float(expected.Q[player]), abs=1e-6)
    assert node.value() == node.value(0)
    assert node.value_sum == pytest.approx(node.value(0) * node.visit_count)
    if not depth:
        return
    first, second = expected.outcomes
    assert list(node.children) == [(a0, a1) for a0 in first for a1 in second]
    for i, j in np.ndindex(expected.edge_visits.shape):
        child = node.children[first[i], second[j]]
        assert child.visit_count == expected.edge_visits[i, j]
        assert child.prior == pytest.approx(float(expected.prior[0][i]) * float(expected.prior[1][j]))
        assert (child.hidden_state is None) == (child.visit_count == 0)
        assert child.rewards == pytest.approx(tuple(expected.edge_r[:, i, j]))
        assert child.reward == child.rewards[0]
        if child.visit_count:
            compare(child, expected.edge_children[i, j], depth - 1)


class Matrix:
    """One round with these payoffs of both players, after which nothing is paid any more; a state is its round."""

    payoffs = np.array([[[1.0, -1.0], [-1.0, 2.0]], [[-1.0, 1.0], [0.5, -2.0]]])

    def initial_inference(self, observation: Any) -> Any:
        return "first", *self.prediction("first")

    def recurrent_inference(self, hidden_state: Any, action: Any) -> Any:
        assert type(action) is tuple
        paid = (self.payoffs[0][action], self.payoffs[1][action]) if hidden_state == "first" else (0, 0)
        return "later", paid

    def prediction(self, state: Any) -> Any:
        return np.zeros((2, 2)), (0.0, 0.0)


def test_a_matrix_game_by_hand() -> None:
    """Equal priors of 1/2, c = 1.25: after n - 1 visits, an outcome's bonus is 1.25 * sqrt(n) / 2 / (1 + its visits).

    1. nothing is known: (0, 0), which pays 1 and -1;
    2. player 0 has 1 + 0.44 and 0.88, player 1 has -1 + 0.44 and 0.88: (0, 1), which pays -1 and 1;
    3. now in units of the range from -1 to 1, player 0 has 0.5 + 0.36 and 1.08, player 1 has 0 + 0.54 and 1 + 0.54:
       (1, 1), which pays 2 and -2.
    """
    root, search = RootNode(0), MCTS(Matrix(), QUIET.replace(num_simulations=3))
    actions, shares = search.run(root, None, ([0, 1], [0, 1]))
    assert actions == ((0, 1), (0, 1))
    assert [list(mine) for mine in shares] == [[2 / 3, 1 / 3], [1 / 3, 2 / 3]]
    assert [child.visit_count for child in root.children.values()] == [1, 1, 0, 1]
    assert [child.prior for child in root.children.values()] == [0.25] * 4
    assert [child.rewards for child in root.children.values()] == [(1, -1), (-1, 1), (0, 0), (2, -2)]
    assert [child.reward for child in root.children.values()] == [1, -1, 0, 2]
    assert (root.visit_count, root.value(0), root.value(1)) == (4, (1 - 1 + 2) / 4, (-1 + 1 - 2) / 4)
    assert (root.reward, root.rewards, root.to_play) == (0, (0, 0), None)
    assert set(search.nodes) == {(), ((0, 0),), ((0, 1),), ((1, 1),)}


def test_networks_of_the_package_are_searched() -> None:
    """As the searcher itself does; also one state at a time, with tensors in batches of one."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    state = rf.make("goofspiel", cards=4).initial_state()
    module = rf.networks.make(state.game, {"kind": "muzero-mlp", "width": 16, "latent": 8})
    model = rf.evaluators.LatentNetwork(module)
    legal = [state.legal_actions(player) for player in (0, 1)]
    config = MCTSConfig(root_exploration_fraction=0.0)  # the model says that both act
    expected = rf.Searcher(model, config=QUIET.search()).run(state)
    for network, settings in ((model, config), (OneRow(model), QUIET)):
        root, search = RootNode(0), MCTS(network, settings)
        actions, shares = search.run(root, state.observation(0), legal)
        for player in (0, 1):
            assert list(actions[player]) == expected.outcomes[player].tolist()
            np.testing.assert_allclose(shares[player], expected.visits.sum(axis=1 - player) / 50)
            assert root.value(player) == pytest.approx(float(expected.value[player]), abs=1e-6)
        for i, j in np.ndindex(expected.visits.shape):
            child = root.children[actions[0][i], actions[1][j]]
            assert child.visit_count == expected.visits[i, j]
            if child.visit_count:
                worth = [child.rewards[player] + 0.997 * child.value(player) for player in (0, 1)]
                np.testing.assert_allclose(worth, expected.payoffs[:, i, j], atol=1e-5)
        assert {hidden.shape for hidden in (node.hidden_state for node in search.nodes.values())} == {(8,)}
        assert len(search.nodes) == 51
        best = tuple(mine[int(np.argmax(share))] for mine, share in zip(actions, shares, strict=True))
        assert select_action(network, settings, state.observation(0), legal, 0) == best


class OneRow:
    """A latent model of the package as a network of one state at a time."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def initial_inference(self, observation: Any) -> Any:
        torch = pytest.importorskip("torch")
        out = self.model.initial(torch.from_numpy(np.asarray(observation, np.float32))[None])
        self.said = out.logits, out.values
        return out.latents[0], out.logits, out.values

    def recurrent_inference(self, hidden_state: Any, action: Any) -> Any:
        torch = pytest.importorskip("torch")
        out = self.model.recurrent(hidden_state[None], torch.tensor([action]))
        self.said = out.logits, out.values
        return out.latents[0], out.rewards

    def prediction(self, state: Any) -> Any:
        return self.said  # of the state that was asked about last


def test_the_noise_is_that_of_the_searcher() -> None:
    """With noise, too, the search is the engine's: the same seed gives the same visits."""
    config = MCTSConfig(root_exploration_fraction=0.5)
    seed = int(np.random.default_rng(5).integers(2**63))
    position: Any = SeenPosition(SEEN, (0, 1), LEGAL)
    expected = rf.Searcher(HashedModel(4, "both"), config=config.search(), seed=seed).run(position)
    root = RootNode(0)
    MCTS(HashedModel(4, "both"), config, seed=5).run(root, SEEN, LEGAL)
    assert [child.visit_count for child in root.children.values()] == expected.visits.ravel().tolist()
    quiet = MCTS(Both(), QUIET).run(RootNode(0), SEEN, LEGAL)
    assert quiet != MCTS(Both(), config.replace(acting="both"), seed=5).run(RootNode(0), SEEN, LEGAL)


def test_a_root_with_a_hidden_state() -> None:
    network = Both()
    hidden, _, _ = network.initial_inference(SEEN)
    roots = RootNode(0, hidden), RootNode(0)
    first, second = (MCTS(network, QUIET).run(root, SEEN, LEGAL) for root in roots)
    assert first == second
    assert roots[0].hidden_state == roots[1].hidden_state == hidden
    with pytest.raises(ValueError, match="a latent model encodes its roots itself"):
        MCTS(HashedModel(4, "both"), QUIET).run(RootNode(0, hidden), SEEN, LEGAL)


def test_nodes_are_found_by_pairs() -> None:
    network, root = Both(), RootNode(0)
    search = MCTS(network, QUIET)
    search.run(root, SEEN, LEGAL)
    assert search.nodes[()] is root
    assert len(search.nodes) == 51
    assert all(type(action) is tuple for action in network.asked)
    for path, node in search.nodes.items():
        assert all(type(step) is tuple and len(step) == 2 for step in path)
        hidden = root.hidden_state
        for step in path:
            hidden, paid = network.recurrent_inference(hidden, step)
        assert node.hidden_state == hidden
        assert node.rewards == (tuple(paid.tolist()) if path else (0, 0))
        assert node.expanded()
    for node, name in ((root, "to_play"), (root.children[0, 1], "prior"), (root.children[0, 1], "reward")):
        with pytest.raises(AttributeError, match=f"read-only after a search: {name}"):
            setattr(node, name, 0)
    with pytest.raises(TypeError):
        root.children[0, 0] = Node(1.0)
    with pytest.raises(ValueError, match="has been searched"):
        search.run(root, SEEN, LEGAL)


@pytest.mark.parametrize(
    ("acting", "per_player"), [("alternating", False), ("alternating", True), ("single", False), ("single", True)]
)
def test_rewards_of_both_players_in_other_orders_of_play(acting: str, per_player: bool) -> None:
    """What a model says of one player alone, the order of play says of the other."""
    model = HashedModel(4, acting, per_player)
    for player in (0, 1):
        root, search = RootNode(0), MCTS(model, QUIET)
        root.to_play = player
        search.run(root, SEEN, range(4))
        for path, node in search.nodes.items():
            mover = player if acting == "single" else (player + len(path) - 1) % 2
            assert node.rewards[mover] == (node.reward if path else 0)
            if path and not per_player:
                assert node.rewards[1 - mover] == (0 if acting == "single" else -node.reward)
            elif path:
                before = search.nodes[path[:-1]].hidden_state
                said = model.recurrent(np.array([before]), np.array([path[-1]])).rewards
                assert node.rewards == tuple(said[0].tolist())
        child = Node(0.5)
        child.reward = 1.5
        assert (child.reward, child.rewards) == (1.5, (0, 0))


def test_actions_are_selected() -> None:
    network = Both()
    actions, shares = MCTS(network, QUIET).run(RootNode(0), SEEN, LEGAL)
    best = tuple(mine[int(np.argmax(share))] for mine, share in zip(actions, shares, strict=True))
    assert select_action(network, QUIET, SEEN, LEGAL, 0) == best
    drawn = [select_action(network, QUIET, SEEN, LEGAL, 50.0, seed=seed) for seed in range(100)]
    visited = [[a for a, share in zip(*one, strict=True) if share] for one in zip(actions, shares, strict=True)]
    assert set(drawn) == {(a0, a1) for a0 in visited[0] for a1 in visited[1]}
    assert len(set(drawn)) == 4
    assert all(type(action) is int for pair in drawn for action in cast(tuple[int, int], pair))
    again = [select_action(network, QUIET, SEEN, LEGAL, seed=7) for _ in range(2)]
    assert again[0] == again[1]
    with pytest.raises(ValueError, match="temperature must be at least 0"):
        select_action(network, QUIET, SEEN, LEGAL, -1)


def test_actions_are_chosen_in_proportion_to_the_visits_of_each_player() -> None:
    config = QUIET.replace(num_simulations=3)  # shares of 2/3 and 1/3, and of 1/3 and 2/3, as above
    for temperature, expected in ((1.0, 2 / 3), (0.5, 4 / 5)):
        pairs = [select_action(Matrix(), config, None, ([0, 1], [0, 1]), temperature, seed=i) for i in range(600)]
        drawn = np.array(pairs)
        error = 4 * np.sqrt(expected * (1 - expected) / len(drawn))
        assert abs((drawn[:, 0] == 0).mean() - expected) < error
        assert abs((drawn[:, 1] == 1).mean() - expected) < error
        assert abs(((drawn[:, 0] == 0) & (drawn[:, 1] == 1)).mean() - expected**2) < error
        assert abs(((drawn[:, 0] == 1) & (drawn[:, 1] == 0)).mean() - (1 - expected) ** 2) < error


PAIR = r"legal_actions must be a pair, one of each player, where both players act at once, not"
WRONG: list[tuple[Any, str]] = [
    ([0, 1, 2], PAIR),
    ([[0], [1], [2]], PAIR),
    ([], PAIR),
    (None, PAIR),
    (3, PAIR),
    ({0: [0], 1: [1]}, PAIR),
    ("01", PAIR),
    ([0, 1], "legal_actions of player 0 must be a list of whole numbers, not 0"),
    ([[0], 1.5], "legal_actions of player 1 must be a list of whole numbers, not 1.5"),
    (np.ones((2, 4), bool), "legal_actions of player 0 must be numbers of actions, not a mask"),
    ([[0], [-1]], "legal_actions of player 1 must be numbers of actions, from 0 on, not -1"),
    ([[0, 0], [1]], "legal_actions of player 0 has action 0 twice"),
    ([[], [1]], "player 0 has no legal actions"),
    ([[1], []], "player 1 has no legal actions"),
    ([[0], [4]], "num_actions is 4"),
]


@pytest.mark.parametrize(("legal", "message"), WRONG)
def test_legal_actions_are_a_pair_of_lists(legal: Any, message: str) -> None:
    for network in (Both(), HashedModel(4, "both")):
        with pytest.raises(ValueError, match=message):
            MCTS(network, QUIET).run(RootNode(0), SEEN, legal)
        with pytest.raises(ValueError, match=message):
            select_action(network, QUIET, SEEN, legal)


def test_roots_of_both_have_no_children_and_no_player_to_move() -> None:
    root = RootNode(0)
    root.children[0, 1] = Node(1.0)
    with pytest.raises(ValueError, match="give a root without children: the prior of a pair of actions is the product"):
        MCTS(Both(), QUIET).run(root, SEEN, LEGAL)
    root = RootNode(0)
    root.to_play = 0
    with pytest.raises(ValueError, match="to_play of the root must be None, not 0"):
        MCTS(Both(), QUIET).run(root, SEEN, LEGAL)


class Fixed:
    """A network with answers of its own, right ones unless told otherwise."""

    def __init__(
        self, policy: Any = None, value: Any = (0.0, 0.0), reward: Any = (0.0, 0.0), later: Any = None
    ) -> None:
        self.policy = np.zeros((2, 2)) if policy is None else policy
        self.later = self.policy if later is None else later
        self.value, self.reward = value, reward

    def initial_inference(self, observation: Any) -> Any:
        return (0,), self.policy, self.value

    def recurrent_inference(self, hidden_state: Any, action: Any) -> Any:
        return (1,), self.reward

    def prediction(self, state: Any) -> Any:
        return self.later, self.value


NOT_A_PAIR = "must be a pair, one of each player, where both players act at once"


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (Fixed(policy=np.zeros((3, 2))), f"the policy logits of initial_inference {NOT_A_PAIR}"),
        (Fixed(policy=0.5), f"the policy logits of initial_inference {NOT_A_PAIR}"),
        (Fixed(policy=np.zeros(2)), "the policy logits of initial_inference for player 0 must be an array of numbers"),
        (Fixed(policy=[[0, 0], None]), "the policy logits of initial_inference for player 1 must be an array"),
        (Fixed(policy=[[0, 0], [0]]), "initial_inference must be of as many actions for both players, not 2 and 1"),
        (Fixed(later=np.zeros(3)), f"the policy logits of prediction {NOT_A_PAIR}"),
        (Fixed(later=np.zeros((2, 3))), "prediction gave logits of 3 actions, but initial_inference gave 2"),
        (Fixed(value=0.5), f"values and rewards {NOT_A_PAIR}"),
        (Fixed(value=(0.5, None)), "single numbers, not None"),
        (Fixed(value={0: 0.5, 1: 0.5}), f"values and rewards {NOT_A_PAIR}"),
        (Fixed(reward=0.5), f"values and rewards {NOT_A_PAIR}"),
        (Fixed(reward=np.zeros(3)), f"values and rewards {NOT_A_PAIR}"),
    ],
)
def test_wrong_answers_of_networks_are_named(network: Fixed, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MCTS(network, QUIET).run(RootNode(0), None, [[0, 1], [0, 1]])


def test_latent_models_give_numbers_of_both_players() -> None:
    class One(HashedModel):
        def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
            out = super().recurrent(latents, actions)
            return LatentOutput(out.latents, out.logits, out.values, out.rewards[:, 0])

    with pytest.raises(rf.EvaluatorError, match="rewards must be given per player where both players act"):
        MCTS(One(4, "both"), QUIET).run(RootNode(0), SEEN, LEGAL)


def test_a_model_may_have_no_rewards() -> None:
    class Unpaid(HashedModel):
        def recurrent(self, latents: Any, actions: Any) -> LatentOutput:
            out = super().recurrent(latents, actions)
            return LatentOutput(out.latents, out.logits, out.values)

    root = RootNode(0)
    MCTS(Unpaid(4, "both"), QUIET).run(root, SEEN, LEGAL)
    assert {child.rewards for child in root.children.values()} == {(0.0, 0.0)}


def test_what_is_wrong_with_networks_and_seeds_is_said() -> None:
    class Silent:
        num_actions = 2
        initial = recurrent = None

    with pytest.raises(TypeError, match="Silent lacks acting"):
        MCTS(Silent())
    with pytest.raises(ValueError, match="seed"):
        MCTS(Both(), QUIET, seed=-1)
    with pytest.raises(ValueError, match=r"must be one row, .* not \[2, 4\]; .* needs MCTSConfig\(acting='both'\)"):
        MCTS(Both()).run(RootNode(0), SEEN, [0, 1])
