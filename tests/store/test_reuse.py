"""Which stored games are reused: not those that were forfeited, nor those of other versions, nor any on request."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path
from typing import Literal

import pytest

import ramify as rf
from ramify.arena import PlayerConfig, Progress, Tournament, match, read_player, register_player, round_robin

pytest.importorskip("sqlalchemy")
pytest.importorskip("alembic")

from ramify.store import Store

FAKE = Path(__file__).parent.parent / "protocols" / "fake_uci.py"
GAMES = ["--games", "6"]


@register_player
class FailingConfig(PlayerConfig):
    """Fails at its first turn as long as a file is there; then plays its first legal action."""

    kind: Literal["test_failing"] = "test_failing"
    file: str
    words: int = 1

    def open(self, game: rf.Game) -> FailingConfig:
        return self

    def choose(self, turns):
        if Path(self.file).exists():
            raise MemoryError("out of memory" + " and so on" * self.words + " at line 7")
        return [int(turn.state.legal_actions(turn.player)[0]) for turn in turns]

    def close(self) -> None:
        pass


@pytest.fixture
def trouble(tmp_path: Path) -> Path:
    file = tmp_path / "trouble"
    file.touch()
    return file


def test_forfeits_are_kept_apart_and_played_again(place: str, trouble: Path) -> None:
    game, player = rf.make("tictactoe"), FailingConfig(file=str(trouble))
    plan = Tournament(game, tuple(round_robin([player, "random"])), games=6)
    with Store(place) as store:
        failed = plan.run(results=store.results())
        assert len(failed.forfeits) == 6
        assert failed.counts() == {}
        assert store.games() == []
        assert len(store.games(forfeits=True)) == 6
        assert len(store.results(forfeits=True).find([game.key for game in failed.games])) == 6
        trouble.unlink()
        played = plan.run(results=store.results())
        assert not played.forfeits
        assert {one.key: one for one in store.games(forfeits=True)} == {one.key: one for one in played.games}
        trouble.touch()
        assert plan.run(results=store.results()) == played  # games that were played to their end are found


def test_replay_plays_everything_and_replaces_it(tmp_path: Path, trouble: Path) -> None:
    game, player = rf.make("tictactoe"), FailingConfig(file=str(trouble))
    trouble.unlink()
    seen: list[Progress] = []
    with Store(tmp_path / "x.db") as store:
        first = match(game, player, "random", 6, results=store.results())
        with sqlite3.connect(store.path) as other:  # as if it had been played otherwise
            other.execute("UPDATE games SET detail = 'old'")
        other.close()
        assert match(game, player, "random", 6, results=store.results(replay=True), watch=seen.append) == first
        assert (seen[0].found, seen[-1].done) == (0, 6)
        assert {played.detail for played in store.games()} == {""}
        trouble.touch()
        again = match(game, player, "random", 6, results=store.results(replay=True))
        assert all(played.forfeited for played in again)
        kept = {played.key: played for played in store.games()}
        assert kept == {played.key: played for played in first}  # a failure takes nothing away


def test_games_of_another_engine_are_not_found_but_rated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game = rf.make("tictactoe")
    with Store(tmp_path / "x.db") as store:
        match(game, "search:simulations=2", "random", 4, results=store.results())
        monkeypatch.setattr("ramify.arena.player.ENGINE_VERSION", "another")
        match(game, "search:simulations=2", "random", 4, results=store.results())
        assert len(store.games()) == 8
        versions = {player.versions["engine"] for player in store.players().values() if player.versions}
        assert len(versions) == 2


def test_the_command_counts_forfeits_only_on_request(run, trouble: Path) -> None:
    failing = f"test_failing:file={trouble}"
    code, out, _ = run("match", "tictactoe", failing, "random", *GAMES)
    assert code == 0
    first = out.splitlines()[0]
    assert "forfeited 6 of its 6 games" in first
    assert "MemoryError" in first
    assert "Elo" not in out
    _, out, _ = run("match", "tictactoe", failing, "random", *GAMES, "--json", "--count-forfeits")
    counted = json.loads(out)
    assert (counted["found"], counted["played"], counted["forfeits_counted"]) == (0, 6, True)
    assert {row["player"]: row["points"] for row in counted["players"]}["random"] == 6
    assert len(counted["warnings"]) == 1
    code, _, err = run("ratings")
    assert (code, "no such games" in err) == (2, True)
    trouble.unlink()
    _, out, _ = run("match", "tictactoe", failing, "random", *GAMES, "--json")
    assert json.loads(out)["played"] == 6
    assert json.loads(out)["warnings"] == []


@pytest.mark.parametrize("command", ["match", "tournament"])
def test_the_commands_replay(run, command: str) -> None:
    arguments = [command, "tictactoe", "search:simulations=2", "random", *GAMES, "--json"]
    counts = []
    for more in ([], [], ["--replay"]):
        _, out, _ = run(*arguments, *more)
        counts.append((json.loads(out)["found"], json.loads(out)["played"]))
    assert counts == [(0, 6), (6, 0), (0, 6)]


def test_long_errors_are_cut(run, trouble: Path) -> None:
    _, out, _ = run("match", "tictactoe", f"test_failing:file={trouble},words=100000", "random", *GAMES)
    assert "MemoryError: out of memory" in out
    assert "at line 7" in out
    assert len(out) < 2000


def test_of_a_program_that_dies_the_last_lines_are_shown(tmp_path: Path) -> None:
    from ramify.protocols import EngineError, HtpConfig

    program = tmp_path / "loud.py"
    program.write_text(
        "import sys\n"
        "for i in range(50000): print('debug', i, 'x' * 80, file=sys.stderr)\n"
        "sys.exit('no such weights: net.bin')\n"
    )
    with pytest.raises(EngineError, match=r"no such weights: net\.bin") as raised:
        HtpConfig(command=f"{sys.executable} {program}").open(rf.make("hex", size=3))
    assert "debug 49998" in str(raised.value)
    assert "debug 49997" not in str(raised.value)
    assert len(str(raised.value)) < 1000


def first_store(path: Path) -> None:
    """A file as the first version of the tables has it, with two games, one of them forfeited."""
    from alembic import command
    from sqlalchemy import create_engine

    from ramify.store.database import migrations_config

    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config = migrations_config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    engine.dispose()
    with sqlite3.connect(path) as other:
        for identity, kind in (("a" * 16, "search"), ("b" * 16, "random")):
            row = (identity, kind, kind, "{}", "2026-01-01 00:00:00.000000")
            other.execute("INSERT INTO players VALUES (?, ?, ?, ?, ?)", row)
        for number, reason in enumerate(("end", "end", "forfeit")):
            row = (number, f"{number:032}", "tictactoe", "{}", "a" * 16, "b" * 16, "[]", 0, number, "{}", "[]")
            row += (1.0, -1.0, number % 2, reason, "", 0.0, 0.0, "2026-01-01 00:00:00.000000")
            other.execute(f"INSERT INTO games VALUES ({', '.join('?' * len(row))})", row)
    other.close()


def test_a_store_of_the_first_version_opens_and_rates_and_is_not_reused(run) -> None:
    first_store(Path("ramify.db"))
    code, out, _ = run("ratings", "--json")
    assert code == 0
    assert {row["player"]: row["games"] for row in json.loads(out)["players"]} == {"search": 2, "random": 2}
    with Store("ramify.db") as store:
        assert {player.versions for player in store.players().values()} == {None}
        assert len(store.games(forfeits=True)) == 3
    _, out, _ = run("match", "tictactoe", "search:simulations=2", "random", *GAMES, "--json")
    assert json.loads(out)["found"] == 0
    _, out, _ = run("ratings", "--json")
    names = {row["player"] for row in json.loads(out)["players"]}
    assert {f"random [{'b' * 6}]", f"random [{read_player('random').identity[:6]}]"} <= names
