"""Statistics as one party of a network runs them, beside the others; parts of a ModularMask; one party's tables."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.data.cost_table import read_cost, read_party_cost
from sottovoce.data.party_rows import read_own_rows
from sottovoce.data.rows import Rows
from sottovoce.errors import InvalidFile, InvalidInput, NotConverged
from sottovoce.files.toml_table import TomlFile
from sottovoce.pdmm.modular_mask import decode, limb_width, masked_limbs, split
from sottovoce.statistics.agreements import Agreements, Objected, PooledAgreements, SimulatedAgreements
from sottovoce.sums import Ring, Whole


class Meeting:
    """Where the parties of a toy network meet: a sum that waits for everybody, and units that all rows need."""

    def __init__(self, parties: int) -> None:
        self.brought: list[object] = [None] * parties
        self.barrier = threading.Barrier(parties, timeout=10)

    def of_all(self, i: int, own: object) -> list[object]:
        self.brought[i] = own
        self.barrier.wait()
        brought = list(self.brought)
        self.barrier.wait()  # nobody brings the next before everybody has read this
        return brought


class OneParty(Agreements):
    """A driver with one local party: integers are added up in the open."""

    def __init__(self, meeting: Meeting, i: int) -> None:
        super().__init__(len(meeting.brought), [f"clinic {i}"])
        self.meeting, self.i = meeting, i

    def units(self, rows: Sequence[Rows], declared: Sequence[Fraction | None]) -> tuple[Fraction, ...]:
        return PooledAgreements(self.parties).units([part for (part,) in self.meeting.of_all(self.i, rows)], declared)

    def add_up(self, own: Sequence[Whole], ring: Ring, rows_counted: int) -> Whole:
        assert len(own) == 1
        total = sum(self.meeting.of_all(self.i, own[0]))
        return ring.integers(ring.words(total))


# Sums of several parties


def test_a_party_that_objects_ends_all_alike_and_names_nobody():
    """Its total is uniform on the ring, whoever it is, and whatever the others bring."""
    agreements = SimulatedAgreements(sv.Network.ring(4))
    own = [[1, 2], [3, 4], None, [5, 6]]
    with pytest.raises(Objected, match="the rows of some party") as told:
        agreements.sum(own, of="values")
    assert "2" not in str(told.value)
    assert agreements.shown == []
    assert agreements.sum([[1, 2]] * 4, of="values").tolist() == [4, 8]


def test_a_sum_that_could_wrap_around_is_an_objection():
    agreements = SimulatedAgreements(sv.Network.ring(4))
    largest = (2**255 - 1) // 4
    assert agreements.sum([[largest]] * 4, of="values").tolist() == [4 * largest]
    with pytest.raises(Objected):
        agreements.sum([[largest], [largest + 1], [0], [0]], of="values")


def test_which_numbers_are_counts_of_rows():
    agreements = SimulatedAgreements(sv.Network.ring(3))
    agreements.sum([[1, 2], [3, 4], [0, 0]], of="cells", counts=True)
    agreements.sum([[1, -20], [3, 4], [0, 0]], of="rows and values", counts=1)
    agreements.sum([[1], [3], [0]], of="values", iterate=True)
    assert [(each.numbers, each.counts, each.iterate) for each in agreements.shown] == [
        (2, (4, 6), False),
        (2, (4,), False),
        (1, None, True),
    ]
    # 2 sweeps over 2 edges; cells of 8 bytes, sums of 32; an objection beside them
    assert agreements.traffic.bytes == 4 * (3 * 8 + 3 * 32 + 2 * 32)


def table_of(tmp_path, text, name="statistic"):
    path = tmp_path / "party.toml"
    path.write_text(text)
    return TomlFile(path).table(name)


def test_a_partys_own_rows(tmp_path):
    (tmp_path / "north.csv").write_text("b;id;a\n2;x;1\n4;y;3\n")
    for data in ("rows = [[1, 2], [3, 4.0]]", 'file = "north.csv"\ndelimiter = ";"'):
        shards = read_own_rows(table_of(tmp_path, f"[data]\n{data}\n", "data"), tmp_path, ["a", "b"])
        np.testing.assert_array_equal(shards.rows[0], [[1.0, 2.0], [3.0, 4.0]])
    for data in ("", 'rows = [[1, 2]]\nfile = "north.csv"'):
        with pytest.raises(InvalidFile, match=r"\[data\] needs the party's own data, as rows or as a CSV file"):
            read_own_rows(table_of(tmp_path, f"[data]\n{data}\n", "data"), tmp_path, ["a", "b"])


# The parts of a ModularMask


@pytest.mark.parametrize("bits", [8, 46, 52])
def test_each_party_makes_its_row_of_what_the_simulator_averages(network, rng, bits):
    mask, n = sv.ModularMask(bits), network.n
    largest = (2 ** (bits - 1) - 1) // n
    s = rng.integers(-largest, largest, size=(n, 3), endpoint=True)
    pads = mask.draw((network.m, 3), seed=1)
    limbs = split(mask.hide(network, s, pads), bits, limb_width(bits, n))
    for i in range(n):
        own = [
            (1 if i == a else -1, pad) for (a, b), pad in zip(network.edges.tolist(), pads, strict=True) if i in (a, b)
        ]
        np.testing.assert_array_equal(masked_limbs(s[i], own, mask, n), limbs[i])
        m = [int(s[i, k]) + sum(sign * int(pad[k]) for sign, pad in own) for k in range(3)]  # in Python's integers
        assert mask.hide(network, s, pads)[i].tolist() == [word % 2**bits for word in m]
    np.testing.assert_array_equal(decode(limbs.mean(axis=0), mask, n), s.sum(axis=0))


def test_limbs_that_are_no_sums_are_not_decoded():
    mask, n = sv.ModularMask(), 4
    good = np.array([0.25, 0.0])
    assert decode(good, mask, n) == [1]
    for wrong in (good + 0.05, -good, np.array([np.nan, 0.0]), np.array([2.0**23, 0.0])):
        with pytest.raises(NotConverged, match="nothing is decoded"):
            decode(wrong, mask, n)
    with pytest.raises(InvalidInput, match=r"must be at most 31, .* this node holds more\. Use more bits"):
        masked_limbs(np.array([0, -32]), [], sv.ModularMask(8), n)


# A cost of the library at one party

WEIGHS = ("the mean is over the rows of all parties, so a party with more rows weighs more",)
VALUES = {"averaging": "", "absolute_deviation": "", "huber": "delta = 0.7\n"}
FITS = {"lasso": "l1 = 0.6\n", "elastic_net": "l1 = 0.6\nl2 = 3\n", "logistic": "", "hinge": "ridge = 2\n"}


def party_tables(tmp_path, kind, columns, more, rows):
    """The same data as one problem for all, and as a table for each party."""
    common = f'[cost]\ntype = "{kind}"\n{columns}{more}'
    everybody = "".join(f"[[cost.parties]]\nrows = {part}\n" for part in rows)
    path = tmp_path / "all.toml"
    path.write_text(common + everybody)
    one_each = [table_of(tmp_path, f"{common}rows = {part}\n", "cost") for part in rows]
    return read_cost(TomlFile(path).table("cost"), tmp_path), [
        read_party_cost(table, tmp_path, parties=len(rows)) for table in one_each
    ]


@pytest.mark.parametrize(("kind", "more"), [*VALUES.items(), *FITS.items()])
def test_the_costs_of_the_parties_make_the_problem(tmp_path, rng, kind, more):
    if kind in VALUES:
        columns, rows = 'columns = ["u", "v"]\n', [[[i, i**2 + 0.5]] for i in range(3)]
    else:
        columns = 'features = ["u", "v"]\ntarget = "t"\nintercept = true\nscale = { u = 10 }\n'
        rows = [[[10 * i + k, k**2, k % 2] for k in range(4)] for i in range(3)]
    whole, parts = party_tables(tmp_path, kind, columns, more, rows)
    costs = whole.costs if isinstance(whole.costs, list) else [whole.costs.take(slice(i, i + 1)) for i in range(3)]
    for cost, part in zip(costs, parts, strict=True):
        assert (part.cost.count, part.cost.shape) == (1, cost.shape)
        x = rng.normal(size=(1, cost.dim))
        assert part.cost.value(x) == cost.value(x)
        # With one row a party says what it says with more: whether it has more is its own business.
        notes = WEIGHS if kind == "averaging" else whole.notes
        assert (part.columns, part.notes, part.unhidden) == (whole.columns, notes, whole.unhidden)
    assert len({json.dumps(part.to_dict()) for part in parts}) == 1


def test_what_the_parties_must_have_in_common(tmp_path):
    table = '[cost]\ntype = "elastic_net"\nfeatures = ["u"]\ntarget = "t"\nl1 = 1\nintercept = true\nrows = [[3, 4]]'
    cost = read_party_cost(table_of(tmp_path, table, "cost"), tmp_path, parties=4)
    assert cost.to_dict() == {
        "type": "elastic_net",
        "columns": ["u", "intercept"],
        "target": "t",
        "scale": [1.0, 1.0],
        "l1": 1.0,
        "l2": 0.0,
    }
    assert cost.notes == ("the penalty covers the intercept too",)
    table = '[cost]\ntype = "averaging"\ncolumns = ["u"]\nrows = [[3], [5]]'
    several = read_party_cost(table_of(tmp_path, table, "cost"), tmp_path, parties=4)
    assert several.notes == WEIGHS
    assert several.cost.value(np.array([[4.0]])) == 2.0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('type = "least_squares"\n', "line 2: [cost] type = 'least_squares' would show every party's A'A. The statis"),
        ('type = "averaging"\ncolumns = ["u"]\nvalues = [3]\n', "line 4: [cost] values is not a known key"),
        ('type = "averaging"\nrows = [[3]]\n', "[cost] columns is missing"),
        ('type = "averaging"\ncolumns = ["u"]\n', "[cost] needs the party's own data"),
        (
            'type = "huber"\ncolumns = ["u"]\nrows = [[3], [4]]\n',
            "line 4: huber takes one row per party; there are",
        ),
        ('type = "lasso"\nfeatures = ["u"]\nrows = [[3, 1]]\n', "[cost] target is missing"),
        ('type = "lasso"\nfeatures = ["u"]\ntarget = "u"\n', "line 3: [cost] features contains the target 'u'."),
        ('type = "hinge"\nfeatures = ["u"]\ntarget = "t"\nrows = [[3, 7]]\n', "line 5: labels must all be in"),
    ],
)
def test_party_costs_that_cannot_be_used(tmp_path, text, sentence):
    with pytest.raises(InvalidFile) as caught:
        read_party_cost(table_of(tmp_path, "[cost]\n" + text, "cost"), tmp_path, parties=3)
    assert sentence in str(caught.value)
