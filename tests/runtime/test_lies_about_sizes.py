"""A neighbour that lies about its rows or sums: whoever says what no rows have gets no answer out of anybody. What data
alone decide is refused before the network."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime.among_liars import Company, company, leave, run

from sottovoce.errors import InvalidFile, PeerError, PrecisionLost
from sottovoce.runtime.cluster import free_ports
from sottovoce.runtime.network_agreements import NetworkAgreements
from sottovoce.runtime.plan.node_file import read_node_file
from sottovoce.runtime.plan.plan import read_plan, write_plan
from sottovoce.statistics.agreements import Objected
from sottovoce.sums import Ring, Whole

N, ROWS = 5, 20
HONEST = ("p1", "p2", "p3", "p4")
SCHEMA = "[schema]\n" + "\n".join(f'{name} = {{ type = "number", range = [0, 8], unit = 0.01 }}' for name in "uv")
FOLLOWS = "has ended, because this run cannot be finished"


class SimpleTrial:
    kind = "mean"

    def __init__(self, folder: Path, shards: list[np.ndarray]) -> None:
        self.folder, self.shards = folder, shards

    @property
    def answer(self) -> np.ndarray:
        return np.concatenate(self.shards).mean(axis=0)


def planned(folder: Path, asked: str, *, schema: bool = True) -> SimpleTrial:
    """Five parties with as many rows each, around 4 in both columns."""
    lines = ['[run]\nname = "trial"\noverlay = "all"\nc = 0.4\ntheta = 0.8', SCHEMA if schema else ""]
    lines += [f'[network]\ngenerator = "ring"\nn = {N}', f"[statistic]\n{asked}"]
    lines += [f'[[party]]\nname = "p{i}"\naddress = "127.0.0.1:{port}"' for i, port in enumerate(free_ports(N))]
    (folder / "plan.toml").write_text("\n".join(lines) + "\n")
    write_plan(read_plan(folder / "plan.toml"), folder / "parties", generate_keys=True)
    rng, shards = np.random.default_rng(3), []
    for i in range(N):
        shards.append((4.0 + rng.uniform(-1, 1, size=(ROWS, 2))).round(2))
        write(folder / "parties" / f"p{i}", shards[i])
    return SimpleTrial(folder / "parties", shards)


def write(folder: Path, rows: Any) -> None:
    with open(folder / "data.csv", "w", newline="") as file:
        csv.writer(file).writerows([["u", "v"], *np.asarray(rows).tolist()])


def brings(patch: pytest.MonkeyPatch, change: Callable[[Whole, int], Whole]) -> None:
    """p0 adds other integers than its own, of an agreement with so many before it; the rest of it is honest."""
    add_up = NetworkAgreements.add_up

    def lied(own: NetworkAgreements, integers: Any, ring: Ring, rows_counted: int) -> Whole:
        if own.agent.config.name == "p0":
            integers = [change(integers[0].copy(), len(own.runs))]
        return add_up(own, integers, ring, rows_counted)

    patch.setattr(NetworkAgreements, "add_up", lied)


async def play(made: Company) -> dict[str, Any]:
    made.start()
    try:
        return await made.ends(*HONEST)
    finally:
        await leave(made)


def nobody_believes(trial: SimpleTrial, sentence: str) -> list[str]:
    """Every honest party ends with a sentence, this one or that a neighbour has ended for it, and without an answer."""
    with company(trial) as made:
        ends = run(play(made))
        assert made.errors() == {}
    for end in ends.values():
        with pytest.raises(PeerError, match=f"{sentence}|{FOLLOWS}"):
            raise end
    told = [name for name, end in ends.items() if FOLLOWS not in str(end)]
    assert told
    return told


def in_place(place: int, value: int, stage: int = 0) -> Callable[[Whole, int], Whole]:
    """An integer of its own is another one; the rows come first."""

    def change(integers: Whole, now: int) -> Whole:
        if now == stage:
            integers[place] = value
        return integers

    return change


MEAN = 'type = "mean"\ncolumns = ["u", "v"]\ndigits = "full"'
VARIANCE = 'type = "variance"\ncolumns = ["u", "v"]\ndigits = "full"'
COVARIANCE = 'type = "covariance"\ncolumns = ["u", "v"]\ndigits = "full"'
LINEAR = 'type = "linear"\nformula = "v ~ u"\ndigits = "full"'
OTHERS = (N - 1) * ROWS


@pytest.mark.parametrize(
    "claimed", [1 - OTHERS, -5 * ROWS - 50, ROWS - 1 - OTHERS], ids=["one", "below 0", "the largest"]
)
def test_a_count_that_cannot_be_true(tmp_path, monkeypatch, claimed):
    """All together have fewer rows than each of the others; the last claim is the largest that any of them knows to be
    a lie."""
    brings(monkeypatch, in_place(0, claimed))
    told = nobody_believes(planned(tmp_path, MEAN), "have agreed on fewer rows than this party has")
    assert told == list(HONEST)


def test_a_count_below_0(tmp_path, monkeypatch):
    """Of what nobody else has any, such as rows with missing values."""
    brings(monkeypatch, in_place(0, -1))
    trial = planned(tmp_path, MEAN + '\nmissing = "drop"')
    nobody_believes(trial, "a count of rows of all parties is negative|have agreed on fewer rows than this party has")


def test_counts_of_a_histogram_are_not_negative(tmp_path, monkeypatch):
    brings(monkeypatch, lambda integers, _: integers * 0 - 50)
    trial = planned(tmp_path, 'type = "histogram"\ncolumns = ["u"]\nbins = [0, 4, 8]')
    nobody_believes(trial, "have agreed on fewer rows than this party has")


# In hundredths: about 20 * 400 a party, and about 20 * 400^2 of their products.
IMPOSSIBLE = {
    "a mean above the range": (MEAN, in_place(1, 100 * 801), "the mean of 'u' of all parties is outside of its range"),
    "a mean below the range": (MEAN, in_place(2, -100 * 401), "the mean of 'v' of all parties is outside of its range"),
    "a mean beside its variance": (
        VARIANCE, in_place(1, 100 * 801), "the mean of 'u' of all parties is outside of its range",
    ),
    "squares without their sum": (VARIANCE, in_place(4, -(10**6)), "sums of squares of all parties are impossible"),
    "products without their squares": (COVARIANCE, in_place(4, 10**9), "sums of squares of all parties are impossible"),
    "a Gram matrix of no rows": (LINEAR, in_place(3, -(10**6)), "sums of squares of all parties are impossible"),
}  # fmt: skip


@pytest.mark.parametrize("lie", IMPOSSIBLE)
def test_sums_that_no_rows_have(tmp_path, monkeypatch, lie):
    """Everybody holds the same totals, so everybody sees it, at once and for itself."""
    asked, change, sentence = IMPOSSIBLE[lie]
    brings(monkeypatch, change)
    assert nobody_believes(planned(tmp_path, asked), sentence) == list(HONEST)


@pytest.mark.parametrize(
    ("asked", "numbers", "place", "value", "sentence"),
    [
        (MEAN, 3, 1, 10**5, "the mean of 'u' of all parties is outside of its range"),
        (VARIANCE, 5, 3, -(10**7), "sums of squares of all parties are impossible"),
        (LINEAR, 6, 5, -(10**7), "sums of squares of all parties are impossible"),
    ],
    ids=["mean", "variance", "linear"],
)
def test_rounding_is_no_excuse(tmp_path, monkeypatch, asked, numbers, place, value, sentence):
    """Of sums to a hundredth of their standard error."""

    def change(integers: Whole, _: int) -> Whole:
        if len(integers) == numbers + 1:  # and an objection; not the rows or a look at where columns lie
            integers[place] = value
        return integers

    brings(monkeypatch, change)
    trial = planned(tmp_path, asked.replace('"full"', '"statistical"'))
    assert nobody_believes(trial, sentence) == list(HONEST)


def test_an_objection_says_nothing_of_whose_it_is(tmp_path, monkeypatch):
    """Also one without a reason: all end alike, without an answer."""
    brings(monkeypatch, in_place(-1, 12345))
    with company(planned(tmp_path, MEAN)) as made:
        ends = run(play(made))
        assert made.errors() == {}
    assert {str(end)[:60] for end in ends.values()} == {str(Objected())[:60]}


@pytest.mark.parametrize("honest_ones", [False, True])
def test_a_lie_that_rows_could_have_is_as_good_as_data(tmp_path, monkeypatch, honest_ones):
    """Everybody has one answer then, to the bit, with the lie in it."""
    trial = planned(tmp_path, MEAN)
    if not honest_ones:
        brings(monkeypatch, in_place(1, 100 * 20 * 8))
        trial.shards[0][:, 0] = 8.0
    with company(trial) as made:
        assert run(play(made)) == dict.fromkeys(HONEST, 0)
        answers = {tuple(json.loads(made.configs[name].result.read_text())["answer"]["mean"]) for name in HONEST}
    exact = [
        float(Fraction(int(np.rint(100 * column).sum()), 100 * N * ROWS)) for column in np.concatenate(trial.shards).T
    ]
    assert answers == {tuple(exact)}


# What data alone decide


def test_numbers_too_large_for_their_unit_are_refused_before_the_network(tmp_path):
    """Without a schema it is 10^-9. Counts have no need of one."""
    numbers, counts = (tmp_path / name for name in ("a", "b"))  # short, for a socket beside the journal
    numbers.mkdir()
    counts.mkdir()
    trials = (
        planned(numbers, 'type = "mean"\ncolumns = ["v"]', schema=False),
        planned(counts, 'type = "histogram"\ncolumns = ["v"]\nbins = [0, 4, 8]', schema=False),
    )
    for value, refused in ((4.6e9, False), (-4.7e9, True)):
        for trial, kind in zip(trials, ("mean", "histogram"), strict=True):
            write(trial.folder / "p1", [[1e300, 1.0], [1.0, value]])
            config = read_node_file(trial.folder / "p1" / "node.toml")
            if refused and kind == "mean":
                with pytest.raises(
                    InvalidFile, match=r"column 'v': too large for its unit .* less than 2\^62 units of 0\.000000001"
                ):
                    config.own_data()
            else:
                config.own_data()


def test_numbers_too_small_for_their_unit_are_not_rounded_in_silence(tmp_path, recwarn):
    """Without a schema the unit is 10^-9, whatever the data: of a column of 10^-9 nothing is left."""
    trial = planned(tmp_path, 'type = "variance"\ncolumns = ["u", "v"]', schema=False)
    own = trial.folder / "p1"
    write(own, [[0.123456789, 4.0], [1 / 3, 1e-9]])  # to 10^-9 of themselves
    read_node_file(own / "node.toml").own_data()
    assert not recwarn
    write(own, [[1.0, 1.4e-9], [2.0, 3.7e-9]])
    with pytest.warns(PrecisionLost, match=r"column 'v': numbers are rounded to 0\.000000001, since the plan") as said:
        read_node_file(own / "node.toml").own_data()
    assert len(said) == 1
    assert "1.4" not in str(said[0].message)
    assert "3.7" not in str(said[0].message)
