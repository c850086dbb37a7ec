"""The MuZero interface: a root as the caller makes it, and the engine's search behind it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramify as rf
from ramify.muzero import MCTS, MCTSConfig, Node, RootNode, mask_policy, select_action
from tests.engine.hashed_model import HashedModel, Reference
from tests.engine.positions import walk
from tests.reference import muzero as transcription
from tests.reference.config import Config

QUIET = MCTSConfig(root_exploration_fraction=0.0)


class OneState:
    """A hashed model asked about one state at a time; hidden states are whatever ``box`` makes of them."""

    def __init__(self, num_actions: int = 9, box: Any = tuple, unbox: Any = np.array) -> None:
        self.model, self.box, self.unbox = HashedModel(num_actions), box, unbox
        self.asked: list[str] = []

    def initial_inference(self, observation: Any) -> tuple[Any, Any, Any]:
        self.asked.append("initial")
        out = self.model.initial(np.asarray(observation)[None])
        return self.box(np.asarray(out.latents)[0]), np.asarray(out.logits)[0], np.asarray(out.values)[0]

    def recurrent_inference(self, hidden_state: Any, action: int) -> tuple[Any, Any]:
        self.asked.append("recurrent")
        out = self.model.recurrent(self.unbox(hidden_state)[None], np.array([action]))
        return self.box(np.asarray(out.latents)[0]), np.asarray(out.rewards)[0]

    def prediction(self, state: Any) -> tuple[Any, Any]:
        out = self.model._output(self.unbox(state)[None], None)
        return np.asarray(out.logits)[0], np.asarray(out.values)[0]


def tensors() -> dict[str, Any]:
    torch = pytest.importorskip("torch")
    return {"box": torch.from_numpy, "unbox": lambda hidden: hidden.numpy()}


def test_the_defaults_are_those_of_the_paper() -> None:
    assert MCTSConfig().model_dump() == {
        "num_simulations": 50,
        "root_dirichlet_alpha": 0.3,
        "root_exploration_fraction": 0.25,
        "pb_c_base": 19652,
        "pb_c_init": 1.25,
        "discount": 0.997,
        "acting": "alternating",
    }
    with pytest.raises(ValueError, match="num_simulations=0"):
        MCTSConfig(num_simulations=0)


@pytest.mark.parametrize("boxed", ["objects", "arrays", "tensors", "batches"])
def test_it_searches_as_the_transcription_does(boxed: str) -> None:
    boxes: dict[str, Any] = {"arrays": {"box": np.asarray, "unbox": np.asarray}}
    box = tensors() if boxed == "tensors" else boxes.get(boxed, {})
    for seed in range(3):
        state = walk("tictactoe", seed)
        legal, seen = state.legal_actions().tolist(), state.observation()
        model = HashedModel(9) if boxed == "batches" else OneState(**box)
        root = RootNode(0)
        root.to_play = state.acting[0]
        actions, shares = MCTS(model, QUIET).run(root, seen, legal)
        config = Config(c_puct=1.25, c_base=19652, discount=0.997, normalize="minmax")
        expected = transcription.Search(state, Reference(HashedModel(9)), config)
        for _ in range(51):
            expected.simulate()
        assert actions == tuple(legal)
        np.testing.assert_allclose(shares, expected.visits.ravel() / 50)
        compare(root, expected.root, depth=3)


def compare(node: Node, expected: transcription.Node, depth: int) -> None:
    """Visits, priors, values and rewards of the engine's nodes and of the transcription's."""
    assert (node.visit_count, node.to_play) == (expected.visit_count, expected.to_play)
    assert node.value() == pytest.approx(float(expected.value(expected.to_play)), abs=1e-5)
    assert node.value_sum == pytest.approx(expected.value_sum[expected.to_play], abs=1e-4)
    assert list(node.children) == (list(expected.children) if node.visit_count else [])
    if not depth:
        return
    for action, child in node.children.items():
        other = expected.children[action]
        assert child.prior == pytest.approx(float(other.prior), rel=1e-3)
        assert child.reward == pytest.approx(float(other.reward[expected.to_play]), abs=1e-6)
        assert (child.hidden_state is None) == (other.hidden_state is None)
        compare(child, other, depth - 1)


def test_a_root_of_the_callers_own() -> None:
    """Its hidden state and its priors are used, in its order of children."""
    network = OneState()
    hidden, policy, _ = network.initial_inference(walk("tictactoe", 0).observation())
    root = RootNode(0, hidden)
    priors = {7: 0.5, 2: 0.3, 4: 0.2}
    for action, prior in priors.items():
        root.children[action] = Node(prior=prior)
    network.asked.clear()
    actions, shares = MCTS(network, QUIET).run(root, None, list(range(9)))
    assert "initial" not in network.asked
    assert actions == (7, 2, 4)
    assert sum(shares) == pytest.approx(1)
    for action, prior in priors.items():
        assert root.children[action].prior == pytest.approx(prior, rel=1e-3)
    assert mask_policy(policy, [1, 3])[[0, 2]].tolist() == [np.float32(-1e32)] * 2
    assert root.hidden_state == hidden


def test_nodes_are_read_only_after_a_search() -> None:
    root, search = RootNode(0), MCTS(OneState(), QUIET)
    child = Node(0.5)
    child.prior, child.reward, child.hidden_state = 1.0, 0.0, (1, 2)
    root.children[3] = child
    search.run(root, np.zeros(18), [3])
    assert root.children[3] is child
    assert child.visit_count == 50
    for node, name in ((root, "to_play"), (child, "prior"), (child, "reward"), (child, "hidden_state")):
        with pytest.raises(AttributeError, match=f"read-only after a search: {name}"):
            setattr(node, name, 0)
    with pytest.raises(TypeError):
        root.children[5] = Node(1.0)
    with pytest.raises(AttributeError):
        child.visit_count = 3  # type: ignore[misc]
    with pytest.raises(ValueError, match="has been searched"):
        search.run(root, np.zeros(18), [3])
    assert search.nodes[()] is root
    assert sum(len(path) == 1 for path in search.nodes) == 1
    assert len(search.nodes) == 51


def test_noise_is_that_of_the_seed() -> None:
    def shares(seed: int | None, config: MCTSConfig) -> list[float]:
        return MCTS(OneState(), config, seed=seed).run(RootNode(0), np.zeros(18), range(9))[1]

    assert shares(1, QUIET) == shares(2, QUIET)
    assert shares(1, MCTSConfig()) == shares(1, MCTSConfig())
    assert len({tuple(shares(seed, MCTSConfig(root_exploration_fraction=0.9))) for seed in (1, 2, 3)}) > 1
    noisy = {tuple(shares(None, MCTSConfig(root_exploration_fraction=0.9))) for _ in range(3)}
    assert len(noisy) > 1


def test_actions_are_selected() -> None:
    network, seen = OneState(), np.zeros(18)
    best = select_action(network, QUIET, seen, [1, 4, 6], 0)
    actions, shares = MCTS(network, QUIET).run(RootNode(0), seen, [1, 4, 6])
    assert best == actions[int(np.argmax(shares))]
    drawn = [select_action(network, QUIET, seen, [1, 4, 6], 5.0, seed=seed) for seed in range(16)]
    assert set(drawn) == {1, 4, 6}
    assert [select_action(network, QUIET, seen, [1, 4, 6], seed=7) for _ in range(2)] == [
        select_action(network, QUIET, seen, [1, 4, 6], 1.0, seed=7)
    ] * 2
    with pytest.raises(ValueError, match="temperature must be at least 0"):
        select_action(network, QUIET, seen, [1], -1)


def test_what_cannot_be_searched() -> None:
    search = MCTS(OneState(), QUIET)
    with pytest.raises(ValueError, match="no legal actions"):
        search.run(RootNode(0), np.zeros(18), [])
    with pytest.raises(ValueError, match="no legal actions"):
        select_action(OneState(), QUIET, np.zeros(18), [])
    root = RootNode(0)
    root.children[2] = Node(1.0)
    with pytest.raises(ValueError, match=r"legal actions, unlike \[2\]"):
        search.run(root, np.zeros(18), [1])
    with pytest.raises(TypeError, match="root must be a RootNode, not Node"):
        search.run(Node(0), np.zeros(18), [1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"object lacks initial_inference, recurrent_inference, prediction$"):
        MCTS(object(), QUIET)
    with pytest.raises(ValueError, match="num_actions is 9"):
        search.run(RootNode(0), np.zeros(18), [9])
    assert rf.muzero.MCTS is MCTS


@pytest.mark.parametrize("given", [[False, False, True], np.array([True] * 9)])
def test_masks_are_no_actions(given: Any) -> None:
    with pytest.raises(ValueError, match="not a mask"):
        MCTS(OneState(), QUIET).run(RootNode(0), np.zeros(18), given)


@pytest.mark.parametrize("given", [[0.9, 2.7], "012", [[0, 1]], [-1, 2]])
def test_actions_are_whole_numbers(given: Any) -> None:
    with pytest.raises(ValueError, match="legal_actions must be"):
        MCTS(OneState(), QUIET).run(RootNode(0), np.zeros(18), given)
    with pytest.raises(ValueError, match="legal_actions must be"):
        mask_policy(np.zeros(3), given)


def test_policies_are_masked_as_what_they_are() -> None:
    torch = pytest.importorskip("torch")
    masked = mask_policy(torch.tensor([0.5, 1.5, 0.5], dtype=torch.float64), torch.tensor([0, 2]))
    assert masked.dtype == torch.float64
    assert torch.softmax(masked, dim=0).tolist() == [0.5, 0.0, 0.5]
    assert isinstance(mask_policy([0.5, 1.5], range(1)), np.ndarray)
    with pytest.raises(ValueError, match="action 3 has no policy: there are 3 actions"):
        mask_policy(np.zeros(3), [3])
    with pytest.raises(ValueError, match="no legal actions"):
        mask_policy(np.zeros(3), [])


def test_a_root_is_built_by_hand_from_tensors() -> None:
    """Encode, mask, softmax, expand, search: as a caller writes it with torch."""
    torch = pytest.importorskip("torch")
    network, seen, legal = OneState(**tensors()), walk("tictactoe", 1).observation(), [0, 2, 5]
    hidden, policy, _ = network.initial_inference(seen)
    root = RootNode(0, hidden)
    policy = torch.softmax(mask_policy(torch.from_numpy(np.asarray(policy)), legal), dim=0)
    for action in legal:
        root.children[action] = Node(prior=policy[action].item())
    by_hand = MCTS(network, QUIET).run(root, seen, legal)
    assert by_hand == MCTS(network, QUIET).run(RootNode(0), seen, legal)


@pytest.mark.parametrize("game", ["connect_four", "tictactoe"])
def test_networks_of_the_package_are_searched(game: str) -> None:
    pytest.importorskip("torch")
    state = rf.make(game).initial_state()
    model = rf.evaluators.LatentNetwork(rf.networks.make(state.game, {"kind": "muzero", "blocks": 1, "channels": 8}))
    actions, shares = MCTS(model, QUIET).run(RootNode(0), state.observation(), state.legal_actions().tolist())
    expected = rf.Searcher(model, config=QUIET.search()).run(state)
    assert list(actions) == expected.outcomes[0].tolist()
    np.testing.assert_allclose(shares, expected.visits.ravel() / 50)
    assert select_action(model, QUIET, state.observation(), state.legal_actions(), 0) in actions


def test_networks_that_cannot_be_searched_say_what_they_lack() -> None:
    pytest.importorskip("torch")
    module = rf.networks.make(rf.make("tictactoe"), {"kind": "muzero", "blocks": 1, "channels": 8})
    with pytest.raises(TypeError, match=r"wrap a network of ramify.networks as ramify.evaluators.LatentNetwork"):
        MCTS(module)
    with pytest.raises(TypeError, match="config must be an MCTSConfig, not dict"):
        MCTS(OneState(), {"num_simulations": 5})  # type: ignore[arg-type]


def test_wrong_answers_of_networks_are_named() -> None:
    class Wrong(OneState):
        def recurrent_inference(self, hidden_state: Any, action: int) -> Any:
            return (*super().recurrent_inference(hidden_state, action), 0.0)

    class Silent(OneState):
        def recurrent_inference(self, hidden_state: Any, action: int) -> Any:
            return super().recurrent_inference(hidden_state, action)[0], None

    for network, message in (
        (Wrong(), r"recurrent_inference must return \(next hidden state, reward\), not 3 values"),
        (Silent(), "single numbers, not None"),
    ):
        with pytest.raises(ValueError, match=message):
            MCTS(network, QUIET).run(RootNode(0), np.zeros(18), [1, 2])
    root = RootNode(0)
    root.children[1] = Node(-0.5)
    with pytest.raises(ValueError, match=r"prior of action 1 must be at least 0, not -0.5"):
        MCTS(OneState(), QUIET).run(root, np.zeros(18), [1])


@pytest.mark.parametrize("player", [1.0, True, False, np.True_, "1", 2, [0], np.zeros(2, int)])
def test_players_are_whole_numbers(player: Any) -> None:
    root = RootNode()
    with pytest.raises(ValueError, match="to_play must be 0, 1 or None, not"):
        root.to_play = player
    for possible in (np.int64(1), 0, None):
        root.to_play = possible  # type: ignore[assignment]
        assert root.to_play == possible
        assert type(root.to_play) in (int, type(None))


class Fixed:
    """A network with one policy for what is observed and others for hidden states, by the number of actions so far."""

    def __init__(self, first: Any, *later: Any) -> None:
        self.first, self.later = first, later

    def initial_inference(self, observation: Any) -> Any:
        return (0,), self.first, 0.0

    def recurrent_inference(self, hidden_state: Any, action: int) -> Any:
        return (hidden_state[0] + 1,), 0.0

    def prediction(self, state: Any) -> Any:
        return self.later[min(state[0], len(self.later) - 1)], 0.0


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (np.zeros((2, 3)), r"must be one row, of shape \[n\] or \[1, n\], not \[2, 3\]"),
        (np.zeros((1, 1, 2)), r"not \[1, 1, 2\]"),
        (None, "must be an array of numbers, not None"),
        (0.5, "must be an array of numbers, not 0.5"),
        (["a", "b"], r"must be an array of numbers, not \['a', 'b'\]"),
        (object(), "must be an array of numbers, not <object"),
    ],
)
def test_policies_are_one_row_of_numbers(policy: Any, message: str) -> None:
    good = np.zeros(2)
    for network, function, hidden in (
        (Fixed(policy, good), "initial_inference", None),
        (Fixed(good, good, policy), "prediction", None),
        (Fixed(good, policy), "prediction", (0,)),
    ):
        with pytest.raises(ValueError, match=f"the policy logits of {function} .*{message}"):
            MCTS(network, QUIET).run(RootNode(0, hidden), None, [0, 1])
    with pytest.raises(ValueError, match=f"the policy logits .*{message}"):
        mask_policy(policy, [0, 1])


def test_policies_of_one_row() -> None:
    row = np.zeros((1, 2))
    assert MCTS(Fixed(row, row), QUIET).run(RootNode(0), None, [0, 1])[1] == [0.5, 0.5]
    assert mask_policy(np.ones((1, 2)), [1]).tolist() == [np.float32(-1e32), 1.0]
    torch = pytest.importorskip("torch")
    assert mask_policy(torch.ones(1, 2), [0]).shape == (2,)
    with pytest.raises(ValueError, match=r"not \[2, 3\]"):
        mask_policy(torch.ones(2, 3), [0])


def test_policies_are_of_equal_length() -> None:
    short, long = np.zeros(2), np.zeros(3)
    for network, hidden, message in (
        (Fixed(short, long), None, "prediction gave logits of 3 actions, but initial_inference gave 2 at the root"),
        (Fixed(short, [0.0]), None, "prediction gave logits of 1 action, but initial_inference gave 2 at the root"),
        (Fixed(long, short, long), (0,), "prediction gave logits of 3 actions, but it gave 2 at the root"),
    ):
        with pytest.raises(ValueError, match=message):
            MCTS(network, QUIET).run(RootNode(0, hidden), None, [0, 1])


@pytest.mark.parametrize("given", [None, 5, np.array(3), [[0], [1, 2]]])
def test_legal_actions_are_a_list(given: Any) -> None:
    with pytest.raises(ValueError, match="legal_actions must be a list of whole numbers, not"):
        MCTS(OneState(), QUIET).run(RootNode(0), np.zeros(18), given)
    with pytest.raises(ValueError, match="legal_actions must be a list of whole numbers, not"):
        mask_policy(np.zeros(3), given)


@pytest.mark.parametrize("given", [[2, 1, 1], np.array([0, 1, 1, 0, 0, 0, 1, 0, 0])])
def test_actions_are_given_once(given: Any) -> None:
    action = max(given, key=list(given).count)
    with pytest.raises(ValueError, match=rf"legal_actions has action {action} twice: .* use numpy.flatnonzero\(mask\)"):
        MCTS(OneState(), QUIET).run(RootNode(0), np.zeros(18), given)


@pytest.mark.parametrize("temperature", [None, "1", [1.0], np.ones(2)])
def test_temperatures_are_numbers(temperature: Any) -> None:
    with pytest.raises(ValueError, match="temperature must be a number, not"):
        select_action(OneState(), QUIET, np.zeros(18), [1], temperature)


def test_settings_are_replaced_and_not_set() -> None:
    config = MCTSConfig()
    with pytest.raises(ValueError, match=r"cannot be changed: use config.replace\(num_simulations=800\)$"):
        config.num_simulations = 800  # type: ignore[misc]
    assert config.num_simulations == 50
    assert config.replace(num_simulations=800).num_simulations == 800


def test_latent_models_are_no_evaluators() -> None:
    pytest.importorskip("torch")
    state = rf.make("tictactoe").initial_state()
    network = rf.networks.make(state.game, {"kind": "muzero", "blocks": 1, "channels": 8})
    for model in (HashedModel(9), rf.evaluators.LatentNetwork(network)):
        message = rf"{type(model).__name__} is a latent model, .* in place of the game: ramify.Searcher\(model\).run"
        with pytest.raises(TypeError, match=message):
            rf.search(state, model)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=message):
            rf.Searcher(state.game, model)  # type: ignore[arg-type]
        assert rf.Searcher(model).run(state).visits.sum() > 0


@pytest.mark.parametrize("name", ["muzero-connect-four", Path("muzero-connect-four")])
def test_names_of_learned_networks_are_loaded_first(name: Any) -> None:
    pytest.importorskip("torch")
    way = "ramify.networks.load(ramify.arena.network_file('muzero-connect-four'))"
    with pytest.raises(TypeError, match=rf"not \w+; load one with {re.escape(way)}$"):
        rf.evaluators.LatentNetwork(name)
    model = rf.evaluators.LatentNetwork(rf.networks.load(rf.arena.network_file(str(name))))
    assert model.num_actions == 7


def test_a_latent_model_says_who_acts() -> None:
    root = RootNode(0)
    MCTS(HashedModel(9), QUIET.replace(acting="single")).run(root, walk("tictactoe", 0).observation(), range(9))
    assert {child.to_play for child in root.children.values() if child.visit_count} == {1}
    assert "a latent model's own attribute acting overrides it" in str(MCTSConfig.model_fields["acting"].description)


def test_a_single_player_keeps_the_move() -> None:
    root = RootNode(0)
    MCTS(OneState(), MCTSConfig(acting="single", root_exploration_fraction=0.0)).run(root, np.zeros(18), range(9))
    visited = [child for child in root.children.values() if child.visit_count]
    assert {child.to_play for child in visited} == {0}
    total = sum(child.visit_count * (child.reward + 0.997 * child.value()) for child in visited)
    first = OneState().initial_inference(np.zeros(18))[2]
    assert root.value_sum == pytest.approx(total + float(first), abs=1e-3)
