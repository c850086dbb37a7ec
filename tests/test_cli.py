"""The command line: what it shows agrees with the library, and mistakes are one line with exit code 2."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import ramify as rf
from ramify import _core
from ramify.arena import SearchPlayerConfig, Turn, read_player
from ramify.cli import bench, doctor, main, selfplay, watch
from ramify.cli.common import parse_settings


def test_the_installed_command_answers() -> None:
    command = [sys.executable, "-m", "ramify", "--version"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert shown == f"ramify {rf.__version__}\n"


def test_without_a_command_it_helps(run) -> None:
    code, out, _ = run()
    assert code == 0
    for command in ("games", "analyze", "doctor", "demo", "watch"):
        assert command in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gmaes"], ["gmaes", "games"]),
        (["games", "--unknown"], ["--unknown"]),
        (["games", "tictactoo"], ["tictactoo", "did you mean 'tictactoe'?"]),
        (["games", "tictactoe", "-p", "size=4"], ["size"]),
        (["games", "tictactoe", "-p", "size"], ["key=value", "'size'"]),
        (["watch", "nothing"], ["nothing"]),
        (["bench", "serach"], ["'serach'", "did you mean 'search'?"]),
        (["bench", "hxe"], ["'hxe'", "did you mean 'hex'?"]),
        (["watch", "hex", "search:simulations=0"], ["simulations=0"]),
        (["watch", "hex", "-p", "size=100"], ["size", "100"]),
    ],
)
def test_a_mistake_is_one_line(run, arguments: list[str], words: list[str]) -> None:
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("ramify: ")
    assert [word for word in words if word not in err] == []


def test_games_lists_every_game_with_every_parameter(run) -> None:
    code, out, _ = run("games", "--json")
    assert code == 0
    rows = {row["name"]: row["parameters"] for row in json.loads(out)}
    assert sorted(rows) == rf.list_games()
    for name in _core.game_names():
        listed = [(entry["name"], entry["default"], entry["meaning"]) for entry in rows[name]]
        assert listed == _core.game_params(name)


def test_games_prints_names_meanings_and_brackets(run, monkeypatch: pytest.MonkeyPatch) -> None:
    meaning = "rows [n0] and columns"
    monkeypatch.setattr(_core, "game_params", lambda _: [("size", 11, meaning)])
    code, out, _ = run("games")
    assert code == 0
    for word in ("tictactoe", "size", "11", meaning):
        assert word in out


def test_one_game_in_detail(run) -> None:
    game = rf.make("tictactoe")
    _, out, _ = run("games", "tictactoe", "--json")
    data = json.loads(out)
    assert data["num_actions"] == game.num_actions == 9
    assert tuple(data["observation_shape"]) == game.observation_shape
    assert data["symmetries"] == [symmetry.name for symmetry in game.symmetries]
    assert data["bytes_per_state"] == game.state_bytes
    assert data["initial_state"] == str(game.initial_state())
    _, out, _ = run("games", "tictactoe")
    assert str(game.initial_state()) in out
    assert "9 actions, observation 2 x 3 x 3" in out


def test_games_from_elsewhere_are_named_and_shown(run) -> None:
    assert "openspiel:NAME" in run("games")[1]
    code, out, _ = run("games", "openspiel:breakthrough", "-p", "rows=6", "-p", "columns=4", "--json")
    assert code == 0
    data = json.loads(out)
    assert data["name"] == "openspiel:breakthrough"
    assert {"rows": 6, "columns": 4}.items() <= {row["name"]: row["value"] for row in data["parameters"]}.items()


@pytest.mark.parametrize("name", _core.game_names())
def test_every_game_can_be_shown(run, name: str) -> None:
    code, out, _ = run("games", name)
    assert code == 0
    assert out.startswith(name)


def test_settings_are_typed_as_people_type_them() -> None:
    words = ["a=7", "b=0.5", "c=true", "d=False", "e=ascending", "f=[[1, 2], [3, 4]]", "g=a=b", "h="]
    assert parse_settings(words) == {
        "a": 7,
        "b": 0.5,
        "c": True,
        "d": False,
        "e": "ascending",
        "f": [[1, 2], [3, 4]],
        "g": "a=b",
        "h": "",
    }


def test_doctor_tells_what_is_there(run) -> None:
    code, out, _ = run("doctor", "--json")
    report = json.loads(out)
    assert code == 0
    assert report["healthy"]
    assert report["ramify"] == rf.__version__
    assert report["core"]["games"] == _core.game_names()
    assert report["core"]["compiler"].startswith(("gcc", "clang"))
    versions = {entry["package"]: entry["version"] for entry in report["extras"]}
    import chess

    assert versions["chess"] == chess.__version__


def test_doctor_looks_for_packages_by_the_names_of_the_extras() -> None:
    """An import's name, such as yaml, is not what was installed."""
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    for package, extra, _ in doctor.EXTRAS:
        required = [re.split(r"[^\w.-]", entry)[0] for entry in project["optional-dependencies"][extra]]
        assert package in required


def test_the_star_of_doctor_is_explained_by_the_rule_that_chooses(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    from ramify.evaluators.speeds import BACKENDS, TIE, fastest

    slower = {BACKENDS[0]: 100 * (1 - TIE / 2), BACKENDS[1]: 100.0}  # by less than noise
    Console(width=150).print(doctor.speeds_table({"a network": {"1": slower, "8": {**slower, BACKENDS[0]: 50.0}}}))
    head, first, second = capsys.readouterr().out.splitlines()
    assert f"the first within {100 * TIE:.0f} % of the fastest" in head
    for row, star in ((first, BACKENDS[0]), (second, BACKENDS[1])):
        assert head[: row.index("*") + 1].split()[-1] == star
    assert fastest(slower) == BACKENDS[0]


def test_figures_of_a_benchmark_are_shown_as_shares() -> None:
    assert bench.shown("where", {"gathering": 0.12345, "waiting": 0.5}) == "gathering 12.3 %, waiting 50.0 %"
    assert bench.shown("ratio", 0.98765) == "98.8 %"
    assert bench.shown("evaluations_per_s", 12345.678) == "12,346"
    assert bench.shown("mean_batch", 7.25) == "7.250"
    assert bench.shown("batch", 8) == "8"


def test_self_play_that_finished_no_game_does_not_say_that_it_saved_games(capsys: pytest.CaptureFixture[str]) -> None:
    from ramify.selfplay.run import Progress

    for games in (0, 1, 5):
        selfplay.report(Progress(games, 3, 3, 1.0, 2, 0.0, 0.0, 0.0, 0.0, None, 0, 0), Path("there"), as_json=False)
        last = capsys.readouterr().out.splitlines()[-1]
        assert ("there" in last, str(games) in last) == (games > 0, games > 0)


def test_doctor_shows_measured_speeds_and_measures_again(run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from ramify.evaluators import renewal
    from ramify.evaluators.speeds import speed_table

    monkeypatch.setenv("RAMIFY_CACHE", str(tmp_path / "speeds"))
    assert json.loads(run("doctor", "--json")[1])["speeds"]["networks"] == {}
    monkeypatch.setattr(renewal, "USUAL", {"game": "hex", "params": {"size": 3}, "config": "1x4"})
    code, out, err = run("doctor", "--renew")
    assert (code, err) == (0, "Measured hex 3x3x3 1x4.\n")
    assert "hex 3x3x3 1x4" in out
    ((name, entry),) = speed_table().networks.items()
    assert set(entry["sizes"]) == {1, 8, 64}
    speed_table().add(name, None, 5, {"torch": 1.0})
    speed_table().add("a network nobody can make", None, 1, {"torch": 1.0})
    report = json.loads(run("doctor", "--json", "--renew")[1])["speeds"]
    assert report["file"] == str(tmp_path / "speeds" / "cpu-speeds.json")
    assert set(report["networks"]) == {name}
    assert report["networks"][name]["8"]["torch"] > 1


def test_doctor_says_what_to_install(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "version_of", lambda _: None)
    code, out, _ = run("doctor")
    assert code == 0
    assert "pip install 'ramify[openspiel]'" in out


def test_doctor_notices_a_broken_core(run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str, params: dict[str, object]) -> None:
        raise RuntimeError(f"{name} with {params} fails")

    monkeypatch.setattr(_core, "make_game", broken)
    code, out, _ = run("doctor")
    assert code == 1
    assert "the core is broken" in out


def test_ctrl_c_while_commands_load_is_one_line(run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name == "ramify.cli.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "ramify.cli.app")
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    assert run("games") == (130, "", "ramify: stopped\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is full")
def test_output_that_cannot_be_written_is_one_line() -> None:
    for command in ("games", "games --json", "doctor"):
        with Path("/dev/full").open("w") as full:
            arguments = [sys.executable, "-m", "ramify", *command.split()]
            done = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (done.returncode, done.stderr) == (2, "ramify: No space left on device\n")


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ValueError("a bug, not a mistake of the user")

    monkeypatch.setattr(doctor, "examine", broken)
    with pytest.raises(ValueError, match="a bug"):
        main(["doctor"])


def watch_player(game, number: int, simulations: int, seed: int) -> watch.Player:
    return watch.Player(game, number, SearchPlayerConfig(simulations=simulations), seed)


def test_watch_plays_a_game_to_its_end(run) -> None:
    arguments = ("watch", "hex", "search:simulations=100", "search:simulations=200", "--seed", "3")
    code, out, _ = run(*arguments)
    assert code == 0
    lines = out.splitlines()
    assert lines[:2] == ["red (x): search:simulations=100", "blue (o): search:simulations=200"]
    assert lines[2].startswith("red plays ")
    assert lines[3].startswith("blue plays ")
    ending = re.search(r"hex\(size=11, swap=False\): (red \(x\)|blue \(o\)) wins after \d+ turns", lines[-1])
    winner = next(line for line in lines if line.endswith(" has won")).split()[0]
    assert f"({winner})" in ending[1]
    same = run(*arguments)[1]
    assert same.splitlines()[:-1] == lines[:-1]  # the last line has the time


def test_watch_shows_one_player_where_there_is_no_other(run) -> None:
    pytest.importorskip("gymnasium")
    code, out, _ = run("watch", "gym:CartPole-v1", "random", "-p", "time_limit=5")
    assert code == 0
    assert "player 1" not in out
    assert "a return of 5 after 5 turns" in out
    code, _, err = run("watch", "gym:CartPole-v1", "random", "random")
    assert code == 2
    assert "a game of one player" in err


def test_watch_shows_both_players_where_both_act(run) -> None:
    code, out, _ = run("watch", "goofspiel", *["search:simulations=50"] * 2, "-p", "cards=3")
    assert code == 0
    assert "player 0: search:simulations=50" in out
    assert re.search(r"player 0 plays \S+ \(expects .*\)\nplayer 1 plays \S+ \(expects .*\)\n", out)
    assert "after 3 turns" in out or "after 2 turns" in out  # the last cards leave no choice


def test_watch_calls_players_as_their_game_and_tables_do(run) -> None:
    strong = "search:simulations=2,name=quick"
    code, out, _ = run("watch", "chess", strong, "search:simulations=2", "-p", "draws=automatic")
    assert code == 0
    assert out.splitlines()[0].startswith("white (")
    assert out.splitlines()[0].endswith(": quick")
    assert {line.split()[0] for line in out.splitlines() if " plays " in line} == {"white", "black"}


def test_watch_mentions_a_reused_search_only_if_there_is_one() -> None:
    both = watch.sides(rf.make("hex"))
    without, reused = (watch.caption(watch.Choice(1, 0, "a1", 0.5, kept), both).plain for kept in (0, 1234))
    assert without.startswith("blue plays a1")
    assert "0 visits" not in without
    assert "1,234 visits" in reused


def test_watch_players_play_tic_tac_toe_well() -> None:
    """A win in one is taken, a loss in one is avoided, and a forced draw is seen as one."""
    game = rf.make("tictactoe")

    def choose(number: int, rows: list[str]) -> watch.Choice:
        return watch_player(game, number, 800, seed=0).choose(game.state(board=rows))

    wins = choose(0, ["xx.", "oo.", "..."])
    assert wins.name == "c1"
    assert wins.value > 0.9
    assert choose(1, ["x..", ".x.", "o.."]).name == "c3"
    assert choose(0, ["xox", "xoo", "ox."]) == watch.Choice(player=0, action=8, name="c3", value=0.0, kept=0)


def test_watch_players_keep_what_they_found() -> None:
    game = rf.make("tictactoe")
    state, players = game.initial_state(), [watch_player(game, number, 300, number) for number in (0, 1)]
    choices: list[watch.Choice] = []
    turns = watch.play(state, players, lambda _before, _state, so_far: choices.append(so_far[-1]))
    assert state.is_over
    assert turns == len(choices)
    assert [choice.kept for choice in choices[:2]] == [0, 0]  # nothing searched yet
    assert all(choice.kept > 0 for choice in choices[2:])
    replay = game.initial_state()
    for choice in choices:
        assert replay.acting == (choice.player,)
        assert replay.action_name(choice.action) == choice.name
        replay.apply(choice.action)
    assert replay.key == state.key


def test_chances_rise_from_the_worst_to_the_best() -> None:
    assert watch.chances([]) == ""
    assert watch.chances([-1.0, 0.1, 1.0]) == "expects +1.00 ▁▅█"
    assert watch.chances([4.0, 0.1, -4.0]) == "expects -4.00 █▅▁"
    assert len(watch.chances([0.0] * 99)) == len("expects +0.00 ") + watch.HISTORY


def test_the_live_board_shows_every_position(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    state = rf.make("tictactoe").initial_state()
    players = [watch_player(state.game, number, 5, number) for number in (0, 1)]
    turns = watch.watch_live(Console(force_terminal=True, width=80), state, players, delay=0.0)
    out = capsys.readouterr().out
    assert state.is_over
    assert out.count("plays") == turns + 1  # the last picture stays and is drawn again
    assert "search:simulations=5" in out


@pytest.mark.parametrize("words", [("-s", "simulations=20"), ("--simulations", "20")])
def test_watch_takes_simulations_for_players_that_were_not_named(run, words: tuple[str, ...]) -> None:
    code, out, _ = run("watch", "tictactoe", *words)
    assert code == 0
    assert out.count("search:simulations=20\n") == 2


def test_watch_plays_pyrat_with_plans_unless_a_player_says_otherwise(run) -> None:
    small = ("-p", "width=5", "-p", "height=5", "-p", "cheese=4", "-p", "max_turns=3")
    plans = "search:simulations=20,normalize=remaining,evaluator=planner"
    code, out, _ = run("watch", "pyrat", "-s", "simulations=20", *small)
    assert code == 0
    assert out.splitlines()[:2] == [f"the rat (R): {plans}", f"the python (P): {plans}"]
    code, out, _ = run("watch", "pyrat", "search:evaluator=rollout,simulations=5", "greedy", *small)
    assert code == 0
    assert out.splitlines()[:2] == ["the rat (R): search:simulations=5", "the python (P): greedy"]


def test_watch_players_act_as_their_settings_say() -> None:
    game = rf.make("matrix", payoffs=[[0, 0, 0]] * 3)  # visits alone would always choose the same
    config = SearchPlayerConfig(simulations=60, evaluator="uniform", acting="nash")
    assert len({watch.Player(game, 0, config, seed).choose(game.initial_state()).action for seed in range(20)}) == 3


def test_watch_does_not_search_the_rules_for_a_player_that_searches_a_learned_model() -> None:
    game, learned = rf.make("connect_four"), read_player("muzero:network=muzero-connect-four,simulations=8")
    player = watch.open_player(game, 0, learned, seed=3)
    assert isinstance(player, watch.AnyPlayer)
    expected = learned.open(game).choose([Turn(game.initial_state(), 0, 3, 0)])
    assert [player.choose(game.initial_state()).action] == expected


def test_selfplay_takes_settings_of_a_group(run, tmp_path: Path) -> None:
    words = (
        "selfplay",
        "matrix",
        str(tmp_path / "games"),
        "--games",
        "1",
        "--simulations",
        "8",
        "--play",
        "acting=nash",
    )
    assert run(*words, "--play", "nash.choose=any", "--play", "nash.min_visits=1")[0] == 0
    code, _, err = run(*words, "--play", "nash.chose=any")
    assert code == 2
    assert "there is no nash setting 'chose'; did you mean 'choose'?" in err


def test_watch_shows_mazes_after_every_turn(run) -> None:
    code, out, _ = run(
        "watch", "pyrat", "greedy", "random", "-p", "width=5", "-p", "height=5", "-p", "cheese=4", "-p", "max_turns=6"
    )
    assert code == 0
    turns = int(re.search(r"after (\d+) turns", out)[1])
    assert [int(turn) for turn in re.findall(r"turn (\d+) of 6", out)] == list(range(turns + 1))
    assert out.count("the rat plays") == turns
    assert "\x1b" not in out


def test_a_native_game_with_dice_works_everywhere(run, tmp_path: Path) -> None:
    dice = ("pig", "-p", "target=20")
    state = json.dumps({"points": [12, 15], "total": 5})
    code, out, _ = run("analyze", *dice, "--state", state, "--simulations", "200", "-s", "graph=true", "--json")
    assert code == 0
    assert "player 1: 15 of 20 points" in json.loads(out)["state"]
    assert run("selfplay", *dice, str(tmp_path / "games"), "--games", "4", "--simulations", "8")[0] == 0
    assert run("match", *dice, "search:simulations=20", "alphabeta:depth=2", "--games", "2")[0] == 0
    small = ("loop.iterations=1", "loop.games=8", "search.simulations=4", "network.kind=mlp")
    assert run("train", *dice, "--folder", str(tmp_path / "run"), *small)[0] == 0
    network = f"search:network={tmp_path / 'run'},simulations=8"
    assert run("match", *dice, network, "greedy", "--games", "2")[0] == 0
    code, _, err = run("train", *dice, "--folder", str(tmp_path / "learned"), "network.kind=muzero-mlp")
    assert code == 2
    assert "pig has chance events" in err
