"""One agreement with a liar on the way between the others, as a model to be searched: whatever it signs for whom and
when, no two honest parties may end with different answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from runtime.explore.agreements import KEY, Agreeing, Seat, World, signature
from runtime.explore.search import Step

from sottovoce.errors import PeerError
from sottovoce.runtime.protocol.agreement import Agreement
from sottovoce.runtime.protocol.answers import Rounded
from sottovoce.runtime.protocol.frames import Answer, Snapshot, Value, Verdict, decode, encode
from sottovoce.runtime.protocol.sealing import sealed, unsealed

MOVED = 4.0  # a party j at an end, where c = 2, divides what it is told by 4: its answer moves by -A_j


class Gullible(Agreement):
    """It objects to nothing."""

    def _look_for_lies(self) -> None:
        """Whatever others sign."""


@dataclass
class TwoFaced(Agreeing):
    """The ``liar`` keeps to the protocol, but tells its neighbours, which have no others, different numbers: the answer
    looks larger by 1 to the first of them, and smaller to all others. Of answers it tells each what fits there, and no
    verdict of its own; but at any moment it shows a neighbour that it accepts what the neighbour has, with all that
    others have signed. What comes after so many ``epochs`` is not looked at."""

    liar: int = 1
    epochs: int = 1

    def agreement(self, i: int) -> Agreement:
        agreement = super().agreement(i)
        if i == self.liar:
            agreement.__class__ = Gullible
        return agreement

    def over(self, world: World) -> bool:
        return all(seat.party.ended for seat in self.honest(world))

    def wrong(self, world: World) -> str | None:
        ended = {seat.disk["answer"].tobytes() for seat in self.honest(world) if seat.party.ended}
        return "two honest parties have ended with different answers" if len(ended) > 1 else None

    def honest(self, world: World) -> list[Seat]:
        return [seat for i, seat in enumerate(world.seats) if i != self.liar]

    def steps(self, world: World) -> Iterator[Step]:
        agreements = [seat.party.agreement for seat in world.seats]
        if any(agreement is not None and agreement.current > self.epochs for agreement in agreements):
            return
        yield from super().steps(world)
        for j in self._around(self.liar):
            if (lied := self._lied(world, j)) is not None:
                yield Step(f"lie({j})", lied)

    def _lied(self, world: World, j: int) -> World | None:
        """The liar accepts what this neighbour has accepted, and shows who else does."""
        theirs = world.seats[j].party.agreement
        if theirs is None or world.seats[j].party.ended or theirs.epoch is None or theirs.epoch.answer is None:
            return None
        number, digest = theirs.epoch.number, theirs.epoch.digest
        proofs = {self.liar: signature(self.liar, number, digest)}
        for seat in self.honest(world):
            epoch = None if seat.party.agreement is None else seat.party.agreement.epoch
            if epoch is not None and epoch.number == number and epoch.digest == digest:
                proofs |= epoch.proofs
        if proofs.items() <= theirs.epoch.proofs.items():
            return None
        return self._heard(world, j, encode(Verdict(0, number, False, proofs, b"", digest)))

    def _told(self, world: World, i: int, j: int) -> World:
        if i != self.liar:
            return super()._told(world, i, j)
        frame, link = world.seats[i].frames[self.names[j]]
        speaker = self._changing(world.seats[i])
        speaker.party.links = {**speaker.party.links, self.names[j]: link}
        said = self._after(world, {i: speaker})
        moved = self._moved(frame, j)
        return said if moved is None else self._heard(said, j, moved)

    def _heard(self, world: World, j: int, frame: bytes) -> World:
        hearer = self._changing(world.seats[j], self.names[self.liar])
        with suppress(PeerError):  # what follows from it is in the party
            hearer.party.received(self.names[self.liar], frame)
        return self._after(world, {j: hearer})

    def _moved(self, frame: bytes, j: int) -> bytes | None:
        """What the liar makes of what it would say; None where it says nothing."""
        body, side = decode(frame), 1 if j == min(self._around(self.liar)) else -1
        if isinstance(body, Verdict):
            return None
        if isinstance(body, Value | Snapshot):
            return encode(body._replace(data=body.data - (side if j > self.liar else -side) * MOVED))
        if isinstance(body, Answer):
            told = Rounded.from_array(unsealed(KEY, body, "an answer"))
            assert told is not None
            other = Rounded.of(told.x + side, told.step, told.salt)
            (data,) = sealed(KEY, other.as_array(), b"sottovoce answer")
            return encode(body._replace(data=data))
        return frame
