"""A short storm; CONTRIBUTING.md tells how to play a long one."""

from __future__ import annotations

import pytest
from runtime.storm import storm


@pytest.mark.parametrize(("channels", "poison"), [("open", "mixed")])
def test_a_short_storm(tmp_path, channels, poison):
    found = storm(3, channels, 4.0, poison, tmp_path / "run")
    assert found["wrong"] == []
    assert found["happened"]
    assert found["answers"] == 5 or found["sentences"]
