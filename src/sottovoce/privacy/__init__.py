"""What a run reveals: the auditor, its attacks and calibration; subspaces, exact moments, information."""

from .adversary import Adversary, Coalition, Eavesdropper, Worst
from .attacks import (
    RecoveredChanges,
    RecoveredGradients,
    RecoveredHessians,
    changes_between,
    gradient_attack,
    pad_reuse_attack,
    recover_hessians,
    regression_attack,
)
from .audit import audit
from .calibrate import CalibratedMask, calibrate
from .eavesdropper import RecordedTranscript, gradient_differences, record_transcript
from .edge_attack import edge_attack
from .exact_moments import (
    LinearRun,
    RandomMoments,
    SampledVariances,
    Variances,
    covariance,
    monte_carlo,
    perp_covariance,
    perp_variance,
    random_variances,
    sequence_variances,
)
from .exposure import Exposure, Suggestion, exposure, suggest_edges
from .information import Information, estimated_information, snapshot_information
from .kinks import RecoveredKinks, kink_attack
from .one_row import RecoveredRows, row_attack
from .pads import CorrelatedPads
from .report import Report
from .seen import Snapshot, Transcript
from .statement import statement, write_statement
from .subspace import Subspace
from .total import total
from .uniform import UniformLeak, uniform_attack
from .verdict import Verdict

__all__ = [
    "Adversary",
    "CalibratedMask",
    "Coalition",
    "CorrelatedPads",
    "Eavesdropper",
    "Exposure",
    "Information",
    "LinearRun",
    "RandomMoments",
    "RecordedTranscript",
    "RecoveredChanges",
    "RecoveredGradients",
    "RecoveredHessians",
    "RecoveredKinks",
    "RecoveredRows",
    "Report",
    "SampledVariances",
    "Snapshot",
    "Subspace",
    "Suggestion",
    "Transcript",
    "UniformLeak",
    "Variances",
    "Verdict",
    "Worst",
    "audit",
    "calibrate",
    "changes_between",
    "covariance",
    "edge_attack",
    "estimated_information",
    "exposure",
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
    "statement",
    "suggest_edges",
    "total",
    "uniform_attack",
    "write_statement",
]
