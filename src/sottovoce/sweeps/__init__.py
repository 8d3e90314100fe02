"""Many runs: a grid of settings times seeds, on one machine or a cluster, kept while it grows."""

from .found import Sweep
from .sweep import sweep

__all__ = ["Sweep", "sweep"]
