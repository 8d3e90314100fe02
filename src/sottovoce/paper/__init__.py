"""The paper's experiments, and the same on other graphs, costs and schedules: ``figure1``, ``figure2``, ``figure3``."""

from .claims import Claim, claims
from .experiments import Experiment, Panel, figure1, figure2, figure3

__all__ = ["Claim", "Experiment", "Panel", "claims", "figure1", "figure2", "figure3"]
