"""Plans: the audit before anything is written, and node files that fit together."""

from __future__ import annotations

import itertools
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.data.number_columns import NumberColumns
from sottovoce.errors import InvalidInput, Unsupported
from sottovoce.files.toml_text import toml
from sottovoce.pdmm.masks import GaussianMask, resolution
from sottovoce.privacy import Worst
from sottovoce.runtime.keys import identity
from sottovoce.runtime.plan import plan
from sottovoce.runtime.plan.node_file import read_node_file
from sottovoce.runtime.plan.plan import Plan, listen, read_plan, write_plan
from sottovoce.runtime.plan.prospect import helpful_edges
from sottovoce.runtime.protocol.route import Route
from sottovoce.statistics.agreements import SimulatedAgreements
from sottovoce.statistics.of_tables import run_on_tables

NAMES = ("north", "east", "south", "west", "centre")
RUN = """[run]
name = "trial"
c = 0.5
"""
NETWORK = """[network]
edges = [["north", "east"], ["east", "south"], ["south", "west"], ["west", "north"], ["centre", 0], ["centre", 2]]
"""
ABOUT = """[cost]
type = "averaging"
columns = ["age", "dose"]
"""
STATISTIC = """[statistic]
type = "covariance"
columns = ["age", "dose"]
"""
MASK = """[mask]
variance = 1e6
[audit]
prior = 4.0
"""
PARTIES = "".join(f'[[party]]\nname = "{name}"\naddress = "127.0.0.1:{7400 + i}"\n' for i, name in enumerate(NAMES))
PLAN = RUN + NETWORK + ABOUT + MASK + PARTIES
SUMS = RUN + NETWORK + STATISTIC + PARTIES


def planned(folder: Path, old: str = "", new: str = "", of: str = PLAN) -> Plan:
    assert of.count(old) >= 1
    (folder / "plan.toml").write_text(of.replace(old, new, 1) if old else of)
    return read_plan(folder / "plan.toml")


# Reading


def test_what_a_plan_says(tmp_path):
    made = planned(tmp_path)
    assert made.settings == {"name": "trial", "channels": "encrypted", "tol": 1e-10}
    assert (made.routes.route.penalty, made.routes.route.theta, made.routes.route.is_tree) == (0.5, 0.8, True)
    assert made.routes.fallback == Route.over(made.routes.edges, 0.5, 0.8)
    assert made.network.labels == list(NAMES)
    assert made.network.edges.tolist() == [[0, 1], [0, 3], [0, 4], [1, 2], [2, 3], [2, 4]]
    assert (made.max_corrupt, made.prior, made.delta, made.wake, made.pace) == (1, 4.0, None, "eager", 0.25)
    assert made.question.mask == GaussianMask(1e6)


def test_c_is_tuned_on_the_network_alone(tmp_path):
    made = planned(tmp_path, "c = 0.5\n", 'overlay = "all"\n')
    c = made.routes.route.penalty
    assert c == planned(tmp_path, "c = 0.5\n", 'overlay = "all"\n').routes.route.penalty
    # Good for data that it has not seen: no worse than half as fast as a coarse search over c for those data.
    problem = sv.averaging(made.network, np.random.default_rng(5).normal(size=5))
    run = {"schedule": sv.Asynchronous(), "seed": 0, "tol": 1e-9}
    best = min(sv.solve(problem, c=c, **run).iterations for c in 2.0 ** np.arange(-3, 4))
    assert sv.solve(problem, c=c, **run).iterations <= 2 * best


def test_statistics_go_over_a_tree_with_matched_penalties(tmp_path):
    routes = planned(tmp_path, "c = 0.5\n", "fallback = 7\n", SUMS).routes
    assert routes.route == Route(((0, 1), (0, 3), (0, 4), (1, 2)), (4.0, 2.0, 2.0, 2.0), 1.0)
    assert (routes.fallback.edges, routes.fallback.theta, routes.after) == (routes.edges, 0.8, 7.0)
    assert routes.fallback == planned(tmp_path, "c = 0.5\n", 'overlay = "all"\n', SUMS).routes.route
    cost = planned(tmp_path).routes
    assert (cost.route.edges, cost.route.penalty, cost.route.theta) == (routes.route.edges, 0.5, 0.8)
    chosen = 'overlay = [["centre", "south"], ["south", "east"], ["west", "south"], ["east", "north"]]\n'
    given = planned(tmp_path, "c = 0.5\n", f"c = [1, 2, 3, 4]\n{chosen}", SUMS).routes
    assert given.route == Route(((0, 1), (1, 2), (2, 3), (2, 4)), (4.0, 2.0, 3.0, 1.0), 0.8)
    assert given.fallback == routes.fallback


def test_a_cost_that_needs_it_gets_a_smaller_theta(tmp_path):
    cost = '[cost]\ntype = "{}"\ncolumns = ["age"]\n'
    assert planned(tmp_path, ABOUT, cost.format("absolute_deviation")).routes.route.theta == 0.5
    assert planned(tmp_path, ABOUT, cost.format("averaging")).routes.route.theta == 0.8


MISTAKES = {
    "unknown table": ("[audit]", "[adit]", "[adit] is not a known table; did you mean 'audit'?"),
    "no network": (NETWORK, "", "the table [network] is missing."),
    "run key": ("c = 0.5", "cc = 0.5", "line 3: [run] cc is not a known key"),
    "c": ("c = 0.5", "c = -1", "line 3: [run] c must be a positive number; got -1."),
    "c of edges": ("c = 0.5", "c = [0.5, 1]", "line 3: [run] c has 2 numbers, and messages go over 4 edges: give one"),
    "overlay": (
        "c = 0.5",
        'overlay = "star"',
        'line 3: [run] overlay must be "tree", "all" or a list of pairs',
    ),
    "overlay edge": (
        "c = 0.5",
        'overlay = [["east", "west"]]',
        "overlay has the edge east - west, which the",
    ),
    "overlay apart": ("c = 0.5", 'overlay = [["north", "east"]]', "[run] overlay does not connect all parties"),
    "fallback": ("c = 0.5", "fallback = 0", "line 3: [run] fallback must be a positive number of seconds; got 0."),
    "wake": ("c = 0.5", "wake = -1", "line 3: [run] wake must be"),
    "edges": (
        '"centre", 0',
        '"center", 0',
        "[network] edges names 'center', which is no party; did you mean 'centre'?",
    ),
    "generator": (NETWORK, '[network]\ngenerator = "ring"\nn = 4\n', "n gives 4 nodes, but there are 5 parties"),
    "network key": (NETWORK, '[network]\ngenerater = "ring"\n', "generater is not a known key"),
    "disconnected": ('["centre", 0], ["centre", 2]', "", "disconnected"),
    "no question": (ABOUT, "", "give one of [statistic] and [cost]"),
    "type": ("averaging", "averageing", "type = 'averageing' is not known; did you mean 'averaging'?"),
    "mask of a statistic": (ABOUT, STATISTIC, "[mask] is gone beside [statistic]: sums are exact"),
    "prior of a statistic": (
        ABOUT + "[mask]\nvariance = 1e6",
        STATISTIC,
        "[audit] prior is gone beside [statistic]: sums are exact",
    ),
    "mask": ("variance = 1e6", "variance = 0", "[mask] variance must be a positive number"),
    "two masks": ("variance = 1e6", "variance = 1e6\ndelta = 1e-3", "[mask] variance does not go with delta"),
    "delta": ("variance = 1e6", "delta = 0", "[mask] delta must be a positive number of nats; got 0."),
    "bits": ("variance = 1e6", "bits = 46", "[cost] needs a mask with a variance"),
    "prior": ("prior = 4.0", "prior = 0", "[audit] prior must be a positive number, the variance of a secret; got 0."),
    "corrupt": ("prior = 4.0", "max_corrupt = 5", "max_corrupt must be one of 0 .. 4, as there are 5 parties; got 5."),
    "party key": ("address =", "adress =", "[[party]] number 1 adress is not a known key; did you mean 'address'?"),
    "party name": ('name = "north"', 'name = ".."', "[[party]] number 1 name cannot be used: a party's name must"),
    "same name": ('name = "south"', 'name = "North"', "number 3 name = 'North' is that of an earlier party too."),
    "same address": (":7401", ":7400", "number 2 address = '127.0.0.1:7400' is that of an earlier party too."),
    "address": ("127.0.0.1:7400", "127.0.0.1", "[[party]] number 1 address must be host:port"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_every_mistake_gets_its_sentence(tmp_path, mistake):
    old, new, sentence = MISTAKES[mistake]
    with pytest.raises(InvalidInput) as refused:
        planned(tmp_path, old, new)
    assert sentence in str(refused.value)
    assert "plan.toml" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_one_party_is_not_enough(tmp_path):
    (tmp_path / "plan.toml").write_text(RUN + ABOUT + NETWORK + PARTIES.split('[[party]]\nname = "east"')[0])
    with pytest.raises(InvalidInput, match="at least two are needed"):
        read_plan(tmp_path / "plan.toml")


# The audit


def test_a_tree_and_its_fallback_show_coalitions_no_more(tmp_path):
    tree, whole = (planned(tmp_path, "c = 0.5\n", overlay).prospect for overlay in ("", 'overlay = "all"\n'))
    np.testing.assert_array_equal(tree.report.leakage, whole.report.leakage)  # a coalition's, which knows the answer
    assert all(tree.report.coalitions)
    # What taps alone have of the result counts as excess, and larger penalties show them more of it.
    assert (tree.excess >= whole.excess).all()
    assert sum("messages go over a spanning tree, 4 of 6 edges" in note for note in tree.notes) == 1
    assert sum("should a link stay dead" in note for note in tree.notes) == 1
    assert not any("spanning tree" in note or "dead" in note for note in whole.notes)


def test_taps_alone_are_audited_with_the_penalties_of_tree_and_fallback(tmp_path):
    open_channels = PLAN.replace("[audit]\n", "[audit]\nmax_corrupt = 0\n").replace("c = 0.5\n", 'channels = "open"\n')
    made = planned(tmp_path, PLAN, open_channels)
    rest = made.routes.fallback.penalty
    c = np.array([made.routes.route.around(i).get(j, rest) for i, j in made.routes.edges])
    assert (c == rest).sum() == 2
    problem = sv.averaging(made.network, np.zeros((5, made.question.numbers)))
    audited = (sv.privacy.audit(problem, GaussianMask(1e6), prior=4.0, c=of) for of in (c, rest))
    both, less = (report.excess for report in audited)
    np.testing.assert_allclose(made.prospect.excess, both, rtol=1e-12)
    assert (both > less).all()  # matched penalties are larger, and show the shift of all x better


def test_the_excess_is_the_worst_over_every_coalition(tmp_path):
    made = planned(tmp_path)
    setting = {"mask": GaussianMask(1e6), "channels": "open", "prior": 4.0}
    means = sv.averaging(made.network, np.zeros((5, 2)))
    expected = np.nanmax([sv.privacy.audit(means, corrupt={j}, **setting).excess for j in range(5)], axis=0)
    excess = made.prospect.excess
    assert (excess >= expected).all()
    np.testing.assert_allclose(excess, expected, rtol=1e-3)  # second order in 1/variance
    assert made.prospect.report.guarantee == "exact"
    assert made.prospect.safe
    assert made.prospect.problems() == []


@pytest.mark.parametrize("channels", ["encrypted", "open"])
def test_exact_sums_add_nothing(tmp_path, channels):
    prospect = planned(tmp_path, "c = 0.5", f'channels = "{channels}"', SUMS).prospect
    assert prospect.excess.tolist() == [0.0] * 5
    assert prospect.accuracy is None
    assert prospect.safe


def test_a_weak_plan_is_a_problem(tmp_path):
    weak = planned(tmp_path, "variance = 1e6", "variance = 1e3").prospect
    assert (weak.verdict, weak.safe) == ("weak", False)
    assert weak.problems()[0].startswith("WEAK: the procedure adds up to 0.")
    assert weak.to_dict()["verdict"] == "weak"


def test_more_coalitions_than_can_be_tried_get_a_bound():
    problem = sv.averaging(sv.Network.complete(60), np.zeros((60, 1)))
    setting = {"channels": "open", "prior": 1.0, "theta": 1.0, "c": 0.1}
    many = sv.privacy.audit(problem, mask=GaussianMask(1e4), against=Worst(6), **setting).excess  # 56 million of them
    one = sv.privacy.audit(problem, mask=GaussianMask(1e4), corrupt=range(6), **setting).excess
    assert (many >= np.nanmax(one)).all()
    assert np.isfinite(many).all()


def test_tapped_channels_show_no_less_than_encrypted_ones(tmp_path):
    made = planned(tmp_path)
    problem = sv.averaging(made.network, np.zeros((5, 2)))
    for schedule, j in itertools.product((sv.Synchronous(), sv.Asynchronous()), range(5)):
        setting = {"mask": GaussianMask(1e6), "prior": 4.0, "schedule": schedule, "c": 0.5, "seed": 3}
        report = sv.privacy.audit(problem, corrupt={j}, channels="encrypted", **setting)
        honest = np.arange(5) != j
        assert (report.excess[honest] <= made.prospect.excess[honest] * (1 + 1e-6)).all()  # rounding of small numbers


def test_nobody_listens_to_encrypted_channels_without_corrupt_parties(tmp_path):
    assert planned(tmp_path, "prior = 4.0", "max_corrupt = 0").prospect.excess.tolist() == [0.0] * 5
    text = PLAN.replace("c = 0.5", 'c = 0.5\nchannels = "open"').replace("prior = 4.0", "max_corrupt = 0")
    (tmp_path / "plan.toml").write_text(text)
    assert (read_plan(tmp_path / "plan.toml").prospect.excess > 0).all()


def test_delta_gives_the_smallest_mask(tmp_path):
    made = planned(tmp_path, "variance = 1e6", "delta = 1e-3")
    mask, worst = made.prospect.question.mask, made.prospect.excess.max()
    # Three digits, rounded up: at most 1 % above the smallest.
    assert 1e-3 * 0.99 <= worst <= 1e-3
    assert mask.variance == float(f"{mask.variance:.3g}")


@pytest.mark.parametrize("kind", ["lasso", "logistic"])
def test_a_cost_has_no_certificate(tmp_path, kind):
    about = f'[cost]\ntype = "{kind}"\nfeatures = ["age"]\ntarget = "dose"\n' + ("l1 = 1\n" if kind == "lasso" else "")
    prospect = planned(tmp_path, ABOUT, about).prospect
    assert prospect.excess is None
    assert not prospect.safe
    assert prospect.problems()[0].startswith("NOT ASSESSED: there is no guarantee, as masking hides the")
    with pytest.raises(Unsupported, match="delta cannot be kept by a mask"):
        _ = planned(tmp_path, ABOUT + "[mask]\nvariance = 1e6", about + "[mask]\ndelta = 1e-3").prospect


def test_who_is_exposed_and_what_helps(tmp_path):
    path = '[network]\nedges = [["north", "east"], ["east", "south"], ["south", "west"], ["west", "centre"]]\n'
    prospect = planned(tmp_path, NETWORK, path).prospect
    assert prospect.exposure.exposed == ("north", "centre")
    assert prospect.to_dict()["exposed"] == [0, 4]
    assert prospect.excess[[0, 4]].tolist() == [np.inf, np.inf]
    told = prospect.problems()
    assert told[0] == "north is DISCLOSED, at any mask, if east is corrupt: nobody else talks to it."
    edges = re.findall(r"(\w+) - (\w+)", told[-1])
    assert edges
    added = ", ".join(f'["{a}", "{b}"]' for a, b in edges)
    better = planned(tmp_path, NETWORK, path.replace("]]\n", f"], {added}]\n")).prospect
    assert better.safe
    assert better.problems() == []


def test_edges_that_help_against_two(tmp_path):
    network = sv.Network.ring(7)
    edges = helpful_edges(network, 2)
    better = sv.Network.from_edges(7, [*map(tuple, network.edges.tolist()), *edges])
    assert sv.privacy.exposure(network, Worst(2)).exposed
    assert not sv.privacy.exposure(better, Worst(2)).exposed


def test_where_everybody_talks_to_everybody_no_edge_helps(tmp_path):
    complete = '[network]\ngenerator = "complete"\n'
    prospect = planned(tmp_path, NETWORK + ABOUT + MASK, complete + ABOUT + "[audit]\nmax_corrupt = 4\n").prospect
    assert len(prospect.exposure.exposed) == 5
    assert prospect.problems()[-1].startswith("No edge helps")
    calibrated = complete + ABOUT + "[mask]\ndelta = 1.0\n[audit]\nmax_corrupt = 4\n"
    made = planned(tmp_path, NETWORK + ABOUT + MASK, calibrated)
    with pytest.raises(Unsupported, match="no mask keeps delta for a party that is disclosed"):
        write_plan(made, tmp_path / "out", generate_keys=True)


def test_accuracy_is_what_tol_and_the_grid_leave(tmp_path):
    assert planned(tmp_path).prospect.accuracy == 3e-10
    coarse = planned(tmp_path, "variance = 1e6", "variance = 1e12").prospect
    assert coarse.accuracy == resolution(GaussianMask(1e12))
    assert any("coarser than tol = 1e-10" in note for note in coarse.notes)


@pytest.mark.parametrize("kind", ["mean", "variance", "covariance", "histogram"])
def test_numbers_are_those_that_travel(tmp_path, kind, rng):
    about = f'[statistic]\ntype = "{kind}"\ncolumns = ["age", "dose", "bmi"]\n'
    if kind == "histogram":
        about = '[statistic]\ntype = "histogram"\ncolumns = ["age"]\nbins = [0, 50, 100]\n'
    question = planned(tmp_path, STATISTIC, about, SUMS).question
    tables = [{name: rng.normal(size=6) for name in ("age", "dose", "bmi")} for _ in range(5)]
    agreements = SimulatedAgreements(sv.Network.ring(5))
    run_on_tables(question.asked, agreements, [question.asked.table(NumberColumns(table)) for table in tables])
    assert question.counts == sum(shown.numbers for shown in agreements.shown)
    assert question.stages == len(agreements.shown)
    assert question.numbers == 0


# The size that parties count on


@pytest.mark.parametrize(
    ("mask", "size"),
    [
        ("delta = 1e-3", 8.0),  # four standard deviations of the prior
        ("delta = 1e-9", 8.0),  # whoever asks for little is promised it for all data that are let through
        ("variance = 1e8", 100.0),  # a hundredth of sigma
        ("variance = 1e4", 8.0),
    ],
)
def test_the_size_is_published(tmp_path, mask, size):
    made = planned(tmp_path, "variance = 1e6", mask)
    assert made.prospect.question.size == size
    write_plan(made, str(tmp_path / "out"), generate_keys=True)
    written = tomllib.loads((tmp_path / "out" / "west" / "node.toml").read_text())["run"]["cost"]
    assert written["size"] == size


def test_the_least_rows_of_a_party(tmp_path):
    made = planned(tmp_path, STATISTIC, STATISTIC + "[audit]\nleast_rows = 50\n", SUMS)
    assert made.prospect.question.to_dict()["statistic"]["least_rows"] == 50
    with pytest.raises(InvalidInput, match=r"\[audit\] least_rows must be a whole number >= 1; got 0"):
        planned(tmp_path, STATISTIC, STATISTIC + "[audit]\nleast_rows = 0\n", SUMS)
    with pytest.raises(InvalidInput, match="least_rows has no meaning for a cost"):
        planned(tmp_path, ABOUT + MASK, ABOUT + MASK + "least_rows = 2\n")


# Writing


def test_node_files_fit_together(tmp_path):
    made = planned(tmp_path)
    write_plan(made, tmp_path / "out", generate_keys=True)
    configs = []
    for name in NAMES:
        (tmp_path / "out" / name / "data.csv").write_text("age,dose\n1,2\n")
        configs.append(read_node_file(tmp_path / "out" / name / "node.toml"))
    assert [config.name for config in configs] == list(NAMES)
    assert len({repr(config.parameters()) for config in configs}) == 1
    assert configs[0].parameters()["cost"]["mask"] == {"variance": 1e6}
    for i, config in enumerate(configs):
        assert [other.index for other in config.neighbours] == made.network.around(i).tolist()
        assert config.listen == made.parties[i].address
        for other in config.neighbours:
            assert other.name == NAMES[other.index]
            assert other.address == made.parties[other.index].address
            assert other.certificate == identity.load(tmp_path / "out" / other.name / "identity").certificate
    assert {path.name for path in tmp_path.iterdir()} == {"plan.toml", "out"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("", "", ['class="verdict safe">SAFE', "age", "dose"]),
        (ABOUT + MASK, STATISTIC, ['class="verdict safe">SAFE', "products, pair by pair, of age, dose"]),
        ("variance = 1e6", "variance = 10", ['class="verdict weak">WEAK', "Write [mask] delta = 0.01"]),
        (
            ABOUT + MASK,
            '[statistic]\ntype = "histogram"\ncolumns = ["age"]\nbins = [0, 50, 100]\n',
            ['class="verdict safe">SAFE', "the rows in each of 2 bins of age, below and above them"],
        ),
        (
            ABOUT,
            '[cost]\ntype = "lasso"\nfeatures = ["age"]\ntarget = "dose"\nl1 = 2\n',
            ['class="verdict not-assessed">NOT ASSESSED', "Nothing that this method can certify."],
        ),
    ],
)
def test_every_plan_has_a_statement(tmp_path, old, new, words):
    write_plan(planned(tmp_path, old, new), tmp_path / "out", generate_keys=True)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted([*NAMES, "statement.html"])
    html = (tmp_path / "out" / "statement.html").read_text()
    for expected in [*words, "trial: ", "centre", "corrupt parties, at most", "encrypted, counted as open"]:
        assert expected in html
    assert "PRIVATE KEY" not in html


def test_no_party_is_called_as_the_statement_is(tmp_path):
    text = PLAN.replace("centre", "Statement.HTML")
    (tmp_path / "plan.toml").write_text(text)
    made = read_plan(tmp_path / "plan.toml")
    with pytest.raises(InvalidInput, match="a party is called statement"):
        write_plan(made, tmp_path / "out", generate_keys=True)
    assert not (tmp_path / "out").exists()


def test_a_cost_is_written_as_it_was_given(tmp_path):
    about = '[cost]\ntype = "lasso"\nfeatures = ["age"]\ntarget = "dose"\nl1 = 2\n'
    write_plan(planned(tmp_path, ABOUT, about), tmp_path / "out", generate_keys=True)
    (tmp_path / "out/west/data.csv").write_text("age,dose\n1,2\n")
    config = read_node_file(tmp_path / "out/west/node.toml")
    assert config.parameters()["cost"]["l1"] == 2.0
    assert config.parameters()["cost"]["mask"] == {"variance": 1e6}
    np.testing.assert_allclose(config.cost().cost.l1, 2 / 5)
    assert config.route.theta == 0.5


def test_certificates_of_the_parties(tmp_path):
    certified = PARTIES
    (tmp_path / "certs").mkdir()
    for name in NAMES:
        pem = identity.create(tmp_path / name, name).certificate
        # Whoever sends a certificate must not be able to write into the others' node files.
        (tmp_path / "certs" / f"{name}.pem").write_text('"""\n[run]\nc = 7\n' + pem)
        certified = certified.replace(f'name = "{name}"', f'name = "{name}"\ncertificate = "certs/{name}.pem"')
    made = planned(tmp_path, PARTIES, certified)
    write_plan(made, tmp_path / "out", generate_keys=False)
    written = tomllib.loads((tmp_path / "out/north/node.toml").read_text())
    assert written["run"]["c"] == 0.5
    assert [other["certificate"] for other in written["neighbour"]] == [
        identity.load(tmp_path / name).certificate for name in ("east", "west", "centre")
    ]
    assert sorted(path.name for path in (tmp_path / "out/north").iterdir()) == ["node.toml"]
    (tmp_path / "certs/west.pem").write_text((tmp_path / "certs/east.pem").read_text())
    with pytest.raises(InvalidInput, match=r"west\.pem: the certificate of west is for the name 'east'"):
        write_plan(made, tmp_path / "again", generate_keys=False)
    (tmp_path / "certs/west.pem").write_text((tmp_path / "west/key.pem").read_text())
    with pytest.raises(InvalidInput, match="holds a private key, which must stay with its owner"):
        write_plan(made, tmp_path / "again", generate_keys=False)
    with pytest.raises(InvalidInput, match="the party north has no certificate"):
        write_plan(planned(tmp_path), tmp_path / "again", generate_keys=False)
    assert not (tmp_path / "again").exists()


def test_whole_or_not_at_all(tmp_path, monkeypatch):
    made, write = planned(tmp_path), plan.node_file

    def full(made: Plan, i: int, *rest: object, **more: object) -> str:
        if i == 3:
            raise OSError(28, "No space left on device")
        return write(made, i, *rest, **more)

    monkeypatch.setattr(plan, "node_file", full)
    with pytest.raises(InvalidInput, match="out cannot be written: No space left on device"):
        write_plan(made, tmp_path / "out", generate_keys=True)
    assert {path.name for path in tmp_path.iterdir()} == {"plan.toml"}


def test_an_old_folder_is_not_touched(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(InvalidInput, match="out exists already"):
        write_plan(planned(tmp_path), tmp_path / "out", generate_keys=True)
    with pytest.raises(InvalidInput, match=r"does not exist\. Make it first"):
        write_plan(planned(tmp_path), tmp_path / "no/out", generate_keys=True)


def test_data_beside_the_plan_are_used_in_a_trial(tmp_path):
    (tmp_path / "rows.csv").write_text("age,dose\n1,2\n")
    made = planned(tmp_path, '[[party]]\nname = "north"', '[[party]]\nname = "north"\ndata = "rows.csv"')
    write_plan(made, tmp_path / "out", generate_keys=True)
    assert read_node_file(tmp_path / "out/north/node.toml").data == tmp_path / "rows.csv"
    assert tomllib.loads((tmp_path / "out/east/node.toml").read_text())["party"]["data"] == "data.csv"


@pytest.mark.parametrize(
    ("address", "where"),
    [
        ("10.0.0.1:7401", "0.0.0.0:7401"),
        ("hospital.example:7401", "0.0.0.0:7401"),
        ("127.0.0.1:7401", "127.0.0.1:7401"),
        ("localhost:7401", "localhost:7401"),
        ("[::1]:7401", "[::1]:7401"),
        ("[2001:db8::7]:7401", "[::]:7401"),
    ],
)
def test_where_to_listen(address, where):
    assert listen(address) == where


values = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_what_is_written_is_read(value):
    assert tomllib.loads(f"value = {toml(value)}") == {"value": value}
