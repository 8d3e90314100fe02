"""A short storm; CONTRIBUTING.md tells how to play a long one."""

from __future__ import annotations

from runtime.storm import storm


def test_a_short_storm(tmp_path):
    """A few seconds, and no clock to slow the parties down; one of them lies once, and a journal rots."""
    found = storm(1, "open", 2.0, "mixed", tmp_path / "run", wake='"eager"')
    assert found["wrong"] == []
    assert found["happened"]
    assert found["answers"] or found["sentences"]
