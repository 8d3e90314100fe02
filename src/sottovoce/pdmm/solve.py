"""The one loop: ``iterate`` yields state by state, ``solve`` runs to the end and returns a ``Result``."""

from __future__ import annotations

import enum
import logging
import math
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput, NotCalibrated, NotGuaranteed, PrecisionLost, Unsupported, is_number
from .collapsed_arithmetic import Arithmetic, choose_arithmetic, collapse
from .hiding import is_hidden, size_of
from .masks import Mask
from .modular_mask import ModularMask, solve_modular
from .problem import Problem
from .progress import Progress
from .recorders import Recorder, Variance
from .reference import Reference, Run
from .schedules import Delayed, MaskSchedule, NodeSchedule, Schedule, Synchronous, key_of

log = logging.getLogger(__name__)

Engine = Literal["auto", "reference", "compiled"]

ROUNDS = 100_000  # default limit, in rounds: one round is every node waking once on average
CHECK_ROUNDS = 10  # the residual is looked at every 10 rounds ...
CHECK_SHARE = 0.05  # ... or every 5 % of the iterations so far, whichever is rarer
BLOW_UP = 1e10  # growth of |x| that no averaged operator shows


class Status(enum.Enum):
    """How a run ended. Nothing is called converged that did not converge."""

    CONVERGED = "converged"
    MAX_ITER = "max_iter"
    DIVERGED = "diverged"


@dataclass(frozen=True, eq=False)
class State:
    """A snapshot after ``iteration`` iterations."""

    iteration: int
    activations: int
    messages: int
    x: Any
    z: Any


@dataclass(frozen=True, eq=False)
class Result:
    """What a run came to. ``x`` is ``(n,)``, ``(n, d)`` or a list per node; a batch has a leading axis of draws."""

    x: Any
    z: Any
    status: Status
    iterations: int
    activations: int
    messages: int
    residual: float
    history: dict[str, npt.NDArray[Any]]
    wall_time: float
    c: float
    theta: float
    seed: int | None
    secret: bool | None = field(default=None)  # whether the pads are secret; None without a mask
    arithmetic: Arithmetic = "plain"
    hidden: bool | None = field(default=None)  # whether the mask is large against the data; None without a mask

    def summary(self) -> str:
        """A few lines for people."""
        pads = {
            None: "no mask: the run is not private",
            True: "pads from the operating system's generator",
            False: "pads from a seed: reproducible, not secret",
        }[self.secret]
        if self.hidden is False:
            pads += ", TOO SMALL to hide the data"
        return (
            f"{self.status.value} after {self.iterations} iterations "
            f"({self.activations} activations, {self.messages} messages), residual {self.residual:.2e}, "
            f"c = {self.c:.4g}, theta = {self.theta:g}, {self.wall_time:.3g} s; {pads}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON."""

        def plain(value: Any) -> Any:
            return [plain(v) for v in value] if isinstance(value, list) else np.asarray(value).tolist()

        return {
            "status": self.status.value,
            "iterations": self.iterations,
            "activations": self.activations,
            "messages": self.messages,
            "residual": self.residual if math.isfinite(self.residual) else None,
            "c": self.c,
            "theta": self.theta,
            "seed": self.seed,
            "secret": self.secret,
            "hidden": self.hidden,
            "arithmetic": self.arithmetic,
            "wall_time": self.wall_time,
            "x": plain(self.x),
            "history": {name: plain(values) for name, values in self.history.items()},
        }


def iterate(
    problem: Problem,
    *,
    schedule: Schedule | None = None,
    theta: float | None = None,
    c: float | Literal["auto"] = "auto",
    mask: Mask | None = None,
    z0: Any = None,
    seed: int | None = None,
    batch: int | None = None,
    engine: Engine = "auto",
    arithmetic: Arithmetic | None = None,
) -> Iterator[State]:
    """Yield the state before the first iteration, and after each one, without end (or to the end of a trace)."""
    run, _ = start(problem, schedule, theta, c, mask, z0, seed, batch, engine, 0.0, arithmetic)
    hides(problem, mask, batch)
    limit = run.schedule.length()
    while True:
        yield State(run.iteration, run.activations, run.messages, run.x, run.z)
        if limit is not None and run.iteration >= limit:
            return
        run.advance(1)


def solve(
    problem: Problem,
    *,
    schedule: Schedule | None = None,
    theta: float | None = None,
    c: float | Literal["auto"] = "auto",
    mask: Mask | ModularMask | None = None,
    z0: Any = None,
    seed: int | None = None,
    tol: float = 1e-9,
    max_iter: int | None = None,
    check_every: int | None = None,
    batch: int | None = None,
    record: Sequence[Recorder] = (),
    record_every: int = 1,
    engine: Engine = "auto",
    arithmetic: Arithmetic | None = None,
    progress: bool | None = None,
) -> Result:
    """Solve ``problem`` by stochastic PDMM.

    ``schedule``: who wakes, default ``Synchronous()``. ``theta``: 1 is PDMM, 1/2 is ADMM; default 1 where convergence
    is guaranteed, else 1/2. ``c``: the step parameter, default tuned by pilot runs (see ``tune``).

    ``mask`` draws ``z(0)``, or ``z0`` gives it in the order of ``network.half_edges``; neither is ``z(0) = 0``.
    ``ModularMask`` hides integers before an unmasked run instead, see ``modular.solve_modular``.
    ``seed`` fixes schedule and pads; without it the pads are secret. ``batch=B`` runs ``B`` draws of ``z(0)`` under
    one activation sequence.

    ``tol`` bounds the KKT residual (``pdmm.kkt_residual``). It is looked at every 10 rounds or every 5 % of the
    iterations so far, whichever is rarer (``check_every`` sets another cadence); a round is one iteration, or ``n``
    where nodes wake one at a time. ``tol=0`` plays ``max_iter`` iterations without looking (default: 100,000 rounds).

    ``record``: recorders, called every ``record_every`` iterations; their values are in ``Result.history``.
    ``engine``: ``"auto"``, or ``"reference"`` or ``"compiled"`` by name. ``progress``: a bar after two seconds; default
    on a terminal only.

    ``arithmetic``: ``"plain"`` is the iteration on ``z``. ``"collapsed"`` keeps rounding from telling secrets (see
    ``collapsed_arithmetic``): the default for masked runs where it applies, which is quadratic costs without ``batch``.
    """
    if not (is_number(tol) and math.isfinite(tol) and tol >= 0):
        raise InvalidInput(f"tol must be a number >= 0; got {tol!r}. Use tol=0 to run exactly max_iter iterations.")
    positive_integer(record_every, "record_every")
    check_recorders(record, batch)
    if isinstance(mask, ModularMask):
        return solve_modular(
            problem, mask, z0=z0, batch=batch, seed=seed, tol=tol, record=record,
            schedule=schedule, theta=theta, c=c, max_iter=max_iter, check_every=check_every,
            record_every=record_every, engine=engine, arithmetic=arithmetic, progress=progress,
        )  # fmt: skip
    started = time.perf_counter()
    run, secret = start(problem, schedule, theta, c, mask, z0, seed, batch, engine, tol, arithmetic)
    hidden = hides(problem, mask, batch)
    a_round = run.schedule.round(problem.network)
    limit = ROUNDS * a_round if max_iter is None else positive_integer(max_iter, "max_iter")
    length = run.schedule.length()
    limit = limit if length is None else min(limit, length)
    cadence = CHECK_ROUNDS * a_round if check_every is None else positive_integer(check_every, "check_every")

    history: dict[str, list[Any]] = {"iteration": [], **{recorder.name: [] for recorder in record}} if record else {}
    status, residual, first_size = Status.MAX_ITER, math.inf, math.inf
    data_size = max(cost.sizes[0] for _, cost in problem.groups)
    next_check = cadence if tol else limit
    with Progress(limit, tol, progress) as bar:
        while True:
            k = run.iteration
            if record and k % record_every == 0:
                history["iteration"].append(k)
                for recorder in record:
                    history[recorder.name].append(recorder(run))
            if k >= min(next_check, limit):
                residual = run.residual(tol if k < limit else math.inf)
                size = float(np.abs(run.stacked_x()).max())
                if not math.isfinite(residual) or size > BLOW_UP * max(1.0, first_size, data_size):
                    status = Status.DIVERGED
                    break
                first_size = min(first_size, size)
                if tol and residual <= tol:
                    status = Status.CONVERGED
                    break
                next_check = k + (max(cadence, int(CHECK_SHARE * k)) if check_every is None else cadence)
            if k >= limit:
                break
            stop = min(next_check if tol else limit, limit, k + bar.stride)
            if record:
                stop = min(stop, (k // record_every + 1) * record_every)
            run.advance(stop - k)
            bar.update(run.iteration, residual)
    return Result(
        x=run.x,
        z=run.z,
        status=status,
        iterations=run.iteration,
        activations=run.activations,
        messages=run.messages,
        residual=residual,
        history={name: np.array(values) for name, values in history.items()},
        wall_time=time.perf_counter() - started,
        c=run.c,
        theta=run.theta,
        seed=None if seed is None else int(seed),
        secret=secret,
        arithmetic="plain" if run.u is None else "collapsed",
        hidden=hidden,
    )


def hides(problem: Problem, mask: Mask | None, batch: int | None) -> bool | None:
    """Whether the mask is large against the data, with a warning where it is not; None without a mask, and of a batch
    of draws, which is a study of masks and no run of parties."""
    if mask is None or batch is not None:
        return None
    nodes, cost = max(problem.groups, key=lambda group: size_of(group[1]))
    largest = 0 if cost.quadratic is None else int(np.abs(cost.quadratic.q).max(axis=1).argmax())
    whose = f"node {problem.network.name(nodes[largest])}"
    return is_hidden(size_of(cost), mask, whose if cost.quadratic is not None else "some node", stacklevel=3)


def start(
    problem: Problem,
    schedule: Schedule | None,
    theta: float | None,
    c: float | Literal["auto"],
    mask: Mask | None,
    z0: Any,
    seed: int | None,
    batch: int | None,
    engine: Engine,
    tol: float,
    arithmetic: Arithmetic | None = None,
) -> tuple[Run, bool | None]:
    """A run at ``k = 0``, with every argument checked; and whether its pads are secret."""
    schedule = Synchronous() if schedule is None else schedule
    if not isinstance(schedule, Synchronous | NodeSchedule | MaskSchedule | Delayed):
        raise InvalidInput(f"schedule must be a schedule such as sv.Asynchronous(); got {schedule!r}.")
    schedule.check(problem.network)
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0):
        raise InvalidInput(f"seed must be an integer >= 0, or None; got {seed!r}.")
    if batch is not None:
        positive_integer(batch, "batch")
    if mask is not None and not isinstance(mask, Mask):
        raise InvalidInput(f"mask must be a mask such as sv.GaussianMask(variance=1e6); got {mask!r}.")
    if mask is not None and z0 is not None:
        raise InvalidInput("give either mask or z0, not both: both set z(0).")
    arithmetic = choose_arithmetic(problem, arithmetic, mask is not None, z0, batch)
    theta = settled_theta(problem, theta)
    rows, draws = int(problem.rows[-1]), batch or 1
    stacked = None
    if mask is not None:
        stacked = mask.draw((rows, draws), seed)
        if seed is not None:
            log.info("pads drawn from seed %d: reproducible, not secret", seed)
    elif z0 is not None:
        stacked = problem.stack_z(z0, batch)
    sigma = mask.sigma if mask else float(np.abs(stacked).max()) if stacked is not None else 0.0
    played, u = problem, None
    if arithmetic == "collapsed":
        assert stacked is not None
        played, stacked, u = collapse(problem, stacked, sigma)
    rounding = np.finfo(float).eps * sigma + float(np.max(np.abs(played.lost)))
    if tol and rounding > tol:
        warnings.warn(
            f"rounding at the size of z(0) is about {rounding:.1e}, above tol={tol:g}: "
            "the run may not reach it. Use a smaller mask or a larger tol.",
            PrecisionLost,
            stacklevel=3,
        )
    if isinstance(c, str) and c == "auto":
        from .tune import tune

        c = tune(problem, schedule, theta, tol or 1e-9)
    if not (is_number(c) and math.isfinite(c) and c > 0):
        raise InvalidInput(f"c must be a positive number or 'auto'; got {c!r}.")
    if mask is not None and (other := mask.misfit(problem.network, schedule, theta, float(c))):
        warnings.warn(f"the mask was calibrated for {other}. Calibrate again.", NotCalibrated, stacklevel=3)
    run = make_run(played, schedule, key_of(seed), float(c), theta, batch, stacked, engine)
    run.u = u
    return run, None if mask is None else seed is None


def make_run(
    problem: Problem,
    schedule: Schedule,
    key: int,
    c: float,
    theta: float,
    batch: int | None,
    z0: npt.NDArray[np.float64] | None,
    engine: Engine,
) -> Run:
    """A run of trusted arguments on the engine that fits."""
    if engine not in ("auto", "reference", "compiled"):
        raise InvalidInput(f"engine must be 'auto', 'reference' or 'compiled'; got {engine!r}.")
    if engine != "reference":
        from .engine import compiled_run

        run = compiled_run(problem, schedule, key, c, theta, batch, z0)
        if run is not None:
            return run
        if engine == "compiled":
            raise Unsupported(f"no compiled engine for {problem!r} under {type(schedule).__name__}; use engine='auto'.")
    return Reference(problem, schedule, key, c, theta, batch, z0)


def settled_theta(problem: Problem, theta: float | None) -> float:
    """The ``theta`` of a run: as asked, with a warning where it may not converge, or 1 where it must, else 1/2."""
    reason = problem.irregular
    if theta is None:
        return 0.5 if reason else 1.0
    if not (is_number(theta) and 0 < theta <= 1):
        raise InvalidInput(f"theta must be in (0, 1]; got {theta!r}. Use theta=1 for PDMM, 0.5 for ADMM.")
    if theta == 1 and reason:
        warnings.warn(
            f"theta=1 is not guaranteed to converge: {reason}. Use theta < 1, for instance 0.5.",
            NotGuaranteed,
            stacklevel=4,
        )
    return float(theta)


def check_recorders(record: Sequence[Recorder], batch: int | None) -> None:
    names = [getattr(recorder, "name", None) for recorder in record]
    for recorder, name in zip(record, names, strict=True):
        if not (callable(recorder) and isinstance(name, str)):
            raise InvalidInput(f"a recorder is a callable with a name; got {recorder!r}.")
        if names.count(name) > 1 or name == "iteration":
            raise InvalidInput(f"two recorders are called {name!r} ('iteration' is taken). Give one another name.")
        if isinstance(recorder, Variance) and (batch or 1) < 2:
            raise InvalidInput(f"Variance is over the draws of a batch; got batch={batch}. Use batch=2 or more.")


def positive_integer(value: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InvalidInput(f"{name} must be an integer >= 1; got {value!r}.")
    return int(value)
