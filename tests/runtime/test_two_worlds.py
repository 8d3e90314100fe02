"""What leaves a party is a function of public numbers, of its collapsed ``(w, e)``, and of what it received.

Two worlds have other data and equal ``(w, e)`` at every party, and play the same events. If anything that others may
see differs in a byte, data show: frames and their times, traces, results, status, metrics, logs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from runtime.two_worlds import Event, Foretold, Scene, Unlucky, World, along_tree, asked_of, other_world

import sottovoce as sv
from sottovoce.costs import Cost
from sottovoce.data.cost_table import PartyCost
from sottovoce.data.schema import Schema
from sottovoce.files.toml_table import Table, TomlFile
from sottovoce.numerics.grid import on_grid
from sottovoce.pdmm.masks import GaussianMask
from sottovoce.runtime import agent as agent_module
from sottovoce.runtime import stage_node
from sottovoce.runtime.agent import Agent
from sottovoce.runtime.keys import identity
from sottovoce.runtime.network_agreements import NetworkAgreements
from sottovoce.runtime.own_noise import OwnNoise
from sottovoce.runtime.plan.question import Question
from sottovoce.runtime.protocol.agreement import Agreement
from sottovoce.statistics.agreements import NUMBERS, Objected
from sottovoce.sums import Ring

HOUSE = sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (3, 4)])
MASK, TOL = GaussianMask(1e4), 1e-8  # a small mask: thresholds are not hidden by rounding
TURNED = (2, 4, 0, 1, 3)  # whose rows each party has in the other world
HELLO, VALUE, OPENING, PADS = 1, 2, 6, 7  # how frames begin
MISFORTUNE = (Event(0.45, 1, crash=True), Event(0.62, 2, crash=False), Event(0.9, 3, crash=True), Event(1.4, 0, True))
STATISTICS: dict[str, dict[str, Any]] = {
    "mean": {"columns": ("a", "b")},
    "covariance": {"columns": ("a", "b")},
    "histogram": {"columns": ("a",), "bins": (-0.5, 0.0, 0.5)},
    "quantiles": {"column": "a", "q": (0.25, 0.5)},  # whose counts hang on those before
}
SCHEMA = Schema({name: {"type": "number", "range": [-4.0, 4.0]} for name in ("a", "b")})
AVERAGING = "averaging"  # a cost, behind Gaussian pads


@pytest.fixture(scope="module")
def people(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    for i in range(5):
        identity.create(folder / f"p{i}", f"p{i}")
    return folder


def scene(people: Path, kind: str, network: sv.Network = HOUSE, **more: Any) -> Scene:
    if kind == AVERAGING:
        question = averaging_of(people, MASK, network.n)
    else:
        question = asked_of(kind, network.n, schema=SCHEMA, **STATISTICS[kind])
    return Scene(network, question, people, tol=TOL, **more)


def rows_of(rng: np.random.Generator, kind: str, counts: Sequence[int]) -> list[np.ndarray]:
    """Of averaging one row each."""
    if kind == AVERAGING:
        return [sixty_fourths(rng, 1, 2) for _ in counts]
    options = STATISTICS[kind]
    return [sixty_fourths(rng, k, len(options.get("columns", ["column"]))) for k in counts]


def sixty_fourths(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Small numbers whose sums are exact."""
    return np.rint(rng.normal(size=shape) * 16) / 64


def told_apart(first: World, second: World) -> list[str]:
    """What shows, after a look at whether there was anything to show."""
    assert len(first.frames) > 100
    assert len(first.statuses) > 100
    if first.scene.events:
        assert first.restarts == second.restarts > 0
    return [what for what in first.shown if first.shown[what] != second.shown[what]]


def check(first: World, second: World) -> None:
    assert told_apart(first, second) == []
    assert len(first.collapsed) == len(second.collapsed)
    differ = 0
    for (q, w), (other_q, other_w) in zip(first.collapsed, second.collapsed, strict=True):
        np.testing.assert_array_equal(w, other_w)
        differ += (q != other_q).any()
    hidden = [key for key, (own, mask, _) in first.brought.items() if (own != second.brought[key][0]).any()]
    assert differ or all(isinstance(first.brought[key][1], Ring) for key in hidden)
    assert len(hidden) >= 2


# Statistics


@pytest.mark.parametrize("kind", ["covariance", "quantiles", AVERAGING])  # one stage; some; Gaussian pads
def test_parties_swap_their_rows(people, tmp_path, rng, kind):
    """Other numbers of rows, other sums and squares, in every stage; restarts from the journal."""
    rows = rows_of(rng, kind, (3, 1, 12, 5, 2))
    first = World(scene(people, kind, events=MISFORTUNE), "A", tmp_path / "a", rows).play()
    check(first, other_world(first, tmp_path / "b", [rows[k] for k in TURNED]).play())


@pytest.mark.parametrize("kind", ["mean", AVERAGING])
@pytest.mark.parametrize("wake", ["eager", "turns"])
def test_over_a_tree(people, tmp_path, rng, wake, kind):
    """With pads folded, and messages that are not sent because nothing has changed."""
    rows = rows_of(rng, kind, (3, 1, 12, 5, 2))
    play = scene(people, kind, events=MISFORTUNE, overlay="tree", wake=wake)
    first = World(play, "A", tmp_path / "a", rows).play()
    check(first, other_world(first, tmp_path / "b", [rows[k] for k in TURNED]).play())


@pytest.mark.parametrize("kind", ["mean", AVERAGING])
@pytest.mark.parametrize("k", [0, 2])
def test_a_link_stays_dead(people, tmp_path, rng, k, kind):
    """After all have spoken over the tree: what follows on the whole network tells nothing."""
    rows = rows_of(rng, kind, (3, 1, 12, 5, 2))
    first = World(scene(people, kind, overlay="tree", dead=(0.4, k)), "A", tmp_path / "a", rows).play()
    assert all(agent.result["fallback"]["stage"] == 0 for agent in first.agents.values())
    check(first, other_world(first, tmp_path / "b", [rows[k] for k in TURNED]).play())


@pytest.mark.parametrize("kind", ["mean", AVERAGING])
def test_one_leaves_for_good(people, tmp_path, rng, kind):
    """What it has left with its guardians shows nothing, nor does what they make of it."""
    rows = rows_of(rng, kind, (3, 1, 12, 5, 2))
    first = World(scene(people, kind, leaver=(0.5, 1), leaving=0), "A", tmp_path / "a", rows).play()
    assert first.agents["p0"].decided.kind == "adopted"
    check(first, other_world(first, tmp_path / "b", [rows[k] for k in TURNED]).play())


def test_other_data_under_other_noise(people, tmp_path, rng):
    """Equal pads, and noise that makes equal numbers of other rows: nothing but those numbers leaves a party. After a
    restart it is the noise of before."""
    counts, noisy, on = (3, 1, 12, 5, 2), {}, OwnNoise.on
    play = scene(people, AVERAGING, events=MISFORTUNE)
    play.question = replace(play.question, noise=sv.LocalNoise(0.5))

    def noted(noise: OwnNoise, values: np.ndarray) -> np.ndarray:
        found = noisy.setdefault(noise._identity.name, on(noise, values))
        np.testing.assert_array_equal(on(noise, values), found)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OwnNoise, "on", noted)
        first = World(play, "A", tmp_path / "a", rows_of(rng, AVERAGING, counts)).play()
        patch.setattr(OwnNoise, "on", lambda noise, values: noisy[noise._identity.name])
        second = World(play, "B", tmp_path / "b", rows_of(rng, AVERAGING, counts)).play()
    assert told_apart(first, second) == []
    assert all((first.brought[f"p{i}", 0][0] == second.brought[f"p{i}", 0][0]).all() for i in range(5))
    assert all((first.rows[i] != second.rows[i]).any() for i in range(5))


def test_counts_behind_words(people, tmp_path, rng):
    """In the smaller ring, on encrypted channels, with a clock."""
    rows = rows_of(rng, "histogram", (3, 1, 30, 5, 2))
    play = scene(people, "histogram", wake=40.0, channels="encrypted", events=MISFORTUNE[:2])
    first = World(play, "A", tmp_path / "a", rows).play()
    check(first, other_world(first, tmp_path / "b", [rows[k] for k in TURNED]).play())


@pytest.mark.parametrize("who", [1, 3])
def test_somebody_objects(people, tmp_path, rng, monkeypatch, who):
    """Its numbers are beyond what integers hold. All end with the same sentence, and nobody learns whose they are, also
    where it was killed in the middle."""
    rows = rows_of(rng, "mean", (3, 1, 12, 5, 2))
    rows[who] = rows[who] + 1e9
    objection = NetworkAgreements.objection
    first = World(scene(people, "mean", events=MISFORTUNE, ends=Objected), "A", tmp_path / "a", rows).play()
    own = first.brought[f"p{who}", 0][0]
    assert not own[:-1].any()
    assert own[-1]
    monkeypatch.setattr(NetworkAgreements, "objection", lambda agreements, ring: own[-1])
    monkeypatch.setattr(Foretold, "objection", lambda agreements, ring: own[-1])
    second = other_world(first, tmp_path / "b", [rows[k] for k in TURNED]).play()
    assert not any(first.brought[f"p{who}", 0][0] == second.brought[f"p{who}", 0][0])
    check(first, second)
    said = {
        objection(SimpleNamespace(agent=agent, runs=runs), NUMBERS)
        for agent in first.agents.values()
        for runs in ([], [0])
    }
    assert len(said) == 2 * len(rows)  # another one of every party, in every agreement


# Costs


def quadratic(rng: np.random.Generator) -> list[Cost]:
    """Other curvatures at every party; they show anyway."""
    return [sv.Quadratic(1.0 + i, sixty_fourths(rng, 2)) for i in range(5)]


def least_squares(rng: np.random.Generator) -> list[Cost]:
    A = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    return [sv.LeastSquares(A, sixty_fourths(rng, 3) / 4) for _ in range(5)]


@pytest.mark.parametrize("family", [quadratic, least_squares])  # numbers and matrices as curvatures
def test_costs_with_a_quadratic_form(people, tmp_path, rng, family):
    """Of equal Hessians: ``Q`` is part of what is collapsed, and traffic shows it."""
    costs = {"A": family(rng), "B": family(rng)}
    of = {world: [cost.quadratic.q[0] for cost in costs[world]] for world in costs}
    missing = np.array([on_grid(a, MASK.grid) - on_grid(b, MASK.grid) for a, b in zip(of["A"], of["B"], strict=True)])
    # The last party of world B makes up for what the others have more or less in all.
    rest = missing.sum(axis=0)
    missing[-1] -= rest
    form = costs["B"][-1].quadratic
    costs["B"][-1] = sv.Quadratic(form.Q[0], form.q[0] + rest)

    def own_data(world: str) -> Any:
        return lambda i: PartyCost("averaging", costs[world][i], ["u", "v"], None, None, {}, (), "")

    play = Scene(
        HOUSE, averaging_of(tmp_path, MASK, 5), people, tol=TOL, events=MISFORTUNE,
        own_data={"A": own_data("A"), "B": own_data("B")},
    )  # fmt: skip
    rows = [np.zeros((1, 2))] * 5
    first = World(play, "A", tmp_path / "a", rows).play()
    shifts = along_tree(HOUSE, 0, missing, lambda v, parent: 1.0 if v > parent else -1.0)
    second = World(play, "B", tmp_path / "b", rows, shifts).play()
    assert told_apart(first, second) == []
    for (q, w), (other_q, other_w) in zip(first.collapsed, second.collapsed, strict=True):
        assert (q != other_q).any()
        np.testing.assert_array_equal(w, other_w)


def averaging_of(folder: Path, mask: GaussianMask, parties: int) -> Question:
    path = folder / "cost.toml"
    path.write_text('[cost]\ntype = "averaging"\ncolumns = ["u", "v"]\n')
    file = TomlFile(path)
    return Question(None, Table(file, "cost", file.values["cost"]), mask, parties)


# Anything


@st.composite
def stories(draw: Any) -> dict[str, Any]:
    n = draw(st.integers(2, 5))
    tree = [(draw(st.integers(0, i - 1)), i) for i in range(1, n)]
    more = draw(
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda e: e[0] < e[1]), max_size=4)
    )
    crash = st.builds(Event, st.floats(0.3, 2.0), st.integers(0, n - 1), st.booleans(), st.floats(0.05, 1.0))
    return {
        "network": sv.Network.from_edges(n, sorted({*tree, *more})),
        "kind": draw(st.sampled_from([*STATISTICS, AVERAGING])),
        "counts": draw(st.lists(st.integers(1, 6), min_size=n, max_size=n)),
        "seed": draw(st.integers(0, 2**32)),
        "events": tuple(draw(st.lists(crash, max_size=3))),
        "overtaken": draw(st.floats(0, 0.3)),
        "late": draw(st.floats(0, 0.05)),
        "wake": draw(st.sampled_from(["eager", "turns", 60.0])),
        "overlay": draw(st.sampled_from(["tree", "all"])),
        "channels": draw(st.sampled_from(["open", "encrypted"])),
    }


@settings(
    max_examples=4, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
# Runs are long: no shrinking.
@given(story=stories())
def test_any_network_data_and_order_of_events(people, tmp_path_factory, story):
    rng, folder, n = np.random.default_rng(story["seed"]), tmp_path_factory.mktemp("any"), story["network"].n

    def faults() -> Any:
        dice = Random(story["seed"])

        def fate(sender: str, receiver: str, frame: bytes) -> list[tuple[float, bytes]]:
            # A connection loses nothing while it lasts, but a value that was overtaken is as good as lost.
            late = story["late"] * (20 if frame[0] == VALUE and dice.random() < story["overtaken"] else 1)
            if frame[0] in (OPENING, HELLO, PADS):  # of which the order matters
                return [(0.0, frame)]
            return [(dice.random() * late, frame) for _ in range(1 + (dice.random() < 0.1))]

        return fate

    same = {name: story[name] for name in ("network", "events", "wake", "channels", "overlay")}
    rows = rows_of(rng, story["kind"], story["counts"])
    first = World(scene(people, story["kind"], **same, faults=faults), "A", folder / "a", rows).play()
    try:
        second = other_world(first, folder / "b", [rows[k] for k in rng.permutation(n)])
    except Unlucky:
        assume(False)
    second.play()
    assert {what: first.shown[what] == second.shown[what] for what in first.shown} == dict.fromkeys(first.shown, True)


# The test sees what it is for


class Measured(Agreement):
    """The rule as it was: small numbers were measured against the party's own."""

    @property
    def floor(self) -> float:
        return min(1.0, self.node.size) or 1.0


def test_a_threshold_that_takes_the_size_of_data_shows_them(people, tmp_path, rng, monkeypatch):
    node = stage_node.node

    def with_size(agent: Agent, stage: int, cost: Cost, *more: Any) -> Any:
        made = node(agent, stage, cost, *more)
        made.size = cost.sizes[0]
        return made

    monkeypatch.setattr(stage_node, "node", with_size)
    monkeypatch.setattr(agent_module, "Agreement", Measured)
    shown: list[set[str]] = []
    for k in range(8):  # the threshold shows where a residual comes between the sizes of both worlds: often, not always
        rows = rows_of(rng, AVERAGING, (3, 1, 12, 5, 2))
        first = World(scene(people, AVERAGING), "A", tmp_path / f"{k}a", rows).play()
        second = other_world(first, tmp_path / f"{k}b", [rows[k] for k in TURNED]).play()
        shown.append(set(told_apart(first, second)))
        if {"frames", "statuses", "files"} <= shown[-1]:
            return
    raise AssertionError(shown)
