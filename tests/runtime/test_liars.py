"""Whole parties with a neighbour that lies, or that was restored from a backup: a right answer, or a sentence; never a
wrong answer with status 0."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime.among_liars import LONG, Company, Once, all_accept, company, leave, of_size, refused_at, run
from runtime.trial import ACCURACY, Trial, edit, journal_of, prepare, status, wait_for

import sottovoce as sv
from sottovoce.errors import JournalError
from sottovoce.runtime.agent import GIVE_UP, Agent
from sottovoce.runtime.ending import PARTING
from sottovoce.runtime.protocol.agreement import JUMP, Agreement, Contradiction
from sottovoce.runtime.protocol.frames import Body, Goodbye, Snapshot, Value

RING = sv.Network.ring(5)
HONEST = ("p1", "p2", "p3", "p4")
FOLLOWS = "has ended, because this run cannot be finished"
FORGOTTEN = "p0 has forgotten what it has said"


async def play(made: Company) -> dict[str, Any]:
    made.start()
    try:
        return await made.ends(*HONEST)
    finally:
        await leave(made)


LIES = {
    "all accept": Once("p0", Value, 6, all_accept(5)),
    "all accept, in a masked stage": Once("p0", Value, 6, all_accept(5), stage=1),
    "all accept a stage that has not begun": Once("p0", Value, 6, all_accept(5, later=1)),
    "a number of 1e200": Once("p0", Value, 6, of_size(1e200), stage=1),
    "a number of 1.7e308": Once("p0", Value, 6, of_size(1.7e308), stage=1),
    "a frozen number of 1e200": Once("p0", Snapshot, 1, of_size(1e200), stage=1),
    "the last epoch": Once("p0", Value, 6, refused_at(2**53 - 1), stage=1),
}


@pytest.mark.parametrize("lie", LIES)
def test_one_lie_changes_no_answer(tmp_path, lie, caplog):
    """A party, honest before and after. What it says once is refused, and forgotten."""
    with company(prepare(tmp_path, RING), LIES[lie]) as made:
        assert run(play(made)) == dict.fromkeys(HONEST, 0)
    errors = made.errors()
    assert set(errors) >= set(HONEST)
    assert max(errors.values()) <= ACCURACY
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize("stage", [0, 1])
def test_a_number_that_could_be_honest(tmp_path, stage):
    """1e20 is no larger than data could be. As times fall, the run forgets it, or settles at numbers of that size: then
    what rounding leaves is not what ``tol`` promises, and that is no answer."""
    with company(prepare(tmp_path, RING), Once("p0", Value, 6, of_size(1e20), stage=stage)) as made:
        ends = run(play(made))
    for name, end in ends.items():
        if end == 0:
            assert made.errors()[name] <= ACCURACY
        else:
            with pytest.raises(Contradiction, match=f"the messages have settled at numbers of 1e|{FOLLOWS}"):
                raise end


@pytest.mark.parametrize(
    ("lie", "sentence"),
    [
        (all_accept(5), r"p0 says that (p\d) has accepted epoch 1, and \1 has not signed that"),
        (of_size(1e200), r"p0 sent a number of size 1e\+200; .* is more than this run has"),
        (refused_at(JUMP + 1), "p0 is in epoch 1048577, this party in 0: no run gets there"),
    ],
    ids=["a verdict", "a size", "an epoch"],
)
def test_who_insists_on_a_lie_ends_the_run_and_is_named(tmp_path, lie, sentence):
    """Its neighbours end, and theirs: status 2, and no answer anywhere."""
    insisting = Once("p0", Value, 6, lie, stage=1, always=True)
    with company(prepare(tmp_path, RING), insisting) as made:
        ends = run(play(made))
    assert made.errors() == {}
    assert {type(end) for end in ends.values()} == {Contradiction}
    named = [str(end) for end in ends.values() if FOLLOWS not in str(end)]
    assert named
    for told in named:
        with pytest.raises(Contradiction, match=sentence):
            raise Contradiction(told)


def test_counts_that_are_no_whole_numbers_are_no_answer(tmp_path):
    """A party that contributes half a row: everybody agrees on limbs that decode to nothing."""
    trial = prepare(tmp_path, RING)
    with company(trial) as made, pytest.MonkeyPatch.context() as patch:
        from sottovoce.runtime import network_agreements

        limbs, calls = network_agreements.split, []

        def halved(*given: Any) -> np.ndarray:
            calls.append(given)
            return limbs(*given) + (0.5 if len(calls) == 1 else 0.0)

        patch.setattr(network_agreements, "split", halved)
        ends = run(play(made))
    assert made.errors() == {}
    for end in ends.values():
        with pytest.raises(Contradiction, match=f"are no whole numbers|{FOLLOWS}"):
            raise end


def test_a_dispute_ends_everybody(tmp_path):
    """p0 wants something else. A neighbour that has seen that for half a minute ends, and the others with it."""
    trial = prepare(tmp_path, RING)
    edit(trial.folder / "p0" / "node.toml", "theta = 0.8", "theta = 0.7")
    ended: dict[str, float] = {}

    async def timed(made: Company) -> dict[str, Any]:
        made.start()
        for name, task in made.tasks.items():
            task.add_done_callback(lambda _, name=name: ended.setdefault(name, asyncio.get_running_loop().time()))
        return await made.ends()

    with company(trial) as made:
        ends = run(timed(made))
    assert made.errors() == {}
    assert "means another run: theta is 0.7 here and 0.8 there" in str(ends.pop("p0"))
    told = {name: str(end) for name, end in ends.items()}
    assert any("p0 means another run: theta is 0.8 here and 0.7 there" in said for said in told.values())
    assert all("p0 means another run" in said or FOLLOWS in said for said in told.values())
    assert FOLLOWS in told["p2"]
    assert FOLLOWS in told["p3"]
    assert max(ended.values()) < GIVE_UP + 2 * PARTING


# A journal from a backup


def in_stage(stage: int, wakes: int) -> Callable[[Agent | None], bool]:
    def there(agent: Agent | None) -> bool:
        agreement = None if agent is None or agent.party.stage != stage else agent.party.agreement
        return agreement is not None and agreement.wakes >= wakes and not agreement.done

    return there


async def roll_back(made: Company, copy: Path, copied: Callable[..., bool], back: Callable[..., bool]) -> dict:
    """p0's journal is copied at one moment, and put back, after a crash, at another."""
    made.start()
    try:
        async with asyncio.timeout(LONG):
            while not copied(made.agents.get("p0")):
                await asyncio.sleep(0.003)
            made.copy_journal("p0", copy)
            while not back(made.agents["p0"]):
                await asyncio.sleep(0.003)
            await made.crash("p0")
            made.put_back("p0", copy)
            made.start("p0")
        return await made.ends()
    finally:
        await leave(made)


def test_a_goodbye_that_is_lost_is_said_again(tmp_path):
    """The connection breaks as p0 says that it gives up: to have sent it is not to have told it."""
    lost: set[str] = set()
    insisting = Once("p0", Value, 6, of_size(1e200), stage=1, always=True)

    def lie(sender: str, receiver: str, body: Body) -> list[Body]:
        if isinstance(body, Goodbye) and receiver == "p2" and len(lost) < 2 and sender not in lost:
            lost.add(sender)
            made.hub.cut(sender, receiver)
            made.hub.heal(sender, receiver)
            return []
        return insisting(sender, receiver, body)

    with company(prepare(tmp_path, RING), lie) as made:
        ends = run(play(made))
    assert lost == {"p1", "p3"}
    assert {type(end) for end in ends.values()} == {Contradiction}


@pytest.mark.parametrize(("copied", "back"), [((1, 6), (2, 3)), ((0, 2), (2, 3))], ids=["one stage", "two stages"])
def test_a_journal_restored_from_an_older_copy(tmp_path, copied, back, caplog):
    """The party says what happened and what to do, and so do its neighbours; nobody has an answer."""
    trial = prepare(tmp_path, sv.Network.ring(4), "robust")
    with company(trial) as made:
        ends = run(roll_back(made, tmp_path / "copy", in_stage(*copied), in_stage(*back)))
    assert made.errors() == {}
    with pytest.raises(Contradiction, match="the journal here was restored from an older copy: restore the newest one"):
        raise ends.pop("p0")
    for name in ("p1", "p3"):
        with pytest.raises(Contradiction, match="The journal of p0 was restored from an older copy"):
            raise ends[name]
    with pytest.raises(Contradiction, match=FOLLOWS):
        raise ends["p2"]
    assert "Traceback" not in caplog.text


def test_an_older_copy_of_the_same_stage_does_no_harm_before_anything_was_accepted(tmp_path):
    trial = prepare(tmp_path, sv.Network.ring(4), "linear")
    with company(trial) as made:
        ends = run(roll_back(made, tmp_path / "copy", in_stage(1, 3), in_stage(1, 20)))
    assert set(ends.values()) == {0}
    assert max(made.errors().values()) <= ACCURACY


async def until_it_ends(made: Company, name: str) -> Any:
    made.start()
    try:
        return (await made.ends(name))[name]
    finally:
        await leave(made)


def test_an_answer_that_was_never_accepted_is_not_read_from_a_journal(tmp_path):
    """As earlier versions wrote it, with an infinite residual."""
    trial = prepare(tmp_path, RING)
    answer = {"x": np.zeros(2), "epoch": [1.0], "wakes": [6.0], "residual": [np.inf], "proofs": np.zeros((0, 20))}
    answer |= {"route": [], "digest": []}
    with company(trial) as made:
        for config in made.configs.values():  # of all: an answer that one alone has is noticed as they meet
            with journal_of(config) as journal:
                journal.put_arrays("answer/0", {name: np.array(value) for name, value in answer.items()})

        with pytest.raises(JournalError, match="the answer of stage 0 is none that this party has accepted"):
            raise run(until_it_ends(made, "p1"))


def test_a_state_that_is_not_finite_is_never_written(tmp_path, monkeypatch):
    """It would be there again at every restart."""
    state = Agreement.state

    def broken(own: Agreement) -> dict[str, np.ndarray]:
        spoilt = own.node.i == 1 and own.wakes > 3
        return state(own) | ({"x": np.array([np.inf, 0.0])} if spoilt else {})

    monkeypatch.setattr(Agreement, "state", broken)
    with company(prepare(tmp_path, RING)) as made:
        end = run(until_it_ends(made, "p1"))
    with pytest.raises(JournalError, match="a state with numbers that are not finite is not written"):
        raise end
    with journal_of(made.configs["p1"]) as journal:
        saved = journal.get_arrays("stage/0")
    assert saved is not None
    assert all(np.isfinite(array).all() for array in saved.values())


def test_a_rollback_of_a_process(tmp_path):
    """Real processes: status 2 and one sentence at the party itself; nobody has a result."""
    trial: Trial = prepare(tmp_path, sv.Network.complete(3), "robust", wake=25.0)
    own, copy = trial.folder / "p0", tmp_path / "copy"
    with trial.cluster() as cluster:
        cluster.start()
        wait_for(lambda: (told := status(cluster, "p0")).get("stage") == 1 and told["wakes"] > 5)
        cluster.kill("p0")
        copy.mkdir()
        for path in own.glob("journal.sqlite*"):
            if path.suffix != ".sock":
                shutil.copy(path, copy)
        cluster.start(["p0"])
        wait_for(lambda: status(cluster, "p0").get("stage") == 2)
        cluster.kill("p0")
        for path in copy.iterdir():
            shutil.copy(path, own)
        cluster.start(["p0"])
        assert cluster.wait(60) == dict.fromkeys(cluster.names, 2)
        assert not cluster.results()
        for name in cluster.names:
            (error,) = [line for line in cluster.log(name).splitlines() if line.startswith("error: ")]
            # Whoever meets p0 says whose journal it is; whoever hears of it first, that a neighbour has ended.
            known = ["the journal here was restored from an older copy"] if name == "p0" else [FORGOTTEN, FOLLOWS]
            assert any(words in error for words in known)
            assert "Traceback" not in cluster.log(name)
