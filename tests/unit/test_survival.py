"""Times to an event on a public grid: arguments, closed forms, refusals, pictures."""

from __future__ import annotations

import json

import numpy as np
import pytest
from picture_faults import faults

import sottovoce as sv
from sottovoce.data.rows import ArrayRows
from sottovoce.errors import InvalidInput, NotConverged
from sottovoce.statistics.agreements import Agreements, SimulatedAgreements, Simulation
from sottovoce.statistics.survival.grid import read_grid
from sottovoce.statistics.survival.kaplan_meier import KaplanMeierAnalysis
from sottovoce.statistics.survival.log_rank import LogRankAnalysis

ARM = {"type": "category", "levels": ["a", "b", "c"]}
COLUMNS = {
    "days": {"type": "integer", "range": (0, 9)},
    "years": "number",
    "death": "boolean",
    "code": "integer",
    "born": "date",
    "arm": ARM,
    "old": "boolean",
}
SCHEMA = sv.Schema(COLUMNS)
NETWORK = sv.Network.complete(3)


def study(*parts, network=NETWORK):
    """Parties of rows ``(days, death, arm)``."""
    names = ("days", "death", "arm")
    held = [
        dict(zip(names, map(list, zip(*part, strict=True)), strict=True)) if part else {n: [] for n in names}
        for part in parts
    ]
    return sv.Study(network, held, schema=SCHEMA.restricted(names))


SMALL = study([(2, 1, "a"), (5, 0, "a")], [(5, 1, "b"), (9, 0, "a"), (5, 1, "a")], [])


def test_by_hand():
    """Events at 2 of 5, and two at 5 of 4: S = 4/5, 4/5 1/2; Greenwood 1/20, 1/20 + 2/8."""
    found = SMALL.kaplan_meier("days", "death")
    assert found.times.tolist() == list(range(10))
    assert found.at_risk[0].tolist() == [5, 5, 5, 4, 4, 4, 1, 1, 1, 1]
    np.testing.assert_allclose(found.predict([0, 2, 5, 9])[0], [1, 0.8, 0.4, 0.4], rtol=1e-15)
    np.testing.assert_allclose(found.std_error[0, [2, 5]], [0.8 * np.sqrt(1 / 20), 0.4 * np.sqrt(1 / 20 + 1 / 4)])
    assert found.median.tolist() == [5]
    assert found.quantile(0.7).tolist() == [np.inf]
    mean, error = found.restricted_mean(9)
    assert mean[0] == pytest.approx(2 + 3 * 0.8 + 4 * 0.4)
    assert error[0] == pytest.approx(np.sqrt((3 * 0.8 + 4 * 0.4) ** 2 / 20 + (4 * 0.4) ** 2 / 4))
    np.testing.assert_array_equal(found.risk_table([0, 5, 5.5]), [[5, 4, 1]])


@pytest.mark.parametrize("kind", ["plain", "log", "log-log"])
def test_intervals_by_hand(kind):
    found = SMALL.kaplan_meier("days", "death")
    S, V, z = 0.4, 0.3, 1.6448536269514722
    ends = {
        "plain": [max(0, S - z * S * V**0.5), min(1, S + z * S * V**0.5)],
        "log": [S * np.exp(-z * V**0.5), S * np.exp(z * V**0.5)],
        "log-log": [np.exp(-np.exp(np.log(-np.log(S)) - s * z * V**0.5 / np.log(S))) for s in (1, -1)],
    }[kind]
    np.testing.assert_allclose(found.conf_int(0.1, kind)[0, 5], np.minimum(ends, 1), rtol=1e-13)
    assert (found.conf_int(kind=kind)[0, :2] == 1).all()


def test_everybody_dies_and_nobody_does():
    found = study([(2, 1, "a")], [(3, 1, "a")], [(4, 0, "b")]).kaplan_meier("days", "death", by="arm")
    assert found.survival[0, 3] == 0
    assert np.isnan(found.std_error[0, 3])
    assert np.isnan(found.conf_int()[0, 3]).all()
    assert (found.survival[1] == 1).all()
    assert (found.conf_int()[1] == 1).all()
    assert found.median[1] == np.inf
    assert np.isnan(found.survival[2]).all()
    assert np.isnan(found.median[2])
    mean, error = found.restricted_mean(4)
    assert mean[0] == pytest.approx(2.5)
    assert error[0] == pytest.approx(np.sqrt(1 / 2) / 2)
    assert found.restricted_mean()[0][0] == pytest.approx(2.5)  # up to 3, the last time at which an a is observed


def test_times_move_to_the_next_point_and_beyond_the_last_they_are_censored():
    found = study([(0, 1, "a"), (1, 1, "a")], [(3, 1, "a"), (4, 1, "a")], [(9, 1, "a")]).kaplan_meier(
        "days", "death", grid=[0, 3, 8]
    )
    assert found.events.tolist() == [[1, 2, 1]]
    assert found.censored.tolist() == [[0, 0, 1]]


def test_grids():
    days, years = SCHEMA["days"], sv.Schema({"years": {"type": "number", "range": (-1, 10)}})["years"]
    assert read_grid(days, None) == tuple(map(float, range(10)))
    assert read_grid(days, 3) == (0, 3, 6, 9)
    assert len(read_grid(years, None)) == 101
    assert read_grid(years, None)[0] == 0
    long = sv.Schema({"t": {"type": "integer", "range": (0, 2001)}})["t"]
    assert len(read_grid(long, None)) == 101
    for grid in (0, -1, [], [1, 1], [2, 1], [-1, 2], [0], [np.nan], "abc", True, [[1, 2]]):
        with pytest.raises(InvalidInput, match=r"^grid must"):
            read_grid(days, grid)
    with pytest.raises(InvalidInput, match="no range of 'years'"):
        read_grid(SCHEMA["years"], None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"time": "born"}, "time must be a column of numbers.*days between two dates"),
        ({"time": "arm"}, "time must be a column of numbers"),
        ({"time": "day"}, "time must be a column: the schema has no column 'day'"),
        ({"time": 3}, "time must be the name of a column"),
        ({"event": "arm"}, "event must be a boolean"),
        ({"event": "days"}, "must be different columns"),
        ({"by": "code"}, "by must be a category or a boolean"),
        ({"by": "arms"}, "by must be a column"),
        ({"grid": "weekly"}, "grid must be finite times"),
        ({"grid": 100_000}, "grid must be coarser"),
    ],
)
def test_arguments(options, said):
    given = {"time": "days", "event": "death", "by": "arm", **options}
    with pytest.raises(InvalidInput, match=said):
        KaplanMeierAnalysis(schema=SCHEMA, **given)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"by": None}, "by must be the column"),
        ({"weighting": "gehan"}, "weighting must be one of"),
        ({"rho": 1.0}, "rho has no meaning for weighting 'logrank'"),
        ({"weighting": "fleming-harrington", "gamma": -1.0}, "gamma must be a number"),
        ({"strata": "code"}, "strata must be a category"),
        ({"strata": "arm"}, "must be different columns"),
    ],
)
def test_arguments_of_the_test(options, said):
    with pytest.raises(InvalidInput, match=said):
        LogRankAnalysis(**{"schema": SCHEMA, "time": "days", "event": "death", "by": "arm", **options})


def test_results_refuse_what_they_cannot_tell():
    found = SMALL.kaplan_meier("days", "death")
    for ask, said in [
        (lambda: found.predict([10]), "times must be numbers from 0 to 9"),
        (lambda: found.predict([-1]), "times must be numbers"),
        (lambda: found.predict("x"), "times must be numbers"),
        (lambda: found.conf_int(kind="logit"), "kind must be one of"),
        (lambda: found.conf_int(alpha=1.0), "alpha must lie"),
        (lambda: found.quantile(1), "p must lie"),
        (lambda: found.restricted_mean(10), "to must be a time up to 9"),
    ]:
        with pytest.raises(InvalidInput, match=said):
            ask()


def test_rows_are_refused_by_column_and_party_before_anything_is_sent():
    columns = {"days": {"type": "integer"}, "code": {"type": "integer"}}
    for days, code, said in [
        ([-1], [0], "party 1: column 'days' has times below 0"),
        ([1], [2], "party 1: column 'code'"),
    ]:
        tables = [{"days": [1], "code": [1]}, {"days": days, "code": code}]
        with pytest.raises(InvalidInput, match=said):
            sv.Study(sv.Network.complete(2), tables, schema=columns).kaplan_meier("days", "code", grid=[1, 2])


def test_nothing_to_compare():
    censored = study([(2, 0, "a")], [(3, 0, "b")], [])
    assert (censored.kaplan_meier("days", "death").survival == 1).all()
    assert (censored.nelson_aalen("days", "death").conf_int() == 0).all()
    with pytest.raises(InvalidInput, match="no row of any party has an event: 'death' is 0 in all 2"):
        censored.log_rank("days", "death", by="arm")
    with pytest.raises(InvalidInput, match="no event happened while two groups of 'arm'"):
        study([(2, 1, "a")], [(1, 0, "b")], [(3, 0, "a")]).log_rank("days", "death", by="arm")
    with pytest.raises(InvalidInput, match="no party has any rows"):
        study([], [], []).kaplan_meier("days", "death")


def test_groups_that_leave_before_the_first_event_are_not_counted():
    found = study([(2, 1, "a"), (1, 0, "c")], [(4, 0, "b")], [(3, 0, "a")]).log_rank("days", "death", by="arm")
    assert found.df == 1
    assert found.nobs.tolist() == [2, 1, 1]
    assert found.expected[2] == 0
    assert found.statistic == pytest.approx((1 / 3) ** 2 / (2 / 9))


def test_only_counts_are_shown():
    found = SMALL.log_rank("days", "death", by="arm")
    assert [shown.numbers for shown in found.shown] == [60]
    assert found.shown[0].counts is not None
    assert all(isinstance(mask, sv.ModularMask) for mask in found.masks)
    assert (found.audit_total(corrupt=[0]).excess[1:] == 0).all()
    spec = LogRankAnalysis(schema=SCHEMA, time="days", event="death", by="arm", strata="old", grid=[1, 2])
    assert (spec.counts, spec.numbers, spec.stages) == (2 * 3 * 2 * 2, 0, 1)
    assert spec.to_dict()["grid"] == [1.0, 2.0]
    assert "variance" not in spec.to_dict()


def test_a_party_of_a_network_has_the_same_answer():
    """There one party is local, and what it adds is its own."""
    spec = KaplanMeierAnalysis(schema=SCHEMA, time="days", event="death", by="arm")
    rows = [ArrayRows(np.array([[2.0, 1.0, 0.0], [5.0, 0.0, 0.0]])), ArrayRows(np.array([[5.0, 1.0, 1.0]]))]
    alone = spec.program(AllKnown(2, rows[1:], spec), rows[:1])
    together = spec.program(
        SimulatedAgreements(Simulation(NETWORK, "tree", None, 1, 1e-9, None, None, False)),
        [*rows, ArrayRows(np.empty((0, 3)))],
    )
    np.testing.assert_array_equal(alone.events, together.events)
    np.testing.assert_array_equal(alone.survival, together.survival)


class AllKnown(Agreements):
    """A driver with one local party that knows what the others hold."""

    def __init__(self, parties, others, spec):
        super().__init__(parties, ["own"], 1e-9)
        self.rest = sum(spec.cells(part) for part in others)

    def agree(self, contributions, mask):
        x = (contributions + self.rest) / self.parties
        return sv.Result(
            x=x, z=None, status=sv.Status.CONVERGED, iterations=1, activations=1, messages=0, residual=0.0,
            history={}, wall_time=0.0, c=1.0, theta=1.0, seed=None,
        )  # fmt: skip


def test_faces(tmp_path):
    rng = np.random.default_rng(1)
    parts = [
        [
            (int(t), int(e), "abc"[g])
            for t, e, g in zip(rng.integers(0, 10, 40), rng.integers(0, 2, 40), rng.integers(0, 3, 40), strict=True)
        ]
        for _ in range(3)
    ]
    asked = study(*parts)
    for found in (
        asked.kaplan_meier("days", "death", by="arm"),
        asked.kaplan_meier("days", "death"),
        asked.nelson_aalen("days", "death", by="arm"),
        asked.log_rank("days", "death", by="arm"),
    ):
        assert faults(found.plot(tmp_path / "x.png")) == []
        assert json.loads(json.dumps(found.to_dict()))["status"] == "converged"
        frame = found.to_frame()
        assert len(frame) == (3 if found.summary().startswith("log-rank") else 10 * len(found.groups))
        assert "120 observations of 3 parties" in found.summary()
        assert "<table" in found._repr_html_()


@pytest.mark.parametrize(
    ("grid", "ticks"), [([3, 6, 9], [0, 3, 6, 9]), ([1, 2, 9], [0, 2, 4, 6, 8]), (None, [0, 2, 4, 6, 8])]
)
def test_who_is_at_risk_is_told_at_points_of_a_grid_in_equal_steps(grid, ticks):
    """Of another grid at the ticks of the axis, which lie apart."""
    rows = [(k % 10, k % 2, "a") for k in range(40)]
    figure = study(rows, rows, rows).kaplan_meier("days", "death", grid=grid).plot()
    below = figure.axes[1]
    assert below.get_xticks().tolist() == ticks
    assert below.texts[0].get_text() == "120"
    assert faults(figure) == []


def test_not_converged():
    names = {"days": [1], "death": [1], "arm": ["a"]}
    found = sv.Study(sv.Network.ring(5), [names] * 5, schema=SCHEMA.restricted(names), max_iter=1).kaplan_meier(
        "days", "death"
    )
    assert found.to_dict() == {"status": "max_iter"}
    with pytest.raises(NotConverged):
        found.predict([1])
