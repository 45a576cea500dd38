"""Records for transcriptions of methods over rows."""

from dataclasses import replace

import numpy as np

from admmbench.contracts.made_up_data import make_dataset

P, J, N = 3, 6, 62
SIZES = [21, 21, 20]


def in_unit_ball(n_classes=2):
    """Records of norm at most 1, as huang2019 prepares its data."""
    made = make_dataset(N, 30, J, n_classes)
    longest = 1.001 * np.linalg.norm(np.concatenate([made.X_train, made.X_test]), axis=1).max()
    return replace(made, X_train=made.X_train / longest, X_test=made.X_test / longest)
