"""Methods that are optima."""

import pytest

from admmbench import simulate
from admmbench.contracts.made_up_data import make_dataset


@pytest.mark.parametrize("name", ["centralized", "local_only"])
def test_optima_are_those_of_convex_losses(name):
    with pytest.raises(ValueError, match=f"{name} needs a convex loss"):
        simulate(
            make_dataset(n_classes=2),
            name,
            problem="sigmoid",
            agents={"scheme": "columns", "blocks": 2},
        )
