"""``batch="auto"``: how many leaves of one search are evaluated together, and how many batches are in flight."""

from __future__ import annotations

from typing import Any

# A batch is at most this share of the simulations: small searches stay as strong as with a batch of 1.
LEAST_BATCHES = 96
LARGEST = 1024  # leaves: larger batches no longer make a GPU faster
PARAMETERS = 3_000_000  # a network with more of them fills a GPU with fewer rows
SMALLEST_LIMIT = 64
PER_SECOND = 100_000  # simulations assumed for a time limit
# Sizes to which evaluators on a GPU pad, 1 to 6144: automatic batches are among them.
BUCKETS = (1, 2, 4, *(size << k for k in range(10) for size in (8, 12)))
IN_FLIGHT = 2  # one batch is evaluated while the next one is gathered


def accelerated(evaluator: object) -> bool:
    """Whether an evaluator, or the one it wraps, runs on a device of its own, such as a GPU."""
    if evaluator is None:
        return False
    return bool(getattr(evaluator, "asynchronous", False)) or accelerated(getattr(evaluator, "inner", None))


def backend_of(evaluator: object) -> str | None:
    """The libraries with which an evaluator, or the one inside it, runs its network; None without a network."""
    backend: str | None = getattr(evaluator, "backend", None)
    return backend


def num_parameters(evaluator: object) -> int:
    """Number of parameters of the network of an evaluator, or of the one it wraps; 0 if unknown."""
    if evaluator is None:
        return 0
    found: Any = getattr(evaluator, "num_parameters", None)
    return num_parameters(getattr(evaluator, "inner", None)) if found is None else int(found)


def automatic_batch(simulations: int, max_evaluations: int | None, max_seconds: float | None, parameters: int) -> int:
    """The batch size for an accelerator: a function of the limits of the search and the size of the network alone."""
    budget: float = simulations
    if max_evaluations is not None:
        budget = min(budget, max_evaluations)
    if max_seconds is not None:
        budget = min(budget, max_seconds * PER_SECOND)
    limit = LARGEST if parameters <= PARAMETERS else max(SMALLEST_LIMIT, LARGEST * PARAMETERS // parameters)
    most = min(budget / LEAST_BATCHES, limit)
    return max(size for size in BUCKETS if size <= max(1, most))
