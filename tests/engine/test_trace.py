"""Traces of seeds that were runs of their own."""

import math

import numpy as np

from admmbench.engine.trace import Trace


def test_mu_and_curve_of_joined_seeds_are_of_the_one_with_the_largest_mu():
    """A curve that crosses another one is not mixed with it; a part without privacy does not count."""
    parts = [Trace([seed], [1], {}) for seed in range(3)]
    parts[1].privacy, parts[2].privacy = (
        {"mu": np.array(mu), "regret": np.array(regret), "hits": np.array(hits)}
        for mu, regret, hits in ((2.0, 0.1, [0.6, 0.8]), (1.0, 0.3, [0.5, 0.9]))
    )
    assert Trace.joined(parts).privacy is parts[1].privacy
    parts[2].privacy["mu"] = np.array(math.inf)
    assert Trace.joined(parts).privacy is parts[2].privacy
    assert Trace.joined(parts[:1]).privacy == {}
