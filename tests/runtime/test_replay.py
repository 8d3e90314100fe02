"""A run is recorded, replayed to the bit, and audited from its traces: nodes in this process with every kind of
misfortune, and real parties that are killed."""

from __future__ import annotations

import io
import json
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from runtime.leavers import Stage
from runtime.trial import ACCURACY, edit

import sottovoce as sv
from sottovoce.errors import InvalidFile, InvalidInput, JournalError, Unsupported
from sottovoce.pdmm.node import Link
from sottovoce.privacy import Coalition, Transcript, audit
from sottovoce.privacy.methods.closed_form import OpenView
from sottovoce.privacy.methods.secrets_and_prior import secrets_of
from sottovoce.runtime.cluster import Cluster, free_ports
from sottovoce.runtime.plan.plan import read_plan, write_plan
from sottovoce.runtime.traces import trace_audit
from sottovoce.runtime.traces.replay import Difference, Holding, holdings, recorded, replay, replay_folders
from sottovoce.runtime.traces.trace import Began, RecordedNode, Recorder, Woke, read_trace
from sottovoce.runtime.traces.trace_audit import audit_trace, estimate

HOUSE = sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (3, 4)])
NAMES = ["ann", "bob", "cat", "dan", "eve"]
PLACE = {(int(i), int(j)): h for h, (i, j) in enumerate(HOUSE.half_edges)}
C, MASK = 0.4, sv.GaussianMask(9.0)
COST = {"type": "averaging", "mask": {"variance": MASK.variance}}
# The auditor's two methods agree to about 1e-14 on these networks; the rest is for the rounding of longer runs.
CLOSE = 1e-9


class Story:
    """Parties of one run in this process, recorded: wakes, losses, overtaking, and crashes, at random."""

    how: ClassVar = {"c": C}

    def __init__(self, folder: Path, seed: int, *, channels="open", theta=1.0, d=3, logistic=False):
        self.rng = np.random.default_rng(seed)
        self.problem = sv.averaging(HOUSE, self.rng.normal(size=(5, d)))
        if logistic:
            shards = [(self.rng.normal(size=(rows, d)), self.rng.integers(0, 2, rows)) for rows in (1, 2, 5, 8, 20)]
            self.problem = sv.logistic(HOUSE, shards)
        self.z0, self.theta = MASK.draw((2 * HOUSE.m, d), seed), theta
        self.run = {"name": "story", "parties": NAMES, "channels": channels, "theta": theta, "cost": COST} | self.how
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.recorders = [self.recorder(i) for i in range(5)]
        self.nodes = [self.node(i) for i in range(5)]
        self.messages, self.saved, self.wakes = [], [None] * 5, 0
        for i in range(5):
            self.recorders[i].began(0, 0, MASK, None)

    @property
    def traces(self):
        return [self.folder / f"{name}.jsonl" for name in NAMES]

    def recorder(self, i):
        around = [SimpleNamespace(name=NAMES[j], index=j) for j in HOUSE.neighbours(i).tolist()]
        config = SimpleNamespace(
            name=NAMES[i], index=i, neighbours=around, channels=self.run["channels"], parameters=lambda: self.run
        )
        return Recorder(self.traces[i], config)

    def holding(self, i):
        zero, around = np.zeros(self.problem.dim), HOUSE.neighbours(i).tolist()
        pads = {j: (self.z0[PLACE[i, j]], self.z0[PLACE[j, i]]) for j in around}
        links = {j: Link(1.0 if i > j else -1.0, zero, *pads[j]) for j in around}
        return Holding(self.problem.cost(i), links, MASK.grid)

    def node(self, i):
        own = self.holding(i)
        return RecordedNode(
            self.recorders[i], 0, i, own.cost, own.links, c=C, theta=self.theta, grid=MASK.grid
        )  # fmt: skip

    def wake(self, i):
        self.wakes += 1
        sent = self.nodes[i].wake()
        self.messages += sent
        return sent

    def hear(self, message):
        self.nodes[message.receiver].receive(message)

    def save(self, i):
        node = self.nodes[i]
        self.saved[i] = dict(node.D), dict(node.newest), node.x, self.recorders[i].mark()

    def crash(self, i):
        """Lose everything since the last save; half a line is left of what was being written."""
        spent = self.nodes[i].sent + 10
        with open(self.traces[i], "ab") as file:
            file.write(b'{"stage":0,"wa')
        self.recorders[i], state = self.recorder(i), None
        self.nodes[i] = node = self.node(i)
        if self.saved[i] is not None:
            D, newest, node.x, state = self.saved[i]
            node.D, node.newest = dict(D), dict(newest)
        node.sent = spent
        self.recorders[i].began(0, spent, MASK, state)

    def play(self, steps):
        for _ in range(steps):
            match self.rng.choice(["wake", "hear", "save", "crash"], p=[0.3, 0.58, 0.08, 0.04]):
                case "hear" if self.messages:  # one of the latest, so that some are late and some never arrive
                    self.hear(self.messages[-1 - int(self.rng.integers(min(12, len(self.messages))))])
                case "save":
                    self.save(int(self.rng.integers(5)))
                case "crash":
                    self.crash(int(self.rng.integers(5)))
                case _:
                    self.wake(int(self.rng.integers(5)))
        for i in range(5):
            self.wake(i)
        return self

    def node_of(self, i, stage):
        assert stage == 0
        return sv.nodes_of(self.problem, c=C, theta=self.theta, z0=self.z0, grid=MASK.grid)[i]


def rewrite(path, change):
    """Change the lines of a trace, as JSON objects; None drops one."""
    lines = [change(k, json.loads(line)) for k, line in enumerate(path.read_text().splitlines())]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines if line is not None))


# Replay


@pytest.mark.parametrize("channels", ["open", "encrypted"])
@pytest.mark.parametrize("seed", range(4))
def test_what_was_recorded_replays_to_the_bit(tmp_path, seed, channels):
    story = Story(tmp_path, seed, channels=channels, theta=[1.0, 0.7][seed % 2]).play(400)
    done = replay(story.traces, story.node_of)
    assert done.equal
    assert (done.wakes, done.messages, done.stages) == (story.wakes, len(story.messages), 1)
    assert done.restarts > 5


@pytest.mark.parametrize("seed", range(3))
def test_a_logistic_run_replays_to_the_bit(tmp_path, seed):
    """A logistic step begins at the node's last ``x``, which a journal keeps: after a crash it is an older one."""
    story = Story(tmp_path, seed, logistic=True).play(400)
    done = replay(story.traces, story.node_of)
    assert done.equal
    assert done.restarts > 5


def test_a_party_that_was_restored_is_set_back(tmp_path):
    """Without it the replay goes wrong: the state after a crash is an older one."""
    story = Story(tmp_path, 1).play(400)
    for path in story.traces:
        rewrite(path, lambda k, line: line | {"after": k} if "after" in line else line)
    assert not replay(story.traces, story.node_of).equal


def test_the_first_difference_is_named(tmp_path):
    story = Story(tmp_path, 0).play(100)
    wakes = [event for event in read_trace(story.traces[2]).events if isinstance(event, Woke)]
    target = wakes[len(wakes) // 2].counter

    def last_bit(k, line):
        if line.get("wake") == target:
            text = line["sent"]["eve"]
            line["sent"]["eve"] = ("B" if text[0] != "B" else "C") + text[1:]  # the lowest bits of the first number
        return line

    rewrite(story.traces[2], last_bit)
    done = replay(story.traces, story.node_of)
    assert done.difference == Difference("cat", "eve", 0, target)
    assert done.messages < len(story.messages)


def test_other_data_give_other_messages(tmp_path):
    story = Story(tmp_path, 0).play(50)
    s = np.array([story.problem.cost(i).s[0] for i in range(5)])
    s[3] += 1e-6
    story.problem = sv.averaging(HOUSE, s)
    first = next(event for event in read_trace(story.traces[3]).events if isinstance(event, Woke))
    found = replay(story.traces, story.node_of).difference
    assert (found.party, found.counter) == ("dan", first.counter)


def test_half_a_line_is_not_read(tmp_path):
    story = Story(tmp_path, 0).play(20)
    before = read_trace(story.traces[0])
    with open(story.traces[0], "ab") as file:
        file.write(b'{"stage":0,"wake":99')
    assert len(read_trace(story.traces[0]).events) == len(before.events)


def test_a_trace_is_of_one_run_and_secret(tmp_path):
    story = Story(tmp_path, 0)
    assert story.traces[0].stat().st_mode & 0o777 == 0o600
    story.run = story.run | {"name": "another"}
    with pytest.raises(JournalError, match="trace of another run"):
        story.recorder(0)
    story.folder = tmp_path / "nowhere"
    with pytest.raises(JournalError, match="cannot be used"):
        story.recorder(0)


def test_a_trace_that_cannot_be_written_says_so(tmp_path):
    story = Story(tmp_path, 0)
    story.recorders[0].file = open("/dev/full", "wb")  # noqa: SIM115
    with pytest.raises(JournalError, match="cannot be written: No space"):
        story.nodes[0].wake()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda k, line: None if line.get("wake") == 2 else line, "sent message 3 after message 1"),
        (lambda k, line: line if k < 20 else None, "heard message .* of ann, which the trace of ann does not have"),
        (lambda k, line: None if "begin" in line else line, "did something before the stage began"),
        (lambda k, line: line | {"begin": 0} if "after" in line else line, "went on at message 0, but had sent"),
        (lambda k, line: line | {"after": None} if "after" in line else line, "began when the stage was under way"),
        (lambda k, line: line | {"after": 9_999} if "after" in line else line, "lines before this one are missing"),
        (lambda k, line: line | {"stage": 1} if "after" in line else line, "belongs to another stage"),
        (lambda k, line: {"stage": 0, "sang": 1} if k == 3 else line, "line 4: this is no line of a trace"),
        (lambda k, line: line | {"format": "other"} if k == 0 else line, "no trace of this version"),
        (lambda k, line: line | {"run": line["run"] | {"c": 2.0}} if k == 0 else line, "traces of different runs"),
        (lambda k, line: line | {"index": 1} if k == 0 else line, "Give one of each"),
        (lambda k, line: line | {"party": "anna"} if k == 0 else line, "do not agree on who is whose neighbour"),
    ],
)  # fmt: skip
def test_traces_that_do_not_fit_are_refused(tmp_path, change, sentence):
    story = Story(tmp_path, 9).play(300)
    before = read_trace(story.traces[0])
    assert any(isinstance(event, Began) and event.after for event in before.events)
    assert {1, 2, 3} <= {event.counter for event in before.events if isinstance(event, Woke)}
    rewrite(story.traces[0], change)
    with pytest.raises(InvalidInput, match=sentence):
        replay(story.traces, story.node_of)


def test_all_traces_are_needed(tmp_path):
    story = Story(tmp_path, 0).play(20)
    with pytest.raises(InvalidInput, match=r"the parties 0 \.\. 4; got traces of \[0, 1\]"):
        replay(story.traces[:2], story.node_of)
    with pytest.raises(InvalidInput, match="there are no traces"):
        replay([], story.node_of)
    with pytest.raises(InvalidFile, match="cannot be read"):
        replay([tmp_path / "none.jsonl"], story.node_of)


# The auditor, on what was recorded


def same(report, expected):
    for name in ("leakage", "floor", "excess"):
        np.testing.assert_allclose(getattr(report, name), getattr(expected, name), rtol=0, atol=CLOSE)


@pytest.mark.parametrize("corrupt", [(), {0}, {1, 3}, {2, 3}])
@pytest.mark.parametrize("seed", range(2))
def test_the_whole_transcript_leaks_what_was_predicted(tmp_path, seed, corrupt):
    """Whatever was lost, overtaken, or sent again after a crash (theory: Schedules and prefixes)."""
    story = Story(tmp_path, seed, theta=[1.0, 0.7][seed]).play(300)
    prediction = {"mask": MASK, "corrupt": corrupt, "prior": 2.0, "c": C, "theta": story.theta}
    report = audit_trace(story.traces, stage=0, corrupt=corrupt, prior=2.0)
    same(report, audit(sv.averaging(HOUSE, np.zeros(5)), **prediction))
    assert report.guarantee == "exact"
    assert "recorded transcript of stage 0" in report.summary()


@pytest.mark.parametrize("channels", ["open", "encrypted"])
def test_with_noise_the_transcript_tells_of_the_data_behind_it(tmp_path, channels, monkeypatch):
    """What is recorded is of noisy numbers; the leakage is that of the data."""
    monkeypatch.setattr(Story, "how", {"c": C, "noise": {"variance": 0.5}})
    story = Story(tmp_path, 1, channels=channels).play(400)
    prediction = {"mask": MASK, "noise": sv.LocalNoise(0.5), "prior": 2.0, "c": C, "theta": story.theta}
    predicted = audit(sv.averaging(HOUSE, np.zeros(5)), corrupt={0}, **prediction)
    report = audit_trace(story.traces, stage=0, corrupt={0}, prior=2.0)
    if channels == "open":
        same(report, predicted)
        assert report.noise == sv.LocalNoise(0.5)
        np.testing.assert_allclose(report.mu, predicted.mu, atol=CLOSE)
        with pytest.raises(Unsupported, match="noisy numbers of a run are not estimated"):
            estimate(story.traces, {}, stage=0)
    else:
        assert (report.leakage[1:] <= predicted.leakage[1:] + CLOSE).all()
    assert (
        report.leakage[1:] < audit(sv.averaging(HOUSE, np.zeros(5)), MASK, corrupt={0}, prior=2.0).leakage[1:]
    ).all()


def test_with_a_unit_the_transcript_tells_of_the_data_in_theirs(tmp_path, monkeypatch):
    """What travels is counted in steps, here of 2, and so are the pads of the trace; prior and posterior are not."""
    monkeypatch.setattr(Story, "how", {"c": C, "cost": COST | {"mask": {"variance": 4 * MASK.variance}}})
    story = Story(tmp_path, 1).play(300)
    expected = audit(sv.averaging(HOUSE, np.zeros(5)), sv.GaussianMask(4 * MASK.variance), corrupt={0}, prior=8.0)
    same(audit_trace(story.traces, stage=0, corrupt={0}, prior=8.0), expected)
    found = estimate(story.traces, {0: story.holding(0)}, stage=0, prior=8.0)
    np.testing.assert_allclose(found.std[1:], expected.posterior_std[1:, 0], rtol=0, atol=CLOSE)
    np.testing.assert_allclose(found.mean[0], 2 * story.problem.cost(0).s[0], rtol=0, atol=CLOSE)


@pytest.fixture
def _no_escrow(monkeypatch) -> None:
    """What guardians keep is no part of what the model sends."""
    monkeypatch.setattr(trace_audit, "guardians", lambda neighbours: ())


@pytest.mark.usefixtures("_no_escrow")
def test_before_all_have_spoken_it_leaks_less(tmp_path):
    """A prefix, against its own closed form (``closed_form``)."""
    story = Story(tmp_path, 0)
    for i in (1, 2, 2, 1):
        for message in story.wake(i):
            story.hear(message)
    woken = np.isin(np.arange(5), [1, 2])
    for corrupt in (frozenset(), frozenset({0})):
        view = OpenView(secrets_of(sv.averaging(HOUSE, np.zeros(5)), 1.0), corrupt, woken, C)
        report = audit_trace(story.traces, stage=0, corrupt=corrupt)
        same(report, view.leaks(MASK.variance))
        assert not report.holds_answer


@pytest.mark.usefixtures("_no_escrow")
def test_encrypted_channels_show_what_the_schedule_says(tmp_path):
    """Where every message arrives at once, a trace is an asynchronous schedule."""
    story = Story(tmp_path, 5, channels="encrypted")
    wakes = story.rng.integers(5, size=60).tolist()
    for i in wakes:
        for message in story.wake(i):
            story.hear(message)
    whom = {"against": Coalition({0}), "channels": "encrypted"}
    schedule = {"schedule": sv.Trace(wakes), "seen": Transcript(len(wakes)), "c": C, "theta": 1.0}
    expected = audit(sv.averaging(HOUSE, np.zeros(5)), mask=MASK, **whom, **schedule)
    same(audit_trace(story.traces, stage=0, corrupt={0}), expected)  # taps see nothing
    same(audit_trace(story.traces, stage=0, against=Coalition({0})), expected)
    same(audit_trace(story.traces, stage=0, corrupt={"ann"}), expected)
    same(audit_trace(story.traces, stage=0, against=Coalition({"ann"})), expected)


@pytest.mark.parametrize("theta", [1.0, 0.7])
def test_encrypted_channels_show_no_more_than_open_ones(tmp_path, theta):
    """Crashes included, after which a party speaks from an older state once more."""
    story = Story(tmp_path, 2, channels="encrypted", theta=theta).play(600)
    hidden = audit_trace(story.traces, stage=0, corrupt={0})
    tapped = audit(sv.averaging(HOUSE, np.zeros(5)), mask=MASK, corrupt={0}, c=C)
    assert (hidden.leakage[1:] <= tapped.leakage[1:] + CLOSE).all()
    assert (hidden.leakage[1:] >= hidden.floor[1:] - CLOSE).all()


@pytest.mark.parametrize("seed", range(2))
def test_the_posterior_is_calibrated(tmp_path, seed):
    """Each entry of a vector is a run of its own, with its own secrets and pads: hundreds of runs of one order."""
    d = 600
    story = Story(tmp_path, seed, theta=[1.0, 0.7][seed], d=d).play(200)
    truth = np.array([story.problem.cost(i).s[0] for i in range(5)])
    for corrupt in (), (0,), (1, 4):
        found = estimate(story.traces, {i: story.holding(i) for i in corrupt}, stage=0)
        expected = audit(sv.averaging(HOUSE, np.zeros(5)), mask=MASK, corrupt=corrupt, c=C, theta=story.theta)
        honest = [i for i in range(5) if i not in corrupt]
        np.testing.assert_allclose(found.std[honest], expected.posterior_std[honest, 0], rtol=0, atol=CLOSE)
        np.testing.assert_allclose(found.mean[list(corrupt)], truth[list(corrupt)], rtol=0, atol=CLOSE)
        squares = ((truth - found.mean)[honest] / found.std[honest, None]) ** 2
        # Squares of standard normals have variance 2, and runs are independent.
        assert np.abs(squares.mean(axis=1) - 1).max() < 4 * np.sqrt(2 / d)
        # To guess the mean of the prior instead would be off by more than that: the estimate knows something.
        assert (truth[honest] ** 2 / found.std[honest, None] ** 2).mean() > 1 + 4 * np.sqrt(2 / d)


def test_a_disclosed_party_is_read_out(tmp_path):
    story = Story(tmp_path, 0).play(200)
    found = estimate(story.traces, {i: story.holding(i) for i in (2, 3)}, stage=0)
    assert found.std[4] == 0
    # The grid of the mask, and rounding at the size of the pads.
    np.testing.assert_allclose(found.mean[4], story.problem.cost(4).s[0], rtol=0, atol=1e-12)


def test_what_cannot_be_audited_is_refused(tmp_path):
    story = Story(tmp_path, 0, channels="encrypted").play(20)
    with pytest.raises(Unsupported, match="only their hashes"):
        estimate(story.traces, {}, stage=0)
    with pytest.raises(InvalidInput, match="stage 1 has no Gaussian pads; those that have are: 0"):
        audit_trace(story.traces, stage=1)
    with pytest.raises(InvalidInput, match="corrupt: there is no node 7; they are ann, bob"):
        audit_trace(story.traces, stage=0, corrupt={7})
    with pytest.raises(InvalidInput, match="one of corrupt and against"):
        audit_trace(story.traces, stage=0, corrupt={1}, against=Coalition({1}))
    traces = [read_trace(path) for path in story.traces]
    others = [replace(trace, run=trace.run | {"cost": COST | {"type": "huber"}}) for trace in traces]
    with pytest.raises(Unsupported, match="where it is of averaging"):
        audit_trace(others, stage=0)


# Real parties

COLUMNS, UNIT = 200, 0.003
RING = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]


@pytest.fixture(scope="module")
def killed(tmp_path_factory) -> Path:
    """Four processes that average under Gaussian pads over open channels, some of them killed on the way."""
    base = tmp_path_factory.mktemp("killed")
    names = [f"p{i}" for i in range(4)]
    # One row each, of whole multiples of a unit: numbers travel in other steps.
    data = UNIT * np.rint(np.random.default_rng(8).normal(size=(4, COLUMNS)) / UNIT)
    columns = [f"c{k}" for k in range(COLUMNS)]
    parties = ""
    for name, port, row in zip(names, free_ports(4), data, strict=True):
        (base / f"{name}.csv").write_text(",".join(columns) + "\n" + ",".join(map(repr, row.tolist())) + "\n")
        parties += f'[[party]]\nname = "{name}"\naddress = "127.0.0.1:{port}"\ndata = "{name}.csv"\n'
    (base / "plan.toml").write_text(
        f'[run]\nname = "killed"\nchannels = "open"\nc = 0.4\nwake = 40\noverlay = "all"\n'
        f"[network]\nedges = {[list(e) for e in RING]}\n"
        f'[cost]\ntype = "averaging"\ncolumns = {json.dumps(columns)}\nunit = {UNIT}\n[mask]\nvariance = 4.0\n{parties}'
    )
    write_plan(read_plan(base / "plan.toml"), base / "run", generate_keys=True)
    for path in base.glob("run/*/node.toml"):
        path.write_text(path.read_text().replace("[party]\n", '[party]\nrecord = "trace.jsonl"\n'))

    def lines(name):
        path = base / "run" / name / "trace.jsonl"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    with Cluster(base / "run") as cluster:
        cluster.start()
        deadline = time.monotonic() + 60
        for name, least in (("p1", 30), ("p3", 60), ("p0", 90)):  # of about 200
            while lines(name) < least and time.monotonic() < deadline:
                time.sleep(0.005)
            cluster.kill(name)
            cluster.start([name])
        assert set(cluster.wait(60).values()) == {0}
    return base / "run"


@pytest.mark.filterwarnings("ignore::sottovoce.errors.BadlyHidden")  # on purpose, so that there is something to see
def test_parties_that_were_killed_replay_to_the_bit(killed):
    done = replay_folders(killed)
    assert done.equal
    assert done.stages == 1
    assert done.restarts == 3


@pytest.mark.filterwarnings("ignore::sottovoce.errors.BadlyHidden")
@pytest.mark.parametrize("corrupt", [(), {0}, {0, 1}])
def test_real_parties_leak_what_was_predicted(killed, corrupt):
    configs = list(Cluster(killed).configs.values())
    traces, network = recorded(configs), sv.Network.from_edges(4, RING)
    route = configs[0].route
    run = {"c": route.penalty, "overlay": route.edges, "theta": route.theta}
    expected = audit(sv.averaging(network, np.zeros(4)), mask=sv.GaussianMask(4.0), corrupt=corrupt, **run)
    same(audit_trace(traces, stage=0, corrupt=corrupt), expected)
    found = estimate(traces, {i: holdings(configs[i])[0] for i in corrupt}, stage=0)
    honest = [i for i in range(4) if i not in corrupt]
    np.testing.assert_allclose(found.std[honest], expected.posterior_std[honest, 0], rtol=0, atol=CLOSE)
    truth = np.array([config.cost().cost.s[0] for config in configs])
    squares = ((truth - found.mean)[honest] / found.std[honest, None]) ** 2
    assert abs(squares.mean() - 1) < 4 * np.sqrt(2 / COLUMNS)


def test_exact_sums_replay_to_the_bit_after_restarts(tmp_path):
    """Words under uniform pads, which are the same when a party comes back."""
    stage = Stage(tmp_path, sv.Network.ring(4), channels="open")
    for path in stage.trial.folder.glob("*/node.toml"):
        edit(path, "[party]\n", '[party]\nrecord = "trace.jsonl"\n')
    stage.configs = Cluster(stage.trial.folder).configs

    async def plot(stage: Stage) -> None:
        stage.start()
        for name, k in (("p1", 0), ("p3", 1)):
            await stage.until(lambda name=name, k=k: at_work(stage, name, k))
            stage.agents[name].recorder.file = io.BytesIO()  # a crash writes nothing more
            await stage.kill(name)
            stage.start(name)

    results = stage.play(plot)
    assert sorted(results) == sorted(stage.configs)
    for result in results.values():
        np.testing.assert_allclose(result["answer"]["mean"], stage.mean(), rtol=0, atol=ACCURACY)
    done = replay_folders(stage.trial.folder)
    assert done.equal, done.difference
    assert (done.stages, done.restarts) == (2, 2)
    traces = recorded(stage.configs.values())
    with pytest.raises(InvalidInput, match="stage 1 has no Gaussian pads; those that have are: none"):
        audit_trace(traces, stage=1)


def at_work(stage: Stage, name: str, k: int) -> bool:
    """Whether a party has sent some values of stage ``k``, and heard others."""
    party = stage.agents[name].party if name in stage.agents else None
    return party is not None and party.stage == k and party.agreement is not None and party.agreement.wakes > 2
