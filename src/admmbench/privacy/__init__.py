"""Noise and privacy loss: mechanisms, the noise that they draw, and the composition of their losses."""

import warnings

from admmbench.privacy.composition import ACCOUNTANTS as ACCOUNTANTS
from admmbench.privacy.composition import COMPOSED as COMPOSED
from admmbench.privacy.composition import Accountant as Accountant
from admmbench.privacy.composition import accountant as accountant
from admmbench.privacy.draw import Draw as Draw
from admmbench.privacy.events import ORDERS as ORDERS
from admmbench.privacy.events import Approximate as Approximate
from admmbench.privacy.events import Composition as Composition
from admmbench.privacy.events import Cost as Cost
from admmbench.privacy.events import Laplace as Laplace
from admmbench.privacy.events import Pure as Pure
from admmbench.privacy.events import Terms as Terms
from admmbench.privacy.gaussian import Gaussian as Gaussian
from admmbench.privacy.gaussian import Replaced as Replaced
from admmbench.privacy.gaussian import gaussian_multiplier as gaussian_multiplier
from admmbench.privacy.ledger import Ledger as Ledger
from admmbench.privacy.ledger import calibrate as calibrate
from admmbench.privacy.ledger import dearest as dearest
from admmbench.privacy.ledger import epsilon_total as epsilon_total
from admmbench.privacy.mechanisms import Neighbours as Neighbours
from admmbench.privacy.mechanisms import Privacy as Privacy
from admmbench.privacy.mechanisms import Relation as Relation
from admmbench.privacy.mechanisms import Release as Release
from admmbench.privacy.mechanisms import Unit as Unit
from admmbench.privacy.mechanisms import delta_warning as delta_warning
from admmbench.privacy.noise import Entered as Entered
from admmbench.privacy.noise import Noise as Noise
from admmbench.privacy.noise import Sampler as Sampler
from admmbench.privacy.noise import Shared as Shared
from admmbench.privacy.noise import finest as finest
from admmbench.privacy.noise import on_grid as on_grid
from admmbench.privacy.perturbed import Perturbed as Perturbed
from admmbench.privacy.schedule import Schedule as Schedule


def __getattr__(name: str) -> object:
    """Give what accountants of plug-ins import by its former name, with a warning."""
    if name != "Spending":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    text = "admmbench.privacy.Spending is now called Composition"
    warnings.warn(text, FutureWarning, stacklevel=2)
    return Composition
