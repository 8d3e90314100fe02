"""Models among parties of which one lies about its votes: nobody ends apart from the others, or before the maximum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime import virtual_time
from runtime.test_models_on_the_network import GLM, SHARDS, _played, planned

from sottovoce.errors import PeerError
from sottovoce.runtime import Cluster
from sottovoce.runtime.network_agreements import NetworkAgreements

LIAR = "p3"


def lied(folder: Path, patch: pytest.MonkeyPatch, vote: int, value: float, stage: int | None) -> list[Any]:
    """How the parties end where one of them brings this for a vote, in one stage or in all."""
    told = NetworkAgreements.mean

    def mean(self: NetworkAgreements, contributions: np.ndarray, *given: Any, votes: int = 0, **more: Any) -> Any:
        if votes and self.local == [LIAR] and stage in (None, len(self.runs)):
            contributions = contributions.copy()
            contributions[0, vote - votes if vote >= 0 else vote] = value
        return told(self, contributions, *given, votes=votes, **more)

    patch.setattr(NetworkAgreements, "mean", mean)
    parties = Cluster(planned(folder, GLM, SHARDS, pace=0.01))
    ended = virtual_time.run(_played(parties))
    assert not parties.results()
    return ended


def refused(ended: list[Any], sentence: str) -> None:
    """By all; those who hear of it before they see it say who has ended."""
    assert all(isinstance(error, PeerError) for error in ended), ended
    assert any(sentence in str(error) for error in ended), ended


@pytest.mark.parametrize(
    ("vote", "value", "stage"),
    [(1, 0.5, 6), (-1, 0.5, None), (0, 100.0, None), (0, -100.0, None)],
    ids=["half a vote to halve the step", "half a flag", "more votes than parties", "fewer than none"],
)
def test_votes_that_are_none(vote, value, stage, tmp_path, monkeypatch):
    """Half a vote rounds up at some parties and down at others: they would go on from points that differ, and end with
    answers that do."""
    refused(lied(tmp_path, monkeypatch, vote, value, stage), "the votes on how to go on are no whole numbers")


def test_votes_that_end_it_too_early(tmp_path, monkeypatch):
    """With three votes of one party all sums of votes are what four honest ones could have."""
    ended = lied(tmp_path, monkeypatch, 0, 3.0, None)
    refused(ended, "the votes say that the maximum is found, and the sums that it is not")
