"""Features that make linear models strong: fixed functions of one record, or found on public data alone.

A function that was fitted on the private records would have to be paid for. These are not: scattering and Fourier
features are drawn or computed before any record is seen, and principal axes are those of another, public data set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from admmbench.datasets._base import Arrays, DatasetDefinition, DatasetInfo
from admmbench.validation import Strict, checked

Rows = NDArray[np.float32]
# Records that are transformed at once.
_CHUNK = 256
# Deviation of pixels up to which they differ by rounding alone.
_EQUAL = 1e-6


class Fourier(Strict):
    """Random Fourier features of the Gaussian kernel (Rahimi and Recht 2007), and a column of ones.

    ``sqrt(2 / size) cos(V x + b)`` with normal V of standard deviation ``scale`` and b uniform in [0, 2 pi]: a record
    has norm sqrt(2) at most, besides the ones.
    """

    kind: Literal["fourier"] = "fourier"
    size: Annotated[int, Field(ge=1)] = 512
    scale: Annotated[float, Field(gt=0)] = 1.0
    seed: Annotated[int, Field(ge=0)] = 0

    def facts(self, n_features: int) -> tuple[int, tuple[float, float]]:
        """Return the number of features, and their domain."""
        most = math.sqrt(2 / self.size) * (1 + 1e-6)  # single precision rounds up, too
        return self.size + 1, (-most, max(1.0, most))

    def transform(self, X: Rows) -> Rows:
        """Return the features of some records."""
        rng = np.random.default_rng(self.seed)
        V = rng.normal(0, self.scale, (X.shape[1], self.size))
        b = rng.uniform(0, 2 * math.pi, self.size)
        values = math.sqrt(2 / self.size) * np.cos(X @ V + b)
        return _with_ones(values)


class Scattering(Strict):
    """Scattering features of square images (Bruna and Mallat 2013), and a column of ones.

    With Morlet wavelets psi at `scales` dyadic scales and `angles` angles and a Gaussian phi: ``x * phi``,
    ``|x * psi_1| * phi`` and, of order 2, ``||x * psi_1| * psi_2| * phi`` for a coarser psi_2, each at every
    2^scales-th pixel. Images are continued by reflection. The channels of a scale, or of two scales, are brought to
    mean 0 and variance 1 over the record, as group normalisation does (Tramer and Boneh 2021), and a record to norm 1.
    """

    kind: Literal["scattering"] = "scattering"
    scales: Annotated[int, Field(ge=1, le=3)] = 2
    angles: Annotated[int, Field(ge=1, le=16)] = 8
    order: Literal[1, 2] = 1

    def side(self, n_features: int) -> int:
        """Return the side of the images; ValueError if the records are none."""
        side = math.isqrt(n_features)
        if side * side != n_features or side % self.step:
            raise ValueError(
                f"features: scattering needs square images whose side is a multiple of {self.step}, got {n_features} "
                "features; use kind: fourier"
            )
        return side

    @property
    def step(self) -> int:
        """Return the distance of pixels that are kept."""
        return int(2**self.scales)

    @property
    def channels(self) -> int:
        """Return the number of features of a pixel that is kept."""
        first = self.scales * self.angles
        second = math.comb(self.scales, 2) * self.angles**2
        return 1 + first + second * (self.order == 2)

    def facts(self, n_features: int) -> tuple[int, tuple[float, float]]:
        """Return the number of features, and their domain."""
        pixels = (self.side(n_features) // self.step) ** 2
        return self.channels * pixels + 1, (-1.0, 1.0)

    def transform(self, X: Rows) -> Rows:
        """Return the features of some records."""
        side = self.side(X.shape[1])
        images = np.pad(
            X.reshape(-1, side, side).astype(float), ((0, 0), *[(self.step,) * 2] * 2), "reflect"
        )
        groups = dict[tuple[int, ...], list[NDArray[Any]]]()
        for group, channel in self._channels(images):
            groups.setdefault(group, []).append(channel.reshape(len(X), -1))
        values = [_normalised(np.concatenate(channels, axis=1)) for channels in groups.values()]
        features = np.concatenate(values, axis=1)
        return _with_ones(features / math.sqrt(features.shape[1]))

    def _channels(self, images: NDArray[Any]) -> Iterator[tuple[tuple[int, ...], NDArray[Any]]]:
        """Yield each channel of images with its scales, at the pixels that are kept, shape (n, s, s)."""
        low, wavelets = self.filters(images.shape[-1])
        keep = slice(self.step, images.shape[-1] - self.step, self.step)

        def convolve(spectrum: NDArray[Any], kernel: NDArray[Any]) -> NDArray[Any]:
            result: NDArray[Any] = np.fft.ifft2(spectrum * kernel)
            return result

        def pooled(spectrum: NDArray[Any]) -> NDArray[Any]:
            return convolve(spectrum, low).real[:, keep, keep]

        spectrum = np.fft.fft2(images)
        yield (), pooled(spectrum)
        for scale, kernel in wavelets:
            first = np.fft.fft2(np.abs(convolve(spectrum, kernel)))
            yield (scale,), pooled(first)
            for coarser, second in wavelets:
                if self.order == 2 and coarser > scale:
                    yield (scale, coarser), pooled(np.fft.fft2(np.abs(convolve(first, second))))

    def filters(self, side: int) -> tuple[NDArray[Any], list[tuple[int, NDArray[Any]]]]:
        """Return the spectrum of phi, and the scale and the spectrum of each psi, on a grid of a side."""
        low = np.fft.fft2(gabor(side, 0.8 * 2 ** (self.scales - 1)))
        wavelets = []
        for scale in range(self.scales):
            sigma, frequency = 0.8 * 2**scale, 0.75 * math.pi / 2**scale
            for k in range(self.angles):
                theta, slant = k * math.pi / self.angles, 4 / max(self.angles, 4)
                wave = gabor(side, sigma, theta, frequency, slant)
                envelope = gabor(side, sigma, theta, 0.0, slant)
                # Without a mean, so that a constant image has no wavelet coefficients.
                wavelets.append((scale, np.fft.fft2(wave - wave.sum() / envelope.sum() * envelope)))
        return low / low[0, 0], wavelets


def gabor(
    side: int, sigma: float, theta: float = 0.0, frequency: float = 0.0, slant: float = 1.0
) -> NDArray[np.complex128]:
    """Return a Gaussian times a plane wave, periodic with a side and centred at the first pixel."""
    shifts = np.arange(-2, 3) * side
    y, x = np.meshgrid(np.arange(side), np.arange(side), indexing="ij")
    total = np.zeros((side, side), complex)
    for dy in shifts:
        for dx in shifts:
            along = (x + dx) * math.cos(theta) + (y + dy) * math.sin(theta)
            across = (y + dy) * math.cos(theta) - (x + dx) * math.sin(theta)
            exponent = (along**2 + (slant * across) ** 2) / (2 * sigma**2)
            total += np.exp(-exponent + 1j * frequency * along)
    total *= slant / (2 * math.pi * sigma**2)
    return total


class PublicPCA(Strict):
    """First principal axes of a public data set, and a column of ones; coordinates are scaled by a record's norm.

    Coordinates are those of records around the public mean, divided by ``sqrt(J)``, the largest norm of J features in
    [0, 1] around a point in it.
    """

    kind: Literal["pca_public"] = "pca_public"
    public: Annotated[str | dict[str, Any], Field()] = ""
    size: Annotated[int, Field(ge=1)] = 50

    def facts(self, n_features: int) -> tuple[int, tuple[float, float]]:
        """Return the number of features, and their domain."""
        return min(self.size, n_features) + 1, (-1.0, 1.0)

    def project(self, mean: NDArray[Any], axes: NDArray[Any], X: Rows) -> Rows:
        """Return the coordinates of some records along the axes of `axes`."""
        if len(mean) != X.shape[1]:
            raise ValueError(
                f"features: public: has {len(mean)} features, the data set has {X.shape[1]}; name one with as many"
            )
        return _with_ones((X - mean) @ axes.T / math.sqrt(X.shape[1]))

    def axes(self, public: Rows) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the mean of the public records, and the axes, shape (size, J)."""
        X = np.asarray(public, np.float64)
        mean = X.mean(axis=0)
        _, vectors = np.linalg.eigh((X - mean).T @ (X - mean))
        axes = vectors[:, ::-1].T[: self.size]
        # The sign of an axis is arbitrary, and differs between libraries.
        largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
        return mean, axes * np.sign(largest)


Features = Annotated[Fourier | Scattering | PublicPCA, Field(discriminator="kind")]


class _Settings(Strict):
    """Setting ``features`` of a data set."""

    features: Features


class WithFeatures(DatasetDefinition):
    """Definition whose records may be replaced by features of them, by the setting ``features``.

    Parameters
    ----------
    definition
        The data set's own.
    load, describe_public, key
        Load and describe a public data set, and hash its content.
    """

    name = facts = None  # type: ignore[assignment]

    def __init__(
        self,
        definition: DatasetDefinition,
        load: Callable[[Any], Arrays],
        describe_public: Callable[[Any], DatasetInfo],
        key: Callable[[Any], str],
    ) -> None:
        self.own, self.load, self.describe_public, self.key = definition, load, describe_public, key
        self.name, self.defaults = definition.name, definition.defaults  # type: ignore[misc]

    def validate(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Complete the settings of the data set, and those of features if there are any."""
        own, stated = _split(settings)
        complete = self.own.validate(own)
        if stated is None:
            return complete
        features = checked(_Settings, {"features": stated}, "dataset").features
        if isinstance(features, PublicPCA):
            self._check_public(features, complete)
        return {**complete, "features": features.model_dump(mode="json")}

    def _check_public(self, features: PublicPCA, complete: dict[str, Any]) -> None:
        """Refuse axes of the private records themselves, and of none."""
        public = features.public
        name = public if isinstance(public, str) else public.get("name")
        if not name:
            raise ValueError("features: public: name the public data set whose axes are taken")
        path = None if isinstance(public, str) else public.get("path")
        own = self.own.describe(complete)
        same = name == self.name and path == complete.get("path")
        info = None if same else self.describe_public(public)
        if info is None or {*info.checksums.values()} & {*own.checksums.values()}:
            raise ValueError(
                f"features: public: {name} is the data set itself, whose axes would tell of its records; name another"
            )
        if own.domain != (0.0, 1.0):
            raise ValueError("features: pca_public needs features in [0, 1]; use kind: fourier")
        if info.domain != (0.0, 1.0):
            raise ValueError(f"features: public: {name} has features beyond [0, 1]; name another")
        if info.n_features != own.n_features:
            raise ValueError(
                f"features: public: has {info.n_features} features, the data set has {own.n_features}; name one with "
                "as many"
            )

    def identity(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Add the features to the identity of the data set."""
        own, stated = _split(settings)
        identity = self.own.identity(own)
        if stated is None:
            return identity
        public = {"public": self.key(stated["public"])} if "public" in stated else {}
        return {**identity, "features": {**stated, **public}}

    def without(self, settings: dict[str, Any], missing: Collection[str]) -> dict[str, Any] | None:
        """Return the same features of the smaller data set."""
        own, stated = _split(settings)
        smaller = self.own.without(own, missing)
        return smaller if smaller is None or stated is None else {**smaller, "features": stated}

    def describe(self, settings: dict[str, Any]) -> DatasetInfo:
        """Describe the data set with its features."""
        own, stated = _split(settings)
        info = self.own.describe(own)
        if stated is None:
            return info
        n, domain = _read(stated).facts(info.n_features)
        names = (*(f"x{number}" for number in range(n - 1)), "intercept")
        return replace(info, settings=settings, n_features=n, domain=domain, feature_names=names)

    def read(self, info: DatasetInfo, paths: Mapping[str, Path]) -> Arrays:
        """Read the data set, and compute the features of each record."""
        own, stated = _split(info.settings)
        if stated is None:
            return self.own.read(info, paths)
        arrays = self.own.read(self.own.describe(own), paths)
        features = _read(stated)
        transform: Callable[[Rows], Rows]
        if isinstance(features, PublicPCA):
            transform = partial(
                features.project, *features.axes(self.load(features.public).X_train)
            )
        else:
            transform = features.transform
        train, test = (_in_chunks(transform, X) for X in (arrays.X_train, arrays.X_test))
        return replace(arrays, X_train=train, X_test=test)


def _split(settings: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """Return the settings of the data set itself, and those of features."""
    own = dict(settings)
    return own, own.pop("features", None)


def _read(stated: Any) -> Features:
    """Return features from their settings."""
    return _Settings(features=stated).features


def _in_chunks(transform: Callable[[Rows], Rows], X: Rows) -> Rows:
    """Transform rows, some at once."""
    parts = [transform(X[start : start + _CHUNK]) for start in range(0, len(X), _CHUNK)]
    return np.ascontiguousarray(np.concatenate(parts))


def _normalised(values: NDArray[Any]) -> NDArray[Any]:
    """Return values of mean 0 and variance 1 in each row; 0 where all are equal."""
    values = values - values.mean(axis=1, keepdims=True)
    deviation = values.std(axis=1, keepdims=True)
    found: NDArray[Any] = values / np.where(deviation > _EQUAL, deviation, np.inf)
    return found


def _with_ones(values: NDArray[Any]) -> Rows:
    """Add a column of ones, as models have no intercept."""
    return np.hstack([values, np.ones((len(values), 1))]).astype(np.float32)
