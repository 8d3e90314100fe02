"""The families of graphs that a network can be made from by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from . import graphs


class Families:
    """What ``Network`` has of them, as class methods."""

    if TYPE_CHECKING:

        def __init__(
            self, n: int, edges: npt.NDArray[np.integer[Any]], positions: npt.NDArray[np.float64] | None = None
        ) -> None: ...

    @classmethod
    def random_geometric(
        cls, n: int, radius: float | None = None, *, seed: int | None = None, largest_component: bool = False
    ) -> Self:
        """Uniform points in the unit square, joined where they are close: the paper's network.

        Nodes are numbered by place. A draw that is not connected is drawn again, a hundred times at most.

        Parameters
        ----------
        n : int
            Number of points.
        radius : float, optional
            Points closer than this are neighbours; ``sqrt(2 ln n / n)`` by default.
        seed : int, optional
            For the same network again.
        largest_component : bool
            Draw once, and keep the largest component, with fewer than ``n`` nodes.

        Raises
        ------
        InvalidNetwork
            No draw was connected: raise ``radius``.

        Examples
        --------
        >>> from sottovoce import Network
        >>> Network.random_geometric(12, seed=1)
        Network(n=12, m=49)
        """
        size, edges, positions = graphs.random_geometric(n, radius, seed, largest_component)
        return cls(size, edges, positions)

    @classmethod
    def ring(cls, n: int) -> Self:
        """A cycle of ``n >= 3`` nodes.

        >>> from sottovoce import Network
        >>> Network.ring(6)
        Network(n=6, m=6)
        """
        return cls(n, graphs.ring(n))

    @classmethod
    def grid(cls, rows: int, columns: int) -> Self:
        """A ``rows x columns`` lattice; node ``r * columns + c`` is in row ``r``, column ``c``.

        >>> from sottovoce import Network
        >>> Network.grid(2, 3)
        Network(n=6, m=7)
        """
        edges, positions = graphs.grid(rows, columns)
        return cls(rows * columns, edges, positions)

    @classmethod
    def complete(cls, n: int) -> Self:
        """Everybody talks to everybody.

        >>> from sottovoce import Network
        >>> Network.complete(4)
        Network(n=4, m=6)
        """
        return cls(n, graphs.complete(n))

    @classmethod
    def star(cls, n: int) -> Self:
        """Node 0 in the middle. For comparison: whoever sits there sees everything.

        >>> from sottovoce import Network
        >>> Network.star(5)
        Network(n=5, m=4)
        """
        return cls(n, graphs.star(n))

    @classmethod
    def erdos_renyi(cls, n: int, p: float, *, seed: int | None = None) -> Self:
        """Each of the ``n(n-1)/2`` edges with probability ``p``, redrawn until connected.

        >>> from sottovoce import Network
        >>> Network.erdos_renyi(10, 0.5, seed=1).n
        10
        """
        return cls(n, graphs.erdos_renyi(n, p, seed))

    @classmethod
    def regular(cls, n: int, degree: int, *, seed: int | None = None) -> Self:
        """A random graph in which every node has ``degree`` neighbours, redrawn until connected.

        >>> from sottovoce import Network
        >>> Network.regular(10, 3, seed=1).degrees.tolist()
        [3, 3, 3, 3, 3, 3, 3, 3, 3, 3]
        """
        return cls(n, graphs.regular(n, degree, seed))

    @classmethod
    def watts_strogatz(cls, n: int, k: int, p: float, *, seed: int | None = None) -> Self:
        """A ring in which each node knows its ``k`` nearest, each edge rewired with probability ``p``.

        >>> from sottovoce import Network
        >>> Network.watts_strogatz(10, 4, 0.1, seed=1)
        Network(n=10, m=20)
        """
        return cls(n, graphs.watts_strogatz(n, k, p, seed))
