"""Who plays the points of a sweep: this process, several here (joblib), or the workers of a Dask cluster.

A process may die: killed for its memory, or by a crash in compiled code. Which point it was is not told by anybody, so
all that may have been on it are played once more, each alone. What kills its process even then is a failed point.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import ExitStack
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

from ..errors import InvalidInput, SottovoceError
from .job import Job
from .play import Row, failed, play, text


def here(job: Job, points: Sequence[int]) -> Generator[Row]:
    """One after the other."""
    for point in points:
        yield play(job, point)


def died(point: int, why: str) -> Row:
    """The row of a point that has killed its process twice."""
    return failed(
        point,
        "WorkerDied",
        f"the process that played it died ({why}), and so did one that played it alone: it needs more memory than "
        "there is, or crashes.",
    )


# Processes


def check_processes() -> None:
    """Refuse a place where joblib would play in this process: below its threads, and in a process that may have no
    children."""
    from joblib import parallel_config
    from joblib.parallel import get_active_backend

    with warnings.catch_warnings(), parallel_config(backend="loky"):
        warnings.simplefilter("ignore")  # which say so
        backend, _ = get_active_backend()
        if not backend.supports_inner_max_num_threads or backend.effective_n_jobs(2) == 1:
            raise InvalidInput(
                "processes cannot be started here: this is a worker of another program, or joblib is told to start "
                "none. Use jobs=1."
            )


def on_processes(job: Job, points: Sequence[int], jobs: int) -> Generator[Row]:
    """On so many processes, in the order in which points are ready."""
    if not points:
        return
    jobs = max(2, min(jobs, len(points)))  # one would be this one
    content = pickled(job)
    with ExitStack() as stack:
        try:
            path = Path(stack.enter_context(TemporaryDirectory(prefix="sottovoce-"))) / "job"
            path.write_bytes(content)
        except OSError as error:
            raise InvalidInput(
                f"the problems, for other processes, cannot be written to the temporary folder {gettempdir()}: "
                f"{error.strerror}. Set TMPDIR to another one."
            ) from None
        while points:
            sent, back = set[int](), set[int]()
            try:
                for row in _parallel(path, points, jobs, sent):
                    back.add(row["point"])
                    yield row
            except BrokenExecutor:
                suspects = [point for point in points if point in sent - back]
                for point in suspects:
                    yield _alone(path, point)
            points = [point for point in points if point not in sent]


def _parallel(path: Path, points: Sequence[int], jobs: int, sent: set[int], **options: Any) -> Iterator[Row]:
    from joblib import Parallel, delayed, parallel_config

    def tasks() -> Iterator[Any]:
        for point in points:
            sent.add(point)
            yield delayed(_play_shipped)(str(path), point, os.getpid())

    with parallel_config(backend="loky", inner_max_num_threads=1):
        pool = Parallel(n_jobs=jobs, return_as="generator_unordered", max_nbytes=None, **options)
    yield from pool(tasks())


def _alone(path: Path, point: int) -> Row:
    try:
        return next(_parallel(path, [point], 2, set(), pre_dispatch=1, batch_size=1))  # one process would be this one
    except BrokenExecutor as error:
        signal = re.search(r"SIG[A-Z0-9]+", str(error))
        return died(point, signal.group() if signal else "of no known signal")


def pickled(job: Job) -> bytes:
    """With functions of a notebook or a program by value, after a line with the version."""
    import cloudpickle

    try:
        found: bytes = cloudpickle.dumps(job)
    except Exception as error:
        raise InvalidInput(
            "the problems, the grid or measure cannot be sent to other processes "
            f"({type(error).__name__}: {text(error)}). Use jobs=1, or give functions that make the problems there."
        ) from None
    return f"{version('sottovoce')}\n".encode() + found


def opened(content: bytes) -> Job:
    """In the other process."""
    import pickle

    asked, _, content = content.partition(b"\n")
    if asked.decode() != version("sottovoce"):
        raise SottovoceError(
            f"a worker has sottovoce {version('sottovoce')}, and the program that calls it {asked.decode()}, which may "
            "give other numbers. Install the same version everywhere."
        )
    try:
        job: Job = pickle.loads(content)
    except Exception as error:
        raise SottovoceError(
            f"a process of the sweep cannot open its problems ({type(error).__name__}: {text(error)}). Can it import "
            "what this program imports?"
        ) from None
    return job


def _play_shipped(path: str, point: int, parent: int) -> Row:
    if parent not in (os.getppid(), os.getpid()):  # killed: nobody waits for what is still in the queue
        os._exit(1)
    return play(_job_in(path), point)


@lru_cache(maxsize=1)
def _job_in(path: str) -> Job:
    return opened(Path(path).read_bytes())
