"""What ``sv.data.check`` found, in numbers and in words. It has counts, names and row numbers, and no cell of a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..files.html_table import html_table
from ..files.written import finite
from .problems import Problem
from .table import Gaps, Missing

SHOWN = 25  # names in a line
HERE = "this need not be so for all parties together"


@dataclass(frozen=True, eq=False, repr=False)
class Checked:
    """What would be used of a party's table, and what would stop the party. Nothing of it leaves the party.

    Attributes
    ----------
    source : str
        What was read.
    missing : {"raise", "drop"}
        What becomes of rows with missing values.
    read, used : int
        Rows of the table, and those that have what it takes in every column in use.
    dropped, bad : int
        The other rows: with a missing value, and with a cell that cannot be used (whatever is missing besides).
    gaps : dict
        By column in use, how often it is missing (``count``) and in which rows first (``first``).
    problems : tuple of Problem
        Cells that are not what the schema says, or of which the formula makes no number: ``column``, ``kind``,
        ``count``, and the first ``rows``, counted from 1 without the header.
    rounded : dict
        By column in use, how many numbers are no multiple of its unit, and are rounded to one.
    absent : tuple of str
        Columns in use that the table has not.
    unused, unknown : tuple of str
        For information: columns of the schema that are neither in the table nor in use, and columns of the table that
        the schema does not know.
    columns : tuple of str
        The columns of the design, or those that are asked for.
    constant, zero : tuple of str
        Which of them do not vary in the rows used, and which are zero there.
    rank : int, optional
        Of the party's own design; None without a formula, or where there is no design for lack of a column.
    condition_number : float, optional
        Of its columns brought to one length, centred if there is an intercept; infinite where they are dependent.
    dependent : dict
        By column of the design that is made of others here, which these are.
    rare : dict
        By category in use, its levels that fewer than five of the rows used have, with the number of rows.
    stopped : tuple of str
        What else would stop the party: a column that is not there, a table that cannot be read to its end, its policy.
    policy : str, optional
        What the policy of the party says, and its ledger; None without one.

    Examples
    --------
    >>> import sottovoce as sv
    >>> checked = sv.data.check({"age": [61, 158, None]}, schema={"age": {"type": "number", "range": (0, 120)}})
    >>> checked.ok, checked.read, checked.used
    (False, 3, 1)
    >>> for sentence in checked.refusals:
    ...     print(sentence)
    column 'age': out of range (from 0 to 120) in row 2
    values are missing, by column: 'age' 1 (row 3). Impute them, or use missing = "drop"
    """

    source: str
    missing: Missing
    read: int = 0
    used: int = 0
    dropped: int = 0
    bad: int = 0
    gaps: dict[str, Gaps] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    rounded: dict[str, int] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    constant: tuple[str, ...] = ()
    zero: tuple[str, ...] = ()
    rank: int | None = None
    condition_number: float | None = None
    dependent: dict[str, tuple[str, ...]] = field(default_factory=dict)
    rare: dict[str, dict[str, int]] = field(default_factory=dict)
    stopped: tuple[str, ...] = ()
    policy: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the party could start with this table."""
        return not self.refusals

    @property
    def refusals(self) -> list[str]:
        """What would stop the party, each in a sentence."""
        found = [*self.stopped]
        if len(self.absent) > 1:  # the first has a sentence of its own
            found.append(f"the table has no {_columns(self.absent)}, which are in use")
        found += [problem.told() for problem in self.problems]
        if self.missing == "raise" and (gaps := self._gaps()):
            found.append(f'values are missing, by column: {gaps}. Impute them, or use missing = "drop"')
        return found

    @property
    def remarks(self) -> list[str]:
        """What stops nobody, and may be a mistake."""
        found = []
        if not self.used and self.ok:
            found.append("no row is used: this party would bring nothing")
        if self.constant:
            found.append(f"{_columns(self.constant)} {_has(self.constant)} one value in all rows used; {HERE}")
        if self.zero:
            found.append(f"{_columns(self.zero)} {_is(self.zero)} 0 in all rows used; {HERE}")
        if self.rank is not None and 0 < self.used < len(self.columns):
            found.append(f"there are {self.used} rows for {len(self.columns)} columns of the design; {HERE}")
        else:
            made = {name: others for name, others in self.dependent.items() if name not in self.constant}
            found += [f"column {name!r} is made of {listed(others)}; {HERE}" for name, others in made.items()]
        if self.rounded:
            counts = ", ".join(f"{name!r} {count:,}" for name, count in list(self.rounded.items())[:SHOWN])
            more = _more(len(self.rounded))
            found.append(f"numbers that are no multiple of their column's unit, and are rounded to it: {counts}{more}")
        for name, levels in self.rare.items():
            counts = ", ".join(f"{level!r} {count}" for level, count in list(levels.items())[:SHOWN])
            found.append(f"levels of {name!r} that fewer than five rows have: {counts}{_more(len(levels))}")
        if self.unused:
            found.append(f"the schema has {_columns(self.unused)}, not in the table and not in use")
        if self.unknown:
            found.append(f"the table has {_columns(self.unknown)}, not in the schema and not read")
        return found

    def facts(self) -> list[tuple[str, str]]:
        """What is to be used, a name and words each."""
        found = [("table", self.source), ("rows read", f"{self.read:,}"), ("rows used", f"{self.used:,}")]
        if self.dropped:
            said = "dropped" if self.missing == "drop" else "rows with gaps"
            found.append((said, f"{self.dropped:,}, with missing values, by column: {self._gaps() or 'none'}"))
        if self.bad:
            found.append(("bad rows", f"{self.bad:,}, with cells that cannot be used"))
        found.append(("columns", listed(self.columns)))
        if self.rank is not None:
            found.append(("rank", f"{self.rank} of {len(self.columns)}, of this party's own design"))
        if self.condition_number is not None:
            found.append(("condition", f"{self.condition_number:.3g}"))
        if self.policy is not None:
            found.append(("policy", self.policy))
        return found

    def summary(self) -> str:
        """All of it, for people."""
        rows = [*self.facts(), *(("refused", text) for text in self.refusals)]
        rows += [("remark", text) for text in self.remarks]
        width = max(len(name) for name, _ in rows)
        return "\n".join([self.verdict, *(f"{name:{width}}  {text}" for name, text in rows)])

    @property
    def verdict(self) -> str:
        """In a line."""
        return "The party could start with this table." if self.ok else "The party cannot start with this table."

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the attributes, ``ok``, ``refusals`` and ``remarks``; None for what is infinite."""
        own = {name: _plain(value) for name, value in vars(self).items()}
        told: dict[str, Any] = finite({"ok": self.ok, **own, "refusals": self.refusals, "remarks": self.remarks})
        return told

    def _gaps(self) -> str:
        return ", ".join(f"{name!r} {gap.told()}" for name, gap in self.gaps.items() if gap.count)

    def _repr_html_(self) -> str:
        rows = [*self.facts(), *(("refused", text) for text in self.refusals)]
        return html_table([*rows, *(("remark", text) for text in self.remarks)], caption=self.verdict)

    def __repr__(self) -> str:
        return f"Checked({'ok' if self.ok else 'refused'}, {self.used} of {self.read} rows used)"


def listed(names: Sequence[str]) -> str:
    """Names for a line, not all of many."""
    return ", ".join(names[:SHOWN]) + _more(len(names))


def _more(count: int) -> str:
    return f" and {count - SHOWN} more" if count > SHOWN else ""


def _columns(names: Sequence[str]) -> str:
    return f"column{'s' if len(names) > 1 else ''} {listed([repr(name) for name in names])}"


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _has(names: Sequence[str]) -> str:
    return "has" if len(names) == 1 else "have"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    return {name: _plain(entry) for name, entry in vars(value).items()} if isinstance(value, Gaps | Problem) else value
