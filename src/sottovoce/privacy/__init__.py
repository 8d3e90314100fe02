"""What a run reveals: the auditor, its attacks and calibration; subspaces, exact moments, information."""

from .adversary import Adversary, Coalition, Eavesdropper, Worst
from .answers.report import Report
from .answers.several_agreements import total
from .answers.statement import statement, write_statement
from .answers.verdict import Verdict
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
from .audit import audit
from .calibrate import CalibratedMask, calibrate
from .exposure import Exposure, Suggestion, exposure, suggest_edges
from .methods.correlated_pads import CorrelatedPads
from .moments.exact_moments import (
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
from .moments.information import Information, estimated_information, snapshot_information
from .moments.subspace import Subspace
from .seen import Snapshot, Transcript

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
