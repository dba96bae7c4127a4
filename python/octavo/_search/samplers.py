"""Samplers by their names: Optuna's own, the plain grid, and boosted trees that rank what was not tried."""

from __future__ import annotations

import random
import warnings
from typing import Any, Sequence

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from .space import Choice, Space

NAMES = ("tpe", "nsga2", "random", "grid", "xgb")

_STARTUP = 10  # trials before a model is made of them
_CANDIDATES = 256


def key_of(choice: Any) -> tuple[Any, ...]:
    """The same for equal choices."""
    return tuple(sorted((name, repr(value)) for name, value in choice.items()))


def visited(study: Study) -> set[tuple[Any, ...]]:
    """Choices that have a trial, whatever became of it, but for those that were given up to be tried again."""
    trials = study.get_trials(deepcopy=False)
    return {
        key_of(trial.params or trial.system_attrs.get("fixed_params", {}))
        for trial in trials
        if "given up" not in trial.user_attrs
    }


class _OfSpace(optuna.samplers.BaseSampler):
    """Proposes whole choices."""

    def __init__(self, space: Space, seed: int) -> None:
        self.space = space
        self.seed = seed

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return distributions_of(self.space)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return self.propose(study, trial)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        return self.space.default[param_name]

    def propose(self, study: Study, trial: FrozenTrial) -> Choice:
        raise NotImplementedError


class Grid(_OfSpace):
    """Every choice, in order."""

    def propose(self, study: Study, trial: FrozenTrial) -> Choice:
        known = visited(study)
        return next((choice for choice in self.space.grid() if key_of(choice) not in known), self.space.default)


class BoostedTrees(_OfSpace):
    """Trees predict metric and time of choices that were not tried, random ones and neighbours of the front; taken is
    the best by a weight between the two that is drawn anew each time."""

    def propose(self, study: Study, trial: FrozenTrial) -> Choice:
        draw = random.Random(f"{self.seed} {trial.number}")
        done = [each for each in study.get_trials(deepcopy=False) if each.state == TrialState.COMPLETE]
        known = visited(study)
        bases = [each.params for each in done if each in study.best_trials] if len(done) >= _STARTUP else []
        pool = [self.space.draw(draw) for _ in range(_CANDIDATES)]
        pool += [self.space.neighbour(base, draw) for base in bases for _ in range(8)]
        fresh = [choice for choice in pool if key_of(choice) not in known]
        if len(done) < _STARTUP or not fresh:
            return (fresh or pool)[0]
        return fresh[int(np.argmin(self._worth(done, fresh, draw.random())))]

    def _worth(self, done: Sequence[FrozenTrial], fresh: Sequence[Choice], weight: float) -> np.ndarray:
        import xgboost

        rows, asked = self._encoded([each.params for each in done]), xgboost.DMatrix(self._encoded(fresh))
        values = np.array([each.values for each in done], np.float64)
        scaled = (values - values.min(0)) / np.maximum(values.max(0) - values.min(0), 1e-12)
        losses = np.stack([1.0 - scaled[:, 0], scaled[:, 1]])
        predicted = []
        for loss in losses:
            trees = xgboost.train(
                {"max_depth": 4, "eta": 0.2, "nthread": 1, "seed": self.seed}, xgboost.DMatrix(rows, loss), 60
            )
            predicted.append(trees.predict(asked))
        weighted = np.stack([weight * predicted[0], (1.0 - weight) * predicted[1]])
        return np.asarray(weighted.max(0) + 0.05 * weighted.sum(0))

    def _encoded(self, choices: Sequence[Choice]) -> np.ndarray:
        axes = self.space.axes.items()
        return np.array(
            [[float(choice[name] == value) for name, values in axes for value in values] for choice in choices],
            np.float32,
        )


def distributions_of(space: Space) -> dict[str, BaseDistribution]:
    """Of all axes."""
    return {name: optuna.distributions.CategoricalDistribution(list(values)) for name, values in space.axes.items()}


def sampler_of(name: str, space: Space, seed: int) -> optuna.samplers.BaseSampler:
    """By one of NAMES. Those of Optuna heed the trials' constraints."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        if name == "tpe":
            return optuna.samplers.TPESampler(seed=seed, multivariate=True, n_startup_trials=_STARTUP)
        if name == "nsga2":
            return optuna.samplers.NSGAIISampler(seed=seed, population_size=16)
        if name == "random":
            return optuna.samplers.RandomSampler(seed=seed)
    return Grid(space, seed) if name == "grid" else BoostedTrees(space, seed)
