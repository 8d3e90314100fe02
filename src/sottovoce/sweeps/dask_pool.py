"""The points of a sweep on the workers of a Dask cluster, which may come and go."""

from __future__ import annotations

import itertools
import time
from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import Any

from ..errors import InvalidInput, MissingExtra, SottovoceError
from ..numerics.unquoted import kind_of
from .job import Job
from .play import Row, play, text
from .pools import died, opened, pickled

CHUNK = 0.5  # seconds that a task should take, so that Dask's own milliseconds do not count
AHEAD = 2  # tasks a core that are sent
LEAST = 200  # tasks that are sent at least: workers may still be on their way


def check_client(client: Any) -> None:
    """Refuse what is no connection to a cluster."""
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtra("client=", "Dask", "dask") from None
    if not isinstance(client, Client):
        raise InvalidInput(f"client must be a distributed.Client, connected to a cluster; got {kind_of(client)}.")


def on_dask(job: Job, points: Sequence[int], client: Any) -> Generator[Row]:
    """In the order in which points are ready."""
    from distributed import CancelledError

    if not points:
        return
    try:
        yield from _played(pickled(job), points, client)
    except SottovoceError:
        raise
    except (Exception, CancelledError) as error:  # points that raise have a row
        raise SottovoceError(
            f"the cluster dropped a part of the sweep ({type(error).__name__}: {text(error)}). Are its scheduler and "
            "workers still there, and the client open?"
        ) from None


def _played(shipped: bytes, points: Sequence[int], client: Any) -> Generator[Row]:
    from distributed import KilledWorker, as_completed

    # A task, and no scattered data: it is done again wherever workers have left and others come.
    content = client.submit(opened, shipped, pure=False)
    waiting, running, size = as_completed(), dict[str, tuple[Any, list[int]]](), 1
    rest, suspects = iter(points), list[int]()

    def send() -> None:
        while len(running) < max(LEAST, AHEAD * sum(client.ncores().values())):
            chunk = list(itertools.islice(rest, size))
            if not chunk:
                return
            future = client.submit(_play_chunk, content, chunk, pure=False)
            running[future.key] = future, chunk
            waiting.add(future)

    try:
        send()
        for future in waiting:
            _, chunk = running.pop(future.key)
            try:
                rows, seconds = future.result()  # waits again where the worker that had it has left
            except KilledWorker:  # again and again
                suspects += chunk
            else:
                size = max(1, min(2 * size, int(CHUNK * len(rows) / max(seconds, 1e-6))))
                yield from rows
            send()
        for point in suspects:
            future = client.submit(_play_chunk, content, [point], pure=False)
            running = {future.key: (future, [point])}
            try:
                rows, _ = future.result()
            except KilledWorker:
                rows = [died(point, "KilledWorker")]
            yield from rows
    finally:
        with suppress(Exception):  # where the cluster is gone there is nothing to cancel
            client.cancel([future for future, _ in running.values()] + [content])


def _play_chunk(job: Job, points: list[int]) -> tuple[list[Row], float]:
    import numba

    started, threads = time.perf_counter(), numba.get_num_threads()
    numba.set_num_threads(1)  # other workers have the other cores
    try:
        rows = [play(job, point) for point in points]
    finally:
        numba.set_num_threads(threads)
    return rows, time.perf_counter() - started
