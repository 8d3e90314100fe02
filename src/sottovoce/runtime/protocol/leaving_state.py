"""A party leaves for good: what this party has heard of whom, what it keeps for whom, and what of that is on its disk.

``leaving.py`` has the decision. What a statement says must stay true after a crash, so it is on the disk before it
counts: the stages to which each neighbour was heard to contribute, the escrows, and the statements themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...costs.base import Array
from ...pdmm.node import Node
from ..journal import Journal
from ..keys.identity import Identity
from ..plan.node_file import NodeConfig
from .acceptances import from_array
from .frames import Leave, decode, encode
from .leaving import Decision, Departed, Leaving
from .past import tag_of

if TYPE_CHECKING:
    from .agreement import Agreement
    from .party import Party


ESCROW = "escrow/"  # what the names of all rows of escrows begin with


class Departure:
    """The files and memory of ``Leaving`` at one party."""

    def __init__(self, config: NodeConfig, identity: Identity, journal: Journal) -> None:
        self.config, self.journal, self.stages = config, journal, config.question.stages
        self.leaving = Leaving(identity, config.names, config.keys, config.run_hash, self.stages)
        self.heard: dict[str, int] = {}  # to how many stages a neighbour has contributed
        self.kept: dict[str, tuple[int, Array]] = {}  # the newest escrow of a neighbour, and its stage
        self.news = False  # whether there are statements that were not acted on
        self._own: tuple[Node, Array | None] | None = None
        for name in config.names:
            if (count := journal.get(f"heard/{name}")) is not None:
                self.heard[name] = int.from_bytes(count, "little")
            if (escrow := journal.get_arrays(f"{ESCROW}{name}")) is not None and "stage" in escrow:
                self.kept[name] = int(escrow["stage"][0]), escrow["estate"]
            if (frame := journal.get(f"leave/{name}")) is not None:
                said = decode(frame)
                assert isinstance(said, Leave)
                self.leaving.hear(said)

    @property
    def possible(self) -> bool:
        """Whether anybody can leave: of two, nobody would be left to agree with."""
        return len(self.config.names) > 2

    @property
    def statements(self) -> list[Leave]:
        """What to tell everybody."""
        return list(self.leaving.statements.values())

    @property
    def decision(self) -> Decision | None:
        return self.leaving.decision

    @property
    def undecided(self) -> bool:
        """Whether this party has spoken, and waits for the others."""
        return self.leaving.signed and self.decision is None

    @property
    def gone(self) -> set[str]:
        """Who is not listened to any more: the leaver, once this party has said so."""
        return {self.leaving.leaver} if self.leaving.signed and self.leaving.leaver else set()

    @property
    def dropped(self) -> set[str]:
        """Whose pads are no part of the others' numbers."""
        return {self.decision.leaver} if self.decision is not None and self.decision.kind == "dropped" else set()

    # What comes in

    def note(self, neighbour: str, stage: int) -> None:
        """A neighbour has something to say of a stage, so it contributes to it. Written down before it is used."""
        if self.possible and stage >= self.heard.get(neighbour, 0):
            self.journal.put({f"heard/{neighbour}": (stage + 1).to_bytes(8, "little")})
            self.heard[neighbour] = stage + 1

    def keep(self, neighbour: str, stage: int, estate: Array) -> None:
        """A neighbour's escrow; of one stage at a time."""
        known = self.kept.get(neighbour)
        if self.possible and (known is None or stage > known[0]):
            arrays = {"stage": np.array([float(stage)]), "estate": estate}
            self.journal.put_arrays(f"{ESCROW}{neighbour}", arrays)
            self.kept[neighbour] = stage, estate

    def outdated(self, stage: int) -> list[str]:
        """Rows of escrows that are not needed once this stage is over here."""
        over = [name for name, (of, _) in self.kept.items() if of <= stage]
        for name in over:
            del self.kept[name]
        return [row for name in over for row in self.journal.under(f"{ESCROW}{name}#", f"{ESCROW}{name}/")]

    def hear(self, said: Leave) -> bool:
        """A statement of anybody; True where it is news to pass on."""
        new = self.leaving.hear(said)
        if new:
            self._write(said)
        return new

    def _write(self, said: Leave) -> None:
        self.news = True
        self.journal.put({f"leave/{said.signer}": encode(said)})

    # What goes out

    def escrow(self, stage: int, node: Node) -> tuple[int, Array] | None:
        """What guardians should keep; nothing once somebody has left, as a run can lose one party."""
        if not self.possible or self.decision is not None:
            return None
        if self._own is None or self._own[0] is not node:
            self._own = node, node.estate
        return None if self._own[1] is None else (stage, self._own[1])

    def sign(self, leaver: str, party: Party) -> None:
        """This party's statement, on its disk."""
        self._write(self.leaving.sign(leaver, **self.position(leaver, party)))

    def position(self, leaver: str, party: Party) -> dict[str, Any]:
        """Where this party stands: the numbers of its statement."""
        over, epoch, accepted, route = len(party.ended), 0, set[int](), b""
        agreement = None if party.stage in party.ended else party.agreement
        if agreement is not None:
            over += agreement.done
            if agreement.epoch is not None and not agreement.done:
                epoch, accepted, route = agreement.epoch.number, set(agreement.epoch.proofs), agreement.tag
        elif (saved := self.journal.get_arrays(f"stage/{over}")) is not None and "epoch" in saved:
            # After a restart, before the stage goes on here.
            number, _, done = saved["epoch"]
            over += bool(done)
            if not done:
                epoch, accepted = int(number), set(from_array(saved["epoch.proofs"]))
                route = tag_of(saved["route"])
        stage, estate = self.kept.get(leaver, (-1, np.zeros(0)))
        if agreement is not None and stage == party.stage and not _fits(estate, agreement):
            stage = -1
        seen = self.config.names.index(leaver) in accepted
        return {
            "over": over, "heard": self.heard.get(leaver, 0), "escrow": stage + 1, "epoch": epoch,
            "accepted": self.config.index in accepted, "seen": seen, "route": route,
        }  # fmt: skip

    # What follows

    def check(self) -> None:
        """Refuse to go on where there is no answer."""
        decision = self.decision
        if decision is None:
            return
        if decision.leaver == self.config.name:
            raise Departed(
                "all other parties have agreed that this one has left for good, and went on without it. What it "
                "brought stays part of their answer if it was late; ask them. Plan a new run to take part again."
            )
        if decision.kind == "hopeless":
            raise Departed(decision.sentence)

    def adapt(self, stage: int, agreement: Agreement) -> None:
        """A node that was made without the edges of one that has left: stand in for it."""
        decision, node = self.decision, agreement.node
        agreement.paused = self.undecided
        if decision is None:
            return
        leaver = self.config.names.index(decision.leaver)
        agreement.absent = 1 << leaver
        if decision.kind != "adopted" or stage != decision.stage:
            return
        if decision.heir == self.config.name:
            kept, estate = self.kept[decision.leaver]
            if kept != stage or not _fits(estate, agreement):
                raise Departed(f"what {decision.leaver} has left with this party does not fit. Plan a new run.")
            node.inherit(estate)

    def leaver(self, stage: int) -> int | None:
        """Without whom a stage goes on."""
        if (decision := self.decision) is None or decision.kind not in ("dropped", "adopted") or stage < decision.stage:
            return None
        return self.config.names.index(decision.leaver)

    def settles(self, stage: int) -> bool:
        """Whether the route of a stage must not change: parties say where they stand, or all have accepted its end."""
        return self.undecided or (self.decision is not None and stage < self.decision.stage)

    def close(self) -> list[str]:
        """The run is over: nobody's escrow is needed any more, and these are the rows of all of them."""
        self.kept.clear()
        return self.journal.under(ESCROW)

    # What is told to the outside

    def status(self) -> dict[str, Any] | None:
        """Who says that somebody has left, and who has yet to."""
        if self.leaving.leaver is None:
            return None
        decision = self.decision
        return {
            "party": self.leaving.leaver,
            "agreed": sorted(self.leaving.statements),
            "missing": self.leaving.missing,
            "decision": None if decision is None else decision.kind,
            "sentence": self.leaving.progress,
        }

    def result(self) -> dict[str, Any]:
        """Whose rows are in the answer, and who has left."""
        left: list[dict[str, Any]] = []
        covers = list(self.config.names)
        if (decision := self.decision) is not None:
            if decision.kind == "dropped":
                covers.remove(decision.leaver)
            rows = "without its rows" if decision.kind == "dropped" else "with its rows"
            entry = {"party": decision.leaver, "stage": decision.stage, "how": decision.kind, "answer": rows}
            if decision.kind == "dropped":
                entry["privacy"] = f"pads that were shared with {decision.leaver} hide nothing: it counts as corrupt"
            left.append(entry)
        return {"covers": covers, "left": left}


def _fits(estate: Array, agreement: Agreement) -> bool:
    """Whether it could be the estate of a party in this agreement."""
    d = len(agreement.node.x)
    Q, w = estate[:-d], estate[-d:]
    if agreement.node.form is None or len(Q) not in (1, d * d):
        return False
    smallest = np.linalg.eigvalsh(Q.reshape(d, d))[0] if len(Q) == d * d else Q[0]
    largest = agreement.sizes.largest
    return bool(smallest >= 0 and np.abs(Q).max() <= largest and np.abs(w).max() <= largest)
