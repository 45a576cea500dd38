"""Prepared data, which jobs in processes of their own read."""

import pytest

from admmbench.datasets import prepare


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepared") / "digits"
    prepare("digits", folder)
    return folder
