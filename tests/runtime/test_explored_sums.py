"""The protocol of exact sums, searched exhaustively before parties speak it: runtime/explore/summing.py. Larger
searches by ``PYTHONPATH=src:tests python -m runtime.explore chain4 --sums 2 --liar 1``."""

from __future__ import annotations

import pytest
from runtime.explore.exact_sums import ExactSums
from runtime.explore.search import search
from runtime.explore.summing import Summing

import sottovoce as sv

CHAIN3 = sv.Network.from_edges(3, [(0, 1), (1, 2)])
CHAIN4 = sv.Network.from_edges(4, [(0, 1), (1, 2), (2, 3)])
TRIANGLE = sv.Network.complete(3)


@pytest.mark.parametrize(
    "model",
    [Summing(CHAIN3, 3), Summing(TRIANGLE, 2), Summing(CHAIN3, faults=1), Summing(CHAIN4, 2, late=False)],
    ids=["chain", "triangle", "a crash at any moment", "longer chain"],
)
def test_from_every_state_all_honest_parties_can_end_with_one_answer(model):
    found = search(model)
    assert found.fine, found
    assert found.ends


@pytest.mark.parametrize(
    "model",
    [Summing(CHAIN3, liar=1, late=False), Summing(TRIANGLE, liar=0, late=False)],
    ids=["between all others", "the root"],
)
def test_a_liar_makes_no_two_answers(model):
    found = search(model)
    assert found.fine, found


def test_the_search_finds_two_answers_where_signatures_say_nothing_of_them(monkeypatch):
    hear = ExactSums._hear_signature
    monkeypatch.setattr(
        ExactSums, "_hear_signature",
        lambda self, said: hear(self, said._replace(after=self.afters[self.stage]) if self.is_closing else said),
    )  # fmt: skip
    monkeypatch.setattr("runtime.explore.summing.genuine", lambda signer, after, signed: True)
    assert "two answers" in search(Summing(CHAIN3, liar=1, late=False)).wrong


def test_the_search_finds_sums_opened_apart_where_nobody_compares_totals(monkeypatch):
    monkeypatch.setattr(ExactSums, "may_contribute", lambda self: True)
    monkeypatch.setattr(ExactSums, "_compare", lambda self, neighbour, stage: None)
    found = search(Summing(TRIANGLE, 2, liar=0, late=False), most=3_000)
    assert "a sum was opened that parties computed from different totals" in found.wrong
