"""All methods, each with its defaults: what a comparison compares."""

from __future__ import annotations

from .additive_shares import AdditiveShares
from .admm import ADMM
from .base import Method
from .chebyshev import Chebyshev
from .diging import DIGing
from .extra import EXTRA
from .gossip import Gossip
from .local_gaussian_noise import LocalGaussianNoise
from .local_laplace_noise import LocalLaplaceNoise
from .noisy_admm import NoisyADMM
from .padded_noise import PaddedNoise
from .paillier_consensus import PaillierConsensus
from .secure_aggregation import SecureAggregation
from .shamir import Shamir
from .subspace_perturbation import SubspacePerturbation
from .tree_sum import TreeSum


def every_method() -> list[Method]:
    """Family by family, in the order of the paper."""
    return [
        SubspacePerturbation(),
        SubspacePerturbation(overlay="tree"),
        ADMM(),
        EXTRA(),
        DIGing(),
        Gossip(),
        Chebyshev(),
        LocalGaussianNoise(),
        LocalLaplaceNoise(),
        NoisyADMM(),
        PaddedNoise(),
        Shamir(),
        AdditiveShares(),
        SecureAggregation(),
        TreeSum(),
        PaillierConsensus(),
    ]
