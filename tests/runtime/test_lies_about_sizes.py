"""A neighbour that lies about its rows or sums, to have others say more than the audit assumed: it is refused before
they say it. What data alone decide is refused before the network."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runtime.among_liars import Company, company, leave, run

from sottovoce.pdmm.modular_mask import ModularMask
from sottovoce.runtime.cluster import free_ports
from sottovoce.runtime.network_agreements import NetworkAgreements
from sottovoce.runtime.plan.data_limits import Limits
from sottovoce.runtime.plan.plan import read_plan, write_plan
from sottovoce.runtime.protocol.agreement import Contradiction
from sottovoce.runtime.protocol.frames import Body, Value

N, ROWS = 5, 2_000


def planned(folder: Path, rows: int = ROWS, kind: str = "mean", **more: str) -> Any:
    """A ring of five with ``rows`` each, around 4 in both columns, under the mask for 1e-3 nats."""
    tables = {"mask": "delta = 1e-3", "audit": "prior = 1.0", "statistic": "scale = { u = 10, v = 10 }", **more}
    lines = ['[run]\nname = "trial"\nc = 0.4\n[network]\ngenerator = "ring"', f"n = {N}"]
    lines += [f"[{name}]\n{text}" for name, text in tables.items() if name != "statistic"]
    lines += [f'[statistic]\ntype = "{kind}"\ncolumns = ["u", "v"]\n{tables["statistic"]}']
    lines += [f'[[party]]\nname = "p{i}"\naddress = "127.0.0.1:{port}"' for i, port in enumerate(free_ports(N))]
    (folder / "plan.toml").write_text("\n".join(lines) + "\n")
    write_plan(read_plan(folder / "plan.toml"), folder / "parties", generate_keys=True)
    rng, shards = np.random.default_rng(3), []
    for i in range(N):
        shards.append(4.0 + rng.normal(size=(rows, 2)))
        write(folder / "parties" / f"p{i}", shards[i])
    return SimpleTrial(folder / "parties", shards)


def write(folder: Path, rows: np.ndarray) -> None:
    with open(folder / "data.csv", "w", newline="") as file:
        csv.writer(file).writerows([["u", "v"], *rows.tolist()])


class SimpleTrial:
    kind = "mean"

    def __init__(self, folder: Path, shards: list[np.ndarray]) -> None:
        self.folder, self.shards = folder, shards

    @property
    def answer(self) -> np.ndarray:
        return np.concatenate(self.shards).mean(axis=0)


def claims(patch: pytest.MonkeyPatch, rows: int) -> dict[str, np.ndarray]:
    """p0 says that it has so many rows; the rest of it is honest. What everybody brings to the stage after that."""
    agree, brought = NetworkAgreements.agree, {}

    def lied(own: NetworkAgreements, contributions: np.ndarray, mask: Any) -> Any:
        name = own.agent.config.name
        if isinstance(mask, ModularMask):
            contributions = np.full_like(contributions, rows) if name == "p0" else contributions
        else:
            brought[name] = contributions[0, :-1].copy()
        return agree(own, contributions, mask)

    patch.setattr(NetworkAgreements, "agree", lied)
    return brought


async def play(made: Company) -> dict[str, Any]:
    made.start()
    try:
        return await made.ends("p1", "p2", "p3", "p4")
    finally:
        await leave(made)


class Reader:
    """What p0 makes of the first masked message of p1: it knows the pads of their edge, and nothing of p1's other."""

    made: Company

    def __init__(self, stage: int = 1) -> None:
        self.stage, self.heard = stage, None

    def __call__(self, sender: str, receiver: str, body: Body) -> list[Body]:
        wanted = (sender, receiver) == ("p1", "p0") and isinstance(body, Value) and body.stage == self.stage
        if wanted and self.heard is None:
            agent = self.made.agents["p0"]
            secrets, mask = agent.party.links["p1"].secrets, agent.config.question.mask
            self.heard, self.pads = body.data.copy(), [secrets.pads(1, name, 3, mask) for name in ("p1", "p0")]
        return [body]

    def mean(self, made: Company, N_claimed: int, scale: float, rows: int) -> np.ndarray:
        assert self.heard is not None
        c, pads = made.agents["p0"].config.route.penalty, self.pads
        x = (self.heard - (pads[0] - pads[1])) / (2 * c)  # A_10 = 1
        s = (pads[0] + (2 + 2 * c) * x) / 2
        return s[:2] * N_claimed / (N * rows) * scale


def played(trial: SimpleTrial, **lie: Any) -> tuple[Company, dict[str, Any], Reader]:
    reader = Reader(**lie)
    with company(trial, reader) as made:
        reader.made = made
        return made, run(play(made)), reader


@pytest.mark.parametrize("claimed", [1 - 4 * ROWS, -5 * ROWS - 50, -3 * ROWS + N - 2])
def test_a_count_that_cannot_be_true_ends_the_run_before_a_sum_is_said(tmp_path, monkeypatch, claimed):
    """With ``N = 1`` everybody would say its sum behind a mask for its mean: of 20,000 rows each, p0 once read p1's
    mean as (4.004, 3.991), where it is (3.997, 3.999). The last claim is the largest that is refused."""
    brought = claims(monkeypatch, claimed)
    made, ends, reader = played(planned(tmp_path))
    assert reader.heard is None
    assert brought.keys() <= {"p0"}
    assert made.errors() == {}
    assert {str(end)[:49] for end in ends.values()} == {"the parties have agreed on fewer rows than this p"}
    assert {type(end) for end in ends.values()} == {Contradiction}


def test_the_smallest_count_that_may_be_true_shows_no_more_than_the_limits_say(tmp_path, monkeypatch):
    """Five times as much as was planned, and not two thousand times."""
    brought = claims(monkeypatch, -3 * ROWS + N - 1)
    made, ends, reader = played(planned(tmp_path))
    assert ends == dict.fromkeys(("p1", "p2", "p3", "p4"), 0)
    for name, shard in zip(("p1", "p2", "p3", "p4"), made.trial.shards[1:], strict=True):
        np.testing.assert_allclose(brought[name], N * shard.sum(axis=0) / 10 / (ROWS + N - 1), rtol=1e-12)
        assert brought[name].max() < N * 0.42 < N * made.configs[name].limits.size
    # What p0 makes of it is off by half the pad of p1's other edge, here 97 in its units, and of no use.
    assert np.abs(reader.mean(made, ROWS + N - 1, 10.0, ROWS) - made.trial.shards[1].mean(axis=0)).max() > 0.1


def test_counts_of_a_histogram_are_not_negative(tmp_path, monkeypatch):
    trial = planned(tmp_path, rows=4)
    for path in trial.folder.glob("*/node.toml"):
        text = path.read_text()
        begin, end = text.index("[run.statistic]"), text.index("[[neighbour]]")
        table = '[run.statistic]\ntype = "histogram"\ncolumns = ["u"]\nbins = [0, 4, 8]\n'
        path.write_text(text[:begin] + table + text[end:])
    claims(monkeypatch, -50)
    made, ends, _ = played(trial)
    assert made.errors() == {}
    assert {str(end)[:49] for end in ends.values()} == {"the parties have agreed on fewer rows than this p"}


def test_a_mean_outside_of_what_data_may_have(tmp_path, monkeypatch):
    """With squares about a mean of 1000 each party would say its own sum, a thousand times as loud."""
    agree = NetworkAgreements.agree

    def lied(own: NetworkAgreements, contributions: np.ndarray, mask: Any) -> Any:
        if own.agent.config.name == "p0" and len(own.runs) == 1:
            contributions = contributions + 5000.0
        return agree(own, contributions, mask)

    monkeypatch.setattr(NetworkAgreements, "agree", lied)
    made, ends, reader = played(planned(tmp_path, rows=20, kind="variance"), stage=2)
    assert reader.heard is None
    assert made.errors() == {}
    for end in ends.values():
        with pytest.raises(Contradiction, match=r"have agreed on a number that no data within size = 4 give|has ended"):
            raise end


def test_who_holds_nearly_all_rows_is_as_welcome(tmp_path):
    """Its numbers are ``n`` times those of equal parties, and within the limits. Nobody is warned under a mask for 0.01
    nats, though its sigma is no hundred times the data."""
    trial = planned(tmp_path, rows=1, kind="variance", mask="delta = 1e-2")
    trial.shards[1] = np.full((3_000, 2), 39.9)
    write(trial.folder / "p1", trial.shards[1])
    made, ends, _ = played(trial)
    assert ends == dict.fromkeys(("p1", "p2", "p3", "p4"), 0)
    assert max(made.errors().values()) < 1e-6
    assert made.configs["p1"].question.mask.sigma < 70


# The limits themselves


@st.composite
def parties(draw: Any) -> tuple[Limits, list[np.ndarray]]:
    """Any honest parties: columns have a root mean square of at most ``size``, and some have exactly that."""
    n, d = draw(st.integers(2, 6)), draw(st.integers(2, 3))
    rng, size = np.random.default_rng(draw(st.integers(0, 2**32))), draw(st.sampled_from([0.25, 4.0, 100.0]))
    shards = []
    for _ in range(n):
        rows = rng.normal(size=(draw(st.sampled_from([1, 2, 7, 300])), d)) + draw(st.sampled_from([0.0, 1.0, 30.0]))
        rows *= size * draw(st.sampled_from([1e-3, 0.5, 1.0])) / np.sqrt((rows**2).mean(axis=0)) * (1 - 1e-12)
        shards.append(rows)
    return Limits(n, size, 1, 1e-10), shards


@given(parties())
def test_honest_parties_are_never_refused(made):
    """Means, products and residuals of the best fit, whatever the shares of the parties are."""
    limits, shards = made
    n, rows = limits.n, np.concatenate(shards)
    N, m = len(rows), rows.mean(axis=0)
    S = (rows - m).T @ (rows - m) / N
    beta = np.linalg.lstsq(rows[:, :-1] - m[:-1], rows[:, -1] - m[-1], rcond=None)[0]
    limits.check_agreed(m, 1, 0.0)
    limits.check_agreed(S, 2, 0.0)
    for own in shards:
        limits.check_count(len(own))
        limits.check_rows(own, ("a", "b", "c"))
        limits.check_total(np.array([N]), np.array([len(own)]))
        limits.check_contribution(n / N * own.sum(axis=0), 1)
        limits.check_contribution(n / N * (own - m).T @ (own - m), 2)
        residuals = own[:, -1] - m[-1] - (own[:, :-1] - m[:-1]) @ beta
        limits.check_contribution(np.array([n / N * residuals @ residuals]), 2)


@given(parties(), st.integers(0, 10**6), st.lists(st.floats(-1, 1), min_size=3, max_size=3))
def test_no_lie_makes_a_contribution_larger(made, more, where):
    """Whatever ``N`` and ``m`` are believed, sums and products stay within the limits: they need not be looked at."""
    limits, shards = made
    n, d = limits.n, shards[0].shape[1]
    m = limits.size * np.array(where[:d])
    limits.check_agreed(m, 1, 0.0)
    for own in shards:
        N = len(own) + (n - 1) * limits.least_rows + more
        limits.check_total(np.array([N]), np.array([len(own)]))
        limits.check_contribution(n / N * own.sum(axis=0), 1)
        limits.check_contribution(n / N * (own - m).T @ (own - m), 2)
        with pytest.raises(Contradiction):
            limits.check_total(np.array([len(own) + (n - 1) * limits.least_rows - 1]), np.array([len(own)]))


def test_residuals_that_no_honest_fit_leaves():
    """Agreed second moments may be within the limits and still give coefficients without end."""
    limits = Limits(5, 4.0, 1, 1e-10)
    limits.check_contribution(np.array([5 * 8.0**2]), 2)
    with pytest.raises(Contradiction, match=r"what was agreed on before is not true\. Nothing of it was said"):
        limits.check_contribution(np.array([5 * 8.1**2]), 2)
    with pytest.raises(Contradiction, match="no data within size = 4 give"):
        limits.check_agreed(np.array([[1.0, -16.1]]), 2, 1e-9)
