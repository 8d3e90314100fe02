"""What else one could use: the methods that the paper names beside its own, on the same problem, in the same units.

Four families: without privacy, differential privacy, secret sharing, homomorphic encryption. One method a file, all
behind one interface (``Method``): ``method.run(problem, seed=0)`` returns an ``Outcome`` with the answer of each node,
its error, messages, bytes, rounds and seconds of cryptography; ``outcome.leakage(adversary)`` what it gave away. They
are simulations for comparison, none of them is part of the product's security.
"""

from .additive_shares import AdditiveShares
from .admm import ADMM
from .base import Leakage, Method, Outcome, Traffic
from .chebyshev import Chebyshev
from .compare import compare
from .comparison import Comparison
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

__all__ = [
    "ADMM",
    "EXTRA",
    "AdditiveShares",
    "Chebyshev",
    "Comparison",
    "DIGing",
    "Gossip",
    "Leakage",
    "LocalGaussianNoise",
    "LocalLaplaceNoise",
    "Method",
    "NoisyADMM",
    "Outcome",
    "PaddedNoise",
    "PaillierConsensus",
    "SecureAggregation",
    "Shamir",
    "SubspacePerturbation",
    "Traffic",
    "TreeSum",
    "compare",
]
