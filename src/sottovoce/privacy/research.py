"""For research: attacks on what has no certificate, what listeners keep, subspaces, exact moments, information."""

from .attacks.edge_attack import edge_attack
from .attacks.kink_attack import RecoveredKinks, kink_attack
from .attacks.recorded_transcript import RecordedTranscript, gradient_differences, record_transcript
from .attacks.row_attack import RecoveredRows, row_attack
from .attacks.traffic import (
    RecoveredChanges,
    RecoveredGradients,
    RecoveredHessians,
    changes_between,
    gradient_attack,
    pad_reuse_attack,
    recover_hessians,
    regression_attack,
)
from .attacks.uniform_attack import UniformLeak, uniform_attack
from .methods.correlated_pads import CorrelatedPads
from .moments.exact_moments import (
    LinearRun,
    SampledVariances,
    Variances,
    covariance,
    monte_carlo,
    sequence_variances,
)
from .moments.information import Information, estimated_information, snapshot_information
from .moments.perp_formulas import perp_covariance, perp_variance
from .moments.random_moments import RandomMoments, random_variances
from .moments.subspace import Subspace

__all__ = [
    "CorrelatedPads",
    "Information",
    "LinearRun",
    "RandomMoments",
    "RecordedTranscript",
    "RecoveredChanges",
    "RecoveredGradients",
    "RecoveredHessians",
    "RecoveredKinks",
    "RecoveredRows",
    "SampledVariances",
    "Subspace",
    "UniformLeak",
    "Variances",
    "changes_between",
    "covariance",
    "edge_attack",
    "estimated_information",
    "gradient_attack",
    "gradient_differences",
    "kink_attack",
    "monte_carlo",
    "pad_reuse_attack",
    "perp_covariance",
    "perp_variance",
    "random_variances",
    "record_transcript",
    "recover_hessians",
    "regression_attack",
    "row_attack",
    "sequence_variances",
    "snapshot_information",
    "uniform_attack",
]
