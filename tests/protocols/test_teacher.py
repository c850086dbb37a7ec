"""Teaching: what an engine writes becomes policies and values, in records that replay, without loss or repetition."""

from __future__ import annotations

import math
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import ramify as rf
from ramify.protocols.process import EngineError
from ramify.protocols.taught_games import GameTeacher, SeenPositions, make_label, position_key, seen_from_before
from ramify.protocols.teacher import Line, TeachConfig, Teacher, parse_lines, softmax
from ramify.protocols.teaching import SEEN, labelled, teach
from ramify.selfplay import decode, read_folder
from ramify.selfplay.encoding import count_recorded
from ramify.selfplay.records import read_header, shards

pytest.importorskip("chess")
pytest.importorskip("zstandard")
FAKE = f"{sys.executable} {Path(__file__).parent / 'fake_teacher.py'}"
QUICK = {"options": {}, "max_moves": 30, "opening_moves": 4, "patience": 20.0}


def config(manner: str = "", **more) -> TeachConfig:
    return TeachConfig(command=f"{FAKE} {manner}", **{**QUICK, **more})


def test_the_last_score_of_each_line_is_read() -> None:
    said = b"""info string NNUE evaluation using nn-ad9b42354671.nnue enabled
info depth 1 seldepth 1 multipv 1 score cp 13 wdl 11 984 5 nodes 20 nps 20000 tbhits 0 time 1 pv d2d4
info depth 2 seldepth 2 multipv 1 score cp 20 wdl 20 975 5 nodes 41 nps 20000 time 1 pv e2e4 e7e5
info depth 2 seldepth 2 multipv 2 score mate -3 nodes 41 nps 20000 time 1 pv g2g4 d8h4
info depth 3 seldepth 2 multipv 1 score cp 45 lowerbound wdl 50 945 5 nodes 60 nps 20000 time 1 pv d2d4
info depth 3 currmove e2e4 currmovenumber 1
bestmove e2e4 ponder e7e5""".split(b"\n")
    first, second = parse_lines(said, 4)
    assert first == Line("e2e4", 20, None, (20, 975, 5))
    assert second == Line("g2g4", None, -3)
    assert [line.move for line in parse_lines(said[:1] + said[4:5], 1)] == ["d2d4"]  # better a bound than nothing
    assert parse_lines(said[:1] + said[-1:], 4) == []


def test_chances_are_the_engines_own_or_those_of_the_formula() -> None:
    assert Line("e2e4", 20, None, (20, 975, 5)).chances == pytest.approx((0.02, 0.975, 0.005))
    win, draw, loss = Line("e2e4", 100).chances
    assert win == pytest.approx(0.5)
    assert loss == pytest.approx(1 / (1 + math.exp(200 / 35)))
    assert win + draw + loss == pytest.approx(1)
    assert Line("e2e4", -100).chances == pytest.approx((loss, draw, win))
    assert Line("e2e4", None, 4).chances == (1, 0, 0)
    assert Line("e2e4", None, -4).chances == (0, 0, 1)
    assert Line("e2e4", 30_000).chances[0] == pytest.approx(1)  # no overflow


def test_shorter_mates_are_better_and_all_are_better_than_material() -> None:
    order = [
        Line("x", None, 1),
        Line("x", None, 5),
        Line("x", 9999),
        Line("x", 0),
        Line("x", None, -9),
        Line("x", None, -2),
    ]
    utilities = [line.utility for line in order]
    assert utilities == sorted(utilities, reverse=True)


def test_a_score_after_the_move_is_seen_from_before_it() -> None:
    assert seen_from_before("e2e4", Line("e7e5", 30, None, (100, 880, 20))) == Line("e2e4", -30, None, (20, 880, 100))
    assert seen_from_before("e2e4", Line("e7e5", None, -2)).mate == 3
    assert seen_from_before("e2e4", Line("e7e5", None, 2)).mate == -2


def test_a_label_by_hand() -> None:
    """asinh of pawns over the temperature, in proportion; the value is that of player 0."""
    lines = [Line("a", 50, None, (500, 400, 100)), Line("b", 0, None, (300, 400, 300))]
    label = make_label(lines, [30, 10], 1, 0.5)
    assert label.policy == pytest.approx({30: 1, 10: math.exp(-math.asinh(0.5) / 0.5)})
    assert label.value == pytest.approx(-0.4)
    assert label.draw == pytest.approx(0.4)
    assert softmax([1000.0, 0.0], 0.01) == pytest.approx([1, 0])


@pytest.mark.parametrize("policy", ["multipv", "children"])
def test_a_game_is_labelled_and_replays(policy: str) -> None:
    game, seen = rf.make("chess"), set[int]()
    teacher = Teacher(config(multipv=3, policy=policy, random_shares=(0.3,)))
    try:
        played = GameTeacher(game, teacher, lambda key: not (key in seen or seen.add(key)), lambda: False).play(7)
    finally:
        teacher.close()
    record = decode(played.record)
    found = [(state, move) for state, move in zip(record.states(game), record.moves, strict=False) if move.found]
    assert played.labels == len(found) == count_recorded(played.record) > 5
    assert played.moves == len(record.moves)
    for state, move in found:
        legal, player = state.legal_actions(), state.acting[0]
        assert move.found.outcomes[player].tolist() == legal.tolist()
        visits = move.found.visits.reshape(-1)
        assert (visits > 0).sum() <= (3 if policy == "multipv" else len(legal))
        if policy == "multipv":  # the first move by name is the best one, at 30 centipawns: 120 of 1000 wins
            first = min(legal, key=lambda action: state.action_name(int(action)))
            assert legal[visits.argmax()] == first
            assert move.found.value[player] == pytest.approx(0.12 - 0.28)
            assert move.found.draw == pytest.approx(0.6)
    keys = [position_key(state.fen) for state, _ in found]
    assert len(set(keys)) == len(keys)


def test_an_engine_without_chances_is_asked_for_none() -> None:
    teacher = Teacher(config("plain", multipv=2))
    try:
        (first, second) = teacher.lines(rf.make("chess").initial_state().fen, 10)
    finally:
        teacher.close()
    assert (first.centipawns, second.centipawns, first.wdl) == (30, 0, None)


def test_a_run_is_resumed_and_labels_no_position_twice(tmp_path: Path) -> None:
    folder = tmp_path / "labels"
    first = teach(folder, config(), 20, engines=1)
    assert first.positions == first.new >= 20
    before, number = labelled(folder)
    assert before == first.positions
    (folder / SEEN).unlink()  # it is made again from the records
    second = teach(folder, config(), 60, engines=2)
    assert second.positions >= 60
    assert second.new == second.positions - first.positions
    assert teach(folder, config(), 50, engines=2).new == 0
    game, keys, numbers = rf.make("chess"), list[int](), list[int]()
    for header, records in read_folder(folder):
        assert header["teacher"]["nodes"] == 2000
        for record in records:
            numbers.append(record.number)
            states = zip(record.states(game), record.moves, strict=False)
            keys += [position_key(state.fen) for state, move in states if move.found]
    assert len(keys) == second.positions == sum(read_header(path)["positions"] for path in shards(folder))
    assert len(set(keys)) >= len(keys) - 2  # two processes may enter the same position at the same moment
    assert len(set(numbers)) == len(numbers)
    assert max(numbers) >= number


def test_ctrl_c_loses_nothing(tmp_path: Path) -> None:
    def stop(progress) -> None:
        if progress.new:
            raise KeyboardInterrupt

    done = teach(tmp_path, config(), 1_000_000, engines=1, progress=stop)
    assert 0 < done.new == labelled(tmp_path)[0]


def test_an_engine_that_dies_is_restarted_and_one_that_never_works_is_told(tmp_path: Path) -> None:
    done = teach(tmp_path / "a", config("dies 6"), 12, engines=1)
    assert done.failures >= 1
    assert labelled(tmp_path / "a")[0] == done.positions >= 12
    with pytest.raises(EngineError, match="out of luck"):
        teach(tmp_path / "b", TeachConfig(command=f"{sys.executable} -S -c 'exit(\"out of luck\")'"), 30, engines=1)
    with pytest.raises(EngineError, match="no program"):
        teach(tmp_path / "c", TeachConfig(command="no-such-engine"), 30)


def test_the_table_of_positions(tmp_path: Path) -> None:
    seen, other = (SeenPositions(tmp_path / "seen", 1000) for _ in range(2))
    keys = np.random.default_rng(0).integers(1, 2**63, 5000).tolist()
    assert all(seen.add(key) for key in keys)
    assert not any(other.add(key) for key in keys)  # as another process would see them
    fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 5 20"
    assert position_key(fen) == position_key(fen.replace("5 20", "0 1"))
    assert position_key(fen) != position_key(fen.replace("KQkq", "KQ"))


def test_the_command(run) -> None:
    code, out, err = run(
        "teach", "labels", "--engine", FAKE, "--positions", "20", "--engines", "1", "--teach", "max_moves=9"
    )
    assert (code, err) == (0, "")
    assert "labelled positions" in out
    code, _, err = run("teach", "labels", "--teach", "temperatur=1")
    assert code == 2
    assert "did you mean 'temperature'?" in err


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("stockfish") or Path("/usr/games/stockfish").exists()), reason="needs stockfish")
def test_stockfish_labels_positions(tmp_path: Path) -> None:
    command = shutil.which("stockfish") or "/usr/games/stockfish"
    done = teach(tmp_path, TeachConfig(command=command, nodes=200, multipv=3), 400, engines=2)
    assert done.positions >= 400
    assert done.failures == 0
    game, values = rf.make("chess"), list[float]()
    for _, records in read_folder(tmp_path):
        for record in records:
            for state, move in zip(record.states(game), record.moves, strict=False):
                if move.found is not None:
                    values.append(float(move.found.value[state.acting[0]]) * (1 if abs(state.heuristic) > 0.3 else 0))
    assert np.std(values) > 0.1  # they differ, and are not all of one side
