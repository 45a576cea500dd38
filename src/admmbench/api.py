"""Everything that the author of a method, a loss or a data set needs; docs/reference/plugins.md has it in groups.

It re-exports names of other modules, which type checkers tell by ``as``. A job's fingerprint follows each name to its
module. So Snakemake makes a plug-in's results again when something that the plug-in uses changed, and not otherwise.
"""

from admmbench.base.algorithm import Algorithm as Algorithm
from admmbench.base.algorithm import Family as Family
from admmbench.base.algorithm import PrivacyFacts as PrivacyFacts
from admmbench.base.algorithm import Resources as Resources
from admmbench.base.averages import Average as Average
from admmbench.base.consensus import Consensus as Consensus
from admmbench.base.consensus import OverRows as OverRows
from admmbench.base.constrained import AugmentedLagrangian as AugmentedLagrangian
from admmbench.base.constrained import ConstrainedMethod as ConstrainedMethod
from admmbench.base.constrained import Ending as Ending
from admmbench.base.constrained import ProximalAL as ProximalAL
from admmbench.base.constrained import end_seeds as end_seeds
from admmbench.base.constrained import out_of_reach as out_of_reach
from admmbench.base.constrained import start_fields as start_fields
from admmbench.base.constrained import update_multipliers as update_multipliers
from admmbench.base.exact import Exact as Exact
from admmbench.base.exact import PerturbedSolution as PerturbedSolution
from admmbench.base.linearized import Linearized as Linearized
from admmbench.base.linearized import Schedule as Schedule
from admmbench.base.linearized import Step as Step
from admmbench.base.linearized import proximal_step as proximal_step
from admmbench.base.linearized import trust_region_step as trust_region_step
from admmbench.base.observers import Observer as Observer
from admmbench.base.optimum import Optimum as Optimum
from admmbench.base.optimum import Whole as Whole
from admmbench.base.outcomes import Outcome as Outcome
from admmbench.base.rho import Rho as Rho
from admmbench.base.rho import RhoSchedule as RhoSchedule
from admmbench.base.sharing import Sharing as Sharing
from admmbench.base.sharing import SharingState as SharingState
from admmbench.base.types import UNIT_OF_LOSS as UNIT_OF_LOSS
from admmbench.base.types import Array as Array
from admmbench.base.types import ColumnBlock as ColumnBlock
from admmbench.base.types import ColumnFederation as ColumnFederation
from admmbench.base.types import ConsensusState as ConsensusState
from admmbench.base.types import ConstrainedBlock as ConstrainedBlock
from admmbench.base.types import ConstrainedFederation as ConstrainedFederation
from admmbench.base.types import Guarantee as Guarantee
from admmbench.base.types import LocalUpdate as LocalUpdate
from admmbench.base.types import Messages as Messages
from admmbench.base.types import Models as Models
from admmbench.base.types import RowBlock as RowBlock
from admmbench.base.types import RowFederation as RowFederation
from admmbench.base.types import Subproblem as Subproblem
from admmbench.base.types import clip_norms as clip_norms
from admmbench.base.types import factors as factors
from admmbench.base.types import norms as norms
from admmbench.datasets import Arrays as Arrays
from admmbench.datasets import Attribute as Attribute
from admmbench.datasets import DatasetDefinition as DatasetDefinition
from admmbench.datasets import DatasetError as DatasetError
from admmbench.datasets import DatasetInfo as DatasetInfo
from admmbench.datasets import RemoteFile as RemoteFile
from admmbench.datasets import checksum as checksum
from admmbench.datasets import read_bytes as read_bytes
from admmbench.privacy import ORDERS as ORDERS
from admmbench.privacy import Approximate as Approximate
from admmbench.privacy import Cost as Cost
from admmbench.privacy import Draw as Draw
from admmbench.privacy import Entered as Entered
from admmbench.privacy import Gaussian as Gaussian
from admmbench.privacy import Laplace as Laplace
from admmbench.privacy import Noise as Noise
from admmbench.privacy import Privacy as Privacy
from admmbench.privacy import Pure as Pure
from admmbench.privacy import Release as Release
from admmbench.privacy import Shared as Shared
from admmbench.privacy import Terms as Terms
from admmbench.privacy import gaussian_multiplier as gaussian_multiplier
from admmbench.privacy import on_grid as on_grid
from admmbench.problems.base import Gradient as Gradient
from admmbench.problems.base import Problem as Problem
from admmbench.problems.columns import BoundColumns as BoundColumns
from admmbench.problems.columns import Party as Party
from admmbench.problems.constrained import BoundConstrained as BoundConstrained
from admmbench.problems.constraints import Functions as Functions
from admmbench.problems.loss import BinaryLoss as BinaryLoss
from admmbench.problems.loss import Convention as Convention
from admmbench.problems.loss import Loss as Loss
from admmbench.problems.loss import Norms as Norms
from admmbench.problems.loss import RegressionLoss as RegressionLoss
from admmbench.problems.loss import ScalarLoss as ScalarLoss
from admmbench.problems.needs import Need as Need
from admmbench.problems.needs import require as require
from admmbench.problems.rows import BoundRows as BoundRows
from admmbench.problems.rows import RowParts as RowParts
from admmbench.sensitivity import Sensitivity as Sensitivity
from admmbench.validation import Length as Length
from admmbench.validation import parameters as parameters


def __getattr__(name: str) -> object:
    """Refuse an old name, with the new spelling."""
    if name == "Releases":
        raise ImportError(
            "admmbench.api.Releases is now the cost of a release, such as Gaussian(multiplier), Pure(epsilon), or None"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
