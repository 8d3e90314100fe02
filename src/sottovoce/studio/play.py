"""A run of a scene, played by the library and kept frame by frame: who woke, what travelled, who believed what."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import SottovoceWarning
from ..network import Network
from ..pdmm.recorders import Recorder, Residual, Transcript
from ..pdmm.reference import Run
from ..pdmm.result import Status
from ..pdmm.schedule_bases import Chosen, SetSchedule
from ..pdmm.schedules import Asynchronous, EdgeBernoulli, EdgeReversal, Permutations, Schedule, Synchronous
from ..pdmm.settings import settle
from ..pdmm.solve import solve
from .scene import Scene

FRAMES = 2_000  # at most
MESSAGES = 1_000_000  # that are kept, about: some 150 MB
TOL = 1e-9
PLAYED = {
    "synchronous": Synchronous(),
    "asynchronous": Asynchronous(),
    "permutations": Permutations(),
    "edge_reversal": EdgeReversal(),
}


@dataclass(frozen=True, eq=False)
class Lossy(SetSchedule):
    """Another schedule, of whose messages each is lost with probability ``loss``: ``EdgeBernoulli`` says which."""

    inner: Schedule
    loss: float

    def on(self, network: Network) -> Lossy:
        return Lossy(self.inner.on(network), self.loss)

    def check(self, network: Network) -> None:
        self.inner.check(network)

    def round(self, network: Network) -> int:
        return self.inner.round(network)

    def sets(self, network: Network, key: int, k: int) -> tuple[Chosen | None, Chosen]:
        awake, sent = self.inner.sets(network, key, k)
        kept = EdgeBernoulli(1 - self.loss).sets(network, key ^ 0x5DEECE66D, k)[1]
        return awake, kept if sent is None else sent & kept


@dataclass(frozen=True)
class Believed(Recorder):
    """What every party holds as its answer."""

    name: str = "x"

    def __call__(self, run: Run) -> Any:
        return np.array(run.x, dtype=float)


@dataclass(frozen=True, eq=False)
class Played:
    """A run, frame by frame.

    Attributes
    ----------
    iterations : array of int
        After which each frame was taken; frame 0 is before the first.
    x : array
        ``(frames, n)``, what everybody believes; NaN before a party has woken for the first time.
    residual : array
        How far from the answer, without knowing it.
    status : Status
        How it ended.
    messages : int
        How many were sent.
    hidden : bool or None
        Whether the mask is large against the numbers; None without a mask.
    c, theta : float
        As chosen.
    """

    iterations: npt.NDArray[np.int64]
    x: npt.NDArray[np.float64]
    residual: npt.NDArray[np.float64]
    status: Status
    messages: int
    hidden: bool | None
    c: float
    theta: float
    _table: Any
    _ends: npt.NDArray[np.int64]  # for every frame, the first message after it

    def __len__(self) -> int:
        return len(self.iterations)

    def sent(self, frame: int) -> list[tuple[Hashable, Hashable, float, bool]]:
        """Sender, receiver, what was said, and whether it arrived: between this frame and the one before."""
        if frame == 0:
            return []
        some = slice(int(self._ends[frame - 1]), int(self._ends[frame]))
        table = self._table
        columns = (table.sender[some], table.receiver[some], table.value[some], table.arrived[some])
        return list(zip(*(column.tolist() for column in columns), strict=True))


def schedule_of(scene: Scene) -> Schedule:
    """Who wakes when, and what is lost."""
    plain = PLAYED[scene.schedule]
    if not scene.loss:
        return plain
    return EdgeBernoulli(1 - scene.loss) if scene.schedule == "synchronous" else Lossy(plain, scene.loss)


@lru_cache(maxsize=64)
def _steps(
    edges: Any, names: Any, numbers: Any, schedule: str, theta: float | None, c: float | None
) -> tuple[float, float]:
    scene = Scene(names, ((0.5, 0.5),) * len(names), numbers, edges, schedule=schedule)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SottovoceWarning)
        found = settle(scene.problem, schedule=PLAYED[schedule], theta=theta, c="auto" if c is None else c)
    assert isinstance(found.c, float)
    return found.c, found.theta


def steps_of(scene: Scene) -> tuple[float, float]:
    """``c`` and ``theta`` of a run, chosen by the library where they are left open."""
    return _steps(scene.edges, scene.names, scene.numbers, scene.schedule, scene.theta, scene.c)


def played(scene: Scene) -> Played:
    """The run of a scene, from its seed, to the answer or to the most iterations that a page shows."""
    c, theta = steps_of(scene)
    schedule = schedule_of(scene)
    every = max(1, schedule.round(scene.network) // 10)  # ten frames a round, where parties wake one at a time
    most = (
        MESSAGES * schedule.round(scene.network) // (2 * scene.network.m)
    )  # a round is a message each way on all edges
    run: dict[str, Any] = {
        "schedule": schedule, "theta": theta, "c": c, "mask": scene.mask, "seed": scene.seed, "tol": TOL,
        "max_iter": max(every, min(FRAMES * every, most)), "progress": False,
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SottovoceWarning)  # the page says how it ended
        result = solve(
            scene.problem, **run, record=[Transcript(), Residual(), Believed()], record_every=every, check_every=every
        )
    kept = result.history["iteration"]
    table = result.history["transcript"]
    ends = np.searchsorted(table.iteration, kept, side="left")  # a message of iteration k leads to frame k + 1
    x = result.history["x"]
    number = {name: i for i, name in enumerate(scene.names)}
    asleep = np.ones(x.shape, dtype=bool)
    for sender, first in zip(*np.unique(table.sender, return_index=True), strict=True):  # who has neighbours, speaks
        asleep[kept > table.iteration[first], number[str(sender)]] = False
    x = np.where(asleep, np.nan, x)
    return Played(
        kept, x, result.history["residual"], result.status, result.messages, result.hidden, c, theta, table, ends
    )
