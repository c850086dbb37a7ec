"""Settings of the evaluator of a torch network."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from ramify.base.settings import Settings
from ramify.evaluators.outputs import checked_buckets


class RunConfig(Settings):
    """Settings of the evaluator of a torch network; frozen."""

    what = "evaluator"

    threads: int = Field(
        1, ge=1, description="Number of CPU threads that share a batch, each evaluating part of its rows."
    )
    buckets: tuple[int, ...] | None = Field(
        None,
        description=(
            "Batch sizes to run; other batches are padded to the next one. None: 1 to 64 on a CPU, where larger "
            "batches are split (any size with the backend torch), 1 to 6144 on CUDA."
        ),
    )
    precision: str = Field(
        "auto", pattern="^(auto|fp32|bf16)$", description="Numeric precision; auto: fp32 on a CPU, bf16 on CUDA."
    )
    compile: bool = Field(False, description="Compile the network with torch.compile (CUDA only).")
    graphs: bool = Field(True, description="Capture a CUDA graph for each batch size.")
    backend: Literal["auto", "openvino", "torch", "onnxruntime"] = Field(
        "auto",
        description=(
            "Library that runs the network on a CPU; they differ in the last bits of a result. auto: what the "
            "environment variable RAMIFY_BACKEND names, otherwise the fastest for each batch size, by measurement."
        ),
    )
    errors: bool = Field(
        False,
        description="Also return the expected errors of values, for searches with error_scale (head value_error).",
    )
    in_flight: int = Field(2, ge=1, le=16, description="Maximum number of batches of one size in flight on CUDA.")

    @field_validator("buckets", mode="before")
    @classmethod
    def _sorted(cls, buckets: Any) -> Any:
        return checked_buckets(buckets)
