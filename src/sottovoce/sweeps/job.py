"""All runs of a sweep by their numbers: which problem, which settings, which seed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..numerics.unquoted import kind_of
from ..pdmm.problem import Problem
from ..pdmm.result import Result
from ..pdmm.settings import positive_integer
from .grid import Setting
from .values import check_name, check_points, check_size

Drawn = Problem | Callable[[int], Problem]
Measure = Callable[[Result], Mapping[str, float]]


@dataclass(frozen=True, eq=False)
class Job:
    """What the processes are sent. Point ``k`` is a problem, then settings, then a seed, the last running fastest."""

    problems: dict[str, Drawn]
    settings: list[Setting]
    seeds: tuple[int, ...]
    options: dict[str, Any]  # arguments of solve that all points have
    measure: Measure | None

    def __len__(self) -> int:
        return len(self.problems) * len(self.settings) * len(self.seeds)

    def at(self, point: int) -> tuple[str, Setting, int]:
        """Of one point: the problem's name, the settings, the seed."""
        rest, seed = divmod(point, len(self.seeds))
        problem, setting = divmod(rest, len(self.settings))
        return list(self.problems)[problem], self.settings[setting], self.seeds[seed]

    def keys(self, point: int) -> dict[str, Any]:
        """The columns that say which point it is."""
        name, setting, seed = self.at(point)
        return {"point": point, "problem": name, **setting.texts, "seed": seed}


def problems_of(problems: Any) -> dict[str, Drawn]:
    """By name."""
    named = dict(problems) if isinstance(problems, Mapping) else {"problem": problems}
    if not named:
        raise InvalidInput("problems is empty: give one, or a mapping from names to problems.")
    for name, problem in named.items():
        if not isinstance(name, str):
            raise InvalidInput(f"problems: their names must be text; got {name!r:.80}.")
        check_name(name, "problems")
        if not isinstance(problem, Problem) and (isinstance(problem, type) or not callable(problem)):
            raise InvalidInput(
                "problems must be a Problem, a function that makes one of a seed, or a mapping from names to these; "
                f"got {kind_of(problem)}."
            )
        if not isinstance(problem, Problem):
            takes_one(problem, f"the function for problem {name!r}", "a seed")
    return named


def takes_one(function: Callable[..., Any], what: str, argument: str) -> None:
    """Refuse a function that cannot be called as it will be; of some that are built in nobody knows."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        return
    try:
        signature.bind(None)
    except TypeError as error:
        raise InvalidInput(f"{what} must take {argument}, and nothing else ({error}).") from None


def seeds_of(seeds: Any) -> tuple[int, ...]:
    """As given, or 0, 1, ... of a number."""
    if isinstance(seeds, np.ndarray) and seeds.ndim == 0:
        seeds = seeds.item()
    check_size(seeds, "seeds")
    if isinstance(seeds, int | np.integer):
        check_points(int(seeds))
        return tuple(range(positive_integer(int(seeds) if seeds is not True else seeds, "seeds, the number of them,")))
    if isinstance(seeds, range) and seeds:
        check_points((seeds[-1] - seeds[0]) // seeds.step + 1)
    given: list[Any] = (
        list(seeds) if isinstance(seeds, Iterable) and not isinstance(seeds, str | bytes | Mapping) else [None]
    )
    for seed in given:
        check_size(seed, "seeds")
    if not given or not all(_is_seed(seed) for seed in given):
        raise InvalidInput(f"seeds must be how many, such as 10, or a list of whole numbers >= 0; got {seeds!r:.80}.")
    if len(set(given)) < len(given):
        raise InvalidInput("seeds has a number twice. The same seed gives the same run: keep one of them.")
    return tuple(int(seed) for seed in given)


def _is_seed(seed: Any) -> bool:
    return isinstance(seed, int | np.integer) and not isinstance(seed, bool) and int(seed) >= 0
