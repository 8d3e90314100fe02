"""Times to an event on a public grid: arguments, closed forms, refusals, pictures."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from partitions import assert_same_bits
from picture_faults import faults

import sottovoce as sv
from sottovoce.data.rows import ArrayRows
from sottovoce.errors import InvalidInput
from sottovoce.statistics.agreements import Agreements, SimulatedAgreements
from sottovoce.statistics.survival.curves import KaplanMeierAnalysis
from sottovoce.statistics.survival.grid import read_grid
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
    assert read_grid(years, None) == tuple(k / 10 for k in range(101))  # tenths as they are written
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
        ({"weighting": "fleming-harrington", "gamma": -1.0}, "gamma must be a number from 0 to 10"),
        ({"weighting": "fleming-harrington", "rho": 10.5}, "rho must be a number from 0 to 10"),
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
    with pytest.raises(InvalidInput, match="no event that counts happened while two groups of 'arm'"):
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
    assert len(found.shown[0].counts) == 60
    assert (found.traffic.agreements, found.traffic.messages) == (1, 4)
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
        SimulatedAgreements(NETWORK),
        [*rows, ArrayRows(np.empty((0, 3)))],
    )
    np.testing.assert_array_equal(alone.events, together.events)
    np.testing.assert_array_equal(alone.survival, together.survival)


class AllKnown(Agreements):
    """A driver with one local party that knows what the others hold."""

    def __init__(self, parties, others, spec):
        super().__init__(parties, ["own"])
        self.rest = sum(spec.cells(part) for part in others)

    def add_up(self, own, ring, rows_counted):
        assert rows_counted == len(self.rest)
        return own[0] + np.append(self.rest, 0)  # and no objection

    def units(self, rows, declared):
        raise NotImplementedError

    def agree(self, contributions, mask):
        raise NotImplementedError


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


ANSWERS = [
    lambda study: study.kaplan_meier("days", "death", by="arm"),
    lambda study: study.nelson_aalen("days", "death", smooth=True, grid=4),
    lambda study: study.log_rank("days", "death", by="arm"),
    lambda study: study.log_rank("days", "death", by="arm", strata="old", weighting="peto", grid=4),
    lambda study: study.log_rank("days", "death", by="arm", weighting="fleming-harrington", gamma=0.5),
]


@pytest.mark.parametrize("ask", ANSWERS)
def test_the_same_bits_however_rows_lie_among_parties(ask, rng):
    n = 200
    table = {"days": rng.integers(0, 10, n), "death": rng.random(n) < 0.6, "arm": rng.choice(list("abc"), n)}
    table["old"] = rng.random(n) < 0.4
    assert_same_bits(table, SCHEMA.restricted(table), ask)


# Which groups are compared


def exactly(rows, groups, rho=0, gamma=0):
    """The statistic and the rank of its covariance in fractions; ``rows`` are of strata, ``(time, event, group)``."""
    apart, V = [Fraction(0)] * groups, [[Fraction(0)] * groups for _ in range(groups)]
    for stratum in rows:
        S = Fraction(1)
        for time in sorted({t for t, _, _ in stratum}):
            there = [sum(t >= time and g == j for t, _, g in stratum) for j in range(groups)]
            events = [sum(t == time and e and g == j for t, e, g in stratum) for j in range(groups)]
            n, d, w = sum(there), sum(events), S**rho * (1 - S) ** gamma
            p = [Fraction(k, n) for k in there]
            for j in range(groups):
                apart[j] += w * (events[j] - d * p[j])
                for k in range(groups):
                    if n > 1:
                        V[j][k] += w**2 * Fraction(d * (n - d), n - 1) * p[j] * ((j == k) - p[k])
            S *= 1 - Fraction(d, n)
    matrix, statistic, rank = [[*row, own] for row, own in zip(V, apart, strict=True)], Fraction(0), 0
    for j in range(groups):  # V is symmetric and positive semidefinite: pivots of 0 have rows of 0
        if matrix[j][j]:
            rank += 1
            statistic += matrix[j][groups] ** 2 / matrix[j][j]
            for k in range(j + 1, groups):
                factor = matrix[k][j] / matrix[j][j]
                matrix[k] = [own - factor * other for own, other in zip(matrix[k], matrix[j], strict=True)]
    return float(statistic), rank


def in_one_place(*strata):
    """A study of rows ``(days, death, group)`` of one or two strata, three groups."""
    rows = [(t, bool(e), "abc"[g], bool(k)) for k, stratum in enumerate(strata) for t, e, g in stratum]
    table = dict(zip(("days", "death", "arm", "old"), map(list, zip(*rows, strict=True)), strict=True))
    return sv.Study(sv.Network.complete(2), [table, {name: [] for name in table}], schema=SCHEMA.restricted(table))


def test_a_group_that_meets_others_only_where_everybody_dies_is_not_compared():
    """c alone is at risk at 5, when all who are left die; a and b are compared before."""
    rows = [(1, 1, 0), (2, 1, 1), (3, 0, 0), (3, 0, 1)]
    late = [(9, 1, 2), (9, 1, 0)]  # in a stratum of their own, where both die
    found = in_one_place(rows, late).log_rank("days", "death", by="arm", strata="old")
    assert found.df == 1
    assert (found.statistic, found.df) == pytest.approx(exactly([rows, late], 3), rel=1e-14)
    assert found.covariance[2].tolist() == [0, 0, 0]


def test_a_group_that_meets_others_only_where_events_weigh_nothing_is_not_compared():
    """With gamma > 0 the first events have the weight 0; all of c leaves there."""
    rows = [(1, 1, 0), (1, 0, 2), (1, 1, 2), (2, 1, 1), (3, 1, 0), (4, 1, 1), (5, 0, 0)]
    asked = in_one_place(rows)
    found = asked.log_rank("days", "death", by="arm", weighting="fleming-harrington", rho=0.0, gamma=1.0)
    assert found.df == 1
    assert (found.statistic, found.df) == pytest.approx(exactly([rows], 3, gamma=1), rel=1e-14)
    assert asked.log_rank("days", "death", by="arm").df == 2
    with pytest.raises(InvalidInput, match="no event that counts"):
        in_one_place(rows[:3]).log_rank("days", "death", by="arm", weighting="fleming-harrington", gamma=1.0)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize(("rho", "gamma"), [(0, 0), (0, 1), (1, 2)])
def test_degrees_of_freedom_are_the_rank_of_the_covariance(seed, rho, gamma):
    """Few rows, few times, groups that are often not there: many tables whose groups do not all meet."""
    rng = np.random.default_rng([seed, gamma])
    strata = [
        [(int(rng.integers(1, 5)), int(rng.random() < 0.7), int(rng.integers(0, 3))) for _ in range(rng.integers(1, 7))]
        for _ in range(2)
    ]
    statistic, rank = exactly(strata, 3, rho, gamma)
    options = {"weighting": "fleming-harrington", "rho": rho, "gamma": gamma}
    asked = in_one_place(*strata)
    if rank == 0:
        with pytest.raises(InvalidInput, match=r"no event|no row"):
            asked.log_rank("days", "death", by="arm", strata="old", **options)
        return
    found = asked.log_rank("days", "death", by="arm", strata="old", **options)
    assert found.df == rank
    assert found.statistic == pytest.approx(statistic, rel=1e-12, abs=1e-25)
    assert np.linalg.matrix_rank(found.covariance) == rank


def test_groups_that_are_linked_by_very_little_are_compared():
    """c meets the others only at the second event, whose weight is about 1e-30 of the last ones'."""
    rows = [(1, 1, 0), (2, 1, 2), *((2, 0, 2),) * 5, *((3, 0, 0),) * 400, *((3, 0, 1),) * 400]
    rows += [(k, 1, g) for k in range(4, 9) for g in (0, 0, 1)]
    for first in (rows, [(t, e, (g + 1) % 3) for t, e, g in rows]):
        found = in_one_place(first).log_rank(
            "days", "death", by="arm", weighting="fleming-harrington", rho=0.0, gamma=10.0
        )
        assert (found.statistic, found.df) == pytest.approx(exactly([first], 3, gamma=10), rel=1e-12)
