"""Sweeps on disk: what is written, what goes on after a break, and what is never taken for data."""

from __future__ import annotations

import fcntl
import os
import resource
import stat
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import InvalidFile, InvalidInput, MissingExtra, PointsFailed
from sottovoce.sweeps import kept, pools
from sottovoce.sweeps.grid import settings_of
from sottovoce.sweeps.job import Job
from sottovoce.sweeps.sweep import about

parquet = pytest.importorskip("pyarrow.parquet")

RING = sv.Network.ring(5)
GRID = {"theta": [0.5, 1.0], "c": [0.5]}


def drawn(seed):
    return sv.averaging(RING, np.random.default_rng(seed).normal(size=5))


play = partial(sv.sweep, drawn, GRID, 4, jobs=1, engine="reference")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "sweep.parquet"


def parts(out: Path) -> list[Path]:
    return sorted(Path(f"{out}.parts").glob("part-*"))


class Break(BaseException):
    """As Ctrl-C, or the end of a job."""


@pytest.fixture
def broken(out):
    """A sweep that ended after five of its eight points: three were written one by one, two on the way out."""
    played = []

    def breaks(job, point):
        if len(played) == 5:
            raise Break
        played.append(point)
        return real(job, point)

    with pytest.MonkeyPatch.context() as patch:
        real = pools.play
        patch.setattr(pools, "play", breaks)
        patch.setattr(kept.Kept, "add", lambda self, row: (self.new.append(row), len(played) < 4 and self.write()))
        with pytest.raises(Break):
            play(out=out)
    return out


def told(found: sv.Sweep) -> dict[str, list]:
    """All columns but one, which are the same to the bit whoever plays."""
    return {name: cells for name, cells in found.columns.items() if name != "seconds"}


def count_plays(monkeypatch) -> list[int]:
    played, real = [], pools.play
    monkeypatch.setattr(pools, "play", lambda job, point: (played.append(point), real(job, point))[1])
    return played


def test_the_file_is_the_table(out):
    found = play(out=out)
    assert not Path(f"{out}.parts").exists()
    assert found.path == out
    table = parquet.read_table(out)
    assert table.to_pydict() == found.columns
    kinds = {name: str(table.schema.field(name).type) for name in table.column_names}
    assert kinds == {
        "point": "int64", "problem": "string", "theta": "double", "c": "double", "seed": "int64", "status": "string",
        "iterations": "int64", "activations": "int64", "messages": "int64", "residual": "double", "used_c": "double",
        "used_theta": "double", "warnings": "string", "failure": "string", "reason": "string", "seconds": "double",
    }  # fmt: skip
    pandas = pytest.importorskip("pandas")
    pandas.testing.assert_frame_equal(pandas.read_parquet(out), found.to_frame(), check_dtype=False)


def test_after_the_end_nothing_is_played_again(out, monkeypatch):
    found, written = play(out=out), out.read_bytes()
    played = count_plays(monkeypatch)
    again = play(out=out)
    assert again.columns == found.columns  # seconds, too
    assert (played, out.read_bytes()) == ([], written)
    assert not Path(f"{out}.parts").exists()


def test_after_a_break_the_same_call_goes_on(broken, monkeypatch):
    assert [len(parquet.read_table(part)) for part in parts(broken)] == [1, 1, 1, 2]
    assert len(parquet.read_table(parts(broken)[0].parent)) == 5  # a folder that readers of Parquet read as it is
    assert not broken.exists()
    played = count_plays(monkeypatch)
    found = play(out=broken)
    assert played == [5, 6, 7]
    assert told(found) == told(play())
    assert not parts(broken)


def test_a_break_between_the_file_and_its_parts(out, monkeypatch):
    monkeypatch.setattr(kept, "SOON", -1.0)
    monkeypatch.setattr(kept, "SHARE", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(kept.Kept, "_clear", lambda _: None)
        found = play(out=out)
    assert len(parts(out)) == 8
    played = count_plays(monkeypatch)
    assert play(out=out).columns == found.columns
    assert (played, parts(out)) == ([], [])


def test_parts_are_few(out, monkeypatch):
    """With a clock of its own: a point takes ten seconds, a thousand of them three hours."""
    now, written = [0.0], []
    monkeypatch.setattr(kept.time, "monotonic", lambda: now[0])
    book = kept.Kept(out, None, {})
    monkeypatch.setattr(book, "_write", lambda path, rows: written.append((now[0], len(rows))))
    for _ in range(1000):
        now[0] += 10.0
        book.add({})
    assert len(written) < 250
    assert all(count <= max(1, 0.02 * when / 10 + 1) for when, count in written)  # what a kill would cost


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"seeds": 5}, "seeds"),
        ({"seeds": [0, 1, 2, 4]}, "seeds"),
        ({"grid": {"theta": [0.5, 1.0], "c": [0.6]}}, "grid"),
        ({"grid": {"theta": [0.5, 1.0], "c": {"half": 0.5}}}, "grid"),
        ({"problems": sv.averaging(RING, [1, 2, 3, 4, 5])}, "problems"),
        ({"tol": 1e-6}, "arguments"),
        ({"measure": lambda result: {"spread": result.disagreement}}, "measures"),
        ({"measure": len, "seeds": 3}, "seeds and measures"),
    ],
)
def test_another_sweep_is_refused(broken, changes, what):
    arguments = {"problems": drawn, "grid": GRID, "seeds": 4, "jobs": 1, "engine": "reference", "out": broken} | changes
    sentence = rf"part-000000\.parquet is of another sweep, with other {what}\. Choose another out, or remove sweep"
    with pytest.raises(InvalidFile, match=sentence):
        sv.sweep(**arguments)
    play(out=broken)  # nothing of it was harmed
    with pytest.raises(InvalidFile, match=rf"sweep\.parquet is of another sweep, with other {what}\."):
        sv.sweep(**arguments)


def test_the_order_of_arguments_makes_no_other_sweep(out):
    found = play(out=out, tol=1e-6, max_iter=100)
    assert play(max_iter=100, tol=1e-6, out=out).columns == found.columns


def test_another_version_is_refused(broken, monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda _: "0.0.9")
    with pytest.raises(InvalidFile, match=r"is of another sweep, with other versions\."):
        play(out=broken)


def torn(content: bytes) -> bytes:
    return content[: len(content) // 2]


@pytest.mark.parametrize("damage", [torn, lambda _: b"", lambda _: b"PAR1 not PAR1"])
def test_damaged_files_are_noticed(broken, damage):
    part = parts(broken)[3]
    part.write_bytes(damage(part.read_bytes()))
    with pytest.raises(InvalidFile, match=r"part-000003\.parquet cannot be read \(.*it is damaged"):
        play(out=broken)
    part.unlink()  # as the sentence says
    assert told(play(out=broken)) == told(play())
    broken.write_bytes(damage(broken.read_bytes()))
    with pytest.raises(InvalidFile, match=r"sweep\.parquet cannot be read"):
        play(out=broken)


def test_no_bit_that_flips_changes_a_number(broken):
    """It is noticed, or lies where it means nothing."""
    job = Job({"problem": drawn}, settings_of(GRID, {}), (0, 1, 2, 3), {"engine": "reference"}, None)
    book, part = kept.Kept(broken, job, about(job)), parts(broken)[3]
    good, rows, noticed = part.read_bytes(), book._read(part), 0
    for at in range(0, len(good), 23):
        part.write_bytes(good[:at] + bytes([good[at] ^ 4]) + good[at + 1 :])
        try:
            assert book._read(part) == rows
        except InvalidFile:
            noticed += 1
    assert len(rows) == 2
    assert noticed > 50


def test_a_part_that_is_there_twice_is_refused(broken):
    again = parts(broken)[0].with_name("part-000009.parquet")
    again.write_bytes(parts(broken)[0].read_bytes())
    with pytest.raises(InvalidFile, match=r"part-000009\.parquet: point 0 is in an earlier part as well"):
        play(out=broken)


def test_halves_of_a_kill_are_no_parts(broken):
    half = parts(broken)[0].with_name(".part-000004-xyz.parquet")
    half.write_bytes(b"PAR1")
    assert told(play(out=broken)) == told(play())
    assert not half.parent.exists()


def test_other_files_are_left_alone(out, tmp_path):
    parquet.write_table(__import__("pyarrow").table({"x": [1]}), out)
    with pytest.raises(InvalidFile, match=r"sweep\.parquet was not written by a sweep\. Choose another out\."):
        play(out=out)
    assert parquet.read_table(out).to_pydict() == {"x": [1]}
    assert not Path(f"{out}.parts").exists()
    folder = tmp_path / "other.parquet.parts"
    folder.mkdir()
    (folder / "notes").touch()
    play(out=tmp_path / "other.parquet")
    assert [file.name for file in folder.iterdir()] == ["notes"]


def test_points_that_failed_are_played_again_on_request(out, monkeypatch):
    mood = out.with_name("mood")

    def shy(seed):
        if seed in (1, 2) and not mood.exists():
            raise RuntimeError("not today")
        return drawn(seed)

    again = partial(sv.sweep, shy, GRID, 4, jobs=1, engine="reference", out=out)
    with pytest.warns(PointsFailed):
        again()
    mood.touch()
    with pytest.warns(PointsFailed, match="4 of 8 points failed"):
        assert again().columns["status"].count("failed") == 4
    played = count_plays(monkeypatch)
    found = again(retry_failed=True)
    assert played == [1, 2, 5, 6]
    assert told(found) == told(play())
    assert parquet.read_table(out).to_pydict() == found.columns


def test_only_one_process_writes(out):
    with kept.Kept(out, None, {}), pytest.raises(InvalidInput, match=r"another process is writing it\. Wait, or"):
        play(out=out)
    play(out=out)


def test_a_lock_that_was_removed_is_none(out, monkeypatch):
    """Another process ends, and clears up, between our opening of its lock and our turn."""
    first, second, real = kept.Kept(out, None, {}), kept.Kept(out, None, {}), fcntl.flock
    first.__enter__()

    def late(*arguments):
        monkeypatch.setattr(fcntl, "flock", real)
        first.__exit__()
        real(*arguments)

    monkeypatch.setattr(fcntl, "flock", late)
    with second, pytest.raises(InvalidInput, match="another process is writing it"):
        play(out=out)


def test_the_end_removes_no_lock_of_another(out, monkeypatch):
    other, real = kept.Kept(out, None, {}), kept.Kept._clear

    def then_another(self):
        real(self)
        if self is not other and other.lock is None:
            other.__enter__()

    monkeypatch.setattr(kept.Kept, "_clear", then_another)
    play(out=out)
    with pytest.raises(InvalidInput, match="another process is writing it"):
        play(out=out)
    other.__exit__()


def test_the_name_of_the_file_is_on_disk_before_the_parts_go(broken, monkeypatch):
    synced, real = [], os.fsync

    def sync(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            synced.append((broken.exists(), len(parts(broken))))
        real(handle)

    monkeypatch.setattr(os, "fsync", sync)
    play(out=broken)
    assert synced == [(True, 4)]


def test_parts_that_begin_with_failures_are_read_as_the_guide_says(out, monkeypatch):
    pandas = pytest.importorskip("pandas")
    monkeypatch.setattr(kept, "SOON", -1.0)
    monkeypatch.setattr(kept, "SHARE", 0.0)

    def shy(seed):
        return 1 / 0 if seed == 0 else drawn(seed)

    monkeypatch.setattr(kept.Kept, "_clear", lambda _: None)
    with pytest.warns(PointsFailed):
        sv.sweep(shy, None, 2, jobs=1, c=0.5, measure=lambda result: {"first": result.x[0]}, out=out)
    frame = pandas.concat(map(pandas.read_parquet, sorted(Path(f"{out}.parts").glob("part-*"))))
    assert frame["first"].isna().tolist() == [True, False]


@pytest.mark.parametrize(
    ("out", "sentence"),
    [
        (5, r"out must be the name of a Parquet file; got int\."),
        ("a\0b.parquet", r"out 'a\\x00b\.parquet' cannot be written: embedded null byte\. Choose another name\."),
        (f"{'a' * 240}.parquet", r"out 'aaa.* cannot be written: File name too long\. Choose another name\."),
    ],
)
def test_names_that_no_file_can_have(out, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=sentence):
        play(out=out)


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("sweep.csv", r"out .*sweep\.csv: the name must end in \.parquet\."),
        ("no/sweep.parquet", r"out .*sweep\.parquet: the directory .*no does not exist\."),
        (".", r"the name must end in \.parquet"),
        ("file/sweep.parquet", "does not exist"),
        ("taken.parquet", r"taken\.parquet\.parts cannot be written: File exists\."),
    ],
)
def test_places_that_cannot_be_written(tmp_path, path, sentence):
    (tmp_path / "file").touch()
    (tmp_path / "taken.parquet.parts").touch()
    with pytest.raises(InvalidInput, match=sentence):
        play(out=tmp_path / path)


def test_a_folder_that_is_read_only(out, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)  # as it is for everybody but root
    with pytest.raises(InvalidInput, match=r"the directory .* cannot be written to\."):
        play(out=out)


def test_a_full_disk_is_a_sentence_and_what_was_written_stays(broken):
    """As near as a test comes: files may not grow beyond a limit."""
    before = [part.read_bytes() for part in parts(broken)]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))
    try:
        with pytest.raises(InvalidInput, match=r"cannot be written: .*What was written before is kept: the same call"):
            play(out=broken)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [part.read_bytes() for part in parts(broken)] == before
    assert told(play(out=broken)) == told(play())


def test_without_pyarrow(out, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtra, match=r"out= needs pyarrow\. Install it with: pip install 'sottovoce\[sweep\]'"):
        play(out=out)
    assert play().path is None


def test_columns_without_numbers_have_their_types(out):
    """Where all fail, or a part begins with a failure."""
    with pytest.warns(PointsFailed):
        sv.sweep(lambda seed: 1 / 0, {"theta": [None], "overlay": ["tree"]}, 2, jobs=1, out=out)
    table = parquet.read_table(out)
    assert str(table.schema.field("iterations").type) == "int64"
    assert str(table.schema.field("theta").type) == "null"
    assert table.column("failure").to_pylist() == ["ZeroDivisionError"] * 2
