"""Evaluators: what a search asks for priors and values."""

from ramify.evaluators.simple import Function, Rollout, Uniform
from ramify.search.batch import Batch, Evaluation, Evaluator

__all__ = ["Batch", "Evaluation", "Evaluator", "Function", "Rollout", "Uniform"]
