"""Cases in a process of their own, which is started anew when a case ends it or hangs."""

from __future__ import annotations

import logging
import multiprocessing
import os
import re
import shutil
import signal
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from tools.fuzz.case import MODULES, Target, chance, load_targets

MOST_FAILURES = 30  # of a target, before it is given up
START_SECONDS = 300.0  # for a process to import everything, on a busy machine
SHOWN_LINES = 40  # of a traceback
PRELOADED = ["ramify.cli.app", "ramify.training", "ramify.store", *(f"tools.fuzz.{module}" for module in MODULES)]


@dataclass(frozen=True)
class Failure:
    """A case that found something."""

    target: str
    seed: int
    case: int
    kind: str  # equal for failures that are probably the same
    text: str

    @property
    def command(self) -> str:
        """How to see it again."""
        return f"python -m tools.fuzz {self.target} --seed {self.seed} --case {self.case}"


@dataclass
class Tally:
    """What came of a target."""

    target: str
    cases: int = 0
    seconds: float = 0.0
    failures: list[Failure] = field(default_factory=list)

    def add(self, failure: Failure) -> None:
        """Count a failure and print it: in full, if it is the first of its kind."""
        text = (
            failure.text
            if failure.kind.partition(":")[0] not in {known.kind.partition(":")[0] for known in self.failures}
            else failure.kind
        )
        print(
            f"\n{failure.target}, seed {failure.seed}, case {failure.case}:\n{text}\nagain: {failure.command}",
            flush=True,
        )
        self.failures.append(failure)


def run_case(target: Target, seed: int, number: int, root: Path) -> None:
    """One case in this process, with a folder that is removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=f"{target.name}-", dir=root))
    try:
        target.run(chance(target.name, seed, number), folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def work(connection: Connection, name: str, seed: int, root: str) -> None:
    """The process that runs cases: answers each number with what went wrong, or nothing."""
    os.setsid()  # so that all it starts can be ended with it
    os.environ["OMP_NUM_THREADS"] = "1"
    tempfile.tempdir = root  # it may be killed, and this is removed in any case
    logging.getLogger("ramify").addHandler(logging.NullHandler())
    logging.getLogger("ramify").propagate = False
    target = load_targets()[name]
    connection.send("ready")
    while (number := connection.recv()) is not None:
        try:
            run_case(target, seed, number, Path(root))
            connection.send("")
        except BaseException as error:
            lines = traceback.format_exc().splitlines()
            connection.send(f"{kind_of(error)}\n" + "\n".join(lines[-SHOWN_LINES:]))


def kind_of(error: BaseException) -> str:
    """What went wrong and where, in a line without the numbers of this case."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if "/ramify/" in frame.filename] or frames[-2:-1] or frames
    message = re.sub(r"[-+]?\d[\d.e+-]*", "#", str(error).partition("\n")[0])
    return f"{type(error).__name__} in {Path(inside[-1].filename).name}, {inside[-1].name}: {message[:100]}"


class Worker:
    """Such a process, from outside."""

    def __init__(self, target: Target, seed: int, root: Path) -> None:
        self.target = target
        context = multiprocessing.get_context("forkserver")  # a process that dies is replaced without new imports
        context.set_forkserver_preload(PRELOADED)
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=work, args=(theirs, target.name, seed, str(root)), daemon=False)
        self._process.start()
        theirs.close()
        if problem := self._answer(START_SECONDS).removeprefix("ready"):
            raise RuntimeError(f"the target {target.name} cannot be loaded: {problem}")

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    def run(self, number: int) -> str:
        """What went wrong in a case; nothing if nothing did."""
        self._connection.send(number)
        return self._answer(self.target.seconds)

    def _answer(self, seconds: float) -> str:
        if not self._connection.poll(seconds):
            self.end()
            return f"no end within {seconds:.0f} seconds"
        try:
            return str(self._connection.recv())
        except EOFError:
            self._process.join()
            return f"the process died with exit code {self._process.exitcode}"

    def end(self) -> None:
        """End it and what it has started."""
        if self._process.pid is not None and self._process.is_alive():
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:  # it has no group of its own yet
                self._process.kill()
        self._process.join()
        self._connection.close()


def fuzz(target: Target, seed: int, seconds: float, cases: int | None, root: Path) -> Tally:
    """Run cases of a target until the time is up, there were so many, or too many have failed."""
    tally, start, worker = Tally(target.name), time.monotonic(), None
    try:
        while cases is None or tally.cases < cases:
            if time.monotonic() - start > seconds or len(tally.failures) >= MOST_FAILURES:
                break
            worker = worker if worker is not None and worker.alive else Worker(target, seed, root)
            if problem := worker.run(tally.cases):
                kind, _, text = problem.partition("\n")
                tally.add(Failure(target.name, seed, tally.cases, kind, text or kind))
            tally.cases += 1
    finally:
        if worker is not None:
            worker.end()
    tally.seconds = time.monotonic() - start
    return tally
