"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sottovoce.errors import InvalidInput
from sottovoce.files.atomic import write_whole


def content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_the_mode_is_the_usual_one(tmp_path, mask, mode, monkeypatch):
    before = os.umask(mask)
    try:
        # nobody asks for it, since asking changes it for all threads
        monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the umask was changed"))
        write_whole(tmp_path / "out.txt", lambda path: Path(path).write_text("whole"))
    finally:
        monkeypatch.undo()
        os.umask(before)
    assert content(tmp_path) == {"out.txt": "whole"}
    assert (tmp_path / "out.txt").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), RuntimeError("something else")])
def test_what_was_there_stays_if_it_cannot_be_written(tmp_path, error):
    (tmp_path / "out.txt").write_text("before")

    def save(path: str) -> None:
        Path(path).write_text("half")
        raise error

    expected = (InvalidInput, "cannot be written: No space left") if isinstance(error, OSError) else (RuntimeError, "")
    with pytest.raises(expected[0], match=expected[1]):
        write_whole(tmp_path / "out.txt", save)
    assert content(tmp_path) == {"out.txt": "before"}
