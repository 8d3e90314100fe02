"""How a run goes: what ``solve`` was asked for, checked once, with nothing left open."""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import numpy as np

from ..costs.base import Array
from ..errors import InvalidInput, NotCalibrated, NotGuaranteed, is_number, is_word
from .collapsed_arithmetic import Arithmetic, choose_arithmetic
from .masks import Mask
from .overlay import AskedOverlay, Overlay, matched, over, settled_overlay
from .penalties import AskedPenalty, Penalty, checked_penalty, is_auto
from .problem import Problem
from .schedules import Schedule, Synchronous, key_of

log = logging.getLogger(__name__)

Engine = Literal["auto", "reference", "compiled", "cuda"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Settings:
    """What a run of a given problem depends on. ``settle`` makes it from what a user gives, and checks it."""

    c: Penalty
    theta: float
    overlay: Overlay | None = None  # None is the whole network
    schedule: Schedule = Synchronous()  # noqa: RUF009  (a frozen value)
    key: int = 0  # of the random choices of the schedule
    batch: int | None = None
    z0: Array | None = None  # z(0) of the whole network, stacked, a column per draw; None is 0
    sigma: float = 0.0  # the size of z(0)
    arithmetic: Arithmetic = "plain"
    engine: Engine = "auto"
    tol: float = 0.0
    seed: int | None = None
    secret: bool | None = None  # whether z(0) is known to nobody; None without a mask


def checked_engine(asked: Any) -> Engine:
    if not is_word(asked, get_args(Engine)):
        raise InvalidInput(f"engine must be 'auto', 'reference', 'compiled' or 'cuda'; got {asked!r:.80}.")
    return cast(Engine, asked)


def settle(
    problem: Problem,
    *,
    schedule: Schedule | None = None,
    theta: float | None = None,
    c: AskedPenalty = "auto",
    overlay: AskedOverlay = "all",
    mask: Mask | None = None,
    z0: Any = None,
    seed: int | None = None,
    batch: int | None = None,
    engine: Engine = "auto",
    tol: float = 0.0,
    arithmetic: Arithmetic | None = None,
) -> Settings:
    """The settings of a run of ``problem``, from arguments as in ``solve``."""
    on = settled_overlay(problem.network, overlay)
    played = problem if on is None else over(problem, on)
    schedule = settled_schedule(played, schedule)
    whole_number(seed, "seed")
    if batch is not None:
        batch = positive_integer(batch, "batch")
    if mask is not None and not isinstance(mask, Mask):
        raise InvalidInput(f"mask must be a mask such as sv.GaussianMask(variance=1e6); got {mask!r}.")
    if mask is not None and z0 is not None:
        raise InvalidInput("give either mask or z0, not both: both set z(0).")
    engine = checked_engine(engine)
    arithmetic = choose_arithmetic(problem, arithmetic, mask is not None, z0, batch)
    auto = is_auto(c)
    two_sweeps = matched(problem, on) if auto and on is not None else None
    if two_sweeps is not None:
        c, theta, auto = two_sweeps, 1.0 if theta is None else theta, False
    if theta is not None or not auto:
        theta = settled_theta(problem, theta)
    if not auto:
        c = checked_penalty(c, problem.network) if on is None else on.of_overlay(c)
    stacked = None
    if mask is not None:
        shape = (int(problem.rows[-1]), batch or 1)
        stacked = mask.draw(shape, seed) if problem.unit is None else problem.unit.draw(mask, shape, seed)
        if seed is not None:
            log.info("pads drawn from seed %d: reproducible, not secret", seed)
    elif z0 is not None:
        stacked = problem.stack_z(z0, batch)
    if theta is None or auto:
        from .tune import tuned_pair

        c, theta = tuned_pair(played, schedule, theta, tol or 1e-9, engine)
    assert isinstance(c, float | np.ndarray)
    if mask is not None and (other := mask.misfit(problem.network, schedule, theta, c, played.network)):
        warnings.warn(f"the mask was calibrated for {other}. Calibrate again.", NotCalibrated, stacklevel=3)
    return Settings(
        schedule=schedule,
        theta=theta,
        c=c,
        overlay=on,
        key=key_of(seed),
        batch=batch,
        z0=stacked,
        sigma=mask.sigma if mask else float(np.abs(stacked).max()) if stacked is not None else 0.0,
        arithmetic=arithmetic,
        engine=engine,
        tol=tol,
        seed=None if seed is None else int(seed),
        secret=None if mask is None else seed is None,
    )


def settled_schedule(problem: Problem, schedule: Schedule | None) -> Schedule:
    """The schedule of a run: as asked, if it fits the network, or ``Synchronous()``."""
    schedule = Synchronous() if schedule is None else schedule
    if not isinstance(schedule, Schedule):
        raise InvalidInput(f"schedule must be a schedule such as sv.Asynchronous(); got {schedule!r}.")
    schedule = schedule.on(problem.network)
    schedule.check(problem.network)
    return schedule


def settled_theta(problem: Problem, theta: float | None) -> float:
    """The ``theta`` of a run that is not tuned: as asked, with a warning where it may not converge, or 1 where it must,
    else 1/2."""
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


def whole_number(value: Any, name: str) -> None:
    """Refuse what is neither a number of iterations, nor such as a seed, nor None."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if value is not None and not (whole and value >= 0):
        raise InvalidInput(f"{name} must be an integer >= 0, or None; got {value!r}.")


def positive_integer(value: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InvalidInput(f"{name} must be an integer >= 1; got {value!r}.")
    return int(value)
