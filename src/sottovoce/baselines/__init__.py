"""What else one could use: the methods that the paper names beside its own, on the same problem, in the same units.

Four families: without privacy, differential privacy, secret sharing, homomorphic encryption. One method a file, all
behind one interface (``Method``): ``method.run(problem, seed=0)`` returns an ``Outcome`` with the answer of each node,
its error, messages, bytes, rounds and seconds of cryptography; ``outcome.leakage(adversary)`` what it gave away. They
are simulations for comparison, none of them is part of the product's security.
"""

from .admm import ADMM
from .base import Leakage, Method, Outcome, Traffic
from .chebyshev import Chebyshev
from .diging import DIGing
from .extra import EXTRA
from .gossip import Gossip
from .subspace_perturbation import SubspacePerturbation

__all__ = [
    "ADMM",
    "EXTRA",
    "Chebyshev",
    "DIGing",
    "Gossip",
    "Leakage",
    "Method",
    "Outcome",
    "SubspacePerturbation",
    "Traffic",
]
