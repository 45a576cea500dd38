"""Right mechanisms, and known mistakes of public code, each written anew."""

import math

import numpy as np

from admmbench.kit import Statement, from_arrays

N = 10


def clipped(rows, clip):
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * np.minimum(1, clip / np.maximum(norms, 1e-12))


def total(rows, clip, z, rng):
    return clipped(rows, clip).sum(axis=0) + rng.normal(0, z * clip, rows.shape[1])


def mean(rows, clip, z, rng):
    return total(rows, clip, z, rng) / len(rows)


def messages(rows, clip, z, rng):
    return clipped(rows, clip) + rng.normal(0, z * clip, rows.shape)


def sampled(rows, clip, z, rng, q=0.5):
    taking_part = rng.random(len(rows)) < q
    return total(rows * taking_part[:, None], clip, z, rng) / (q * len(rows))


def secure_sum(rows, clip, z, rng):
    """Each client adds its part of the noise; the parts add up."""
    parts = rng.normal(0, z * clip / math.sqrt(len(rows)), rows.shape)
    return (clipped(rows, clip) + parts).sum(axis=0)


def in_single_precision(rows, clip, z, rng):
    noise = rng.normal(0, z * clip, rows.shape[1]).astype(np.float32)
    return clipped(rows.astype(np.float32), np.float32(clip)).sum(axis=0) + noise


RIGHT = {
    "sum": (from_arrays(total), Statement()),
    "mean": (from_arrays(mean), Statement(divisor=N)),
    "messages": (from_arrays(messages), Statement(observer="messages")),
    "samples": (from_arrays(sampled), Statement(divisor=N / 2, sampling=0.5)),
    "secure sum": (from_arrays(secure_sum), Statement(clip=0.3, noise_multiplier=4)),
    "single precision": (from_arrays(in_single_precision), Statement(clip=7)),
}


def clip_of_the_mean(rows, clip, z, rng):
    """APPFL 1.12: the gradient of a batch is clipped, not those of its records."""
    gradient = clipped(rows.mean(axis=0, keepdims=True), clip)[0]
    return gradient + rng.normal(0, z * clip / len(rows), rows.shape[1])


def clip_of_the_batch(rows, clip, z, rng):
    """VFL-ADMM: the norm of the whole matrix is clipped."""
    scaled = rows * min(1, clip / max(np.linalg.norm(rows), 1e-12))
    return scaled.sum(axis=0) + rng.normal(0, z * clip, rows.shape[1])


def clip_by_parameter(contributions, *, clip, noise_multiplier, rounds, seed):
    """Fed-BioMed: each parameter is clipped by itself."""
    rng = np.random.default_rng(seed)
    return [
        {
            name: clipped(values.reshape(len(values), -1), clip)
            .sum(axis=0)
            .reshape(values.shape[1:])
            + rng.normal(0, noise_multiplier * clip, values.shape[1:])
            for name, values in contributions.items()
        }
        for _ in range(rounds)
    ]


def free_sensitivity(rows, clip, z, rng):
    """FLIP: the sensitivity is a setting beside the clip."""
    return clipped(rows, clip).sum(axis=0) + rng.normal(0, z * 1e-4, rows.shape[1])


def noise_over_sqrt_n(rows, clip, z, rng):
    """Flower: the noise of a mean is divided by sqrt(n), as if it were that of a sum of parts."""
    return clipped(rows, clip).mean(axis=0) + rng.normal(
        0, z * clip / math.sqrt(len(rows)), rows.shape[1]
    )


def noise_twice(rows, clip, z, rng):
    """Flower and Fed-BioMed: clients add noise, and the server once more."""
    return secure_sum(rows, clip, z, rng) + rng.normal(0, z * clip, rows.shape[1])


def parameters_that_pass(contributions, *, clip, noise_multiplier, rounds, seed):
    """NVFlare: what is small goes through without noise; here the bias does."""
    rng = np.random.default_rng(seed)
    n = len(contributions["bias"])
    flat = np.concatenate([values.reshape(n, -1) for values in contributions.values()], axis=1)
    factor = np.minimum(1, clip / np.maximum(np.linalg.norm(flat, axis=1), 1e-12))
    releases = []
    for _ in range(rounds):
        sums = {k: np.tensordot(factor, values, 1) for k, values in contributions.items()}
        sums["weight"] = sums["weight"] + rng.normal(
            0, noise_multiplier * clip, sums["weight"].shape
        )
        releases.append(sums)
    return releases


def divisor_from_the_data(rows, clip, z, rng, q=0.5):
    """Opacus: the sum over a Poisson sample is divided by the sample's size."""
    taking_part = rng.random(len(rows)) < q
    return total(rows * taking_part[:, None], clip, z, rng) / max(taking_part.sum(), 1)


def variance_for_deviation(rows, clip, z, rng):
    """DPFL-IADMM and RDP_FedADMM: NumPy's scale is a deviation."""
    return clipped(rows, clip).sum(axis=0) + rng.normal(0, (z * clip) ** 2, rows.shape[1])


def one_draw_after_averaging(rows, clip, z, rng):
    """ISRL-DP's obesity script: silos send without noise; one draw is added to their mean."""
    return clipped(rows, clip)


def weights_by_records(rows, clip, z, rng):
    """A mean by numbers of records has the noise of an equal one."""
    weights = np.array([91, *[1] * (len(rows) - 1)]) / (90 + len(rows))
    return weights @ clipped(rows, clip) + rng.normal(0, z * clip / len(rows), rows.shape[1])


def one_seed_for_all_rounds(rows, clip, z, rng):
    """torch.rand_like after the same seed: each round has the noise of the first."""
    return total(rows, clip, z, np.random.default_rng(7))


def one_number_for_all(rows, clip, z, rng):
    return clipped(rows, clip).sum(axis=0) + rng.normal(0, z * clip)


MOVES = "one_contribution_moves_a_release_by_the_clip_at_most"
DEVIATION = "the_noise_has_the_stated_deviation"
BARE = "no_number_is_released_without_noise"
REPEATS = "noise_does_not_repeat"
TOTAL = "the_printed_total_covers_all_rounds"

MISTAKES = {
    "clip of a batch's mean": (from_arrays(clip_of_the_mean), Statement(divisor=N), MOVES),
    "clip of the batch matrix": (from_arrays(clip_of_the_batch), Statement(), MOVES),
    "clip per tensor": (clip_by_parameter, Statement(), MOVES),
    "free sensitivity": (from_arrays(free_sensitivity), Statement(), DEVIATION),
    "noise over sqrt(n)": (from_arrays(noise_over_sqrt_n), Statement(divisor=N), DEVIATION),
    "noise twice": (from_arrays(noise_twice), Statement(), DEVIATION),
    "parameters that pass unnoised": (parameters_that_pass, Statement(), BARE),
    # Epsilon of one Gaussian release with multiplier 1 at delta 1e-5 is 4.377, of five 11.4.
    "epsilon of a round as the total": (from_arrays(total), Statement(epsilon=4.378), TOTAL),
    "too few rounds": (from_arrays(total), Statement(rounds=10, epsilon=11.5), TOTAL),
    "divisor from the data": (
        from_arrays(divisor_from_the_data),
        Statement(divisor=N / 2, sampling=0.5),
        DEVIATION,
    ),
    # Of five rounds in which a tenth takes part it would be 1.9.
    "sampling rate off": (
        from_arrays(sampled),
        Statement(divisor=N / 2, sampling=0.5, epsilon=1.9),
        TOTAL,
    ),
    "variance for deviation": (from_arrays(variance_for_deviation), Statement(), DEVIATION),
    "one draw after averaging": (
        from_arrays(one_draw_after_averaging),
        Statement(observer="messages"),
        BARE,
    ),
    "weights by records": (from_arrays(weights_by_records), Statement(divisor=N), MOVES),
    "one seed for all rounds": (from_arrays(one_seed_for_all_rounds), Statement(), REPEATS),
    "one number for all": (from_arrays(one_number_for_all), Statement(), REPEATS),
}
