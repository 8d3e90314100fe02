"""Who talks to whom: the network, its generators, the constraints on its edges, and how it lies in memory."""

from .network import Network

__all__ = ["Network"]
