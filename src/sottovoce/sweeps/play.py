"""One point of a sweep, from its number to its row. It runs in whichever process; whatever goes wrong is in the row."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import InvalidInput, MissingExtra, NotConvergedWarning, SottovoceWarning, is_number
from ..numerics.unquoted import kind_of
from ..pdmm.problem import Problem
from ..pdmm.result import Result
from ..pdmm.solve import solve
from .job import Job
from .values import check_name

Row = dict[str, Any]

OUTCOME = ("status", "iterations", "activations", "messages", "residual", "used_c", "used_theta")
TROUBLE = ("warnings", "failure", "reason")
FAILED = "failed"  # a status beside those of ``sv.Status``

_one_at_a_time = threading.Lock()  # a process has one list of warnings, whatever its number of threads
_passed_on: set[tuple[object, ...]] = set()  # warnings of others, once a process


def play(job: Job, point: int) -> Row:
    """A function of the problem, the settings and the seed; but for ``seconds``."""
    with _one_at_a_time, as_everywhere(), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("default")
        warnings.simplefilter("always", SottovoceWarning)
        warnings.simplefilter("ignore", NotConvergedWarning)  # which is in the status
        try:
            row = _played(job, point)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # such as the SystemExit of a program that is called
            row = failed(point, type(error).__name__, error)
    ours = [each for each in heard if issubclass(each.category, SottovoceWarning)]
    for each in heard:
        if each not in ours:
            pass_on(each)
    said = [f"{each.category.__name__}: {text(each.message)}" for each in ours]
    return row | {"warnings": "\n".join(dict.fromkeys(said)) or None}


@contextmanager
def as_everywhere() -> Iterator[None]:
    """What a point does must not depend on what its process has set: threads of linear algebra, on which the last bits
    of products of matrices depend, and what NumPy does where numbers overflow."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        raise MissingExtra("sv.sweep", "threadpoolctl", "sweep") from None
    linear_algebra = loaded(ThreadpoolController, len(sys.modules)).limit(limits=1, user_api="blas")
    with linear_algebra, np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
        yield


@lru_cache(maxsize=1)
def loaded(look: Any, modules: int) -> Any:
    """The libraries whose threads can be limited. To ``look`` takes longer than many a run, and only an import brings
    more of them."""
    return look()


def pass_on(heard: warnings.WarningMessage) -> None:
    """A warning of others, where the filters of this process let it; as an error it would end the sweep."""
    key = heard.category, text(heard.message), heard.filename, heard.lineno
    if key in _passed_on:
        return
    _passed_on.add(key)
    try:
        warnings.warn_explicit(heard.message, heard.category, heard.filename, heard.lineno)
    except Warning:
        warnings.showwarning(heard.message, heard.category, heard.filename, heard.lineno)


def _played(job: Job, point: int) -> Row:
    name, setting, seed = job.at(point)
    given = job.problems[name]
    problem = given if isinstance(given, Problem) else given(seed)
    if not isinstance(problem, Problem):
        raise InvalidInput(f"the function for problem {name!r} must return a Problem; it returned {kind_of(problem)}.")
    result = solve(problem, seed=seed, progress=False, **job.options, **setting.values)
    row: Row = {
        "point": point,
        "status": result.status.value,
        "iterations": result.iterations,
        "activations": result.activations,
        "messages": result.messages,
        "residual": result.residual,
        "used_c": result.c if isinstance(result.c, float) else None,  # None is one per edge
        "used_theta": result.theta,
        "seconds": result.wall_time,
    }
    return row | measured(job, result, taken=(*job.keys(point), *row, *TROUBLE))


def measured(job: Job, result: Result, taken: tuple[str, ...]) -> Row:
    """What the user's function makes of a result: numbers by name."""
    if job.measure is None:
        return {}
    found = job.measure(result)
    if not isinstance(found, Mapping):
        raise InvalidInput(f"measure must return a mapping from names to numbers; it returned {kind_of(found)}.")
    for name, value in found.items():
        if not isinstance(name, str) or name in taken:
            raise InvalidInput(f"measure must name its numbers by texts that are no columns yet; it returned {name!r}.")
        check_name(name, "measure")
        if not (is_number(value) or "bool" in type(value).__name__):
            raise InvalidInput(f"measure must return numbers; {name!r} is {kind_of(value)}.")
    return {name: float(value) for name, value in found.items()}


def failed(point: int, failure: str, reason: object) -> Row:
    """The row of a point that has no result."""
    return {"point": point, "status": FAILED, "failure": text(failure), "reason": text(reason)}


def text(thing: object) -> str:
    """What an error or a warning says, as a file can hold it."""
    try:
        said = str(thing)
    except Exception:
        said = f"a {type(thing).__name__} that has no text"
    return said.encode(errors="backslashreplace").decode()
