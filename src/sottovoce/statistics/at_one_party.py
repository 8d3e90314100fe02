"""Statistics as parties agree on them beforehand, and the part of one party, or of all of them, in the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ..costs.base import Array, as_floats
from ..data.cost_table import read_scale as read_named_scale
from ..data.rows import ArrayRows, Rows
from ..errors import InvalidInput
from ..files.toml_table import Table, shown
from ..pdmm.masks import GaussianMask
from ..pdmm.modular_mask import ModularMask, check_size
from .agreements import DEFAULT_MASK, Agreements
from .analyses import ANALYSES
from .histogram import bin_counts, histogram_program, read_bins
from .least_squares import Model, check_ridge, least_squares_program
from .mean_and_covariance import check_ddof, covariance_program, mean_program, variance_program
from .shards import Sample, column_names, read_scale
from .statistic import Statistic, plain

OPTIONS: dict[str, tuple[str, ...]] = {  # what each statistic takes, besides its columns
    "mean": ("scale", "variance"),
    "variance": ("scale", "ddof", "variance"),
    "covariance": ("scale", "ddof", "variance"),
    "histogram": ("bins", "bits"),
    "least_squares": ("scale", "ridge", "intercept", "variance"),
}
MASK_KEYS = ("variance", "bits")
KEYS = ("type", "columns", "features", "target", *dict.fromkeys(sum(OPTIONS.values(), ())))

# In units of scale: of smaller numbers no sum, square, or square of a residual overflows, at any number of rows.
LARGEST = 1e30


@dataclass(frozen=True)
class Spec:
    """A statistic as the parties agree on it: public, the same everywhere, and checked when it is made.

    ``scale`` has a number per column, ``variance`` is that of the ``GaussianMask`` for real numbers, and ``bits`` are
    those of the ``ModularMask`` for the counts of a histogram. The rest is as in the functions ``private_...``.
    """

    type: str
    columns: tuple[str, ...]  # of a party's rows; the target of a regression comes last
    scale: float | Sequence[float] = 1.0
    ddof: int = 1
    ridge: float = 0.0
    intercept: bool = True
    bins: Sequence[float] = ()
    variance: float = DEFAULT_MASK.variance
    bits: int = ModularMask().bits

    def __post_init__(self) -> None:
        if self.type not in OPTIONS:
            raise InvalidInput(f"type must be one of {', '.join(OPTIONS)}; got {self.type!r}.")
        object.__setattr__(self, "columns", self._read_columns())
        for field in fields(self)[2:]:
            value = getattr(self, field.name)
            if field.name in OPTIONS[self.type]:
                object.__setattr__(self, field.name, self._read(field.name, value))
            elif not np.array_equal(value, getattr(type(self), field.name)):  # the default
                raise InvalidInput(f"{field.name} has no meaning for type {self.type!r}; got {value!r}. Leave it out.")

    def _read_columns(self) -> tuple[str, ...]:
        columns = tuple(self.columns) if isinstance(self.columns, tuple | list) else ()
        if not columns or not all(isinstance(name, str) for name in columns) or len(set(columns)) < len(columns):
            raise InvalidInput(f"columns must be one or more different names; got {self.columns!r}.")
        if self.type == "histogram" and len(columns) > 1:
            raise InvalidInput(f"columns must name one variable for a histogram; got {columns}. Run one for each.")
        if self.type == "least_squares":
            if len(columns) == 1:
                raise InvalidInput(f"columns must name features, and last the target; got {columns[0]!r} only.")
            reserved = "intercept" if self.intercept else None
            column_names(None, columns[:-1], len(columns) - 1, of="A", reserved=reserved)
        return columns

    def _read(self, name: str, value: Any) -> Any:
        """The value in its one form, so that equal specifications are equal in JSON too."""
        match name:
            case "scale":
                return tuple(read_scale(value, self.columns, "column").tolist())
            case "bins":
                return tuple(read_bins(value).tolist())
            case "ddof":
                check_ddof(value)
                return int(value)
            case "ridge":
                check_ridge(value)
                return float(value)
            case "intercept":
                if not isinstance(value, bool):
                    raise InvalidInput(f"intercept must be true or false; got {value!r}.")
                return value
            case "variance":
                return GaussianMask(value).variance
            case _:
                return ModularMask(value).bits

    @classmethod
    def from_table(cls, table: Table) -> Spec:
        """The table ``[statistic]`` of a party's file; its data are not in it (see ``files.data.read_own_rows``)."""
        table.refuse_unknown(KEYS)
        kind = table.choice("type", OPTIONS)
        naming = "features" if kind == "least_squares" else "columns"
        columns = table.strings(naming)
        if naming == "features":
            target = table.string("target")
            if target in columns:
                raise table.refuse("features", f"contains the target {target!r}.")
            columns = [*columns, target]
        options = {key: table.get(key) for key in OPTIONS[kind] if key in table}
        if "scale" in options:
            options["scale"] = read_named_scale(table, columns, "column")
        table.finish(f'type = "{kind}"')
        return table.call(cls, kind, tuple(columns), **options, at=naming)

    @property
    def revealed(self) -> list[str]:
        """What the sums are of that every honest component discloses, by the names of the columns."""
        names = ", ".join(self.columns)
        of = {
            "mean": ["values"],
            "variance": ["values", "squares about the mean"],
            "covariance": ["values", "products, pair by pair, about the mean"],
            "least_squares": ["values"] * self.intercept
            + ["products, pair by pair," + " about the mean" * self.intercept],
        }
        if self.type == "histogram":
            return [f"the rows in each of {len(self.bins) - 1} bins of {names}, below and above them"]
        squares = ["squared residuals"] if self.type == "least_squares" else []
        return ["the number of rows", *(f"{what} of {names}" for what in of[self.type]), *squares]

    # What a plan asks of a statistic, and of every ``Analysis``

    @property
    def counts_only(self) -> bool:
        """Whether all that it shows are integers, under modular pads."""
        return self.type == "histogram"

    @property
    def stages(self) -> int:
        """How many agreements it takes."""
        of = {"histogram": 1, "mean": 2, "variance": 3, "covariance": 3, "least_squares": 3 + self.intercept}
        return of[self.type]

    @property
    def counts(self) -> int:
        """How many integers of a party hide behind modular pads."""
        return len(self.bins) + 1 if self.counts_only else 1

    @property
    def numbers(self) -> int:
        """How many real numbers of a party hide behind Gaussian pads, over all agreements."""
        d = len(self.columns)
        products = d * (d + 1) // 2
        means = d if self.intercept else 0
        of = {"mean": d, "variance": 2 * d, "covariance": d + products, "least_squares": means + products + 1}
        return of.get(self.type, 0)

    @property
    def squares(self) -> bool:
        """Whether squares and products travel."""
        return self.type in ("variance", "covariance", "least_squares")

    @property
    def values(self) -> int:
        """How many of those numbers are sums of values; the others are of squares and products."""
        if not self.squares:
            return self.numbers
        return len(self.columns) if self.intercept else 0

    def spread(self, prior: float) -> float:
        """The variance of those numbers, their mean, if a value in units of ``scale`` has the variance ``prior``.

        A party's sums, times n/N, vary no more than a single row would: what travels of a value is ``prior``, of a
        square or product of two values about their means ``2 prior^2``, as of Gaussian ones that depend on each other.
        What the procedure adds is concave in the variance (``privacy.total``): at their mean it is no less than the
        sum over numbers of different variances.
        """
        return (self.values * prior + (self.numbers - self.values) * 2 * prior**2) / max(1, self.numbers)

    def to_dict(self) -> dict[str, Any]:
        """For JSON, in the keys of ``from_table``, with every default written out."""
        options = {name: plain(getattr(self, name)) for name in OPTIONS[self.type]}
        if "scale" in options:
            options["scale"] = dict(zip(self.columns, options["scale"], strict=True))
        if self.type == "least_squares":
            return {"type": self.type, "features": list(self.columns[:-1]), "target": self.columns[-1], **options}
        return {"type": self.type, "columns": list(self.columns), **options}


def read_spec(table: Table, mask: GaussianMask | ModularMask | None) -> Spec:
    """The table ``[statistic]`` of a plan, or of a problem file without its data; without a mask that of the library's
    statistics."""
    for key in MASK_KEYS:
        if key in table:
            raise table.refuse(key, f"belongs to the mask: write mask = {{ {key} = {shown(table.values[key])} }}.")
    values = table.values | mask_options(table, mask)
    return Spec.from_table(Table(table.file, table.name, values))


def mask_options(table: Table, mask: GaussianMask | ModularMask | None) -> dict[str, Any]:
    """What a mask has to say in the table of a statistic: ``variance`` for real numbers, ``bits`` for counts."""
    if mask is None:
        return {}
    kind = table.values.get("type")
    counts = kind == "histogram" or (kind in ANALYSES and ANALYSES[kind].counts_only)
    if counts is not isinstance(mask, ModularMask):
        wanted = "bits, as it counts integers" if counts else "a variance; bits are for the counts of a histogram"
        raise table.refuse(None, f"needs a mask with {wanted}.")
    return {"bits": mask.bits} if isinstance(mask, ModularMask) else {"variance": mask.variance}


def run(spec: Spec, agreements: Agreements, shard: npt.ArrayLike | Rows) -> Statistic:
    """One party's part in a statistic, from its rows ``(n_i, d)`` to the answer that it holds.

    Answers have an entry per column, also where there is only one. A party may have no rows.
    """
    return run_local(spec, agreements, [shard])


def run_local(spec: Spec, agreements: Agreements, shards: Sequence[npt.ArrayLike | Rows]) -> Statistic:
    """The same for all local parties: one in a network, all of them in a simulation."""
    return play(spec, agreements, [_checked(spec, shard, agreements.parties) for shard in shards])


def play(
    spec: Spec,
    agreements: Agreements,
    rows: Sequence[Rows],
    shape: tuple[int, ...] | None = None,
    levels: tuple[str, ...] = (),
) -> Statistic:
    """The same for rows that are checked. ``shape`` of a mean or a variance: an entry per column, or ``()`` for a
    number; ``levels`` that a histogram counts."""
    if spec.type == "histogram":
        edges, mask = np.array(spec.bins), ModularMask(spec.bits)
        return histogram_program(agreements, rows, edges, mask, spec.columns[0], levels)
    sample = Sample(rows, np.array(spec.scale), GaussianMask(spec.variance), spec.columns)
    shape = (len(spec.columns),) if shape is None else shape
    if spec.type == "mean":
        return mean_program(agreements, sample, shape)
    if spec.type == "variance":
        return variance_program(agreements, sample, shape, spec.ddof)
    if spec.type == "covariance":
        return covariance_program(agreements, sample, spec.ddof)
    model = Model(spec.columns[:-1], spec.ridge, spec.intercept, spec.columns[-1])
    return least_squares_program(agreements, sample, model)


def checked_rows(spec: Spec, shard: npt.ArrayLike, parties: int) -> Array:
    """A party's rows, refused now where they could only be refused later, when others would see that it stops."""
    rows = as_floats(shard, "the rows")
    if rows.ndim != 2 or rows.shape[1] != len(spec.columns):
        raise InvalidInput(f"the rows must be (n_i, {len(spec.columns)}), a number per column; got {rows.shape}.")
    if not np.isfinite(rows).all():
        raise InvalidInput("the rows have NaN or inf. Remove or impute the missing values first.")
    check_rows(spec, ArrayRows(rows), parties)
    return rows


def check_rows(spec: Spec, rows: Rows, parties: int) -> None:
    """Refuse rows whose sums would overflow."""
    if spec.type == "histogram":
        check_size(bin_counts(rows, np.array(spec.bins)), ModularMask(spec.bits), parties)
    elif (rows.largest() / np.array(spec.scale)).max(initial=0.0) > LARGEST:
        raise InvalidInput(f"the rows have numbers beyond {LARGEST:g} in units of scale. Give a larger scale.")


def _checked(spec: Spec, shard: npt.ArrayLike | Rows, parties: int) -> Rows:
    if not isinstance(shard, Rows):
        return ArrayRows(checked_rows(spec, shard, parties))
    check_rows(spec, shard, parties)
    return shard
