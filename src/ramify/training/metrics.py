"""Metrics of a run: written to a file of JSON lines and passed to sinks."""

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
    """Writes metrics to a file and to sinks. When a run resumes from an earlier step, lines after that step are
    removed, so that the file describes one continuous run."""

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
        """Pass one row of metrics to every sink."""
        self._file.write(json.dumps({"kind": kind, kind: number, **figures}) + "\n")

    def tell(self, kind: Kind, number: int, figures: Mapping[str, float]) -> None:
        """Pass metrics to the sinks; those of an iteration once its checkpoint is written."""
        for sink in self.sinks:
            sink(kind, number, figures)

    def flush(self) -> None:
        """Write what is buffered."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close every sink."""
        self._file.close()


def read_metrics(path: Path, kind: Kind | None = None) -> Iterator[dict[str, Any]]:
    """The lines of a metrics file, all or of one kind.

    A damaged line is logged (logger ``ramify``) and skipped; an incomplete last line is skipped silently.
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
    """Parse a line; None if it is damaged."""
    try:
        line = json.loads(text)
    except ValueError:  # no JSON, or no text at all
        return None
    if not isinstance(line, dict) or line.get("kind") not in KINDS or type(line.get(line["kind"])) is not int:
        return None
    whole = all(isinstance(value, int | float) for name, value in line.items() if name != "kind")
    return line if whole else None


def tensorboard(folder: str | os.PathLike[str]) -> Sink:
    """A sink that writes TensorBoard event files; needs the package tensorboard."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ImportError("TensorBoard output needs the package tensorboard: pip install tensorboard") from None
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
