"""Agreements in every order of steps, and with every crash: from each state all can end, and with one answer. Larger
searches are played by ``python -m runtime.explore``; CONTRIBUTING.md says which."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pytest
from runtime.explore.agreements import Agreeing
from runtime.explore.liars import TwoFaced
from runtime.explore.search import Step, follow, search

import sottovoce as sv
from sottovoce.runtime.protocol.agreement import Agreement
from sottovoce.runtime.protocol.answers import Rounded
from sottovoce.runtime.waiting import Waiting

CHAIN = {n: sv.Network.from_edges(n, [(i, i + 1) for i in range(n - 1)]) for n in (3, 4)}
# p0 and p1 have accepted, p2 has entered the epoch, p3 has not heard of it: then the power is cut.
TO_A_CUT = (
    "turn(0) turn(1) tell(0,1) turn(2) turn(3) tell(3,2) turn(2) tell(2,1) turn(1) tell(1,0) tell(1,2) turn(0) "
    "tell(0,1) tell(1,2) tell(2,1) CRASH(all)"
)
CUT = [range(4)]


# The search itself


class Map(NamedTuple):
    """Where steps lead from each place; those with a mark are faults. Two places are ends, and one is wrong."""

    leads: dict[str, str]

    def begin(self) -> str:
        return "a"

    def steps(self, state: str) -> Iterable[Step]:
        for to in self.leads.get(state, "").split():
            yield Step(f"{state}-{to}", to.strip("!"), fault="!" in to)

    def key(self, state: str) -> str:
        return state

    def over(self, state: str) -> bool:
        return state in "yz"

    def wrong(self, state: str) -> str | None:
        return "it is wet" if state == "w" else None


# From b two steps go round and lead to no end but by a fault; from y one can go on to w, which leads nowhere.
MAP = Map({"a": "c b", "b": "d", "d": "b z!", "c": "y", "y": "w"})


def test_what_a_search_finds():
    found = search(MAP)
    assert (found.states, found.steps, found.ends, found.left_out) == (7, 7, 2, 0)
    assert (found.wedged, found.into_wedge) == (3, ["a-b"])
    assert found.wrong == {"it is wet": ["a-c", "c-y", "y-w"]}
    assert not found.fine
    assert "by 1 steps: a-b" in str(found)
    assert search(MAP, "z").fine


def test_a_search_that_is_cut_short_says_so():
    found = search(MAP, most=3)
    assert (found.states, found.left_out, found.wedged) == (3, 2, 0)
    assert not found.fine
    assert "CUT SHORT" in str(found)


def test_a_way_that_cannot_be_gone():
    assert follow(MAP, ["a-b", "b-d"]) == "d"
    with pytest.raises(AssertionError, match="a-z cannot happen; what can: a-c, a-b"):
        follow(MAP, ["a-z"])


# Agreements


def test_a_chain_of_three_ends_whatever_happens_to_a_connection():
    found = search(Agreeing(CHAIN[3], breaks=True, faults=1))
    assert found.fine, found
    assert found.ends


def test_a_star_of_four_in_every_order():
    found = search(Agreeing(sv.Network.star(4)))
    assert found.fine, found
    assert found.ends


def test_an_answer_that_one_party_tells():
    found = search(Agreeing(CHAIN[3], told=True, breaks=True, faults=1))
    assert found.fine, found
    assert found.ends


@pytest.mark.parametrize("told", [False, True], ids=["sums", "an answer that is told"])
def test_beside_a_liar_there_is_one_answer_or_none(told, monkeypatch):
    """Whatever it signs. Where signatures are not of the answer, as they once were, there are two."""
    model = TwoFaced(CHAIN[3], told=told, liar=1)
    found = search(model)
    assert found.states > 100
    assert not found.wrong, found
    monkeypatch.setattr(Rounded, "digest", bytes(32))
    found = search(model)
    assert found.wrong.keys() == {"two honest parties have ended with different answers"}


def asleep(waiting: Waiting, agreement: Agreement) -> bool:
    """The old rule: who has accepted has nothing to compute, and wakes no more."""
    return waiting.ended(agreement) if agreement.accepted else Waiting.due(waiting, agreement)


@pytest.mark.parametrize("mended", [True, False], ids=["mended", "as it was"])
def test_a_power_cut_in_the_middle_of_an_agreement(mended):
    """Who had accepted was told nothing after the cut, told nobody anything, and slept; over a tree the others waited
    for its word, and it for theirs. Now all can end, whatever comes first."""
    model = Agreeing(CHAIN[4], strikes=CUT, faults=1, due=Waiting.due if mended else asleep)
    after = follow(model, TO_A_CUT.split())
    found = search(model, after if mended else follow(model, ["turn(1)"], after))
    assert not found.wrong, found
    assert found.fine == mended, found
    assert mended or found.wedged == found.states  # no order of steps helps
