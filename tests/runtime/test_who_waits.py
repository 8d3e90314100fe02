"""``status`` says for whom a party waits, since when and why, as its operator understands it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from runtime.trial import Trial, prepare

import sottovoce as sv
from sottovoce.cli.status import status_facts
from sottovoce.runtime import operator_status
from sottovoce.runtime import process as process_module
from sottovoce.runtime.agent import Agent
from sottovoce.runtime.operator_status import UNREACHED, lasted
from sottovoce.runtime.plan.node_file import read_node_file
from sottovoce.runtime.process import serve
from sottovoce.runtime.protocol.frames import Value, Verdict, decode
from sottovoce.runtime.transport.in_memory import Faults, Hub

SOON = 30.0  # seconds: a busy machine is late


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    """Three parties, each of which is the neighbour of both others."""
    return prepare(tmp_path, sv.Network.complete(3), overlay="tree")


@pytest.fixture
def agents(monkeypatch: pytest.MonkeyPatch) -> dict[str, Agent]:
    found: dict[str, Agent] = {}

    class Known(Agent):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            found[self.config.name] = self

    monkeypatch.setattr(process_module, "Agent", Known)
    return found


def play(
    trial: Trial, names: Iterable[str], agents: dict[str, Agent], asked: str, until: Callable[[str], bool],
    faults: Faults | None = None,
) -> str:  # fmt: skip
    """What the party that is asked says of its waiting, once that is so."""

    async def run() -> str:
        hub = Hub(faults)
        configs = [read_node_file(trial.folder / name / "node.toml") for name in names]
        parties = [
            asyncio.create_task(serve(c, hub.transport(c.name, [other.name for other in c.neighbours])))
            for c in configs
        ]
        try:
            async with asyncio.timeout(SOON):
                while True:
                    told = agents[asked].status()["waiting"] if asked in agents else None
                    if told is not None and until(told):
                        return re.sub(r"for \d+ s", "for T", told)
                    await asyncio.sleep(0.02)
        finally:
            for party in parties:
                party.cancel()
            await asyncio.gather(*parties, return_exceptions=True)

    return asyncio.run(run())


def test_a_party_that_nobody_reaches_says_so(trial, agents, monkeypatch, caplog):
    monkeypatch.setattr(operator_status, "PATIENCE", 0.2)
    told = play(trial, ["p1"], agents, "p1", lambda _: UNREACHED in caplog.text)
    assert told.startswith("waits for p0 (not connected yet; for T) and p2 (nobody answers for p2; for T). ")
    assert told.endswith(UNREACHED)
    assert caplog.text.count(UNREACHED) == 1  # once both were missed


def test_a_party_that_does_not_answer(trial, agents):
    told = play(trial, ["p0", "p1"], agents, "p1", lambda told: "p0" not in told)
    assert told == "waits for p2 (nobody answers for p2; for T)."


def test_a_party_that_should_call(trial, agents):
    """Which nobody else can do for it: perhaps this one's port is closed to it."""
    told = play(trial, ["p1", "p2"], agents, "p1", lambda told: "p2" not in told)
    listen = read_node_file(trial.folder / "p1" / "node.toml").listen
    assert told == (
        f"waits for p0 (not connected yet; for T). p0 must call this party: ask whether {listen} is open to them."
    )


def test_a_neighbour_that_is_there_and_says_nothing(trial, agents):
    def silent(sender: str, receiver: str, frame: bytes) -> list[tuple[float, bytes]]:
        return [] if sender == "p2" and isinstance(decode(frame), Value) else [(0.0, frame)]

    told = play(trial, ["p0", "p1", "p2"], agents, "p0", lambda told: "to say" in told and "p1" not in told, silent)
    assert told.startswith("waits for what p2 has to say in agreement 1, for T. They are connected")


def test_a_party_that_does_not_accept(trial, agents):
    def never(sender: str, receiver: str, frame: bytes) -> list[tuple[float, bytes]]:
        said = decode(frame)
        return [] if isinstance(said, Verdict) and 2 in said.acceptances else [(0.0, frame)]

    told = play(trial, ["p0", "p1", "p2"], agents, "p0", lambda told: told.startswith("waits for p2 to accept"), never)
    assert told == "waits for p2 to accept agreement 1, for T."


def test_a_neighbour_that_has_not_heard_the_end(trial, agents):
    """Of the last agreement, the one with number 1, p0 does not hear that p2 accepts it."""

    def never(sender: str, receiver: str, frame: bytes) -> list[tuple[float, bytes]]:
        said = decode(frame)
        last = isinstance(said, Verdict) and said.stage == 1 and 2 in said.acceptances
        return [] if last and receiver == "p0" else [(0.0, frame)]

    told = play(trial, ["p0", "p1", "p2"], agents, "p2", lambda told: "it is over" in told and "p1" not in told, never)
    assert told == "waits for p0 to hear that it is over"


def test_the_command_says_it():
    assert status_facts({"waiting": "waits for p1 (away; for 3 s)."})["now"] == "it waits for p1 (away; for 3 s)."
    assert "now" not in status_facts({"waiting": None})
    assert "now" not in status_facts({})  # a party of another version


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "0 s"), (99, "99 s"), (120, "2 min"), (5400, "90 min"), (7200, "2 h")]
)
def test_times_as_people_say_them(seconds, words):
    assert lasted(seconds) == words
