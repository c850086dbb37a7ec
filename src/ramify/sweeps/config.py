"""Settings of a sweep: what is tuned, against whom, and with how many games."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from ramify.arena import MatchConfig, Openings, PlayerConfig, read_player
from ramify.base.files import write_atomically
from ramify.base.settings import Settings, SettingsError
from ramify.games import Game, make

if TYPE_CHECKING:
    from ramify.training import TrainConfig

Value = bool | int | float | str
RUN = "{run}"  # in the text of a player: the folder of the training run of a trial
KINDS = {"sweep.json": "a sweep", "improve.json": "a loop of 'ramify improve'", "ramify-run.json": "a training run"}


class Range(Settings):
    """The values that a sweep may give to a setting: ``choices``, or all numbers from ``low`` to ``high``.

    Whole bounds give whole numbers: write 1.0 where 1.5 is meant to be possible.
    """

    what = "range"

    low: int | float | None = Field(None, description="Least value.")
    high: int | float | None = Field(None, description="Largest value.")
    step: int | float | None = Field(None, gt=0, description="Distance between neighbouring values.")
    log: bool = Field(False, description="Try values evenly on a logarithmic scale.")
    choices: tuple[Value | None, ...] | None = Field(None, description="The values, in place of low and high.")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        bounds = (self.low, self.high)
        if self.choices is not None:
            if bounds != (None, None) or self.step is not None or self.log:
                raise ValueError("choices need no low, high, step or log")
            if not self.choices:
                raise ValueError("choices must not be empty")
            return self
        if self.low is None or self.high is None:
            raise ValueError("a range needs low and high, or choices")
        if self.low > self.high:
            raise ValueError(f"low={self.low} is above high={self.high}")
        if self.log and (self.low <= 0 or self.step is not None):
            raise ValueError("log needs low > 0, and no step")
        return self

    @property
    def whole(self) -> bool:
        """Whether the values are whole numbers."""
        return all(isinstance(bound, int) for bound in (self.low, self.high, 1 if self.step is None else self.step))


def _ranges(given: Any) -> Any:
    """Read the ranges one by one, so that an error names the setting."""
    if not isinstance(given, Mapping):
        return given
    found = {}
    for name, range_ in given.items():
        if not isinstance(range_, (Range, Mapping)):
            raise SettingsError(f"settings: {name}={range_!r} must be a range, such as {{low: 0.5, high: 2.0}}")
        try:
            found[name] = range_ if isinstance(range_, Range) else Range(**range_)
        except SettingsError as error:
            raise SettingsError(f"settings: {name}: {error}") from None
    return found


Ranges = Annotated[dict[str, Range], BeforeValidator(_ranges)]


def same_game(training: TrainConfig, game: str, params: Mapping[str, Any]) -> TrainConfig:
    """The training run, if one of its boards is the one that is played on; otherwise a ValueError that says so."""
    played = make(game, **params)
    trained = training.make_games()[len(training.curriculum) :]  # of the variants, and last that of the run
    if any((one.name, one.params) == (played.name, played.params) for one in trained):
        return training
    raise ValueError(
        f"train is {trained[-1]!r}, but matches are played on {played!r}: give both the same game and params"
    )


class SweepConfig(Settings):
    """A sweep. Without ``train``, ``settings`` are those of the player; with it, those of training runs."""

    what = "sweep"

    game: str = Field(description="The game.")
    params: dict[str, Any] = Field(default_factory=dict, description="Parameters of the game.")
    player: str = Field(
        description="The player whose settings are tuned, as in a match; with train, {run} stands for the run's folder."
    )
    settings: Ranges = Field(min_length=1, description="The settings to tune, and their ranges.")
    start: tuple[dict[str, Value | None], ...] = Field(
        (), description="Settings to try first; the player as it is comes before them."
    )
    opponents: tuple[str, ...] = Field(
        (), description="The fixed pool of players; without it, the player as it is. The first one has Elo 0."
    )
    train: str | None = Field(
        None, description="Preset, game or file of training runs, whose settings are tuned instead of the player's."
    )
    train_seconds: float = Field(600.0, gt=0, description="Length of the training run of a trial, in seconds.")
    trials: int = Field(40, ge=1, description="Number of trials.")
    games: int = Field(200, ge=2, multiple_of=2, description="Games of a trial against each opponent, at most.")
    first_games: int = Field(
        40,
        ge=2,
        multiple_of=2,
        description="Games against each opponent before a trial may be stopped; then it doubles.",
    )
    confirm_games: int = Field(
        400, ge=0, multiple_of=2, description="New games between the best settings and the player as it is, at the end."
    )
    opening: str = Field("random:2", description="Openings of the games: none, random:K or every:K.")
    racing: Literal["interval", "none"] = Field(
        "interval", description="Stop a trial that is worse than the best one with 95 % confidence, or none."
    )
    seed: int = Field(0, ge=0, lt=2**63, description="Random seed.")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if (self.train is not None) != (RUN in self.player):
            raise ValueError(
                f"player={self.player!r} must have network={RUN} with train, and only then: the run of a trial"
            )
        if self.train is not None and not self.opponents:
            raise ValueError("a sweep of training settings needs opponents")
        return self

    def make_game(self) -> Game:
        """The game of the sweep."""
        return make(self.game, **self.params)

    def matches(self, seed: int) -> MatchConfig:
        """The openings and seeds of games."""
        return MatchConfig(openings=Openings(self.opening), seed=seed)

    def base(self) -> PlayerConfig | None:
        """The player as it is; None in a sweep of training settings."""
        return None if self.train is not None else read_player(self.player)

    def pool(self) -> list[PlayerConfig]:
        """The opponents."""
        given = [read_player(text) for text in self.opponents]
        base = self.base()
        found = given or ([base] if base is not None else [])
        return list({player.identity: player for player in found}.values())

    def rungs(self) -> list[int]:
        """The numbers of games against each opponent after which a trial may be stopped."""
        found = [min(self.first_games, self.games)]
        while found[-1] < self.games:
            found.append(min(2 * found[-1], self.games))
        return found


def load_sweep(path: str | Path, **changes: Any) -> SweepConfig:
    """The sweep of a YAML file."""
    return SweepConfig(**{**read_mapping(path, "a sweep has settings such as game, player and settings"), **changes})


def read_mapping(path: str | Path, wanted: str) -> dict[str, Any]:
    """The settings of a YAML file; ``wanted`` says what is missing if it has none."""
    import yaml

    try:
        read = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path} is not YAML: it is no text") from None
    except yaml.YAMLError as error:
        raise SettingsError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(read, dict):
        raise SettingsError(f"{path}: {wanted}")
    return read


def claim(file: Path, config: Settings, what: str, may_grow: Collection[str]) -> None:
    """Save the settings of what a folder is for; raises an error if it has others, but for those that may grow."""
    described = json.loads(config.model_dump_json())
    if file.exists():
        known = json.loads(file.read_text(encoding="utf-8"))
        if changed := [name for name in described if name not in may_grow and known.get(name) != described[name]]:
            raise SettingsError(
                f"{file.parent} has a {what} with other settings ({', '.join(changed)}): choose another folder"
            )
    else:  # another process may write the same file just now: that is no other kind
        others = (kind for name, kind in KINDS.items() if name != file.name and (file.parent / name).exists())
        if other := next(others, None):
            raise SettingsError(f"{file.parent} has {other}: choose another folder")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise SettingsError(f"{error.filename} is a file, not a folder: choose another folder") from None
    write_atomically(file, json.dumps(described, indent=1).encode())
