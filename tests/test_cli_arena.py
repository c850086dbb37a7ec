"""The arena's commands: what they show agrees with the library, games are kept, mistakes are one line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ramify as rf
from ramify.arena import match, read_player, short_names
from ramify.arena.player import player_kind
from ramify.base.settings import settable
from tests.store.helpers import saved

pytest.importorskip("sqlalchemy")
pytest.importorskip("alembic")

WEAK, STRONG = "search:simulations=2,evaluator=uniform", "search:simulations=40"


def test_a_match_is_shown_kept_and_not_played_again(run) -> None:
    options = ["--games", "12", "--json"]
    code, out, _ = run("match", "tictactoe", STRONG, WEAK, *options)
    first = json.loads(out)
    assert code == 0
    assert (first["played"], first["found"], first["complete"]) == (12, 0, True)
    games = match(rf.make("tictactoe"), read_player(STRONG), read_player(WEAK), 12)
    best = read_player(STRONG).identity
    rows = {row["identity"]: row for row in first["players"]}
    assert rows[best]["points"] == sum(game.points[game.fixture.players.index(best)] for game in games)
    assert rows[read_player(WEAK).identity]["elo"] == 0
    assert rows[best]["low"] < rows[best]["elo"] < rows[best]["high"]
    assert Path("ramify.db").exists()
    _, out, _ = run("match", "tictactoe", WEAK, STRONG, *options)
    again = json.loads(out)
    assert (again["played"], again["found"]) == (0, 12)
    assert sorted(again["crosstable"].items()) == sorted(first["crosstable"].items())


def test_tables_have_short_names_and_json_has_whole_texts(run) -> None:
    common = "evaluator=uniform,temperature_moves=3,c_puct=1.5"
    players = [
        f"search:name=strong,simulations=40,{common}",
        f"search:simulations=2,{common}",
        f"search:simulations=4,{common}",
    ]
    options = ["--games", "2", "--anchor", "strong"]
    code, out, _ = run("tournament", "tictactoe", *players, *options)
    assert code == 0
    assert "temperature_moves" not in out
    assert all(text in out for text in ("strong", "uniform @2 ", "uniform @4 "))
    found = json.loads(run("tournament", "tictactoe", *players, *options, "--json")[1])
    assert found["found"] == 6
    rows = {row["player"]: row for row in found["players"]}
    assert set(rows) == {read_player(text).label for text in players}
    assert [row["elo"] for row in rows.values() if row["name"] == "strong"] == [0.0]


def test_a_tournament_and_the_ratings_of_its_store_agree(run) -> None:
    third = "search:simulations=8"
    command = ["tournament", "tictactoe", WEAK, third, STRONG, "--games", "6", "--store", "t.db"]
    code, out, _ = run(*command)
    assert code == 0
    for name in short_names([read_player(player).label for player in (WEAK, third, STRONG)]):
        assert name in out
    assert "anchor" in out
    assert "/6" in out
    _, out, _ = run(*command, "--anchor", third, "--json")
    table = json.loads(out)
    assert table["found"] == 18
    _, out, _ = run("ratings", "--store", "t.db", "--anchor", third, "--json")
    ratings = json.loads(out)
    assert ratings["players"] == table["players"]
    assert ratings["params"] == {}
    _, out, _ = run("ratings", "--store", "t.db", "--advantage")
    assert "First-move advantage" in out
    run("match", "hex", WEAK, third, "-p", "size=3", "--games", "2", "--store", "t.db")
    code, _, err = run("ratings", "--store", "t.db")
    assert code == 2
    assert "several games fit" in err
    assert "hex size=3 swap=False (2 games)" in err
    assert run("ratings", "--store", "t.db", "hex", "-p", "size=3")[0] == 0


def test_ratings_say_what_elo_means_and_rate_those_apart_who_never_met(run) -> None:
    others = ["random", "search:simulations=8"]
    for first, second in ([STRONG, WEAK], others):
        run("match", "tictactoe", first, second, "--games", "6", "--store", "g.db")
    code, out, _ = run("ratings", "--store", "g.db", "--anchor", WEAK)
    assert code == 0
    assert "There are 2 groups of players without games between them" in out
    weak = short_names([WEAK, STRONG])[0]
    assert out.index("group 1") < out.index(weak) < out.index("group 2") < out.index(others[0])
    assert len(re.findall(r"\banchor {2}", out)) == 2
    assert "An Elo difference predicts the points per game" in out
    _, out, _ = run("ratings", "--store", "g.db", "--anchor", WEAK, "--json")
    found = json.loads(out)
    assert [row["group"] for row in found["players"]] == [0, 0, 1, 1]
    assert set(found["draw_model"]["strengths"]) == {row["identity"] for row in found["players"]}
    run("match", "tictactoe", WEAK, others[0], "--games", "2", "--store", "g.db")
    assert "groups" not in run("ratings", "--store", "g.db")[1]


def test_a_match_and_the_ratings_of_its_store_have_the_same_anchor(run) -> None:
    def anchor(*arguments: str) -> tuple[str, float]:
        found = json.loads(run(*arguments, "--json")[1])
        row = next(row for row in found["players"] if row["identity"] == found["anchor"])
        return row["player"], row["elo"]

    options = ["--games", "4", "--store", "a.db"]
    label = {player: read_player(player).label for player in (WEAK, STRONG, "random")}
    assert anchor("match", "tictactoe", STRONG, WEAK, *options) == (label[WEAK], 0)  # both new: the one to beat
    assert anchor("ratings", "--store", "a.db") == (label[WEAK], 0)
    assert anchor("match", "tictactoe", WEAK, STRONG, *options) == (label[WEAK], 0)
    assert anchor("match", "tictactoe", STRONG, "random", *options) == (label[STRONG], 0)  # it was there before
    assert anchor("tournament", "tictactoe", "random", STRONG, WEAK, *options) == (label[WEAK], 0)
    shown = short_names([label[STRONG], label[WEAK]])[0]
    assert anchor("match", "tictactoe", STRONG, WEAK, *options, "--anchor", shown) == (label[STRONG], 0)
    assert f"relative to {shown}" in run("ratings", "--store", "a.db", "--anchor", shown)[1]


@pytest.mark.parametrize(("games", "few"), [(4, True), (20, False)])
def test_a_match_of_few_games_says_so(run, games: int, few: bool) -> None:
    _, out, _ = run("match", "tictactoe", "random", "alphabeta:depth=1", "--games", str(games))
    assert ("Too few games" in out) == few
    assert "…" in out  # the interval
    assert "+0 " not in out
    assert "-0 " not in out


def test_a_match_with_draws_shows_points_to_expect(run) -> None:
    arguments = ["match", "tictactoe", STRONG, "alphabeta:depth=3", "--games", "20", "--json"]
    rows = json.loads(run(*arguments)[1])["players"]
    assert rows[0]["draws"] > 0
    points = {row["identity"]: row["points"] / row["games"] for row in rows}
    top, bottom = rows
    wanted = 1 / (1 + 10 ** ((bottom["elo"] - top["elo"]) / 400))
    assert points[top["identity"]] == pytest.approx(wanted, abs=0.02)  # the prior's part


def test_a_gate_is_played_and_its_characteristic_shown(run) -> None:
    code, out, _ = run("gate", "tictactoe", "search:simulations=40", "random", "--elo1", "200", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["verdict"] == "stronger"
    assert found["wins"] + found["draws"] + found["losses"] == found["games"] == 2 * sum(found["pairs"])
    _, out, _ = run("gate", "tictactoe", "search:simulations=40", "random", "--max-games", "4")
    assert "rollout @40 against random: undecided" in out
    table = ["gate", "--characteristic", "--elo1", "200", "--max-games", "100"]
    code, out, _ = run(*table)
    assert code == 0
    assert "undecided" in out
    rows = json.loads(run(*table, "--json")[1])["characteristic"]
    assert [row["elo"] for row in rows] == [-100, 0, 50, 100, 150, 200, 300]
    assert all(row["stronger"] + row["not_stronger"] + row["undecided"] == pytest.approx(1) for row in rows)


def test_a_gauntlet_against_the_pool(run) -> None:
    code, out, _ = run(
        "tournament", "goofspiel", WEAK, "--pool", "--gauntlet", "-p", "cards=5", "--games", "2", "--json"
    )
    table = json.loads(out)["crosstable"]
    assert code == 0
    assert len(table) >= 6
    assert all(read_player(WEAK).identity in pair.split() for pair in table)


def test_network_and_settings_are_defaults_of_players_that_search_a_learned_model(run) -> None:
    options = ["--network", "muzero-connect-four", "-s", "simulations=2", "--games", "2", "--json"]
    code, out, err = run("match", "connect_four", "muzero", "random", *options)
    assert code == 0, err
    texts = [row["player"] for row in json.loads(out)["players"]]
    assert "muzero:simulations=2,network=muzero-connect-four" in texts
    assert "muzero" in run("match", "--help")[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["match", "hex", "serch", WEAK], ["serch", "did you mean 'search'?"]),
        (["match", "hex", "search:simulation=3", WEAK], ["simulation", "did you mean 'simulations'?"]),
        (["match", "hex", "network:network=none", WEAK], ["none", "no such file"]),
        (["match", "hex", WEAK, STRONG, "--games", "3"], ["even number"]),
        (["match", "tictactoe", WEAK, STRONG, "--opening", "random:99"], ["use fewer"]),
        (["match", "hex", WEAK, STRONG, "--opening", "somehow"], ["somehow", "random:K"]),
        (["match", "hex", WEAK, STRONG, "--opening", "nope.txt"], ["no file 'nope.txt' with openings"]),
        (["match", "hex", WEAK, STRONG, "--opening", sys.executable], ["not a text file with openings"]),
        (["match", "hex", WEAK, STRONG, "-p", "size"], ["key=value"]),
        (["match", "hxe", WEAK, STRONG], ["did you mean 'hex'?"]),
        (["match", "hex", WEAK, WEAK, "-p", "size=3"], ["same player"]),
        (
            ["match", "connect_four", "search:rollout_share=0.5,rollout_by=planner,network=connect-four", WEAK],
            ["rollout_by='planner' needs"],
        ),
        (["match", "connect_four", "muzero:network=muzero-connect-four,solver=true", WEAK], ["solver=True needs"]),
        (["match", "connect_four", "muzero", WEAK, "--network", "connect-four"], ["use search:network=connect-four"]),
        (["gate", "hex", WEAK], ["two players", "--characteristic"]),
        (["gate", "--characteristic", "--elo1", "-5"], ["elo0 must be less than elo1"]),
        (["tournament", "hex", WEAK], ["two players"]),
        (["tournament", "hex", WEAK, STRONG, "--anchor", "nobody"], ["nobody"]),
        (["ratings"], ["no store", "ramify.db"]),
    ],
)
def test_a_mistake_is_one_line(run, arguments: list[str], words: list[str]) -> None:
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert [word for word in words if word not in err] == []


def test_a_store_of_something_else_is_one_line(run) -> None:
    Path("ramify.db").write_text("no database at all, and more of it\n" * 40)
    code, _, err = run("match", "hex", WEAK, STRONG, "-p", "size=3")
    assert code == 2
    assert "cannot be opened as a store" in err


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(tmp_path: Path) -> None:
    # The shell that runs tests in the background may have told its children to ignore Ctrl-C.
    listen = "import signal, sys; signal.signal(2, signal.default_int_handler)"
    code = f"{listen}; from ramify.cli import main; main(sys.argv[1:])"
    arguments = ["match", "hex", "search:simulations=400", "search:simulations=300", "-p", "size=5", "--games", "20000"]
    command = [sys.executable, "-c", code, *arguments, "--concurrency", "2", "--json"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and saved(tmp_path / "ramify.db") < 3:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130
    assert "games are saved; run the same command again to resume" in err
    stopped = json.loads(out)
    assert not stopped["complete"]
    assert stopped["played"] == saved(tmp_path / "ramify.db") >= 3


def test_progress_says_how_fast_and_how_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ramify.arena import Progress
    from ramify.cli.arena import progress_bar, rate_text

    assert rate_text(Progress(100, 20, 20, 0.0)) == "20 from the store"
    assert rate_text(Progress(100, 40, 20, 10.0)) == "2.00/s  0:30 left  20 from the store"
    with progress_bar(quiet=True) as watch:
        assert watch is None
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with progress_bar(quiet=False) as watch:
        assert watch is not None
        watch(Progress(100, 60, 20, 10.0))
    assert "60/100" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["uci", "search", "alphabeta"])
def test_help_lists_the_settings_of_a_kind_of_player(run, kind: str) -> None:
    code, out, err = run("match", "chess", f"{kind}:help", "random")
    assert (code, err) == (0, "")
    config = player_kind(kind)
    assert config is not None
    listed = [line.split()[0] for line in out.splitlines() if not line.startswith(" ")]
    alone = [name for name in listed if "." not in name]  # those of a group follow it
    assert alone == ["setting", *settable(config.model_fields)]
    assert run("play", "chess", "--network", "material", "--against", f"{kind}:help")[1] == out
