"""A journal that was damaged: right, or refused with a sentence; never another answer, never new keys in silence."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from runtime.trial import Trial, edit, journal_of, prepare, results_of, status, wait_for

import sottovoce as sv
from sottovoce.errors import JournalError
from sottovoce.runtime.journal import FORMAT, Journal
from sottovoce.runtime.keys.edge_secrets import EDGE
from sottovoce.runtime.keys.identity import load
from sottovoce.runtime.plan.node_file import NodeConfig, read_node_file

PAIR = sv.Network.from_edges(2, [(0, 1)])
KEY = bytes(range(32))


@pytest.fixture(scope="module")
def trials(tmp_path_factory) -> dict[str, Trial]:
    """Two parties that have finished, and two that were killed on their way, in the stage of the sums."""
    finished = prepare(tmp_path_factory.mktemp("finished"), PAIR)
    with finished.cluster() as cluster:
        cluster.start()
        results_of(cluster)
        assert cluster.wait(30.0) == {"p0": 0, "p1": 0}
    killed = prepare(tmp_path_factory.mktemp("killed"), PAIR, wake=30.0)
    with killed.cluster() as cluster:
        cluster.start()
        wait_for(lambda: status(cluster, "p0").get("stage", 0) == 1 and status(cluster, "p0")["wakes"] > 20)
        for name in cluster.names:
            cluster.kill(name, signal.SIGKILL)
    return {"finished": finished, "killed": killed}


def copy(trial: Trial, folder: Path) -> Trial:
    shutil.copytree(trial.folder, folder, ignore=shutil.ignore_patterns("*.sock"))
    return Trial(folder, trial.kind, trial.shards)


def config_of(trial: Trial, name: str = "p0") -> NodeConfig:
    return read_node_file(trial.folder / name / "node.toml")


def content(config: NodeConfig) -> dict[str, bytes | None]:
    """All that a party could read in it."""
    with journal_of(config) as journal:
        return {name: journal.get(name) for name in journal._sums}


def refused(config: NodeConfig) -> str:
    """The party does not start: status 2, and one line that says why."""
    command = [sys.executable, "-m", "sottovoce", "node", str(config.path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2, ended.stderr
    assert "Traceback" not in ended.stderr
    (line,) = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    return line


# Rot


@pytest.mark.parametrize("kind", ["finished", "killed"])
def test_flipped_bits_are_noticed_wherever_they_matter(trials, tmp_path, kind):
    """Some bits of every stretch of 16 bytes of the file: it tells what it told before, or nothing."""
    config = config_of(copy(trials[kind], tmp_path / "parties"))
    before, whole, dice = content(config), config.journal.read_bytes(), random.Random(1)
    assert any(name.startswith("answer/") for name in before)
    refusals = 0
    for place in range(0, len(whole), 16):
        flipped = bytearray(whole)
        flipped[place + dice.randrange(16)] ^= 1 << dice.randrange(8)
        config.journal.write_bytes(flipped)
        try:
            assert content(config) == before
        except JournalError:
            refusals += 1
    used = sum(len(value or b"") + len(name) for name, value in before.items())
    assert refusals > 0.8 * used / 16  # the rest of the file is room that nothing was written to


def test_a_flipped_bit_in_an_answer_ends_with_a_sentence(trials, tmp_path):
    """It changed everybody's answer once: the mean of stage 1 hangs on the number of rows of stage 0."""
    config = config_of(copy(trials["killed"], tmp_path / "parties"))
    with journal_of(config) as journal:
        answer = journal.get("answer/0/x")
    whole = bytearray(config.journal.read_bytes())
    assert whole.count(answer) >= 1  # more where pages that were split hold it still
    for place in range(len(whole)):
        if whole.startswith(answer, place):
            whole[place + 6] ^= 0x10  # in the exponent of its first number
    config.journal.write_bytes(whole)
    line = refused(config)
    assert "the journal is damaged: its seal does not fit" in line
    assert "all need a new run, with a new name and new journals" in line


@pytest.mark.parametrize("kind", ["finished", "killed"])
def test_a_truncated_journal_is_refused(trials, tmp_path, kind):
    config = config_of(copy(trials[kind], tmp_path / "parties"))
    whole = config.journal.read_bytes()
    for length in [0, 1, 50, 99, 100, 512, 4095, *range(4096, len(whole), 4096), len(whole) - 1]:
        config.journal.write_bytes(whole[:length])
        with pytest.raises(JournalError, match=r"journal\.sqlite: the journal"):
            journal_of(config)
        assert config.journal.stat().st_size == length  # nothing was made of it


@pytest.mark.parametrize("kind", ["finished", "killed"])
def test_overwritten_pages_are_refused(trials, tmp_path, kind):
    config = config_of(copy(trials[kind], tmp_path / "parties"))
    whole, dice = config.journal.read_bytes(), random.Random(2)
    for page in range(0, len(whole), 4096):
        for junk in (bytes(4096), dice.randbytes(4096), whole[:4096] if page else whole[4096:8192]):
            config.journal.write_bytes(whole[:page] + junk + whole[page + 4096 :])
            with pytest.raises(JournalError):
                journal_of(config)


def test_an_empty_journal_gets_no_new_keys(trials, tmp_path):
    config = config_of(copy(trials["killed"], tmp_path / "parties"))
    config.journal.write_bytes(b"")
    assert "the journal is damaged: it is empty" in refused(config)
    assert config.journal.read_bytes() == b""
    config.journal.unlink()
    beside = config.journal.with_name("journal.sqlite-wal")
    beside.write_bytes(b"x")
    assert "it is gone, but its journal.sqlite-wal is there" in refused(config)
    assert not config.journal.exists()


# Rows


def change(config: NodeConfig, *statements: str) -> None:
    """As somebody with SQLite, and without the key."""
    database = sqlite3.connect(config.journal)
    for statement in statements:
        assert database.execute(statement).rowcount > 0
    database.commit()
    database.close()


SWAPPED = (
    "UPDATE blobs SET name = 'x' WHERE name = 'answer/0/x'",
    "UPDATE blobs SET name = 'answer/0/x' WHERE name = 'answer/0/wakes'",
    "UPDATE blobs SET name = 'answer/0/wakes' WHERE name = 'x'",
)
DAMAGES = {
    "swapped": SWAPPED,
    "deleted": ("DELETE FROM blobs WHERE name = 'edge/p1/mac'",),
    "renamed": ("UPDATE blobs SET name = 'edge/p1/maC' WHERE name = 'edge/p1/mac'",),
    "added": ("INSERT INTO blobs VALUES ('answer/1/x', x'00')",),
    "text": ("UPDATE blobs SET value = 'ten' WHERE name = 'data'",),
    "number": ("UPDATE blobs SET value = 1099511627776 WHERE name = 'data'",),
    "no seal": ("DELETE FROM blobs WHERE name = 'seal'",),
    "a seal of a number": ("UPDATE blobs SET value = 7 WHERE name = 'seal'",),
    "a format of a number": ("UPDATE blobs SET value = 7 WHERE name = 'format'",),
    "not made": ("DELETE FROM blobs WHERE name = 'made'",),
    "all": ("DELETE FROM blobs",),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_rows_that_changed_are_refused(trials, tmp_path, damage):
    config = config_of(copy(trials["killed"], tmp_path / "parties"))
    change(config, *DAMAGES[damage])
    before = config.journal.read_bytes()
    with pytest.raises(JournalError, match="the journal is damaged"):
        journal_of(config)
    assert config.journal.read_bytes() == before


def test_a_row_of_an_older_time_is_refused(tmp_path):
    """It was right once, and by itself nothing is wrong with it."""
    path, old = tmp_path / "journal.sqlite", tmp_path / "old.sqlite"
    with Journal(path, KEY) as journal:
        journal.put({"stage/0/x": b"before", "answer": b"none"})
    shutil.copy(path, old)
    with Journal(path, KEY) as journal:
        journal.put({"stage/0/x": b"after"})
    database = sqlite3.connect(path)
    database.execute("ATTACH ? AS old", (str(old),))
    database.execute("UPDATE blobs SET value = (SELECT value FROM old.blobs o WHERE o.name = blobs.name) "
                     "WHERE name = 'stage/0/x'")  # fmt: skip
    database.commit()
    database.close()
    with pytest.raises(JournalError, match="its seal does not fit"):
        Journal(path, KEY)


def test_a_row_that_changes_while_it_is_used(tmp_path):
    with Journal(tmp_path / "journal.sqlite", KEY) as journal:
        journal.put({"a": b"1", "b": b"2"})
        journal.database.execute("UPDATE blobs SET value = x'33' WHERE name = 'a'")
        journal.database.execute("DELETE FROM blobs WHERE name = 'b'")
        for name in ("a", "b"):
            with pytest.raises(JournalError, match="a row has changed"):
                journal.get(name)


# Whose it is


def test_the_journal_of_another_party_is_refused(trials, tmp_path):
    trial = copy(trials["killed"], tmp_path / "parties")
    own, other = config_of(trial, "p0"), config_of(trial, "p1")
    shutil.copy(other.journal, own.journal)
    assert "or it is another party's" in refused(own)


def test_a_neighbour_without_a_key_gets_no_other(tmp_path):
    """Where neighbours are those of the run, which the journal is of, a key that is not there is lost."""
    trial = prepare(tmp_path, sv.Network.complete(3))
    config = config_of(trial)
    process = subprocess.Popen([sys.executable, "-m", "sottovoce", "node", str(config.path)], stderr=subprocess.DEVNULL)
    try:
        wait_for(config.socket.exists)
    finally:
        process.kill()
        process.wait()
    with journal_of(config) as journal:
        assert journal.get(f"{EDGE}p2/private")
        journal.put({}, [f"{EDGE}p2/private"])
    assert "there is no key for p2, which this journal had" in refused(config)


def test_a_journal_of_another_version(trials, tmp_path):
    config = config_of(copy(trials["finished"], tmp_path / "parties"))
    with journal_of(config) as journal:
        assert journal.get("format") == FORMAT
    config.journal.unlink()
    database = sqlite3.connect(config.journal)  # as the first version wrote it
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("CREATE TABLE blobs (name TEXT PRIMARY KEY, value BLOB NOT NULL)")
    database.execute("INSERT INTO blobs VALUES ('format', ?)", (b"sottovoce journal 1",))
    database.commit()
    database.close()
    assert "this is a journal of another version of sottovoce" in refused(config)


# How it is made


@pytest.mark.parametrize("step", ["mkstemp", "link", "fsync"])
def test_a_crash_while_it_is_made_leaves_none_or_a_whole_one(tmp_path, monkeypatch, step):
    path = tmp_path / "journal.sqlite"

    class Crash(BaseException):
        pass

    def crash(*_: object, **__: object) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr("tempfile.mkstemp" if step == "mkstemp" else f"os.{step}", crash)
        with pytest.raises(Crash):
            Journal(path, KEY)
    assert path.exists() == (step == "fsync")
    with Journal(path, KEY) as journal:
        assert journal.new
        assert journal.get("format") == FORMAT
        journal.made()
        assert not journal.new
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert sorted(file.name for file in tmp_path.iterdir()) == ["journal.sqlite"]
    with Journal(path, KEY) as journal:
        assert not journal.new


def test_its_key_hangs_on_the_private_key_alone(trials):
    own, other = (load(config_of(trials["finished"], name).identity) for name in ("p0", "p1"))
    assert own.derive("journal") == load(config_of(trials["finished"], "p0").identity).derive("journal")
    assert len({own.derive("journal"), own.derive("other"), other.derive("journal")}) == 3
    assert len(own.derive("journal")) == 32


def test_killed_parties_go_on_from_it(trials, tmp_path):
    """What the other tests damage is otherwise good."""
    trial = copy(trials["killed"], tmp_path / "parties")
    for i in range(2):
        edit(trial.folder / f"p{i}" / "node.toml", "wake = 30.0", 'wake = "eager"')
    with trial.cluster() as cluster:
        cluster.start()
        results_of(cluster)
        trial.check(cluster)


def test_what_is_put_survives_a_power_cut(tmp_path):
    """As far as SQLite can promise it: by default it waits for the disk (here no other test does)."""
    code = "import sys; from sottovoce.runtime.journal import Journal; j = Journal(sys.argv[1], bytes(32)); "
    code += "print(j.database.execute('PRAGMA synchronous').fetchone())"
    command = [sys.executable, "-c", code, str(tmp_path / "journal.sqlite")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "(2,)"  # FULL


def test_what_is_put_together_is_written_together(tmp_path):
    path, key = tmp_path / "journal.sqlite", bytes(32)
    with Journal(path, key) as journal:
        before = journal.database.total_changes
        with journal.together():
            journal.put({"a": b"1"})
            journal.put_arrays("b", {"x": np.ones(2)})
            journal.put({"a": b"2"})
            assert journal.get("a") == b"2"
            assert journal.database.total_changes == before
        with suppress(ZeroDivisionError), journal.together():
            journal.put({"a": b"3"})
            raise ZeroDivisionError
        assert journal.get("a") == b"2"
    with Journal(path, key) as journal:
        assert journal.get("a") == b"2"
        np.testing.assert_array_equal(journal.get_arrays("b")["x"], np.ones(2))
