"""A party that tells its neighbours different things, where all that they hear of each other comes through it: honest
parties have one answer, or none."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime.among_liars import Company, company, leave, run
from runtime.trial import prepare

import sottovoce as sv
from sottovoce.runtime.agent import Agent
from sottovoce.runtime.protocol.agreement import Contradiction
from sottovoce.runtime.protocol.answers import Rounded
from sottovoce.runtime.protocol.frames import Body, Snapshot, Value, Verdict, decode
from sottovoce.runtime.protocol.link import Link, News

# Agreements before the last one.
LAST = {"averaging": 0, "mean": 1}


def moved(numbers: np.ndarray, by: float) -> np.ndarray:
    """One of the numbers is larger by so much; of the limbs of a statistic, that of a sum."""
    return numbers + by * (np.arange(len(numbers)) == len(numbers) - max(1, len(numbers) // 4))


def side(name: str) -> int:
    """Half of the others hear more, half hear less."""
    return 1 if int(name[1:]) % 2 else -1


def two_faced(liar: str, n: int, kind: str) -> Any:
    """It keeps to the protocol otherwise, and to what it told everybody. Who is at the end of a star, and divides by 4,
    finds an answer that has moved by ``1 / n``: sums of whole numbers stay whole."""
    stage = LAST[kind]

    def lie(sender: str, receiver: str, body: Body) -> list[Body]:
        if sender == liar and isinstance(body, Value | Snapshot) and body.stage == stage:
            return [body._replace(data=moved(body.data, 4 * side(receiver) / n))]
        return [body]

    return lie


async def play(made: Company, honest: list[str]) -> dict[str, Any]:
    made.start()
    try:
        return await made.ends(*honest)
    finally:
        await leave(made)


def answers(made: Company, honest: list[str]) -> set[str]:
    """Those that honest parties have written down."""
    told = [json.loads(made.configs[name].result.read_text()) for name in honest if made.configs[name].result.exists()]
    return {json.dumps(result["answer"]) for result in told}


def among(folder: Path, n: int, kind: str, liar: str) -> tuple[Company, list[str], dict[str, Any]]:
    with company(prepare(folder, sv.Network.complete(n), kind, overlay="tree"), two_faced(liar, n, kind)) as made:
        honest = [name for name in made.configs if name != liar]
        return made, honest, run(play(made, honest))


@pytest.mark.parametrize("kind", LAST)
@pytest.mark.parametrize("n", [4, 5])
def test_a_liar_on_every_way_between_the_others(tmp_path, n, kind):
    """The network is complete, the overlay a star around the liar. Without signatures of the answer all others ended
    with status 0, and with two answers."""
    made, honest, ends = among(tmp_path, n, kind, "p0")
    assert made.configs["p1"].route.root == 0
    assert len(answers(made, honest)) <= 1
    assert all(isinstance(end, Exception) for end in ends.values()), ends


# A liar that knows what everybody would sign


def fitting(made: Company, liar: Agent, stage: int, *, shows: bool) -> None:
    """From now on the liar tells each neighbour an answer that is the neighbour's own, and signs it, with all the
    signatures of it that others have; what others sign it believes. It ``shows`` them signatures of another answer, or
    hides these."""
    party, acceptances, n = liar.party, liar.party.acceptances, len(made.configs)
    known: dict[tuple[int, bytes], dict[int, bytes]] = {}  # genuine signatures, by epoch and digest
    told, received = party.news_for, party.received

    def news_for(link: Link) -> News:
        news, agreement, theirs = told(link), party.agreement, made.agents[link.name].party.agreement
        epochs = [None if one is None else one.epoch for one in (agreement, theirs)]
        if party.stage != stage or None in epochs or epochs[0].number != epochs[1].number:
            return news
        # One answer for each side, whose numbers differ in their last digits.
        same = min(name for name in made.agents if name != liar.config.name and side(name) == side(link.name))
        beside = getattr(made.agents[same].party.agreement, "epoch", None)
        if beside is None or beside.number != epochs[0].number:
            return news
        number, x = beside.number, beside.x
        found = agreement.told
        if not agreement.whole and found is None:
            return news
        answer = Rounded.whole(x, n) if agreement.whole else Rounded.of(x, found.step, found.salt)
        if not agreement.whole:
            news.answer = (stage, number, answer.as_array())
        own = known.setdefault((number, answer.digest), {})
        if party.index not in own:
            own[party.index] = acceptances.sign(stage, number, answer.digest, route=agreement.tag)
        digest, others = answer.digest, [of for at, of in known if at == number and of != answer.digest]
        if shows and own.keys() <= epochs[1].proofs.keys():  # after all of its own
            new = [of for of in others if known[number, of].keys() - epochs[1].claims.keys()]
            digest = new[0] if new else digest
        news.verdicts = [Verdict(stage, number, False, dict(known[number, digest]), agreement.tag, digest)]
        return news

    def heard(neighbour: str, frame: bytes) -> bool:
        body = decode(frame)
        if isinstance(body, Verdict) and body.stage == stage and not body.no:
            known.setdefault((body.epoch, body.answer), {}).update(body.acceptances)
            return True
        return received(neighbour, frame)

    party.news_for, party.received = news_for, heard  # type: ignore[method-assign]


async def play_smart(made: Company, honest: list[str], stage: int, *, shows: bool) -> dict[str, Any]:
    made.start()
    try:
        while len(made.agents) < len(made.configs):
            await asyncio.sleep(0.001)
        fitting(made, made.agents["p0"], stage, shows=shows)
        for _ in range(300):  # a minute
            await asyncio.wait([made.tasks[name] for name in honest], timeout=0.2)
            made.agents["p0"].tell()
        return {name: made.tasks[name].exception() if made.tasks[name].done() else None for name in honest}
    finally:
        await leave(made)


@pytest.mark.parametrize("shows", [False, True], ids=["hides", "shows"])
@pytest.mark.parametrize("kind", LAST)
@pytest.mark.parametrize("n", [4, 5])
def test_a_liar_that_signs_to_each_what_fits(tmp_path, n, kind, shows):
    """In the middle of a star. Each of the others finds its own answer signed by the liar, and by those who were told
    the same; but not by the others. Where it never hears of them it waits, as for one that is away."""
    stage = LAST[kind]
    with company(prepare(tmp_path, sv.Network.complete(n), kind, overlay="tree"), two_faced("p0", n, kind)) as made:
        honest = [name for name in made.configs if name != "p0"]
        ends = run(play_smart(made, honest, stage, shows=shows))
    assert not answers(made, honest)
    if shows:
        assert all(isinstance(end, Contradiction) for end in ends.values()), ends
        assert any("has accepted another answer of epoch" in str(end) for end in ends.values()), ends
        return
    for name in honest:
        epoch = made.agents[name].party.agreement.epoch
        same = {0, *(int(other[1:]) for other in honest if side(other) == side(name))}
        assert epoch.proofs.keys() == same, name
    assert set(ends.values()) == {None}
