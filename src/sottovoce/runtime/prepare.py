"""What a party does before it is open to others: it gets all the files it may have, and all the code it will need.

An import in the middle of a run opens files, which strangers may have used up by idle connections, and takes time that
others could measure.
"""

from __future__ import annotations

import resource
from concurrent.futures import thread  # noqa: F401  in which the statistic runs; asyncio would import it then

import numpy as np

from ..data.cost_table import PartyCost
from ..data.table_rows import FoldedRows, TableRows
from .plan.node_file import NodeConfig
from .plan.own_data import OwnData, OwnTable


def prepare(config: NodeConfig, own: OwnData) -> None:
    """Before the first connection."""
    raise_file_limit()
    if isinstance(own, PartyCost):
        cost = own.cost
        cost.bind(np.ones(cost.count))(np.zeros((cost.count, cost.dim)))  # a step: kernels are loaded, or compiled, now
    if isinstance(own, OwnTable):
        if own.asked.spec.has_tests:
            import scipy.special  # noqa: F401
        if isinstance(own.table.rows, FoldedRows):
            rows = TableRows(lambda: iter([np.ones((1, 2))]), 2)  # the same for its sums
            rows.totals(lambda block: block.astype(np.int64))


def raise_file_limit() -> None:
    """As many open files as the system lets this process have: a soft limit is for programs that use ``select``."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):  # where "unlimited" is more than the system allows
            return
