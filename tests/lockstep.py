"""Programs at parties in threads of their own, which hold nothing but their own rows and meet to add up integers."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from sottovoce.errors import InvalidInput
from sottovoce.statistics.agreements import Agreements, PooledAgreements


class Meeting:
    """Where parties in threads of their own meet: what all have brought, once all have. ``sent``: what was added up."""

    def __init__(self, n):
        self.brought, self.sent = [None] * n, []
        self.barrier = threading.Barrier(n, timeout=10)  # parties that go apart wait for each other in vain

    def of_all(self, i, own):
        self.brought[i] = own
        self.barrier.wait()
        brought = list(self.brought)
        self.barrier.wait()  # nobody brings the next before everybody has read this
        return brought


class OneParty(Agreements):
    """A driver with one local party: integers are added up in the open."""

    def __init__(self, meeting, i):
        super().__init__(len(meeting.brought), [f"party {i}"])
        self.meeting, self.i = meeting, i

    def units(self, rows, declared):
        return PooledAgreements(self.parties).units([part for (part,) in self.meeting.of_all(self.i, rows)], declared)

    def add_up(self, own, ring, rows_counted):
        brought = self.meeting.of_all(self.i, own[0])
        assert len({len(part) for part in brought}) == 1, "parties are at different stages"
        if self.i == 0:
            self.meeting.sent.append(brought)
        return ring.integers(ring.words(sum(brought)))


def together(program, n):
    """``program(agreements, i)`` at each of ``n`` parties; what each came to, or its refusal; and what was sent."""
    meeting = Meeting(n)

    def play(i):
        try:
            return program(OneParty(meeting, i), i)
        except InvalidInput as error:
            return str(error)

    with ThreadPoolExecutor(n) as threads:
        return list(threads.map(play, range(n))), meeting.sent
