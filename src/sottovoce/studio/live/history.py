"""What is kept of the past: residuals, and how many messages there were, both bounded however long a run takes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping

POINTS = 600  # of a curve: where there are more, every second is forgotten
STILL = 1.0  # seconds after which a value that has not changed is noted again
WINDOW = 1.5  # seconds over which messages are counted

Point = tuple[float, float | None]
Way = tuple[str, str, str]  # of messages: from whom, to whom, and who counts them, "sender" or "receiver"


class History:
    """Curves of one value over time for each name. One thread adds, others read."""

    def __init__(self, points: int = POINTS) -> None:
        self.points = points
        self._curves: dict[str, list[Point]] = {}
        self._lock = threading.Lock()

    def add(self, name: str, time: float, value: float | None) -> None:
        """The value now; None where there is none, which is a gap."""
        with self._lock:
            curve = self._curves.setdefault(name, [])
            if curve and curve[-1][1] == value and (value is None or time - curve[-1][0] < STILL):
                return
            if not curve and value is None:
                return
            curve.append((time, value))
            if len(curve) > self.points:  # the newest stays
                self._curves[name] = curve[(len(curve) - 1) % 2 :: 2]

    def after(self, name: str, time: float) -> list[Point]:
        """What came later than this."""
        with self._lock:
            curve = self._curves.get(name, [])
            first = len(curve)
            while first and curve[first - 1][0] > time:
                first -= 1
            return curve[first:]


class Rates:
    """Messages a second, lately, from totals that begin anew where a party is started again."""

    def __init__(self, window: float = WINDOW) -> None:
        self.window = window
        self._seen: deque[tuple[float, Mapping[Way, int]]] = deque()

    def add(self, time: float, totals: Mapping[Way, int]) -> None:
        """All totals that are known now."""
        self._seen.append((time, totals))
        while len(self._seen) > 2 and self._seen[1][0] <= time - self.window:
            self._seen.popleft()

    def rate(self, sender: str, receiver: str) -> float | None:
        """As the sender counts, or the receiver where the sender does not; None where nobody does."""
        for who in ("sender", "receiver"):
            counted = [(time, totals[way]) for time, totals in self._seen if (way := (sender, receiver, who)) in totals]
            if counted and counted[-1][0] == self._seen[-1][0]:
                return _since_the_last_start(counted)
        return None


def _since_the_last_start(counted: list[tuple[float, int]]) -> float:
    begin = max((k for k in range(1, len(counted)) if counted[k][1] < counted[k - 1][1]), default=0)
    (before, few), (now, many) = counted[begin], counted[-1]
    return (many - few) / (now - before) if now > before else 0.0
