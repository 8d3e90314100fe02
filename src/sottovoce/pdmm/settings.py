"""How a run goes: what ``solve`` was asked for, checked once, with nothing left open."""

from __future__ import annotations

import logging
import math
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..costs.base import Array
from ..errors import InvalidInput, NotCalibrated, NotGuaranteed, is_number
from .collapsed_arithmetic import Arithmetic, choose_arithmetic
from .masks import Mask
from .problem import Problem
from .schedules import Schedule, Synchronous, key_of

log = logging.getLogger(__name__)

Engine = Literal["auto", "reference", "compiled"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Settings:
    """What a run of a given problem depends on. ``settle`` makes it from what a user gives, and checks it."""

    c: float
    theta: float
    schedule: Schedule = Synchronous()  # noqa: RUF009  (a frozen value)
    key: int = 0  # of the random choices of the schedule
    batch: int | None = None
    z0: Array | None = None  # z(0), stacked, a column per draw; None is 0
    sigma: float = 0.0  # the size of z(0)
    arithmetic: Arithmetic = "plain"
    engine: Engine = "auto"
    tol: float = 0.0
    seed: int | None = None
    secret: bool | None = None  # whether z(0) is known to nobody; None without a mask


def settle(
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
    tol: float = 0.0,
    arithmetic: Arithmetic | None = None,
) -> Settings:
    """The settings of a run of ``problem``, from arguments as in ``solve``."""
    schedule = settled_schedule(problem, schedule)
    whole_number(seed, "seed")
    if batch is not None:
        positive_integer(batch, "batch")
    if mask is not None and not isinstance(mask, Mask):
        raise InvalidInput(f"mask must be a mask such as sv.GaussianMask(variance=1e6); got {mask!r}.")
    if mask is not None and z0 is not None:
        raise InvalidInput("give either mask or z0, not both: both set z(0).")
    if engine not in ("auto", "reference", "compiled"):
        raise InvalidInput(f"engine must be 'auto', 'reference' or 'compiled'; got {engine!r}.")
    arithmetic = choose_arithmetic(problem, arithmetic, mask is not None, z0, batch)
    auto = isinstance(c, str) and c == "auto"
    if theta is not None or not auto:
        theta = settled_theta(problem, theta)
    stacked = None
    if mask is not None:
        stacked = mask.draw((int(problem.rows[-1]), batch or 1), seed)
        if seed is not None:
            log.info("pads drawn from seed %d: reproducible, not secret", seed)
    elif z0 is not None:
        stacked = problem.stack_z(z0, batch)
    if theta is None or auto:
        from .tune import tuned_pair

        c, theta = tuned_pair(problem, schedule, theta, tol or 1e-9)
    if not (is_number(c) and math.isfinite(c) and c > 0):
        raise InvalidInput(f"c must be a positive number or 'auto'; got {c!r}.")
    if mask is not None and (other := mask.misfit(problem.network, schedule, theta, float(c))):
        warnings.warn(f"the mask was calibrated for {other}. Calibrate again.", NotCalibrated, stacklevel=3)
    return Settings(
        schedule=schedule,
        theta=theta,
        c=float(c),
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
