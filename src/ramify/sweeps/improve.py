"""The loop of tuning and training: tune the search, play and train with the best settings, and tune again."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from ramify.arena import ParallelSettings
from ramify.base.files import write_atomically
from ramify.base.settings import Settings, setting_text
from ramify.cluster import ClusterConfig, connected
from ramify.engine.config import SearchConfig
from ramify.store.remote import reachable
from ramify.sweeps.config import RUN, Ranges, SweepConfig, claim, read_mapping, same_game
from ramify.sweeps.remote import planned
from ramify.sweeps.run import SweepProgress

CONFIG, ROUND = "improve.json", "round.json"
MAY_GROW = ("rounds",)

Show = Callable[[int, SweepProgress | None], None]  # the round, and the sweep; None while a network is trained


class ImproveConfig(Settings):
    """Rounds of tuning and training, against a fixed pool of opponents."""

    what = "improve"

    game: str = Field(description="The game.")
    params: dict[str, Any] = Field(default_factory=dict, description="Parameters of the game.")
    first: str = Field(description="The player whose search is tuned before there is a network.")
    player: str = Field(description="The player afterwards; {run} stands for the folder of the newest training run.")
    settings: Ranges = Field(min_length=1, description="Search settings to tune, and their ranges.")
    opponents: tuple[str, ...] = Field(
        min_length=1, description="The fixed pool of players. The first one has Elo 0 in all rounds."
    )
    train: str = Field(description="Preset, game or file of the training runs; their searches use the best settings.")
    train_seconds: float = Field(600.0, gt=0, description="Length of each training run, in seconds.")
    rounds: int = Field(3, ge=1, le=1000, description="Number of training runs; each begins with the last network.")
    trials: int = Field(20, ge=1, description="Number of trials of each sweep.")
    games: int = Field(100, ge=2, multiple_of=2, description="Games of a trial against each opponent, at most.")
    first_games: int = Field(20, ge=2, multiple_of=2, description="Games before a trial may be stopped.")
    confirm_games: int = Field(
        200, ge=2, multiple_of=2, description="New games between the best settings and those before, in every round."
    )
    opening: str = Field("random:2", description="Openings of the games: none, random:K or every:K.")
    seed: int = Field(0, ge=0, lt=2**62, description="Random seed.")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if RUN not in self.player or RUN in self.first:
            raise ValueError(f"player must have network={RUN}, the newest training run, and first must not")
        if other := self.settings.keys() - SearchConfig.model_fields.keys():
            raise ValueError(f"settings: {', '.join(sorted(other))} is not a search setting, which training could use")
        return self


@dataclass(frozen=True)
class Round:
    """What a round has found: the player with the settings adopted, and its Elo against the pool."""

    number: int
    settings: dict[str, Any]  # adopted so far
    elo: float | None  # None: the player as it is was not among the trials
    error: float | None
    gain: float | None  # Elo of new games against the player before the tuning; None if nothing was to be gained
    gain_low: float | None
    gain_high: float | None
    player: str
    run: str | None  # the training run that followed


class Improve:
    """The loop in a folder. The same call resumes it."""

    def __init__(
        self,
        config: ImproveConfig,
        folder: str | Path,
        parallel: ParallelSettings | None = None,
        store: str | None = None,
        cluster: ClusterConfig | None = None,
    ) -> None:
        """With a ``cluster``, its nodes play the trials of the sweeps and the games of the training runs. They need a
        ``store`` that all of them reach, and the folder at the same path, unless the cluster is on this machine."""
        self.config, self.folder, self.parallel = config, Path(folder), parallel
        self.store, self.cluster = store, cluster
        if cluster is not None:
            reachable(store, cluster)
        for text in (config.first, config.player.replace(RUN, "run")):
            self._sweep_config(text, 0)  # a mistake is found before hours have passed
        self._training({}, None)
        claim(self.folder / CONFIG, config, "loop", MAY_GROW)

    def run(self, show: Show | None = None) -> list[Round]:
        """Tune and train ``rounds`` times, and tune once more; returns what each round found."""
        rounds: list[Round] = []
        with nullcontext() if self.cluster is None else _connected(self.cluster):
            for number in range(self.config.rounds + 1):
                file = self._place(number) / ROUND
                if not file.exists():
                    found = self._round(number, rounds[-1] if rounds else None, show)
                    write_atomically(file, json.dumps(asdict(found), indent=1).encode())
                rounds.append(Round(**json.loads(file.read_text(encoding="utf-8"))))
        return rounds

    def _round(self, number: int, before: Round | None, show: Show | None) -> Round:
        """Tune the search of the newest network, and train from it with the settings found."""
        known = {} if before is None else before.settings
        text = self.config.first if before is None else self.config.player.replace(RUN, str(before.run))
        tuned, place = self._sweep_config(with_settings(text, known), number), self._place(number) / "sweep"
        with planned(tuned, place, self.parallel, self.store, self.cluster) as sweep:
            result = sweep.run(None if show is None else lambda progress: show(number, progress))
        gain, base = result.confirmation, sweep.base
        assert base is not None
        better = gain is not None and gain.elo > 0
        adopted = {**known, **result.best.settings} if better else known
        run = None
        if number < self.config.rounds:
            if show is not None:
                show(number, None)
            run = self._train(number, adopted, before)
        wanted = result.best.player if better else base.label
        rated = next((trial for trial in result.trials if trial.player == wanted), None)
        return Round(
            number=number,
            settings=adopted,
            elo=None if rated is None else rated.elo,
            error=None if rated is None else rated.error,
            gain=None if gain is None else gain.elo,
            gain_low=None if gain is None else gain.low,
            gain_high=None if gain is None else gain.high,
            player=with_settings(text, adopted),
            run=None if run is None else str(run),
        )

    def _train(self, number: int, settings: dict[str, Any], before: Round | None) -> Path:
        from ramify.training import train

        folder = self._place(number) / "run"
        train(self._training(settings, None if before is None else before.run), folder)
        return folder

    def _training(self, settings: dict[str, Any], start: str | None) -> Any:
        from ramify.training import load_config

        changes = {f"search.{name}": value for name, value in settings.items() if value is not None}
        changes |= {"loop.max_seconds": self.config.train_seconds} | ({} if start is None else {"start": start})
        if self.cluster is not None:
            changes["cluster.address"] = self.cluster.address
        return same_game(load_config(self.config.train, changes), self.config.game, self.config.params)

    def _sweep_config(self, text: str, number: int) -> SweepConfig:
        config = self.config
        own = ("first", "player", "train", "train_seconds", "rounds", "seed")
        shared = {name: getattr(config, name) for name in type(config).model_fields if name not in own}
        return SweepConfig(player=text, seed=config.seed + number, **shared)

    def _place(self, number: int) -> Path:
        return self.folder / f"{number:03d}"


def _connected(cluster: ClusterConfig) -> AbstractContextManager[None]:
    """One connection for all rounds; a cluster that is started here is started once."""
    assert cluster.address is not None
    return connected(cluster.address)


def with_settings(text: str, settings: dict[str, Any]) -> str:
    """The text of a player with further settings."""
    return ",".join([text, *(setting_text(name, value) for name, value in settings.items())])


def load_improve(path: str | Path, **changes: Any) -> ImproveConfig:
    """The loop of a YAML file."""
    return ImproveConfig(**{**read_mapping(path, "a loop has settings such as game, first and player"), **changes})
