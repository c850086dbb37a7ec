"""Sweeps: settings that matter are found, worse ones stop early, nothing is played twice."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest

import ramify as rf
from ramify.arena import Fixture, Opening, ParallelSettings, Played, read_player, workers
from ramify.base.settings import SettingsError
from ramify.sweeps import Range, Sweep, SweepConfig, SweepProgress, Trial, load_sweep
from ramify.sweeps.config import claim
from ramify.sweeps.run import margin
from ramify.sweeps.trials import best_of, hopeless
from tests.children import run_program

pytest.importorskip("optuna")

# The number of simulations decides by far: one is a random move, forty win nearly always.
PLAYER = "search:evaluator=rollout,simulations=8"
SETTINGS: dict[str, Any] = {
    "game": "tictactoe",
    "player": PLAYER,
    "settings": {"simulations": {"choices": [1, 8, 40]}},
    "trials": 5,
    "games": 24,
    "first_games": 12,
    "confirm_games": 24,
    "opponents": [PLAYER, "random"],
}


def test_the_better_settings_are_found_and_confirmed(tmp_path: Path) -> None:
    config = SweepConfig(**SETTINGS)
    seen = list[SweepProgress]()
    result = Sweep(config, tmp_path).run(seen.append)
    assert len(result.trials) == 5
    assert result.trials[0].settings == {"simulations": 8}  # the player as it is comes first
    assert (result.trials[0].elo, result.trials[0].error) == (0.0, 0.0)  # and is the anchor
    assert result.best.settings == {"simulations": 40}
    assert result.best.low > 0
    worst = [trial for trial in result.trials if trial.settings == {"simulations": 1}]
    assert all(trial.high < 0 for trial in worst)
    assert result.confirmation is not None
    assert result.confirmation.wins > result.confirmation.losses
    assert {progress.phase for progress in seen} == {"pool", "trial", "confirmation"}
    text = (tmp_path / "best.yaml").read_text()
    assert "search: {simulations: 40}" in text
    assert text.startswith("# 5 trials")


def test_a_hopeless_trial_stops_early(tmp_path: Path) -> None:
    start = [{"simulations": 40}, {"simulations": 1}]
    config = SweepConfig(**{**SETTINGS, "trials": 3, "start": start, "confirm_games": 0})
    result = Sweep(config, tmp_path).run()
    states = {trial.settings["simulations"]: (trial.state, trial.games) for trial in result.trials}
    assert states[40] == ("complete", 48)
    assert states[1] == ("stopped", 24)


@pytest.mark.slow
def test_without_racing_every_trial_is_complete(tmp_path: Path) -> None:
    start = [{"simulations": 40}, {"simulations": 1}]
    config = SweepConfig(**{**SETTINGS, "trials": 3, "start": start, "confirm_games": 0, "racing": "none"})
    assert all(trial.state == "complete" for trial in Sweep(config, tmp_path).run().trials)


def test_a_sweep_goes_on_and_plays_nothing_twice(tmp_path: Path) -> None:
    config = SweepConfig(**{**SETTINGS, "trials": 3, "confirm_games": 0})

    class Stop(KeyboardInterrupt):
        pass

    def stop(progress: SweepProgress) -> None:
        if progress.trial == 1 and progress.games > 3:
            raise Stop

    with pytest.raises(KeyboardInterrupt):
        Sweep(config, tmp_path).run(stop)
    stopped = Sweep(config, tmp_path)
    assert len(stopped.trials()) == 1
    seen = list[SweepProgress]()
    result = stopped.run(seen.append)
    assert len(result.trials) == 3
    first = next(progress for progress in seen if progress.phase == "trial")
    assert first.games > 3  # the games of the trial that was stopped were kept
    more = Sweep(config.replace(trials=4), tmp_path).run()
    assert more.trials[:3] == result.trials
    with pytest.raises(SettingsError, match=r"other settings \(games\)"):
        Sweep(config.replace(games=26), tmp_path)


@pytest.mark.slow
def test_training_settings_are_tuned_by_runs(tmp_path: Path) -> None:
    """One run that learns nothing, because it has no steps, and one that does something."""
    pytest.importorskip("torch")
    config = SweepConfig(
        game="tictactoe",
        player="search:network={run},simulations=4",
        train="tictactoe",
        train_seconds=60,
        settings={"optimizer.learning_rate": {"choices": [0.01, 0.001]}, "loop.iterations": {"choices": [1]}},
        opponents=["random"],
        start=[{"optimizer.learning_rate": 0.01, "loop.iterations": 1}],
        trials=1,
        games=4,
        first_games=4,
    )
    result = Sweep(config, tmp_path).run()
    assert len(list(tmp_path.glob("runs/*/checkpoints"))) == 1
    assert result.best.games == 4
    written = rf.training.load_config(tmp_path / "best.yaml")
    assert written.optimizer.learning_rate == result.best.settings["optimizer.learning_rate"]


def trial(number: int, elo: float, error: float = 10.0, margin: float = 0.0, state: str = "complete") -> Trial:
    return Trial(number, {}, state, elo, error, margin, 100, "")  # type: ignore[arg-type]


def test_workers_stay_for_all_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, started, real = SweepConfig(**{**SETTINGS, "trials": 3}), [], workers.Worker.__init__

    def start(worker: workers.Worker) -> None:
        real(worker)
        started.append(worker)

    monkeypatch.setattr(workers.Worker, "__init__", start)
    result = Sweep(config, tmp_path / "two", ParallelSettings(8, workers=2)).run()
    assert len(started) == 2
    assert result == Sweep(config, tmp_path / "none").run()


def test_margins_decide_between_equals_and_stopped_trials_never_win() -> None:
    assert best_of([trial(0, 50.1, margin=1.0), trial(1, 50.3, margin=2.0)]).number == 1
    assert best_of([trial(0, 50.0), trial(1, 90.0, state="stopped")]).number == 0
    assert not hopeless(-1000.0, 10.0, None)
    assert hopeless(0.0, 10.0, trial(0, 50.0))  # 50 is more than 1.96 standard errors of the difference, 14.1
    assert not hopeless(30.0, 10.0, trial(0, 50.0))


def test_margin_is_seen_from_the_player() -> None:
    player, other = read_player("random"), read_player("greedy")

    def game(players: tuple[str, str], returns: tuple[float, float]) -> Played:
        fixture = Fixture("tictactoe", {}, players, Opening((), 0), 0)
        return Played(fixture=fixture, actions=(), returns=returns, winner=0)

    ids = player.identity, other.identity
    games = [game(ids, (1.0, -1.0)), game((ids[1], ids[0]), (1.0, -1.0)), game(ids, (1.0, 0.0))]
    assert margin(player, games) == pytest.approx(1 / 3)
    assert margin(player, []) == 0.0


@pytest.mark.parametrize(
    ("range_", "message"),
    [
        ({"low": 1}, "needs low and high, or choices"),
        ({"low": 2, "high": 1}, "low=2 is above high=1"),
        ({"low": 0, "high": 1, "log": True}, "log needs low > 0"),
        ({"choices": []}, "must not be empty"),
        ({"choices": [1], "low": 0}, "choices need no low"),
    ],
)
def test_ranges_that_make_no_sense_are_named(range_: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Range(**range_)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"settings": {"c_put": {"low": 0.1, "high": 1.0}}}, "c_put"),
        ({"settings": {"c_puct": {"low": -2.0, "high": 1.0}}}, "c_puct"),
        ({"settings": {"c_puct": {"low": 2.0, "high": 1.0}}}, "settings: c_puct: .*low=2.0 is above high=1.0"),
        ({"settings": {"c_puct": {"lo": 2.0}}}, "settings: c_puct: there is no range setting 'lo'"),
        ({"settings": {"c_puct": 2.0}}, "settings: c_puct=2.0 must be a range, such as {low"),
        ({"start": [{"fpu": "parent"}]}, "start: fpu is not among"),
        ({"player": "search:network={run}"}, "network={run} with train"),
        ({"opponents": ["nobody"]}, "nobody"),
        ({"game": "hexx"}, "hexx"),
        ({"first_games": 3}, "first_games"),
    ],
)
def test_wrong_settings_are_named_before_the_first_game(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        Sweep(SweepConfig(**{**SETTINGS, **changes}), tmp_path)


def test_the_command_prints_the_evidence(run: Any, tmp_path: Path) -> None:
    import yaml

    file = tmp_path / "tiny.yaml"
    file.write_text(yaml.safe_dump({**SETTINGS, "trials": 2, "games": 8, "first_games": 8, "confirm_games": 8}))
    command = ["sweep", str(file), "--folder", str(tmp_path / "sweep")]
    assert "2 trials (0 stopped early)" in run(*command)[1]
    as_json = json.loads(run(*command, "--json")[1])
    assert len(as_json["trials"]) == 2
    assert as_json["best"]["low"] <= as_json["best"]["elo"] <= as_json["best"]["high"]


def test_a_file_that_is_no_sweep_is_named(tmp_path: Path) -> None:
    (tmp_path / "list.yaml").write_text("- 1")
    with pytest.raises(SettingsError, match=r"list.yaml: a sweep has settings"):
        load_sweep(tmp_path / "list.yaml")
    with pytest.raises(SettingsError, match=r"none.yaml: No such file"):
        load_sweep(tmp_path / "none.yaml")
    (tmp_path / "open.yaml").write_text("game: hex\nparams: {size: 3\nplayer: search\n")
    with pytest.raises(SettingsError, match=r"open.yaml is not YAML: .* line 3"):
        load_sweep(tmp_path / "open.yaml")


@pytest.mark.parametrize(
    ("file", "message"), [("ramify-run.json", "has a training run"), ("improve.json", "has a loop of 'ramify improve'")]
)
def test_a_folder_with_something_else_is_left_alone(file: str, message: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text("{}")
    with pytest.raises(SettingsError, match=f"{message}: choose another folder"):
        Sweep(SweepConfig(**SETTINGS), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [file]
    with pytest.raises(SettingsError, match=f"{file} is a file, not a folder"):
        Sweep(SweepConfig(**SETTINGS), tmp_path / file)


def test_two_processes_may_begin_a_sweep_at_the_same_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of the other one appears between two looks at the folder."""
    config, file, looks = SweepConfig(**SETTINGS), tmp_path / "sweep.json", list[Path]()
    claim(file, config, "sweep", ())
    there = Path.exists

    def late(path: Path) -> bool:
        looks.append(path)
        return looks.count(file) > 1 if path == file else there(path)

    monkeypatch.setattr(Path, "exists", late)
    claim(file, config, "sweep", ())
    assert file in looks


def test_ctrl_c_shows_no_traceback(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def stop(progress: SweepProgress) -> None:
        if progress.phase == "trial":
            raise KeyboardInterrupt

    logger = logging.getLogger("optuna")  # does not propagate
    logger.addHandler(caplog.handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            Sweep(SweepConfig(**SETTINGS), tmp_path).run(stop)
    finally:
        logger.removeHandler(caplog.handler)
    assert caplog.text == ""


PAGE = (Path(__file__).resolve().parents[2] / "docs/sweeps.md").read_text(encoding="utf-8")


def test_the_examples_of_the_page_are_sweeps(tmp_path: Path) -> None:
    blocks = re.findall(r"^```yaml[^\n]*\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    sweeps = [block for block in blocks if "rounds:" not in block]
    assert len(sweeps) == 2
    for number, block in enumerate(sweeps):
        (tmp_path / "page.yaml").write_text(block)
        assert Sweep(load_sweep(tmp_path / "page.yaml"), tmp_path / f"sweep{number}").trials() == []


@pytest.mark.slow
def test_the_example_in_python_runs(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    ended = run_program(block, folder=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert "c_puct" in ended.out
