"""``ramify train``: train a network by self-play."""

from __future__ import annotations

import re
import shlex
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from ramify.base.imports import forget_module, import_modules, imported
from ramify.base.settings import setting_text
from ramify.cli import options
from ramify.cli.common import Panel, fail, parse_settings, print_json, print_warning, sparkline, watched

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ramify.training import Sink, Status, TrainConfig

# Errors that are not bugs: they are reported in one line, without a traceback.
PROBLEMS = (ValueError, TypeError, ImportError, OSError, RuntimeError, FloatingPointError)
LINE_SECONDS = 10.0  # without a terminal: time without output after which a line says how far the run is
STOPPED, TERMINATED = 130, 143  # exit codes, as shells give them: 128 and the number of the signal
CURVES = {  # the metrics of iterations to show
    "new_policy": "policy loss on new positions",
    "new_value": "value loss on new positions",
    "new_reward": "reward loss on new positions",
    "new_top1": "policy accuracy",
    "new_explained_variance": "explained variance of the value",
    "new_legal_mass_last": "policy on legal actions after the unroll",
    "game_length": "game length",
    "mean_return": "mean return",
}


def train(
    name: Annotated[
        str | None, typer.Argument(help="A preset, a game, openspiel:NAME or a YAML file. Default: list the presets.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE...", help="Override settings, such as loop.iterations=5. --show lists all."),
    ] = None,
    param: options.Params = None,
    set_: Annotated[list[str] | None, typer.Option("-s", hidden=True)] = None,  # answered with the right way
    folder: Annotated[
        Path | None, typer.Option(help="The folder of the run. Default: runs/NAME. An unfinished run is resumed.")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(metavar="FILE|URL", help="Also write metrics to this store: ramify.db, or postgresql://…"),
    ] = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write TensorBoard event files.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Print all settings as YAML and exit.")] = False,
    json: options.AsJson = False,
) -> None:
    """Train a network by self-play.

    Ctrl-C or SIGTERM stops the run and saves its state; run the same command
    again to resume. If there is a GPU it is used, and self-play then runs in
    parallel with training. A game that has no preset is trained with settings
    that fit its size.

    \b
    ramify train                                     # list the presets
    ramify train tictactoe                           # half a minute on two cores
    ramify train hex-5                               # minutes on two cores
    ramify train hex -p size=6                       # any game, with its parameters
    ramify train openspiel:breakthrough -p rows=5 -p columns=5
    ramify train hex-5 loop.iterations=5 network=2x16
    ramify train mine.yaml --folder runs/first --store ramify.db
    ramify train my_game --import my_game.py         # a game of your own
    ramify train hex-11 cluster.address=auto         # games on all nodes of a Ray cluster
    """
    if name is None:
        return list_presets(as_json=json)
    params, given = parse_settings(param or []), parse_settings(settings or [])
    try:
        from ramify.cli.train_words import refuse_misplaced
        from ramify.training import as_yaml, load_config

        place = folder or run_folder(name, params)
        imports = import_remembered(place)
        trained = str(given.get("game", name))  # parameters are those of the game that is trained
        refuse_misplaced(trained, settings or [], param or [], set_ or [])
        changes = {f"params.{key}": value for key, value in params.items()} | given
        config = load_config(name, changes)
        if imports:
            config = config.replace(imports=list(dict.fromkeys([*config.imports, *imports])))
    except (ValueError, TypeError, ImportError, OSError) as error:
        fail(error)
    if show:
        print(as_yaml(config), end="")
        return None
    run(config, place, store=store, tensorboard=tensorboard, as_json=json)
    return None


def run_folder(name: str, params: dict[str, Any]) -> Path:
    """Where a run is kept if nobody says where: named as what is trained, with the parameters given."""
    from ramify.training.presets import preset_name

    words = [preset_name(name), *(f"{key}={value}" for key, value in params.items())]
    return Path("runs") / re.sub(r"[^\w.=,-]", "-", "-".join(words))


def import_remembered(folder: Path) -> list[str]:
    """The modules that ``--import`` named, now or when the run in the folder was started.

    What can be found of the latter is imported, except where it registers a game that the former have registered.
    """
    from ramify.games.registry import registered_stay
    from ramify.training.claims import remembered_imports

    for name in remembered_imports(folder):
        if name in imported():
            continue
        with suppress(ImportError), registered_stay() as replaced:
            import_modules([name])  # an error is left to whoever needs the game, which may be known all the same
        if replaced:
            forget_module(name)
            given = " and ".join(imported())
            print_warning(f"using {' and '.join(replaced)} of {given}; the run was started with that of {name}")
    return list(imported())


def list_presets(*, as_json: bool) -> None:
    """Print the presets."""
    try:
        from ramify.training.presets import preset_texts
    except ImportError as error:
        fail(error)
    texts = preset_texts()
    if as_json:
        return print_json(texts)
    width = max(map(len, texts))
    for name, text in texts.items():
        print(f"{name:{width}}  {text}")
    print("Any other game, openspiel:NAME among them, is trained with settings that fit its size.")
    return None


def run(config: TrainConfig, folder: Path, *, store: str | None, tensorboard: bool, as_json: bool) -> None:
    """Train and print a summary."""
    from ramify.training import read_metrics
    from ramify.training.processes import Terminated

    try:
        network = trained_network(config, folder, store, tensorboard, quiet=as_json)
    except KeyboardInterrupt as stop:
        end_stopped(folder, TERMINATED if isinstance(stop, Terminated) else STOPPED)
    except PROBLEMS as error:
        fail(error)
    figures = list(read_metrics(folder / "metrics.jsonl", "iteration"))
    if as_json:
        print_json({"folder": str(folder), "network": str(network), **(figures or [{}])[-1]})
    else:
        print_finished(config, folder, network)


def print_finished(config: TrainConfig, folder: Path, newest: Path) -> None:
    """Print where the run is, its best network, and what can be done with it."""
    from ramify.arena.network_files import is_learned, network_file

    best = network_file(str(folder))
    how = "the newest" if best == newest else f"the best rated; the newest is {newest}"
    print(f"Training finished. The run is in {folder}.")
    print(f"Network: {best} ({how})")
    print("Next:")
    for words in next_commands(config, str(folder), learned=is_learned(best)):
        print(f"  {shlex.join(['ramify', *words])}")


def next_commands(config: TrainConfig, folder: str, *, learned: bool) -> list[list[str]]:
    """What can be done with a run: its network plays, by the model where it is a learned one, and is rated where there
    are matches."""
    from ramify.games import number_of_players

    player = f"{'muzero' if learned else 'search'}:network={folder}"
    alone = number_of_players(config.make_game()) == 1
    # A good player of a task without a time limit would play for ever.
    given = {name: value for name, value in config.params.items() if not alone or value is not None}
    params = [word for item in given.items() for word in ("-p", setting_text(*item))]
    params += [word for module in config.imports for word in ("--import", module)]
    if alone:
        first = ["watch", config.game, player, *params, "--simulations", str(config.search.simulations)]
    else:
        first = ["play", config.game, *params, *(["--against", player] if learned else ["--network", folder])]
    more = [["rate", folder]] * (not alone) + [["inspect", folder]] * learned
    return [first, *more, ["report", folder]]


def end_stopped(folder: Path, code: int = STOPPED) -> NoReturn:
    """End the command after Ctrl-C or SIGTERM."""
    print(f"Stopped. Run the same command again to resume the run in {folder}.", file=sys.stderr)
    raise typer.Exit(code) from None


def trained_network(config: TrainConfig, folder: Path, store: str | None, tensorboard: bool, *, quiet: bool) -> Path:
    """Train; returns the last network. Errors in the settings are raised before anything is written."""
    from ramify.training import network_file
    from ramify.training import tensorboard as make_tensorboard
    from ramify.training.folder import held
    from ramify.training.run import go_on, prepare

    sinks: list[Sink] = []
    with ExitStack() as stack:
        training = prepare(config, folder)
        if tensorboard:
            sinks.append(make_tensorboard(folder / "tensorboard"))
        kept = None
        if store is not None:
            from ramify.store import Store

            kept = stack.enter_context(Store(store))
        stack.enter_context(held(folder))
        if kept is not None:  # not before: a run that another process is busy with has not failed
            sinks.append(stack.enter_context(RunInStore(kept, config, folder)))
        return network_file(go_on(training, tuple(sinks), watcher(stack, folder, quiet=quiet)))


class RunInStore:
    """A sink that writes a run's metrics, networks and status to a store."""

    def __init__(self, store: Any, config: TrainConfig, folder: Path) -> None:
        from ramify.training.run import origin

        self.store, self.folder = store, folder
        self.name = str(folder.resolve())
        store.start_run(self.name, config.model_dump(mode="json"), origin()["commit"], resume=True)

    def __call__(self, kind: str, number: int, figures: Any) -> None:
        if kind != "iteration":  # those of single steps are in the run's folder
            return
        self.store.add_metrics(self.name, number, figures)
        from ramify.training import checkpoints, network_file, read_progress

        newest = checkpoints(self.folder / "checkpoints")[-1]
        progress = read_progress(newest)
        self.store.add_checkpoint(self.name, progress["iteration"], network_file(newest), progress["network_id"])

    def __enter__(self) -> RunInStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        stopped = kind is not None and issubclass(kind, KeyboardInterrupt)
        self.store.finish_run(self.name, "finished" if kind is None else "stopped" if stopped else "failed")


def watcher(stack: ExitStack, folder: Path, *, quiet: bool) -> Callable[[Status], None]:
    """The progress display: a panel on a terminal, otherwise lines."""
    if not watched(quiet):
        return stack.enter_context(Lines(folder, quiet=quiet))
    return Panel(stack, partial(picture, folder=folder))


class Lines:
    """Plain lines: one at the start, one per iteration, and one where nothing was printed for ``LINE_SECONDS``."""

    def __init__(self, folder: Path, *, quiet: bool) -> None:
        self.folder, self.quiet = folder, quiet
        self.seen: int | None = None  # iterations; those of earlier sessions are not told again
        self.status: Status | None = None
        self.started = self.printed = time.perf_counter()
        self._ended = threading.Event()
        self._clock = threading.Thread(target=self._tell_time, name="ramify progress", daemon=True)

    def __enter__(self) -> Lines:
        if not self.quiet:
            self.say(f"Training in {self.folder}; Ctrl-C saves and stops.")
            self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if not self.quiet:
            self._clock.join()

    def say(self, line: str) -> None:
        self.printed = time.perf_counter()
        print(line, flush=True)

    def _tell_time(self) -> None:
        """A thread of its own: a game may take longer than a line should, and nothing is reported before it ends."""
        while not self._ended.wait(max(0.01, self.printed + LINE_SECONDS - time.perf_counter())):
            if time.perf_counter() - self.printed < LINE_SECONDS:
                continue
            status, seconds = self.status, time.perf_counter() - self.started
            if status is None:
                self.say(f"starting  {seconds:.0f} s")
                continue
            speed = status.figures.get("positions_per_s", 0.0)
            rate = f"  {speed:,.0f} moves/s" if speed else ""
            where = (
                f"iteration {status.iteration + 1} of {status.iterations}: {status.phase}, {100 * status.share:.0f} %"
            )
            self.say(f"{where}  step {status.step}  {seconds:.0f} s{rate}")

    def __call__(self, status: Status) -> None:
        self.status = status
        if self.seen is None:
            self.seen = len(status.history)
        if self.quiet or len(status.history) == self.seen:
            return
        self.seen = len(status.history)
        last = status.history[-1]
        shown = "  ".join(f"{name.removeprefix('new_')} {last[name]:.3f}" for name in CURVES if name in last)
        self.say(f"iteration {status.iteration}  step {status.step}  {status.seconds:.0f} s  {shown}")


def picture(status: Status, folder: Path) -> RenderableType:
    """The panel: progress, speed and curves."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    left = ""
    if status.done >= 1:
        left = ", finishing"
    elif status.done > 0.01:
        left = f", about {status.seconds / status.done * (1 - status.done):,.0f} s left"
    figures = status.figures
    moves, evaluations = (figures.get(name, 0.0) for name in ("positions_per_s", "evaluations_per_s"))
    rates = f"{moves:,.0f} moves/s, {evaluations:,.0f} evaluations/s" if moves else ""
    head = Table.grid(padding=(0, 2))
    head.add_row("run", str(folder))
    head.add_row("iteration", f"{status.iteration} of {status.iterations}, step {status.step}: {status.phase}")
    head.add_row("time", f"{status.seconds:,.0f} s{left}")
    head.add_row("self-play", rates)
    losses = [f"{name} {figures[name]:.3f}" for name in ("policy", "value", "reward", "total") if name in figures]
    head.add_row("loss", "  ".join(losses))
    curves = Table.grid(padding=(0, 2))
    for name, label in CURVES.items():
        values = [line[name] for line in status.history if name in line]
        if values:
            curves.add_row(label, sparkline(values), f"{values[-1]:.3f}")
    bar = Padding(ProgressBar(total=1.0, completed=status.done, width=60), 0)  # by itself a bar does not end its line
    return Group(head, bar, *([node_table(status)] if status.nodes else []), curves)


def node_table(status: Status) -> RenderableType:
    """What each node of the cluster does."""
    from rich.table import Table

    table = Table("node", box=None, pad_edge=False)
    for name in ("processes", "games", "moves/s", "evaluations/s", "weights"):
        table.add_column(name, justify="right")
    for node in status.nodes:
        speed = [f"{node.positions_per_s:,.0f}", f"{node.evaluations_per_s:,.0f}"]
        age = "newest" if node.age == 0 else f"{node.age} older"
        name = f"{node.host}{' (gone)' if not node.processes else ' (waiting)' if node.waiting else ''}"
        table.add_row(name, str(node.processes), f"{node.games:,}", *speed, age)
    return table
