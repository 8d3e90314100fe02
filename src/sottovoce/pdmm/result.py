"""What a run came to."""

from __future__ import annotations

import enum
import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..errors import InvalidInput, Unsupported
from ..files.frames import to_frame
from ..files.html_table import html_table
from ..network import Network
from .collapsed_arithmetic import Arithmetic
from .local_noise import LocalNoise
from .overlay import Overlay
from .penalties import Penalty, shown
from .problem import Problem
from .transcript import MessageTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 10  # parties in a notebook


class Status(enum.Enum):
    """How a run ended. Nothing is called converged that did not converge.

    ``CONVERGED``: the residual is at most ``tol``. ``MAX_ITER``: the iterations are played, or the trace is over.
    ``DIVERGED``: numbers grow without bound.

    Examples
    --------
    >>> import sottovoce as sv
    >>> sv.solve(sv.averaging(sv.Network.ring(4), [1, 2, 3, 6]), c=0.5, tol=0, max_iter=2).status
    <Status.MAX_ITER: 'max_iter'>
    """

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    DIVERGED = "diverged"


@dataclass(frozen=True, eq=False, repr=False)
class State:
    """A run after ``iteration`` iterations, as ``iterate`` yields it.

    Parameters
    ----------
    iteration : int
        Iterations so far.
    activations : int
        How often a node has computed.
    messages : int
        Messages sent, arrived or not.
    x : array or list of arrays
        What each node computed when it last woke, 0 before: shaped as in ``Result``.
    z : array or list of arrays
        In the order of ``network.half_edges``.

    Examples
    --------
    >>> import sottovoce as sv
    >>> state = next(sv.iterate(sv.averaging(sv.Network.ring(3), [1, 2, 6]), c=0.5))
    >>> state
    State(iteration 0, 0 activations, 0 messages)
    >>> state.x.tolist()
    [0.0, 0.0, 0.0]
    """

    iteration: int
    activations: int
    messages: int
    x: Any
    z: Any

    def __repr__(self) -> str:
        return f"State(iteration {self.iteration}, {self.activations} activations, {self.messages} messages)"


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What a run came to. ``result["Ada"]``, or ``result[3]``, is the answer of one node.

    Parameters
    ----------
    x : array or list of arrays
        The answer at every node: ``(n,)``, ``(n, d)``, or a list where nodes differ in dimension; a batch has a leading
        axis of draws.
    z : array or list of arrays
        The auxiliary variables, in the order of ``network.half_edges``. As ``z0`` of another run with the same ``c``
        they continue where this one ended.
    status : Status
        How the run ended.
    iterations, activations, messages : int
        How long it took: iterations, how often a node computed, messages sent.
    residual : float
        The KKT residual at the end; infinite where nobody looked.
    history : dict of arrays
        What the recorders kept, by their names, and under ``"iteration"`` when; a ``MessageTable`` of ``Transcript``.
    wall_time : float
        Seconds, without those for compiling.
    c, theta : float
        The step parameters that were used; ``c`` may be one per edge.
    seed : int or None
        Of schedule and pads.
    secret : bool or None
        Whether the pads are secret; None without a mask.
    arithmetic : {"collapsed", "plain"}
        Which was used.
    hidden : bool or None
        Whether the mask is large against the data; None without a mask.
    tol : float or None
        What the residual was to reach; 0 where nobody looked.
    problem : Problem or None
        What was solved; None in a result that was loaded, or came from another process.
    network : Network or None
        Whose nodes and half-edges these are, with their names; a result that was loaded has it, too.
    batch : int or None
        How many draws there are; None is one, without an axis for it.
    variables : tuple of str or None
        What the entries of an answer are called, where data frames have named them.
    overlay : Overlay or None
        The edges that messages used, with ``tree.root`` and ``tree.depth`` of a tree; None is all of the network. As
        ``overlay`` of another run it means the same.
    noise : LocalNoise or None
        Noise that was on the data: the answer is exact for the noisy data, and off by it for the others.

    Examples
    --------
    >>> import sottovoce as sv
    >>> network = sv.Network.ring(4).with_labels(["Ada", "Bob", "Cid", "Eve"])
    >>> result = sv.solve(sv.averaging(network, [1, 2, 3, 6]), c=0.5)
    >>> result
    Result(converged after 40 iterations, 4 nodes, residual 2.5e-10)
    >>> result.converged, round(float(result.solution), 6), round(float(result["Ada"]), 6)
    (True, 3.0, 3.0)
    """

    x: Any
    z: Any
    status: Status
    iterations: int
    activations: int
    messages: int
    residual: float
    history: dict[str, Any]
    wall_time: float
    c: Penalty
    theta: float
    seed: int | None
    secret: bool | None = field(default=None)
    arithmetic: Arithmetic = "plain"
    hidden: bool | None = field(default=None)
    tol: float | None = None
    problem: Problem | None = None
    network: Network | None = None
    batch: int | None = None
    variables: tuple[str, ...] | None = None
    overlay: Overlay | None = None
    noise: LocalNoise | None = None

    # The answer

    @property
    def converged(self) -> bool:
        """Whether the residual is at most ``tol``."""
        return self.status is Status.CONVERGED

    @property
    def solution(self) -> Any:
        """The vector that all nodes agree on: the mean of their answers, which differ by ``disagreement``.

        Of a batch there is one per draw. Under general edge constraints there is none, and it is refused.
        """
        self._agreed("solution")
        return np.mean(self.by_node, axis=0)

    @property
    def disagreement(self) -> float:
        """How far the answers of two nodes are apart at most, in any entry and any draw."""
        self._agreed("disagreement")
        return float(np.max(np.ptp(self.by_node, axis=0)))

    @property
    def consensus(self) -> bool:
        """Whether all nodes agree on one answer: every edge says ``x_i = x_j``."""
        return self.network is None or self.network.constraints is None

    def _agreed(self, what: str) -> None:
        if not self.consensus:
            raise Unsupported(
                f"there is no {what}: under general edge constraints every node has an answer of its own. "
                "Use result.x, or result[node]."
            )

    @property
    def by_node(self) -> Any:
        """``x`` with the nodes in front, also of a batch: ``(n, ...)`` or a list."""
        return self.x if isinstance(self.x, list) or self.batch is None else np.moveaxis(self.x, 1, 0)

    def __getitem__(self, node: Hashable) -> Any:
        if self.network is not None:
            return self.by_node[self.network.index(node)]
        if isinstance(node, int) and 0 <= node < len(self.by_node):
            return self.by_node[node]
        raise InvalidInput(f"there is no node {node!r}; they are 0 to {len(self.by_node) - 1}.")

    __iter__ = None  # a result is no sequence of nodes

    # For people

    def _facts(self) -> dict[str, str]:
        """What ``summary`` and notebooks say."""
        pads = {
            None: "no mask: the run is not private",
            True: "pads from the operating system's generator",
            False: "pads from a seed: reproducible, not secret",
        }[self.secret]
        if self.hidden is False:
            pads += ", TOO SMALL to hide the data"
        if self.noise is not None:
            bare = "no mask: local noise alone hides the data" if self.secret is None else pads
            seeded = "" if self.seed is None else ", from a seed: not secret"
            pads = f"{bare}; the answer has local noise of variance {self.noise.variance:g} on every number{seeded}"
        return {
            "status": f"{self.status.value} after {self.iterations} iterations",
            "took": f"{self.activations} activations, {self.messages} messages"
            + ("" if self.overlay is None else f" over {self.overlay}"),
            "residual": f"{self.residual:.2e}",
            "c": shown(self.c),
            "theta": f"{self.theta:g}",
            "wall time": f"{self.wall_time:.3g} s",
            "privacy": pads,
        }

    def summary(self) -> str:
        """A few lines for people."""
        status, took, residual, c, theta, seconds, pads = self._facts().values()
        return f"{status} ({took}), residual {residual}, c = {c}, theta = {theta}, {seconds}; {pads}"

    def __repr__(self) -> str:
        draws = "" if self.batch is None else f", {self.batch} draws"
        status = self._facts()["status"]
        return f"Result({status}, {len(self.by_node)} nodes{draws}, residual {self.residual:.1e})"

    def _repr_html_(self) -> str:
        facts = self._facts()
        if self.consensus:
            facts["disagreement"] = f"{self.disagreement:.1e} between two parties, at most"
        columns = {name: values[:SHOWN] for name, values in self._columns().items()} if self.batch is None else {}
        rows = zip(*columns.values(), strict=True)
        count = len(self.by_node)
        caption = "answers" if count <= SHOWN else f"answers of the first {SHOWN} of {count} nodes"
        answers = html_table(rows, header=list(columns), caption=caption) if columns else ""
        return f"<div>\n{html_table(facts.items())}\n{answers}</div>"

    def plot(self, path: str | Path | None = None) -> Figure:
        """The answer of each party, the residual, and the network.

        The residual is that of every iteration that ``record=[sv.Residual()]`` kept, and else how far each party is
        from the mean of all at the end.

        Parameters
        ----------
        path : str or Path, optional
            Where to save it: ``.png``, ``.pdf`` or ``.svg``.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it. It needs the extra ``plot``.
        """
        from .pictures import plot_run

        if self.network is None:
            raise Unsupported("a result of one party of a network is not drawn: it does not know the others.")
        return plot_run(path, self, self.network, self.tol or 0.0)

    # For programs

    def _columns(self) -> dict[str, list[Any]]:
        """A row per node, of a batch per draw and node: ``node``, and ``x``, or ``x0``, ``x1`` ..., or by names."""
        nodes: list[Any] = list(range(len(self.by_node)))
        if self.network is not None and self.network.labels is not None:
            nodes = [self.network.name(i) for i in nodes]
        parts = [np.asarray(part) for part in self.by_node]
        vectors = [part.reshape(self.batch or 1, -1) for part in parts]  # draws by entries
        widest = max(vector.shape[1] for vector in vectors)
        wide = np.full((self.batch or 1, len(vectors), widest), np.nan)
        for i, vector in enumerate(vectors):
            wide[:, i, : vector.shape[1]] = vector
        scalar = parts[0].ndim == (0 if self.batch is None else 1)
        found: dict[str, list[Any]] = {}
        if self.batch is not None:
            found["draw"] = np.repeat(np.arange(self.batch), len(nodes)).tolist()
        found["node"] = nodes * (self.batch or 1)
        entries = wide.reshape(-1, widest).T.tolist()
        called = self.variables or (["x"] if scalar else [f"x{t}" for t in range(widest)])
        taken = [f"x of {name}" if name in found else name for name in called]  # by "node" and "draw"
        return found | dict(zip(taken, entries, strict=True))

    def to_frame(self) -> Any:
        """The answers as a data frame: a row per node (of a batch per draw and node), ``node`` and ``x``, or ``x0``,
        ``x1`` and so on, or the names of the variables; NaN where a node has fewer entries. Of pandas, or of polars or
        pyarrow where it is missing.

        Examples
        --------
        >>> import sottovoce as sv
        >>> network = sv.Network.ring(3).with_labels(["Ada", "Bob", "Eve"])
        >>> sv.solve(sv.averaging(network, [1, 2, 6]), c=0.5).to_frame().round(6)
          node    x
        0  Ada  3.0
        1  Bob  3.0
        2  Eve  3.0
        """
        return to_frame(self._columns())

    def history_frame(self) -> Any:
        """What the recorders kept as a data frame: a row per record, ``iteration`` and a column per recorder (several
        where it kept arrays). Transcripts are tables of their own: ``result.history["transcript"].to_frame()``."""
        found: dict[str, list[Any]] = {}
        for name, kept in self.history.items():
            if isinstance(kept, MessageTable):
                continue
            entries = kept.reshape(len(kept), -1).T.tolist()
            found |= {name if kept.ndim == 1 else f"{name}{t}": column for t, column in enumerate(entries)}
        return to_frame(found)

    def save(self, path: str | Path) -> None:
        """To a file, ``.npz`` or ``.json``, whole or not at all; ``Result.load`` gives it back bit for bit.

        The problem is not saved: it holds the data.

        Examples
        --------
        >>> import sottovoce as sv
        >>> from tempfile import TemporaryDirectory
        >>> result = sv.solve(sv.averaging(sv.Network.ring(4), [1, 2, 3, 6]), c=0.5)
        >>> with TemporaryDirectory() as folder:
        ...     result.save(f"{folder}/run.npz")
        ...     again = sv.Result.load(f"{folder}/run.npz")
        >>> bool((again.z == result.z).all()), again.status
        (True, <Status.CONVERGED: 'converged'>)
        """
        from .saved_result import save

        save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """What ``save`` wrote, without its ``problem``.

        Raises
        ------
        InvalidFile
            A file that is not there, is damaged, or was written by another version.
        """
        from .saved_result import load

        return cls(**load(Path(path)))

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process: all but the problem, which may hold functions, and holds the data."""
        return self.__dict__ | {"problem": None}

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON."""

        def plain(value: Any) -> Any:
            if isinstance(value, MessageTable):
                return {name: column.tolist() for name, column in value.columns().items()}
            return [plain(v) for v in value] if isinstance(value, list) else np.asarray(value).tolist()

        return {
            "status": self.status.value,
            "iterations": self.iterations,
            "activations": self.activations,
            "messages": self.messages,
            "residual": self.residual if math.isfinite(self.residual) else None,
            "c": plain(self.c),
            "theta": self.theta,
            "overlay": {"type": "all"} if self.overlay is None else self.overlay.to_dict(),
            "seed": self.seed,
            "secret": self.secret,
            "hidden": self.hidden,
            "noise": None if self.noise is None else self.noise.variance,
            "arithmetic": self.arithmetic,
            "wall_time": self.wall_time,
            "x": plain(self.x),
            "history": {name: plain(values) for name, values in self.history.items()},
        }
