"""The best settings of a sweep as a file, with the evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ramify.base.settings import setting_text
from ramify.sweeps.config import SweepConfig
from ramify.sweeps.trials import Confirmation, SweepResult


def evidence(config: SweepConfig, result: SweepResult) -> list[str]:
    """Sentences that say how well founded the best settings are."""
    best = result.best
    stopped = sum(trial.state == "stopped" for trial in result.trials)
    games = sum(trial.games for trial in result.trials)
    lines = [
        f"{len(result.trials)} trials ({stopped} stopped early), {games:,} games.",
        f"Best: trial {best.number}, {best.elo:+.0f} Elo ({best.low:+.0f} to {best.high:+.0f}) against the pool in "
        f"{best.games:,} games.",
    ]
    if result.confirmation is not None:
        lines.append(confirmation_text(result.confirmation))
    elif config.train is None and config.confirm_games:
        lines.append("The best settings are those of the player as it is.")
    return lines


def confirmation_text(found: Confirmation) -> str:
    """The confirmation in a sentence; it says whether something was gained."""
    verdict = "better" if found.low > 0 else "worse" if found.high < 0 else "no difference can be told"
    return (
        f"Against the player as it is, in new games: {found.wins} won, {found.draws} drawn, {found.losses} lost, "
        f"{found.elo:+.0f} Elo ({found.low:+.0f} to {found.high:+.0f}): {verdict}."
    )


def write_best(path: Path, config: SweepConfig, result: SweepResult) -> None:
    """Write the best settings as a training config, or a part of one, with the evidence as comments."""
    import yaml

    best = result.best
    head = [*evidence(config, result), f"Player: {best.player}"]
    if config.train is not None:
        from ramify.training import load_config

        chosen = load_config(config.train, best.settings).model_dump(mode="json", exclude_defaults=True)
    else:
        chosen = {"game": config.game, "params": config.params, "search": best.settings}
    text = yaml.safe_dump(chosen, sort_keys=False, default_flow_style=None, width=140)
    path.write_text("".join(f"# {line}\n" for line in head) + text, encoding="utf-8")


def settings_text(settings: dict[str, Any]) -> str:
    """Settings on one line."""
    shown = {name: round(value, 4) if isinstance(value, float) else value for name, value in settings.items()}
    return " ".join(setting_text(name, value) for name, value in shown.items())
