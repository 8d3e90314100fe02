"""The one loop: ``iterate`` yields state by state, ``solve`` runs to the end and returns a ``Result``."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ..errors import InvalidInput, PrecisionLost, Unsupported, is_number
from .collapsed_arithmetic import Arithmetic, collapse
from .hiding import is_hidden, size_of
from .masks import Mask
from .modular_mask import ModularMask, decoded, hidden_problem
from .problem import Problem
from .progress import Progress
from .recorders import Recorder, Variance
from .reference import Reference, Run
from .result import Result, State
from .schedules import Schedule
from .settings import Engine, Settings, positive_integer, settle
from .watch import History, Watch


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
    """Play a run state by state, without end (or to the end of a trace).

    Parameters
    ----------
    problem, schedule, theta, c, mask, z0, seed, batch, engine, arithmetic
        As in ``solve``.

    Yields
    ------
    State
        Before the first iteration, and after each one.

    Raises
    ------
    InvalidInput
        As ``solve`` does, when the first state is asked for.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 6])
    >>> for state in sv.iterate(problem, c=0.5):
    ...     if abs(state.x - 3).max() < 0.01:
    ...         break
    >>> state.iteration, state.messages
    (11, 88)
    """
    settings = settle(
        problem, schedule=schedule, theta=theta, c=c, mask=mask, z0=z0, seed=seed, batch=batch, engine=engine,
        arithmetic=arithmetic,
    )  # fmt: skip
    run = start(problem, settings)
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
    """Solve a problem by stochastic PDMM.

    Parameters
    ----------
    problem : Problem
        The network, and a cost for each node.
    schedule : Schedule, optional
        Who wakes when, and what arrives. Default: ``Synchronous()``.
    theta : float, optional
        In ``(0, 1]``: 1 is PDMM, 1/2 is ADMM. Default: tuned together with ``c`` where that is ``"auto"``; else 1
        where convergence is guaranteed, and 1/2 where it is not.
    c : float or "auto"
        The step parameter; ``"auto"`` tunes it by short runs on the same data.
    mask : GaussianMask, ModularMask or UniformMask, optional
        Draws ``z(0)``, which hides the data. ``ModularMask`` hides integers before an unmasked run instead: ``x`` is
        then the exact mean, or NaN where the run did not converge, and all else is about the run on limbs of words.
    z0 : array_like, optional
        ``z(0)`` in the order of ``network.half_edges``. Without it and a mask it is 0, and nothing is hidden.
    seed : int, optional
        Fixes schedule and pads. Without it the pads are secret.
    tol : float
        Bounds the KKT residual (``reference.kkt_residual``). 0 plays ``max_iter`` iterations without looking.
    max_iter : int, optional
        The most iterations. Default: 100,000 rounds; a round is one iteration, or ``n`` where nodes wake one at a time.
    check_every : int, optional
        Iterations between two looks at the residual. Default: 10 rounds, or 5 % of the iterations so far if that is
        more.
    batch : int, optional
        So many draws of ``z(0)`` under one activation sequence.
    record : sequence of recorders
        What to keep along the way, in ``Result.history``.
    record_every : int
        Iterations between two records.
    engine : {"auto", "reference", "compiled"}
        Who plays it: the readable iteration, or compiled kernels with the same answers.
    arithmetic : {"collapsed", "plain"}, optional
        ``"plain"`` is the iteration on ``z``; ``"collapsed"`` keeps rounding from telling secrets, for quadratic costs
        without ``batch``. Default: collapsed where a mask is given and it applies.
    progress : bool, optional
        A bar after two seconds. Default: on a terminal only.

    Returns
    -------
    Result
        The answer at every node, how the run ended, and what it took.

    Raises
    ------
    InvalidInput
        Where an argument is not what it should be.
    Unsupported
        Where the arguments do not go together.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(4), [1, 2, 3, 6])
    >>> result = sv.solve(problem, schedule=sv.Asynchronous(), mask=sv.GaussianMask(variance=1e6), seed=0)
    >>> result.status.value, [round(float(x), 6) for x in result.x]
    ('converged', [3.0, 3.0, 3.0, 3.0])
    """
    if not (is_number(tol) and math.isfinite(tol) and tol >= 0):
        raise InvalidInput(f"tol must be a number >= 0; got {tol!r}. Use tol=0 to run exactly max_iter iterations.")
    positive_integer(record_every, "record_every")
    check_recorders(record, batch)
    given, modular = problem, mask if isinstance(mask, ModularMask) else None
    if isinstance(mask, ModularMask):
        (problem, tol), mask = hidden_problem(problem, mask, z0, batch, seed, tol, record), None
    started = time.perf_counter()
    settings = settle(
        problem, schedule=schedule, theta=theta, c=c, mask=mask, z0=z0, seed=seed, batch=batch, engine=engine,
        tol=tol, arithmetic=arithmetic,
    )  # fmt: skip
    run = start(problem, settings)
    hidden = hides(problem, mask, batch)
    watch, history = Watch(problem, run, tol, max_iter, check_every), History(record, record_every)
    with Progress(watch.limit, tol, progress) as bar:
        history.keep(run)
        while not watch.over():
            k = run.iteration
            run.advance(int(min(watch.next, history.next(k), k + bar.stride)) - k)
            bar.update(run.iteration, watch.residual)
            history.keep(run)
    result = Result(
        x=run.x, z=run.z, status=watch.status, residual=watch.residual, history=history.arrays(),
        iterations=run.iteration, activations=run.activations, messages=run.messages,
        c=run.c, theta=run.theta, seed=settings.seed, secret=settings.secret, hidden=hidden,
        arithmetic=settings.arithmetic, wall_time=time.perf_counter() - started,
    )  # fmt: skip
    return result if modular is None else decoded(given, modular, result)


def start(problem: Problem, settings: Settings) -> Run:
    """A run at ``k = 0``."""
    played, u = problem, None
    if settings.arithmetic == "collapsed":
        assert settings.z0 is not None
        played, half, u = collapse(problem, settings.z0, settings.sigma)
        settings = replace(settings, z0=half)
    rounding = np.finfo(float).eps * settings.sigma + float(np.max(np.abs(played.lost)))
    if settings.tol and rounding > settings.tol:
        warnings.warn(
            f"rounding at the size of z(0) is about {rounding:.1e}, above tol={settings.tol:g}: "
            "the run may not reach it. Use a smaller mask or a larger tol.",
            PrecisionLost,
            stacklevel=3,
        )
    run = make_run(played, settings)
    run.u = u
    return run


def make_run(problem: Problem, settings: Settings) -> Run:
    """A run on the engine that fits."""
    if settings.engine != "reference":
        from .engine import compiled_run

        run = compiled_run(problem, settings)
        if run is not None:
            return run
        if settings.engine == "compiled":
            name = type(settings.schedule).__name__
            raise Unsupported(f"no compiled engine for {problem!r} under {name}; use engine='auto'.")
    return Reference(problem, settings)


def hides(problem: Problem, mask: Mask | None, batch: int | None) -> bool | None:
    """Whether the mask is large against the data, with a warning where it is not; None without a mask, and of a batch
    of draws, which is a study of masks and no run of parties."""
    if mask is None or batch is not None:
        return None
    nodes, cost = max(problem.groups, key=lambda group: size_of(group[1]))
    largest = 0 if cost.quadratic is None else int(np.abs(cost.quadratic.q).max(axis=1).argmax())
    whose = f"node {problem.network.name(nodes[largest])}"
    return is_hidden(size_of(cost), mask, whose if cost.quadratic is not None else "some node", stacklevel=3)


def check_recorders(record: Sequence[Recorder], batch: int | None) -> None:
    names = [getattr(recorder, "name", None) for recorder in record]
    for recorder, name in zip(record, names, strict=True):
        if not (callable(recorder) and isinstance(name, str)):
            raise InvalidInput(f"a recorder is a callable with a name; got {recorder!r}.")
        if names.count(name) > 1 or name == "iteration":
            raise InvalidInput(f"two recorders are called {name!r} ('iteration' is taken). Give one another name.")
        if isinstance(recorder, Variance) and (batch or 1) < 2:
            raise InvalidInput(f"Variance is over the draws of a batch; got batch={batch}. Use batch=2 or more.")
