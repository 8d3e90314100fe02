"""One agreement at one party, without I/O: a ``Node``, and a rule by which all parties stop without a coordinator.

The rule certifies *frozen* numbers, so that no delay, loss or reordering can make it fire early. Entering epoch ``e``
a party wakes its node and remembers that moment: ``x`` and ``D``, and what it sent, ``r``. The neighbours' ``r`` of the
same epoch tell it

    rho_ij = r_{i|j} - D_{i|j} = y_{i|j} - z_{i|j},

which is what the frozen numbers lack to a fixed point of eqs. 2 to 5 on its side of the edge. The two sides bound all
that the KKT conditions still ask for: ``|A_ij x_i + A_ji x_j - b_ij| <= (|rho_ij| + |rho_ji|) / 2c`` and, for the duals
``lambda``, ``|lambda_{i|j} - lambda_{j|i}| <= (|rho_ij| + |rho_ji|) / 2``. A party to which ``rho`` is small says *ok*,
else *no*; verdicts are flooded, and when all have said ok the frozen ``x`` is the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..costs.base import Array
from ..node import Message, Node

EPS = float(np.finfo(float).eps)
ROUNDING = 16  # roundings of the largest number of a message, below which nothing can be certified
PATIENCE = 64  # wakes, at most, between an epoch that failed and the next attempt of the same party


@dataclass(eq=False)
class Epoch:
    """A frozen state, and what was said about it."""

    number: int
    x: Array
    D: dict[int, Array]
    sent: dict[int, Array]  # r of the frozen state, by neighbour
    heard: dict[int, Array] = field(default_factory=dict)
    residual: float | None = None  # of this party, once all neighbours were heard
    ok: int = 0  # bits of the parties that accept
    no: bool = False


class Agreement:
    """PDMM at party ``node.i`` of ``n``, until everybody has accepted one epoch.

    Others see every decision that is made here. So it has nothing to decide by but public numbers, what was received,
    and the node, which has forgotten its data (for costs with a quadratic form; others keep theirs, and show more).
    """

    floor = 1.0  # the size of x below which tol is absolute; public, and what data have in units of ``scale``

    def __init__(self, node: Node, n: int, *, tol: float) -> None:
        self.node, self.n, self.tol = node, n, tol
        self.newest: dict[int, Array] = {}  # what was last sent to each neighbour
        self.moved: dict[int, float] = {}  # by how much each neighbour's last message differed from the one before
        self.last: dict[int, Array] = {}
        self.news: set[int] = set()  # neighbours heard since the last wake
        self.epoch: Epoch | None = None
        self.early: dict[int, tuple[int, Array]] = {}  # snapshots of epochs not entered yet, the newest of each
        self.wakes = self.wait = 0
        self.done = False

    # Ordinary iterations

    def wake(self) -> None:
        """Compute, and have something new to say to every neighbour (eqs. 2 and 3)."""
        self.newest = {message.receiver: message.r for message in self.node.wake()}
        self.news.clear()
        self.wakes += 1
        self.wait = max(0, self.wait - 1)

    def receive(self, j: int, counter: int, r: Array) -> bool:
        """A neighbour's message (eq. 5); False where it is old news."""
        if not self.node.receive(Message(j, self.node.i, counter, r)):
            return False
        before = self.last.get(j)
        self.moved[j] = np.inf if before is None else float(np.abs(r - before).max(initial=0.0))
        self.last[j] = r
        self.news.add(j)
        return True

    # Stopping

    @property
    def tau(self) -> float:
        """How small ``rho`` must be: such that ``x`` is off by ``tol`` of its size, or what rounding leaves."""
        node = self.node
        size = max(self.floor, float(np.abs(node.x).max(initial=0.0)))
        degree = len(node.neighbours)
        largest = max(
            (float(np.abs(v).max(initial=0.0)) for v in (*self.last.values(), *self.newest.values())), default=0.0
        )
        return max(self.tol * size * min(node.c, 2 * node.curvature / degree), ROUNDING * EPS * largest)

    @property
    def calm(self) -> bool:
        """Whether the last message of every neighbour was nearly the one before: time to ask the others."""
        if self.done or len(self.moved) < len(self.node.neighbours) or self.wait > 0:
            return False
        undecided = self.epoch is not None and not self.epoch.no
        return not undecided and max(self.moved.values()) <= self.tau

    def propose(self) -> None:
        """Enter the next epoch."""
        self.enter(1 if self.epoch is None else self.epoch.number + 1)

    def enter(self, number: int) -> None:
        """Freeze a state for this epoch. To be written down before anybody hears of it."""
        D = {j: v.copy() for j, v in self.node.D.items()}
        self.wake()
        self.epoch = Epoch(number, self.node.x.copy(), D, dict(self.newest))
        for j, (epoch, r) in list(self.early.items()):
            if epoch <= number:
                del self.early[j]
            if epoch == number:
                self.epoch.heard[j] = r
        self.judge()

    def hear(self, j: int, epoch: int, r: Array) -> None:
        """A neighbour's frozen message."""
        current = 0 if self.epoch is None else self.epoch.number
        if epoch == current and self.epoch is not None:
            self.epoch.heard[j] = r
            self.judge()
        elif epoch > current and not self.done:
            self.early[j] = (epoch, r)
            self.enter(epoch)

    def judge(self) -> None:
        """Say ok or no, once all neighbours' frozen messages are here."""
        epoch = self.epoch
        assert epoch is not None
        if epoch.residual is not None or len(epoch.heard) < len(self.node.neighbours):
            return
        epoch.residual = max(float(np.abs(epoch.heard[j] - epoch.D[j]).max(initial=0.0)) for j in self.node.neighbours)
        small = epoch.residual <= self.tau
        self.verdict(epoch.number, no=not small, ok=1 << self.node.i if small else 0)

    def verdict(self, number: int, *, no: bool, ok: int) -> bool:
        """What is said of an epoch, by this party or by others; True where it is news to pass on."""
        if self.done:
            return False
        if self.epoch is None or number > self.epoch.number:
            self.enter(number)
        epoch = self.epoch
        assert epoch is not None
        if number < epoch.number:
            return False
        before = (epoch.no, epoch.ok)
        failed = no and not epoch.no
        epoch.no, epoch.ok = epoch.no or no, epoch.ok | ok
        if failed:  # ask again soon, and ever later while it fails
            self.wait = min(PATIENCE, max(2, self.wakes // 20))
        self.done = not epoch.no and epoch.ok == (1 << self.n) - 1
        return before != (epoch.no, epoch.ok)

    @property
    def x(self) -> Array:
        """The answer: the frozen one, once it is accepted."""
        return self.epoch.x if self.done and self.epoch is not None else self.node.x

    @property
    def residual(self) -> float:
        """How far the newest messages are from a fixed point, in units of what is asked for: 1 is good enough."""
        if self.done and self.epoch is not None and self.epoch.residual is not None:
            return self.epoch.residual / self.tau
        if len(self.moved) < len(self.node.neighbours):
            return float("inf")
        return max(self.moved.values()) / self.tau

    # To survive a crash

    def state(self) -> dict[str, Array]:
        """All that changes, as named arrays. Pads and data are not in it: the node is made from them anew."""
        arrays = {"x": self.node.x, "counters": _pairs(self.node.newest), "sent": np.array([float(self.node.sent)])}
        arrays |= {f"D.{j}": D for j, D in self.node.D.items()}
        if self.epoch is not None:
            epoch = self.epoch
            arrays["epoch"] = np.array([float(epoch.number), float(epoch.no), float(self.done)])
            bits = epoch.ok.to_bytes((self.n + 7) // 8, "little")
            arrays["epoch.ok"] = np.frombuffer(bits, dtype=np.uint8).astype(np.float64)
            arrays["epoch.x"] = epoch.x
            arrays["epoch.residual"] = np.array([] if epoch.residual is None else [epoch.residual])
            for j in self.node.neighbours:
                arrays |= {f"epoch.D.{j}": epoch.D[j], f"epoch.sent.{j}": epoch.sent[j]}
        return arrays

    def restore(self, arrays: Mapping[str, Array], spent: int) -> None:
        """Go on from a saved state; counters go on above ``spent``, which may have been used since."""
        node = self.node
        node.x, node.sent = arrays["x"].copy(), max(int(arrays["sent"][0]), spent)
        node.newest = {int(j): int(counter) for j, counter in arrays["counters"]}
        node.D = {j: arrays[f"D.{j}"].copy() for j in node.neighbours}
        if "epoch" in arrays:
            number, no, done = arrays["epoch"]
            D, sent = ({j: arrays[f"epoch.{name}.{j}"].copy() for j in node.neighbours} for name in ("D", "sent"))
            self.epoch = Epoch(int(number), arrays["epoch.x"].copy(), D, sent, no=bool(no))
            self.epoch.ok = int.from_bytes(arrays["epoch.ok"].astype(np.uint8).tobytes(), "little")
            if len(arrays["epoch.residual"]):
                self.epoch.residual = float(arrays["epoch.residual"][0])
            self.done = bool(done)


def _pairs(counters: Mapping[int, int]) -> Array:
    return np.array([[float(j), float(counter)] for j, counter in counters.items()])
