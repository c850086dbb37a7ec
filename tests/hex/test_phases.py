"""The phases after the first: the transposition table, batches, many games at once, players, and stress."""

from __future__ import annotations

import gc
import tracemalloc
import zlib
from collections.abc import Callable

import numpy as np
import pytest

import ramify as rf
from ramify import _core
from ramify.hex import (
    MCTS_CONFIG,
    BatchedMCTSNode,
    BatchedMCTSPlayer,
    BatchedMCTSSelfPlayEngine,
    BatchedNeuralMCTS,
    HexGameState,
    MCTSNode,
    Move,
    NeuralMCTS,
    Orchestrator,
    SelfPlayEngine,
    SimpleModelInference,
    evaluator_for,
    select_move,
)
from tests.reference import hex_search
from tests.reference.config import Config
from tests.reference.evaluators import HashEvaluator

from .helpers import after, fixed, random_game

WIN = ((0, 0), (0, 1), (1, 0), (0, 2))  # player 0 wins on (2, 0)


# --- phase 2: the table ---


def test_equal_and_turned_positions_share_a_node() -> None:
    """Openings that are rotations of each other have one evaluation; who comes second goes on below it."""
    asked: list[int] = []

    def evaluate(batch: rf.Batch) -> tuple[np.ndarray, np.ndarray]:
        asked.extend(batch.observations[:, :2].sum(axis=(1, 2, 3)).astype(int))  # stones
        return np.zeros((len(batch), 9), np.float32), np.zeros(len(batch), np.float32)

    model = rf.evaluators.Function(evaluate)
    NeuralMCTS(model, 100.0).search(after(3), 10)
    assert sorted(asked) == [0] + 9 * [1]
    asked.clear()
    engine = NeuralMCTS(model, 100.0, enable_transposition_table=True)
    root = engine.search(after(3), 10)
    assert {child.visits for child in root.children.values()} == {1}
    assert sorted(asked) == [0] + 5 * [1] + 4 * [2]  # the centre and four pairs of cells; below the pairs' second ones
    assert engine.statistics["table_hits"] == 4
    assert engine.statistics["hit_rate"] == pytest.approx(4 / (4 + 10))


def test_the_table_gives_the_visits_of_the_transcribed_search() -> None:
    for seed in range(3):
        start, evaluator = after(4, (1, 1)), HashEvaluator(seed)
        settings = Config(c_puct=1.4, graph=True, priors_from_logits=_core.softmax)
        reference = hex_search.Search(start.state, evaluator, settings)
        for _ in range(300):
            reference.simulate()
        engine = NeuralMCTS(evaluator, enable_transposition_table=True)
        root = engine.search(start, 300)
        assert [child.visits for child in root.children.values()] == reference.visits.ravel().tolist()
        assert engine.statistics["table_hits"] > 0


def test_a_turned_root_has_turned_visits() -> None:
    def evaluate(batch: rf.Batch) -> tuple[np.ndarray, np.ndarray]:
        """Numbers that turn with the position."""
        rows = []
        for planes in batch.observations:
            turned = planes[:, ::-1, ::-1]
            seed = zlib.crc32(min(planes.tobytes(), turned.tobytes()))
            drawn = np.random.default_rng(seed).normal(size=10).astype(np.float32)
            rows.append(drawn if planes.tobytes() <= turned.tobytes() else [*drawn[8::-1], drawn[9]])
        told = np.array(rows, np.float32)
        return told[:, :9], np.tanh(told[:, 9])

    engine = NeuralMCTS(rf.evaluators.Function(evaluate), enable_transposition_table=True)
    first, second = (engine.search(after(3, *moves), 200) for moves in (((0, 0), (0, 1)), ((2, 2), (2, 1))))
    assert first.mean_value == pytest.approx(second.mean_value, abs=1e-6)
    for (row, column), child in first.children.items():
        assert child.visits == second.children[2 - row, 2 - column].visits


def test_the_table_is_bounded() -> None:
    engine = NeuralMCTS(HashEvaluator(1), enable_transposition_table=True, max_table_size=50)
    root = engine.search(after(4), 500)
    assert engine.statistics["tree_size"] <= 50
    assert engine.statistics["table_full"]
    assert root.visits == 500
    free = NeuralMCTS(HashEvaluator(1), enable_transposition_table=True)
    free.search(after(4), 500)
    assert free.statistics["tree_size"] > 100
    assert not free.statistics["table_full"]


def test_the_table_finds_the_win_in_one() -> None:
    root = NeuralMCTS(fixed(), enable_transposition_table=True).search(after(3, *WIN), 50)
    assert select_move(root) == (2, 0)


# --- phase 3: batches, and the orchestrator ---


class Counting:
    """Counts the rows of every call."""

    def __init__(self) -> None:
        self.rows: list[int] = []

    def evaluate(self, batch: rf.Batch) -> rf.Evaluation:
        self.rows.append(len(batch))
        return HashEvaluator(0).evaluate(batch)


def test_a_batch_holds_leaves_of_one_tree() -> None:
    single, batched = Counting(), Counting()
    NeuralMCTS(single).search(after(5), 400)
    root = BatchedNeuralMCTS(batched, batch_size=16).search(after(5), 400)
    assert set(single.rows) == {1}
    assert max(batched.rows) == 16
    assert len(batched.rows) < len(single.rows) / 6
    assert root.visits == 400
    assert sum(child.visits for child in root.children.values()) == 399


def test_a_batch_of_one_is_the_plain_search() -> None:
    plain = NeuralMCTS(HashEvaluator(1)).search(after(4), 200)
    batched = BatchedNeuralMCTS(HashEvaluator(1), batch_size=1).search(after(4), 200)
    assert [(n.visits, n.mean_value) for n in plain.walk()] == [(n.visits, n.mean_value) for n in batched.walk()]


def test_the_batched_search_finds_the_win_in_one() -> None:
    root = BatchedNeuralMCTS(fixed(), batch_size=8).search(after(3, *WIN), 60)
    assert select_move(root) == (2, 0)


def test_many_positions_share_batches_and_do_not_disturb_each_other() -> None:
    model = Counting()
    states = [after(4), after(4, (1, 1)), after(4, (1, 1), (2, 2))]
    engine = BatchedNeuralMCTS(model, batch_size=1)
    roots = engine.search_many(states, 100)
    assert max(model.rows) == 3
    assert engine.statistics["simulations"] == 300
    for state, root in zip(states, roots, strict=True):
        alone = NeuralMCTS(HashEvaluator(0)).search(state, 100)
        assert root.state == state
        assert [n.visits for n in root.walk()] == [n.visits for n in alone.walk()]
    assert engine.search_many([], 10) == []


def test_the_orchestrator_fills_batches_from_many_games() -> None:
    model = Counting()
    engine = BatchedMCTSSelfPlayEngine(model, board_size=4, mcts_simulations=20, games_at_once=16)
    records = engine.play_games(24)
    assert [record.number for record in records] == list(range(24))
    assert max(model.rows) == 8  # half the games are gathered while the other half is evaluated
    assert np.mean(model.rows[: len(model.rows) // 2]) > 6
    for record in records:
        *_, last = record.states(rf.make("hex", size=4))
        assert last.is_over
        assert record.returns.tolist() == last.returns.tolist()
        assert all(move.found.visits.sum() == 19 for move in record.moves)


def test_a_game_of_self_play_does_not_depend_on_its_neighbours() -> None:
    def actions(together: int, first: int, count: int) -> list[list[tuple[int, ...]]]:
        engine = BatchedMCTSSelfPlayEngine(HashEvaluator(1), 4, 15, games_at_once=together, mcts_config={"seed": 3})
        return [[move.actions for move in record.moves] for record in engine.play_games(count, first)]

    assert actions(2, 0, 6)[2:4] == actions(16, 2, 2)


@pytest.mark.parametrize("table", [False, True])
def test_the_orchestrator_finds_what_searches_alone_find(table: bool) -> None:
    """Every move of games played side by side, and positions searched side by side with noise at the root."""
    config = {"num_simulations": 30, "enable_transposition_table": table, "seed": 5}
    model, game = Counting(), rf.make("hex", size=4)
    orchestrator = Orchestrator(model, board_size=4, games_at_once=8, mcts_config=config)
    records = orchestrator.play_games(8)
    assert max(model.rows) == 4  # leaves of several games
    alone = NeuralMCTS(HashEvaluator(0), enable_transposition_table=table)
    for record in records:
        for state, move in zip(record.states(game), record.moves, strict=False):
            root = alone.search(HexGameState(state=state), 30)
            assert [child.visits for child in root.children.values()] == move.found.visits.ravel().tolist()
    states = [after(4), after(4, (1, 1)), after(4, (1, 1), (2, 2))]
    for state, root in zip(states, orchestrator.search(states), strict=True):
        wanted = NeuralMCTS(HashEvaluator(0), enable_transposition_table=table, seed=5).search(state, 30)
        assert [(n.visits, n.mean_value) for n in root.walk()] == [(n.visits, n.mean_value) for n in wanted.walk()]
    noisy = {"seed": 9, "noise_fraction": 0.25}
    together = BatchedNeuralMCTS(HashEvaluator(0), batch_size=1, **noisy).search_many(states, 30)
    for state, root in zip(states, together, strict=True):
        wanted = NeuralMCTS(HashEvaluator(0), **noisy).search(state, 30)
        assert [n.visits for n in root.walk()] == [n.visits for n in wanted.walk()]
    with pytest.raises(ValueError, match="needs algorithm='mcts'"):
        Orchestrator(None, mcts_config={"algorithm": "minimax"})


# --- players and settings ---


def test_settings_that_are_given_are_used() -> None:
    """By dict, by name, or as mcts_simulations; by name goes first, and 800 is only what nobody has said."""
    for engine, wanted in (
        (BatchedMCTSSelfPlayEngine(fixed(), 3), 800),
        (BatchedMCTSSelfPlayEngine(fixed(), 3, mcts_config={"num_simulations": 100}), 100),
        (BatchedMCTSSelfPlayEngine(fixed(), 3, mcts_simulations=50, mcts_config={"num_simulations": 100}), 50),
        (BatchedMCTSSelfPlayEngine(fixed(), 3, num_simulations=60, mcts_config=MCTS_CONFIG), 60),
    ):
        assert engine.mcts_simulations == engine.config.num_simulations == wanted
    model = Counting()
    engine = BatchedMCTSSelfPlayEngine(model, 3, mcts_config={"num_simulations": 7}, temperature=0.0)
    [record] = engine.play_games(1)
    assert {int(move.found.visits.sum()) for move in record.moves} == {6}
    assert engine.temperature == 0


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (
            lambda: BatchedMCTSSelfPlayEngine(fixed(), mcts_config={"num_simulation": 5}),
            "did you mean 'num_simulations'",
        ),
        (lambda: BatchedMCTSSelfPlayEngine(fixed(), temprature=0.5), "'temprature'; did you mean 'temperature'"),
        (lambda: BatchedMCTSSelfPlayEngine(fixed(), 3, 5, num_simulations=6), "are the same setting"),
        (lambda: BatchedMCTSPlayer(fixed(), {"simulations": 5}), "did you mean 'num_simulations'"),
        (lambda: Orchestrator(fixed(), mcts_config={"enable_batch": True}), "did you mean 'enable_batching'"),
        (lambda: NeuralMCTS(fixed(), num_simulations=5), "no search setting 'num_simulations'"),
        (
            lambda: NeuralMCTS(fixed(), simulations=5),
            "simulations cannot be set here: use the argument num_simulations",
        ),
        (lambda: NeuralMCTS(fixed(), c_puct=2.0), "c_puct cannot be set here: use exploration_constant"),
    ],
)
def test_settings_that_are_not_understood_are_named(make: Callable[[], object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        make()


def test_names_and_arguments_are_those_of_the_design(tmp_path) -> None:
    """As a program would use them that was written against it."""
    pytest.importorskip("torch")
    file = rf.networks.save(tmp_path / "net", rf.networks.make(rf.make("hex", size=4), "1x8"))
    model = SimpleModelInference(file)
    root = NeuralMCTS(model=model, exploration_constant=1.4).search(root_state=after(4), num_simulations=20)
    assert isinstance(root, MCTSNode)
    player = BatchedMCTSPlayer(model_path=str(file), mcts_config={**MCTS_CONFIG, "num_simulations": 20})
    assert isinstance(player.model, SimpleModelInference)
    move = player.select_move(after(4))
    assert move == player._select_best_move(player.mcts_engine.search(after(4), player.num_simulations))

    engine = BatchedMCTSSelfPlayEngine(model, 4, mcts_simulations=20, enable_batching=True)
    assert isinstance(engine, SelfPlayEngine)
    assert isinstance(engine.mcts_engine, BatchedNeuralMCTS)
    root = engine.mcts_engine.search(after(4), engine.mcts_simulations)
    assert isinstance(root, BatchedMCTSNode)
    assert engine._select_move_from_visits(root) in root.children
    np.testing.assert_allclose(engine._temperature_scale([3, 1, 0], 0.5), [0.9, 0.1, 0.0])
    np.testing.assert_allclose(engine._temperature_scale([3, 1, 0], 0.0), [1.0, 0.0, 0.0])
    assert engine._select_move(after(4)) in after(4).get_legal_moves()
    assert engine.play_game().game_over


def test_a_self_play_engine_of_ones_own_chooses_its_moves() -> None:
    class First(SelfPlayEngine):
        def _select_move(self, state: HexGameState) -> Move:
            return state.get_legal_moves()[0]

    last = First(board_size=3).play_game()
    assert (
        last.move_history == tuple((row, column) for row in range(3) for column in range(3))[: len(last.move_history)]
    )
    assert last.game_over
    assert SelfPlayEngine(board_size=3, minimax_depth=2).play_game().winner == 0  # by alpha-beta, without a model


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("batching", [False, True])
def test_a_player_wins_in_one(table: bool, batching: bool) -> None:
    config = {**MCTS_CONFIG, "num_simulations": 60, "enable_transposition_table": table, "enable_batching": batching}
    player = BatchedMCTSPlayer(fixed(), config)
    assert player.select_move(after(3, *WIN)) == (2, 0)
    assert isinstance(player.mcts_engine, BatchedNeuralMCTS) == batching
    assert player.mcts_engine.config.graph == player.mcts_engine.config.canonical == table


def test_the_configuration_has_the_keys_and_defaults_of_the_specification() -> None:
    assert {
        "algorithm": "mcts",
        "num_simulations": 800,
        "exploration_constant": 1.4,
        "temperature": 1.0,
        "enable_transposition_table": False,
        "enable_batching": False,
    }.items() <= MCTS_CONFIG.items()
    with pytest.raises(ValueError, match="num_simulations"):
        BatchedMCTSPlayer(fixed(), {"num_simulation": 5})
    with pytest.raises(ValueError, match="algorithm"):
        BatchedMCTSPlayer(fixed(), {"algorithm": "alphabeta"})


def test_self_play_draws_moves_and_a_player_does_not() -> None:
    engine = BatchedMCTSSelfPlayEngine(fixed(size=4), 4, 50)
    start = HexGameState(4)
    assert len({engine.select_move(start) for _ in range(20)}) > 3
    player = BatchedMCTSPlayer(fixed(size=4), {"num_simulations": 50})
    assert len({player.select_move(start) for _ in range(5)}) == 1


def test_minimax_is_the_fallback() -> None:
    player = BatchedMCTSPlayer(None, {"algorithm": "minimax", "minimax_depth": 2})
    assert player.mcts_engine is None
    assert player.select_move(after(3, *WIN)) == (2, 0)
    assert player.select_move(after(3, (0, 0), (0, 1), (1, 0))) == (2, 0)  # the only move that does not lose at once
    engine = BatchedMCTSSelfPlayEngine(None, 3, mcts_config={"algorithm": "minimax", "minimax_depth": 2})
    assert engine.select_move(after(3, *WIN)) == (2, 0)
    with pytest.raises(ValueError, match="algorithm='mcts'"):
        engine.play_games(1)


def test_without_a_network_random_games_judge(tmp_path) -> None:
    evaluator, name = evaluator_for(rf.make("hex", size=4))
    assert (type(evaluator).__name__, name) == ("Rollout", "random games")
    assert evaluator_for(rf.make("tictactoe"))[1] == evaluator_for(rf.make("hex", size=11), "rollout")[1] == name
    with pytest.raises(ValueError, match="no network 'hex-99': no such file"):
        evaluator_for(rf.make("hex", size=4), "hex-99")
    pytest.importorskip("torch")
    rf.networks.save(tmp_path / "net", rf.networks.make(rf.make("hex", size=5), "1x8"))
    evaluator, name = evaluator_for(rf.make("hex", size=4), str(tmp_path / "net"))  # made for another size
    assert name == "net"
    result = rf.search(rf.make("hex", size=4).initial_state(), evaluator, simulations=4)
    assert result.visits.sum() == 3


# --- stress ---


def test_many_games_of_every_size_end_with_a_winner() -> None:
    rng = np.random.default_rng(7)
    for size in (2, 3, 4, 5, 11, 19):
        engine = BatchedNeuralMCTS(rf.evaluators.Rollout(), batch_size=4, enable_transposition_table=True)
        for state in list(random_game(size, rng))[: 2 if size == 19 else 40]:
            if state.game_over:
                continue
            root = engine.search(state, 24)
            assert root.visits == 24
            assert sum(child.visits for child in root.children.values()) == 23
            assert set(root.children) == set(state.get_legal_moves())
            assert -1 <= root.mean_value <= 1


def test_searches_leave_no_memory_behind() -> None:
    engine = NeuralMCTS(rf.evaluators.Rollout())

    def search() -> None:
        for node in engine.search(after(4), 100).walk():
            assert node.visits

    search()
    tracemalloc.start()
    search()
    first = tracemalloc.get_traced_memory()[0]
    for _ in range(10):
        search()
    gc.collect()
    assert tracemalloc.get_traced_memory()[0] < first + 50_000
    tracemalloc.stop()
