"""Comparisons of methods on the network of a scene: what is asked for, one method at a time, and what came out as rows
and sentences. Every number is that of ``sv.compare``."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from ..baselines.compare import adversary_of, compare
from ..baselines.comparison import EXACT, Comparison, Row, error_words, nats_words, short
from ..baselines.every import every_method
from ..errors import InvalidInput
from ..network import Network
from ..privacy.adversary import honest_components
from ..privacy.methods.secrets_and_prior import prior_of as audit_prior
from .checks import whole, within
from .layout import Cell
from .scene import Scene
from .words import listed, narrows, nats

PARTIES = 60  # on a ring of so many all methods take a minute, on denser graphs some ten seconds
MANY = 30  # parties beyond which the slow ones wait until they are asked for
SLOW = ("DIGing", "local noise, Laplace", "Paillier consensus")
DRAWS = (2, 100)
OWN = "subspace perturbation"
CUT = "the honest graph is cut"  # as the methods have it that are broken there, and what is so where it is
SUMS = {
    "sums of its parts are disclosed": "the sums of its parts are learned",
    "then the noise of its parts alone is left": "the noise of its parts alone is left",
}
FAMILIES: dict[str, list[str]] = {}
for _method in every_method():
    FAMILIES.setdefault(_method.family, []).append(_method.label)
METHODS = tuple(label for labels in FAMILIES.values() for label in labels)


@dataclass(frozen=True)
class Asked:
    """Which methods, on how many draws, at how many nats; None lets the library choose these."""

    methods: tuple[str, ...]
    draws: int = 10
    nats: float | None = None

    def __post_init__(self) -> None:
        if not set(self.methods) <= set(METHODS):
            raise InvalidInput("a method that is asked for is not known here; load the page again.")
        whole(self.draws, *DRAWS, "the number of draws")
        if self.nats is not None:
            within(self.nats, 1e-6, 10, "the leakage to compare at, in nats,")

    def query(self, scene: Scene) -> dict[str, str]:
        """What differs from the first time, for an address."""
        plain, found = first_asked(scene), {}
        if self.methods != plain.methods:
            found["methods"] = ".".join(slug(method) for method in self.methods)
        if self.draws != plain.draws:
            found["draws"] = str(self.draws)
        if self.nats is not None:
            found["nats"] = f"{self.nats:.10g}"
        return found


def slug(method: str) -> str:
    """A name as an address has it."""
    return "-".join("".join(ch if ch.isalnum() else " " for ch in method.lower()).split())


def first_asked(scene: Scene) -> Asked:
    """All methods; where there are many parties, those that take seconds."""
    return Asked(tuple(method for method in METHODS if scene.n <= MANY or method not in SLOW))


def from_query(given: Mapping[str, str], scene: Scene) -> Asked:
    """From an address; ``InvalidInput`` for what means nothing."""
    asked = first_asked(scene)
    if "methods" in given:
        slugs = given["methods"].split(".") if given["methods"] else []
        known = {slug(method): method for method in METHODS}
        for name in slugs:
            if name not in known:
                raise InvalidInput(f"no method is called {name!r:.40} in an address.")
        asked = replace(asked, methods=tuple(method for method in METHODS if slug(method) in slugs))
    try:
        draws = int(given.get("draws", asked.draws))
        at = float(given["nats"]) if "nats" in given else None
    except ValueError:
        raise InvalidInput("draws and nats in the address must be numbers.") from None
    return replace(asked, draws=draws, nats=at)


def prior_of(scene: Scene) -> float:
    """The variance of a number that attackers count on: as given, or taken from the numbers as an audit does."""
    return float(np.asarray(audit_prior(scene.problem, scene.prior).value))


def taken(scene: Scene) -> str:
    """Whom a comparison takes to be corrupt where nobody is marked; else nothing."""
    if scene.corrupt:
        return ""
    corrupt = adversary_of(scene.network, None)[0].on(scene.network).corrupt
    return f"Nobody is marked: {listed([scene.names[i] for i in sorted(corrupt)])} is taken to be corrupt"


def terms(scene: Scene) -> str:
    """The network, who is corrupt in it, and what they know beforehand."""
    corrupt = f". {taken(scene)}" if not scene.corrupt else f"; corrupt: {listed(scene.corrupt_names)}"
    size = f"{math.sqrt(prior_of(scene)):.3g}"
    return f"{scene.n} parties, {scene.network.m} edges{corrupt}. They expect numbers of size {size}, around 0."


def against(scene: Scene, found: Comparison) -> str:
    """Who learns what is told."""
    if scene.corrupt:
        return f"Corrupt, with taps, and keeping every message: {listed(found.settings['corrupt'])}."
    return f"{taken(scene)}, with taps, and to keep every message."


def compared(scene: Scene, method: str, asked: Asked) -> Comparison:
    """One method. They do not know of each other, so that one after the other gives what all at once would."""
    if scene.n > PARTIES:
        raise InvalidInput(
            f"methods are compared here among at most {PARTIES} parties; the playground has {scene.n}. On the command "
            "line there is no limit: sottovoce compare."
        )
    return compare(
        scene.network, methods=[method], corrupt=scene.corrupt_names or None, prior=prior_of(scene), nats=asked.nats,
        draws=asked.draws, sizes=(), seed=scene.seed, progress=False,
    )  # fmt: skip


def together(parts: Sequence[Comparison]) -> Comparison:
    """Comparisons of one method each as one."""
    first = parts[0]
    settings = {**first.settings, "methods": [method for part in parts for method in part.settings["methods"]]}
    return replace(
        first,
        rows=tuple(row for part in parts for row in part.rows),
        curves={name: curve for part in parts for name, curve in part.curves.items()},
        settings=settings,
    )


# What is told

HEADER: list[Cell] = [
    "method",
    ("error", "The mean of (x − exact)² over parties and draws, in squares of the numbers' unit; exact where it is "
              "rounding. Everybody gets an answer that is so far off."),
    ("leakage (nats)", "What the worst honest party gives away to the corrupt ones, who keep every message they see. ! "
                       "where that is more than was asked for."),
    ("interval narrower", "How much narrower the interval becomes in which the corrupt parties find that number."),
    ("messages", "From one party to another, all together, in one agreement."),
    ("bytes", "Of numbers, shares, keys and ciphertexts, all parties together, without framing."),
    ("rounds", "How often everybody waits for others."),
    ("broken where", "Who must collude to learn more than this."),
]  # fmt: skip


def table_rows(found: Comparison) -> list[list[Cell]]:
    """A row a method, as people read it."""
    rows: list[list[Cell]] = []
    for row in found.rows:
        error = error_words(row.error, row.stderr, found.settings["prior"]) if row.converged else "not reached"
        told = f"{row.kind}: {row.told}"
        rows.append([
            (row.method, f"{row.family}. Needs: {row.needs or 'nothing'}. {' '.join(row.notes)}".strip()),
            error, (nats_words(row.nats) + ("" if row.reached else " !"), told), (narrowing(row), told),
            short(row.messages), short(row.bytes, "B"), short(row.rounds), broken(row, found),
        ])  # fmt: skip
    return rows


def narrowing(row: Row) -> str:
    """For a table."""
    return "all of it" if math.isinf(row.nats) else narrows(row.nats)


def table_csv(found: Comparison) -> bytes:
    """All figures of the rows, with every digit."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = ["method", "family", "error", "stderr", "nats", "kind", "reached", "messages", "bytes", "rounds", "seconds",
             "converged", "needs", "breaks", "survives"]  # fmt: skip
    writer.writerow([*names, "narrower"])
    for row in found.rows:
        plain = asdict(row)
        writer.writerow([*(plain[name] for name in names), -math.expm1(-row.nats)])
    return text.getvalue().encode()


def is_exact(row: Row, found: Comparison) -> bool:
    """Whether nothing but rounding is between the answer and the mean."""
    return row.converged and row.error <= EXACT * found.settings["prior"]


def honest_parts(found: Comparison) -> list[int]:
    """How many honest parties are in each part that the corrupt ones leave in one piece."""
    settings = found.settings
    network = Network(settings["n"], np.array(settings["edges"]), labels=settings["labels"])
    corrupt = {i for i in range(network.n) if network.name(i) in settings["corrupt"]}
    return [len(part) for part in honest_components(network, corrupt)]


def floor_words(found: Comparison) -> str:
    """What the floor is: what the mean tells, or where the honest graph is cut, what the sum of its smallest part."""
    parts = honest_parts(found)
    if len(parts) == 1:
        return f"floor {found.floor:.3g}: what the exact mean itself tells"
    alone = -0.5 * math.log1p(-1 / sum(parts))
    return f"floor {found.floor:.3g}: what these messages tell at any mask (the mean alone: {nats(alone)})"


def broken(row: Row, found: Comparison) -> str:
    """Where a method is, and whether that is the case here."""
    where, _, what = row.breaks.partition(": ")
    if where != CUT or len(honest_parts(found)) == 1:
        return row.breaks
    return f"{where}, which it is here: {SUMS.get(what, what)}"


def called(method: str) -> str:
    """As a sentence has it, among commas of its own."""
    name, _, kind = method.partition(", ")
    return f"{name} ({kind})" if kind else name


def _names(rows: Sequence[Row]) -> str:
    return _and([called(row.method) for row in rows])


def _and(things: Sequence[str]) -> str:
    *most, last = things
    return f"{', '.join(most)} and {last}" if most else last


def verdict(found: Comparison) -> list[str]:
    """What is best here, and where the method of this package loses, by the numbers."""
    good = [row for row in found.rows if row.reached and is_exact(row, found)]
    said = [_best(good, found), *_own(good, found), *_noisy(found), *_lost(found)]
    return [sentence for sentence in said if sentence]


def _best(good: list[Row], found: Comparison) -> str:
    allowed = f"{nats(found.nats)} nats (an interval {narrows(found.nats)} narrower)"
    if not good:
        return f"None of these is exact at a leakage of at most {allowed}."
    few = min(good, key=lambda row: row.messages)
    names = _names(good)
    return (
        f"Exact, and at most {allowed} of the worst honest party: {names}. The fewest messages among them has "
        f"{called(few.method)}, {short(few.messages)} in {short(few.rounds)} rounds; it is broken where "
        f"{broken(few, found)}."
    )


def _own(good: list[Row], found: Comparison) -> list[str]:
    """Where subspace perturbation loses, and to whom."""
    own = next((row for row in found.rows if row.method == OWN), None)
    if own is None:
        return []
    said = []
    if not own.reached:
        said.append(f"Subspace perturbation does not get there: the worst party gives away {nats_words(own.nats)}.")
    fewer = [row for row in good if row.messages < own.messages and row.method != own.method]
    if fewer:
        few = min(fewer, key=lambda row: row.messages)
        said.append(
            f"Subspace perturbation loses on messages: {short(own.messages)}, {own.messages / few.messages:.3g} times "
            f"those of {called(few.method)}, since it iterates."
        )
    tighter = [row for row in good if row.nats < own.nats * (1 - 1e-3)]
    if tighter:
        each = _and([f"{called(row.method)} ({nats(row.nats)})" for row in tighter])
        more = f"; a larger mask would bring subspace perturbation down to {nats(found.floor)}"
        could = own.reached and own.nats > found.floor * (1 + 1e-3)
        than = f", against {nats(own.nats)} nats" if math.isfinite(own.nats) else ""
        said.append(f"Less is given away by {each}{than}{more if could else ''}.")
    return said


def _noisy(found: Comparison) -> list[str]:
    noisy = [row for row in found.rows if row.reached and row.converged and not is_exact(row, found)]
    if not noisy:
        return []
    best = min(noisy, key=lambda row: row.error)
    times = best.error / found.useless
    compared_with = "worse than no answer at all" if times > 1 else "better than no answer"
    which = f"the best of {_names(noisy)}" if len(noisy) > 1 else called(best.method)
    return [
        f"Noise in the answer costs: {which} has a mean squared error of {best.error:.3g}, so is typically off by "
        f"{math.sqrt(best.error):.3g}, in the unit of the numbers. The mean squared error is {times:.2g} times that of "
        f"whoever says 0 without looking: {compared_with}."
    ]


def _lost(found: Comparison) -> list[str]:
    lost = [row for row in found.rows if math.isinf(row.nats)]
    return [f"A number is disclosed by {_names(lost)}."] if lost else []
