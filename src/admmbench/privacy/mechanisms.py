"""Mechanisms: noise that an agent adds before anything leaves it.

All noise is drawn in float32 whatever the precision of the run, so that float32 and float64 runs see the same
realisation. The samplers work on finite-precision numbers, as those of the papers' experiments do: the guarantees
are those of the real-valued mechanisms (Mironov, 2012, explains the gap).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numba
import numpy as np
from numpy.typing import DTypeLike, NDArray

from admmbench.privacy.ledger import Ledger
from admmbench.sensitivity import Sensitivity

Array = NDArray[Any]


@dataclass(frozen=True)
class Privacy:
    """What one release may cost, and how its sensitivity is bounded.

    Parameters
    ----------
    epsilon
        Budget of one release; infinity means no noise.
    delta
        Failure probability of one Gaussian release, and the one at which totals are stated.
    sensitivity
        ``local``: from the agent's own records, as the papers compute it; the noise scale then depends on the data, so
        that no guarantee follows. ``global``: the worst case over admissible records.
    """

    epsilon: float = math.inf
    delta: float = 1e-6
    sensitivity: Literal["local", "global"] = "local"

    @property
    def private(self) -> bool:
        """Whether noise is added at all."""
        return math.isfinite(self.epsilon)


@dataclass(frozen=True)
class Release:
    """A noisy value that leaves an agent, as a method declares it.

    Attributes
    ----------
    law
        Distribution of the noise.
    value
        What it is added to.
    neighbours
        In what neighbouring data sets differ, so that the stated sensitivity bounds the change.
    """

    law: Literal["laplace", "gaussian", "spherical"]
    value: Literal["gradient", "solution", "dual variable", "predictions"]
    neighbours: str

    @property
    def pure(self) -> bool:
        """Whether a release is (epsilon, 0)-differentially private, and not (epsilon, delta)."""
        return self.law != "gaussian"


def gaussian_multiplier(epsilon: float, delta: float) -> float:
    """Standard deviation over l2 sensitivity of the classical Gaussian mechanism.

    ``sqrt(2 ln(1.25 / delta)) / epsilon`` (Dwork and Roth 2014, theorem A.1; huang2019, theorem 1). It is proved for
    epsilon <= 1; the papers use it beyond.
    """
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


class Noise:
    """Noise source of B agents, for a batch of S seeds.

    Parameters
    ----------
    generators
        One independent stream per agent and seed.
    shape
        Shape of one release, without the axes of agents and seeds.
    privacy
        Budget of one release.
    dtype
        Precision of the run.

    Attributes
    ----------
    ledgers
        Releases of each agent so far.
    """

    def __init__(
        self,
        generators: Sequence[Sequence[np.random.Generator]],
        shape: tuple[int, ...],
        privacy: Privacy,
        dtype: DTypeLike = np.float32,
    ) -> None:
        self.generators = generators
        self.shape = shape
        self.privacy = privacy
        self.ledgers = [Ledger() for _ in generators]
        self._dtype = np.dtype(dtype)
        self._measured: list[Array] | None = None

    def laplace(self, sensitivity: Sensitivity) -> Array | float:
        """Draw xi ~ Laplace(0, sensitivity / epsilon): an epsilon-DP release of each agent.

        Parameters
        ----------
        sensitivity
            Of what the noise is added to; the bound in l1 is used.

        Returns
        -------
        Noise of shape (B, S, *shape), or 0.0 when epsilon is infinite.

        Raises
        ------
        TypeError
            If there is no bound in l1.
        """
        bound = _bound(sensitivity, "l1", "Laplace")
        if not self.privacy.private:
            return 0.0
        for ledger in self.ledgers:
            ledger.laplace(1 / self.privacy.epsilon)
        return self._draw(fill_laplace, bound / self.privacy.epsilon)

    def gaussian(self, sensitivity: Sensitivity, std: Array | None = None) -> Array | float:
        """Draw xi ~ N(0, std^2): by default the classical (epsilon, delta)-DP release of each agent.

        Parameters
        ----------
        sensitivity
            Of what the noise is added to; the bound in l2 is used.
        std
            Standard deviation, shape (B, S), where a method sets its own; the ledgers record the ratio of the two.

        Returns
        -------
        Noise of shape (B, S, *shape), or 0.0 when epsilon is infinite and the method sets no standard deviation.

        Raises
        ------
        TypeError
            If there is no bound in l2.
        """
        bound = _bound(sensitivity, "l2", "Gaussian")
        if std is None and not self.privacy.private:
            return 0.0
        if std is None:
            multiplier = gaussian_multiplier(self.privacy.epsilon, self.privacy.delta)
            multipliers, std = [multiplier] * len(self.ledgers), multiplier * bound
        else:
            multipliers = (std / bound).min(axis=1).tolist()
        for ledger, multiplier in zip(self.ledgers, multipliers, strict=True):
            ledger.gaussian(multiplier)
        return self._draw(fill_gaussian, std)

    def spherical(self, scale: Array) -> Array | float:
        """Draw xi with a density proportional to exp(-||xi||_2 / scale): the mechanism of Chaudhuri et al. (2011).

        With ``scale`` = l2 sensitivity / epsilon it is epsilon-DP, and so is recorded; a method that uses it otherwise
        says why what it releases is epsilon-DP.

        Parameters
        ----------
        scale
            Shape (B, S).

        Returns
        -------
        Noise of shape (B, S, *shape), or 0.0 when epsilon is infinite.
        """
        if not self.privacy.private:
            return 0.0
        for ledger in self.ledgers:
            ledger.pure(self.privacy.epsilon)
        return self._draw(fill_spherical, scale)

    def variables(self) -> dict[str, Any]:
        """Streams and ledgers, as they are now."""
        return {
            "generators": [[each.bit_generator.state for each in own] for own in self.generators],
            "ledgers": [ledger.variables() for ledger in self.ledgers],
        }

    def restore(self, variables: dict[str, Any]) -> None:
        """Set streams and ledgers to what `variables` returned."""
        for own, states in zip(self.generators, variables["generators"], strict=True):
            for generator, state in zip(own, states, strict=True):
                generator.bit_generator.state = state
        for ledger, kept in zip(self.ledgers, variables["ledgers"], strict=True):
            ledger.restore(kept)

    def record_magnitude(self) -> None:
        """Start to record the magnitude of what is drawn."""
        self._measured = []

    def magnitude(self) -> Array:
        """Mean absolute entry of the draws since `record_magnitude`, shape (B, S)."""
        drawn, self._measured = self._measured, None
        if not drawn:
            return np.zeros((len(self.generators), len(self.generators[0])))
        return np.mean(drawn, axis=0)

    def _draw(self, fill: Callable[..., None], scale: Array) -> Array:
        xi = np.empty((*scale.shape, *self.shape), np.float32)
        streams = [stream for own in self.generators for stream in own]
        fill(streams, scale.astype(np.float32).reshape(-1), xi.reshape(scale.size, -1))
        if self._measured is not None:
            axes = tuple(range(2, xi.ndim))
            self._measured.append(np.abs(xi).mean(axis=axes, dtype=np.float64))
        return xi.astype(self._dtype, copy=False)


def _bound(sensitivity: Sensitivity, norm: Literal["l1", "l2"], law: str) -> Array:
    """Bound in the norm that a law's scale is stated in; a bare number says not which one it is."""
    bound: Array | None = getattr(sensitivity, norm, None)
    if bound is None:
        raise TypeError(
            f"{law} noise takes its scale from the {norm} sensitivity: pass what gradient() returns, or "
            f"Sensitivity({norm}=...), not {type(sensitivity).__name__}"
            + (" without it" if isinstance(sensitivity, Sensitivity) else "")
        )
    return bound


def fill_gaussian(streams: Sequence[np.random.Generator], scale: Array, out: Array) -> None:
    """Fill each row of a float32 array with normal noise of its scale from its stream."""
    for generator, row in zip(streams, out, strict=True):
        generator.standard_normal(out=row, dtype=np.float32)
    out *= scale[:, None]


def fill_spherical(streams: Sequence[np.random.Generator], scale: Array, out: Array) -> None:
    """Fill each row of a float32 array from its stream: a random direction, and a norm that is Gamma distributed."""
    for generator, row, unit in zip(streams, out, scale, strict=True):
        generator.standard_normal(out=row, dtype=np.float32)
        norm = generator.gamma(len(row), unit)
        row *= np.float32(norm / np.linalg.norm(row.astype(np.float64)))


def fill_laplace(streams: Sequence[np.random.Generator], scale: Array, out: Array) -> None:
    """Fill each row of a float32 array with Laplace noise of its scale from its stream.

    By inversion, a random sign times ln u: of 32 random bits one is the sign, and the others give u, uniform on the
    multiples of 2^-31 in (0, 1]. In one vectorised pass this takes a quarter of the time of
    ``Generator.standard_exponential`` with random signs, and a fifteenth of that of ``Generator.laplace``.
    """
    words = -(-out.shape[1] // 2)
    bits = np.stack([generator.bit_generator.random_raw(words) for generator in streams])
    _signed_logarithms(bits.view(np.int32), scale, out)


# Minimax polynomial of (ln(1 + x) - x + x^2 / 2) / x^3 on [sqrt(1/2) - 1, sqrt(2) - 1], as in Cephes' logf: the result
# is exact to the last bits of float32.
_LOG = np.array(
    [
        7.0376836292e-2,
        -1.1514610310e-1,
        1.1676998740e-1,
        -1.2420140846e-1,
        1.4249322787e-1,
        -1.6668057665e-1,
        2.0000714765e-1,
        -2.4999993993e-1,
        3.3333331174e-1,
    ],
    np.float32,
)
_LN2 = np.float32(math.log(2))
_SQRT_HALF_BITS = np.int32(np.float32(math.sqrt(0.5)).view(np.int32))


@numba.njit(cache=True, nogil=True, fastmath=True)
def _signed_logarithms(bits: Array, scale: Array, out: Array) -> None:
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            word = bits[i, j]
            number = np.float32((word >> np.int32(1)) & np.int32(0x7FFFFFFF)) + np.float32(1)
            pattern = np.float32(number).view(np.int32)
            exponent = (pattern - _SQRT_HALF_BITS) >> np.int32(23)
            mantissa = np.int32(pattern - (exponent << np.int32(23))).view(np.float32)
            x = mantissa - np.float32(1)
            y = _LOG[0]
            for coefficient in _LOG[1:]:
                y = y * x + coefficient
            log = x + x * x * (y * x - np.float32(0.5))
            log += np.float32(exponent - np.int32(31)) * _LN2
            out[i, j] = log * (scale[i] if word & np.int32(1) else -scale[i])
