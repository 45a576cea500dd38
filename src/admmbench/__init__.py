"""Benchmark suite for ADMM-based federated learning, private and constrained."""

import importlib
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from admmbench.algorithms import list_algorithms
    from admmbench.cli.ranking import rank
    from admmbench.datasets import list_datasets, load_dataset
    from admmbench.estimators import PrivacyLeakWarning, PrivateClassifier, PrivateRegressor
    from admmbench.jobs.simulate import simulate
    from admmbench.problems.losses import list_losses
    from admmbench.watch.sweep import plot, sweep

__version__ = "0.1.0"

__all__ = [
    "PrivacyLeakWarning",
    "PrivateClassifier",
    "PrivateRegressor",
    "list_algorithms",
    "list_datasets",
    "list_losses",
    "load_dataset",
    "plot",
    "rank",
    "simulate",
    "sweep",
]

# Loaded when first used: a second of imports that planning a study does not need.
_HOMES = {
    "list_algorithms": "admmbench.algorithms",
    "list_datasets": "admmbench.datasets",
    "list_losses": "admmbench.problems.losses",
    "load_dataset": "admmbench.datasets",
    "PrivacyLeakWarning": "admmbench.estimators",
    "PrivateClassifier": "admmbench.estimators",
    "PrivateRegressor": "admmbench.estimators",
    "plot": "admmbench.watch.sweep",
    "rank": "admmbench.cli.ranking",
    "simulate": "admmbench.jobs.simulate",
    "sweep": "admmbench.watch.sweep",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name == "checks":  # as it was called before
        text = "admmbench.checks is now called admmbench.contracts"
        warnings.warn(text, FutureWarning, stacklevel=2)
        return importlib.import_module("admmbench.contracts")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
