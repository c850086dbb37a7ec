"""``ramify.chess``: AlphaZero's chess search by its usual names, against its transcription."""

from __future__ import annotations

import copy
import inspect
import random
import sys
import types
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest

import ramify as rf
from ramify import _core
from ramify.chess import MCTS, ChessGame, ChessNN, MaterialEvaluator, Node
from ramify.evaluators import Function
from ramify.games import IllegalAction
from tests.reference import alphazero
from tests.reference.config import Config
from tests.reference.evaluators import HashEvaluator

START = chess.STARTING_FEN
POSITIONS = (
    START,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",  # castling both ways, many captures
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",  # en passant in the air
    "r2q1rk1/pP1p2pp/Q4n2/bbp1p3/Np6/1B3NBn/pPPP1PPP/R3K2R b KQ - 0 1",  # promotions of black
    "7k/8/5K2/6Q1/8/8/8/8 b - - 0 1",
)
SMALL = {"kind": "resnet", "blocks": 1, "channels": 8}


def test_the_example_of_use(tmp_path: Path) -> None:
    """As code for AlphaZero's search is usually written, from a saved network to a target for training."""
    trained = ChessNN(SMALL)
    file = trained.save_model(tmp_path / "trained_model.safetensors")

    nn = ChessNN()
    nn.load_model(file)
    mcts = MCTS(neural_network=nn, num_simulations=20)
    game = ChessGame()
    move = mcts.search(game, temperature=0)
    game.make_move(move)
    assert game.board.move_stack == [move] or game.fen != START

    game = ChessGame()
    move, policy = mcts.get_policy(game, temperature=1.0, add_noise=True)
    assert move in game.board.legal_moves
    assert (policy.shape, policy.dtype) == ((4672,), np.float64)
    assert policy.sum() == pytest.approx(1.0)
    assert policy[game.get_move_index(move)] > 0


def test_defaults() -> None:
    made = MCTS(MaterialEvaluator())
    numbers = (made.num_simulations, made.c_puct, made.dirichlet_alpha, made.dirichlet_epsilon)
    assert numbers == (100, 1.0, 0.3, 0.25)
    for method in (MCTS.search, MCTS.get_policy):
        given = inspect.signature(method).parameters
        assert [given[name].default for name in ("temperature", "add_noise")] == [1.0, False]
    config = made.config(add_noise=True)
    assert (config.batch, config.threads, config.in_flight) == (1, 1, 1)
    assert (config.graph, config.solver, config.fpu, config.c_base, config.discount) == (
        False,
        False,
        "zero",
        None,
        1.0,
    )
    assert (config.noise, config.noise_alpha, config.noise_fraction) == ("dirichlet", 0.3, 0.25)
    assert made.config().noise_fraction == 0.0


# --- the search ---


@pytest.mark.parametrize("number", range(len(POSITIONS)))
def test_the_whole_tree_is_that_of_the_transcribed_search(number: int) -> None:
    game, evaluator = ChessGame(POSITIONS[number]), HashEvaluator(number)
    reference = alphazero.Search(game.state, evaluator, Config(c_puct=1.0, priors_from_logits=_core.softmax))
    for _ in range(100):
        reference.simulate()
    mcts = MCTS(evaluator, 100)
    _, policy = mcts.get_policy(game)
    assert mcts.root is not None
    assert compare(mcts.root, reference.root, game.state) > 30
    counts = reference.visits.ravel()
    assert policy[game.state.legal_actions()].tolist() == (counts / counts.sum()).tolist()


def compare(node: Node, wanted: alphazero.Node, state: rf.State) -> int:
    """Compares two trees; returns how many visited nodes."""
    assert node.visit_count == wanted.visit_count
    assert node.q_value == pytest.approx(float(wanted.q_value), abs=1e-5)
    assert node.total_value == pytest.approx(float(wanted.total_value), abs=1e-3)
    assert {move.uci() for move in node.children} == {state.action_name(action) for action in wanted.children}
    compared = 1
    for move, child in node.children.items():
        action = state.action(move.uci())
        assert child.prior == float(wanted.children[action].prior)
        if child.visit_count:
            compared += compare(child, wanted.children[action], state.after(action))
        else:
            assert wanted.children[action].visit_count == 0
    return compared


def test_one_simulation_gives_the_prior() -> None:
    network, game = ChessNN(SMALL), ChessGame()
    mcts = MCTS(network, num_simulations=1)
    move, policy = mcts.get_policy(game, temperature=0)
    prior, value = network.predict(game)
    np.testing.assert_allclose(policy, prior, atol=1e-3)  # the engine's priors have 16 bits
    assert policy[game.get_move_index(move)] == policy.max()
    assert mcts.root is not None
    assert mcts.root.q_value == pytest.approx(value, abs=1e-6)
    assert {child.visit_count for child in mcts.root.children.values()} == {0}


def test_temperature() -> None:
    game = ChessGame(POSITIONS[1])
    mcts = MCTS(MaterialEvaluator(), 30, c_puct=4.0)
    greedy, policy = mcts.get_policy(game, temperature=0)
    assert policy[game.get_move_index(greedy)] == policy.max() < 1.0  # the policy itself has no temperature
    drawn = [mcts.search(game, temperature=1.0) for _ in range(40)]
    assert len(set(drawn)) > 5
    assert all(policy[game.get_move_index(move)] > 0 for move in drawn)
    again = MCTS(MaterialEvaluator(), 30, c_puct=4.0)
    again.get_policy(game, temperature=0)
    assert [again.search(game, temperature=1.0) for _ in range(5)] == drawn[:5]
    with pytest.raises(ValueError, match="temperature must be 0 or more"):
        mcts.search(game, temperature=-1)


def test_noise_is_mixed_into_the_priors_of_the_root() -> None:
    game, mcts = ChessGame(), MCTS(HashEvaluator(2), 10, dirichlet_epsilon=0.25)

    def priors(add_noise: bool) -> np.ndarray[Any, Any]:
        mcts.search(game, add_noise=add_noise)
        assert mcts.root is not None
        return np.array([child.prior for child in mcts.root.children.values()])

    plain = priors(False)
    assert plain.tolist() == priors(False).tolist()
    noises = [(priors(True) - 0.75 * plain) / 0.25 for _ in range(3)]
    for noise in noises:
        assert noise.min() > -1e-3
        assert noise.sum() == pytest.approx(1.0, abs=0.01)
    assert np.abs(noises[0] - noises[1]).max() > 0.05


def test_the_callers_game_is_unchanged() -> None:
    game = ChessGame()
    for move in ("g1f3", "g8f6", "f3g1", "f6g8"):
        game.make_move(move)
    before = (game.fen, game.state.fields["history"], hash(game))
    MCTS(MaterialEvaluator(), 30).get_policy(game, add_noise=True)
    assert (game.fen, game.state.fields["history"], hash(game)) == before


def test_what_cannot_be_searched() -> None:
    mcts = MCTS(MaterialEvaluator())
    mated = ChessGame("rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3")
    for ask in (mcts.search, mcts.get_policy):
        with pytest.raises(ValueError, match="the game is over"):
            ask(mated)
        with pytest.raises(TypeError, match="must be a ChessGame, not Board"):
            ask(chess.Board())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a ChessNN or an evaluator, not NoneType"):
        MCTS(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="simulations"):
        MCTS(MaterialEvaluator(), num_simulations=0)


def test_nodes_are_read_only() -> None:
    mcts = MCTS(MaterialEvaluator(), 10)
    mcts.search(ChessGame())
    root = mcts.root
    assert root is not None
    for name in ("prior", "visit_count", "total_value", "q_value", "children"):
        with pytest.raises(AttributeError, match="read-only"):
            setattr(root, name, 1)
    with pytest.raises(TypeError):
        root.children[chess.Move.from_uci("e2e4")] = root  # type: ignore[index]


# --- games ---


def test_moves_and_indices_are_a_bijection() -> None:
    rng, seen = random.Random(0), set()
    for fen in POSITIONS:
        game = ChessGame(fen)
        for _ in range(12):
            moves = game.get_legal_moves()
            assert sorted(move.uci() for move in moves) == sorted(move.uci() for move in game.board.legal_moves)
            indices = [game.get_move_index(move) for move in moves]
            assert len(set(indices)) == len(moves)
            assert all(0 <= index < 4672 for index in indices)
            assert [game.get_move(index) for index in indices] == moves
            seen.update(indices)
            if not moves:
                break
            game.make_move(rng.choice(moves))
    assert len(seen) > 150


def test_a_game_is_played_in_place() -> None:
    game = ChessGame()
    other = copy.deepcopy(game)
    game.make_move(chess.Move.from_uci("e2e4"))
    assert (other.fen, other.turn, game.turn) == (START, True, False)
    assert game != other == ChessGame()
    for move in (chess.Move.from_uci("e4e5"), "e7e8q", "0000"):
        with pytest.raises(IllegalAction, match="not a legal move"):
            game.make_move(move)
    with pytest.raises(IllegalAction, match="not the index of a legal move"):
        game.get_move(0)
    assert game.result() == "*"
    for move in ("f7f6", "d2d4", "g7g5", "d1h5"):
        game.make_move(move)
    assert (game.is_game_over(), game.result(), game.get_legal_moves()) == (True, "1-0", [])
    drawn = ChessGame("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1")
    assert (drawn.is_game_over(), drawn.result()) == (True, "1/2-1/2")
    with pytest.raises(ValueError, match="of chess"):
        ChessGame(state=rf.make("tictactoe").initial_state())


# --- networks ---


def test_a_network_that_was_never_built() -> None:
    network = ChessNN(SMALL, build=False)
    assert not network.is_built
    with pytest.raises(ValueError, match="call build_model"):
        MCTS(network).search(ChessGame())
    network.build_model()
    assert network.is_built
    assert isinstance(MCTS(network, 2).search(ChessGame()), chess.Move)


@pytest.mark.parametrize("name", ["net", "net.safetensors", pytest.param("net.onnx", marks=pytest.mark.slow)])
def test_networks_are_saved_and_loaded(tmp_path: Path, name: str) -> None:
    game, network = ChessGame(POSITIONS[1]), ChessNN(SMALL, seed=5)
    policy, value = network.predict(game)
    loaded = ChessNN(build=False)
    loaded.load_model(network.save_model(tmp_path / name))
    found, worth = loaded.predict(game)
    np.testing.assert_allclose(found, policy, atol=1e-4)
    assert worth == pytest.approx(value, abs=1e-4)
    if name.endswith(".onnx"):
        with pytest.raises(ValueError, match="loaded from an ONNX or Keras file"):
            loaded.save_model(tmp_path / "again.safetensors")


def test_files_that_are_no_networks_for_chess(tmp_path: Path) -> None:
    network = ChessNN(SMALL)
    with pytest.raises(ValueError, match=r"\.safetensors or \.onnx"):
        network.save_model(tmp_path / "net.keras")
    with pytest.raises(ValueError, match="there is no network"):
        network.load_model(tmp_path / "nothing.safetensors")
    with pytest.raises(ValueError, match="there is no file"):
        network.load_model(tmp_path / "nothing.keras")
    with pytest.raises(ValueError, match="for hex"):
        network.load_model("hex-5")


class FakeKeras:
    """A Keras model as far as an evaluator sees it, with planes last and a softmax."""

    input_shape = (None, 8, 8, 22)

    def predict_on_batch(self, observations: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
        assert observations.shape[1:] == (8, 8, 22)
        policy = np.ones((len(observations), 4672), np.float32)
        policy[:, 73 * 12 + 1] = 500.0  # the king's pawn by two squares
        return [policy / policy.sum(axis=1, keepdims=True), observations[:, :1, 0, 20] - 0.5]


def test_keras_models_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keras = types.ModuleType("keras")
    keras.saving = types.SimpleNamespace(load_model=lambda path, compile: FakeKeras())  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keras", keras)
    (tmp_path / "trained_model.keras").touch()
    network, game = ChessNN(), ChessGame()
    network.load_model(tmp_path / "trained_model.keras")
    policy, value = network.predict(game)
    assert policy[game.get_move_index("e2e4")] == pytest.approx(500 / 519, abs=1e-4)
    assert value == 0.5
    assert MCTS(network, 3).search(game, temperature=0).uci() == "e2e4"
    FakeKeras.predict_on_batch = lambda _, observations: [np.zeros((len(observations), 3))]  # type: ignore[method-assign, assignment]
    with pytest.raises(ValueError, match=r"a policy \[1, 4672\] and a value \[1, 1\], not \[1, 3\]"):
        network.predict(game)
    monkeypatch.setitem(sys.modules, "keras", None)
    with pytest.raises(ImportError, match="pip install keras"):
        network.load_model(tmp_path / "trained_model.keras")


def test_material_values_both_sides_alike() -> None:
    ahead = "rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR"  # black has no queen
    evaluator = MaterialEvaluator()

    def value(fen: str) -> float:
        batch = rf.engine.batch.batch_of([rf.make("chess").state(fen)])  # type: ignore[attr-defined]
        return float(evaluator.evaluate(batch).values[0])

    assert value(f"{START.split()[0]} w KQkq - 0 1") == pytest.approx(0.0)
    white, black = (value(f"{ahead} {side} KQkq - 0 1") for side in "wb")
    assert white == pytest.approx(-black)
    assert white > 0.6
    mirrored = chess.Board(f"{ahead} w KQkq - 0 1").mirror().fen()
    assert value(mirrored) == pytest.approx(white)


def test_captures_come_first_with_material() -> None:
    game = ChessGame("4k3/8/8/3q1p2/4P3/8/8/4K3 w - - 0 1")
    mcts = MCTS(MaterialEvaluator(), 2)
    mcts.search(game)
    assert mcts.root is not None
    priors = {move.uci(): child.prior for move, child in mcts.root.children.items()}
    assert max(priors, key=priors.__getitem__) == "e4d5"
    assert priors["e4d5"] > priors["e4f5"] > priors["e1f1"]


def test_evaluators_serve_too() -> None:
    flat = Function(lambda batch: (np.zeros((len(batch), 4672), np.float32), np.zeros(len(batch), np.float32)))
    for evaluator in (flat, rf.evaluators.Uniform(), rf.evaluators.Rollout()):
        assert isinstance(MCTS(evaluator, 3).search(ChessGame()), chess.Move)
