"""Everything that the author of a method, a loss or a data set needs, in one place.

It re-exports names of other modules. A job's fingerprint follows each name to its module. So Snakemake makes a
plug-in's results again when something that the plug-in uses changed, and not otherwise.
"""

from admmbench.datasets import (
    Arrays,
    Attribute,
    DatasetDefinition,
    DatasetError,
    DatasetInfo,
    RemoteFile,
    checksum,
    read_bytes,
)
from admmbench.frames.base import (
    Algorithm,
    Array,
    ColumnBlock,
    ColumnFederation,
    Guarantee,
    Messages,
    Rho,
    RhoSchedule,
    RowBlock,
    RowFederation,
    factors,
)
from admmbench.frames.consensus import Consensus, ConsensusState, Models, OverRows, Subproblem
from admmbench.frames.constrained import (
    AugmentedLagrangian,
    ConstrainedBlock,
    ConstrainedFederation,
    ConstrainedMethod,
    Ending,
    ProximalAL,
    end_seeds,
    out_of_reach,
    start_fields,
    update_multipliers,
)
from admmbench.frames.exact import Exact
from admmbench.frames.linearized import Linearized, Schedule, Step, proximal_step, trust_region_step
from admmbench.frames.optimum import Optimum, Whole
from admmbench.frames.outcomes import Outcome
from admmbench.frames.sharing import Sharing, SharingState
from admmbench.privacy import (
    Approximate,
    Draw,
    Noise,
    Privacy,
    Release,
    Releases,
    gaussian_multiplier,
    on_grid,
)
from admmbench.privacy.sensitivity import Sensitivity
from admmbench.problems.base import Gradient, Problem
from admmbench.problems.columns import BoundColumns, Party
from admmbench.problems.constrained import BoundConstrained
from admmbench.problems.constraints import Functions
from admmbench.problems.loss import (
    BinaryLoss,
    Convention,
    Loss,
    Norms,
    RegressionLoss,
    ScalarLoss,
)
from admmbench.problems.needs import Need, require
from admmbench.problems.rows import BoundRows, RowParts
from admmbench.validation import parameters

__all__ = [
    "Algorithm",
    "Approximate",
    "Array",
    "Arrays",
    "Attribute",
    "AugmentedLagrangian",
    "BinaryLoss",
    "BoundColumns",
    "BoundConstrained",
    "BoundRows",
    "ColumnBlock",
    "ColumnFederation",
    "Consensus",
    "ConsensusState",
    "ConstrainedBlock",
    "ConstrainedFederation",
    "ConstrainedMethod",
    "Convention",
    "DatasetDefinition",
    "DatasetError",
    "DatasetInfo",
    "Draw",
    "Ending",
    "Exact",
    "Functions",
    "Gradient",
    "Guarantee",
    "Linearized",
    "Loss",
    "Messages",
    "Models",
    "Need",
    "Noise",
    "Norms",
    "Optimum",
    "Outcome",
    "OverRows",
    "Party",
    "Privacy",
    "Problem",
    "ProximalAL",
    "RegressionLoss",
    "Release",
    "Releases",
    "RemoteFile",
    "Rho",
    "RhoSchedule",
    "RowBlock",
    "RowFederation",
    "RowParts",
    "ScalarLoss",
    "Schedule",
    "Sensitivity",
    "Sharing",
    "SharingState",
    "Step",
    "Subproblem",
    "Whole",
    "checksum",
    "end_seeds",
    "factors",
    "gaussian_multiplier",
    "on_grid",
    "out_of_reach",
    "parameters",
    "proximal_step",
    "read_bytes",
    "require",
    "start_fields",
    "trust_region_step",
    "update_multipliers",
]
