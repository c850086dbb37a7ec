"""Proposals of settings by Optuna, with random numbers that belong to the number of a trial."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from ramify.base.seeds import derive


@contextmanager
def experimental() -> Iterator[None]:
    """Use what Optuna calls experimental, without its warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        yield


class SeededByTrial(optuna.samplers.BaseSampler):
    """Tree-structured Parzen estimators whose random numbers depend on the seed and the number of the trial alone.

    With a plain seed, every process that takes part in a sweep, and every one that resumes it, would draw the same
    numbers, and propose what others have proposed.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._sampler = self._of(0)

    def _of(self, number: int) -> optuna.samplers.TPESampler:
        with experimental():
            return optuna.samplers.TPESampler(seed=derive(self.seed, "trial", number) % 2**32, constant_liar=True)

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        self._sampler = self._of(trial.number)
        self._sampler.before_trial(study, trial)

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return self._sampler.infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return self._sampler.sample_relative(study, trial, search_space)

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        return self._sampler.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self, study: optuna.Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        self._sampler.after_trial(study, trial, state, values)
