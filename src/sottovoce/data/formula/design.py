"""The columns of a model, as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, reduce
from itertools import product

import numpy as np

from ...errors import InvalidInput
from ..batch import Array
from ..schema import Schema
from .arithmetic import First, in_rows
from .coding import Part
from .exact_columns import has_rest, rest_of
from .factors import Coded, Computed, Factor, Named
from .measure import ONE, Largest, Measure, of_factor, plus, times
from .tokens import shown


class Design:
    """The columns that a formula has under a schema; ``Formula.design`` makes it.

    It is the same at every party, and computes its numbers row by row: of any batch, of none.

    Attributes
    ----------
    columns : tuple of str
        Their names, in order.
    response : tuple of str
        What the model is for: none, one, or a time and an event.
    needs : tuple of str
        The columns of the table that are read, in the order of the schema.
    terms : tuple of tuples of str
        By column, of which term of the formula it is: the factors that this is a product of, none for the intercept.

    Examples
    --------
    >>> import numpy as np
    >>> import sottovoce as sv
    >>> from sottovoce.data.schema import Schema
    >>> schema = Schema({"dose": "number", "sex": {"type": "category", "levels": ["f", "m"]}})
    >>> design = sv.Formula("~ dose:sex").design(schema)
    >>> design.columns
    ('Intercept', 'dose:sex[f]', 'dose:sex[m]')
    >>> design.matrix({"dose": np.array([2.0, 3.0]), "sex": np.array([0.0, 1.0])}).tolist()
    [[1.0, 2.0, 0.0], [1.0, 0.0, 3.0]]
    """

    def __init__(
        self,
        factors: Sequence[Coded],
        parts: Sequence[Part],
        responses: Sequence[Factor],
        offsets: Sequence[Computed],
        schema: Schema,
        of_terms: Sequence[tuple[str, ...]],
    ) -> None:
        self._factors, self._responses, self._offsets = tuple(factors), tuple(responses), tuple(offsets)
        self._products: list[tuple[tuple[int, int], ...]] = []  # each column by factors and which column of each
        names: list[str] = []
        terms: list[tuple[str, ...]] = []
        for part, term in zip(parts, of_terms, strict=True):
            choices = [[(k, *column) for column in factors[k].columns(reduced)] for k, reduced in part]
            for reverse in product(*reversed(choices)):  # the first factor changes fastest
                chosen = reverse[::-1]
                self._products.append(tuple((k, which) for k, which, _ in chosen))
                names.append(":".join(name for _, _, name in chosen) or "Intercept")
                terms.append(term)
        self.terms: tuple[tuple[str, ...], ...] = tuple(terms)
        self.columns: tuple[str, ...] = tuple(names)
        self.response: tuple[str, ...] = tuple(factor.label for factor in responses)
        used = sorted({k for part in parts for k, _ in part})
        read = {name for k in used for name in factors[k].factor.names}
        read |= {name for factor in (*responses, *offsets) for name in factor.names}
        self.needs: tuple[str, ...] = tuple(name for name in schema if name in read)
        self._used, self._schema = used, schema
        self._levels = {name: len(schema[name].levels) for name in self.needs if schema[name].levels}

    def __repr__(self) -> str:
        return f"Design({', '.join(self.columns)})"

    @property
    def has_offset(self) -> bool:
        """Whether the formula has ``offset()``."""
        return bool(self._offsets)

    def matrix(self, values: Mapping[str, Array], first: First = 0) -> Array:
        """The columns for some rows.

        Parameters
        ----------
        values : mapping of str to array
            By column of the table as in ``Batch``: ``(rows,)`` each, without missing values.
        first : int or array of int
            The number of the first row, or of each; for what is said of a row.

        Returns
        -------
        array
            ``(rows, len(columns))``.

        Raises
        ------
        InvalidInput
            For a column that is not there, a missing value, a number that is not finite (``log`` of 0), and one outside
            the range of a spline: by row, never by value.
        """
        checked, rows = self._checked(values, first)
        numbers = {k: self._factors[k].numbers(checked, first) for k in self._used}
        matrix = np.empty((rows, len(self.columns)), order="F")
        with np.errstate(over="ignore"):
            for place, factors in enumerate(self._products):
                matrix[:, place] = 1.0
                for k, which in factors:
                    matrix[:, place] *= self._factors[k].column(numbers[k], which)
        if not (finite := np.isfinite(matrix)).all():
            place = int(np.flatnonzero(~finite.all(axis=0))[0])
            raise in_rows(shown(self.columns[place]), "a product that is too large", ~finite[:, place], first)
        return matrix

    @cached_property
    def rounded(self) -> dict[int, Fraction]:
        """By place of a column that float64 rounds, though it is a polynomial of columns with units: its grid."""
        measures = enumerate(self.measures(self._schema, {}))
        return {place: measure.grid for place, measure in measures if has_rest(measure) and measure.grid}

    def rests(self, values: Mapping[str, Array], matrix: Array) -> Array:
        """What ``rounded`` columns of the matrix lack, ``(rows, len(rounded))``: whole numbers, see ``rest_of``."""
        rests = np.empty((len(matrix), len(self.rounded)))
        for j, (place, grid) in enumerate(self.rounded.items()):
            factors = [(self._factors[k], which) for k, which in self._products[place]]
            rests[:, j] = rest_of(matrix[:, place], grid, factors, values, self._schema)
        return rests

    def target(self, values: Mapping[str, Array], first: First = 0) -> Array:
        """The response for some rows, ``(rows, len(response))``; arguments and errors as of ``matrix``."""
        checked, rows = self._checked(values, first)
        target = np.empty((rows, len(self._responses)))
        for place, factor in enumerate(self._responses):
            if isinstance(factor, Named):
                target[:, place] = checked[factor.name]
            else:
                target[:, place] = factor.of.evaluate(checked, first)
        return target

    def offset(self, values: Mapping[str, Array], first: First = 0) -> Array:
        """The sum of the offsets for some rows, ``(rows,)``, 0 without any; arguments and errors as of ``matrix``."""
        checked, rows = self._checked(values, first)
        total = np.zeros(rows)
        for offset in self._offsets:
            total += offset.of.evaluate(checked, first)
        return total

    def measures(self, schema: Schema, largest: Largest) -> list[Measure]:
        """On which steps the columns lie, in order; ``largest`` has absolute values of columns without a range."""
        factors = {k: of_factor(self._factors[k].factor, schema, largest) for k in self._used}
        measures = []
        for product_of in self._products:
            numbers = [factors[k] for k, _ in product_of if not self._factors[k].is_category]  # the others are 0 or 1
            measures.append(reduce(times, numbers) if numbers else ONE)
        return measures

    def target_measures(self, schema: Schema, largest: Largest) -> list[Measure]:
        """The same of the response."""
        return [of_factor(factor, schema, largest) for factor in self._responses]

    def offset_measure(self, schema: Schema, largest: Largest) -> Measure:
        """The same of the sum of the offsets, of which there is one at least."""
        return reduce(plus, (of_factor(offset, schema, largest) for offset in self._offsets))

    def _checked(self, values: Mapping[str, Array], first: First) -> tuple[dict[str, Array], int]:
        """The columns that are read, whole, and the number of rows."""
        if absent := [name for name in self.needs if name not in values]:
            raise InvalidInput(f"the formula reads column {shown(absent[0])}, which is not among the values.")
        if not values:
            raise InvalidInput("without any column the number of rows is unknown: give one to a formula of none.")
        # one memory layout for all batches: a vectorised function may round otherwise along strides
        checked = {name: np.ascontiguousarray(values[name], dtype=np.float64) for name in self.needs}
        rows = _common_length(checked.values() if checked else values.values())
        for name, column in checked.items():
            if not (finite := np.isfinite(column)).all():
                raise in_rows(f"column {shown(name)}", "a missing value, or one that is not finite,", ~finite, first)
            levels = self._levels.get(name)
            if levels and (wrong := (column < 0) | (column >= levels) | (column != np.floor(column))).any():
                raise in_rows(f"column {shown(name)}", "what is no place of a level", wrong, first)
        return checked, rows


def _common_length(columns: Iterable[Array]) -> int:
    shapes = {np.shape(column) for column in columns}
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise InvalidInput(f"the values of all columns must be (rows,) alike; got shapes {sorted(shapes)}.")
    return int(next(iter(shapes))[0])
