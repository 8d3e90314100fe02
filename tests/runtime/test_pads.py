"""Pads that differ between two ends, as with another mathematics library at one of them: a sentence, no answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from runtime.among_liars import Company, company, leave, run
from runtime.trial import prepare

import sottovoce as sv
from sottovoce.pdmm.masks import GaussianMask
from sottovoce.runtime.keys.edge_secrets import EdgeSecrets
from sottovoce.runtime.protocol.agreement import Contradiction

PAIR = sv.Network.from_edges(2, [(0, 1)])
COARSE = 2**20  # in units of the grid: what one rounding more or less makes of a pad


async def play(made: Company) -> dict[str, Any]:
    made.start()
    try:
        return await made.ends()
    finally:
        await leave(made)


def test_one_pad_that_is_off_by_one_step_at_one_end(tmp_path, monkeypatch, caplog):
    """Without tags both end with status 0, residuals below tol, and errors of 1.5e-5 and 2.3e-5."""
    pads = EdgeSecrets.pads

    def off(own: EdgeSecrets, stage: int, holder: str, count: int, mask: GaussianMask) -> np.ndarray:
        found = pads(own, stage, holder, count, mask)
        if own.own == holder == "p0":
            found[0] += COARSE * mask.grid
        return found

    monkeypatch.setattr(EdgeSecrets, "pads", off)
    with company(prepare(tmp_path, PAIR, "averaging", rows=1)) as made:
        ends = run(play(made))
    assert made.errors() == {}
    for name, other in (("p0", "p1"), ("p1", "p0")):
        with pytest.raises(Contradiction, match=f"the pads of stage 0 differ between this party and {other}"):
            raise ends[name]
    assert "Traceback" not in caplog.text


def test_words_that_differ(tmp_path, monkeypatch):
    """Without tags: one row too many or too few, and an error of 0.2."""
    words = EdgeSecrets.words
    monkeypatch.setattr(EdgeSecrets, "words", lambda own, *given: words(own, *given) + np.uint64(own.own == "p0"))
    with company(prepare(tmp_path, PAIR)) as made:
        ends = run(play(made))
    assert made.errors() == {}
    for name, other in (("p0", "p1"), ("p1", "p0")):
        with pytest.raises(Contradiction, match=f"the pads of stage 0 differ between this party and {other}"):
            raise ends[name]
