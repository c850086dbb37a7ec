"""What ``ramify web`` serves, to whom, and how much any client may use."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from pathlib import Path

LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Budget:
    """Limits of what clients may use."""

    simulations: int = 100_000  # of one move
    seconds: float = 60.0  # of one move
    analysis_seconds: float = 900.0  # of an analysis without a pause by the person who asked for it
    nodes: int = 400_000  # of one search graph
    clients: int = 200  # open tabs
    analyses: int = 32  # that run at once
    message: int = 256 << 10  # bytes of a request or a message


@dataclass(frozen=True)
class WebConfig:
    """The settings of the server."""

    host: str = "127.0.0.1"
    port: int = 8080
    names: tuple[str, ...] = ()  # further host names under which it may be addressed
    password: str | None = None
    runs: Path = Path("runs")
    store: str | Path = "ramify.db"  # a file, or the URL of a database
    players: tuple[str, ...] = ()  # texts of further opponents, such as uci:command=stockfish
    networks: tuple[str, ...] = ()  # files of further networks
    workers: int = field(default_factory=lambda: max(1, len(os.sched_getaffinity(0))))
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        if not is_loopback(self.host) and not self.password:
            raise ValueError(
                f"--host {self.host} can be reached from other machines: give a password with --password-file, "
                "or leave --host out"
            )
        if self.password is not None and len(self.password) < 8:
            raise ValueError("the password must have at least 8 characters")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server at this address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_address(name: str) -> bool:
    """Whether a host is an IP address rather than a name."""
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
