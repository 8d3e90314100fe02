"""What the parties found, side by side, and beside it the answer of all rows in one place, where they lie here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ...errors import SottovoceError
from ...runtime.plan.node_file import NodeConfig
from ...statistics.agreements import PooledAgreements
from ...statistics.of_tables import run_on_tables
from ..words import listed

SHOWN = 60  # numbers of an answer
BESIDE = 12  # parties beside each other
LARGEST = 2**25  # bytes of data that are pooled for a comparison
SKIPPED = ("edges", "ddof", "gram", "tested_df", "sum_sq")  # settings, and steps on the way
WORDS = {
    "params": "coefficient",
    "bse": "standard error",
    "zvalues": "z value",
    "pvalues": "p-value",
    "counts": "count",
}
UNITS = "In the units of the data."
APART = "The largest distance between the answers of any two parties, in the units of the data."
POOLED = "of all rows in one place, which only a trial can compute"
POOLED_TIP = f"O{POOLED[1:]}. {UNITS}"
DIFFERENCE = "From the pooled answer, the largest of any party, in the units of the data."

Cell = str | tuple[str, str]


@dataclass(frozen=True)
class Answer:
    """A table, and what is to be said of it."""

    header: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Pooled:
    """The numbers of the pooled answer by what they are called in a result file, or why there are none."""

    numbers: Mapping[str, float] | None
    why: str = ""


def pooled_answer(configs: Mapping[str, NodeConfig], covers: Sequence[str]) -> Pooled:
    """Of the parties whose rows are in the answer. Only what can be computed without guessing is."""
    if not set(covers) <= set(configs):
        return Pooled(None, "Not all of the data lie on this machine, so there is no pooled answer to compare with.")
    question = configs[covers[0]].question
    own, asked = [configs[name] for name in covers], question.asked
    if asked is None:
        return Pooled(None, "There is no pooled answer to compare with: that is for statistics.")
    try:
        if sum(of.data.stat().st_size for of in own if of.data is not None) > LARGEST:
            return Pooled(None, "The data are too large to be pooled here for a comparison.")
        tables = [of.table.table for of in own if of.table is not None]
        answer = run_on_tables(asked, PooledAgreements(len(own)), tables)
    except (SottovoceError, OSError, ValueError):
        return Pooled(None, "The data cannot be read here, so there is no pooled answer to compare with.")
    return Pooled(dict(numbers(answer.to_dict())))


def numbers(answer: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Every number of an answer, with a name for people."""
    lists = [answer.get(key) for key in ("terms", "names", "levels")]
    edges = answer.get("edges")
    if isinstance(edges, list) and all(isinstance(edge, int | float) for edge in edges):
        lists.append([f"{low:g} to {high:g}" for low, high in pairwise(edges)])
    named = [list(map(str, of)) for of in lists if isinstance(of, list)]
    for key, value in answer.items():
        if key not in SKIPPED:
            yield from _named(WORDS.get(key, key.replace("_", " ")), value, named)


def _named(called: str, value: Any, lists: list[list[str]]) -> Iterator[tuple[str, float]]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield called, float(value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _named(f"{called} {key}", inner, lists)
    elif isinstance(value, list):
        names = next((of for of in lists if len(of) == len(value)), [str(k + 1) for k in range(len(value))])
        for name, inner in zip(names, value, strict=True):
            yield from _named(f"{called}, {name}" if " of " in called else f"{called} of {name}", inner, lists)


def answer_of(results: Mapping[str, Mapping[str, Any]], parties: int, exact: Pooled) -> Answer:
    """The table of these result files."""
    own = {name: dict(numbers(result["answer"])) for name, result in results.items()}
    held = next(iter(own.values()))
    shared = [called for called in held if all(called in others for others in own.values())]
    if exact.numbers is None:
        answer = _side_by_side(own, shared, exact.why)
    else:
        answer = _beside_the_pooled(own, [called for called in shared if called in exact.numbers], exact.numbers)
    more = [] if len(answer.rows) <= SHOWN else [f"At most {SHOWN} numbers are shown; the result files have all."]
    sentences = (_who(results, parties), *answer.sentences, *more, *_noise(results))
    return Answer(answer.header, answer.rows[:SHOWN], sentences)


def _beside_the_pooled(
    own: Mapping[str, Mapping[str, float]], shown: Sequence[str], exact: Mapping[str, float]
) -> Answer:
    first, held = next(iter(own.items()))
    far = {called: max(abs(of[called] - exact[called]) for of in own.values()) for called in shown}
    rows = [(called, _number(held[called]), _number(exact[called]), _small(far[called])) for called in shown]
    share = max((far[called] / (abs(exact[called]) or 1.0) for called in shown), default=0.0)
    said = f"No number of any party is further than {_small(share)} (relative) from the pooled answer ({POOLED})."
    header = (
        "",
        (f"{first}'s", UNITS),
        ("pooled", POOLED_TIP),
        ("difference", DIFFERENCE),
    )
    return Answer(header, tuple(rows), (said,))


def _side_by_side(own: Mapping[str, Mapping[str, float]], shown: Sequence[str], why: str) -> Answer:
    beside = list(own)[:BESIDE]
    held = {called: [of[called] for of in own.values()] for called in shown}
    apart = {called: max(values) - min(values) for called, values in held.items()}
    rows = [(called, *(_number(own[name][called]) for name in beside), _small(apart[called])) for called in shown]
    said = f"No two parties are further apart than {_small(max(apart.values(), default=0.0))}."
    header: list[Cell] = ["", *((f"{name}'s", UNITS) for name in beside), ("apart", APART)]
    return Answer(tuple(header), tuple(rows), (why, said))


def _who(results: Mapping[str, Mapping[str, Any]], parties: int) -> str:
    entries = [entry for of in results.values() for entry in of.get("left") or () if isinstance(entry, dict)]
    left = sorted({str(entry.get("party")) for entry in entries})
    gone = f" {listed(left)} has left for good." if left else ""
    if len(results) == parties:
        return f"All {parties} parties have their answers.{gone}"
    return f"{len(results)} of {parties} parties have their answers.{gone}"


def _noise(results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    noise = next(iter(results.values())).get("noise")
    if not isinstance(noise, dict):
        return []
    off = ", ".join(dict.fromkeys(f"{value:.3g}" for value in noise.get("standard_deviation", ())))
    return [f"Every party has added noise to its numbers: the answer is off by {off}, one standard deviation."]


def _number(value: float) -> str:
    return f"{value:.9g}"


def _small(value: float) -> str:
    return "0" if value == 0 else f"{value:.0e}"
