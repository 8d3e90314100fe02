"""How a moment of a run is drawn: parties by state, in colours and in signs, edges by how much is said over them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..scene import Place
from .moment import ELSEWHERE, FAILED, FINISHED, KILLED, NOT_STARTED, SILENT, STARTING, UP, Moment, Seen

INK = "#10243a"
COLOURS = {  # Okabe and Ito, but for what does not run: dark ink can be read on all of them
    NOT_STARTED: "#d7dbe0",
    STARTING: "#f0e442",
    UP: "#8cc8ee",
    SILENT: "#e69f00",
    KILLED: "#e8803c",
    FINISHED: "#4cc3a0",
    FAILED: "#dd96bd",
    ELSEWHERE: "#ffffff",
}
SIGNS = {
    NOT_STARTED: "–", STARTING: "…", UP: "·", SILENT: "?", KILLED: "✕", FINISHED: "✓", FAILED: "!", ELSEWHERE: "~",
}  # fmt: skip
LONGEST = 18  # characters of a name below a party
THIN, THICK = 1.0, 7.0  # pixels of an edge
BUSY = 20.0  # messages a second, both ways together, that are drawn as thick where no edge has more
ALONG = (0.5, 0.38, 0.62, 0.3, 0.7, 0.24, 0.76)  # where on an edge its number may stand


def sign(seen: Seen) -> str:
    """In a party: the agreement that it is in, or what has become of it."""
    return str(seen.told.stage + 1) if seen.state == UP and seen.told.stage >= 0 else SIGNS[seen.state]


def node(seen: Seen, where: str) -> dict[str, Any]:
    """What changes of a party."""
    return {"fill": COLOURS[seen.state], "text": sign(seen), "tip": _party_tip(seen, where)}


def still(name: str, place: Place) -> dict[str, Any]:
    """What does not."""
    short = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
    return {"name": short, "x": place[0], "y": place[1], "corrupt": False, "ink": INK, "ring": False}


def _party_tip(seen: Seen, where: str) -> str:
    """When one points at it."""
    lines = [f"{seen.name}: {seen.state}" + (f", {where}" if seen.state == UP else "")]
    if seen.said:
        lines.append(seen.said)
    lost = [name for name in seen.told.neighbours if seen.lost(name)]
    if lost:
        lines.append(f"does not reach {', '.join(lost)}")
    return "\n".join([*lines, "Click for more."])


def edge(now: Moment, a: str, b: str, most: float, used: bool) -> dict[str, Any]:
    """What changes of an edge: its number, its width, and whether it is dashed, as nothing can be said over it."""
    there, back = now.rates.get((a, b)), now.rates.get((b, a))
    ends = now.parties[a], now.parties[b]
    down = ends[0].lost(b) or ends[1].lost(a)
    rate = (there or 0.0) + (back or 0.0)
    talking = any(end.state == UP for end in ends) and not (there is None and back is None)
    width = THIN + (THICK - THIN) * math.sqrt(min(1.0, rate / most)) if talking else THIN
    return {
        "text": f"{rate:.0f}/s" if talking and not down and (rate >= 0.5 or used) else "",
        "width": round(2 * width) / 2,
        "dashed": down or not (used or rate),
        "tip": _edge_tip(a, b, there, back, down, used),
    }


def _edge_tip(a: str, b: str, there: float | None, back: float | None, down: bool, used: bool) -> str:
    if down:
        return f"{a} – {b}: the connection is down."
    if there is None and back is None:
        return f"{a} – {b}: nobody counts messages here now."
    said = "\n".join(
        f"{x} to {y}: {'not counted' if rate is None else f'{rate:.0f} messages a second'}"
        for x, y, rate in ((a, b, there), (b, a, back))
    )
    return said if used else f"{said}\nThis edge carries pads only: values go over others."


def busiest(now: Moment) -> float:
    """The messages a second, both ways, of the edge that is drawn as the thickest."""
    return max([BUSY, *((rate or 0.0) + (now.rates.get((b, a)) or 0.0) for (a, b), rate in now.rates.items())])


def label_places(places: Sequence[Place], edges: Sequence[tuple[int, int]]) -> list[float]:
    """Where along each edge its number stands, so that numbers of edges that cross do not cover each other."""
    taken: list[Place] = list(places)
    chosen = []
    for i, j in edges:
        spots = {t: tuple(p + (q - p) * t for p, q in zip(places[i], places[j], strict=True)) for t in ALONG}
        room = {t: min(math.dist(spot, other) for other in taken) for t, spot in spots.items()}
        best = next((t for t in ALONG if room[t] > 0.1), max(room, key=lambda t: room[t]))
        taken.append((spots[best][0], spots[best][1]))
        chosen.append(best)
    return chosen
