"""Random quadratic programs with linear equations: section 5.1 of he2023. There are no records and no files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from admmbench.datasets._base import Arrays, DatasetDefinition, DatasetInfo

# Curvatures of an objective: those of he2023.
CURVATURES = (5.0, 10.0)


class SyntheticQP(DatasetDefinition):
    """Instances of (25): each seed has one, and each agent a part of it.

    Parameters
    ----------
    d
        Number of variables.
    m
        Number of equations of each agent, and of the server.
    """

    name = "synthetic_qp"
    defaults = {"d": 100, "m": 1}

    def validate(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Check that both settings are numbers above 0."""
        for key, value in settings.items():
            if type(value) is not int or value < 1:
                raise ValueError(f"synthetic_qp: {key} must be an integer above 0, not {value!r}")
        return settings

    def describe(self, settings: dict[str, Any]) -> DatasetInfo:
        """Return the static facts."""
        return DatasetInfo(
            name=self.name,
            title=f"Random quadratic programs, {settings['d']} variables",
            settings=settings,
            n_train=0,
            n_test=0,
            n_features=settings["d"],
            class_names=(),
            licence="none: drawn from the seed",
            citation=(
                "C. He, L. Peng, J. Sun, A proximal augmented Lagrangian based algorithm for federated learning "
                "with global and local convex conic constraints, arXiv:2310.10117, 2023."
            ),
            default_problem="quadratic",
            domain=(0.0, 0.0),
            drawn=True,
        )

    def read(self, info: DatasetInfo, paths: Mapping[str, Path]) -> Arrays:
        """Return arrays without records: nothing is read."""
        X = np.zeros((0, info.n_features), np.float32)
        y = np.zeros(0, np.float32)
        return Arrays(X, y, X, y)


class Part(NamedTuple):
    """Part of an instance that an agent, or the server, has."""

    A: NDArray[np.float64] | None
    """Shape (d, d); None at the server, which has no objective."""
    b: NDArray[np.float64]
    """Shape (d,)."""
    C: NDArray[np.float64]
    """Shape (m, d)."""
    d: NDArray[np.float64]
    """Shape (m,)."""


def draw(rng: np.random.Generator, d: int, m: int, objective: bool) -> Part:
    """Draw one part of (25).

    ``A = U D U^T`` with a Haar-distributed orthogonal U and a diagonal D, uniform on `CURVATURES`; all else is standard
    normal.

    Parameters
    ----------
    rng
        Source of random numbers.
    d, m
        Numbers of variables and equations.
    objective
        Whether the part has an objective.
    """
    A, b = None, np.zeros(d)
    if objective:
        from scipy.stats import ortho_group  # slow to import

        U = ortho_group.rvs(d, random_state=rng) if d > 1 else np.ones((1, 1))
        A = (U * rng.uniform(*CURVATURES, d)) @ U.T
        # Rounding leaves the product a little asymmetric.
        A, b = (A + A.T) / 2, rng.standard_normal(d)
    return Part(A, b, rng.standard_normal((m, d)), rng.standard_normal(m))
