"""The same rows, dealt out to parties in many ways: an exact sum has the same bits in all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import sottovoce as sv

Part = dict[str, Any]  # a table: by column its values


def dealt(table: Mapping[str, Any], ways: int, seed: int = 0, most: int = 12) -> Iterator[list[Part]]:
    """The rows of a table at 2 to ``most`` parties, at few more often than at many, in so many ways: first all of them
    at one party, then in runs of any length, then each row at a random party in a random order. Parties without rows
    are among them in every way."""
    columns = {name: np.asarray(values) for name, values in table.items()}
    rows, rng = len(next(iter(columns.values()))), np.random.default_rng(seed)
    for way in range(ways):
        parties = 2 if way == 0 else int(3 * (most / 3 + 0.01) ** (rng.random() ** 2))
        holds = np.flatnonzero(rng.random(parties) < 0.7)[: parties - 1]  # one at least has nothing
        holds = holds if way and len(holds) else np.array([0])
        order = np.arange(rows) if way % 2 == 0 else rng.permutation(rows)
        at = rng.choice(holds, rows)
        places = np.sort(at) if way % 2 == 0 else at
        yield [{name: values[order][places == i] for name, values in columns.items()} for i in range(parties)]


def assert_same_bits(
    table: Mapping[str, Any], schema: Any, ask: Callable[[sv.Study], Any], ways: int = 6, seed: int = 0
) -> None:
    """What ``ask`` asks of a study has the same public numbers, bit by bit, however the rows are dealt out."""
    answers = [_public(ask(_study(parts, schema))) for parts in dealt(table, ways, seed)]
    for answer in answers[1:]:
        assert answer == answers[0]


def _study(parts: Sequence[Part], schema: Any) -> sv.Study:
    return sv.Study(sv.Network.ring(len(parts)) if len(parts) > 2 else sv.Network.complete(2), parts, schema=schema)


def _public(answer: Any) -> dict[str, str]:
    """Every number in all its digits; ``repr`` of a float has them, and tells -0 from 0."""
    return {name: repr(value) for name, value in answer.to_dict().items() if name != "parties"}
