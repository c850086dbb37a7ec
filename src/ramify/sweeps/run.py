"""The run of a sweep: Optuna proposes settings, the arena measures them."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ramify.arena import (
    Fixture,
    ParallelSettings,
    Played,
    PlayerConfig,
    Progress,
    Standings,
    WorkerPool,
    fixtures,
    match,
    play,
    read_player,
    round_robin,
)
from ramify.base.files import is_url
from ramify.base.settings import SettingsError
from ramify.store import Store
from ramify.store.engines import neighbour
from ramify.store.errors import StoreError, sentence
from ramify.store.location import read_location
from ramify.sweeps.config import RUN, Range, SweepConfig, claim, same_game
from ramify.sweeps.report import write_best
from ramify.sweeps.trials import Confirmation, SweepResult, Trial, best_of, hopeless

if TYPE_CHECKING:
    import optuna
    from optuna import Study

    from ramify.games import Game
    from ramify.training import TrainConfig

SWEEP, STUDY, GAMES, BEST = "sweep.json", "study.sqlite", "games.sqlite", "best.yaml"
MAY_GROW = ("trials", "confirm_games")  # settings that may change when a sweep is resumed
SIGN_OF_LIFE = 60  # seconds between two: the trial of a process that was killed is taken over by another
LOOK_SECONDS = 0.5  # between two looks at the last trials, which others play
PATIENCE = 5 * SIGN_OF_LIFE  # without a trial that ends, after which one more is played
DIGITS = 4  # significant digits of numbers that are tried


@dataclass(frozen=True)
class SweepProgress:
    """Where a sweep stands."""

    phase: str  # pool, trial, training, waiting (for trials of other processes) or confirmation
    trials: int
    trial: int | None = None
    games: int = 0
    wanted: int = 0
    best: Trial | None = None


class Sweep:
    """A sweep in a folder: its settings, Optuna's study, all games, and the best settings found.

    The same call resumes it, and processes that run it at once divide the trials. Games are in a ``store`` if one is
    given, and with the URL of a PostgreSQL database so is the study: processes of several machines can share it.
    """

    def __init__(
        self,
        config: SweepConfig,
        folder: str | Path,
        parallel: ParallelSettings | None = None,
        store: str | os.PathLike[str] | None = None,
    ) -> None:
        import_optuna()
        self.config, self.folder = config, Path(folder)
        self.store = self.folder / GAMES if store is None else store
        self.parallel = parallel or ParallelSettings()
        self.game: Game = config.make_game()
        self.base, self.pool = config.base(), config.pool()
        self._check()
        self.study = _study(config, self.folder, self.store)
        self._watch: Callable[[SweepProgress], None] | None = None

    def run(self, watch: Callable[[SweepProgress], None] | None = None) -> SweepResult:
        """Play the missing trials and the confirmation. Ctrl-C keeps every finished game."""
        result = self.take_part(watch)
        write_best(self.folder / BEST, self.config, result)
        return result

    def take_part(self, watch: Callable[[SweepProgress], None] | None = None) -> SweepResult:
        """As ``run``, for a process that helps another one, which writes the result."""
        self._watch = watch
        with self._explained(), Store(self.store) as store, WorkerPool() as self._workers:
            self._results = store.results()
            self._pool_games = self._play_pool()
            self._propose_first()
            self._play_trials()
            result = SweepResult(tuple(self.trials()), self._confirm())
            store.finish()
        return result

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn errors of Optuna's database into those of a store."""
        import optuna

        try:
            yield
        except optuna.exceptions.StorageInternalError as error:
            location = read_location(self.store)
            cause = error.__cause__ or error
            raise StoreError(sentence(location, getattr(cause, "orig", None) or cause)) from error

    def _play_trials(self) -> None:
        """Play trials until there are enough. The last ones may be those of other processes, which are waited for: as
        long as they are not finished, no more are begun, or those that end soonest, the worst, would be counted."""
        import optuna

        from ramify.sweeps.sampler import experimental

        states = optuna.trial.TrialState
        known, since = -1, 0.0
        while (done := len(self.trials())) < self.config.trials:
            with experimental():
                optuna.storages.fail_stale_trials(self.study)
            if done != known:
                known, since = done, time.monotonic()
            running = len(self.study.get_trials(deepcopy=False, states=(states.RUNNING,)))
            if done + running < self.config.trials or time.monotonic() - since > PATIENCE:
                self.study.optimize(self._objective, n_trials=1)
            else:
                self._show(SweepProgress("waiting", self.config.trials, best=self._best()))
                time.sleep(LOOK_SECONDS)

    def _show(self, progress: SweepProgress) -> None:
        if self._watch is not None:
            self._watch(progress)

    def trials(self) -> list[Trial]:
        """The trials so far."""
        from optuna.trial import TrialState

        states = {TrialState.COMPLETE: "complete", TrialState.PRUNED: "stopped"}
        return [
            Trial(number=trial.number, state=states[trial.state], **trial.user_attrs["found"])  # type: ignore[arg-type]
            for trial in self.study.get_trials(deepcopy=False)
            if trial.state in states and "found" in trial.user_attrs
        ]

    def _check(self) -> None:
        """Raise an error for settings that cannot be tried, and for a folder with another sweep."""
        for index in (0, -1):
            self._apply({name: _edge(range_, index) for name, range_ in self.config.settings.items()})
        for start in self.config.start:
            if unknown := start.keys() - self.config.settings.keys():
                raise SettingsError(f"start: {', '.join(sorted(unknown))} is not among the settings of the sweep")
        claim(self.folder / SWEEP, self.config, "sweep", MAY_GROW)

    def _play_pool(self) -> list[Played]:
        """The games between the opponents, which fix their ratings."""
        if len(self.pool) < 2:
            return []
        wanted = fixtures(self.game, round_robin(self.pool), self.config.games, self.config.matches(self.config.seed))
        return self._play(self.pool, wanted, "pool", None)

    def _propose_first(self) -> None:
        """Let the player as it is, where its settings are in range, and the starts be the first trials."""
        if self.study.get_trials(deepcopy=False):
            return
        first: list[dict[str, Any]] = []
        if self.base is not None:
            first.append({name: getattr(self.base, name) for name in self.config.settings})
        for settings in (*first, *self.config.start):
            if all(_inside(value, self.config.settings[name]) for name, value in settings.items()):
                self.study.enqueue_trial(settings, skip_if_exists=True)

    def _objective(self, trial: optuna.Trial) -> float:
        settings = {name: _suggest(trial, name, range_) for name, range_ in self.config.settings.items()}
        try:
            return self._measure(trial, settings)
        except KeyboardInterrupt:
            self.study.enqueue_trial(settings)  # the next run begins with it
            raise

    def _measure(self, trial: optuna.Trial, settings: dict[str, Any]) -> float:
        """The Elo of settings against the pool; the trial ends early if it is hopeless."""
        import optuna

        player = self._player_of(settings, trial.number)
        others = [other for other in self.pool if other.identity != player.identity]
        elo = 0.0
        for games in self.config.rungs():
            wanted = fixtures(
                self.game, [(player, other) for other in others], games, self.config.matches(self.config.seed)
            )
            played = self._play([player, *others], wanted, "trial", trial.number) if others else []
            elo, error = self._rate(player, played)
            found = {"settings": settings, "elo": elo, "error": error, "games": len(played), "player": player.label}
            trial.set_user_attr("found", {**found, "margin": margin(player, played)})
            trial.report(elo, games)
            best = self._best()
            if games < self.config.games and self.config.racing == "interval" and hopeless(elo, error, best):
                raise optuna.TrialPruned
        return elo

    def _rate(self, player: PlayerConfig, played: Sequence[Played]) -> tuple[float, float]:
        """Elo of a player in relation to the first opponent, and its standard error."""
        anchor = self.pool[0]
        if player.identity == anchor.identity:
            return 0.0, 0.0
        standings = Standings((player, *self.pool), (*self._pool_games, *played))
        return standings.ratings(anchor=anchor.identity).difference(player.identity, anchor.identity)

    def _best(self) -> Trial | None:
        found = [trial for trial in self.trials() if trial.state == "complete"]
        return best_of(found) if found else None

    def _apply(self, settings: dict[str, Any]) -> PlayerConfig | TrainConfig:
        """The player or the training run with these settings; raises a ValueError if it cannot have them."""
        if self.base is not None:
            return self.base.replace(**settings)
        from ramify.training import load_config

        assert self.config.train is not None
        chosen = load_config(self.config.train, {**settings, "loop.max_seconds": self.config.train_seconds})
        return same_game(chosen, self.config.game, self.config.params)

    def _player_of(self, settings: dict[str, Any], number: int) -> PlayerConfig:
        """The player of a trial; trains its network where training settings are tuned."""
        chosen = self._apply(settings)
        if isinstance(chosen, PlayerConfig):
            return chosen
        from ramify.training import train

        run = self.folder / "runs" / _digest(settings)  # a trial that was stopped goes on with its run
        self._show(SweepProgress("training", self.config.trials, number, best=self._best()))
        train(chosen, run)
        return read_player(self.config.player.replace(RUN, str(run)))

    def _play(
        self, players: Sequence[PlayerConfig], wanted: Sequence[Fixture], phase: str, trial: int | None
    ) -> list[Played]:
        watch = self._games(phase, trial)
        how: dict[str, Any] = {"results": self._results, "parallel": self.parallel, "pool": self._workers}
        return play(self.game, players, wanted, watch=watch, **how)

    def _games(self, phase: str, trial: int | None) -> Callable[[Progress], None]:
        """Shows the progress of games."""
        best, trials = self._best(), self.config.trials
        return lambda games: self._show(SweepProgress(phase, trials, trial, games.done, games.wanted, best))

    def _confirm(self) -> Confirmation | None:
        """New games between the best settings and the player as it is: the best of many trials is partly luck."""
        best = best_of(self.trials())
        if self.base is None or not self.config.confirm_games:
            return None
        player = self.base.replace(**best.settings)
        if player.identity == self.base.identity:
            return None
        found = match(
            self.game,
            player,
            self.base,
            self.config.confirm_games,
            config=self.config.matches(self.config.seed + 1),
            results=self._results,
            parallel=self.parallel,
            watch=self._games("confirmation", None),
            pool=self._workers,
        )
        return Confirmation(found.wins, found.draws, found.losses, found.elo, *found.elo_interval)


def margin(player: PlayerConfig, played: Sequence[Played]) -> float:
    """Mean difference of the returns of a player and its opponents."""
    differences = [
        (game.returns[0] - game.returns[1]) * (1 if game.fixture.players[0] == player.identity else -1)
        for game in played
        if not game.forfeited
    ]
    return sum(differences) / len(differences) if differences else 0.0


def import_optuna() -> Any:
    """Optuna; raises an ImportError that says how to install it."""
    try:
        import optuna
    except ImportError:
        raise ImportError('sweeps need Optuna: pip install "ramify[sweep]"') from None
    return optuna


def _study(config: SweepConfig, folder: Path, store: str | os.PathLike[str]) -> Study:
    from ramify.sweeps.sampler import SeededByTrial, experimental

    optuna = import_optuna()
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # its warnings have a traceback of every Ctrl-C
    name, url, engine = "sweep", f"sqlite:///{folder / STUDY}", dict[str, Any]()
    if is_url(store):  # with the sweeps of others
        name = f"{config.game} {_digest(config.model_dump(mode='json', exclude=set(MAY_GROW)))}"
        url, engine = neighbour(read_location(store), "sweeps")
    with experimental():
        storage = optuna.storages.RDBStorage(
            url,
            engine_kwargs=engine,
            heartbeat_interval=SIGN_OF_LIFE,
            heartbeat_stale_trial_callback=optuna.storages.RetryHeartbeatStaleTrialCallback(max_retry=3),
        )
    study: Study = optuna.create_study(
        study_name=name,
        storage=storage,
        sampler=SeededByTrial(config.seed),
        direction="maximize",
        load_if_exists=True,
    )
    return study


def _suggest(trial: optuna.Trial, name: str, range_: Range) -> Any:
    if range_.choices is not None:
        return trial.suggest_categorical(name, range_.choices)
    assert range_.low is not None
    assert range_.high is not None
    if range_.whole:
        return trial.suggest_int(name, int(range_.low), int(range_.high), step=int(range_.step or 1), log=range_.log)
    return float(f"{trial.suggest_float(name, range_.low, range_.high, step=range_.step, log=range_.log):.{DIGITS}g}")


def _digest(settings: dict[str, Any]) -> str:
    """A short name for settings."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]


def _edge(range_: Range, index: int) -> Any:
    """The first or the last value of a range."""
    return range_.choices[index] if range_.choices is not None else (range_.low, range_.high)[index]


def _inside(value: Any, range_: Range) -> bool:
    if range_.choices is not None:
        return value in range_.choices
    assert range_.low is not None
    assert range_.high is not None
    return isinstance(value, (int, float)) and range_.low <= value <= range_.high
