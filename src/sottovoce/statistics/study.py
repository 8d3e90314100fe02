"""Tables of all parties in one process: what they hold, under a schema, and the statistics of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy.typing as npt

from ..data.schema import Schema
from ..data.sources import Source, open_source
from ..data.table import Missing
from ..network import Network
from ..pdmm.shards import whose
from .agreements import SimulatedAgreements
from .analysis import Analysis
from .evidence.study_evidence import Evidence
from .fewer_digits import Digits
from .gone import refuse_options
from .groups.study_groups import Groups
from .histogram import Histogram, HistogramAnalysis
from .linear.study_linear import Linear
from .models.study_models import Models
from .of_tables import EmptyLevels, ask_analysis, check_rules, checked_table, run_on_tables
from .policy import Policy
from .policy.policy import admitted, read_policies
from .pooled import CovarianceAnalysis, MeanAnalysis, PooledCovariance, PooledMean, PooledVariance, VarianceAnalysis
from .shards import of_party, one_per_party
from .survival.study_survival import Survival


class Study(Linear, Models, Survival, Groups, Evidence):
    """Tables of parties that stay apart, and private statistics of all their rows.

    A table may be larger than memory. It is looked through before anything is agreed on: what is not as the schema
    says is refused, by party, column and row number. Columns are found by name; levels and their order are those of
    the schema, whatever order a party has.

    Parameters
    ----------
    network : Network
        Who talks to whom; one node a party.
    tables : sequence, or mapping
        One per party, in the order of the nodes or by their names: a path, a frame of pandas, polars or pyarrow, a
        mapping of columns, and whatever else ``sottovoce.data.sources.open_source`` takes.
    schema : Schema, or mapping
        What the columns mean.
    missing : {"raise", "drop"}
        Whether missing values are refused, or rows left out that have one in a column in use. How many rows were, of
        all parties, and in how many each column was missing, is agreed on as well, and is in the result.
    empty_levels : {"keep", "drop"}
        Whether levels of categories that no row has stay, or are left out, by counts of rows by level that all parties
        agree on. Where the reference is left out, the first level that stays takes its place.
    digits : {"full", "statistical"}
        Whether sums have all their digits; or each party rounds its own to a hundredth of their standard error, which
        moves estimates by about as much, and tells less of single rows. Columns then need a range in the schema.
    policy : Policy, or mapping
        What the parties let be computed of their rows: one for all, or some by the names of parties. Each is checked
        before anything is agreed on.
    **gone
        Options of older versions get a sentence.

    Raises
    ------
    InvalidInput
        Tables that cannot be opened, or arguments that do not fit. As a statistic is asked for: columns of another kind
        than it takes, or rows that do not tell it.
    PolicyError
        As a statistic is asked for: the policy of a party refuses it.

    Examples
    --------
    >>> import sottovoce as sv
    >>> sex = {"type": "category", "levels": ["f", "m"]}
    >>> schema = sv.Schema({"age": {"type": "number", "range": (0, 120)}, "sex": sex})
    >>> tables = [{"age": [61.0, 58.0], "sex": ["f", "m"]}, {"age": [40.0], "sex": ["m"]}, {"age": [], "sex": []}]
    >>> study = sv.Study(sv.Network.ring(3), tables, schema=schema)
    >>> round(study.mean("age").mean, 6), study.histogram("sex").counts.tolist()
    (53.0, [1, 2])
    """

    def __init__(
        self,
        network: Network,
        tables: Sequence[Any] | Mapping[Any, Any],
        *,
        schema: Schema | Mapping[str, Any],
        missing: Missing = "raise",
        empty_levels: EmptyLevels = "keep",
        digits: Digits = "full",
        policy: Policy | Mapping[Any, Policy] | None = None,
        **gone: Any,
    ) -> None:
        refuse_options(gone)
        self.schema = schema if isinstance(schema, Schema) else Schema(schema)
        check_rules(missing, empty_levels, digits)
        self.network, self.missing, self.empty_levels, self.digits = network, missing, empty_levels, digits
        given = one_per_party(network, tables, "tables")
        self._parties = whose(network, "party")
        self._policies = read_policies(network, policy)
        self._sources: list[Source] = [
            of_party(who, open_source, table) for who, table in zip(self._parties, given, strict=True)
        ]

    def mean(self, columns: str | Sequence[str]) -> PooledMean:
        """The mean of a column, or of each of several, as ``private_mean``; of a boolean the share that is true, of a
        date in days since 1970-01-01."""
        return cast(PooledMean, self._ask(MeanAnalysis, columns=columns))

    def variance(self, columns: str | Sequence[str], *, ddof: int = 1) -> PooledVariance:
        """The variance of a column, or of each of several, as ``private_variance``."""
        return cast(PooledVariance, self._ask(VarianceAnalysis, columns=columns, ddof=ddof))

    def covariance(self, columns: Sequence[str], *, ddof: int = 1) -> PooledCovariance:
        """The covariance of columns, as ``private_covariance``."""
        return cast(PooledCovariance, self._ask(CovarianceAnalysis, columns=columns, ddof=ddof))

    def histogram(self, column: str, bins: int | npt.ArrayLike | None = None) -> Histogram:
        """The counts of a column, as ``private_histogram``: of a category or a boolean those of its levels; else in
        ``bins``, which are edges, or so many, 10 unless told, over the range in the schema."""
        return cast(Histogram, self._ask(HistogramAnalysis, columns=column, bins=bins))

    def _ask(self, analysis: type[Analysis], **options: Any) -> Any:
        rules: dict[str, Any] = {"missing": self.missing, "empty_levels": self.empty_levels, "digits": self.digits}
        asked = ask_analysis(analysis, self.schema, **rules, **options)
        tables = [asked.table(source) for source in self._sources]
        for who, table in zip(self._parties, tables, strict=True):
            of_party(who, checked_table, asked, table, self.network.n)
        agreements = SimulatedAgreements(self.network)
        agreements.ledger = admitted(asked, tables, self._policies, self._parties)
        return run_on_tables(asked, agreements, tables)
