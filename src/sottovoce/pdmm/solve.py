"""The one loop: ``iterate`` yields state by state, ``solve`` runs to the end and returns a ``Result``."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..errors import InvalidInput, NotConvergedWarning, PrecisionLost, Unsupported, is_number
from .collapsed_arithmetic import Arithmetic, collapse
from .compiling import compiled
from .hiding import is_hidden, size_of, was_said
from .local_noise import LocalNoise
from .masks import Mask
from .modular_mask import ModularMask, decoded, hidden_problem
from .overlay import AskedOverlay, leaning, over, unfolded
from .penalties import AskedPenalty, shown
from .problem import Problem
from .progress import Progress
from .recorders import Recorder, Transcript, Variance
from .reference import Reference, Run
from .result import Result, State, Status
from .schedules import Schedule
from .settings import Engine, Settings, checked_engine, positive_integer, settle, whole_number
from .watch import History, Watch


def iterate(
    problem: Problem,
    *,
    schedule: Schedule | None = None,
    theta: float | None = None,
    c: AskedPenalty = "auto",
    overlay: AskedOverlay = "all",
    mask: Mask | None = None,
    noise: LocalNoise | None = None,
    z0: Any = None,
    seed: int | None = None,
    batch: int | None = None,
    engine: Engine = "auto",
    arithmetic: Arithmetic | None = None,
    every: int = 1,
) -> Iterator[State]:
    """Play a run state by state, without end (or to the end of a trace).

    Parameters
    ----------
    problem, schedule, theta, c, overlay, mask, noise, z0, seed, batch, engine, arithmetic
        As in ``solve``.
    every : int
        Iterations between two states. A state is a copy of ``x`` and ``z``, which costs much more than an activation.

    Yields
    ------
    State
        Before the first iteration, and after every so many; and at the end of a trace.

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
    positive_integer(every, "every")
    given, problem = problem, with_noise(problem, noise, mask, batch, seed)
    settings = settle(
        problem, schedule=schedule, theta=theta, c=c, overlay=overlay, mask=mask, z0=z0, seed=seed, batch=batch,
        engine=engine, arithmetic=arithmetic,
    )  # fmt: skip
    run = start(problem, settings)
    hides(given, mask, batch)  # which need not hide the noise
    limit = run.schedule.length()
    while True:
        yield State(run.iteration, run.activations, run.messages, run.x, run.z)
        if limit is not None and run.iteration >= limit:
            return
        run.advance(every if limit is None else min(every, limit - run.iteration))


def solve(
    problem: Problem,
    *,
    schedule: Schedule | None = None,
    theta: float | None = None,
    c: AskedPenalty = "auto",
    overlay: AskedOverlay = "all",
    mask: Mask | ModularMask | None = None,
    noise: LocalNoise | None = None,
    z0: Any = None,
    seed: int | None = None,
    tol: float = 1e-9,
    max_iter: int | None = None,
    max_rounds: int | None = None,
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
    c : float, "auto", or array_like
        The step parameter; ``"auto"`` tunes it by short runs on the same data. Or one number per edge, in the order of
        ``network.edges``.
    overlay : "all", "tree", or list of pairs
        The edges that messages use; pads lie on every edge of the network all the same. ``"all"`` is the paper's
        method. ``"tree"`` is ``network.spanning_tree()``: averages, and other quadratic costs ``(a_i/2) (x - s_i)^2``,
        end after one sweep up and one down (``c="auto"`` matches the penalties). Or pairs of nodes, by name.
    mask : GaussianMask, ModularMask or UniformMask, optional
        Draws ``z(0)``, which hides the data. ``ModularMask`` hides integers before an unmasked run instead: ``x`` is
        then the exact mean, or NaN where the run did not converge, and all else is about the run on limbs of words.
    noise : LocalNoise, optional
        Besides, on the data themselves: the answer is no longer exact, and gives away less than an exact one.
    z0 : array_like, optional
        ``z(0)`` in the order of ``network.half_edges``. Without it and a mask it is 0, and nothing is hidden.
    seed : int, optional
        Fixes schedule and pads. Without it the pads are secret.
    tol : float
        Bounds the KKT residual (``reference.kkt_residual``). 0 plays ``max_iter`` iterations without looking.
    max_iter : int, optional
        The most iterations.
    max_rounds : int, optional
        The same in rounds: a round is one iteration, or ``n`` where nodes wake one at a time. Default: 100,000.
    check_every : int, optional
        Iterations between two looks at the residual. Default: 10 rounds, one where messages use an overlay, or 5 % of
        the iterations so far if that is more.
    batch : int, optional
        So many draws of ``z(0)`` under one activation sequence.
    record : sequence of recorders
        What to keep along the way, in ``Result.history``.
    record_every : int
        Iterations between two records.
    engine : {"auto", "reference", "compiled", "cuda"}
        Who plays it: the readable iteration, or compiled kernels with the same answers; ``"cuda"`` on an NVIDIA GPU,
        which needs the extra ``cuda``.
    arithmetic : {"collapsed", "plain"}, optional
        ``"plain"`` is the iteration on ``z``; ``"collapsed"`` keeps rounding from telling secrets, for quadratic costs
        without ``batch``. Default: collapsed where a mask is given and it applies.
    progress : bool, optional
        A bar after two seconds, and a word where a kernel is compiled. Default: on a terminal and in notebooks.

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

    Warns
    -----
    NotConvergedWarning
        Where the run ends before it reaches ``tol``, as ``MAX_ITER`` or ``DIVERGED``.

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
    if max_iter is not None and max_rounds is not None:
        raise InvalidInput("give either max_iter or max_rounds, not both: both say when to stop.")
    positive_integer(record_every, "record_every")
    check_recorders(record, batch)
    given, problem = problem, with_noise(problem, noise, mask, batch, seed)
    modular = mask if isinstance(mask, ModularMask) else None
    if isinstance(mask, ModularMask):
        (problem, tol), mask = hidden_problem(problem, mask, z0, batch, seed, tol, record), None
    with Progress(progress) as bar, compiled(checked_engine(engine) in ("auto", "compiled"), bar.say) as compiling:
        started = time.perf_counter()
        settings = settle(
            problem, schedule=schedule, theta=theta, c=c, overlay=overlay, mask=mask, z0=z0, seed=seed, batch=batch,
            engine=engine, tol=tol, arithmetic=arithmetic,
        )  # fmt: skip
        run = start(problem, settings)
        hidden = hides(given, mask, batch)
        watch, history = Watch(problem, run, tol, max_iter, max_rounds, check_every), History(record, record_every)
        bar.begin(watch.limit)
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
            arithmetic=settings.arithmetic, tol=float(tol), problem=given, network=given.network, batch=batch,
            variables=given.variables, overlay=settings.overlay, noise=noise,
            wall_time=time.perf_counter() - started - compiling.seconds,
        )  # fmt: skip
    result = result if modular is None else decoded(given, modular, result)
    if tol and not result.converged and not was_said():
        warnings.warn(not_converged(result, run.schedule), NotConvergedWarning, stacklevel=2)
    return result


def with_noise(
    problem: Problem, noise: LocalNoise | None, mask: Mask | ModularMask | None, batch: int | None, seed: int | None
) -> Problem:
    """The problem that is played: with noise on its data, where that was asked for."""
    if noise is None:
        return problem
    if not isinstance(noise, LocalNoise):
        raise InvalidInput(f"noise must be sv.LocalNoise(variance), or None; got {noise!r}.")
    if isinstance(mask, ModularMask):
        raise Unsupported("local noise is not of integers, and ModularMask hides integers. Use GaussianMask.")
    if batch is not None:
        raise Unsupported("a batch is of draws of z(0) on the same data: it takes no noise. Leave batch out.")
    whole_number(seed, "seed")
    return noise.on(problem, seed)


def not_converged(result: Result, schedule: Schedule) -> str:
    """What was reached, and what to do."""
    if result.status is Status.DIVERGED:
        return (
            f"the run diverged: x grows without bound, seen after {result.iterations} iterations. Is every cost "
            f"convex, and can the constraints hold? If so, use a smaller theta (it was {result.theta:g})."
        )
    over = result.iterations == schedule.length()
    more = "Give a longer trace" if over else "Raise max_rounds or max_iter"
    return (
        f"the run did not converge: residual {result.residual:.1e} after {result.iterations} iterations"
        f"{', where the trace is over' if over else ''}; tol={result.tol:g}. {more}, take another c (it was "
        f"{shown(result.c)}) or theta ({result.theta:g}), or a larger tol; tol=0 plays to the end without looking."
    )


def start(problem: Problem, settings: Settings) -> Run:
    """A run at ``k = 0``."""
    played, u, z0, overlay = problem, None, settings.z0, settings.overlay
    if settings.arithmetic == "collapsed":
        assert z0 is not None
        played, z0, u = collapse(problem, z0, settings.sigma)
    if overlay is not None:
        kept = overlay.entries(problem)
        if u is None and z0 is not None:
            played = leaning(problem, overlay, z0)
        played, z0, u = over(played, overlay), None if z0 is None else z0[kept], None if u is None else u[kept]
    pads, settings = settings.z0, replace(settings, z0=z0)
    rounding = np.finfo(float).eps * settings.sigma + float(np.max(np.abs(played.lost)))
    if settings.tol and rounding > settings.tol:
        warnings.warn(
            f"rounding at the size of z(0) is about {rounding:.1e}, above tol={settings.tol:g}: "
            "the run may not reach it. Use a smaller mask or a larger tol.",
            PrecisionLost,
            stacklevel=3,
        )
    run = make_run(played, settings)
    run.u, run.given = u, problem
    if overlay is not None:
        z = np.zeros((int(problem.rows[-1]), settings.batch or 1)) if pads is None else pads
        run.unfold = partial(unfolded, problem, overlay, z0=z)
    return run


def make_run(problem: Problem, settings: Settings) -> Run:
    """A run on the engine that fits."""
    if settings.engine == "cuda":
        from .cuda import cuda_run

        return cuda_run(problem, settings)
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
            raise InvalidInput(f"a recorder is a callable with a name, such as sv.Residual(); got {recorder!r}.")
        if names.count(name) > 1 or name == "iteration":
            raise InvalidInput(f"two recorders are called {name!r} ('iteration' is taken). Give one another name.")
        if isinstance(recorder, Transcript) and batch is not None:
            raise InvalidInput(f"a Transcript is of one run, and a batch has no messages; got batch={batch}.")
        if isinstance(recorder, Variance) and (batch or 1) < 2:
            raise InvalidInput(f"Variance is over the draws of a batch; got batch={batch}. Use batch=2 or more.")
