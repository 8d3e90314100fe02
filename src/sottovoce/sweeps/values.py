"""Arguments of ``solve`` in a sweep: what can be seen to be wrong with them before anything runs."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import numpy as np

from ..errors import InvalidInput, is_number, is_word
from ..files.toml_table import nearest
from ..numerics.unquoted import kind_of
from ..pdmm.collapsed_arithmetic import Arithmetic
from ..pdmm.local_noise import LocalNoise
from ..pdmm.masks import Mask
from ..pdmm.modular_mask import ModularMask
from ..pdmm.schedules import Schedule
from ..pdmm.settings import Engine, positive_integer
from ..pdmm.solve import check_recorders, solve

ARGUMENTS = dict(list(inspect.signature(solve).parameters.items())[1:])  # without the problem
OPTIONAL = {name for name, argument in ARGUMENTS.items() if argument.default is None} | {"overlay"}
OURS = {"seed": "give seeds=", "progress": "the sweep has a bar of its own, progress="}
COUNTS = ("max_iter", "max_rounds", "check_every", "batch", "record_every")
CHOICES = {"engine": get_args(Engine), "arithmetic": get_args(Arithmetic)}
MOST = 2**63 - 1  # which a column of whole numbers holds
MOST_POINTS = 10_000_000  # of a sweep: some gigabytes
KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "schedule": ((Schedule,), "a schedule such as sv.Asynchronous()"),
    "mask": ((Mask, ModularMask), "a mask such as sv.GaussianMask(variance=1e6)"),
    "noise": ((LocalNoise,), "sv.LocalNoise(variance)"),
}


def check_name(name: str, where: str) -> None:
    """Refuse a text that no file can hold."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{where}: the name {name!r:.80} has half a character in it. Give another one.") from None


def check_size(value: Any, where: str) -> None:
    """Refuse a whole number that no column holds."""
    if isinstance(value, int | np.integer) and abs(int(value)) > MOST:
        raise InvalidInput(f"{where}: a whole number must be at most 2**63 - 1, which a table holds.")


def check_points(count: int) -> None:
    """Refuse more points than a table in memory holds, before they are listed."""
    if count > MOST_POINTS:
        raise InvalidInput(
            f"a sweep has at most {MOST_POINTS:,} points; this one has {count:,} or more. Make several of it, each "
            "with an out of its own."
        )


def check_keyword(name: Any, where: str) -> None:
    if name in OURS:
        raise InvalidInput(f"{name} cannot be in the {where}: {OURS[name]}.")
    if name not in ARGUMENTS:
        known = [word for word in ARGUMENTS if word not in OURS]
        raise InvalidInput(f"{name!r} is no argument of sv.solve{nearest(str(name), known)}")


def check_value(name: str, value: Any, where: str) -> None:
    """What can be seen without a problem; the rest is for ``solve``, and a point that it refuses is kept."""
    if value is None and name in OPTIONAL:
        return
    check_size(value, where)
    if isinstance(value, Iterator):
        raise InvalidInput(f"{where}: a {kind_of(value)} is used up by the first point. Give a list.")
    if name == "theta" and not (is_number(value) and 0 < value <= 1):
        raise InvalidInput(f"{where}: theta must be in (0, 1]; got {value!r:.80}. Use 1 for PDMM, 0.5 for ADMM.")
    if name == "tol" and not (is_number(value) and 0 <= value < math.inf):
        raise InvalidInput(f"{where}: tol must be a number >= 0; got {value!r:.80}.")
    if name == "c" and (value is None or (isinstance(value, str) and value != "auto")):
        raise InvalidInput(f"{where}: c must be a positive number, 'auto', or one number per edge; got {value!r:.80}.")
    if name == "c" and is_number(value) and not 0 < value < math.inf:
        raise InvalidInput(f"{where}: c must be a positive number; got {value!r:.80}.")
    if name == "overlay" and isinstance(value, str) and value not in ("all", "tree"):
        raise InvalidInput(f"{where}: overlay must be 'all', 'tree', or a list of edges; got {value!r:.80}.")
    if name in COUNTS:
        positive_integer(value, where)
    if name in CHOICES and not is_word(value, CHOICES[name]):
        raise InvalidInput(f"{where}: {name} must be one of {', '.join(CHOICES[name])}; got {value!r:.80}.")
    if name in KINDS and not isinstance(value, KINDS[name][0]):
        raise InvalidInput(f"{where}: {name} must be {KINDS[name][1]}; got {value!r:.80}.")
    if name == "record" and not isinstance(value, list | tuple):
        raise InvalidInput(f"{where}: record must be a list such as [sv.Residual()]; got {value!r:.80}.")


def check_together(values: Mapping[str, Any]) -> None:
    """Of one point."""
    for one, other in (("max_iter", "max_rounds"), ("mask", "z0")):
        if values.get(one) is not None and values.get(other) is not None:
            raise InvalidInput(f"give either {one} or {other}, not both; a point of the sweep has both.")
    check_recorders(values.get("record") or (), values.get("batch"))
