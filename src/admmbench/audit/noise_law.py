"""Level 1: what was added has the law and the scale that were declared for it, and nothing of it is used twice."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from admmbench.audit.findings import Finding, checked, not_covered
from admmbench.audit.worlds import Pair, Run
from admmbench.frames.base import Array

LEVEL = "noise law"
_NAMES = {"laplace": "laplace", "gaussian": "norm", "spherical": "gamma"}
# The p-value below which a law is wrong, and the entries that it is tested on: more would see the grid itself.
_LEAST = 1e-6
_MOST = 100_000
# Inner products of independent noise are of the order of 1 in these units.
_CORRELATED = 6.0
# Entries that agree so far are equal, but for rounding to different grids.
_EQUAL = 2.0**-9
_COMPARED = 16
# Releases of which each is compared with each.
_MOST_PRODUCTS = 2000


def find(pair: Pair, canary: str) -> Finding:
    """Test the noise of a run of the first world."""
    noise = {law: found for law in _NAMES if (found := _standardised(pair.first, law)).size}
    if not noise:
        return not_covered(LEVEL, canary, "No noise is added to what leaves")
    value = max(map(_correlation, noise.values()))
    laws = " and ".join(noise)
    good = f"What is added is {laws} noise of the declared scale, and none of it is used twice."
    fault = next((fault for law in noise for fault in _faults(law, noise[law])), None)
    return checked(LEVEL, canary, value, _CORRELATED, fault, good)


def _standardised(run: Run, law: str) -> Array:
    """Noise over its declared scale, of all releases with a law: shape (R, S, entries)."""
    found = [np.zeros((0, run.federation.problem.n_seeds, 0))]
    releases = (part for each in run.releases for part in each.parts)
    for release in (each for each in releases if each.law == law):
        noisy = (release.scale > 0).all(axis=1)
        if not noisy.any():
            continue
        added = release.total - release.value if release.drawn is None else release.drawn
        added = added[noisy]
        added = added.reshape(*added.shape[:2], -1)
        found.append(added / release.scale[noisy][..., None])
    return np.concatenate(found[1:] or found)


def _faults(law: str, noise: Array) -> Iterator[str]:
    from scipy.stats import kstest

    if pairs := _equal_pairs(noise):
        yield f"Releases have the same noise as others: {pairs} pairs."
    entries, parameters = noise.reshape(-1), list[int]()
    if law == "spherical":
        entries, parameters = np.linalg.norm(noise, axis=-1).reshape(-1), [noise.shape[-1]]
    p = kstest(entries[:: -(-entries.size // _MOST)], _NAMES[law], parameters).pvalue
    if not p >= _LEAST:
        yield (
            f"What is added is not {law} noise of the declared scale: its mean size is "
            f"{np.abs(entries).mean():.3g} scales, and the Kolmogorov-Smirnov test has p = {p:.1g}."
        )
    value = _correlation(noise)
    if not value <= _CORRELATED:
        yield f"The noise of different releases is correlated, by {value:.1f} standard deviations."


def _equal_pairs(noise: Array) -> int:
    """Pairs of releases, of whatever round, agent and seed, whose noise is the same."""
    from scipy.spatial import cKDTree

    vectors = noise.reshape(-1, noise.shape[-1])[:, :_COMPARED]
    tree = cKDTree(vectors)
    return (int(tree.count_neighbors(tree, _EQUAL, p=np.inf)) - len(vectors)) // 2


def _correlation(noise: Array) -> float:
    """Largest normalised inner product of two releases, or of two seeds, in standard deviations."""
    largest = 0.0
    for vectors in (noise, noise.swapaxes(0, 1)):
        some = vectors[:: -(-len(vectors) // _MOST_PRODUCTS)]
        flat = some.reshape(len(some), -1)
        unit = flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), np.finfo(float).tiny)
        products = np.abs(unit @ unit.T)
        np.fill_diagonal(products, 0)
        largest = max(largest, float(products.max()) * flat.shape[1] ** 0.5)
    return largest
