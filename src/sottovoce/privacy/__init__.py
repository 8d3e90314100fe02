"""What a run reveals: subspaces, exact moments, information in one iteration and in the whole transcript."""

from .information import Information, estimated_information, snapshot_information
from .moments import (
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
from .subspace import Subspace
from .transcript import coalition_closed_form, transcript_information

__all__ = [
    "Information",
    "LinearRun",
    "RandomMoments",
    "SampledVariances",
    "Subspace",
    "Variances",
    "coalition_closed_form",
    "covariance",
    "estimated_information",
    "monte_carlo",
    "perp_covariance",
    "perp_variance",
    "random_variances",
    "sequence_variances",
    "snapshot_information",
    "transcript_information",
]
