"""What a party keeps of stages that are not under way: those that are over, and the next one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from .answers import EXTRA
from .frames import Progress, Verdict
from .link import Complete


@dataclass(eq=False)
class Held:
    """The newest that a neighbour said about a stage which has not begun here."""

    value: Complete | None = None
    snapshot: Complete | None = None
    answer: Complete | None = None
    verdict: Verdict | None = None


@dataclass(eq=False)
class Ended:
    """How a stage ended: the epoch that everybody accepted, and the digest of its answer."""

    stage: int
    epoch: int
    proofs: Mapping[int, bytes]
    route: bytes = b""
    answer: bytes = b""

    @property
    def verdict(self) -> Verdict:
        """How others are told."""
        return Verdict(self.stage, self.epoch, False, self.proofs, self.route, self.answer)


@dataclass(eq=False)
class Counts:
    """What has happened so far."""

    sent: int = 0
    received: int = 0
    old: int = 0  # messages that came too late to matter
    bytes_sent: int = 0
    bytes_received: int = 0
    refused: int = 0  # frames that broke the protocol
    sent_to: Counter[str] = field(default_factory=Counter)  # of the messages sent, by neighbour
    received_from: Counter[str] = field(default_factory=Counter)


def progress_of(said: Complete | Verdict) -> Progress:
    """How far a neighbour that says this has spoken."""
    if isinstance(said, Verdict):
        return Progress(said.stage, 0, said.epoch)
    return Progress(said.stage, said.number, 0) if said.kind == "value" else Progress(said.stage, 0, said.number)


def length(kind: str, dimension: int) -> int:
    """Of a vector of this kind, in a stage of so many numbers."""
    return dimension + (EXTRA if kind == "answer" else 0)


def later(a: Progress, b: Progress) -> Progress:
    """The newest of both."""
    if a.stage != b.stage:
        return max(a, b)
    return Progress(a.stage, max(a.counter, b.counter), max(a.epoch, b.epoch))
