"""A party leaves for good: the others go on without it, or stand in for it, or end with a sentence; never silently, and
never with a wrong answer."""

from __future__ import annotations

import asyncio
import itertools
import json
from functools import partial
from importlib.resources import files
from types import SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import pytest
from runtime.judged import signature, signed
from runtime.leavers import Stage
from runtime.test_party import Triangle
from runtime.trial import ACCURACY, COLUMNS, COSTS, Trial, prepare, status, wait_for
from runtime.two_worlds import asked_of
from typer.testing import CliRunner, Result

import sottovoce as sv
from sottovoce.cli.app import app
from sottovoce.data.number_columns import NumberColumns
from sottovoce.errors import InvalidInput, PeerError
from sottovoce.runtime.drop import drop
from sottovoce.runtime.journal import Journal
from sottovoce.runtime.keys.identity import public_key
from sottovoce.runtime.protocol.agreement import Agreement, Contradiction
from sottovoce.runtime.protocol.frames import Leave, decode, encode
from sottovoce.runtime.protocol.leaving import Departed, Leaving, decide
from sottovoce.runtime.protocol.leaving_state import ESCROW, Departure
from sottovoce.statistics.agreements import PooledAgreements
from sottovoce.statistics.of_tables import run_on_tables

SCHEMA = json.loads((files("sottovoce.runtime") / "result.schema.json").read_text())
RING = sv.Network.ring(4)
HELLO, OPENING = 1, 6  # how these frames begin
HOUSE = sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (3, 4)])


def check(stage: Stage, results: dict[str, Any], leaver: str, how: str) -> None:
    rest = [name for name in stage.configs if name != leaver]
    assert sorted(results) == rest, stage.refused
    without = [leaver] if how == "dropped" else []
    for name in rest:
        result = results[name]
        jsonschema.validate(result, SCHEMA)
        np.testing.assert_allclose(result["answer"]["mean"], stage.mean(*without), rtol=0, atol=ACCURACY)
        assert result["covers"] == [other for other in stage.configs if other not in without]
        assert [entry["party"] for entry in result["left"]] == [leaver]
        assert result["left"][0]["how"] == how
        assert result["left"][0]["answer"] == ("without its rows" if without else "with its rows")


@pytest.mark.parametrize("network", [RING, HOUSE], ids=["ring", "house"])
def test_one_that_never_came_is_dropped(tmp_path, network):
    async def plot(stage: Stage) -> None:
        rest = [name for name in stage.configs if name != "p2"]
        stage.start(*rest)
        await asyncio.sleep(3.0)
        for name in rest:
            stage.drop("p2", name)
            await asyncio.sleep(0.3)

    stage = Stage(tmp_path, network)
    check(stage, stage.play(plot), "p2", "dropped")


@pytest.mark.parametrize(("network", "after"), [(RING, 0.0), (HOUSE, 0.03), (RING, 0.1)])
def test_one_that_leaves_in_the_last_stage_is_adopted(tmp_path, network, after):
    async def plot(stage: Stage) -> None:
        stage.start()
        await stage.until(lambda: stage.heard("p2") == 2)
        await asyncio.sleep(after)
        await stage.kill("p2")
        for name in stage.tasks:
            stage.drop("p2", name)
            await asyncio.sleep(0.3)

    stage = Stage(tmp_path, network)
    check(stage, stage.play(plot), "p2", "adopted")


def test_one_that_leaves_too_early_ends_the_run(tmp_path):
    async def plot(stage: Stage) -> None:
        stage.start()
        await stage.until(lambda: stage.heard("p2") == 1)
        await stage.kill("p2")
        stage.drop("p2", *stage.tasks)

    stage = Stage(tmp_path, RING)
    assert stage.play(plot) == {}
    for error in stage.refused.values():
        assert isinstance(error, Departed)
        assert "p2 has left for good, after it had brought its numbers to 1 of 2 agreements" in str(error)
        assert "discloses what p2 brought" in str(error)


def test_one_that_comes_back_is_told_and_ends(tmp_path):
    """From the statements themselves, which it can check: no neighbour could feign that."""

    async def plot(stage: Stage) -> None:
        stage.start()
        await stage.until(lambda: stage.heard("p2") == 2)
        await stage.kill("p2")
        stage.drop("p2", *stage.tasks)
        await asyncio.sleep(0.1)
        stage.start("p2")

    stage = Stage(tmp_path, RING)
    check(stage, stage.play(plot), "p2", "adopted")
    assert list(stage.refused) == ["p2"]
    assert "all other parties have agreed that this one has left for good" in str(stage.refused["p2"])


def test_one_that_was_dropped_and_comes_after_a_stage_is_over_ends_alone(tmp_path):
    """It has not accepted the end of that stage, and nobody says so, or it would look like one that forgot."""

    async def plot(stage: Stage) -> None:
        rest = [name for name in stage.configs if name != "p2"]
        stage.start(*rest)
        await asyncio.sleep(3.0)
        stage.drop("p2", *rest)
        await stage.until(lambda: all(0 in stage.agents[name].party.ended for name in rest))
        stage.start("p2")

    stage = Stage(tmp_path, RING)
    check(stage, stage.play(plot), "p2", "dropped")
    assert list(stage.refused) == ["p2"]
    assert "all other parties have agreed that this one has left for good" in str(stage.refused["p2"])


def test_one_that_comes_back_with_an_empty_journal_ends_alone(tmp_path):
    """While some have yet to say that it has left: those that have do not listen to it."""

    async def plot(stage: Stage) -> None:
        stage.start()
        await stage.until(lambda: stage.heard("p2") == 2)
        await stage.kill("p2")
        stage.configs["p2"].journal.unlink()
        stage.drop("p2", "p1", "p3")
        stage.start("p2")
        await asyncio.sleep(12.0)  # longer than anybody is listened to who says what cannot be true
        stage.drop("p2", "p0")

    stage = Stage(tmp_path, RING)
    check(stage, stage.play(plot), "p2", "adopted")
    assert list(stage.refused) == ["p2"]
    assert "knows another key of this party" in str(stage.refused["p2"])


def test_one_that_met_the_others_and_comes_back_ends_alone(tmp_path):
    """It has not accepted how the first stage ended without it; nobody minds."""

    async def plot(stage: Stage) -> None:
        stage.start()
        await stage.until(lambda: [agent.met.is_set() for agent in stage.agents.values()] == [True] * 4)
        await stage.kill("p2")
        stage.drop("p2", "p0", "p1", "p3")
        await stage.until(lambda: all(0 in stage.agents[name].party.ended for name in ("p0", "p1", "p3")))
        stage.start("p2")

    stage = Stage(tmp_path, RING)
    check(stage, stage.play(plot), "p2", "dropped")
    assert list(stage.refused) == ["p2"]
    assert "all other parties have agreed that this one has left for good" in str(stage.refused["p2"])


def test_crashes_while_the_others_agree(tmp_path):
    """Statements, what was heard, and escrows survive on the disk: also the heir's own crash."""

    async def plot(stage: Stage) -> None:
        stage.start()
        await stage.until(lambda: stage.heard("p2") == 2)
        await stage.kill("p2")
        for name in ("p1", "p3", "p0"):
            stage.drop("p2", name)
            await asyncio.sleep(0.01)
            await stage.kill(name)
            stage.start(name)
            await asyncio.sleep(0.6)
        await asyncio.sleep(0.3)
        await stage.kill("p1")
        await asyncio.sleep(0.1)
        stage.start("p1")

    stage = Stage(tmp_path, RING)
    check(stage, stage.play(plot), "p2", "adopted")
    assert stage.agents["p0"].decided.heir == "p1"


def test_two_leavers_are_one_too_many(tmp_path):
    """Nobody can agree then; it ends with a sentence, not with silence."""

    async def plot(stage: Stage) -> None:
        stage.start("p0", "p1", "p3")
        await asyncio.sleep(1.0)
        stage.hub.cut("p0", "p1")
        stage.hub.cut("p0", "p3")
        await asyncio.sleep(0.1)
        stage.drop("p2", "p1", "p3")
        stage.drop("p3", "p0")
        stage.hub.heal("p0", "p1")
        stage.hub.heal("p0", "p3")

    stage = Stage(tmp_path, RING)
    assert stage.play(plot) == {}
    assert len(stage.refused) == 3
    assert any("a run can lose one party" in str(error) for error in stage.refused.values())


def test_what_cannot_be_said(tmp_path):
    refused = {}

    async def plot(stage: Stage) -> None:
        stage.start("p0", "p1", "p3")
        await asyncio.sleep(1.0)
        for name in ("p9", "p0", "p1"):
            with pytest.raises(InvalidInput) as error:
                drop(stage.agents["p0"], name, sure=True)
            refused[name] = str(error.value)
        told = drop(stage.agents["p0"], "p2", sure=False)
        assert "0 of 2 agreements are over; p2 was not heard here" in told
        assert stage.agents["p0"].status()["leaving"] is None  # asking says nothing
        stage.drop("p2", "p0")
        assert stage.agents["p0"].status()["leaving"]["missing"] == ["p1", "p3"]
        for name in ("p2", "p3"):
            with pytest.raises(InvalidInput) as error:
                drop(stage.agents["p0"], name, sure=True)
            refused[f"{name} then"] = str(error.value)
        stage.drop("p2", "p1", "p3")

    stage = Stage(tmp_path, RING)
    check(stage, stage.play(plot), "p2", "dropped")
    assert "'p9' is none of the parties of the run: p0, p1, p2, p3" in refused["p9"]
    assert "p0 is this party itself" in refused["p0"]
    assert "p1 is there" in refused["p1"]
    assert "already said that p2 has left. It waits for the same command at: p1, p3" in refused["p2 then"]
    assert "already lost p2" in refused["p3 then"]


def silent(sender: str, receiver: str, frame: bytes) -> list[tuple[float, bytes]]:
    """Of p2 only its opening and its hello arrive."""
    return [(0.0, frame)] if sender != "p2" or frame[0] in (HELLO, OPENING) else []


@pytest.mark.parametrize("kind", ["mean", "averaging"])
def test_one_that_met_the_others_but_never_spoke_is_dropped(tmp_path, kind):
    """They have begun with pads that they share with it, modular ones or Gaussian ones, and begin anew without."""

    async def plot(stage: Stage) -> None:
        stage.start()
        await stage.until(lambda: stage.agents.get("p1") and stage.agents["p1"].status()["wakes"] > 5)
        await stage.kill("p2")
        stage.drop("p2", *stage.tasks)

    stage = Stage(tmp_path, HOUSE, kind, faults=silent)
    results = stage.play(plot)
    for result in results.values():
        answer = result["answer"]
        found = answer["mean"] if kind == "mean" else [answer[column] for column in COLUMNS]
        np.testing.assert_allclose(found, stage.mean("p2"), rtol=0, atol=ACCURACY)
        assert (result["covers"], len(result["left"])) == (["p0", "p1", "p3", "p4"], 1)
    assert sorted(results) == ["p0", "p1", "p3", "p4"]


@pytest.mark.parametrize("kind", ["averaging", "huber"])
def test_a_cost_has_one_stage_and_an_heir_if_it_is_quadratic(tmp_path, kind):
    async def plot(stage: Stage) -> None:
        stage.start()
        await stage.until(lambda: stage.heard("p2") == 1)
        await asyncio.sleep(0.02)
        await stage.kill("p2")
        stage.drop("p2", *stage.tasks)

    stage = Stage(tmp_path, RING, kind, rows=1, channels="open")
    results = stage.play(plot)
    if kind == "huber":
        assert results == {}
        assert len(stage.refused) == 3
        assert all("nobody who is left holds its escrow" in str(error) for error in stage.refused.values())
        return
    assert sorted(results) == ["p0", "p1", "p3"]
    for result in results.values():
        found = [result["answer"][column] for column in COLUMNS]
        np.testing.assert_allclose(found, stage.mean(), rtol=0, atol=ACCURACY)
        assert result["left"][0]["how"] == "adopted"


def test_those_who_are_left_share_the_whole_penalty(tmp_path):
    async def plot(stage: Stage) -> None:
        stage.start("p0", "p1", "p3")
        await asyncio.sleep(1.0)
        stage.drop("p2", *stage.tasks)

    stage = Stage(tmp_path, RING, "lasso")
    results = stage.play(plot)
    rows = np.concatenate([rows for i, rows in enumerate(stage.trial.shards) if i != 2])
    a, y = rows[:, 0], rows[:, 2]
    slope = (a @ y - COSTS["lasso"]["l1"] / 2) / (a @ a)  # where that is positive, as here: (ax - y)^2 + l1 |x|
    assert sorted(results) == ["p0", "p1", "p3"]
    for result in results.values():
        assert result["answer"]["a"] == pytest.approx(slope, rel=0, abs=ACCURACY)


@pytest.mark.parametrize("leaver_spoke", [False, True])
def test_a_histogram_has_one_stage(tmp_path, leaver_spoke):
    """Counts of the rest, or of all: limbs that are public, and an estate of them."""

    async def plot(stage: Stage) -> None:
        if leaver_spoke:
            stage.start()
            await stage.until(lambda: stage.heard("p2") == 1)
            await stage.kill("p2")
        else:
            stage.start("p0", "p1", "p3")
            await asyncio.sleep(1.0)
        stage.drop("p2", *stage.tasks)

    stage = Stage(tmp_path, RING, "histogram")
    results = stage.play(plot)
    shards = [rows for i, rows in enumerate(stage.trial.shards) if leaver_spoke or i != 2]
    counts, _ = np.histogram(np.concatenate(shards)[:, 0], [0.0, 2.0, 4.0])
    assert sorted(results) == ["p0", "p1", "p3"]
    for result in results.values():
        assert result["answer"]["counts"] == counts.tolist()
        assert result["left"][0]["how"] == ("adopted" if leaver_spoke else "dropped")


# One agreement

THEIRS = b"t" * 32  # the digest of an answer


def test_no_epoch_mixes_states_from_before_and_after():
    """Paused, a party neither enters nor accepts one; afterwards those from before are void."""
    node = sv.nodes_of(sv.averaging(sv.Network.complete(3), [1.0, 2.0, 6.0]), c=0.4, theta=0.8)[0]
    agreement = Agreement(node, 3, partial(signature, 0), tol=1e-6)
    r = np.zeros(1)
    agreement.telling.heard |= {1, 2}
    agreement.hear(1, 1, r)
    assert agreement.epoch.number == 1
    agreement.paused = True
    agreement.hear(2, 1, r)
    assert agreement.epoch.residual is None  # it could judge now
    agreement.hear(1, 2, r)
    assert not agreement.verdict(2, no=False, proofs=signed(2, 1, 2), answer=THEIRS)
    assert agreement.epoch.number == 1
    agreement.verdict(1, no=False, proofs=signed(1, 1, 2), answer=THEIRS)
    assert agreement.epoch.claims.keys() == {1, 2}  # what others say is kept
    assert agreement.epoch.ok == 0
    agreement.paused, agreement.absent = False, 0b100
    state = agreement.state() | {"absent": np.zeros(1)}
    agreement = Agreement(node, 3, partial(signature, 0), tol=1e-6, tag=b"r" * 16)
    agreement.absent = 0b100
    agreement.restore(state, 9)
    assert (agreement.epoch, agreement.current, agreement.done) == (None, 1, False)
    agreement.verdict_elsewhere(b"", 1, no=False, proofs=signed(1, 1, 2), answer=THEIRS)  # from before
    assert not agreement.done
    agreement.propose()
    assert agreement.epoch.number == 2
    agreement.epoch.heard |= agreement.epoch.D
    agreement.judge()
    assert agreement.epoch.ok == 0b001
    agreement.verdict(2, no=False, proofs=signed(2, 1), answer=agreement.epoch.digest)
    assert agreement.done  # without the one that left


# The decision alone


def said(signer: str, **more: Any) -> Leave:
    numbers = {"over": 0, "heard": 0, "escrow": 0, "epoch": 0, "accepted": False, "seen": False} | more
    return Leave("p3", signer, **numbers, signature=b"")


NAMES = ("p0", "p1", "p2", "p3")


@pytest.mark.parametrize(
    ("stages", "of", "kind", "more"),
    [
        (2, [{}, {}, {}], "dropped", {"stage": 0}),
        (2, [{}, {"epoch": 7}, {}], "dropped", {"stage": 0}),
        (2, [{}, {"heard": 1, "escrow": 1}, {}], "hopeless", {"begun": 1}),
        (1, [{}, {"heard": 1, "escrow": 1}, {"escrow": 1}], "adopted", {"heir": "p1", "stage": 0}),
        (1, [{}, {"heard": 1}, {}], "hopeless", {"begun": 1}),
        (2, [{"over": 1}, {"over": 1, "heard": 1}, {"over": 1}], "hopeless", {"stage": 1, "begun": 1}),
        (2, [{"over": 1}, {"over": 1, "heard": 2, "escrow": 1}, {"over": 1}], "hopeless", {"begun": 2}),
        (2, [{"over": 1, "epoch": 3}, {"heard": 2, "epoch": 9}, {"over": 1, "escrow": 2}], "adopted", {"stage": 1}),
        (2, [{"over": 2}, {"over": 1, "heard": 2, "escrow": 2}, {"over": 1}], "complete", {}),
        # All have accepted, and somebody knows that the leaver has: the stage ends by itself.
        (1, [{"epoch": 3, "accepted": True, "seen": i == 1, "escrow": 1} for i in range(3)], "complete", {}),
        (2, [{"epoch": 3, "accepted": True, "seen": i == 1} for i in range(3)], "hopeless", {"stage": 1, "begun": 1}),
        # Nobody knows, or not all have accepted: it does not.
        (1, [{"epoch": 3, "accepted": True, "heard": 1, "escrow": 1} for i in range(3)], "adopted", {"stage": 0}),
        # Equal epochs of different routes are different.
        (
            1,
            [
                {"epoch": 3, "accepted": True, "seen": True, "heard": 1, "escrow": 1, "route": b"r" * 16 * (i > 1)}
                for i in range(3)
            ],
            "adopted",
            {},
        ),
        (1, [{"epoch": 3, "accepted": i < 2, "seen": True, "heard": 1, "escrow": 1} for i in range(3)], "adopted", {}),
    ],
)
def test_everybody_decides_alike(stages, of, kind, more):
    statements = [said(f"p{i}", **numbers) for i, numbers in enumerate(of)]
    decisions = {decide(order, stages, NAMES) for order in itertools.permutations(statements)}
    assert len(decisions) == 1
    (decision,) = decisions
    assert decision.kind == kind
    assert {key: getattr(decision, key) for key in more} == more
    assert decision.sentence.startswith("p3 has left for good, ")


@pytest.mark.parametrize("kind", ["mean", "variance", "covariance", "histogram"])
def test_the_number_of_stages_is_known_beforehand(rng, kind):
    """Whether the stage under way is the last one decides what becomes of a run."""
    columns = ("a",) if kind == "histogram" else ("a", "b")
    more: dict[str, Any] = {"bins": [-1.0, 1.0]} if kind == "histogram" else {}
    question, alone = asked_of(kind, 3, columns=columns, **more), PooledAgreements(1)
    assert question.asked is not None
    table = question.asked.table(NumberColumns({name: rng.normal(size=20) for name in columns}))
    run_on_tables(question.asked, alone, [table])
    assert question.stages == len(alone.shown)


@pytest.fixture
def leavings(identities) -> dict[str, Leaving]:
    names = ("ann", "bob", "cat")
    keys = [public_key(identities[name].certificate) for name in names]
    return {name: Leaving(identities[name], names, keys, b"h" * 32, 2) for name in names}


STAND = {"over": 0, "heard": 0, "escrow": 0, "epoch": 0, "accepted": False, "seen": False}


def test_statements_are_checked_before_they_count(leavings, identities):
    ann, bob = leavings["ann"], leavings["bob"]
    statement = bob.sign("cat", **STAND)
    wrong = [
        statement._replace(heard=1),
        statement._replace(leaver="ann"),
        statement._replace(signer="cat", leaver="ann"),
        statement._replace(signer="mallory"),
        Leaving(bob.me, bob.names, bob.keys, bob.hash, 9).sign("cat", **STAND | {"over": 3}),  # has 2 stages
        Leaving(bob.me, bob.names, bob.keys, bob.hash, 2).sign("cat", **STAND | {"epoch": 2**50}),
        statement._replace(signature=identities["mallory"].sign(b"...")),
        Leaving(bob.me, bob.names, bob.keys, b"g" * 32, 2).sign("cat", **STAND),  # of another run
    ]
    for lie in wrong:
        with pytest.raises(PeerError, match="passed on"):
            ann.hear(lie)
    assert not ann.statements
    assert ann.hear(statement)
    assert not ann.hear(statement)
    assert ann.decision is None
    ann.sign("cat", **STAND)
    assert ann.decision.kind == "dropped"


@pytest.mark.parametrize(
    "fault",
    [{"leaver": ""}, {"signer": "a b"}, {"over": 2**32}, {"epoch": 2**53}, {"signature": b""},
     {"signature": b"x" * 73}, {"route": b"r"}],
)  # fmt: skip
def test_a_frame_is_bounded(leavings, fault):
    statement = leavings["bob"].sign("cat", **STAND)
    assert decode(encode(statement)) == statement
    with pytest.raises(InvalidInput, match="this party was about to send a leave"):
        encode(statement._replace(**fault))


def test_two_statements_of_one_party_are_a_contradiction(leavings):
    """However each was passed on; so no two parties can act on different ones and end."""
    ann, bob = leavings["ann"], leavings["bob"]
    other = Leaving(bob.me, bob.names, bob.keys, bob.hash, 2)
    ann.hear(bob.sign("cat", **STAND))
    with pytest.raises(Contradiction, match="bob, who has signed two that differ"):
        ann.hear(other.sign("cat", **STAND | {"heard": 1}))
    again = Leaving(bob.me, bob.names, bob.keys, bob.hash, 2).sign("cat", **STAND)
    assert not ann.hear(again)  # the same words, signed again


def test_who_has_left_has_no_say(leavings):
    """A leaver that says it of another one would otherwise end the run of the rest."""
    ann, bob, cat = (leavings[name] for name in ("ann", "bob", "cat"))
    late = cat.sign("bob", **STAND)
    ann.hear(bob.sign("cat", **STAND))
    ann.sign("cat", **STAND)
    assert not ann.hear(late)
    assert ann.decision.kind == "dropped"


def test_of_two_nobody_is_left(identities):
    pair = Leaving(identities["ann"], ("ann", "bob"), ("x", "y"), b"h" * 32, 2)
    with pytest.raises(InvalidInput, match="nobody is left to agree with"):
        pair.check("bob")


def test_of_two_nobody_is_told_that_one_has_left(leavings, identities):
    triangle = Triangle(identities)
    ann, bob = triangle.parties["ann"], triangle.parties["bob"].links["ann"]
    ann.departure = SimpleNamespace(possible=False)
    with pytest.raises(PeerError, match="bob says that cat has left; in this run nobody can"):
        ann.received("bob", bob._sealed(leavings["bob"].sign("cat", **STAND)))


@pytest.mark.parametrize(("names", "kept"), [(("ann", "bob"), []), (("ann", "bob", "cat"), ["bob"])])
def test_letters_are_kept_where_somebody_can_leave(tmp_path, identities, names, kept):
    question = SimpleNamespace(stages=2)
    config: Any = SimpleNamespace(names=names, keys=names, question=question, run_hash=bytes(32))
    with Journal(tmp_path / "journal.sqlite", bytes(32)) as journal:
        departure = Departure(config, identities["ann"], journal)
        departure.keep("bob", 0, np.ones(3))
        assert [*departure.kept] == kept
        assert bool(journal.under(ESCROW)) is bool(kept)


# Real parties


def run(trial: Trial, command: str, name: str, *more: str, answer: str | None = None) -> Result:
    """A command, as an operator gives it."""
    return CliRunner().invoke(app, [command, str(trial.folder / name / "node.toml"), *more], input=answer)


def test_killed_in_the_last_stage(tmp_path):
    trial = prepare(tmp_path, RING, wake=60.0)
    with trial.cluster() as cluster:
        cluster.start()
        for name in cluster.names:
            wait_for(lambda name=name: status(cluster, name).get("stage") == 1, what="the last stage")
        wait_for(lambda: status(cluster, "p1")["wakes"] > 20)
        cluster.kill("p3")
        asked = run(trial, "drop", "p0", "p3", answer="n\n")
        assert asked.exit_code == 1
        assert "p3 was heard in agreement 2; its escrow of agreement 2 is here" in asked.output
        assert run(trial, "drop", "p0", "p3", "--yes").exit_code == 0
        wait_for(lambda: status(cluster, "p1")["leaving"], what="the statement")
        assert "as p0 said. It waits for the same command at: p1, p2." in run(trial, "status", "p1").output
        assert run(trial, "drop", "p1", "p3", answer="y\n").exit_code == 0
        again = run(trial, "drop", "p1", "p3", "--yes")
        assert again.exit_code == 2
        assert "already said that p3 has left. It waits for the same command at: p2" in again.output
        assert "the answer is that of all" in run(trial, "drop", "p2", "p3", "--yes").output
        left = {name: process for name, process in cluster.processes.items() if name != "p3"}
        assert [process.wait(60) for process in left.values()] == [0, 0, 0]
        results = cluster.results()
        assert sorted(results) == ["p0", "p1", "p2"]
        for name, result in results.items():
            np.testing.assert_allclose(result["answer"]["mean"], trial.answer, rtol=0, atol=ACCURACY)
            assert result["covers"] == cluster.names
            assert "p3 left for good: the answer is with its rows" in cluster.log(name)


def test_dropped_before_it_came(tmp_path):
    trial = prepare(tmp_path, sv.Network.complete(3))
    with trial.cluster() as cluster:
        cluster.start(["p0", "p1"])
        for name in ("p0", "p1"):
            wait_for(lambda name=name: "up" in status(cluster, name).get("neighbours", {}).values())
        assert "p1 is there" in run(trial, "drop", "p0", "p1", "--yes").output
        for name in ("p0", "p1"):
            assert run(trial, "drop", name, "p2", "--yes").exit_code == 0
        assert [process.wait(60) for process in cluster.processes.values()] == [0, 0]
        for result in cluster.results().values():
            rest = np.concatenate(trial.shards[:2]).mean(axis=0)
            np.testing.assert_allclose(result["answer"]["mean"], rest, rtol=0, atol=ACCURACY)
            assert result["covers"] == ["p0", "p1"]
    nobody = run(trial, "drop", "p0", "p2", "--yes")
    assert nobody.exit_code == 2
    assert "The party does not run" in nobody.output
