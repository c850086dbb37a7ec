"""Settings of the UCI engine, and the options by which a client sees and sets them."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from ramify.base.settings import Settings
from ramify.engine import SearchConfig

NODE_BYTES = 256  # memory per node of a search graph of chess, a little more than measured
UNLIMITED = 2**53  # simulations where something else is the limit
CPU_BATCH = 8
EMPTY = "<empty>"  # how UCI writes an empty text


class UciSettings(Settings):
    """Settings of the engine; frozen. ``OPTIONS`` has their names in the protocol."""

    what = "UCI"

    network: str = Field(
        "",
        description=(
            "The network: a file, the folder of a run or a checkpoint, the name of a shipped network, 'material' for "
            "values by material, or 'rollout'. Empty: the shipped network for chess if there is one, else material."
        ),
    )
    threads: int = Field(1, ge=1, le=256, description="Search threads.")
    batch: int = Field(0, ge=0, le=65536, description="Leaves evaluated together; 0: 8 on a CPU, automatic on a GPU.")
    simulations: int = Field(
        0, ge=0, le=2**31 - 1, description="Most simulations per move, whatever else go says; 0: no limit."
    )
    c_puct: float | None = Field(
        None, ge=0, le=1e9, description="Exploration constant of PUCT; None: the evaluator's own."
    )
    temperature: float = Field(
        0.0, ge=0, le=100, description="Moves are drawn by visits ** (1 / temperature); 0: always the most visited."
    )
    noise: float = Field(0.0, ge=0, le=1, description="Share of Dirichlet noise in the priors of the root.")
    noise_alpha: float = Field(0.3, ge=1e-6, le=1e9, description="Alpha of that noise.")
    hash_mb: int = Field(256, ge=1, le=1 << 20, description="Most memory of the search graph in megabytes.")
    multi_pv: int = Field(1, ge=1, le=500, description="Lines that are shown.")
    show_wdl: bool = Field(True, description="Show the chances to win, draw and lose.")
    ponder: bool = Field(False, description="Whether the client lets the engine think in the opponent's time.")
    syzygy: str = Field("", description="Folders with Syzygy tablebases, separated as in PATH.")
    overhead_ms: int = Field(15, ge=0, le=10_000, description="Milliseconds that every move loses on its way.")
    seed: int = Field(0, ge=0, le=2**31 - 1, description="Seed of the search.")
    search: dict[str, Any] = Field({}, description="Further settings of the search.")

    def search_config(self, accelerated: bool) -> SearchConfig:
        """The settings of the search, for an evaluator on a CPU or on an accelerator."""
        own: dict[str, Any] = {
            "simulations": UNLIMITED,
            "threads": self.threads,
            "batch": self.batch or ("auto" if accelerated else CPU_BATCH),
            "c_puct": self.c_puct,
            "noise_fraction": self.noise,
            "noise_alpha": self.noise_alpha,
            "max_nodes": min(2**31, max(1000, (self.hash_mb << 20) // NODE_BYTES)),
            "fpu": "reduction",  # what was measured: docs/results.md
            "fpu_offset": 0.2,
            "graph": True,
            "solver": True,
        }
        return SearchConfig(**{**own, **self.search})


OPTIONS = {
    "Network": "network",
    "Threads": "threads",
    "Hash": "hash_mb",
    "MultiPV": "multi_pv",
    "Ponder": "ponder",
    "UCI_ShowWDL": "show_wdl",
    "Simulations": "simulations",
    "Batch": "batch",
    "CPuct": "c_puct",
    "Temperature": "temperature",
    "Noise": "noise",
    "NoiseAlpha": "noise_alpha",
    "SyzygyPath": "syzygy",
    "Move Overhead": "overhead_ms",
    "Seed": "seed",
}
BUTTONS = ("Clear Hash",)
SHOWN_ONLY = frozenset({"multi_pv", "show_wdl", "ponder", "overhead_ms", "temperature", "syzygy", "simulations"})


def option_lines(settings: UciSettings) -> list[str]:
    """What ``uci`` is answered about the options."""
    lines = [f"option name {name} {_kind(field, getattr(settings, field))}" for name, field in OPTIONS.items()]
    return [*lines, *(f"option name {name} type button" for name in BUTTONS)]


def _kind(field: str, value: Any) -> str:
    known = UciSettings.model_fields[field]
    if known.annotation is bool:
        return f"type check default {str(value).lower()}"
    if known.annotation is int:
        bounds = {type(bound).__name__: bound for bound in known.metadata}
        return f"type spin default {value} min {bounds['Ge'].ge} max {bounds['Le'].le}"
    return f"type string default {_text(value)}"  # UCI has no numbers with a fraction


def _text(value: Any) -> str:
    return "auto" if value is None else f"{value:g}" if isinstance(value, float) else value or EMPTY


def changed(settings: UciSettings, name: str, text: str) -> UciSettings:
    """The settings with one option changed. Raises a ValueError for an unknown option or a value that does not fit."""
    names = {known.lower(): known for known in OPTIONS}
    if name.lower() not in names:
        raise ValueError(f"there is no option {name[:60]!r}; the options are {', '.join([*OPTIONS, *BUTTONS])}")
    field = OPTIONS[names[name.lower()]]
    kind = UciSettings.model_fields[field].annotation
    value: Any = "" if text == EMPTY else text
    if kind is bool and text.lower() not in ("true", "false"):
        raise ValueError(f"{name} must be true or false, not {text[:60]!r}")
    if kind is not str and kind is not bool and text.lower() in ("auto", ""):
        value = None
    try:
        return settings.replace(**{field: value})
    except ValueError as error:
        raise ValueError(str(error).partition("\n")[0].replace(f"UCI setting {field}", names[name.lower()])) from None
