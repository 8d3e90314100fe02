"""``sottovoce sweep``: the problem of a file with many settings and seeds, into one table."""

from __future__ import annotations

import itertools
import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .endings import in_order
from .options import Json
from .terminal import Ended, Exit, print_json

if TYPE_CHECKING:
    from ..data.problem_file import ProblemFile
    from ..pdmm.result import Result

TABLES = ("pdmm", "mask", "noise")


def sweep(
    problem: Annotated[
        Path, typer.Argument(metavar="PROBLEM.TOML", help="The problem file; see docs/reference/problem-file.md.")
    ],
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE,...",
            help="Values of a key of [pdmm], such as theta=0.5,1, or of [mask] or [noise], such as "
            "mask.variance=1,100. May be said again: all combinations are played.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="So many of each, from 0 on.")] = 1,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes. Default: as many as there are cores.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="OUT.PARQUET", help="Write the table there; after a break the same command goes on."),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Play points again that failed in an earlier call.")
    ] = False,
    json: Json = False,
) -> int:
    """Solve the problem of a file with every combination of settings and seeds, and tell what each took.

    \b
    Examples:
      sottovoce sweep problem.toml --grid theta=0.5,0.8,1 --seeds 10
      sottovoce sweep problem.toml --grid c=auto,0.5,2 --grid overlay=all,tree --out sweep.parquet
      sottovoce sweep problem.toml --grid schedule=edge_bernoulli --grid p=0.5,0.9 --seeds 20 --json

    The file has a [cost]. A network that is drawn is drawn once, by the seed of [network], of [pdmm], or 0: the seeds
    of the sweep are those of schedules and pads. The table has a row for each point, and the column max_error where
    the pooled answer is known.

    Exit status: 0 all converged, 1 some did not or failed, 2 bad input, 130 or 143 interrupted.
    """
    from ..data.problem_file import ProblemFile
    from ..errors import ExitStatus, InvalidInput
    from ..files.toml_table import TomlFile
    from ..statistics.statistic_file import read_file
    from ..sweeps import sweep as play

    drawn = TomlFile(problem).table("pdmm").values.get("seed") is None  # then the network would be another each time
    file = read_file(problem, seed=0 if drawn else None)
    if not isinstance(file, ProblemFile):
        raise InvalidInput(
            f"{problem} has a [statistic], which takes several runs. A sweep is of a [cost]: sottovoce solve --example "
            "averaging prints a file with one."
        )
    values = [read_values(text) for text in grid or []]
    keys = [pairs[0][0] for pairs in values]
    if len(set(keys)) < len(keys):
        raise InvalidInput("--grid names a key twice. Give all its values at once, such as theta=0.5,0.8,1.")
    settings = [options_of(file, dict(chosen)) for chosen in itertools.product(*values)]
    common, points = apart(settings, {argument_of(key) for key in keys})
    try:
        with in_order():
            found = play(
                {file.path.stem: file.problem},
                points,
                seeds,
                measure=None if file.pooled is None else partial(max_error, file.cost.scale, file.pooled),
                jobs=jobs,
                out=out,
                retry_failed=retry_failed,
                **common,
            )
    except KeyboardInterrupt as leave:
        kept = "" if out is None else f": the points that are done are kept beside {out}, and the same command goes on"
        print(f"interrupted{kept}", file=sys.stderr)
        raise Exit(leave.code if isinstance(leave, Ended) else ExitStatus.INTERRUPTED) from None
    if json:
        print_json(found.to_dict())
    else:
        print(found.summary())
        if out is not None:
            print(f"\nAll points are in {out}")
    return 0 if found.converged == len(found) else 1


def read_values(text: str) -> list[tuple[str, Any]]:
    """``theta=0.5,1`` as pairs of the key, with its table, and a value."""
    from ..errors import InvalidInput

    key, equals, values = (part.strip() for part in text.partition("="))
    if not key or not equals or not all(value.strip() for value in values.split(",")):
        raise InvalidInput(f"--grid takes a key and its values, such as theta=0.5,0.8,1; got {text!r}.")
    if "." not in key:
        key = f"pdmm.{key}"
    if key.partition(".")[0] not in TABLES:
        raise InvalidInput(f"--grid {text}: it takes keys of [pdmm], and of [mask] and [noise] as mask.variance.")
    if key == "pdmm.seed":
        raise InvalidInput("--grid seed: the seeds of a sweep are those of --seeds.")
    found = [plain(value.strip()) for value in values.split(",")]
    if len(set(found)) < len(found):
        raise InvalidInput(f"--grid {text}: a value is there twice. Keep one of them.")
    return [(key, value) for value in found]


def plain(text: str) -> Any:
    """A number where it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def options_of(file: ProblemFile, changes: dict[str, Any]) -> dict[str, Any]:
    """The arguments of ``solve`` as the file would give them with other values of some keys."""
    from ..data.problem_file import KEYS, read_mask, read_noise, read_options
    from ..errors import InvalidFile, InvalidInput
    from ..files.toml_table import TomlFile

    changed = TomlFile(file.path)
    for key, value in changes.items():
        table, _, name = key.partition(".")
        changed.values.setdefault(table, {})[name] = value
    try:
        for table in TABLES:
            changed.table(table).refuse_unknown(KEYS[table])
        options = read_options(changed.table("pdmm"), file.problem.network)
        if "mask" in changed.values:
            options["mask"] = read_mask(changed.table("mask"))
        if "noise" in changed.values:
            options["noise"] = read_noise(changed.table("noise"), file.problem, options.get("mask"))
    except InvalidFile as error:
        told = ", ".join(f"{key.removeprefix('pdmm.')} = {value}" for key, value in changes.items())
        # The file alone is right: no line of it is to blame.
        why = re.sub(rf"^{re.escape(str(file.path))}(, line \d+)?: ", "", str(error))
        raise InvalidInput(f"with {told}: {why}") from None
    asked = changed.table("pdmm").values.get("overlay")
    return options | {"overlay": asked if asked in ("all", "tree") else options["overlay"] or "all"}


def argument_of(key: str) -> str:
    """The argument of ``solve`` that a key sets: ``pdmm.p`` is one of the schedule."""
    from ..data.problem_file import RUN_KEYS

    table, _, name = key.partition(".")
    return table if table != "pdmm" else name if name in RUN_KEYS else "schedule"


def apart(settings: list[dict[str, Any]], asked: set[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What all have in common beside what was asked for, and a point of the grid for each."""
    from ..sweeps.digest import digest

    names = dict.fromkeys(name for setting in settings for name in setting if name not in asked)
    common = [name for name in names if len({digest(setting.get(name)) for setting in settings}) == 1]
    points = [{name: [value] for name, value in each.items() if name not in common} for each in settings]
    return {name: settings[0][name] for name in common}, points


def max_error(scale: Any, pooled: Any, result: Result) -> dict[str, float]:
    """How far the worst party is from the answer of all data in one place, in the units of the data."""
    import numpy as np

    x = np.asarray(result.x if scale is None else result.x / scale).reshape(len(result.x), -1)
    return {"max_error": float(np.abs(x - pooled).max())}
