"""Models among parties of which one lies about its sums, or has an outlier: nobody ends apart from the others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from runtime import virtual_time
from runtime.test_models_on_the_network import GLM, SHARDS, _played, planned

from sottovoce.errors import PeerError
from sottovoce.runtime import Cluster
from sottovoce.runtime.network_agreements import NetworkAgreements

LIAR = "p3"


def ends(folder: Path, patch: pytest.MonkeyPatch, at: int, value: int) -> tuple[Cluster, list[Any]]:
    """Where one party has another number in its sums of the first agreement of a model."""
    told = NetworkAgreements.add_up

    def add_up(self: NetworkAgreements, own: Any, *more: Any) -> Any:
        if self.local == [LIAR] and not self.runs:
            own = [own[0].copy()]
            own[0][at] += value
        return told(self, own, *more)

    patch.setattr(NetworkAgreements, "add_up", add_up)
    parties = Cluster(planned(folder, GLM | {"digits": "full"}, SHARDS, pace=0.01))
    return parties, virtual_time.run(_played(parties))


@pytest.mark.parametrize(
    ("at", "value", "sentence"),
    [
        (0, -1_000, "has not told the truth|has not kept to the protocol"),
        (4, 2**80, "sums of products that no rows have"),
    ],
    ids=["fewer rows than none", "a sum without its squares"],
)
def test_sums_that_no_rows_have(at, value, sentence, tmp_path, monkeypatch):
    """A sentence at all of them, and no answer."""
    parties, ended = ends(tmp_path, monkeypatch, at, value)
    assert not parties.results()
    assert all(isinstance(error, PeerError) for error in ended), ended
    assert any(re.search(sentence, str(error)) for error in ended), ended


def test_rows_that_somebody_makes_up(tmp_path, monkeypatch):
    """A party can lie about its own rows, and nobody ends apart from the others: one answer, or one sentence."""
    parties, ended = ends(tmp_path, monkeypatch, 0, 2**40)
    answers = [result["answer"] for result in parties.results().values()]
    assert len(answers) in (0, len(SHARDS))
    assert all(answer == answers[0] for answer in answers)
    assert len({str(end) for end in ended}) == 1


OFFSET = {"type": "glm", "formula": "visits ~ age + offset(dose)", "family": "poisson", "digits": "full"}


def outlier(at: int = 2) -> list[dict[str, Any]]:
    """Fifty visits of somebody at one party, where the model expects hardly any."""
    tables = [dict(table) for table in SHARDS]
    for name, value in {"visits": 50, "dose": 0.0}.items():
        tables[at][name] = [value, *tables[at][name][1:]]
    return tables


def test_one_party_with_an_outlier_is_not_told_from_the_others(tmp_path):
    import pandas as pd
    import statsmodels.formula.api as smf
    from statsmodels.genmod.families import Poisson

    whole = pd.concat([pd.DataFrame(table) for table in outlier()]).astype({"age": float, "dose": float})
    fit = smf.glm("visits ~ age", whole.astype({"visits": float}), family=Poisson(), offset=whole.dose).fit()
    parties = Cluster(planned(tmp_path, OFFSET, outlier(), pace=0.01))
    assert virtual_time.run(_played(parties)) == [0] * len(SHARDS)
    for result in parties.results().values():
        answer = result["answer"]
        assert answer["params"] == pytest.approx(fit.params.to_numpy(), rel=1e-9)  # how far statsmodels climbs
        assert answer["deviance"] == pytest.approx(fit.deviance, rel=1e-12)
        assert answer["pearson_chi2"] == pytest.approx(fit.pearson_chi2, rel=1e-9)
