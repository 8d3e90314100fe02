"""Noise on the data of real parties: of the right size, in the answer and nowhere else, and the same after a crash."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime.trial import ACCURACY, edit, journal_of, prepare, results_of, status, wait_for
from runtime.two_worlds import Program, Scene, StillLoop, World
from scipy import stats

import sottovoce as sv
from sottovoce.cli.party_answer import answer_text
from sottovoce.cli.status import status_facts
from sottovoce.errors import InvalidFile, JournalError, PeerError
from sottovoce.files.toml_table import Table, TomlFile
from sottovoce.runtime import process, retention
from sottovoce.runtime.journal import MADE
from sottovoce.runtime.keys import identity
from sottovoce.runtime.keys.identity import load
from sottovoce.runtime.network_agreements import NetworkAgreements
from sottovoce.runtime.own_noise import SEED, OwnNoise
from sottovoce.runtime.plan.node_file import NodeConfig, read_node_file
from sottovoce.runtime.plan.plan import read_plan, write_plan
from sottovoce.runtime.plan.question import Question
from sottovoce.runtime.process import serve
from sottovoce.runtime.self_audit import bound
from sottovoce.runtime.traces.replay import holdings, replay_folders
from sottovoce.runtime.transport.in_memory import Hub

VARIANCE, N = 0.25, 4
AVERAGING = '[cost]\ntype = "averaging"\ncolumns = {columns}\n'
NOISE = "[noise]\nvariance = {variance}\n"
MASK = "[mask]\nvariance = 1e6\n"
RARE = 1e-9  # the probability with which a test on chance fails


def plan_of(folder: Path, about: str, n: int = N, tol: float = 1e-10) -> Path:
    parties = "".join(f'[[party]]\nname = "p{i}"\naddress = "127.0.0.1:{7401 + i}"\n' for i in range(n))
    run = f'[run]\nname = "trial"\nc = 0.5\ntol = {tol}\noverlay = "all"\n[network]\ngenerator = "complete"\n'
    (folder / "plan.toml").write_text(f"{run}{about}{parties}")
    return folder / "plan.toml"


def parties_of(folder: Path, about: str, rows: list[np.ndarray], **more: Any) -> list[NodeConfig]:
    """With their data in their folders; ``{columns}`` in what it is about are those of the rows."""
    columns = [f"c{k}" for k in range(rows[0].shape[1])]
    plan = plan_of(folder, about.format(columns=columns), len(rows), **more)
    write_plan(read_plan(plan), folder / "out", generate_keys=True)
    configs = []
    for i, own in enumerate(rows):
        lines = [",".join(columns), *(",".join(map(repr, row)) for row in own.tolist())]
        (folder / "out" / f"p{i}" / "data.csv").write_text("\n".join(lines) + "\n")
        configs.append(read_node_file(folder / "out" / f"p{i}" / "node.toml"))
    return configs


def played(configs: list[NodeConfig], **how: Any) -> list[Any]:
    """What every party ends with, in virtual time."""

    async def all_of_them() -> list[Any]:
        hub = Hub()
        parties = (serve(c, hub.transport(c.name, [other.name for other in c.neighbours])) for c in configs)
        return await asyncio.gather(*parties, **how)

    with pytest.MonkeyPatch.context() as patch, asyncio.Runner(loop_factory=StillLoop) as runner:
        patch.setattr(NetworkAgreements, "_wait", lambda _, coroutine: Program.current().ask(coroutine))
        return runner.run(all_of_them())


def result_of(config: NodeConfig) -> dict[str, Any]:
    return json.loads(config.result.read_text())


def answer_of(config: NodeConfig) -> np.ndarray:
    answer = result_of(config)["answer"]
    return np.array(answer["mean"] if "mean" in answer else list(answer.values()))


@pytest.fixture
def noted(monkeypatch) -> list[tuple[np.ndarray, np.ndarray]]:
    """Numbers before their noise, and after it."""
    found, on = [], OwnNoise.on

    def noting(noise: OwnNoise, values: np.ndarray) -> np.ndarray:
        found.append((values, on(noise, values)))
        return found[-1][1]

    monkeypatch.setattr(OwnNoise, "on", noting)
    return found


# The answer


def test_the_answer_is_the_mean_of_noisy_numbers(tmp_path, rng, noted):
    """Everybody has the same one. Its errors, over columns and runs, are independent and of variance ``v/n``."""
    errors, d = [], 60
    for k in range(3):
        (folder := tmp_path / str(k)).mkdir()
        noted.clear()
        rows = [rng.uniform(1, 3, size=(1, d)) for _ in range(N)]
        configs = parties_of(folder, AVERAGING + MASK + NOISE.format(variance=VARIANCE), rows)
        assert played(configs) == [0] * N
        exact, noisy = np.concatenate(rows).mean(axis=0), np.mean([after for _, after in noted], axis=0)
        assert len(noted) == N  # drawn once by each
        for config in configs:
            np.testing.assert_allclose(answer_of(config), noisy, rtol=0, atol=ACCURACY)
        told = result_of(configs[0])["noise"]
        np.testing.assert_allclose(told["standard_deviation"], [math.sqrt(VARIANCE / N)] * d, rtol=1e-12)
        assert told["variance"] == VARIANCE
        errors.append(noisy - exact)
    within(np.concatenate(errors), VARIANCE / N)
    assert np.abs(np.corrcoef(errors) - np.eye(3)).max() < stats.norm.isf(RARE) / math.sqrt(d)


def within(errors: np.ndarray, variance: float) -> None:
    """Whether numbers of mean 0 may have this variance."""
    low, high = stats.chi2.ppf([RARE, 1 - RARE], len(errors))
    assert low < (errors**2).sum() / variance < high


def test_noise_is_gaussian_and_each_party_has_its_own(tmp_path, rng, noted):
    configs = parties_of(tmp_path, AVERAGING + NOISE.format(variance=VARIANCE), [rng.normal(size=(1, 400))] * N)
    assert played(configs) == [0] * N
    noise = np.array([after - before for before, after in noted])
    within(noise.ravel(), VARIANCE)
    assert stats.kstest(noise.ravel() / math.sqrt(VARIANCE), "norm").pvalue > RARE
    assert np.abs(np.corrcoef(noise) - np.eye(N)).max() < stats.norm.isf(RARE) / 20
    grid = sv.LocalNoise(VARIANCE).grid
    assert all((after == grid * np.rint(after / grid)).all() for _, after in noted)  # low bits of the data are gone


def test_limits_have_room_for_noise_that_is_larger_than_data_and_pads(tmp_path):
    """Data of nearly nothing, a tiny mask, and noise that the answer is far beyond ``size`` for."""
    small = "[mask]\nvariance = 1.0\n[audit]\nprior = 1e-4\n"
    rows = [np.full((1, 2), 0.01)] * N
    configs = parties_of(tmp_path, AVERAGING + small + NOISE.format(variance=1e8), rows, tol=1e-9)
    assert played(configs) == [0] * N
    answer = answer_of(configs[0])
    assert np.abs(answer).min() > configs[0].question.size
    assert np.ptp([answer_of(config) for config in configs], axis=0).max() < 1e-4


def test_without_noise_nothing_is_different(tmp_path, rng):
    """Neither the parameters, under whose hash pads are, nor the limits."""
    (exact := tmp_path / "exact").mkdir()
    (config, *_), more = parties_of(exact, AVERAGING, [rng.uniform(1, 3, size=(1, 1))] * N), tmp_path / "noisy"
    assert "noise" not in config.parameters()
    more.mkdir()
    (noisy, *_) = parties_of(more, AVERAGING + NOISE.format(variance=0.5), [rng.uniform(1, 3, size=(1, 1))] * N)
    assert noisy.parameters()["noise"] == {"variance": 0.5}
    assert noisy.parameters()["cost"] == config.parameters()["cost"]
    with journal_of(config) as journal:
        off = OwnNoise(config.question, load(config.identity), journal)
        assert (bool(off), off.reach, off.outdated(1)) == (False, 0.0, [])
        assert journal.get(SEED) is None


# What is told


def test_what_people_read_says_that_the_answer_is_noisy(tmp_path, rng):
    configs = parties_of(tmp_path, AVERAGING + NOISE.format(variance=VARIANCE), [rng.uniform(1, 3, size=(1, 2))] * N)
    assert played(configs) == [0] * N
    told = result_of(configs[0])
    assert answer_text(told).endswith("the answer is off by 0.25 (one standard deviation).")
    apart = {**told, "noise": {"variance": 0.25, "standard_deviation": [2.5, 0.25]}}
    assert "the answer is off by 2.5 in c0, 0.25 in c1" in answer_text(apart)
    assert "oisy" not in answer_text({**told, "noise": None})
    facts = status_facts({"noise": told["noise"]})["noise"]
    assert facts == "of variance 0.25 from every party: the answer is off by 0.25 (one standard deviation)"
    assert "noise" not in status_facts({"noise": None})


@pytest.mark.parametrize(("when", "how", "covered"), [(0.3, "dropped", 3), (0.6, "adopted", 4)])
def test_one_leaves_for_good(tmp_path, rng, noted, when, how, covered):
    """One that was never heard takes its noise with it. After that its noise stays, with its rows."""
    for i in range(N):
        identity.create(tmp_path / "people" / f"p{i}", f"p{i}")
    path = tmp_path / "cost.toml"
    path.write_text(AVERAGING.format(columns=["a", "b"]))
    table = Table(file := TomlFile(path), "cost", file.values["cost"])
    question = Question(None, table, sv.GaussianMask(1e6), N, noise=sv.LocalNoise(VARIANCE))
    scene = Scene(sv.Network.complete(N), question, tmp_path / "people", tol=1e-10, wake=60.0, leaver=(when, 1))
    world = World(scene, "A", tmp_path / "world", [rng.uniform(1, 3, (1, 2)) for _ in range(N)]).play()
    results = [world.agents[f"p{i}"].result for i in range(N) if i != 1]
    noisy = np.mean([world.brought[f"p{i}", 0][0] for i in range(N) if how == "adopted" or i != 1], axis=0)
    for result in results:
        assert (result["left"][0]["how"], len(result["covers"])) == (how, covered)
        assert result["noise"]["standard_deviation"] == [math.sqrt(VARIANCE / covered)] * 2
        np.testing.assert_allclose(list(result["answer"].values()), noisy, rtol=0, atol=ACCURACY)


def test_the_bound_of_a_party_on_itself(tmp_path, rng):
    """No less than the exact leakage of a star, whose hub it is for; with all neighbours corrupt it is what noise
    leaves of a number; without noise it is what it was."""
    mask = sv.GaussianMask(40.0)
    assert bound(0, mask) == math.inf
    assert bound(0, mask, noise=0.5) == pytest.approx(0.5 * math.log(1 + 1 / 0.5))
    assert bound(3, mask) == pytest.approx(0.5 * math.log1p(4 * (1 / 4 + 2 / 40) / 3))
    configs = parties_of(tmp_path, AVERAGING + NOISE.format(variance=0.5), [rng.normal(size=(1, 1))] * N)
    assert played(configs) == [0] * N
    privacy = result_of(configs[0])["privacy"]
    assert privacy["guarantee"] == "upper bound"
    assert [row["leakage_at_most"] for row in privacy["by_corrupt_neighbours"]] == [
        bound(honest, sv.GaussianMask(1e8), noise=0.5) for honest in (3, 2, 1, 0)
    ]
    assert "behind its noise alone it is at most 0.549 nats if all are" in privacy["sentence"]


# A party that comes back


def test_killed_parties_come_back_with_the_same_noise(tmp_path):
    """Real processes and ``kill -9`` in the middle: all that was ever sent fits one noise, to the bit."""
    network = sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3)])
    trial = prepare(tmp_path, network, "averaging", wake=60.0, rows=1, noise=VARIANCE, party='record = "trace.jsonl"')
    with trial.cluster() as cluster:
        cluster.start()
        for victims in (["p0", "p1"], ["p1"]):
            # of both: one that has not begun has nothing to come back to
            wait_for(lambda: min(status(cluster, name).get("wakes", 0) for name in ("p0", "p1")) > 5, what="wakes")
            for victim in victims:
                cluster.kill(victim)
            cluster.start(victims)
        assert not cluster.results()
        told = status(cluster, "p2")["noise"]
        results_of(cluster)
        assert cluster.wait(30.0) == dict.fromkeys(cluster.names, 0)
        noisy = [holdings(config)[0].cost.s[0] for config in cluster.configs.values()]
        exact = np.concatenate(trial.shards)
        for name, result in cluster.results().items():
            answer = list(result["answer"].values())
            np.testing.assert_allclose(answer, np.mean(noisy, axis=0), rtol=0, atol=ACCURACY, err_msg=name)
            assert (
                result["noise"] == told == {"variance": VARIANCE, "standard_deviation": [math.sqrt(VARIANCE / 5)] * 3}
            )
        assert 1e-6 < np.abs(np.mean(noisy, axis=0) - exact.mean(axis=0)).max() < 8 * math.sqrt(VARIANCE / 5)
        again = replay_folders(trial.folder)
        assert again.equal, again.difference
        assert again.restarts >= 3
        for config in cluster.configs.values():
            assert config.journal.stat().st_mode & 0o777 == 0o600
            secrets = [value for s, own in zip(noisy, exact, strict=True) for value in (*s, *(s - own))]
            said = cluster.log(config.name) + config.result.read_text()
            # six digits, a zero at the end too: with fewer, a secret of 1.59520 is found in an answer of 1.59528
            assert not any(f"{abs(value):#.6g}" in said for value in secrets)


def test_the_seed_is_there_before_anybody_is_called_and_gone_with_the_agreement(tmp_path, rng, monkeypatch):
    """It is written with the first keys. Drawn again it never is."""
    configs = parties_of(tmp_path, AVERAGING + NOISE.format(variance=VARIANCE), [rng.uniform(1, 3, (1, 2))] * N)
    seeds: list[bytes | None] = []
    start, over = process.Agent.__init__, retention.stage_over

    def starting(agent: Any, *arguments: Any) -> None:
        start(agent, *arguments)
        seeds.append(agent.journal.get(SEED))
        written = agent.journal._waiting.keys()  # in one transaction
        assert {SEED, MADE, *(f"edge/{name}/private" for name in agent.party.links)} <= written

    def ending(journal: Any, edges: Any, stage: int, *more: Any, **how: Any) -> None:
        assert journal.get(SEED) in seeds
        over(journal, edges, stage, *more, **how)
        assert (journal.get(SEED) is None) == (stage == 0)

    monkeypatch.setattr(process.Agent, "__init__", starting)
    monkeypatch.setattr(retention, "stage_over", ending)
    assert played(configs) == [0] * N
    assert len({*seeds}) == N
    assert {len(seed) for seed in seeds} == {32}
    for config, seed in zip(configs, seeds, strict=True):
        assert seed not in config.journal.read_bytes()


def test_a_journal_without_its_seed_draws_no_other(tmp_path, rng):
    (config, *_) = parties_of(tmp_path, AVERAGING + NOISE.format(variance=VARIANCE), [np.ones((1, 2))] * N)
    me = load(config.identity)
    with journal_of(config) as journal:
        noise = OwnNoise(config.question, me, journal)
        journal.made()
        first = noise.on(np.ones(3))
        assert (OwnNoise(config.question, me, journal).on(np.ones(3)) == first).all()
        seed = journal.get(SEED)
        journal.put({}, drop=[SEED])
        again = OwnNoise(config.question, me, journal)
        assert journal.get(SEED) is None
        with pytest.raises(JournalError, match=r"the seed of this party's noise is missing.*Restore the newest copy"):
            again.on(np.ones(3))
        journal.put({SEED: seed})
        stranger = load(read_node_file(tmp_path / "out" / "p1" / "node.toml").identity)
        other = OwnNoise(config.question, stranger, journal).on(np.ones(3))
        assert (other != first).all()  # the journal alone tells nothing


# Bad input

FIT = 'features = ["a"]\ntarget = "y"\n'
ASKED = '[cost]\ntype = "averaging"\ncolumns = ["a"]\n'
WRONG = {
    "variance = 0": "variance of the noise must be a positive number; got 0.0. Leave noise out for an exact answer.",
    "variance = -1.5": "variance of the noise must be a positive number; got -1.5.",
    "variance = nan": "variance must be a number; got nan.",
    "variance = inf": "variance must be a number; got inf.",
    'variance = "much"': "variance must be a number; got 'much'.",
    "variance = true": "variance must be a number; got True.",
    "variance = 1e70": "variance must be at most 1e+60; got 1e+70. Give larger scales.",
    "sigma = 2": "sigma is not a known key.",
    "": "variance is missing. Add it to the table.",
}
NOT_FOR = {
    "mean": '[statistic]\ntype = "mean"\ncolumns = ["a"]\n',
    "variance": '[statistic]\ntype = "variance"\ncolumns = ["a"]\n',
    "covariance": '[statistic]\ntype = "covariance"\ncolumns = ["a", "b"]\n',
    "histogram": '[statistic]\ntype = "histogram"\ncolumns = ["a"]\nbins = [0, 1]\n',
    "linear": f'[statistic]\ntype = "linear"\n{FIT}',
    "huber": '[cost]\ntype = "huber"\ncolumns = ["a"]\n',
    "lasso": f'[cost]\ntype = "lasso"\n{FIT}l1 = 1.0\n',
    "logistic": f'[cost]\ntype = "logistic"\n{FIT}',
}


def refusal(read: Callable[[Path], Any], path: Path) -> str:
    with pytest.raises(InvalidFile) as caught:
        read(path)
    return str(caught.value)


@pytest.mark.parametrize("line", WRONG)
def test_noise_that_is_none(tmp_path, line):
    """In a plan, and in a node file that somebody has changed."""
    told = refusal(read_plan, plan_of(tmp_path, f"{ASKED}[noise]\n{line}\n"))
    assert f"[noise] {WRONG[line]}" in told
    assert f"line {12 if line else 11}: " in told
    write_plan(read_plan(plan_of(tmp_path, ASKED + NOISE.format(variance=1.0))), tmp_path / "out", generate_keys=True)
    node = tmp_path / "out" / "p0" / "node.toml"
    edit(node, "[run.noise]\nvariance = 1.0\n", f"[run.noise]\n{line}\n")
    assert f"[run.noise] {WRONG[line]}" in refusal(read_node_file, node)


@pytest.mark.parametrize("kind", NOT_FOR)
def test_what_noise_is_not_defined_for(tmp_path, kind):
    told = refusal(read_plan, plan_of(tmp_path, NOT_FOR[kind] + NOISE.format(variance=1.0)))
    assert '[noise] is for [cost] type = "averaging", where a party brings one number a column' in told
    assert f"{kind} is exact. Remove it." in told


def test_noise_must_be_a_table(tmp_path):
    plan = plan_of(tmp_path, ASKED)
    plan.write_text(f"noise = 0.5\n{plan.read_text()}")
    assert "noise must be a table: write [noise] on a line of its own" in refusal(read_plan, plan)


def test_averaging_takes_one_row_with_noise(tmp_path, rng):
    (config, *_) = parties_of(tmp_path, AVERAGING + NOISE.format(variance=1.0), [rng.uniform(1, 3, (2, 1))] * N)
    with pytest.raises(
        InvalidFile, match=r"averaging with noise takes one row of each party, and there are more\..*mean"
    ):
        config.own_data()


@pytest.mark.parametrize("changed", ["[run.noise]\nvariance = 0.5\n", ""])
def test_parties_that_mean_other_noise_refuse_each_other(tmp_path, changed):
    """Another variance, and none at all. Nobody comes to an answer."""
    configs = parties_of(tmp_path, AVERAGING + NOISE.format(variance=VARIANCE), [np.ones((1, 1))] * 2)
    edit(configs[1].path, f"[run.noise]\nvariance = {VARIANCE}\n", changed)
    configs[1] = read_node_file(configs[1].path)
    assert configs[0].run_hash != configs[1].run_hash
    for config, ended in zip(configs, played(configs, return_exceptions=True), strict=True):
        assert isinstance(ended, PeerError)
        assert "noise" in str(ended)
        assert not config.result.exists()
