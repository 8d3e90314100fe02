"""Cox's model: arguments, closed forms, what is refused, and what a grid may not show."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from partitions import dealt
from picture_faults import faults
from unit.test_every_analysis import SCHEMA, SHARDS, one_by_one, simulated
from unit.test_programs import Meeting, OneParty

import sottovoce as sv
from sottovoce.data.rows import ArrayRows, Rows
from sottovoce.data.table_rows import TableRows
from sottovoce.errors import InvalidInput, Unsupported
from sottovoce.statistics.agreements import SimulatedAgreements
from sottovoce.statistics.likelihood.fixed_point import values
from sottovoce.statistics.models.cox import CoxAnalysis
from sottovoce.statistics.models.cox_sums import Departures, Stratum, in_memory, refuse_scarce
from sottovoce.statistics.of_tables import ask_analysis
from sottovoce.sums import GRID as GRID_BITS

NETWORK = sv.Network.ring(4)
GRID = {"baseline": "grid", "grid": [2, 5, 8, 12, 20, 400], "min_departures": 1}


def shards(change=None, n=40):
    """Of four parties two columns, whole times, events; ``change(i, x, time, event)`` may alter them."""
    rng = np.random.default_rng(0)
    found = []
    for i in range(4):
        x = rng.normal(size=(n, 2))
        time, event = np.ceil(10 * rng.exponential(np.exp(-0.5 * x[:, 0]))), (rng.random(n) < 0.7).astype(float)
        found.append((x, time, event) if change is None else change(i, x, time, event))
    return found


def test_two_rows_by_hand():
    """The one with the event has x = 1, the other 0: log-likelihood b - log(1 + e^b)."""
    stratum = Stratum.of(np.array([[0.0], [1.0]]), np.array([2.0, 1.0]), np.array([0.0, 1.0]))
    loglik, score, information = stratum.sums(np.array([0.3]), "efron")
    share = np.exp(0.3) / (1 + np.exp(0.3))
    assert loglik == pytest.approx(np.log(share))
    assert score[0] == pytest.approx(1 - share)
    assert information[0, 0] == pytest.approx(share * (1 - share))


def test_derivatives_and_orders():
    """Score and information are the derivatives of the likelihood; the order of rows is of no matter, to the bit."""
    (x, time, event), *_ = shards()
    beta, step = np.array([0.4, -0.2]), 1e-5
    for ties in ("efron", "breslow"):
        stratum = Stratum.of(x, np.ceil(time / 4), event)
        _, score, information = stratum.sums(beta, ties)
        for k, e in enumerate(np.eye(2)):
            up, down = (stratum.sums(beta + s * step * e, ties) for s in (1, -1))
            assert score[k] == pytest.approx((up[0] - down[0]) / (2 * step), rel=1e-6)
            np.testing.assert_allclose(information[k], -(up[1] - down[1]) / (2 * step), rtol=1e-5, atol=1e-6)
        order = np.random.default_rng(1).permutation(len(x))
        again = Stratum.of(x[order], np.ceil(time / 4)[order], event[order])
        np.testing.assert_array_equal(again.integers(beta, ties), stratum.integers(beta, ties))


def test_far_from_the_data_nothing_overflows():
    (x, time, event), *_ = shards()
    loglik, score, information = Stratum.of(x, time, event).sums(np.array([500.0, -400.0]), "efron")
    assert np.isfinite([loglik, *score, *information.ravel()]).all()


def test_rows_that_are_folded_are_kept_once():
    (x, _, _), *_ = shards(n=700)
    blocks = TableRows(lambda: iter(np.array_split(x, 5)), 2, threads=2)
    np.testing.assert_array_equal(np.sort(in_memory(blocks), axis=0), np.sort(x, axis=0))

    class Elsewhere(Rows):
        width = 2

        def __len__(self):
            return 700

        def totals(self, terms):
            return terms(x[:0]).sum(axis=0)

        sums = products = largest = grams = needed_units = totals

    with pytest.raises(InvalidInput, match="needs the rows of a party in its own memory"):
        in_memory(Elsewhere())


def constant(i, x, time, event):
    return np.column_stack([x[:, 0], np.full(len(x), 3.0)]), time, event


def collinear(i, x, time, event):
    x = x.round(3)
    return np.column_stack([x[:, 0], (2 * x[:, 0] + 1).round(3)]), time, event


def by_party(i, x, time, event):
    return np.column_stack([x[:, 0], np.full(len(x), float(i))]), time, event


def censored(i, x, time, event):
    return x, time, 0 * event


def monotone(i, x, time, event):
    spared = (np.arange(len(x)) % 3 == 0).astype(float)
    return np.column_stack([x[:, 0], spared]), time, event * (1 - spared)


SAID = [
    (by_party, {}, "column 'dose' does not vary.*the same for all rows of each party needs baseline=\"grid\""),
    (censored, {}, "no row of any party has an event: 'event' is 0 in all 160"),
    (censored, GRID, "no row of any party has an event: 'event' is 0 in all 160, as far as the grid"),
    (monotone, {}, "the estimate of 'dose' is infinite.*monotone"),
    (monotone, GRID, "the estimate of 'dose' is infinite.*monotone"),
    (lambda i, x, t, e: (x[:1], t[:1], e[:1] ** 0), {}, "while another row of the same party was at risk"),
    (lambda i, x, t, e: (x[:0], t[:0], e[:0]), {}, "no party has any rows"),
]


@pytest.mark.parametrize(("change", "options", "said"), SAID)
def test_what_cannot_be_told_is_refused_by_column(change, options, said):
    with pytest.raises(InvalidInput, match=said):
        sv.private_cox(NETWORK, shards(change), names=["age", "dose"], **options)


@pytest.mark.parametrize("options", [{}, {**GRID, "grid": (2.0, 5.0, 20.0, 400.0)}])
def test_parties_by_themselves_say_the_same(options):
    columns = {"time": "number", "event": "integer", "age": "number", "dose": "number"}
    spec = CoxAnalysis(schema=sv.Schema(columns), formula="time, event ~ age + dose", **options)
    meeting = Meeting(4)

    def party(i, own):
        x, time, event = own
        with pytest.raises(InvalidInput) as error:
            spec.program(OneParty(meeting, i), [ArrayRows(np.column_stack([x, time, event]))])
        return str(error.value)

    with ThreadPoolExecutor(4) as threads:
        sentences = list(threads.map(party, range(4), shards(monotone)))
    assert len(set(sentences)) == 1
    assert "the estimate of 'dose' is infinite" in sentences[0]


def test_on_a_grid_any_partition_has_the_same_bits():
    """With a baseline for each party the answer depends on who has which rows."""
    asked = ask_analysis(
        CoxAnalysis, SCHEMA, formula="days, death ~ age + C(drug)", baseline="grid", grid=[20, 30, 40, 60]
    )
    expected = simulated(asked)
    assert sum(shown.numbers for shown in expected.shown) <= asked.spec.numbers
    assert all(repr(answer.to_dict()) == repr(expected.to_dict()) for answer in one_by_one(asked))
    table = {name: [value for shard in SHARDS for value in shard[name]] for name in SHARDS[0]}
    assert len({repr(simulated(asked, parts).to_dict()) for parts in dealt(table, 5)}) == 1


@pytest.mark.parametrize("options", [{}, GRID])
@pytest.mark.parametrize("change", [constant, collinear])
def test_columns_that_tell_nothing_more_are_left_out_and_named(change, options):
    fit = sv.private_cox(NETWORK, shards(change), names=["age", "dose"], **options)
    alone = sv.private_cox(NETWORK, [(x[:, :1], t, e) for x, t, e in shards(change)], names=["age"], **options)
    assert (fit.terms, fit.aliased) == (("age",), ("dose",))
    assert fit.params.tolist() == alone.params.tolist()


def test_a_party_without_rows_and_one_without_events_add_nothing():
    def change(i, x, time, event):
        return (x[:0], time[:0], event[:0]) if i == 2 else (x, time, event * (i != 1))

    fit = sv.private_cox(NETWORK, shards(change))
    kept = [shard for i, shard in enumerate(shards(change)) if i in (0, 3)]
    alone = sv.private_cox(sv.Network.complete(2), kept)
    np.testing.assert_allclose(fit.params, alone.params, rtol=1e-12)
    np.testing.assert_allclose(fit.bse, alone.bse, rtol=1e-12)
    assert (fit.nobs, alone.nobs) == (120, 80)


# What a grid may not show


def leaving(counts, efron=False):
    censored, events = np.array(counts).T
    return Departures(censored, events, efron)


def test_sums_that_can_be_told_apart():
    """Points are (censored, events). Rows that leave without an event count with the last point of events before."""
    assert leaving([(0, 3), (2, 0), (0, 5), (5, 0)]).scarce(5) == []
    assert leaving([(0, 3), (1, 0), (0, 5), (5, 0)]).scarce(5) == [(0, 4)]
    assert leaving([(2, 0), (5, 1), (4, 4)]).scarce(5) == [(0, 2)]  # before the first event
    assert leaving([(0, 6), (3, 4)]).scarce(5) == [(1, 3)]  # all who are censored
    assert leaving([(5, 5), (1, 5)], efron=True).scarce(5) == [(1, 1)]  # events and others at one point
    assert leaving([(5, 5), (5, 1)], efron=True).scarce(5) == []  # of one event Efron shows nothing else
    assert leaving([(5, 5), (5, 2)], efron=True).scarce(5) == [(1, 2)]


@pytest.mark.parametrize("efron", [False, True])
def test_a_coarser_grid_is_proposed_that_does(efron):
    rng = np.random.default_rng(4)
    for _ in range(60):
        found = leaving(rng.integers(0, 4, (rng.integers(3, 120), 2)) * rng.integers(0, 2, 2), efron)
        kept = found.coarser(5)
        assert len(kept) <= 30
        if not kept:
            total = int(found.events.sum()), int(found.censored.sum())
            assert any(0 < count < 5 for count in total) or not total[0] or sum(total) < 5
            continue
        begin = [0, *(point + 1 for point in kept[:-1])]
        upto = kept[-1] + 1
        assert not (found.events + found.censored)[upto:].any()
        merged = Departures(
            np.add.reduceat(found.censored[:upto], begin), np.add.reduceat(found.events[:upto], begin), efron
        )
        assert [entry for entry in merged.scarce(5) if entry[0] < len(kept) - 1] == []


def test_a_grid_that_would_show_rows_is_refused_before_any_risk_set():
    with pytest.raises(
        InvalidInput, match=r"grid has points where fewer than min_departures = 5 .*such as grid=\["
    ) as error:
        sv.private_cox(NETWORK, shards(), baseline="grid", grid=list(range(1, 100)))
    proposed = json.loads(str(error.value).split("grid=")[1].split(", or")[0])
    fit = sv.private_cox(NETWORK, shards(), baseline="grid", grid=proposed)
    assert [shown.iterate for shown in fit.shown[:2]] == [False, True]
    with pytest.raises(InvalidInput, match=r'^grid has points.*Use baseline="party"'):
        refuse_scarce(leaving([(1, 1)]), [3.0], 5)


def test_differences_of_risk_sets_are_sums_over_departures(monkeypatch):
    """Why: at the start every weight is 1, and what two risk sets differ by are the columns of those who leave."""
    totals = []
    add_up = SimulatedAgreements.add_up
    monkeypatch.setattr(SimulatedAgreements, "add_up", lambda *given: totals.append(add_up(*given)) or totals[-1])
    held = shards()
    sv.private_cox(NETWORK, held, baseline="grid", grid=[5, 20, 400], ties="breslow")
    x, time = np.concatenate([x for x, _, _ in held]), np.concatenate([time for _, time, _ in held])
    leave = values(totals[1][3 : 3 + 3 * 6], GRID_BITS).reshape(3, 6)
    own = (x[time <= 5] - x.mean(axis=0)) / x.std(axis=0)
    assert leave[0, 0] == len(own)
    np.testing.assert_allclose(leave[0, 1:3], own.sum(axis=0), atol=1e-10)


# Arguments and faces


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"formula": "days ~ age"}, "formula must have two columns before ~"),
        ({"formula": "days, log(weight) ~ age"}, "formula"),
        ({"formula": "sex, death ~ age"}, "formula: 'sex' is a category"),
        ({"formula": "days, drug ~ age"}, "formula: 'drug' is a category"),
        ({"formula": "days, death ~ 0 + sex"}, "formula must not drop the intercept"),
        ({"formula": "days, death ~ 1"}, "formula must have a column after ~"),
        ({"formula": "days, death ~ days"}, "formula"),
        ({"formula": "days, death ~ ages"}, "formula"),
        ({"ties": "exact"}, "ties must be one of efron, breslow"),
        ({"baseline": "all"}, "baseline must be one of"),
        ({"grid": [3]}, 'grid has no meaning for baseline "party"'),
        ({"min_departures": 3}, "min_departures has no meaning"),
        ({"baseline": "grid", "min_departures": 0}, "min_departures must be an integer"),
        ({"baseline": "grid", "grid": [3, 2]}, "grid must be finite times"),
    ],
)
def test_arguments(options, said):
    with pytest.raises(InvalidInput, match=f"^{said}"):
        CoxAnalysis(**{"schema": SCHEMA, "formula": "days, death ~ age", **options})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda i, x, t, e: (x, t), "party 0: its shard must be"),
        (lambda i, x, t, e: (x, t[1:], e), "party 0: X must be a matrix"),
        (lambda i, x, t, e: (x[:, : 2 - i % 2], t, e), "parties must hold the same columns"),
        (lambda i, x, t, e: (x, t - 99 * (i == 1), e), "party 1: column 'time' has times below 0"),
        (lambda i, x, t, e: (x, t, 2 * e), "party 0: column 'event' has numbers beside 0 and 1"),
        (lambda i, x, t, e: (x * np.nan, t, e), "party 0: its shard has NaN"),
    ],
)
def test_shards(change, said):
    with pytest.raises(InvalidInput, match=said):
        sv.private_cox(NETWORK, shards(change))


def test_frames_are_matched_by_name():
    held = [(pd.DataFrame(x, columns=["age", "dose"]), time, event) for x, time, event in shards()]
    held[2] = (held[2][0][["dose", "age"]], *held[2][1:])
    fit = sv.private_cox(NETWORK, held)
    assert fit.terms == ("age", "dose")
    np.testing.assert_allclose(fit.params, sv.private_cox(NETWORK, shards()).params, rtol=1e-8)
    with pytest.raises(InvalidInput, match="names must be those of the frames"):
        sv.private_cox(NETWORK, held, names=["a", "b"])


def test_faces(tmp_path):
    study = sv.Study(NETWORK, SHARDS, schema=SCHEMA)
    fit = study.cox("days, death ~ age + C(sex)")
    assert "Cox Proportional Hazards" in fit.summary()
    assert "hazard ratio" in fit.summary()
    assert faults(fit.plot(tmp_path / "cox.png")) == []
    assert json.loads(json.dumps(fit.to_dict()))["events"] == fit.events
    assert list(fit.to_frame()["term"]) == list(fit.terms)
    new = {"age": [50, 70], "sex": ["f", "m"]}
    np.testing.assert_allclose(fit.predict(new), np.exp([[50, 0], [70, 1]] @ fit.params))
    with pytest.raises(Unsupported, match="every party has a baseline of its own"):
        fit.survival(new, [3])
    arrays = sv.private_cox(NETWORK, shards())
    np.testing.assert_allclose(arrays.predict([[1.0, 0.0], [0.0, 1.0]]), np.exp(arrays.params))
    with pytest.raises(InvalidInput, match="the table must have 2 columns, as in the fit: x0, x1"):
        arrays.predict([[1.0]])
    grid = study.cox("days, death ~ age + C(sex)", baseline="grid", grid=[20, 30, 40, 60])
    hazard = np.append(0, grid.baseline_cumulative_hazard)[[0, 1, -1]]
    ratio = np.exp(([[50, 0], [70, 1]] - grid.means) @ grid.params)
    np.testing.assert_allclose(grid.survival(new, [0, 20, 60]), np.exp(-np.outer(ratio, hazard)))
    with pytest.raises(InvalidInput, match="times must be numbers from 0 on"):
        grid.survival(new, [-1])
