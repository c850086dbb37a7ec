"""``ramify rate`` and ``ramify report``, on small runs of several games."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import ramify as rf
from ramify.arena.runs import RatingPlan, rate_run, read_rating, run_pairings, spaced
from ramify.games.registry import _python_games
from ramify.training import load_config, read_metrics, train

pytest.importorskip("sqlalchemy")

SMALL = {"loop.iterations": 2, "loop.games": 4, "loop.device": "cpu", "search.simulations": 4, "network": "mlp:1x8"}
QUICK = ("--games", "2", "--simulations", "4")


def trained(name: str, folder: Path, **changes: object) -> Path:
    """A run of seconds."""
    settings = {key.replace("__", "."): value for key, value in changes.items()}
    train(load_config(name, {**SMALL, "loop.rollout_iterations": 0, **settings}), folder)
    return folder


def report_of(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def visible(page: str) -> str:
    """The text that a reader sees."""
    return re.sub(r"<[^>]+>", " ", re.sub(r"<(style|svg).*?</\1>", " ", page, flags=re.DOTALL))


def check_page(page: str) -> None:
    """What every report promises: it loads nothing, fits a phone, and its percentages add up."""
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "<script" not in page
    assert '<meta name="viewport" content="width=device-width' in page
    for line in re.findall(r"<tr><td>\d+\. .*?</tr>", page.partition("<details>")[0]):
        won_drawn_lost = [int(number) for number in re.findall(r"(\d+)%", line)]
        assert len(won_drawn_lost) == 3
        assert sum(won_drawn_lost) == 100
    for table in re.findall(r'<table class="bars">.*?</table>', page):
        assert sum(int(number) for number in re.findall(r"(\d+)%", table)) == 100


def test_a_run_is_rated_and_no_game_is_played_twice(run, tmp_path):
    folder = trained("tictactoe", tmp_path / "runs/tictactoe")
    code, out, err = run("rate", "tictactoe", *QUICK, "--json")  # the name of a run in runs/
    assert code == 0, err
    found = json.loads(out)
    names = {one["name"] for one in found["players"]}
    assert names == {"untrained", "iteration 1", "iteration 2", "random", "alpha-beta, depth 3"} | {
        "random playouts, 4 simulations"
    }
    assert found["played"] == 2 * len(found["pairings"])
    assert [one["elo"] for one in found["players"] if one["name"] == "untrained"] == [0]
    assert sum(one["points"] for one in found["players"]) == found["played"]
    again = json.loads(run("rate", str(folder), *QUICK, "--json")[1])
    assert (again["played"], again["found"]) == (0, found["played"])
    trained("tictactoe", folder, loop__iterations=3)  # it goes on: only the new checkpoint has games to play
    more = json.loads(run("rate", str(folder), *QUICK, "--json")[1])
    assert 0 < more["played"] <= 2 * 7
    assert read_rating(folder)["players"] == more["players"]
    code, out, _ = run("rate", str(folder), *QUICK)
    assert "iteration 3" in out
    assert "0 games played" in out


def test_a_rating_that_was_stopped_goes_on(tmp_path):
    from ramify.store import Store

    folder, played = trained("tictactoe", tmp_path / "run"), []

    def stop_soon(progress):
        played.append(progress.done)
        if progress.done == 5:
            raise KeyboardInterrupt

    plan = RatingPlan(games=2, simulations=4)
    with Store(folder / "ramify.db") as store:
        assert not rate_run(folder, plan, results=store.results(), watch=stop_soon).standings.complete
    found = []
    with Store(folder / "ramify.db") as store:
        rating = rate_run(folder, plan, results=store.results(), watch=lambda progress: found.append(progress.found))
    assert rating.standings.complete
    assert found[0] >= 5


def test_the_report_shows_what_there_is(run, tmp_path):
    folder = trained("tictactoe", tmp_path / "run")
    code, out, _ = run("report", "run")
    assert (code, out) == (0, "Wrote run/report.html.\n")
    before = report_of(folder)
    assert "This run has not been rated yet" in visible(before)
    assert "Game 8 of self-play" in before
    check_page(before)
    assert run("rate", "run", *QUICK)[0] == 0
    assert json.loads(run("report", "run", "--json")[1]) == {"report": "run/report.html"}
    text = visible(report_of(folder))
    for part in (
        "Learning tic-tac-toe from self-play",
        "2 iterations: 8 games of self-play",
        "Elo by training step",
        "95% interval",
        "Policy loss on new positions",
        "Sample games",
        "Recommended moves",
        "X to move expects",
        f"ramify {rf.__version__}",
        "Report made",
    ):
        assert part in text
    check_page(report_of(folder))


@pytest.mark.parametrize(
    ("name", "changes", "title"),
    [
        ("goofspiel", {}, "Learning Goofspiel with 4 cards from self-play"),
        ("pyrat-tiny", {"params__max_turns": 4, "network": "1x8"}, "Learning PyRat 11×9 from self-play"),
        ("hex", {"params__size": 3, "network": "1x8"}, "Learning Hex 3×3 from self-play"),
        ("matrix", {}, "Learning matrix"),
    ],
)
def test_every_game_can_be_rated_and_reported(run, tmp_path, name, changes, title):
    folder = trained(name, tmp_path / "run", **{"loop__iterations": 1, "loop__games": 2, **changes})
    code, _, err = run("rate", "run", *QUICK)
    assert code == 0, err
    assert run("report", "run")[0] == 0
    page = report_of(folder)
    assert title in page
    check_page(page)


def test_the_report_on_a_single_player_tells_the_return(run, tmp_path):
    pytest.importorskip("gymnasium")
    changes = {"params__time_limit": 9, "loop__overlap": False}
    folder = trained("gym:CartPole-v1", tmp_path / "run", **changes)
    assert run("report", "run")[0] == 0
    text = visible(report_of(folder))
    last = list(read_metrics(folder / "metrics.jsonl", "iteration"))[-1]
    assert f"The mean return of the self-play games of the latest iteration is {last['mean_return']:.2f}." in text
    assert "Mean return, by step" in text
    assert "won" not in text
    assert "ramify rate" not in text
    check_page(report_of(folder))
    lines = (folder / "metrics.jsonl").read_text().replace("mean_return", "first_wins")  # as earlier versions wrote it
    (folder / "metrics.jsonl").write_text(lines)
    assert run("report", "run")[0] == 0
    assert "won" not in visible(report_of(folder))


def test_a_run_that_has_only_begun(run, tmp_path):
    folder, begun = trained("tictactoe", tmp_path / "run"), tmp_path / "begun"
    shutil.copytree(folder / "checkpoints/000000", begun / "checkpoints/000000")
    shutil.copy(folder / "config.yaml", begun)
    assert run("report", "begun")[0] == 0
    assert "has not finished its first iteration yet" in report_of(begun)
    assert run("rate", "begun", *QUICK)[0] == 0
    assert run("report", "begun")[0] == 0
    check_page(report_of(begun))


@pytest.fixture
def evil() -> Iterator[str]:
    """A game whose name and actions would be HTML, if nobody escaped them."""
    name = "a<b>&c"

    @rf.register(name)
    class Evil(rf.PythonGame):
        num_actions = 2
        observation_shape = (1,)

        def start(self, rng):
            return 4

        def acting(self, left):
            return (left % 2,) if left else ()

        def legal_actions(self, left, player):
            return range(2)

        def apply(self, left, action):
            return left - 1, (action, -action)

        def observation(self, left, player):
            return (left,)

        def action_name(self, left, action, player):
            return "<script>" if action else "&no"

    yield name
    del _python_games[name]


def test_names_are_escaped(run, tmp_path, evil):
    folder = trained(evil, tmp_path / "run", loop__iterations=1)
    code, _, err = run("rate", "run", *QUICK)
    assert code == 0, err
    assert run("report", "run")[0] == 0
    page = report_of(folder)
    assert "a&lt;b&gt;&amp;c" in page
    assert "&lt;script&gt;" in page
    assert "a<b>" not in page
    check_page(page)


@pytest.mark.parametrize("command", ["rate", "report"])
def test_what_is_no_run_is_named(run, tmp_path, command):
    code, _, err = run(command, "nowhere")
    assert (code, err.count("\n")) == (2, 1)
    assert "neither nowhere nor runs/nowhere" in err
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/config.yaml").write_text("game: hex")
    assert run(command, "empty")[::2] == (2, "ramify: the run in empty has no checkpoint yet\n")
    assert sorted(path.name for path in (tmp_path / "empty").iterdir()) == ["config.yaml"]


def test_an_odd_number_of_games_is_refused(run, tmp_path):
    assert "games come in pairs" in run("rate", "nowhere", "--games", "3")[2]


def test_checkpoints_are_spaced_so_that_longer_runs_keep_them():
    assert spaced([0, 1, 2], 6) == [0, 1, 2]
    assert spaced(list(range(11)), 6) == [0, 2, 4, 6, 8, 10]
    assert spaced(list(range(12)), 7) == [0, 2, 4, 6, 8, 10, 11]
    for length in range(2, 200):
        chosen, before = spaced(list(range(length + 1)), 6), spaced(list(range(length)), 6)
        assert len(chosen) <= 6
        assert chosen[0] == 0
        assert chosen[-1] == length
        assert set(chosen[:-1]) <= {*before, length - 1}


def test_everybody_is_connected(tmp_path):
    from ramify.arena import player_config
    from ramify.arena.runs import Entrant
    from ramify.arena.simple import RandomConfig

    entrants = [Entrant(f"iteration {i}", player_config("search", simulations=i + 1), i, i) for i in range(6)]
    entrants += [Entrant("random", RandomConfig()), Entrant("deep", player_config("alphabeta", depth=2))]
    pairs = run_pairings(entrants)
    assert len({frozenset(one.identity for one in pair) for pair in pairs}) == len(pairs) == 12 + 6 + 1
    assert {one.identity for pair in pairs for one in pair} == {one.config.identity for one in entrants}


def test_a_run_that_is_not_there_is_answered_with_those_that_are(run, tmp_path):
    for folder in ("runs/hex-5", "elsewhere/first"):
        (tmp_path / folder / "checkpoints").mkdir(parents=True)
        (tmp_path / folder / "config.yaml").write_text("")
    (tmp_path / "runs/notes").mkdir()
    for command in ("rate", "report"):
        code, _, err = run(command, "hex-55")
        assert (code, err.count("\n")) == (2, 1)
        assert str(Path("runs/hex-55")) in err
        assert "'hex-5'" in err
        assert "notes" not in err
        assert "elsewhere/first" in run(command, "elsewhere/second")[2]
