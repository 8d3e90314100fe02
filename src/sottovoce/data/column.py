"""One column of a schema: its type, range, levels and missing codes, and what follows from them for a run."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields
from datetime import date
from fractions import Fraction
from typing import Any, Literal, get_args

from ..errors import InvalidInput, is_number
from ..files.toml_table import shown
from ..sums.integer_sums import WINDOW
from .decimal_unit import exactly, fifteen_digits, unit_in_toml, unit_of, unit_text
from .public_text import fault_of, fault_of_list, same_form

Type = Literal["number", "integer", "category", "boolean", "date"]
TYPES: tuple[str, ...] = get_args(Type)
# A boolean as text, in any case: false and true in turns.
TRUTHS = ("false", "true", "0", "1", "0.0", "1.0")
IN_CSV = (*TRUTHS, "no", "yes", "n", "y", "f", "t")  # where people write them
EPOCH = date(1970, 1, 1)  # dates are counted in days from here

MOST_LEVELS = 1_000
MOST_CODES = 50
WHOLE = 2.0**53 - 1  # the largest whole number that no other one becomes as a float64
ISO = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Names, those of units, levels and codes have at most 200 characters, none of which is a control character, and no
    blanks at their ends.

    Parameters
    ----------
    name : str
        As the table calls it.
    type : {"number", "integer", "category", "boolean", "date"}
        What its cells hold.
    unit : float, str or Fraction, optional
        Of a number, the smallest step of what was measured: a positive decimal such as ``0.1`` or ``"0.05"``, kept as a
        ``Fraction``. Its cells are rounded to whole multiples.
    unit_name : str
        What it is measured in, such as ``"years"``: for people.
    range : pair, optional
        The smallest and the largest value that is allowed: numbers, or dates, which may be written ``"2024-12-31"``.
    levels : sequence of str
        Of a category, in order; at most 1,000.
    reference : str, optional
        The level that the others are compared with. Default: the first.
    missing : sequence of str
        Cells that stand for a missing value, besides those that are empty; at most 50.

    Raises
    ------
    InvalidInput
        What is wrong, which value, what to do instead.

    Examples
    --------
    >>> Column("sex", "category", levels=("f", "m")).reference
    'f'
    >>> age = Column("age", "number", unit=0.1, unit_name="years", range=(0, 120))
    >>> age.grid
    Fraction(1, 10)
    """

    name: str
    type: Type
    unit: Any = None
    unit_name: str = ""
    range: tuple[Any, Any] | None = None
    levels: tuple[str, ...] = ()
    reference: str | None = None
    missing: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if wrong := fault_of(self.name) or ("" if self.name else "is empty."):
            raise InvalidInput(f"the name of a column {wrong}")
        if self.type not in TYPES:
            raise self._refused(f"type must be one of {', '.join(TYPES)}; got {shown(self.type)}.")
        if self.unit is not None:
            self._set(unit=self._checked_unit(self.unit))
        if wrong := fault_of(self.unit_name):
            raise self._refused(f"unit_name {wrong}")
        self._set(unit_name=same_form(self.unit_name))
        for key, most in (("levels", MOST_LEVELS), ("missing", MOST_CODES)):
            if wrong := fault_of_list(getattr(self, key), most):
                raise self._refused(f"{key} {wrong}")
            self._set(**{key: tuple(map(same_form, getattr(self, key)))})
        self._check_levels()
        if self.type == "boolean" and (truths := [code for code in self.missing if _truth(code)]):
            raise self._refused(f"missing has {truths[0]!r}, which is true or false. Leave it out.")
        if self.range is not None:
            self._set(range=self._checked_range(self.range))
        if self.unit is not None and self.limits is not None:
            self._check_size_of_unit(*map(exactly, self.limits))

    def _set(self, **values: Any) -> None:
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def _refused(self, why: str) -> InvalidInput:
        return InvalidInput(f"column {self.name!r}: {why}")

    def _check_levels(self) -> None:
        if self.type != "category":
            for key in ("levels", "reference"):
                if getattr(self, key):
                    raise self._refused(f"{key} has no meaning for a {self.type}: it is for a category. Leave it out.")
            self._set(reference=None)
            return
        if not self.levels:
            raise self._refused("levels must be there, one or more, in an order that all agree on.")
        reference = self.levels[0] if self.reference is None else self.reference
        if wrong := fault_of(reference):
            raise self._refused(f"reference {wrong}")
        self._set(reference=same_form(reference))
        if self.reference not in self.levels:
            raise self._refused(f"reference {self.reference!r} is none of its levels, {self.levels_told()}.")
        if both := [code for code in self.missing if code in self.levels]:
            raise self._refused(f"missing has {both[0]!r}, which is a level as well. Keep one.")

    def _checked_unit(self, given: Any) -> Fraction:
        unit = unit_of(given)
        if isinstance(unit, str):
            raise self._refused(f"unit {unit}")
        if self.type == "number":
            return unit
        steps = ' For larger steps make it a "number".' if self.type == "integer" else ""
        kind = "an integer" if self.type == "integer" else f"a {self.type}"
        raise self._refused(f"unit has no meaning for {kind}: it is for a number. Leave it out.{steps}")

    def _check_size_of_unit(self, low: Fraction, high: Fraction) -> None:
        largest = max(abs(low), abs(high))
        if self.unit > high - low:
            why = f"is larger than the range {self.range_told()} is wide"
        elif largest >= WINDOW * self.unit:
            why = f"is too fine for the range {self.range_told()}, whose ends must be less than 2^62 units"
        else:
            return
        raise self._refused(f"unit {unit_text(self.unit)} {why}. Take the step of what was measured.")

    def _checked_range(self, given: Any) -> tuple[Any, Any]:
        if self.type in ("category", "boolean"):
            raise self._refused(f"range has no meaning for a {self.type}. Leave it out.")
        dates = self.type == "date"
        ends = given if isinstance(given, list | tuple) and len(given) == 2 else [None]
        pair: list[Any] = [_day(end) if dates else _number(end) for end in ends]
        if None in pair or not pair[0] < pair[1]:
            kind, example = ("dates", "[2020-01-01, 2024-12-31]") if dates else ("numbers", "[0, 120]")
            raise self._refused(f"range must be two {kind} in order, such as {example}; got {shown(given)}.")
        if self.type == "integer" and not all(entry.is_integer() and abs(entry) <= WHOLE for entry in pair):
            raise self._refused(f"range must be two whole numbers, at most 2^53 - 1 in size; got {shown(given)}.")
        return pair[0], pair[1]

    # What follows

    @property
    def limits(self) -> tuple[float, float] | None:
        """The range as numbers; dates in days since 1970-01-01."""
        if self.range is None:
            return None
        low, high = self.range
        return (float((low - EPOCH).days), float((high - EPOCH).days)) if self.type == "date" else (low, high)

    @property
    def grid(self) -> Fraction | None:
        """The step on which its numbers lie: 1, and of a number its ``unit``. Without one, the power of ten that leaves
        15 digits to the largest absolute value of the range; None where there is no range either."""
        if self.type != "number":
            return Fraction(1)
        if self.unit is not None or self.limits is None:
            unit: Fraction | None = self.unit
            return unit
        return fifteen_digits(max(map(abs, self.limits)))

    # In words

    def to_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        ends = None if self.range is None else [end.isoformat() if isinstance(end, date) else end for end in self.range]
        unit = None if self.unit is None else unit_text(self.unit)
        return {**found, "unit": unit, "range": ends, "levels": list(self.levels), "missing": list(self.missing)}

    def given(self) -> list[tuple[str, Any]]:
        """The keys of its table in a file, with values, less those that have their default."""
        found: dict[str, Any] = {key: getattr(self, key) for key in KEYS}
        if self.unit is not None:
            found["unit"] = unit_in_toml(self.unit)
        if self.range is not None and self.type != "date":
            found["range"] = [int(end) if end.is_integer() and abs(end) <= WHOLE else end for end in self.range]
        if self.levels and self.reference == self.levels[0]:
            del found["reference"]
        return [(key, value) for key, value in found.items() if value]

    def levels_told(self) -> str:
        """For a sentence, not all of many."""
        more = f" and {len(self.levels) - 6} more" if len(self.levels) > 6 else ""
        return ", ".join(map(repr, self.levels[:6])) + more

    def range_told(self) -> str:
        """``from 0 to 120 years``; nothing without a range."""
        if self.range is None:
            return ""
        low, high = self.range if self.type == "date" else (f"{end:.6g}" for end in self.range)
        return f"from {low} to {high}" + (f" {self.unit_name}" if self.unit_name else "")

    def told(self) -> str:
        """``age: number from 0 to 120 years in steps of 0.1``."""
        steps = "" if self.unit is None else f"in steps of {unit_text(self.unit)}"
        return " ".join(filter(None, (f"{self.name}:", self.type, self.range_told(), steps, self.levels_told())))


KEYS = tuple(field.name for field in fields(Column) if field.name != "name")


def _truth(text: str) -> bool:
    """Whether a boolean may be written so."""
    try:
        return text.lower() in IN_CSV or float(text) in (0.0, 1.0)
    except ValueError:
        return False


def _number(end: Any) -> float | None:
    """A finite number; 0 and not -0, which would be written in another way."""
    try:
        value = float(end) if is_number(end) else math.nan
    except OverflowError:
        return None
    return value + 0.0 if math.isfinite(value) else None


def _day(end: Any) -> date | None:
    """A date, and no time of a day; or the text of one, as JSON has it."""
    if isinstance(end, str) and ISO.fullmatch(end):
        try:
            return date.fromisoformat(end)
        except ValueError:
            return None
    return end if type(end) is date else None
