"""What a journal tells to whoever finds it, without the party's private key and its data: the party's sums while they
are needed, and nothing of them afterwards."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime.trial import Trial, edit, journal_of, prepare

import sottovoce as sv
from sottovoce.errors import JournalError
from sottovoce.pdmm.modular_mask import joined, limb_width
from sottovoce.runtime import retention
from sottovoce.runtime.agent import Agent
from sottovoce.runtime.journal import Journal
from sottovoce.runtime.keys.edge_secrets import EdgeSecrets
from sottovoce.runtime.plan.node_file import NodeConfig, read_node_file
from sottovoce.runtime.process import serve
from sottovoce.runtime.protocol.link import digest
from sottovoce.runtime.transport.in_memory import Hub
from sottovoce.statistics.agreements import NUMBERS, UNIT
from sottovoce.sums import whole

PAIR = sv.Network.from_edges(2, [(0, 1)])
KEY = bytes(range(32))
MASKED = 1  # the stage of the sums; of a cost it is the only one


def config_of(trial: Trial, name: str = "p0") -> NodeConfig:
    return read_node_file(trial.folder / name / "node.toml")


def rows_in(path: Path) -> dict[str, bytes]:
    """As a finder reads it: no key, no seal."""
    database = sqlite3.connect(path)
    try:
        return dict(database.execute("SELECT name, value FROM blobs").fetchall())
    finally:
        database.close()


def uncovered(path: Path, masked: int = MASKED) -> list[int] | np.ndarray | None:
    """The sums of p0, from its journal alone; None where that does not hold what it takes."""
    rows = rows_in(path)
    if f"stage/{masked}/epoch.x" not in rows or "edge/p1/chain" not in rows:
        return None
    run = json.loads(rows["parameters"])
    edge = EdgeSecrets(digest(rows["parameters"].decode()), "p0", "p1")
    edge._theirs, chain = rows["edge/p1/theirs"], rows["edge/p1/chain"]
    edge._stage, edge._chain = int.from_bytes(chain[:4], "little"), chain[4:]
    if edge._stage > masked:
        return None
    x, D = (np.frombuffer(rows[f"stage/{masked}/epoch.{name}"]) for name in ("x", "D.1"))
    w = -(2 + run["c"]) * x + D  # A = -1 at the party of index 0
    if "cost" in run:
        pads = edge.pads(masked, "p0", len(x), sv.GaussianMask(run["cost"]["mask"]["variance"]))
        return np.asarray((-pads - w) / 2)
    width = limb_width(64, 2)
    limbs = np.rint(-w / 2).astype(np.uint64)
    words = joined(limbs, len(limbs) // -(-64 // width), width).reshape(-1, NUMBERS.width)
    pad = edge.words(masked, words.size, 64).reshape(words.shape)
    return NUMBERS.integers(NUMBERS.subtract(words, pad)).tolist()


class Watched:
    """Notes every key and state that a party has had."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.private: set[bytes] = set()
        self.chains: list[bytes] = []
        self.states: set[bytes] = set()
        self.saves = 0  # in the stage of the sums
        meet, next_stage, save = EdgeSecrets.meet, EdgeSecrets.next_stage, Agent.save

        def meeting(edge: EdgeSecrets, theirs: bytes) -> None:
            if edge.own == "p0" and edge._private:
                self.private |= {edge._private[:32], edge._private[32:64], edge._private[64:]}
            meet(edge, theirs)
            if edge.own == "p0" and edge._chain not in self.chains:
                self.chains.append(edge._chain)

        def going_on(edge: EdgeSecrets, stage: int) -> dict[str, bytes]:
            rows = next_stage(edge, stage)
            if edge.own == "p0":
                self.chains.append(edge._chain)
            return rows

        def saving(agent: Agent) -> None:
            if agent.config.name == "p0" and agent.party.agreement is not None and agent.party.stage == MASKED:
                state = agent.party.agreement.state()
                self.states |= {state[name].tobytes()[:16] for name in state if name[0] == "D" or ".D." in name}
                self.states.discard(bytes(16))  # at the beginning
                self.saves += 1
            save(agent)

        monkeypatch.setattr(EdgeSecrets, "meet", meeting)
        monkeypatch.setattr(EdgeSecrets, "next_stage", going_on)
        monkeypatch.setattr(Agent, "save", saving)


def play(trial: Trial, until: Any = None, faults: Any = None) -> None:
    """Both parties in this process, to the end, or until something is so: then they are gone as by ``kill -9``."""

    async def both() -> None:
        hub = Hub(faults)
        configs = {name: config_of(trial, name) for name in ("p0", "p1")}
        parties = [
            asyncio.create_task(serve(configs[name], hub.transport(name, [other])))
            for name, other in (("p0", "p1"), ("p1", "p0"))
        ]
        while not all(party.done() for party in parties) and not (until and until()):
            await asyncio.sleep(0.005)
        for name, party in zip(configs, parties, strict=True):
            if until:
                hub.kill(name)
            party.cancel()
        ended = await asyncio.gather(*parties, return_exceptions=True)
        assert until or ended == [0, 0], ended

    asyncio.run(asyncio.wait_for(both(), 60.0))


@pytest.fixture
def trial(tmp_path) -> Trial:
    return prepare(tmp_path, PAIR)


def record(trial: Trial) -> None:
    for name in ("p0", "p1"):
        edit(trial.folder / name / "node.toml", "[party]\n", '[party]\nrecord = "trace.jsonl"\n')


def test_a_journal_that_keeps_its_keys_tells_the_sums(trial, monkeypatch, caplog):
    """The control, and why all this is done: to the last digit, from the file alone. A recorded party keeps them."""
    caplog.set_level(logging.INFO)
    record(trial)
    watched = Watched(monkeypatch)
    play(trial)
    path, rows = config_of(trial).journal, trial.shards[0]
    sums = whole(rows, [UNIT] * rows.shape[1]).sum(axis=0)
    assert uncovered(path) == [len(rows), *sums.tolist(), 0]  # the last one says that it did not object
    raw = path.read_bytes()
    assert watched.chains[0] in raw
    assert any(state in raw for state in watched.states)
    assert not any(key in raw for key in watched.private if key)  # the replay needs none of them
    assert "record is set: the journal keeps its keys" in caplog.text
    with journal_of(config_of(trial)) as journal:
        assert journal.get(retention.OVER) is None


def test_a_finished_journal_tells_nothing(trial, monkeypatch, caplog):
    caplog.set_level(logging.INFO)
    watched = Watched(monkeypatch)
    play(trial)
    path = config_of(trial).journal
    rows = rows_in(path)
    assert uncovered(path) is None
    assert {name.split("/")[0].rstrip("#") for name in rows} == {
        "answer", "data", "format", "made", "over", "parameters", "result", "seal"
    }  # fmt: skip
    assert len(watched.chains) == 3  # before, between and after the two stages
    assert watched.states
    raw = b"".join(file.read_bytes() for file in path.parent.glob("journal.sqlite*") if file.is_file())
    for secret in (*watched.private, *watched.chains, *watched.states):
        assert not secret or secret not in raw
    assert caplog.text.count("all neighbours know the end; the keys of this run are deleted") == 2


@pytest.mark.parametrize("recorded", [True, False])
def test_real_numbers_under_gaussian_pads(tmp_path, recorded):
    """Of a cost a journal tells as much while it has its keys, and nothing afterwards."""
    trial = prepare(tmp_path, PAIR, "averaging", rows=1)
    if recorded:
        record(trial)
    play(trial)
    found = uncovered(config_of(trial).journal, masked=0)
    if recorded:
        np.testing.assert_allclose(found, trial.shards[0][0], rtol=0, atol=1e-9)  # rounding at the size of the pads
    else:
        assert found is None


def test_between_stages_only_what_is_over_is_gone(trial, monkeypatch):
    """Killed in the stage of the sums: the keys and the state of the stage before are gone, and the run goes on."""
    watched = Watched(monkeypatch)
    play(trial, until=lambda: watched.saves)
    path = config_of(trial).journal
    rows, raw = rows_in(path), path.read_bytes()
    assert not [name for name in rows if name.startswith(("stage/0", "spent/0")) or name.endswith("private")]
    assert f"stage/{MASKED}#" in rows
    assert watched.chains[0] not in raw
    assert watched.chains[1] in raw
    assert not [key for key in watched.private if key and key in raw]
    play(trial)
    assert uncovered(path) is None
    for name in ("p0", "p1"):
        result = json.loads(config_of(trial, name).result.read_text())
        np.testing.assert_allclose(result["answer"]["mean"], trial.answer, rtol=0, atol=1e-9)


def test_a_neighbour_that_has_not_heard_is_told_without_the_keys_of_stages(trial, monkeypatch):
    """After the result only the key for MACs is left, and the party can be started again for its neighbour."""
    watched = Watched(monkeypatch)
    monkeypatch.setattr(
        "sottovoce.runtime.protocol.party.Party._ends", lambda *_: None
    )  # nobody notices that others know
    play(trial, until=lambda: all(config_of(trial, name).result.exists() for name in ("p0", "p1")))
    path = config_of(trial).journal
    rows, raw = rows_in(path), path.read_bytes()
    assert uncovered(path) is None
    assert [name for name in rows if name.startswith("edge/")] == ["edge/p1/mac", "edge/p1/offer", "edge/p1/theirs"]
    assert not [key for key in (*watched.chains, *watched.states) if key in raw]
    assert "over" not in rows
    monkeypatch.undo()
    play(trial)
    assert "over" in rows_in(path)


# After the end


def again(config: NodeConfig) -> dict[str, Any]:
    """Another start, on a network where nobody may be spoken to; what it tells its operator."""
    told: list[dict[str, Any]] = []
    assert asyncio.run(asyncio.wait_for(serve(config, Silent(), told.append), 10.0)) == 0
    (result,) = told
    return result


class Silent:
    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name}: a party whose run is over has opened a port")


def test_another_start_says_that_it_is_over(trial, caplog):
    caplog.set_level(logging.INFO)
    play(trial)
    config = config_of(trial)
    before = config.result.read_bytes()
    assert again(config) == json.loads(before)
    assert f"this run is over, and all neighbours know; the result is in {config.result}" in caplog.text
    config.result.unlink()
    assert again(config) == json.loads(before)
    assert config.result.read_bytes() == before
    config.result.write_bytes(before.replace(b"converged", b"diverged!"))
    with pytest.raises(JournalError, match=r"result\.json is not what this run has come to"):
        again(config)
    config.result.write_bytes(before)
    text = config.data.read_text()
    config.data.write_text(text.replace("2.", "3.", 1))
    with pytest.raises(JournalError, match="the data changed since this run began"):
        again(config_of(trial))


# The file


def history(path: Path, seed: int) -> set[bytes]:
    """A journal in which rows came, changed and went at random; what it once held and holds no more."""
    dice, live, ever = random.Random(seed), {}, set()
    with Journal(path, KEY) as journal:
        journal.database.execute("PRAGMA synchronous=OFF")  # the disk is not what is tested
        for _ in range(300):
            name = f"{dice.choice(['stage/0', 'answer/1', 'edge'])}/{dice.randrange(80)}"
            if live and dice.random() < 0.3:
                name = dice.choice(list(live))
                journal.put({}, [name])
                del live[name]
            else:
                live[name] = dice.randbytes(dice.randrange(16, 300))
                journal.put({name: live[name]})
                ever |= {live[name][:16], live[name][-16:]}
    return ever - {part for value in live.values() for part in (value[:16], value[-16:])}


def test_what_is_dropped_is_gone_from_the_file(tmp_path):
    """Also the copies that SQLite leaves where it moves rows from page to page. The file is swept when it is opened
    again, as after a crash before the sweep."""
    left = 0
    for seed in range(4, 9):
        path = tmp_path / f"{seed}.sqlite"
        gone = history(path, seed)
        raw = path.read_bytes()
        left += sum(part in raw for part in gone)
        with Journal(path, KEY) as journal:
            assert not journal.under("unswept")
        raw = path.read_bytes()
        assert not [part for part in gone if part in raw]
    assert left  # or there would be nothing to sweep
    assert len(list(tmp_path.iterdir())) == 5


def test_rows_are_written_and_dropped_together_or_not_at_all(tmp_path):
    with Journal(tmp_path / "journal.sqlite", KEY) as journal:
        journal.put({"stage/0/x": b"state", "spent/0": b"1"})
        journal.database.execute("CREATE TRIGGER full BEFORE INSERT ON blobs WHEN NEW.name = 'answer/0/x' "
                                 "BEGIN SELECT RAISE(ABORT, 'disk full'); END")  # fmt: skip
        with pytest.raises(JournalError, match="the state cannot be written: disk full"):
            journal.put({"answer/0/x": b"2"}, ["stage/0/x", "spent/0"])
        assert (journal.get("stage/0/x"), journal.get("answer/0/x")) == (b"state", None)
        journal.database.execute("DROP TRIGGER full")
        journal.put({"answer/0/x": b"2"}, ["stage/0/x", "spent/0", "never there"])
        assert (journal.get("stage/0/x"), journal.get("spent/0"), journal.get("answer/0/x")) == (None, None, b"2")
