"""Data with two classes."""

from dataclasses import replace

import numpy as np
import pytest

from admmbench.checks.made import make_dataset


@pytest.fixture
def two():
    return make_dataset(n_classes=2)


@pytest.fixture
def written():
    """Three writers, of very different diligence."""
    dataset = make_dataset(n_classes=2, groups=3)
    return replace(dataset, groups=np.repeat(np.arange(3, dtype=np.int32), [4, 40, 16]))
