"""The edges of a run as [run] has them: all of the network, those that messages use, and what is used where one of
these stays dead (theory: Fewer messages)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import InvalidFile
from ...files.toml_table import Table, finite, shown
from ..protocol.route import Route

KEYS = ("edges", "overlay", "c", "theta", "fallback")
FALLBACK_KEYS = ("after", "c", "theta")
AFTER = 30.0  # seconds that a link may be dead while both its parties live

Edges = tuple[tuple[int, int], ...]  # of party numbers i < j, sorted


@dataclass(frozen=True)
class Routes:
    """``edges`` of the network, where pads lie; ``route`` is what messages use. Where that is less than all,
    ``fallback`` is all, taken ``after`` so many seconds with a dead link."""

    edges: Edges
    route: Route
    fallback: Route | None = None
    after: float = AFTER

    @classmethod
    def all(cls, edges: Sequence[tuple[int, int]], c: float | Sequence[float], theta: float) -> Routes:
        """Messages use all edges."""
        route = Route.over(edges, c, theta)
        return cls(route.edges, route)

    def to_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """In the one form that all parties have in common, which is also that of the node file."""
        told: dict[str, Any] = {"c": self.route.penalty, "theta": self.route.theta, "edges": _pairs(self.edges, names)}
        if self.fallback is not None:
            told["overlay"] = _pairs(self.route.edges, names)
            told["fallback"] = {"after": self.after, "c": self.fallback.penalty, "theta": self.fallback.theta}
        return told

    def shown(self) -> dict[str, Any]:
        """For people."""
        lowest, highest = min(self.route.c), max(self.route.c)
        c = f"{lowest:g}" if lowest == highest else f"{lowest:g} to {highest:g} by edge"
        kind = "a tree" if self.route.is_tree else "all edges" if self.fallback is None else "some edges"
        over = f"{kind}, {len(self.route.edges)} of {len(self.edges)}"
        return {"messages over": over, "c": c, "theta": self.route.theta}


def _pairs(edges: Edges, names: Sequence[str]) -> list[list[str]]:
    return [[names[i], names[j]] for i, j in edges]


def read_routes(run: Table, names: Sequence[str], c: float | list[float], theta: float) -> Routes:
    """Those of a node file."""
    edges = read_edges(run, "edges", names)
    check_connected(run, "edges", edges, names)
    overlay, fallback, after = edges, None, AFTER
    if "overlay" in run:
        overlay = read_edges(run, "overlay", names)
        check_overlay(run, overlay, edges, names)
        fallback, after = _fallback(run, edges)
    elif "fallback" in run:
        raise run.refuse("fallback", "has no meaning without overlay: messages use all edges already. Remove it.")
    route = Route.over(overlay, check_count(run, c, overlay), theta)
    return Routes(tuple(sorted(edges)), route, fallback, after)


def read_edges(run: Table, key: str, names: Sequence[str]) -> list[tuple[int, int]]:
    """A list of pairs of names, as pairs of numbers, in the order given."""
    if key not in run:
        raise run.refuse(key, "is missing: all pairs of parties that talk. sottovoce plan writes them.")
    value, number = run.get(key), {name: i for i, name in enumerate(names)}
    if not isinstance(value, list) or not value:
        raise run.refuse(key, f'must be a list of pairs of names such as [["ann", "bob"]]; got {shown(value)}.')
    found: list[tuple[int, int]] = []
    for pair in value:
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(name, str) for name in pair)):
            raise run.refuse(key, f'must have pairs of names such as ["ann", "bob"]; got {shown(pair)}.')
        for name in pair:
            if name not in number:
                raise run.refuse(key, f"names {name!r}, which is none of the parties.")
        i, j = sorted(number[name] for name in pair)
        if i == j:
            raise run.refuse(key, f"joins {pair[0]} to itself.")
        found.append((i, j))
    if len(set(found)) < len(found):
        i, j = next(edge for edge in found if found.count(edge) > 1)
        raise run.refuse(key, f"has the edge {names[i]} - {names[j]} twice.")
    return found


def check_overlay(
    run: Table, overlay: Sequence[tuple[int, int]], edges: Sequence[tuple[int, int]], names: Sequence[str]
) -> None:
    """Some edges of the network, that connect it."""
    if lacking := sorted(set(overlay) - set(edges)):
        i, j = lacking[0]
        raise run.refuse("overlay", f"has the edge {names[i]} - {names[j]}, which the network lacks.")
    check_connected(run, "overlay", overlay, names)


def check_connected(run: Table, key: str, edges: Sequence[tuple[int, int]], names: Sequence[str]) -> None:
    """Everybody must be able to hear of everybody. (Here, as a party does not load what networks are made of.)"""
    around: dict[int, list[int]] = {i: [] for i in range(len(names))}
    for i, j in edges:
        around[i].append(j)
        around[j].append(i)
    reached, front = {0}, [0]
    while front:
        for j in around[front.pop()]:
            if j not in reached:
                reached.add(j)
                front.append(j)
    if len(reached) < len(names):
        apart = next(name for i, name in enumerate(names) if i not in reached)
        raise run.refuse(key, f"does not connect all parties: there is no way from {names[0]} to {apart}.")


def check_count(run: Table, c: float | list[float], edges: Sequence[tuple[int, int]]) -> float | list[float]:
    """One number, or one for each edge."""
    if isinstance(c, list) and len(c) != len(edges):
        raise run.refuse("c", f"has {len(c)} numbers, and messages go over {len(edges)} edges: give one for each.")
    return c


def read_penalty(table: Table) -> float | list[float] | None:
    """``c``: a positive number, or a list of them; None where it is not there."""
    value = table.get("c", None)
    for c in value if isinstance(value, list) else [] if value is None else [value]:
        if not finite(c):
            raise table.refuse("c", f"must be a number, or a list with one for each edge; got {shown(c)}.")
        if c <= 0:
            raise table.refuse("c", f"must be a positive number; got {c:g}.")
    if isinstance(value, list):
        return [float(c) for c in value]
    return None if value is None else float(value)


def check_neighbours(path: Any, name: str, neighbours: Sequence[str], edges: Edges, names: Sequence[str]) -> None:
    """The tables [[neighbour]] of a party are those with whom it shares an edge."""
    i = names.index(name)
    meant = {names[a + b - i] for a, b in edges if i in (a, b)}
    if strange := sorted(set(neighbours) - meant):
        raise InvalidFile(f"{path}: there is a [[neighbour]] {strange[0]}, but [run] edges has no edge to it.")
    if lacking := sorted(meant - set(neighbours)):
        raise InvalidFile(f"{path}: [run] edges has an edge to {lacking[0]}, but it is no [[neighbour]].")


def _fallback(run: Table, edges: Sequence[tuple[int, int]]) -> tuple[Route, float]:
    values = run.get("fallback") if "fallback" in run else None
    if not isinstance(values, dict):
        raise run.refuse("fallback", "must be there beside overlay, as { after = 30.0, c = .., theta = .. }.")
    table = Table(run.file, f"{run.name}.fallback", values)
    table.refuse_unknown(FALLBACK_KEYS)
    after, c, theta = table.number("after", AFTER), read_penalty(table), table.number("theta")
    if after <= 0:
        raise table.refuse("after", f"must be a positive number of seconds; got {after:g}.")
    if c is None:
        raise table.refuse("c", "is missing: what all parties use on the whole network.")
    if not 0 < theta <= 1:
        raise table.refuse("theta", f"must be in (0, 1]; got {theta:g}.")
    return Route.over(edges, check_count(table, c, edges), theta), after
