"""What a party does once: it writes the parameters down, ends its journal, and takes a goodbye for what it is."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from runtime.edges import met
from runtime.leavers import Stage
from runtime.test_party import Triangle, through_stage_0

import sottovoce as sv
from sottovoce.runtime.agent import Agent
from sottovoce.runtime.journal import Journal
from sottovoce.runtime.plan.node_file import NodeConfig
from sottovoce.runtime.protocol.agreement import Contradiction
from sottovoce.runtime.protocol.frames import Goodbye, Leave
from sottovoce.runtime.protocol.leaving_state import ESCROW, Departure
from sottovoce.runtime.protocol.party import FINISHED, HOPELESS
from sottovoce.runtime.retention import RESULT

RING = sv.Network.ring(3)


@pytest.fixture
def triangle(identities) -> Triangle:
    return Triangle(identities)


def test_the_parameters_are_written_down_once(tmp_path, monkeypatch):
    """By whoever reads the node file; keys, signatures, hellos and the journal take them from there."""
    stage, made = Stage(tmp_path, RING), []
    make = NodeConfig.parameters
    monkeypatch.setattr(NodeConfig, "parameters", lambda config: made.append(config.name) or make(config))

    async def plot(stage: Stage) -> None:
        stage.start()

    assert len(stage.play(plot)) == 3
    assert made.count("p0") <= 1


def test_a_neighbour_that_dials_after_the_end_is_told_and_makes_no_noise(tmp_path, caplog):
    """The keys of stages are gone then, and nothing is left in trust with anybody."""
    caplog.set_level(logging.INFO)

    async def plot(stage: Stage) -> None:
        stage.start()
        await stage.until(lambda: "p0" in stage.agents and stage.agents["p0"].result is not None)
        for other in ("p1", "p2"):
            stage.hub.cut("p0", other)
        await asyncio.sleep(0.05)
        for other in ("p1", "p2"):
            stage.hub.heal("p0", other)

    stage = Stage(tmp_path, RING)
    assert len(stage.play(plot)) == 3
    assert not [record for record in caplog.records if record.exc_info]
    assert caplog.text.count("all neighbours know the end") == 3


def test_after_the_end_a_neighbour_hears_the_goodbye(triangle):
    through_stage_0(triangle)
    ann = triangle.parties["ann"]
    left = lambda stage, node: (stage, np.ones(4))  # noqa: E731
    ann.departure = SimpleNamespace(statements=[], dropped=set(), escrow=left)  # type: ignore[assignment]
    link = ann.links["bob"]
    link.secrets = met("ann", "bob")
    link.secrets.last_stage()
    triangle.connect("ann", "bob")
    link.farewell = FINISHED
    said = []
    while (frame := ann.next_frame("bob")) is not None:
        said.append(triangle.parties["bob"].links["ann"].receive(frame))
    assert said[-1] == Goodbye(FINISHED)


def test_a_neighbour_that_went_and_is_back_is_waited_for_again(triangle):
    through_stage_0(triangle)
    ann, bob = triangle.parties["ann"], triangle.parties["bob"].links["ann"]
    ann.over.clear()
    ann.received("bob", bob._sealed(Goodbye(HOPELESS)))
    assert ann.waited_for == {"cat"}
    triangle.connect("ann", "bob")
    assert ann.waited_for == {"bob", "cat"}
    ann.received("bob", bob._sealed(Goodbye(FINISHED)))
    triangle.connect("ann", "bob")
    assert ann.waited_for == {"cat"}  # it has its answer, whether it is there or not


def test_the_journal_ends_in_one_transaction(tmp_path, identities, monkeypatch):
    """What others left in trust is there until the result is, and not a moment longer."""
    names, puts = ("ann", "bob", "cat"), []
    config: Any = SimpleNamespace(
        names=names, keys=names, question=SimpleNamespace(stages=2), parameters=dict, run_hash=bytes(32),
        result=tmp_path / "result.json",
    )  # fmt: skip
    with Journal(tmp_path / "journal.sqlite", bytes(32)) as journal:
        departure = Departure(config, identities["ann"], journal)
        departure.keep("bob", 0, np.ones(3))
        party: Any = SimpleNamespace(departure=departure, journal=journal, config=config, secrets=[], recorder=None)
        put = journal.put
        monkeypatch.setattr(journal, "put", lambda blobs, drop=(): puts.append(blobs) or put(blobs, drop))
        Agent.write_result(party, {"status": "converged"})
        assert [[*blobs] for blobs in puts] == [[RESULT]]
        assert journal.under(ESCROW) == []


def test_who_insists_on_an_impossible_leaver_is_counted(triangle):
    def hear(said: Leave) -> bool:
        raise Contradiction("passed on that two have left.")

    ann, bob = triangle.parties["ann"], triangle.parties["bob"].links["ann"]
    ann.departure = SimpleNamespace(possible=True, hear=hear)  # type: ignore[assignment]
    for times in (1, 2):
        with pytest.raises(Contradiction, match="bob passed on that two have left"):
            ann.received("bob", bob._sealed(Leave("cat", "bob", 0, 0, 0, 0, False, False, b"x")))
        assert [*ann.contradictions] == [("bob", "leave")]
        assert ann.insists["bob"] == times
