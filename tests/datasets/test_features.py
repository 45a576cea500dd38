"""Features of records: direct sums, the kernel that they approximate, and axes of public data alone."""

import numpy as np
import pytest

from admmbench import simulate
from admmbench.datasets import describe, load_dataset
from admmbench.datasets._features import Fourier, Scattering


def test_fourier_features_have_the_products_of_the_gaussian_kernel():
    X = np.random.default_rng(1).random((30, 5)).astype(np.float32)
    values = Fourier(size=20_000, scale=0.7).transform(X)[:, :-1]
    squares = np.square(X[:, None] - X[None]).sum(axis=2)
    np.testing.assert_allclose(values @ values.T, np.exp(-squares * 0.7**2 / 2), atol=0.03)


def scattered_by_sums(image, features):
    """Convolve by direct sums over pixels, of a single image."""
    step, side = features.step, len(image)
    padded = np.pad(image, step, "reflect")
    n = len(padded)
    low, wavelets = features.filters(n)
    low, *waves = (np.fft.ifft2(kernel) for kernel in (low, *(kernel for _, kernel in wavelets)))
    scales = [scale for scale, _ in wavelets]

    def at(x, kernel, i, j):
        return sum(x[k, m] * kernel[(i - k) % n, (j - m) % n] for k in range(n) for m in range(n))

    def convolved(x, kernel):
        return np.array([[at(x, kernel, i, j) for j in range(n)] for i in range(n)])

    groups = {(): [padded]}
    for scale, wave in zip(scales, waves, strict=True):
        first = np.abs(convolved(padded, wave))
        groups.setdefault((scale,), []).append(first)
        if features.order == 2:
            for coarser, second in zip(scales, waves, strict=True):
                if coarser > scale:
                    groups.setdefault((scale, coarser), []).append(np.abs(convolved(first, second)))
    places = range(step, step + side, step)
    values = []
    for channels in groups.values():
        pooled = np.array([at(x, low, i, j).real for x in channels for i in places for j in places])
        values.append((pooled - pooled.mean()) / pooled.std())
    joined = np.concatenate(values)
    return joined / np.linalg.norm(joined)


@pytest.mark.parametrize("order", [1, 2])
def test_scattering_is_that_of_direct_sums(order):
    features = Scattering(scales=2, angles=2, order=order)
    image = np.random.default_rng(2).random((8, 8)).astype(np.float32)
    (found,) = features.transform(image.reshape(1, -1))
    assert found[-1] == 1
    np.testing.assert_allclose(found[:-1], scattered_by_sums(image, features), atol=1e-6)
    assert len(found) == features.facts(64)[0]


def test_constant_images_have_no_wavelet_coefficients():
    (found,) = Scattering(scales=2, angles=4, order=2).transform(np.full((1, 64), 0.3, np.float32))
    np.testing.assert_array_equal(found[:-1], 0)


def test_scattering_moves_less_than_the_image():
    digits = load_dataset("digits").X_train[:50]
    moved = np.roll(digits.reshape(-1, 8, 8), 1, axis=2).reshape(-1, 64)
    features = Scattering(scales=2)
    change = np.linalg.norm(features.transform(moved) - features.transform(digits), axis=1)
    raw = np.linalg.norm(moved - digits, axis=1) / np.linalg.norm(digits, axis=1)
    assert change.mean() < 0.75 * raw.mean()


def test_linear_models_on_features_do_better():
    problem = {"loss": "softmax", "penalty": "l2", "strength": 1e-6, "per": "total"}

    def error(dataset):
        trace = simulate(dataset, "centralized", problem=problem, seeds=[0])
        return float(trace.test_error[0, -1])

    plain = error("digits")
    for features in ({"kind": "scattering", "scales": 1}, {"kind": "fourier", "scale": 0.5}):
        assert error({"name": "digits", "features": features}) < 0.8 * plain


def test_features_are_part_of_the_identity(tmp_path):
    plain = load_dataset("digits", cache=tmp_path)
    spec = {"name": "digits", "features": {"kind": "fourier", "size": 7}}
    data = load_dataset(spec, cache=tmp_path)
    assert data.X_train.shape == (1437, 8)
    assert data.key != plain.key
    assert data.settings == {"features": {"kind": "fourier", "size": 7, "scale": 1.0, "seed": 0}}
    assert describe("digits").settings == {}
    np.testing.assert_array_equal(data.y_train, plain.y_train)


def test_axes_of_public_data(tmp_path):
    """The axes do not follow from the private records."""
    with pytest.raises(ValueError, match="digits is the data set itself"):
        describe({"name": "digits", "features": {"kind": "pca_public", "public": "digits"}})
    with pytest.raises(ValueError, match="public: name the public data set"):
        describe({"name": "digits", "features": {"kind": "pca_public"}})
    spec = {"name": "digits", "features": {"kind": "pca_public", "public": {"name": "diabetes"}}}
    with pytest.raises(ValueError, match=r"has .* features, the data set has 64"):
        load_dataset(spec, cache=tmp_path)
    X = np.random.default_rng(0).normal(0.5, 0.1, (200, 3)) * [1, 3, 0.1]
    X = np.clip(X, 0, 1)
    table = tmp_path / "public.csv"
    rows = [*X, np.zeros(3), np.ones(3)]
    lines = (",".join(map(repr, map(float, [*row, k % 2]))) for k, row in enumerate(rows))
    table.write_text("a,b,c,y\n" + "\n".join(lines))
    settings = {"target": "y", "ranges": [0, 1]}
    public = {"name": "table", "path": str(table), **settings}
    private = tmp_path / "private.csv"
    private.write_text(table.read_text().replace("a,b,c,y\n", "a,b,c,y\n0.1,0.9,0.3,0.0\n"))
    spec = {"name": "table", "path": str(private), **settings}
    with pytest.raises(ValueError, match="is the data set itself"):
        describe(spec | {"features": {"kind": "pca_public", "public": spec}})
    data = load_dataset(spec | {"features": {"kind": "pca_public", "public": public, "size": 2}})
    seen = np.asarray(load_dataset(public).X_train, float)
    _, _, axes = np.linalg.svd(seen - seen.mean(axis=0))
    raw = np.asarray(load_dataset(spec).X_train, float)
    expected = (raw - seen.mean(axis=0)) @ axes[:2].T / 2
    np.testing.assert_allclose(np.abs(data.X_train[:, :2]), np.abs(expected), atol=1e-6)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"kind": "wavelets"}, "features"),
        ({"kind": "fourier", "size": 0}, "features"),
        ({"kind": "fourier", "bandwidth": 1}, "bandwidth"),
    ],
)
def test_wrong_settings_are_refused(features, message):
    with pytest.raises(ValueError, match=message):
        describe({"name": "digits", "features": features})


def test_tables_have_no_images():
    with pytest.raises(ValueError, match="scattering needs square images"):
        describe({"name": "diabetes", "features": {"kind": "scattering"}})
