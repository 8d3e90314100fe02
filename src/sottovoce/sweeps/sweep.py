"""``sweep``: many runs, each a function of a problem, settings and a seed alone, by whoever plays them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

from ..errors import InvalidInput, MissingExtra, PointsFailed
from ..pdmm.progress import Progress
from ..pdmm.settings import positive_integer
from .dask_pool import check_client, on_dask
from .digest import digest
from .found import Sweep
from .grid import Grid, settings_of
from .job import Drawn, Job, Measure, problems_of, seeds_of, takes_one
from .kept import Kept, path_of
from .play import FAILED, Row
from .pools import check_processes, here, on_processes
from .table import columns_of
from .values import check_points


def sweep(
    problems: Drawn | Mapping[str, Drawn],
    grid: Grid | Sequence[Grid] | None = None,
    seeds: int | Sequence[int] = 1,
    *,
    measure: Measure | None = None,
    jobs: int | None = None,
    client: Any = None,
    out: str | Path | None = None,
    retry_failed: bool = False,
    progress: bool | None = None,
    **options: Any,
) -> Sweep:
    """Solve problems with all settings of a grid and all seeds, in parallel.

    A point is a function of its problem, its settings and its seed alone: the table has the same numbers for any number
    of processes, on a cluster, and after a break; but for the column ``seconds``.

    Parameters
    ----------
    problems : Problem, callable, or mapping from names to these
        What to solve. A callable takes a seed and returns the Problem to solve with it, so that data, or the network,
        are drawn anew for each seed.
    grid : mapping, or list of mappings, optional
        From arguments of ``solve`` to lists of values, of which all combinations are played; of a list of mappings,
        those of each. Values may have names, ``{"schedule": {"lossy": sv.EdgeBernoulli(0.7)}}``, which are then what
        the table says; without one it has numbers as they are, and others as text, such as ``EdgeBernoulli(p=0.7)``.
    seeds : int or list of int
        How many, counted from 0, or which. Each fixes schedule and pads of a run, and is what callables are given.
    measure : callable, optional
        From a ``Result`` to a mapping from names to numbers, which become columns. It is called where the point was
        played, and ``result.problem`` is there.
    jobs : int, optional
        How many processes. 1 plays in this one. Default: as many as there are cores.
    client : distributed.Client, optional
        Of a Dask cluster, whose workers play in place of processes here.
    out : str or Path, optional
        A Parquet file. While the sweep runs, what is done lies in the folder ``<out>.parts``; the same call after
        a break goes on from there, and one after the end reads the file. Needs the extra ``sweep``.
    retry_failed : bool
        Whether points that failed in an earlier call are played again. Default: they stay as they are.
    progress : bool, optional
        A bar after two seconds. Default: on a terminal and in notebooks.
    **options
        Arguments of ``solve`` that all points have, such as ``tol=1e-6``.

    Returns
    -------
    Sweep
        A row a point. A point that raised is kept, with status ``"failed"`` and what it raised.

    Raises
    ------
    InvalidInput
        Before anything runs: arguments that ``solve`` has not, values that no run takes, and an ``out`` that cannot be
        written, or is of another sweep.
    MissingExtra
        Where the extra ``sweep``, or Dask for ``client``, is not installed.

    Warns
    -----
    PointsFailed
        Where points failed.

    Examples
    --------
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> network = sv.Network.ring(6)
    >>> def drawn(seed):
    ...     return sv.averaging(network, np.random.default_rng(seed).normal(size=6))
    >>> found = sv.sweep(drawn, {"theta": [0.5, 1.0], "c": [0.3]}, seeds=3, jobs=1, schedule=sv.Asynchronous())
    >>> print(found.summary())
    Sweep(6 points: 6 converged, 0 did not, 0 failed)
    <BLANKLINE>
    problem  theta  c    converged  iterations  messages
    problem  0.5    0.3  3/3        1770        3540
    problem  1.0    0.3  3/3        900         1800
    """
    if measure is not None and not callable(measure):
        raise InvalidInput(f"measure must be a function of a Result; got {measure!r:.80}.")
    if measure is not None:
        takes_one(measure, "measure", "a Result")
    job = Job(problems_of(problems), settings_of(grid, options), seeds_of(seeds), options, measure)
    check_points(len(job))
    play = player(job, jobs, client)
    kept = None if out is None else Kept(path_of(out), job, about(job))
    with kept or nullcontext():
        rows = {} if kept is None else kept.rows()
        points = [k for k in range(len(job)) if k not in rows or (retry_failed and rows[k]["status"] == FAILED)]
        with Progress(progress, "sweeping", "points") as bar, closing(play(points)) as played:
            bar.begin(len(job))
            bar.iteration = len(job) - len(points)
            for row in played:
                rows[row["point"]] = row
                if kept is not None:
                    kept.add(row)
                bar.step("" if row["status"] != FAILED else f"point {row['point']} failed")
        in_order = [rows[k] for k in range(len(job))]
        if kept is not None:
            kept.finish(in_order)
    found = Sweep(columns_of(job, in_order), tuple(job.settings[0].texts), None if kept is None else kept.path)
    if found.failed:
        warnings.warn(
            f"{found.failed} of {len(job)} points failed; {found.first_failure()}", PointsFailed, stacklevel=2
        )
    return found


def player(job: Job, jobs: int | None, client: Any) -> Callable[[Sequence[int]], Generator[Row]]:
    """Who plays the points."""
    if client is not None:
        if jobs is not None:
            raise InvalidInput("give either jobs or client, not both: processes here, or the workers of a cluster.")
        check_client(client)
        return lambda points: on_dask(job, points, client)
    try:
        from joblib import cpu_count
    except ImportError:
        raise MissingExtra("sv.sweep", "joblib", "sweep") from None
    count = cpu_count() if jobs is None else positive_integer(jobs, "jobs")
    if count == 1:
        return lambda points: here(job, points)
    check_processes()
    return lambda points: on_processes(job, points, count)


def about(job: Job) -> dict[str, str]:
    """Which sweep it is: what tells two of them apart, by name."""
    from importlib.metadata import version

    return {
        "versions": "sottovoce " + version("sottovoce"),
        "problems": digest(job.problems),
        "grid": digest([(setting.values, setting.texts) for setting in job.settings]),
        "seeds": digest(job.seeds),
        "arguments": digest(sorted(job.options.items())),
        "measures": digest(job.measure),
    }
