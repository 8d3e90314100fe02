"""The policies of all parties of a ``Study``: all are asked before anything is agreed on, and none records a release
that another one refuses."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ...data.identities import rows_in_use
from ...data.table import Table
from ...errors import InvalidInput, PolicyError
from ...network import Network, names
from ...numerics.unquoted import kind_of
from ..of_tables import AnyTable, Asked
from .policy import OwnRows, Policy
from .release import Release


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
    """What the ledgers say of a release that all parties allow; None where there is no ledger.

    Raises
    ------
    PolicyError
        A party refuses: which, and by what rule.
    """
    own = [
        (who, policy, *_of(asked, table))
        for who, policy, table in zip(parties, policies, tables, strict=True)
        if policy
    ]
    for who, policy, release, rows in own:
        _said(who, policy.foresee, release, rows)
    told: dict[str, list[str]] = {}  # most ledgers say the same
    for who, policy, release, rows in own:
        if (text := _said(who, policy.admit, release, rows)) is not None:
            told.setdefault(text, []).append(who)
    return " ".join(f"{', '.join(whose)}: {text}" for text, whose in told.items()) or None


def _of(asked: Asked, table: AnyTable) -> tuple[Release, OwnRows]:
    question = hashlib.blake2b(asked.to_json().encode(), digest_size=32).hexdigest()
    assert isinstance(table, Table)  # arrays have no policies
    release = Release.of("study", question, asked, table)
    return release, partial(rows_in_use, table)


def _said(who: str, ask: Any, *arguments: Any) -> str | None:
    try:
        answer: str | None = ask(*arguments)
        return answer
    except PolicyError as error:
        raise PolicyError(f"{who}: {error}") from None
