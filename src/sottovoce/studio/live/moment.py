"""All parties at one moment, and what has happened since the one before, in words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from ..words import listed
from .told import Told

NOT_STARTED, STARTING, UP, SILENT = "not started", "starting", "up", "no answer"
KILLED, FINISHED, FAILED, ELSEWHERE = "killed", "finished", "failed", "elsewhere"
STATES = {
    NOT_STARTED: "Its process has not been started, as far as can be seen from here.",
    STARTING: "Its process runs, and does not answer yet: it loads, and reads its data.",
    UP: "It runs and answers; the number is the agreement that it is in.",
    SILENT: "It ran, and does not answer: it hangs, is stopped, or was ended by somebody else.",
    KILLED: "It was ended at once (kill -9). Started again, it goes on from its journal.",
    FINISHED: "It has its answer.",
    FAILED: "It has ended without an answer; its last sentence says why.",
    ELSEWHERE: "It has no node file here: what is known of it comes from its neighbours.",
}
ENDED = (NOT_STARTED, SILENT, KILLED, FINISHED, FAILED)  # of these a process may be started


@dataclass(frozen=True)
class Seen:
    """A party: ``here`` says whether its process was started here, and runs; ``again`` that it is not its first one."""

    name: str
    state: str
    told: Told = field(default_factory=Told)
    said: str = ""
    here: bool = False
    again: bool = False

    def lost(self, neighbour: str) -> bool:
        """Whether it says that a neighbour is not there."""
        return self.state == UP and self.told.neighbours.get(neighbour, "up") != "up"

    def has_finished(self, answered: Collection[str]) -> bool:
        """Whether it has said so, or is among those who have written their results."""
        return self.state == FINISHED or self.told.done or self.name in answered


@dataclass(frozen=True)
class Moment:
    """``rates`` are messages a second from one party to another; None where nobody counts."""

    number: int
    seconds: float
    parties: Mapping[str, Seen]
    rates: Mapping[tuple[str, str], float | None] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        """Whether all who can be asked have their answers."""
        return all(seen.state in (FINISHED, ELSEWHERE) for seen in self.parties.values())

    @property
    def stage(self) -> int:
        """The agreement that the slowest of those who run are in, counted from 0; -1 before the first."""
        return min((seen.told.stage for seen in self.parties.values() if seen.state == UP), default=-1)

    def counted(self) -> str:
        """``9 up, 1 killed``."""
        states = [seen.state for seen in self.parties.values()]
        return ", ".join(f"{states.count(state)} {state}" for state in STATES if state in states)


def agreement(stage: int, stages: int, exactly: bool) -> str:
    """``in agreement 2 of 4``."""
    if stage < 0:
        return "before the first agreement"
    return f"in agreement {stage + 1} of {'' if exactly else 'at most '}{max(stages, stage + 1)}"


def news(
    before: Moment,
    now: Moment,
    where: Callable[[int], str],
    met: set[tuple[str, str]],
    *,
    begun: int | None = None,
    answered: Collection[str] = (),
) -> list[str]:
    """What has happened between the two, in the order in which it must have; ``where`` has the words for an agreement.
    Who has ``met`` whom is noted there: that they meet for the first time is no news. ``begun`` is the agreement that
    has, if one did, and those who have ``answered`` have written their results."""
    happened: dict[tuple[str, tuple[str, str]], list[str]] = {}  # a state, what one does and what several do, and who
    failed: list[str] = []
    sentences: list[str] = []
    known = {said for seen in before.parties.values() for said in seen.told.sentences}  # some is passed on
    for name, seen in now.parties.items():
        was = before.parties[name]
        if seen.state == FAILED and was.state != FAILED:
            failed.append(f"{name} failed: {seen.said or 'it has said nothing'}")
        elif (words := _change(was, seen, where(was.told.stage))) is not None:
            happened.setdefault((seen.state, words), []).append(name)
        sentences += [f"{name}: {said}" for said in seen.told.sentences if said not in known]
        known |= {*seen.told.sentences}

    def come_to(*states: str) -> list[str]:
        told = {words: names for state in states for words, names in happened.items() if words[0] == state}
        return [f"{listed(names)} {words[len(names) > 1]}" for (_, words), names in told.items()]

    lost, found = _links(before, now, met, answered)
    begins = [] if begun is None else [f"{where(begun).removeprefix('in ')} begins"]
    ended = [*come_to(NOT_STARTED, SILENT, KILLED), *failed, *lost]
    return [*come_to(STARTING, UP), *found, *begins, *sentences, *ended, *come_to(FINISHED)]


def _change(was: Seen, seen: Seen, where: str) -> tuple[str, str] | None:
    if was.state == seen.state:
        return None
    if seen.state == STARTING:
        more = " again" if seen.again else ""
        return f"is started{more}", f"are started{more}"
    if seen.state == UP:
        more = " again, and goes on from its journal" if seen.again else ""
        several = " again, and go on from their journals" if seen.again else ""
        return f"is up{more}", f"are up{several}"
    return {
        KILLED: (f"was killed (kill -9), {where}", f"were killed (kill -9), {where}"),
        FINISHED: ("has its answer", "have their answers"),
        SILENT: ("does not answer any more", "do not answer any more"),
        NOT_STARTED: ("does not run", "do not run"),
    }.get(seen.state)


def _links(
    before: Moment, now: Moment, met: set[tuple[str, str]], answered: Collection[str]
) -> tuple[list[str], list[str]]:
    """Neighbours that were lost, and found again; that one who has its answer hangs up is no news."""
    lost: dict[str, list[str]] = {}
    found: dict[str, list[str]] = {}
    for name, seen in now.parties.items():
        earlier = before.parties[name]
        was = earlier.told.neighbours if earlier.state == UP else {}
        for other, state in seen.told.neighbours.items() if seen.state == UP else ():
            if state != "up" and was.get(other) == "up" and not now.parties[other].has_finished(answered):
                lost.setdefault(other, []).append(name)
            elif state == "up" and was.get(other, "up") != "up" and (name, other) in met:
                found.setdefault(other, []).append(name)
            met |= {(name, other)} if state == "up" else set()
    have = {other: f"{listed(names)} {'has' if len(names) == 1 else 'have'}" for other, names in lost.items()}
    reach = {other: f"{listed(names)} {'reaches' if len(names) == 1 else 'reach'}" for other, names in found.items()}
    return [f"{those} lost {other}" for other, those in have.items()], [
        f"{those} {other} again" for other, those in reach.items()
    ]
