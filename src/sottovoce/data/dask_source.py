"""A table whose partitions lie on a Dask cluster, or are read there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput
from .schema import Column
from .sources import Source, open_source

if TYPE_CHECKING:
    from .on_dask import OnDask


class DaskSource(Source):
    """What ``sv.data.on(client).table(partitions)`` returns: a table for ``sv.Study``, summed where it lies.

    Parameters
    ----------
    on : OnDask
        The cluster.
    partitions : list
        As of ``OnDask.rows``; each is a table of its own, with the same columns.
    """

    def __init__(self, on: OnDask, partitions: list[Any]) -> None:
        if not partitions:
            raise InvalidInput("a table on a cluster needs at least one partition, which may be without rows.")
        self.on, self.partitions = on, partitions

    def describe(self) -> str:
        return f"the table of {len(self.partitions)} partitions"

    def names(self) -> list[str]:
        return next(self.on.map(_names_of, self.partitions[:1]))

    def _read(self, wanted: Mapping[str, Column]) -> Iterator[Any]:
        """Partition by partition, on this machine: for whoever wants rows, and not sums of them."""
        for part in self.partitions:
            for batches in self.on.map(partial(_batches_of, dict(wanted)), [part]):
                yield from batches


def _names_of(part: Any) -> list[str]:
    return open_source(part).names()


def _batches_of(wanted: dict[str, Column], part: Any) -> list[Any]:
    return list(open_source(part).batches(wanted))
