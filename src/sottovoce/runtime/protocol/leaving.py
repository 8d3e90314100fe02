"""A party leaves for good: what the others say of it, and what follows. Without I/O.

Each of the others signs one *statement*, once, when its operator says so, and passes on those of the others. With the
statements of all but the leaver everybody comes to the same decision, because it is a function of them alone; and as
they come over the edges that are left, the rest is connected. From its statement on a party no longer listens to the
leaver, and neither enters nor accepts an epoch until all have spoken: nothing of what it has said can become untrue,
and no stage can end that was not as good as over.

There is a point of no return (theory: A party leaves). Before its first value the leaver is *dropped*: the answer is
that of the others. Afterwards the sum with it is as good as public, and an answer without it would disclose what it
brought, by subtraction. So an heir that holds its escrow stands in for it, and the answer is that of all: it is
*adopted*. That helps in the last stage only. Later stages need data of the leaver that nobody has, and then there is no
answer.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...errors import InvalidInput, PeerError
from ..keys.identity import Identity, with_lengths
from ..keys.public_keys import signed_by
from .agreement import Contradiction
from .frames import Leave

LATE = 2**40  # epochs that no run comes to

Kind = Literal["dropped", "adopted", "complete", "hopeless"]


class Departed(Contradiction):
    """A party has left for good, and without it there is no answer here."""


@dataclass(frozen=True)
class Decision:
    """What all others have agreed on. ``stage`` is the one in which they go on, if they do, on a route without it."""

    kind: Kind
    leaver: str
    stage: int
    heir: str | None = None
    begun: int = 0  # stages to which the leaver contributed
    stages: int = 1

    @property
    def sentence(self) -> str:
        """Who left, when, and what the answer covers."""
        gone = f"{self.leaver} has left for good"
        if self.kind == "dropped":
            return f"{gone}, before it said anything of its data: the answer is that of the others."
        if self.kind == "adopted":
            return f"{gone}, in the last agreement, and {self.heir} stands in for it: the answer is that of all."
        if self.kind == "complete":
            return f"{gone}, after the last agreement: the answer is that of all."
        why = "the others need data that only it has"
        if self.begun == self.stages:
            why = "nobody who is left holds its escrow of the last agreement"
        return (
            f"{gone}, after it had brought its numbers to {self.begun} of {self.stages} agreements, and this run "
            f"cannot be finished: {why}. A new run without {self.leaver} can be. But the difference to what is known "
            f"from this one discloses what {self.leaver} brought (its number of rows; its sums): decide that knowingly."
        )


def decide(statements: Collection[Leave], stages: int, names: Sequence[str]) -> Decision:
    """What follows from the statements of all but the leaver, in a run of so many stages."""
    leaver = next(iter(statements)).leaver
    over, heard = max(said.over for said in statements), max(said.heard for said in statements)
    accepted = all(said.over == over and said.epoch and said.accepted for said in statements)
    same = len({(said.epoch, said.route) for said in statements}) == 1
    if accepted and same and any(said.seen for said in statements):
        over += 1  # all have accepted: the stage ends as soon as everybody has heard so
    begun = max(over, heard)
    if over >= stages:
        return Decision("complete", leaver, stages - 1, begun=stages, stages=stages)
    if begun == 0:
        return Decision("dropped", leaver, 0, stages=stages)
    heirs = [name for name in names if any(said.signer == name and said.escrow == over + 1 for said in statements)]
    heir = heirs[0] if heirs else None
    if begun == over + 1 == stages and heir is not None:
        return Decision("adopted", leaver, over, heir, begun, stages)
    return Decision("hopeless", leaver, over, None, begun, stages)


class Leaving:
    """The statements that this party knows of. A run can lose one party."""

    def __init__(
        self, me: Identity, names: Sequence[str], keys: Sequence[str], parameters_hash: bytes, stages: int
    ) -> None:
        self.me, self.names, self.keys = me, names, keys
        self.hash, self.stages = parameters_hash, stages
        self.statements: dict[str, Leave] = {}  # by signer, in the order in which they came
        self.decision: Decision | None = None  # once all have spoken

    @property
    def leaver(self) -> str | None:
        """Of whom it is said."""
        return next((said.leaver for said in self.statements.values()), None)

    @property
    def signed(self) -> bool:
        """Whether this party has spoken."""
        return self.me.name in self.statements

    @property
    def missing(self) -> list[str]:
        """Who has yet to speak."""
        return [name for name in self.names if name != self.leaver and name not in self.statements]

    def check(self, leaver: str) -> None:
        """Refuse what this party cannot say."""
        if leaver not in self.names:
            raise InvalidInput(f"{leaver!r:.80} is none of the parties of the run: {', '.join(self.names)}.")
        if leaver == self.me.name:
            raise InvalidInput(f"{leaver} is this party itself. It leaves by not running; the others drop it.")
        if len(self.names) < 3:
            raise InvalidInput(f"without {leaver} nobody is left to agree with. End this party.")
        if self.signed and self.leaver == leaver:
            raise InvalidInput(f"this party has already said that {leaver} has left. {self.progress}")
        if self.leaver not in (None, leaver):
            raise InvalidInput(
                f"this run has already lost {self.leaver}, or some say so, and it can lose one party. Plan a new run."
            )

    @property
    def progress(self) -> str:
        """Who is waited for."""
        if self.decision is not None:
            return self.decision.sentence
        return f"It waits for the same command at: {', '.join(self.missing)}."

    def sign(self, leaver: str, **position: Any) -> Leave:
        """This party's statement. To be written down before anybody hears of it: there is never another one."""
        self.check(leaver)
        unsigned = Leave(leaver, self.me.name, signature=b"\0", **position)
        said = unsigned._replace(signature=self.me.sign(self.signed_part(unsigned)))
        self._add(said)
        return said

    def hear(self, said: Leave) -> bool:
        """Take a statement in that came from anybody; True where it is new."""
        known = self.statements.get(said.signer)
        if known is not None and known._replace(signature=said.signature) == said:
            return False
        if self.decision is not None and said.signer == self.leaver:  # who has left has no say
            return False
        who = said.signer in self.names and said.leaver in self.names and said.signer != said.leaver
        if not who or max(said.over, said.heard, said.escrow) > self.stages or said.epoch > LATE:
            raise PeerError(f"passed on a statement of {said.signer} that {said.leaver} has left; that cannot be.")
        self._verify(said)
        if known is not None:
            raise Contradiction(f"passed on another statement of {said.signer}, who has signed two that differ.")
        if self.leaver not in (None, said.leaver):
            raise Contradiction(
                f"passed on that {said.leaver} has left, as {said.signer} says. Others say it of {self.leaver}; a run "
                "can lose one party. Plan a new run."
            )
        self._add(said)
        return True

    def _add(self, said: Leave) -> None:
        self.statements[said.signer] = said
        if not self.missing:
            self.decision = decide(self.statements.values(), self.stages, self.names)

    def _verify(self, said: Leave) -> None:
        if not signed_by(self.keys[self.names.index(said.signer)], self.signed_part(said), said.signature):
            raise PeerError(f"passed on a statement that {said.signer} has not signed.")

    def signed_part(self, said: Leave) -> bytes:
        """All of a statement but the signature, and the run, each part with its length."""
        numbers = [str(int(number)) for number in said[2:8]]
        parts = [b"sottovoce leave", self.hash, *(text.encode() for text in (said.leaver, said.signer, *numbers))]
        return with_lengths(*parts, said.route)
