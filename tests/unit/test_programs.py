"""Statistics as one party of a network runs them, against the simulator; and one party's tables, read alone."""

from __future__ import annotations

import json
import re
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import sottovoce as sv
from sottovoce.data.cost_table import read_cost, read_party_cost
from sottovoce.data.party_rows import read_own_rows
from sottovoce.errors import BadlyHidden, InvalidFile, InvalidInput, NotConverged, Unsupported
from sottovoce.files.toml_table import TomlFile
from sottovoce.pdmm.modular_mask import decode, limb_width, masked_limbs, split
from sottovoce.statistics.agreements import Agreements
from sottovoce.statistics.at_one_party import Spec, checked_rows, run

N = 5
TOL = 1e-14  # of both drivers; the simulator leaves 3 TOL times the largest contribution open, and 12 grids
SMALL = 1e-4  # a variance with grids of 2^-55: it hides nothing, and costs no digits


class Meeting:
    """Where the parties of a toy network meet: an average that waits for everybody, and a pad for every edge."""

    def __init__(self, network: sv.Network, status: sv.Status = sv.Status.CONVERGED) -> None:
        self.network, self.status = network, status
        self.rows: list[np.ndarray] = [np.empty(0)] * network.n
        self.barrier = threading.Barrier(network.n, timeout=5)

    def mean(self, i: int, row: np.ndarray) -> np.ndarray:
        self.rows[i] = row
        self.barrier.wait()
        mean = np.mean(self.rows, axis=0)
        self.barrier.wait()  # nobody writes the next row before everybody has read this one
        return mean

    def pads(self, i: int, stage: int, d: int, mask: sv.ModularMask) -> list[tuple[int, np.ndarray]]:
        edges = [(a, b) for a, b in self.network.edges.tolist() if i in (a, b)]
        return [(1 if i == a else -1, mask.draw((d,), seed=100 * stage + 10 * a + b)) for a, b in edges]


class OneParty(Agreements):
    """A driver with one local party: exact averages instead of PDMM."""

    def __init__(self, meeting: Meeting, i: int) -> None:
        super().__init__(meeting.network.n, [f"clinic {i}"], TOL)
        self.meeting, self.i = meeting, i

    def agree(self, contributions, mask):
        assert contributions.shape[0] == 1
        row = contributions[0]
        if isinstance(mask, sv.ModularMask):
            pads = self.meeting.pads(self.i, len(self.runs), len(row), mask)
            limbs = masked_limbs(row.astype(np.int64), pads, mask, self.parties)
            x = decode(self.meeting.mean(self.i, limbs), mask, self.parties) / self.parties
        else:
            x = self.meeting.mean(self.i, row)
        return sv.Result(
            x=x[None], z=None, status=self.meeting.status, iterations=1, activations=1, messages=0, residual=0.0,
            history={}, wall_time=0.0, c=1.0, theta=1.0, seed=None,
        )  # fmt: skip


def in_lockstep(spec, shards, status=sv.Status.CONVERGED):
    """Every party in its own thread, with its own rows and nothing else; a future for each."""
    meeting = Meeting(sv.Network.ring(len(shards)), status)
    with ThreadPoolExecutor(len(shards)) as threads:
        return [threads.submit(run, spec, OneParty(meeting, i), shard) for i, shard in enumerate(shards)]


def answers(spec, shards, status=sv.Status.CONVERGED):
    return [future.result() for future in in_lockstep(spec, shards, status)]


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    return [rng.normal(size=(3 * i, 3)) * [1.0, 2.0, 0.5] + [0.0, 1.0, -0.5] for i in range(N)]  # party 0 has none


def simulated(spec, rows):
    """With frames, whose columns have the names of the question."""
    network, frames = sv.Network.ring(N), [pd.DataFrame(part, columns=spec.columns) for part in rows]
    if spec.type == "histogram":
        return sv.private_histogram(network, [frame[spec.columns[0]] for frame in frames], bins=spec.bins)
    options = {"scale": spec.scale, "mask": sv.GaussianMask(spec.variance), "tol": TOL, "seed": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BadlyHidden)
        if spec.type == "mean":
            return sv.private_mean(network, frames, **options)
        if spec.type == "variance":
            return sv.private_variance(network, frames, ddof=spec.ddof, **options)
        if spec.type == "covariance":
            return sv.private_covariance(network, frames, ddof=spec.ddof, **options)
        options |= {"ridge": spec.ridge, "intercept": spec.intercept, "target": spec.columns[-1]}
        return sv.private_least_squares(network, frames, **options)


ABC = ("a", "b", "c")
SPECS = [
    Spec("mean", ABC, variance=SMALL),
    Spec("mean", ABC, scale=[1.0, 2.0, 0.5], variance=SMALL),
    Spec("variance", ABC, ddof=0, variance=SMALL),
    Spec("covariance", ABC, variance=SMALL),
    Spec("histogram", ("a",), bins=[-1.0, 0.0, 1.0]),
    Spec("least_squares", ABC, variance=SMALL),
    Spec("least_squares", ABC, ridge=0.5, scale=2.0, variance=SMALL),
    Spec("least_squares", ABC, intercept=False, variance=SMALL),
]


# One program, two drivers


@pytest.mark.filterwarnings("ignore::sottovoce.errors.BadlyHidden")
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.type)
def test_parties_that_hold_only_their_own_rows_come_to_the_simulators_answer(spec, rows):
    shards = [part[:, : len(spec.columns)] for part in rows]
    expected = simulated(spec, shards)
    assert expected.status is sv.Status.CONVERGED
    for result in answers(spec, shards):
        assert type(result) is type(expected)
        assert (result.status, result.parties, result.problems) == (sv.Status.CONVERGED, N, ())
        assert result.masks == expected.masks
        assert len(result.runs) == len(expected.runs)
        one, two = result.to_dict(), expected.to_dict()
        assert one.keys() == two.keys()
        for name, value in two.items():
            if isinstance(value, str | int) or name in ("names", "terms", "counts"):
                assert one[name] == value
            else:
                # 3 TOL times contributions up to 13, and a condition number of 1.4, leave 6e-13 open.
                np.testing.assert_allclose(one[name], value, rtol=1e-12, atol=1e-12, err_msg=name)


def test_a_party_without_the_others_contributions_cannot_audit(rows):
    result = answers(Spec("least_squares", ABC), rows)[2]
    assert result.summary().startswith("Least squares for c: 30 observations of 5 parties")
    assert json.loads(json.dumps(result.to_dict()))["names"] == ["a", "b"]
    with pytest.raises(Unsupported, match=r"holds no contributions but its own.* use privacy\.audit"):
        result.audit()


def test_one_column_is_a_list_of_one(rows):
    result = answers(Spec("variance", ("a",)), [part[:, :1] for part in rows])[0]
    assert np.shape(result.mean) == np.shape(result.variance) == (1,)


def test_an_agreement_that_did_not_converge(rows):
    for result in answers(Spec("variance", ABC), rows, sv.Status.MAX_ITER):
        assert result.to_dict() == {"status": "max_iter"}
        with pytest.raises(NotConverged, match="variance is not known: run 1 ended as max_iter"):
            _ = result.variance


def test_what_everybody_learns_everybody_refuses(rows):
    """Nobody is left waiting for a party that gave up."""
    for spec, shards, sentence in (
        (Spec("mean", ABC), [part[:0] for part in rows], "no party has any rows"),
        (Spec("variance", ABC, ddof=30), rows, "ddof=30 needs more than 30 observations"),
        (Spec("least_squares", ABC), [part[:, [0, 0, 2]] for part in rows], "columns 'a', 'b' are linearly dependent"),
        (Spec("least_squares", ABC), [part[:2] if i == 1 else part[:0] for i, part in enumerate(rows)], "2 observat"),
    ):
        for future in in_lockstep(spec, shards):
            with pytest.raises(InvalidInput, match=sentence):
                future.result()


def test_the_warning_names_the_party_as_the_network_does(rows):
    rows[3] = 1e4 * rows[3]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", BadlyHidden)
        answers(Spec("mean", ABC), rows)
    # The rows of the others are small enough.
    assert {str(warning.message).split(":")[0] for warning in caught} == {"party clinic 3"}
    # A party's log holds nothing of its data: the numbers are the mask's.
    assert {number for warning in caught for number in re.findall(r"\d\S*", str(warning.message))} <= {
        *("3:", "1e+04:", "100", "1")
    }


@pytest.mark.parametrize(
    ("shard", "sentence"),
    [
        (np.zeros(3), r"the rows must be \(n_i, 3\), a number per column; got \(3,\)"),
        (np.zeros((2, 2)), r"the rows must be \(n_i, 3\), a number per column; got \(2, 2\)"),
        ([[1.0, 2.0, np.nan]], "the rows have NaN or inf"),
        ([["1", "2", "3"]], "the rows must hold real numbers"),
    ],
)
def test_own_rows_that_do_not_fit(shard, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        run(Spec("mean", ABC), OneParty(Meeting(sv.Network.ring(3)), 0), shard)


# What is agreed on beforehand


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"type": "median"}, "type must be one of mean, variance, covariance, histogram, least_squares; got 'median'"),
        ({"columns": "age"}, "columns must be one or more different names; got 'age'"),
        ({"columns": ()}, "columns must be one or more different names"),
        ({"columns": ("a", "a")}, "columns must be one or more different names"),
        ({"columns": (["a"],)}, "columns must be one or more different names"),
        ({"scale": [1.0, 2.0]}, "scale must be a positive number, or 3 of them"),
        ({"scale": -1.0}, "scale must be a positive number"),
        ({"variance": 0.0}, "variance must be a positive number"),
        ({"ddof": 1.5, "type": "variance"}, "ddof must be an integer >= 0"),
        ({"ddof": 2}, "ddof has no meaning for type 'mean'; got 2. Leave it out"),
        ({"bins": [0.0, 1.0]}, "bins has no meaning for type 'mean'"),
        ({"type": "histogram"}, "columns must name one variable for a histogram"),
        ({"type": "histogram", "columns": ("a",)}, "bins must be two or more finite edges"),
        ({"type": "histogram", "columns": ("a",), "bins": [0, 1], "bits": 99}, "bits must be an integer in 2"),
        ({"type": "least_squares", "columns": ("y",)}, "columns must name features, and last the target; got 'y' only"),
        ({"type": "least_squares", "columns": ("intercept", "y")}, "a column is called 'intercept'"),
        ({"type": "least_squares", "ridge": -1}, "ridge must be a finite number >= 0; got -1"),
        ({"type": "least_squares", "intercept": 1}, "intercept must be true or false; got 1"),
    ],
)
def test_specifications_that_cannot_be_used(arguments, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        Spec(**{"type": "mean", "columns": ABC, **arguments})


def table_of(tmp_path, text, name="statistic"):
    path = tmp_path / "party.toml"
    path.write_text(text)
    return TomlFile(path).table(name)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.type)
def test_a_specification_says_everything(tmp_path, spec):
    options = spec.to_dict()
    scale = options.pop("scale", {})
    text = "[statistic]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in options.items())
    text += "[statistic.scale]\n" * bool(scale) + "".join(f"{name} = {number}\n" for name, number in scale.items())
    assert Spec.from_table(table_of(tmp_path, text)) == spec


def test_the_same_specification_in_other_words(tmp_path):
    short = '[statistic]\ntype = "least_squares"\nfeatures = ["a", "b"]\ntarget = "c"\n'
    long = short + "ridge = 0\nintercept = true\nvariance = 100_000_000\nscale = { b = 1 }\n"
    one, two = (json.dumps(Spec.from_table(table_of(tmp_path, text)).to_dict()) for text in (short, long))
    assert one == two
    assert json.loads(one) == {
        "type": "least_squares",
        "features": ["a", "b"],
        "target": "c",
        "scale": {"a": 1.0, "b": 1.0, "c": 1.0},
        "ridge": 0.0,
        "intercept": True,
        "variance": 1e8,
    }


MEAN = '[statistic]\ntype = "mean"\ncolumns = ["a", "b"]\n'
FIT = '[statistic]\ntype = "least_squares"\nfeatures = ["a", "b"]\ntarget = "y"\n'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[statistic]\n", "[statistic] type is missing. Known: mean, variance,"),
        (MEAN.replace('"mean"', '"meen"'), "line 2: [statistic] type = 'meen' is not known; did you mean 'mean'?"),
        (MEAN + "colums = 1", "line 4: [statistic] colums is not a known key; did you mean 'columns'?"),
        (MEAN + "ddof = 1", 'line 4: [statistic] ddof has no meaning with type = "mean". Remove it.'),
        (MEAN + "variance = -1", "line 4: [statistic] variance must be a positive number; got -1."),
        (MEAN + "scale = { c = 1 }", "line 4: [statistic] scale names 'c', which is no column."),
        (MEAN + "scale = 10", "line 4: [statistic] scale must be a table such as { age = 10 }; got 10."),
        (MEAN.replace("mean", "histogram"), "line 3: [statistic] columns must name one variable for a histogram"),
        ('[statistic]\ntype = "mean"', "[statistic] columns is missing."),
        (FIT.replace('"y"', '"a"'), "line 3: [statistic] features contains the target 'a'."),
        (FIT.replace('"b"', '"intercept"'), "line 3: [statistic] features cannot be used: a column is called"),
        (FIT + 'intercept = "no"', "line 5: [statistic] intercept must be true or false; got 'no'."),
        (FIT + "ridge = nan", "line 5: [statistic] ridge must be a finite number >= 0; got nan."),
        (FIT.replace('target = "y"', ""), "[statistic] target is missing."),
    ],
)
def test_tables_that_cannot_be_used(tmp_path, text, sentence):
    with pytest.raises(InvalidFile) as caught:
        Spec.from_table(table_of(tmp_path, text))
    assert sentence in str(caught.value)


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


def test_rows_are_refused_before_the_first_agreement():
    spec = Spec("histogram", ("a",), bins=(0.0, 1.0), bits=8)
    assert len(checked_rows(spec, np.zeros((31, 1)), 4)) == 31
    with pytest.raises(InvalidInput, match=r"every \|s_i\| must be at most 31"):
        checked_rows(spec, np.zeros((32, 1)), 4)
    spec = Spec("variance", ("a",), scale=1e-10)
    assert checked_rows(spec, [[1e20]], 4) == 1e20
    with pytest.raises(InvalidInput, match=r"the rows have numbers beyond 1e\+30 in units of scale"):
        checked_rows(spec, [[-1.01e20]], 4)


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
