"""Figures of a run: kept in a file of JSON lines, and handed to whoever else wants them."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from ramify.base.files import write_atomically

logger = logging.getLogger("ramify")

Kind = Literal["step", "iteration"]
KINDS = get_args(Kind)
Sink = Callable[[Kind, int, Mapping[str, float]], None]


class Metrics:
    """Writes figures to a file and to sinks. Opened again for a run that goes on from an earlier step, it forgets what
    came after that step, so that the file tells of one unbroken run."""

    def __init__(self, path: Path, sinks: tuple[Sink, ...] = (), step: int = 0, iteration: int = 0) -> None:
        self.path, self.sinks = path, sinks
        kept = [
            line
            for line in read_metrics(path)
            if line[line["kind"]] <= {"step": step, "iteration": iteration}[line["kind"]]
        ]
        write_atomically(path, "".join(json.dumps(line) + "\n" for line in kept).encode())
        self._file = path.open("a", encoding="utf-8")

    def write(self, kind: Kind, number: int, figures: Mapping[str, float]) -> None:
        self._file.write(json.dumps({"kind": kind, kind: number, **figures}) + "\n")

    def tell(self, kind: Kind, number: int, figures: Mapping[str, float]) -> None:
        """Hand figures to the sinks; those of an iteration when its checkpoint is there."""
        for sink in self.sinks:
            sink(kind, number, figures)

    def flush(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


def read_metrics(path: Path, kind: Kind | None = None) -> Iterator[dict[str, Any]]:
    """The lines of a file of figures, all or of one kind.

    A damaged line is reported (logger ``ramify``) and left out; the last one, if a dying process left it half written,
    is left out silently.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, text in enumerate(file, 1):
            line = parse_line(text)
            if line is None and text.endswith(b"\n"):
                logger.warning("%s: line %d is damaged and left out", path, number)
            if line is not None and kind in (None, line["kind"]):
                yield line


def parse_line(text: bytes) -> dict[str, Any] | None:
    """A line as it was written, or None."""
    try:
        line = json.loads(text)
    except ValueError:  # no JSON, or no text at all
        return None
    if not isinstance(line, dict) or line.get("kind") not in KINDS or type(line.get(line["kind"])) is not int:
        return None
    whole = all(isinstance(value, int | float) for name, value in line.items() if name != "kind")
    return line if whole else None


def tensorboard(folder: str | os.PathLike[str]) -> Sink:
    """A sink that writes TensorBoard's files; needs the package tensorboard."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ImportError("TensorBoard's files need its package: pip install tensorboard") from None
    writer: Any = None

    def sink(kind: Kind, number: int, figures: Mapping[str, float]) -> None:
        nonlocal writer
        if writer is None:  # not before: it makes its folder, and the run may still be refused
            writer = SummaryWriter(os.fspath(folder))
        for name, value in figures.items():
            writer.add_scalar(f"{kind}/{name}", value, number)
        if kind == "iteration":
            writer.flush()

    return sink
