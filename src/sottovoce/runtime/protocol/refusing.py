"""A party that will not take part says so, and no more: the same words whatever its reason is. They go from party to
party, so that nobody waits for it."""

from __future__ import annotations

from collections.abc import Collection

from .agreement import Contradiction

REFUSES = "refuses to take part"


class Refusal(Contradiction):
    """A party refuses to take part: there will be no answer. ``farewell`` is what to tell others of it."""

    def __init__(self, party: str, told_by: str) -> None:
        said = "" if party == told_by else f"{told_by} says that "
        super().__init__(
            f"{said}{party} refuses to take part in this run; why, it tells nobody. Ask its people; then start all "
            "parties again, or agree on a new run."
        )
        self.farewell = farewell(party)


def farewell(party: str) -> str:
    """The reason in a goodbye."""
    return f"{party} {REFUSES}"


def refusal(reason: str, told_by: str, parties: Collection[str]) -> Refusal | None:
    """What a goodbye with this reason says, if that is it, of one of the ``parties``."""
    party = reason.removesuffix(f" {REFUSES}")
    return Refusal(party, told_by) if party != reason and party in parties else None
