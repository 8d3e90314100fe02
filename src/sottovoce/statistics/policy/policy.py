"""``sv.Policy``: what a party lets be computed of its rows, checked by itself before anything is sent."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from ...data.cost_table import TYPES
from ...data.identities import Words, rows_in_use
from ...data.table import Table
from ...errors import InvalidInput, PolicyError, is_number
from ...files.toml_table import nearest, shown
from ...network import Network, names
from ...numerics.unquoted import kind_of
from ..of_tables import AnyTable, Asked
from .ledger import DEFAULT_LEAST, Ledger, Release

OwnRows = Callable[[bytes, str | None], Words]  # a word for every row in use, from a key and the column that names rows


@dataclass(frozen=True)
class Policy:
    """What a party lets be computed of its rows. Every rule is optional; a release that breaks one is refused before
    anything is sent, and others learn that the party refuses, not why.

    Parameters
    ----------
    min_rows : int, optional
        The analysis uses at least so many of the party's own rows, or none of them.
    min_cell : int, optional
        Each count of own rows that it shows summed up, such as that of a level, is at least so large, or zero.
    rows_per_parameter : float, optional
        There are at least so many own rows for each number that is estimated.
    columns : sequence of str, optional
        The columns of the table that may be used.
    analyses : sequence of str, optional
        The types that may be asked for, as in files: ``"mean"``, ``"least_squares"``.
    max_runs : int, optional
        How many different releases there may be in the ledger.
    ledger : str or Path, optional
        A file that has every release with the rows that it was computed on. One that, together with those before it,
        would tell of fewer than ``least`` rows is refused. It is made where it is not there, with mode 600.
    id : str, optional
        The column of the table that says who a row is of, for the ledger. Default: all columns of a row together.

    Raises
    ------
    InvalidInput
        A rule that cannot be one.

    Examples
    --------
    >>> import sottovoce as sv
    >>> tables = [{"age": [61.0, 58.0, 44.0]}, {"age": [40.0, 33.0]}, {"age": [70.0, 71.0, 72.0]}]
    >>> study = sv.Study(sv.Network.ring(3), tables, schema={"age": "number"}, policy=sv.Policy(min_rows=3))
    >>> study.mean("age")
    Traceback (most recent call last):
    sottovoce.errors.PolicyError: party 1: min_rows: the analysis uses 2 rows, and the policy asks for 3. ...
    """

    min_rows: int | None = None
    min_cell: int | None = None
    rows_per_parameter: float | None = None
    columns: tuple[str, ...] | None = None
    analyses: tuple[str, ...] | None = None
    max_runs: int | None = None
    ledger: Path | None = None
    id: str | None = None

    def __post_init__(self) -> None:
        for name in ("min_rows", "min_cell", "max_runs"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise InvalidInput(f"{name} must be an integer >= 1, or left out; got {shown(value)}.")
        per = self.rows_per_parameter
        if per is not None and not (is_number(per) and math.isfinite(per) and per > 0):
            raise InvalidInput(f"rows_per_parameter must be a positive number, or left out; got {shown(per)}.")
        for name in ("columns", "analyses"):
            object.__setattr__(self, name, _names(name, getattr(self, name)))
        if self.analyses:
            from ..analyses import ANALYSES

            known = [*ANALYSES, *TYPES]  # of statistics and costs
            for kind in self.analyses:
                if kind not in known:
                    raise InvalidInput(f"analyses has {kind!r}, which is none{nearest(kind, known)}")
        if self.ledger is not None:
            if not isinstance(self.ledger, str | Path) or not str(self.ledger):
                raise InvalidInput(f"ledger must be a file; got {shown(self.ledger)}.")
            object.__setattr__(self, "ledger", Path(self.ledger))
        for name in ("max_runs", "id"):
            if getattr(self, name) is not None and self.ledger is None:
                raise InvalidInput(f"{name} needs a ledger, which is a file. Add it.")
        if self.id is not None and (not isinstance(self.id, str) or not self.id):
            raise InvalidInput(f"id must be the name of a column; got {shown(self.id)}.")

    @property
    def least(self) -> int:
        """How many rows the ledger protects together: ``min_rows``, else ``min_cell``, else 3."""
        return self.min_rows or self.min_cell or DEFAULT_LEAST

    def check(self, release: Release) -> None:
        """Refuse what breaks a rule, with all that it breaks; the ledger is not asked."""
        if broken := self.broken(release):
            raise PolicyError(" ".join(broken))

    def broken(self, release: Release) -> list[str]:
        """A sentence for every rule that a release breaks, without those of the ledger."""
        found, n = [], release.rows
        rows = f"{n} row{'s' if n != 1 else ''}"
        if self.analyses is not None and release.type not in self.analyses:
            found.append(f"analyses: {release.type!r} is none of those that are allowed, {', '.join(self.analyses)}.")
        if self.columns is not None and (others := [name for name in release.columns if name not in self.columns]):
            found.append(f"columns: {', '.join(map(repr, others))} may not be used. Add to columns what may be.")
        if self.min_rows is not None and 0 < n < self.min_rows:
            found.append(
                f"min_rows: the analysis uses {rows}, and the policy asks for {self.min_rows}. Wait for more rows, or "
                "lower it."
            )
        wanted = math.ceil((self.rows_per_parameter or 0) * release.parameters)
        if 0 < n < wanted:
            found.append(
                f"rows_per_parameter: {release.parameters} numbers are estimated, for which the policy asks for "
                f"{wanted} rows; there are {n}. Ask for a smaller model, or lower it."
            )
        small = (release.cells > 0) & (release.cells < (self.min_cell or 0))
        if small.any():
            found.append(
                f"min_cell: {int(small.sum())} of {len(small)} counts are of fewer than {self.min_cell} rows, and not "
                "zero. Ask for coarser levels or bins, or lower it."
            )
        return found

    def foresee(self, release: Release, rows: OwnRows) -> str | None:
        """What would become of a release, without recording it: the verdict of the ledger, None without one."""
        self.check(release)
        if (book := self._book()) is None:
            return None
        return book.verdict(release, self._rows(rows, book.key(create=False)))

    def admit(self, release: Release, rows: OwnRows) -> str | None:
        """What ``foresee`` says of a release, which counts as released from now on: it is in the ledger, on the disk,
        when this returns."""
        self.check(release)
        if (book := self._book()) is None:
            return None
        return book.record(release, self._rows(rows, book.key(create=True)))

    def _rows(self, rows: OwnRows, key: bytes) -> Words:
        try:
            return rows(key, self.id)
        except InvalidInput as error:
            hint = "" if self.id else " An id, the column that says who a row is of, needs no other one."
            raise PolicyError(f"ledger: the rows cannot be told apart: {error}{hint}") from None

    def _book(self) -> Ledger | None:
        return None if self.ledger is None else Ledger(self.ledger, self.least, self.max_runs)


RULES = tuple(field.name for field in fields(Policy))


def _names(name: str, given: Any) -> tuple[str, ...] | None:
    if given is None:
        return None
    if not isinstance(given, list | tuple | set | frozenset) or not all(
        isinstance(each, str) and each for each in given
    ):
        raise InvalidInput(f'{name} must be a list of names such as ["age", "dose"]; got {shown(given)}.')
    return tuple(sorted(given)) if isinstance(given, set | frozenset) else tuple(given)


def read_policies(network: Network, given: Policy | Mapping[Any, Policy] | None) -> list[Policy | None]:
    """One for each party, or none: from one for all, or some by the names of parties."""
    found: list[Policy | None] = [given if isinstance(given, Policy) else None] * network.n
    if isinstance(given, Mapping):
        for name, policy in given.items():
            if not isinstance(policy, Policy):
                raise InvalidInput(f"policy must have an sv.Policy for {name!r}; got {kind_of(policy)}.")
            found[names.index(network, name)] = policy
    elif given is not None and not isinstance(given, Policy):
        raise InvalidInput(f"policy must be an sv.Policy, or one for each party by name; got {kind_of(given)}.")
    ledgers = [policy.ledger.absolute() for policy in found if policy is not None and policy.ledger is not None]
    if len(set(ledgers)) < len(ledgers):
        raise InvalidInput("policy: two parties have one ledger. Each keeps its own: give policies by party.")
    return found


def admitted(
    asked: Asked, tables: Sequence[AnyTable], policies: Sequence[Policy | None], parties: Sequence[str]
) -> str | None:
    """What the ledgers say of a release that all parties allow; None where there is no ledger. All are asked before
    anything is agreed on, and none records a release that another one refuses."""
    question = hashlib.blake2b(asked.to_json().encode(), digest_size=32).hexdigest()
    own = []
    for who, policy, table in zip(parties, policies, tables, strict=True):
        if policy:
            assert isinstance(table, Table)  # arrays have no policies
            own.append((who, policy, Release.of("study", question, asked, table), partial(rows_in_use, table)))
    for who, policy, release, rows in own:
        _said(who, policy.foresee, release, rows)
    told: dict[str, list[str]] = {}  # most ledgers say the same
    for who, policy, release, rows in own:
        if (text := _said(who, policy.admit, release, rows)) is not None:
            told.setdefault(text, []).append(who)
    return " ".join(f"{', '.join(whose)}: {text}" for text, whose in told.items()) or None


def _said(who: str, ask: Any, *arguments: Any) -> str | None:
    try:
        answer: str | None = ask(*arguments)
        return answer
    except PolicyError as error:
        raise PolicyError(f"{who}: {error}") from None
