"""Data in which each writer uses some of the columns alone."""

from dataclasses import replace

import numpy as np


def using_some_columns(data, numbers):
    """Return the data with zeros in all but a random choice of so many columns of each writer's training records."""
    X, rng = data.X_train.copy(), np.random.default_rng(0)
    for writer, number in enumerate(numbers):
        rows = np.flatnonzero(data.attributes["writer"].train == writer)
        X[np.ix_(rows, rng.permutation(data.n_features)[number:])] = 0
    return replace(data, X_train=X)
