"""The same folds on a Dask cluster, for tables that outgrow a machine: partitions to workers, exact sums back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput, MissingExtra, SottovoceError
from ..numerics.unquoted import kind_of
from .fold import Array, Fold, Folded, even
from .table_rows import FoldedRows

if TYPE_CHECKING:
    from .dask_source import DaskSource

Blocks = Callable[[Any], Iterable[Array]]  # of a partition, as a worker has it


def on(client: Any) -> OnDask:
    """A Dask cluster to fold tables on.

    Parameters
    ----------
    client : distributed.Client
        Connected to the cluster of this party. The rows stay on it: what comes back are sums.

    Returns
    -------
    OnDask
        ``on(client).rows(partitions, width)`` are the rows of a table there.

    Raises
    ------
    MissingExtra
        Dask is not installed.
    InvalidInput
        It is not a client.

    Examples
    --------
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> from distributed import Client
    >>> halves = [np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0]])]
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
    ...     rows = sv.data.on(client).rows(halves, 2)
    ...     rows.totals(lambda block: block.astype(np.int64)).tolist()
    [9, 12]
    """
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtra("sv.data.on", "Dask", "dask") from None
    if not isinstance(client, Client):
        raise InvalidInput(f"on() takes a distributed.Client, connected to a cluster; got {kind_of(client)}.")
    return OnDask(client)


@dataclass(frozen=True)
class OnDask:
    """A cluster, as ``on`` returns it.

    Attributes
    ----------
    client : distributed.Client
        The connection to it.
    """

    client: Any

    def rows(self, partitions: Any, width: int, blocks: Blocks | None = None, count: int | None = None) -> DaskRows:
        """The rows of a table that lies on the cluster, or is read there.

        Parameters
        ----------
        partitions : Dask DataFrame or Array, or sequence
            Of a sequence, each is one partition: a delayed object, a future, a function without arguments that is
            called on a worker, or the data themselves.
        width : int
            Numbers a row.
        blocks : callable, optional
            Makes arrays ``(rows, width)`` of a partition, on the worker. Default: ``as_blocks``, for arrays and frames
            of numbers.
        count : int, optional
            How many rows there are, where that is known.

        Returns
        -------
        DaskRows
            Sums of them, with the bits that ``TableRows`` gives.
        """
        return DaskRows(self, _partitions(partitions), width, blocks or as_blocks, count)

    def table(self, partitions: Any) -> DaskSource:
        """A table on the cluster, under a schema: one of the tables of ``sv.Study``, whose statistics sum it there.

        Parameters
        ----------
        partitions : Dask DataFrame, or sequence
            As of ``rows``; of a sequence also paths, which the workers open.

        Returns
        -------
        DaskSource
            Not read yet. What is refused of it is told by partition, and by row within it.
        """
        from .dask_source import DaskSource

        return DaskSource(self, _partitions(partitions))

    def map(self, function: Callable[[Any], Any], partitions: Any) -> Iterator[Any]:
        """``function`` of each partition, on the workers; in the order in which they are ready.

        Raises
        ------
        InvalidInput
            The first partition of which ``function`` could make nothing: its sentence, and nothing else of it.
        SottovoceError
            The cluster lost a partition, again and again.
        """
        from dask.delayed import delayed
        from distributed import as_completed

        parts = _partitions(partitions)
        tasks = [delayed(_guarded, pure=False)(function, part) for part in parts]
        futures = self.client.compute(tasks)
        number = {future.key: k for k, future in enumerate(futures, start=1)}
        try:
            for future in as_completed(futures):
                where = f"partition {number[future.key]} of {len(parts)}"
                if future.status != "finished":
                    raise _lost(where, future) from None
                found = future.result()
                if isinstance(found, _Refused):
                    raise found.kind(f"{where}: {found.sentence}")
                future.release()
                yield found
        except BaseException:
            self.client.cancel(futures)  # those that are still to come
            raise


class DaskRows(FoldedRows):
    """The rows of a table on a cluster, as ``OnDask.rows`` returns them. Their sums have the bits of ``TableRows``."""

    def __init__(self, on: OnDask, partitions: list[Any], width: int, blocks: Blocks, count: int | None) -> None:
        super().__init__(width, count)
        self.on, self.partitions, self.blocks = on, partitions, blocks

    def _folded(self, fold: Fold) -> Folded:
        blocks, width = self.blocks, self.width

        def of_partition(partition: Any) -> Folded:
            return fold.of(even(blocks(partition), width))

        done = fold.of([])
        for part in self.on.map(of_partition, self.partitions):
            done.merge(part)
        return done


def as_blocks(partition: Any) -> Iterator[Array]:
    """Blocks of numbers of an array, of a pandas, polars or Arrow table, or of an iterator of them."""
    if isinstance(partition, np.ndarray):
        yield np.asarray(partition, np.float64)
    elif isinstance(partition, Iterator):
        for part in partition:
            yield from as_blocks(part)
    else:
        import narwhals as nw

        if type(partition).__name__ == "RecordBatch":
            import pyarrow as pa

            partition = pa.Table.from_batches([partition])
        frame = nw.from_native(partition, eager_only=True)
        yield np.asarray(frame.to_numpy(), np.float64).reshape(len(frame), len(frame.columns))


@dataclass(frozen=True)
class _Refused:
    """What a partition was refused with, without the frames of a traceback, which hold its data."""

    kind: type[SottovoceError]
    sentence: str


def _guarded(function: Callable[[Any], Any], partition: Any) -> Any:
    """On a worker. What is raised here would be logged there with its arguments, and a message may quote a cell."""
    try:
        return function(partition() if callable(partition) else partition)
    except InvalidInput as error:
        return _Refused(type(error), str(error))
    except SottovoceError as error:
        return _Refused(SottovoceError, str(error))
    except Exception as error:
        return _Refused(InvalidInput, f"it cannot be read or summed ({type(error).__name__}).")


def _partitions(given: Any) -> list[Any]:
    if hasattr(given, "to_delayed"):
        given = given.to_delayed()
    if isinstance(given, np.ndarray) and given.dtype == object:  # of a Dask array, chunk by chunk
        given = given.ravel().tolist()
    if isinstance(given, str | bytes | np.ndarray) or not isinstance(given, Sequence):
        raise InvalidInput(
            f"partitions must be a Dask DataFrame or a list with one entry for each; got {kind_of(given)}."
        )
    return list(given)


def _lost(where: str, future: Any) -> SottovoceError:
    from distributed import KilledWorker

    if future.status != "error":
        return SottovoceError(f"{where}: the cluster dropped it ({future.status}). Is its scheduler still there?")
    error = future.exception()
    if isinstance(error, KilledWorker):
        return SottovoceError(
            f"{where}: its worker died, and so did those that tried again. "
            "It may need more memory than a worker has: make partitions smaller."
        )
    return InvalidInput(f"{where}: it cannot be made ({type(error).__name__}).")
