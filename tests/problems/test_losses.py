import pytest

from admmbench.checks.losses import of_loss
from admmbench.problems import list_losses

LOSSES = [*list_losses(), {"name": "huber", "threshold": 0.3}, {"name": "huber", "threshold": 12}]
CHECKS = [
    pytest.param(
        check,
        id=f"{spec if isinstance(spec, str) else spec['name'] + str(spec['threshold'])}: {check.name}",
    )
    for spec in LOSSES
    for check in of_loss(spec)
]


@pytest.mark.parametrize("check", CHECKS)
def test_promises_of_every_loss(check):
    check.run()
