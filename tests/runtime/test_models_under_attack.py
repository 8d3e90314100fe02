"""Models among parties of which one lies about its votes, or has an outlier: nobody ends apart from the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime import virtual_time
from runtime.test_models_on_the_network import GLM, SHARDS, _played, planned

from sottovoce.errors import PeerError, Undetermined
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


OFFSET = {"type": "glm", "formula": "visits ~ age + offset(dose)", "family": "poisson"}


def outlier(at: int = 2) -> list[dict[str, Any]]:
    """Fifty visits of somebody at one party, where the model expects hardly any."""
    tables = [dict(table) for table in SHARDS]
    for name, value in {"visits": 50, "dose": 0.0}.items():
        tables[at][name] = [value, *tables[at][name][1:]]
    return tables


def test_one_party_with_an_outlier_is_not_told_from_the_others(tmp_path):
    """It used to end alone, by name, after all steps. Only the squares of residuals are lost, and at all parties."""
    import pandas as pd
    import statsmodels.formula.api as smf
    from statsmodels.genmod.families import Poisson

    whole = pd.concat([pd.DataFrame(table) for table in outlier()]).astype({"age": float, "dose": float})
    fit = smf.glm("visits ~ age", whole.astype({"visits": float}), family=Poisson(), offset=whole.dose).fit()
    parties = Cluster(planned(tmp_path, OFFSET, outlier(), pace=0.01))
    assert virtual_time.run(_played(parties)) == [0] * len(SHARDS)
    for result in parties.results().values():
        answer = result["answer"]
        assert answer["params"] == pytest.approx(fit.params.to_numpy(), rel=1e-7)
        assert answer["deviance"] == pytest.approx(fit.deviance, rel=1e-7)
        assert answer["pearson_chi2"] is None


def test_where_the_dispersion_hangs_on_it_all_refuse_with_one_sentence(tmp_path):
    ended = virtual_time.run(
        _played(Cluster(planned(tmp_path, OFFSET | {"dispersion": "pearson"}, outlier(), pace=0.01)))
    )
    assert all(isinstance(error, Undetermined) for error in ended), ended
    assert {str(error).partition(":")[0] for error in ended} == {
        "the squared residuals, deviances of a party are larger than an agreement carries"
    }
