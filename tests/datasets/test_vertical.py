"""The data sets whose features are shared out over parties: a9a, gisette, and the stand-in for it."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from admmbench.datasets import (
    DatasetError,
    describe,
    gisette,
    gisette_like,
    load_dataset,
    mnist,
)

# a9a


def test_a9a(real_mirror, tmp_path):
    data = load_dataset("a9a", mirror=real_mirror, cache=tmp_path)
    assert np.bincount(data.y_train).tolist() == [24_720, 7_841]
    assert np.bincount(data.y_test).tolist() == [12_435, 3_846]
    assert (data.X_train.sum(dtype=int), data.X_test.sum(dtype=int)) == (451_592, 225_731)
    assert set(np.unique(data.X_train)) == set(np.unique(data.X_test)) == {0, 1}
    assert data.X_train[:, 122].any()
    assert not data.X_test[:, 122].any()
    assert describe("a9a").default_problem == "logistic"

    for name, X, y in (("a9a", data.X_train, data.y_train), ("a9a.t", data.X_test, data.y_test)):
        lines = (real_mirror / "a9a" / name).read_text().splitlines()
        for number in (0, 1, 2, 1000, 9999, len(lines) - 1):
            label, *features = lines[number].split()
            assert y[number] == {"-1": 0, "+1": 1}[label]
            assert (np.flatnonzero(X[number]) + 1).tolist() == [int(f[:-2]) for f in features]

    model = LogisticRegression(max_iter=1000).fit(data.X_train, data.y_train)
    assert model.score(data.X_test, data.y_test) == pytest.approx(0.8495, abs=1e-3)


# gisette


def table(X):
    """Return the text of a matrix; as in the real files, a space ends each line."""
    words = [b"%d " % value for value in range(1000)]
    return b"".join(b"".join([words[value] for value in x]) + b"\n" for x in X.tolist())


def gisette_numbers(rng, n):
    """Features about as sparse as those of gisette, and balanced labels."""
    X = rng.integers(1, 1000, (n, 5000), dtype=np.uint16)
    X[rng.random(X.shape, dtype=np.float32) > 0.13] = 0
    return X, rng.permutation(np.arange(n) % 2)


def gisette_files(folder, **parts):
    """Write features and classes of each part; return the paths by name."""
    paths = {}
    for part, (X, y) in parts.items():
        contents = {"data": table(X), "labels": b"".join((b"-1\n", b"1\n")[k] for k in y)}
        for kind, content in contents.items():
            path = folder / f"gisette_{part}.{kind}"
            path.write_bytes(content)
            paths[path.name] = path
    return paths


@pytest.fixture
def small(tmp_path):
    """Return small parts with a constant feature and test values out of range; and their files."""
    rng = np.random.default_rng(0)
    parts = {"train": gisette_numbers(rng, 30), "valid": gisette_numbers(rng, 8)}
    (train, _), (valid, _) = parts.values()
    train[:, 0], valid[:2, 0] = 7, [7, 8]
    train[:, 1] = np.arange(100, 130)
    valid[:3, 1] = [99, 114, 130]
    return parts, gisette_files(tmp_path, **parts)


def test_gisette_is_scaled_as_libsvm_scales_it(small):
    parts, paths = small
    arrays = gisette.Gisette().read(describe("gisette"), paths)
    (train, y_train), (valid, y_valid) = parts.values()
    low, high = train.min(axis=0).astype(float), train.max(axis=0).astype(float)
    varies = high > low
    for X, raw in ((arrays.X_train, train), (arrays.X_test, valid)):
        expected = -1 + 2 * (raw[:, varies] - low[varies]) / (high - low)[varies]
        np.testing.assert_allclose(X[:, varies], expected.clip(-1, 1), atol=1e-6)
        assert not X[:, ~varies].any()
        assert X.dtype == np.float32
        assert np.abs(X).max() == 1
        assert X.flags.c_contiguous
    assert not varies[0]
    assert (arrays.X_test[[0, 2], 1]).tolist() == [-1, 1]  # not beyond the domain
    assert arrays.y_train.tolist() == y_train.tolist()
    assert arrays.y_test.tolist() == y_valid.tolist()


def test_gisette_in_the_unit_interval_keeps_its_integers(small):
    parts, paths = small
    info = describe({"name": "gisette", "scaling": "unit"})
    arrays = gisette.Gisette().read(info, paths)
    np.testing.assert_array_equal(np.rint(arrays.X_train * 999), parts["train"][0])
    np.testing.assert_array_equal(np.rint(arrays.X_test * 999), parts["valid"][0])
    assert info.domain == (0, 1)


@pytest.mark.parametrize("name", ["gisette", "gisette_like"])
def test_the_domain_follows_the_scaling(name):
    assert describe(name).domain == (-1, 1)
    assert describe({"name": name, "scaling": "unit"}).domain == (0, 1)


# gisette_like


@pytest.fixture(scope="module")
def fours_and_nines(real_mirror):
    """Return the images of MNIST that show a 4 or a 9, and which."""
    source = mnist.Mnist()
    paths = {file.name: real_mirror / file.mirror_path for file in mnist.FILES}
    data = source.read(source.describe({}), paths)
    digits = np.concatenate([data.y_train, data.y_test])
    pixels = np.concatenate([data.X_train, data.X_test])
    ours = np.isin(digits, (4, 9))
    return np.rint(255 * pixels[ours]).astype(np.uint8), digits[ours]


@pytest.fixture(scope="module")
def sample(fours_and_nines):
    return gisette_like.draw(*fours_and_nines)


@pytest.mark.slow
def test_gisette_like(real_mirror, tmp_path, sample):
    drawn = sample.features[:6000], sample.features[6000:]
    for scaling in gisette.DOMAINS:
        spec = {"name": "gisette_like", "scaling": scaling}
        data = load_dataset(spec, mirror=real_mirror, cache=tmp_path)
        assert np.bincount(data.y_train).tolist() == [3000, 3000]
        assert np.bincount(data.y_test).tolist() == [500, 500]
        assert data.note == "stand-in for gisette, made from MNIST"
        expected = gisette.scale(*drawn, scaling)
        np.testing.assert_array_equal(data.X_train, expected[0])
        np.testing.assert_array_equal(data.X_test, expected[1])
        y = np.concatenate([data.y_train, data.y_test])
        np.testing.assert_array_equal(y, sample.classes)


def test_features_of_the_stand_in_are_sparse_integers_up_to_999(sample):
    X = sample.features
    assert X.max() == 999
    assert X[X > 0].min() == 252  # the product of two pixels of 128
    assert (X > 0).mean() == pytest.approx(0.14, abs=0.01)
    assert sample.is_probe.sum() == 2500
    # Probes are distributed as the real features are.
    real, probe = ((X[:, kind] > 0).mean() for kind in (~sample.is_probe, sample.is_probe))
    assert probe == pytest.approx(real, rel=0.1)
    assert (np.ptp(X[:6000], axis=0) == 0).sum() == 71


def test_real_features_of_the_stand_in_are_pixels_and_products_of_different_images(
    fours_and_nines, sample
):
    images, digits = fours_and_nines
    rng = np.random.Generator(np.random.PCG64(gisette_like.SEED))
    rows, classes = gisette_like._draw_rows(digits, rng)
    assert len(np.unique(rows)) == 7000
    assert (digits[rows] == np.array([4, 9])[classes]).all()
    # In random order: about half of the neighbours are of the same class.
    assert (classes[1:] == classes[:-1]).mean() == pytest.approx(0.5, abs=0.03)
    pixels = np.where(images >= 128, images, 0)
    shown = pixels[rows].astype(float) / 255
    scaled = {np.rint(999 * p).astype(np.uint16).tobytes() for p in shown.T[pixels.any(axis=0)]}
    features = sample.features[:, ~sample.is_probe]
    is_pixel = np.array([column.tobytes() in scaled for column in features.T])
    assert is_pixel.sum() >= pixels.any(axis=0).sum() == 595

    for column in features[:, ~is_pixel & ((features > 0).mean(axis=0) > 0.2)].T[:20]:
        both = shown[:, (shown[column > 0] > 0).all(axis=0)]
        assert any(
            np.array_equal(np.rint(999 * one * other), column) for one in both.T for other in both.T
        )


def z_scores(X, classes):
    """Correlation of each feature with the class, in standard errors of no correlation."""
    X = X[:, np.ptp(X, axis=0) > 0].astype(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = (classes - classes.mean()) / classes.std()
    return X.T @ y / np.sqrt(len(y))


def test_only_real_features_tell_the_classes_apart(sample):
    probe = z_scores(sample.features[:, sample.is_probe], sample.classes)
    real = z_scores(sample.features[:, ~sample.is_probe], sample.classes)
    # Squares of 2,500 standard normal numbers: mean 1, standard error 0.03.
    assert np.mean(probe**2) == pytest.approx(1, abs=0.12)
    assert np.abs(probe).max() < 5
    assert np.median(np.abs(real)) > 5
    assert (np.abs(real) > 5).mean() > 0.5


def test_another_draw_is_refused(real_mirror, tmp_path, monkeypatch):
    monkeypatch.setattr(gisette_like, "SEED", 2004)
    with pytest.raises(DatasetError, match=r"gisette_like: sha256:.*, expected sha256:923394f0"):
        load_dataset("gisette_like", mirror=real_mirror, cache=tmp_path)
