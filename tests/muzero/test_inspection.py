"""What ``ramify inspect`` says of a learned model, and players that search one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import ramify as rf
from ramify.arena import Memory, Turn, match, read_player
from ramify.cli import app
from ramify.cli.common import sparkline
from ramify.cli.inspect import SHARES, Section
from ramify.cli.inspect_model import inspect_network
from ramify.muzero.inspection import inspect_model, played_games
from tests.children import run_command
from tests.muzero.perfect import GAMES, Perfect
from tests.training.helpers import records

pytest.importorskip("torch")

VECTORS = {"kind": "muzero-mlp", "width": 16, "latent": 8, "value_hidden": 8}


@pytest.mark.parametrize("name", ["tictactoe", "hex"])
def test_a_perfect_model_can_be_trusted(name: str) -> None:
    game = rf.make(name, **GAMES[name])
    model = Perfect(game, 2)
    games = records(game, rf.SearchConfig(simulations=4), 4)
    found = inspect_model(game, model, games, depths=3, positions=12, simulations=12, evaluator=Evaluating(model))
    assert [one.depth for one in found] == [0, 1, 2, 3]
    assert found[0].reward_error is None
    for one in found:
        assert not one.reward_error
        assert one.value_error == 0.0
        assert one.legal_mass == pytest.approx(1.0, abs=1e-6)
        assert one.agreement is not None
        assert one.agreement > 0.8  # near the end the range of values differs, see the decision on perfect models


class Evaluating:
    """Only the evaluator of a perfect model."""

    def __init__(self, model: Perfect) -> None:
        self.evaluate = model.evaluate


class Wrong(Perfect):
    """A model that forgets all it knows with the first action: rewards, values and what is legal."""

    def recurrent(self, latents: Any, actions: Any) -> Any:
        out = super().recurrent(latents, actions)
        blank = np.zeros_like(out.logits)
        return type(out)(out.latents, blank, np.ones_like(out.values), np.ones_like(out.rewards))


def test_a_wrong_model_is_found_out() -> None:
    game = rf.make("tictactoe")
    games = records(game, rf.SearchConfig(simulations=4), 4)
    found = inspect_model(game, Wrong(game, 2), games, depths=2, positions=12)
    assert found[0].value_error == 0.0
    for one in found[1:]:
        assert one.reward_error is not None
        assert one.reward_error > 0.5
        assert one.value_error > 0.3
        assert one.legal_mass < 1.0
        assert one.agreement is None


def saved(folder: Path, game: Any, config: dict[str, Any]) -> Path:
    return rf.networks.save(folder / "net", rf.networks.make(game, config))


def test_the_command_shows_it(tmp_path: Path) -> None:
    network = saved(tmp_path, rf.make("tictactoe"), VECTORS)
    page = tmp_path / "page.html"
    options = ["--games", "3", "--simulations", "6", "--json", "--out", str(page)]
    result = CliRunner().invoke(app.app, ["inspect", str(network), *options])
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["Learned model"]
    assert [row["depth"] for row in rows] == list(range(len(rows)))
    assert all(0 <= row["mass on legal actions"] <= 1 for row in rows)
    assert len(rows) >= 4
    assert "mass on legal actions" in page.read_text()


def test_a_damaged_network_of_a_run_is_named(tmp_path: Path) -> None:
    """And its games are not shown in its place."""
    file = tmp_path / "run" / "checkpoints" / "000001" / "network.safetensors"
    rf.networks.save(file, rf.networks.make(rf.make("tictactoe"), VECTORS))
    file.write_bytes(file.read_bytes()[:1000])
    for named in (tmp_path / "run", file):
        result = CliRunner().invoke(app.app, ["inspect", str(named)])
        assert result.exit_code == 2
        said = " ".join(result.output.split())
        assert f"{file} is not a network written by ramify.networks.save, or it is damaged" in said


def test_a_run_of_another_kind_of_network_is_inspected_by_its_games(run: Any) -> None:
    maze = ["-p", "width=3", "-p", "height=3", "-p", "cheese=1", "-p", "max_turns=5"]
    assert run("selfplay", "pyrat", "run/games", *maze, "--games", "2", "--simulations", "8")[0] == 0
    game = rf.make("pyrat", width=3, height=3, cheese=1, max_turns=5)
    rf.networks.save("run/checkpoints/000001/network", rf.networks.make(game, "mlp:1x8"))
    code, out, err = run("inspect", "run", "--json")
    assert code == 0, err
    assert "Equilibria" in json.loads(out)


def test_it_tells_how_far_it_is() -> None:
    game, told = rf.make("tictactoe"), list[tuple[str, float]]()
    model = Perfect(game, 2)

    def show(phase: str, share: float) -> None:
        told.append((phase, share))

    games = played_games(game, model, 3, 4, seed=0, discount=1.0, show=show)
    assert all(phase.startswith("playing 3 games, ") for phase, _ in told)
    assert [share for _, share in told] == sorted(share for _, share in told)
    assert all(0 <= share < 1 for _, share in told)  # a bar that is full would stop its clock
    told.clear()
    inspect_model(game, model, games, depths=2, positions=4, show=show)
    assert [share for _, share in told] == [0.0, pytest.approx(1 / 3), pytest.approx(2 / 3)]
    assert "the rules 2 of 2 actions on" in told[-1][0]


@pytest.mark.parametrize("quiet", [False, True])
def test_a_terminal_shows_how_far_it_is(
    quiet: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    network = saved(tmp_path, rf.make("tictactoe"), VECTORS)
    inspect_network(network, 1, 2, 1.0, quiet=quiet)
    assert capsys.readouterr().err == ""  # no terminal
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    inspect_network(network, 1, 2, 1.0, quiet=quiet)
    assert ("comparing the model" in capsys.readouterr().err) != quiet


ALONE = """
import ramify as rf


@rf.register("row_of_mine")
class Row(rf.PythonGame):
    num_players = 1
    num_actions = 2
    observation_shape = (2,)

    def start(self, rng):
        return 0, 0

    def acting(self, position):
        return [0] if position[1] < 6 else []

    def legal_actions(self, position, player):
        return [0, 1]

    def apply(self, position, action):
        place, turn = position
        return (place + action, turn + 1), (float(action), 0.0)

    def observation(self, position, player):
        return position
"""


def test_a_game_of_one_player_with_rules_is_searched_by_them(tmp_path: Path) -> None:
    (tmp_path / "row_of_mine.py").write_text(ALONE)
    words = ["network.kind=muzero-mlp", "loop.iterations=1", "loop.games=4", "search.simulations=4"]
    start = ["train", "row_of_mine", "--import", "row_of_mine.py", "--folder", "run", *words]
    trained = run_command(*start, folder=tmp_path)
    assert trained.code == 0, trained.err
    page = tmp_path / "page.html"
    options = ["--games", "2", "--simulations", "4", "--json", "--out", str(page)]
    inspected = run_command("inspect", "run", *options, folder=tmp_path)
    assert inspected.code == 0, inspected.err
    rows = json.loads(inspected.out)["Learned model"]
    assert len(rows) > 3
    assert all(0 <= row["same best action"] <= 1 for row in rows)
    assert "left out" not in page.read_text()


def test_a_missing_column_is_explained(tmp_path: Path) -> None:
    pytest.importorskip("gymnasium")
    network = saved(tmp_path, rf.make("gym:CartPole-v1"), VECTORS)
    result = CliRunner().invoke(app.app, ["inspect", str(network), "--games", "1", "--simulations", "2"])
    assert result.exit_code == 0, result.output
    assert "left out for gym:CartPole-v1" in " ".join(result.stdout.split())


def test_a_learned_network_is_not_compared_with_another(tmp_path: Path) -> None:
    network = saved(tmp_path, rf.make("tictactoe"), VECTORS)
    result = CliRunner().invoke(app.app, ["inspect", str(network), "--network", "nothing"])
    assert result.exit_code == 2
    assert "is a learned network itself: leave out --network" in " ".join(result.output.split())


def test_curves_of_equal_numbers_are_flat() -> None:
    section = Section("", "", [], [], {SHARES[0]: [0.9999, 1.0, 0.9998], "value error by depth": [0.0, 1e-5, 2e-4]})
    drawn = [sparkline(values, bounds=section.bounds(name)) for name, values in section.curves.items()]
    assert drawn == ["███", "▁▁▁"]


def test_a_run_of_a_game_of_ones_own_is_inspected_without_naming_its_module(tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "examples" / "tictactoe_python.py"
    module, run = tmp_path / "my_game.py", tmp_path / "run"
    module.write_text(source.read_text().replace("tictactoe_python", "tictactoe_of_mine"))
    quick = ["loop.iterations=1", "loop.games=2", "search.simulations=2", "loop.replay_ratio=0.1", "play.reuse=false"]
    start = [sys.executable, "-m", "ramify"]
    words = ["train", "tictactoe_of_mine", "network.kind=muzero-mlp", *quick, "--import", str(module)]
    subprocess.run([*start, *words, "--folder", str(run)], check=True, capture_output=True)
    inspected = [*start, "inspect", str(run), "--games", "1", "--simulations", "2"]
    subprocess.run(inspected, check=True, capture_output=True)
    module.unlink()
    failed = subprocess.run(inspected, check=False, capture_output=True, text=True)
    assert "tictactoe_of_mine" in failed.stderr
    assert "--import" in failed.stderr


def test_players_search_the_model(tmp_path: Path) -> None:
    game = rf.make("tictactoe")
    text = f"muzero:simulations=12,network={saved(tmp_path, game, VECTORS)}"
    player = read_player(text)
    assert player.label == text
    opened = player.open(game)
    states = [game.initial_state(), game.initial_state().after(4)]
    turns = [Turn(state, state.acting[0], number) for number, state in enumerate(states)]
    together = opened.choose(turns)
    assert together == [opened.choose([turn])[0] for turn in turns]  # however they are batched
    model = rf.evaluators.LatentNetwork(rf.networks.load(tmp_path / "net.safetensors"), "cpu")
    config = rf.SearchConfig(simulations=12, c_puct=1.25, c_base=19652.0, normalize="minmax")
    expected = [rf.Searcher(model, config=config).run(state).action() for state in states]
    assert together == expected
    opened.close()
    result = match(game, text, "random", games=4, results=Memory())
    assert len(result) == 4


def test_players_need_a_learned_network(tmp_path: Path) -> None:
    game = rf.make("tictactoe")
    other = saved(tmp_path, game, {"kind": "mlp", "layers": 1, "width": 8})
    with pytest.raises(ValueError, match="use search:network="):
        read_player(f"muzero:network={other}").open(game)
    with pytest.raises(ValueError, match="network is required"):
        read_player("muzero")


@pytest.mark.parametrize("setting", ["solver=true", "graph=true", "canonical=true", "rollout_share=0.5"])
def test_settings_that_need_the_rules_are_refused_before_a_game(tmp_path: Path, setting: str) -> None:
    game = rf.make("tictactoe")
    with pytest.raises(ValueError, match=f"{setting.partition('=')[0]}.* needs the rules"):
        read_player(f"muzero:network={saved(tmp_path, game, VECTORS)},{setting}").open(game)


def test_a_run_whose_settings_share_nodes_is_rated_without(tmp_path: Path) -> None:
    from ramify.arena.runs import checkpoint_player
    from ramify.training import load_config

    game = rf.make("tictactoe")
    config = load_config("muzero-tictactoe", {"search.graph": True})
    assert checkpoint_player(config, game, saved(tmp_path, game, VECTORS), 20).kind == "muzero"


def test_a_run_is_rated_by_searches_of_its_model(tmp_path: Path) -> None:
    from ramify.arena.runs import checkpoint_player
    from ramify.training import load_config

    game = rf.make("tictactoe")
    network = saved(tmp_path, game, VECTORS)
    player = checkpoint_player(load_config("muzero-tictactoe", {"search.normalize": "none"}), game, network, 20)
    assert player.kind == "muzero"
    content = player.content()
    assert (content["normalize"], content["simulations"], content["noise_fraction"]) == ("none", 20, 0.0)
    other = saved(tmp_path, game, {"kind": "mlp", "layers": 1, "width": 8})
    assert checkpoint_player(load_config("tictactoe"), game, other, 20).kind == "search"


def test_one_player_plays_no_matches() -> None:
    pytest.importorskip("gymnasium")
    with pytest.raises(ValueError, match="a game of one player"):
        match(rf.make("gym:CartPole-v1"), "random", "random", games=2, results=Memory())
