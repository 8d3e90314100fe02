"""Random nasty cases of every analysis, against outside oracles: fractions, statsmodels, SciPy, lifelines, scikit-learn
and formulaic.

    python tests/differential.py 2000                       # so many cases, of all kinds in turn, from seed 0
    python tests/differential.py 100 --only cox --seed 7    # seeds 7 to 106 of one kind
    python tests/differential.py 1 --only cox --seed 42     # one case alone

A case is made of its kind and seed, whatever was played before it. One that differs prints a line; the table in the end
has for each kind the cases, how many were compared, the worst relative error, and how many were refused rightly. The
status is 1 if any is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from random_cases.case import Case
from random_cases.kinds import KINDS

from sottovoce.statistics.analyses import ANALYSES

assert KINDS.keys() == ANALYSES.keys(), f"without cases, or of no analysis: {KINDS.keys() ^ ANALYSES.keys()}"
EVERY = 5.0  # seconds, in which progress is told


def played(kind: str, seed: int) -> Case:
    """The case of a kind and a seed, compared."""
    case = Case(kind, seed)
    KINDS[kind](case)
    if not case.compared and case.refused is None and not case.wrong:
        case.wrong.append("nothing was compared")
    return case


@dataclass
class Tally:
    """What came of the cases of one kind."""

    cases: int = 0
    compared: int = 0
    worst: float = 0.0
    worst_seed: int | None = None
    wrong: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    def add(self, case: Case) -> None:
        """One more."""
        self.cases += 1
        self.wrong += bool(case.wrong)
        if case.refused is not None:
            self.refused[case.refused] += 1
        elif not case.wrong:
            self.compared += 1
            if case.worst > self.worst:
                self.worst, self.worst_seed = case.worst, case.seed

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "refused": dict(self.refused)}


def drawn(count: int, first: int, only: str | None) -> Iterator[tuple[str, int]]:
    """Kinds in turn, and the seed of each case."""
    kinds = list(KINDS) if only is None else [only]
    for k in range(count):
        yield kinds[k % len(kinds)], first + k // len(kinds)


def play(cases: Sequence[tuple[str, int]]) -> dict[str, Tally]:
    """All of them, with a line for each that is wrong and progress beside it."""
    tallies: dict[str, Tally] = {}
    last = time.monotonic()
    for done, (kind, seed) in enumerate(cases):
        case = played(kind, seed)
        tallies.setdefault(kind, Tally()).add(case)
        if case.wrong:
            print(f"{kind} {seed} {'; '.join(case.wrong)}", flush=True)
            print(f"    python tests/differential.py 1 --only {kind} --seed {seed}", flush=True)
        if time.monotonic() - last > EVERY:
            last = time.monotonic()
            print(f"{done + 1} of {len(cases)}, {sum(t.wrong for t in tallies.values())} wrong", file=sys.stderr)
    return tallies


def table(tallies: dict[str, Tally]) -> str:
    """By kind, and the sentences of refusals below."""
    width = max(map(len, tallies))
    lines = [f"{'kind':{width}}  {'cases':>6}  {'compared':>8}  {'worst error':>11}  {'refused':>7}  {'wrong':>5}"]
    for kind, own in tallies.items():
        refused = sum(own.refused.values())
        lines.append(
            f"{kind:{width}}  {own.cases:>6}  {own.compared:>8}  {own.worst:>11.1e}  {refused:>7}  {own.wrong:>5}"
        )
    for kind, own in tallies.items():
        beginnings = Counter({sentence[:100]: 0 for sentence in own.refused})
        for sentence, count in own.refused.items():
            beginnings[sentence[:100]] += count
        lines += [f"{kind}: refused {count}: {sentence}" for sentence, count in beginnings.most_common(3)]
    return "\n".join(lines)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n\n")[0])
    parser.add_argument("count", type=int, help="how many cases")
    parser.add_argument("--seed", type=int, default=0, help="of the first case of each kind")
    parser.add_argument("--only", choices=sorted(KINDS), help="cases of one kind")
    parser.add_argument("--json", action="store_true", help="the table as JSON")
    asked = parser.parse_args()
    if asked.count < 1 or asked.seed < 0:
        parser.error("count must be at least 1, and seed at least 0.")
    tallies = play(list(drawn(asked.count, asked.seed, asked.only)))
    told = {kind: own.to_dict() for kind, own in tallies.items()}
    print(json.dumps(told, indent=1) if asked.json else table(tallies))
    return int(any(own.wrong for own in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
