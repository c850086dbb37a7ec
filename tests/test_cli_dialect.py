"""One dialect: the game first, -p for its parameters, -s for the search; old spellings work and say the new one."""

from __future__ import annotations

import json
import re

import pytest
import typer

from ramify import _core
from ramify.cli import options
from ramify.cli.app import app

QUICK = ["search:simulations=2", "random"]


def commands() -> dict[str, object]:
    return dict(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def spellings(command: object) -> dict[str, str]:
    """{option: its help}, of all options that --help shows."""
    shown = [option for option in command.params if hasattr(option, "help") and not option.hidden]  # type: ignore[attr-defined]
    return {text: option.help for option in shown for text in option.opts}


def test_an_option_means_the_same_in_every_command() -> None:
    shared = ("-p", "-s", "--json", "--seed", "--import", "--debug", "--concurrency", "--workers", "--device")
    for option in shared:
        helps = {spellings(command)[option] for command in commands().values() if option in spellings(command)}
        assert len(helps) == 1, option


def test_the_game_comes_first() -> None:
    for name in ("games", "analyze", "selfplay", "match", "gate", "tournament", "ratings", "play", "watch", "bench"):
        place = 1 if name == "bench" else 0  # after what is measured
        assert commands()[name].params[place].name == "game", name  # type: ignore[attr-defined]
        assert {"-p", "--import"} <= spellings(commands()[name]).keys(), name
    for name in ("analyze", "selfplay", "match", "gate", "tournament", "play", "watch", "bench"):
        assert {"-s", "--set", "--network"} <= spellings(commands()[name]).keys(), name


@pytest.mark.parametrize(
    ("old", "new", "warnings"),
    [
        (
            ["analyze", "hex", "--set", "size=3", "--setting", "simulations=9"],
            ["analyze", "hex", "-p", "size=3", "-s", "simulations=9"],
            ["size is a parameter of hex: use -p size=3", "--setting is now -s"],
        ),
        (
            ["analyze", "hex", "size=3", "--simulations=9"],
            ["analyze", "hex", "--param", "size=3", "--simulations", "9"],
            ["size=3 is now -p size=3"],
        ),
        (["games", "hex", "size=3"], ["games", "hex", "-p", "size=3"], ["size=3 is now -p size=3"]),
        (
            ["match", *QUICK, "--game", "tictactoe", "--games", "2", "--together", "3"],
            ["match", "tictactoe", *QUICK, "--games", "2", "--concurrency", "3"],
            ["--game tictactoe is now the first argument: ramify match tictactoe ...", "--together is now --concurr"],
        ),
        (
            ["tournament", *QUICK, "--set", "size=3", "--games", "2"],
            ["tournament", "hex", *QUICK, "-p", "size=3", "--games", "2"],
            ["the game is now the first argument: ramify tournament hex", "size is a parameter of hex: use -p size=3"],
        ),
        (
            ["watch", "tictactoe", "--red", "3", "--blue=4"],
            ["watch", "tictactoe", "search:simulations=3", "search:simulations=4"],
            ["ramify watch tictactoe search:simulations=3 search:simulations=4"],
        ),
        (
            [
                "selfplay",
                "hex",
                "games",
                "--set",
                "size=3",
                "--games",
                "1",
                "--places",
                "1",
                "--setting",
                "simulations=2",
            ],
            [
                "selfplay",
                "hex",
                "others",
                "-p",
                "size=3",
                "--games",
                "1",
                "--parallel-games",
                "1",
                "-s",
                "simulations=2",
            ],
            ["--places is now --parallel-games", "--setting is now -s", "use -p size=3"],
        ),
    ],
)
def test_an_old_spelling_works_and_names_the_new_one(run, old: list[str], new: list[str], warnings: list[str]) -> None:
    def plain(out: str) -> str:
        return re.sub(r"[\d.,]+ s\b|\([\d,.]+/s.*|(positions|evaluations)/s.*|\d+ from|others|games\.$", "", out)

    code, out, err = run(*old)
    assert code == 0
    assert all(line.startswith("ramify: warning: ") for line in err.splitlines())
    assert len(err.splitlines()) == len(warnings)
    assert [words for words in warnings if words not in err] == []
    code, same, err = run(*new)
    assert (code, err) == (0, "")
    if old[0] != "selfplay":
        assert plain(same) == plain(out)


def test_old_spellings_of_play_and_htp(run, monkeypatch: pytest.MonkeyPatch) -> None:
    def end(_: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", end)
    code, _, err = run("play", "hex", "--size", "3", "--network", "rollout")
    assert (code, err) == (0, "ramify: warning: --size is now -p size=3\n")
    code, _, err = run("htp", "--size", "99", "--swap")
    assert code == 2
    assert err.splitlines()[:2] == [
        "ramify: warning: --size is now -p size=99",
        "ramify: warning: --swap is now -p swap=true",
    ]
    assert "size must be a whole number from 2 to 19, not 99" in err


@pytest.mark.parametrize("command", [["analyze", "hex"], ["match", "hex", *QUICK], ["watch", "hex"]])
def test_a_setting_of_the_search_is_no_parameter(run, command: list[str]) -> None:
    code, out, err = run(*command, "-p", "c_puct=2")
    assert (code, out, err) == (2, "", "ramify: c_puct is a setting of the search: use -s c_puct=2\n")


def test_settings_of_the_search_are_for_players_that_name_none(run) -> None:
    arguments = [
        "match",
        "tictactoe",
        "search",
        "search:simulations=3",
        "-s",
        "simulations=2",
        "--games",
        "2",
        "--json",
    ]
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    names = {row["player"] for row in json.loads(out)["players"]}
    assert names == {"search:simulations=2", "search:simulations=3"}


def test_a_renamed_setting_of_training_is_named_once(run) -> None:
    pytest.importorskip("torch")
    code, out, err = run("train", "hex-5", "loop.reuse=3", "--show")
    assert code == 0
    assert "replay_ratio: 3" in out
    assert err == "ramify: warning: loop.reuse is now loop.replay_ratio; the old name will be removed in version 0.3\n"


def test_a_wrong_setting_of_the_search_is_told_even_if_nobody_searches(run) -> None:
    code, _, err = run("match", "tictactoe", "random", "greedy", "-s", "simlations=3")
    assert code == 2
    assert "did you mean 'simulations'?" in err


@pytest.mark.parametrize("game", _core.game_names())
def test_no_parameter_has_the_name_of_a_setting(game: str) -> None:
    """Otherwise a key would not say which of the two is meant."""
    assert not options.parameter_names(game) & options.search_fields()


def test_words_after_two_dashes_are_left_alone(run) -> None:
    assert run("games", "--", "tictactoe")[0] == 0
    assert "no game named '--size'" in run("games", "--", "--size")[2]
