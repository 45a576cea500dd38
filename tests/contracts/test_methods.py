"""Every method, built in or installed, keeps the contracts that the package ships."""

import pytest

from admmbench import list_algorithms
from admmbench.contracts.methods import method_checks

pytestmark = pytest.mark.slow

CHECKS = [
    pytest.param(check, id=f"{name}: {check.name}")
    for name in list_algorithms()
    for check in method_checks(name)
]


@pytest.mark.parametrize("check", CHECKS)
def test_keeps_its_contract(check):
    check.run()
