"""A party on the network: an event loop around ``Party``. It brings the clock, the transport and the disk.

The statistic is an ordinary function, run in a thread, that asks for agreements one after the other and waits for each.
After a crash it runs again from the start: agreements that are over answer from the journal, the one under way goes on
from the last saved state with the same pads.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..costs import Cost
from ..costs.base import Array
from ..errors import JournalError, PeerError
from ..files.atomic import write_whole
from ..pdmm.masks import GaussianMask
from ..pdmm.result import Result, Status
from . import operator_status, retention, stage_node
from .admission import Door
from .drop import act
from .fallback import Fallback
from .journal import Journal
from .keys.edge_secrets import EdgeSecrets
from .keys.identity import Identity
from .own_noise import OwnNoise
from .plan.node_file import NodeConfig
from .protocol.acceptances import Acceptances, as_array, from_array
from .protocol.agreement import Agreement, Contradiction, Final
from .protocol.handshake import Disagreement, Handshake, LostJournal
from .protocol.leaving import Decision
from .protocol.leaving_state import Departure
from .protocol.link import Link, News
from .protocol.party import Party
from .protocol.past import tag_array, tag_of
from .protocol.stages import Ended
from .traces.trace import Recorder
from .transport.transport import Greeting, Transport
from .waiting import Waiting

log = logging.getLogger(__name__)

RESERVE = 1_000  # counters that are set aside on the disk at a time
SAVE_EVERY = 0.25  # seconds between two saved states, at least
SAVE_SHARE = 0.05  # of the time that saving may take
GATHER = 0.02  # seconds in which what others say is gathered before it is passed on
GIVE_UP = 30.0  # seconds after which parties stop that mean different runs
CONTRADICTED = 10.0  # seconds after which a party stops that hears what cannot be true, and nothing better
INSISTS = 5  # times, and then too, whatever else it says


class Changed(Exception):
    """A party has left for good: what an agreement is on must be made anew."""


class Agent:
    """One party: it is a ``transport.Handler``."""

    def __init__(self, config: NodeConfig, transport: Transport, identity: Identity, journal: Journal) -> None:
        self.config, self.transport, self.identity, self.journal = config, transport, identity, journal
        self.started, self.loop = time.time(), asyncio.get_running_loop()
        self.turn = asyncio.Event()  # something has happened that may call for a wake
        self.next_save, self.reserved = 0.0, 0
        self.unwritten = False  # whether the disk lacks something that others may hear of
        self.contradicted: dict[tuple[str, str], float] = {}  # since when neighbours say what cannot be true
        self.gathering = False  # whether something waits to be passed on
        self.parting = False  # whether nothing is left to do but to say so
        self.result: dict[str, Any] | None = None
        self.broken: Exception | None = None  # what went wrong where nobody could be told
        self.trouble = asyncio.Event()  # whether something has
        self.since = 0.0  # what the pace counts from: the end of the last stage here, or when all neighbours were met
        self.poisson = random.Random()  # of the clock; no secret
        self.recorder = Recorder(config.record, config) if config.record else None
        retention.own(config, journal)
        links = {}
        for neighbour in config.neighbours:
            secrets = EdgeSecrets.saved(journal, config.run_hash, config.name, neighbour.name)
            links[neighbour.name] = Link(
                identity, neighbour.name, neighbour.index, neighbour.certificate, config.run_text, secrets,
                authenticate=config.channels == "open",
            )  # fmt: skip
        self.noise = OwnNoise(config.question, identity, journal)
        journal.made()
        self.departure = Departure(config, identity, journal)
        self.missing = operator_status.Missing(self)
        self.decided: Decision | None = None  # what has been acted on
        acceptances = Acceptances(identity, config.names, config.keys, config.run_hash)
        self.fallback = Fallback(self, identity)
        self.party = Party(
            config.index, config.parties, links, acceptances, self.save, departure=self.departure,
            lost=self.fallback.lost, route=self.fallback.now[0],
        )  # fmt: skip
        self.waiting = Waiting(self.party, self.turn)
        # Before anybody is heard: neighbours may be in the stage after the last one that is over here.
        while (over := journal.get_arrays(f"answer/{self.party.stage + 1}")) is not None:
            route = tag_of(over["route"])
            epoch, proofs, digest = int(over["epoch"][0]), from_array(over["proofs"]), tag_of(over["digest"])
            self.party.skip(Ended(self.party.stage + 1, epoch, proofs, route, digest))
        self.party.over = dict.fromkeys(retention.told(journal), self.party.stage)
        self.door = Door(self.party, journal, self.fail, self.mark)
        self.door.remember(self.party.stage + 1, self._spent(self.party.stage + 1))
        self.met = self.door.met
        act(self)

    def _spent(self, stage: int) -> int:
        """Counters that were set aside."""
        return int.from_bytes(self.journal.get(f"spent/{stage}") or b"", "little")

    # transport.Handler

    def greet(self, neighbour: str) -> Handshake:
        return self.door.greet(neighbour, remember=not self.parting and neighbour not in self.party.gone)

    def refused(self, neighbour: str, error: PeerError) -> None:
        self.party.counts.refused += 1
        if neighbour in self.party.gone:  # nothing that it says can end the others
            log.warning("refused one that has left for good: %s", error, extra={"neighbour": neighbour})
        elif isinstance(error, Final):
            log.error("%s", error, extra={"neighbour": neighbour})
            self.fail(error)
        elif isinstance(error, LostJournal):  # it may find it again
            self.party.contradictions[neighbour, "hello"] = Contradiction(str(error))
            self.lose_patience()
        elif isinstance(error, Disagreement):  # which ends the run, unless it has begun here, or somebody mends it
            if self.door.disputed(neighbour, error) > GIVE_UP and not self.party.links[neighbour].secrets.met:
                self.fail(Contradiction(str(error)))
        else:
            log.warning("refused a connection: %s", error, extra={"neighbour": neighbour})

    def connected(self, neighbour: str, greeting: Greeting) -> None:
        assert isinstance(greeting, Handshake)
        log.info("connected", extra={"neighbour": neighbour})
        self.missing.stop(neighbour)
        self.door.settled(neighbour)
        self.lose_patience()
        self.party.connected(neighbour, greeting.nonces)
        self.transport.notify(neighbour)

    def disconnected(self, neighbour: str, reason: str) -> None:
        log.info("disconnected", extra={"neighbour": neighbour, "reason": reason})
        self.missing.begin([neighbour])
        self.fallback.away(neighbour)
        self.party.links[neighbour].forget()
        self.turn.set()

    def received(self, neighbour: str, frame: bytes) -> None:
        if self.parting:
            self.party.parting(neighbour, frame)
            return
        try:
            changed = self.party.received(neighbour, frame)
            if self.departure.news:
                act(self)
            if self.fallback.lost.news:
                self.fallback.act()
        except Final as error:
            log.error("%s", error, extra={"neighbour": neighbour})
            self.fail(error)
            raise
        except Contradiction:
            self.lose_patience()
            raise
        except PeerError as error:
            log.warning("refused a frame: %s", error, extra={"neighbour": neighbour})
            raise
        except JournalError as error:  # this party's trouble, not the neighbour's
            self.fail(error)
            return
        self.lose_patience()
        self.turn.set()
        if changed and self.party.sides:
            self.tell()
        elif changed:
            self.tell_soon()

    def lose_patience(self) -> None:
        """End where a neighbour has said what cannot be true, and nothing better for a while.

        It may lie, or it is this party that forgot: in both cases there is no answer, and there will be none."""
        loop, said = asyncio.get_running_loop(), self.party.contradictions
        if not said and not self.contradicted:
            return
        for key in said.keys() - self.contradicted.keys():
            if self.party.insists[key[0]] <= 1:
                log.error("%s", said[key], extra={"neighbour": key[0]})
            loop.call_later(CONTRADICTED, self.lose_patience)
        self.contradicted = {key: self.contradicted.get(key, loop.time()) for key in said}
        for (name, kind), since in self.contradicted.items():
            # Who has given up has been patient already, or everybody would be in turn.
            insists = kind == "goodbye" or self.party.insists[name] >= INSISTS
            if insists or loop.time() - since >= CONTRADICTED:
                self.fail(said[name, kind])

    def next_frame(self, neighbour: str) -> bytes | None:
        if self.unwritten or self.party.links[neighbour].secrets.fresh:
            return None  # what could not be written down must not be said
        if self.parting:
            link = self.party.links[neighbour]
            news = self.party.news_for(link)
            return link.next_frame(News(news.pads, leaves=news.leaves))  # which may be why
        return self.party.next_frame(neighbour)

    async def failure(self) -> None:
        """Waits for what goes wrong outside of an agreement, and raises it."""
        await self.trouble.wait()
        assert self.broken is not None
        raise self.broken

    def fail(self, error: Exception) -> None:
        """Something of this party itself is broken: it must stop."""
        self.broken = self.broken or error
        self.trouble.set()

    def tell(self) -> None:
        """There may be news for everybody."""
        for neighbour in self.party.links:
            self.transport.notify(neighbour)

    def tell_soon(self) -> None:
        """There is something to pass on. What others accept comes one by one at nearly the same time, and goes on
        together."""
        if not self.gathering:
            self.gathering = True
            asyncio.get_running_loop().call_later(GATHER, self._pass_on)

    def _pass_on(self) -> None:
        self.gathering = False
        self.tell()

    @property
    def secrets(self) -> list[EdgeSecrets]:
        """Of all neighbours that were met: of one that left before that there are none."""
        return [link.secrets for link in self.party.links.values() if link.secrets.met]

    @property
    def parties(self) -> int:
        """How many the answer is of, where one may have left for good."""
        return self.config.parties - len(self.departure.dropped)

    # Agreements

    async def agree(
        self, stage: int, cost: Cost | Callable[[], Cost], mask: GaussianMask | None, tol: float, size: float = 1.0
    ) -> Result:
        """Optimise with everybody else: one stage. Without a mask the cost must be public already, and averages whole
        numbers; it is made when all neighbours are met, if it takes pads, and not at all where the stage is over.
        ``size`` of what is agreed on is public. ``Changed``: a party has left, and the cost must be made anew."""
        saved = self.journal.get_arrays(f"answer/{stage}")
        if saved is not None:
            if not (residual := float(saved["residual"][0])) <= tol:
                raise JournalError(
                    f"{self.journal.path}: the answer of stage {stage} is none that this party has accepted. Agree on "
                    "a new run, with new journals."
                )
            return self.outcome(saved["x"], wakes=int(saved["wakes"][0]), residual=residual)
        self.departure.check()
        await self.met.wait()
        cost = cost() if callable(cost) else cost
        state, decision = self.journal.get_arrays(f"stage/{stage}"), self.decided
        route, tag = self.fallback.begin(stage, state)
        node = stage_node.node(self, stage, cost, mask, route, tag)
        sigma = 0.0 if mask is None else mask.sigma * self.fallback.rerouting.largest(tag)
        sign = partial(self.party.acceptances.sign, stage, route=tag)
        agreement = Agreement(
            node, self.config.parties, sign, tol=tol, sigma=sigma, size=size, route=route, tag=tag,
            salt=partial(self.party.acceptances.salt, stage, route=tag), names=self.config.names,
            whole=self.parties if mask is None else 0,
            folded=len(self.config.edges) - (0 if tag else len(route.edges)),
            turns=self.config.wake == "turns" and not tag,
        )  # fmt: skip
        self.departure.adapt(stage, agreement)
        spent = self._spent(stage)
        if state is not None:
            agreement.restore(state, spent)
        else:
            node.sent = spent
        await self.public_time(self.since)
        await self.still_hopeful()
        if self.decided is not decision or self.fallback.begin(stage, state)[1] != tag:
            raise Changed
        if self.recorder is not None:
            self.recorder.began(stage, node.sent, mask, state)
            if decision is not None:
                self.recorder.left(stage, decision.leaver)
            elif tag:
                self.recorder.rerouted(stage)
        self.reserved = spent
        log.info("stage begins", extra={"stage": stage, "dimension": cost.dim})
        agreement.paused = self.departure.undecided
        self.fallback.take(stage, route)
        self.fallback.note(stage, tag)
        self.party.begin(stage, agreement)
        self.fallback.look()
        self.lose_patience()
        await self.drive(agreement)
        if not agreement.done:
            raise Changed
        self.mark()
        self.party.finish()
        assert agreement.epoch is not None
        if not agreement.residual <= 1:  # whatever others say, there is no other way to an answer
            raise Contradiction(f"stage {stage} has ended with numbers that this party has not accepted.")
        numbers = {"epoch": agreement.epoch.number, "wakes": agreement.wakes, "residual": agreement.residual * tol}
        scalars = {name: np.array([float(value)]) for name, value in numbers.items()}
        answer = {"x": agreement.x, "proofs": as_array(agreement.epoch.proofs), **scalars}
        answer |= {"route": tag_array(agreement.tag), "digest": tag_array(agreement.epoch.digest)}
        others = self.departure.outdated(stage) + self.noise.outdated(stage)
        retention.stage_over(self.journal, self.secrets, stage, answer, others, keep=self.recorder is not None)
        log.info("stage is over", extra={"stage": stage, "wakes": agreement.wakes, "epoch": agreement.epoch.number})
        self.tell()
        return self.outcome(agreement.x, wakes=agreement.wakes, residual=agreement.residual * tol)

    def set_aside(self) -> None:
        """The stage under way is made anew: with other parties, or over another route."""
        self.save()
        self.party.set_aside()
        self.mark()
        self.turn.set()

    def mark(self) -> None:
        """Something has happened that others may know of, and from which they could measure how long data take."""
        self.since = asyncio.get_running_loop().time()

    async def public_time(self, since: float) -> None:
        """Until a multiple of the party's pace after ``since``: the next one, however long its own computation took.

        What a party says first in a stage would otherwise tell, by its time, how many rows were summed for it."""
        loop, pace = asyncio.get_running_loop(), self.config.pace
        beats = max(1, math.ceil((loop.time() - since) / pace))
        await asyncio.sleep(since + beats * pace - loop.time())

    def outcome(self, x: Array, *, wakes: int, residual: float) -> Result:
        """What one agreement came to at this party."""
        return Result(
            x=x[None, :], z=None, status=Status.CONVERGED, iterations=wakes, activations=wakes,
            messages=self.party.counts.sent, residual=residual, history={}, wall_time=self.seconds,
            c=np.array(self.config.route.c), theta=self.config.route.theta,
            seed=None, secret=True, arithmetic="collapsed",
        )  # fmt: skip

    async def still_hopeful(self) -> None:
        """Go no further where something is broken: what is on the disk is what others will judge this party by."""
        if self.broken is not None:
            await asyncio.Event().wait()  # until this is cancelled

    async def drive(self, agreement: Agreement) -> None:
        """Wake, again and again, until everybody has agreed that it is enough."""
        if agreement.telling.always:
            await self.wait(agreement)
        while not agreement.done and self.party.agreement is agreement:
            if agreement.hopeless is not None:
                self.fail(agreement.hopeless)
            await self.still_hopeful()
            if agreement.node.sent + 2 >= self.reserved:
                self.reserved = agreement.node.sent + RESERVE
                self.journal.put({f"spent/{self.party.stage}": self.reserved.to_bytes(8, "little")})
            if not agreement.calm:
                agreement.wake()
                self.save_now_and_then()
            if agreement.calm:
                agreement.propose()
                self.save()
            self.tell()
            await self.wait(agreement)

    async def wait(self, agreement: Agreement) -> None:
        """Until it is time to wake: after a random time, or once all neighbours have spoken."""
        if agreement.telling.always:
            await self.waiting.until_turn(agreement)
        elif isinstance(self.config.wake, str):  # also with turns, on a route that was not planned
            await self.waiting.until_due(agreement)
        else:
            await asyncio.sleep(self.poisson.expovariate(self.config.wake))

    # The disk

    def save(self) -> None:
        """Write the state of the agreement down."""
        agreement = self.party.agreement
        if agreement is not None and self.party.stage not in self.party.ended:  # of what is over nothing is kept
            began = time.monotonic()
            mark = self.fallback.mark() | ({} if self.recorder is None else self.recorder.mark())
            self.unwritten = True
            state = agreement.state()
            if not all(np.isfinite(array).all() for array in state.values()):
                raise JournalError(f"{self.journal.path}: a state with numbers that are not finite is not written.")
            self.journal.put_arrays(f"stage/{self.party.stage}", state | mark)
            self.unwritten = False
            took = time.monotonic() - began
            self.next_save = time.monotonic() + max(SAVE_EVERY, took / SAVE_SHARE)

    def save_now_and_then(self) -> None:
        """An older state does no harm: the iteration converges from anywhere."""
        if time.monotonic() >= self.next_save:
            self.save()

    def write_result(self, result: dict[str, Any]) -> None:
        """The result file, whole or not at all."""
        self.result = result
        text = json.dumps(result, indent=1, allow_nan=False) + "\n"
        write_whole(self.config.result, lambda path: Path(path).write_text(text, encoding="utf-8"))
        others, keep = self.departure.close(), self.recorder is not None
        retention.stages_over(self.journal, self.secrets, text.encode(), others, keep=keep)

    # What is told to the outside

    @property
    def seconds(self) -> float:
        """Since it was started."""
        return time.time() - self.started

    def status(self) -> dict[str, Any]:
        """What a running party says of itself; nothing secret."""
        return operator_status.status(self)
