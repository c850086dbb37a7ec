"""Games of the arena as files: openings from positions, results, and the players' values."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import ramify as rf
from ramify.arena import MatchConfig, Openings, match
from ramify.arena.game_files import write_games
from ramify.arena.played import Limits
from ramify.games.files import GameFileError

FEN = "4k3/pppp4/8/8/8/8/PPPP4/4K3 w - - 0 1"


def test_a_match_from_a_position_as_pgn(tmp_path: Path) -> None:
    pytest.importorskip("chess")
    import chess.pgn

    game = rf.make("chess")
    config = MatchConfig(Openings([(f"position {FEN}", "a2a3")]), 0, Limits(max_moves=6))
    played = match(game, "search:simulations=4,evaluator=uniform", "random", 2, config=config)
    names = {identity: name for one in played for identity, name in zip(one.fixture.players, ("A", "B"), strict=True)}
    assert write_games(tmp_path / "games.pgn", game, played, names) == 2
    file = io.StringIO((tmp_path / "games.pgn").read_text())
    for one in played:
        read = chess.pgn.read_game(file)
        assert read.headers["FEN"] == FEN
        assert (read.headers["Result"], read.headers["Termination"]) == ("1/2-1/2", "unterminated")
        assert len(list(read.mainline_moves())) == len(one.actions) == 6
        values = [node.eval() is not None for node in read.mainline()]
        seat = 0 if one is played[0] else 1  # the player that searches tells its values, the random one has none
        assert values == [number > 0 and number % 2 == seat for number in range(6)]
    assert chess.pgn.read_game(file) is None


def test_games_that_no_file_can_hold_are_refused(tmp_path: Path) -> None:
    with pytest.raises(GameFileError, match="saved only in the store"):
        write_games(tmp_path / "games.pgn", rf.make("tictactoe"), [], {})
    with pytest.raises(GameFileError, match=r"saved as \.sgf"):
        write_games(tmp_path / "games.pgn", rf.make("hex"), [], {})


def test_the_command_saves_a_match(run, tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    players = ["random", "search:simulations=3,evaluator=uniform"]
    code, _, err = run("match", "hex", *players, "-p", "size=3", "--games", "2", "--save", "games.sgf")
    assert (code, err) == (0, "")
    text = (tmp_path / "games.sgf").read_text()
    assert text.count("(;FF[4]GM[11]") == 2
    assert "C[value " in text
    assert run("match", "hex", *players, "--save", "games.pgn")[0] == 2
