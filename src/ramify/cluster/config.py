"""Settings of work on a cluster."""

from __future__ import annotations

import re

from pydantic import Field, field_validator

from ramify.base.settings import Settings


class ClusterConfig(Settings):
    """The cluster on which self-play runs, and how it keeps in step with training."""

    what = "cluster"

    address: str | None = Field(
        None,
        description=(
            "Ray cluster that plays the games: local starts one on this machine for the run, auto takes the one that "
            "runs here, HOST:PORT another one. None: no cluster."
        ),
    )
    actors: int | None = Field(
        None,
        ge=1,
        le=100_000,
        description=(
            "Number of self-play processes on all nodes together; None: as many as there are CPUs and GPUs for, except "
            "for one CPU of this machine, which trains."
        ),
    )
    cpus_per_actor: float = Field(1.0, gt=0, le=1024, description="CPUs of a self-play process; its search threads.")
    gpus_per_actor: float = Field(0.0, ge=0, le=64, description="GPUs of a self-play process, such as 0.5; 0: none.")
    parallel_games: int | None = Field(
        None,
        ge=1,
        description=(
            "Number of games that each process plays in parallel; None: loop.parallel_games divided by the number of "
            "processes, but at least 32."
        ),
    )
    max_age: int = Field(
        2,
        ge=0,
        description=(
            "Number of versions (checkpoints) by which the weights of self-play may be older than the newest ones; "
            "beyond that it waits for them."
        ),
    )
    backlog: float = Field(
        0.5,
        gt=0,
        description=(
            "Number of iterations (of loop.games games) by which training may be behind the replay ratio; beyond that "
            "self-play waits."
        ),
    )
    scratch: str | None = Field(
        None,
        description=(
            "Directory on every node for games that have not been handed over yet; None: that for temporary files. On "
            "a shared file system other nodes hand over the games of a node that was lost."
        ),
    )

    @field_validator("address")
    @classmethod
    def _known_address(cls, address: str | None) -> str | None:
        if address is None or address in ("local", "auto") or re.fullmatch(r"[^\s:/]+:\d{1,5}", address):
            return address
        raise ValueError("must be local, auto or HOST:PORT")
