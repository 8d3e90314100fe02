"""Pictures can be read: nothing is cut, crossed or covered, and who matters has a name."""

from __future__ import annotations

import importlib.util
import re
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from picture_faults import faults, shown_texts

import sottovoce as sv
from sottovoce import paper, privacy
from sottovoce.network.pictures import plot_network
from sottovoce.pdmm.pictures import plot_run

pytest.importorskip("matplotlib")
FIVE = ["Ada", "Bo", "Cleo", "Dina", "Eli"]


def five() -> sv.Network:
    return sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 0), (2, 4)], labels=FIVE)


def names_in(figure: Any) -> set[str]:
    return {text.get_text() for text in shown_texts(figure)}


def audited(network: sv.Network, corrupt: set[int]) -> privacy.Report:
    problem = sv.averaging(network, np.zeros(network.n))
    return privacy.audit(problem, sv.GaussianMask(1e3), corrupt=corrupt, prior=1.0)


@pytest.mark.parametrize("n", [10, 60, 300])
def test_the_corrupt_and_the_worst_are_named_at_any_size(n):
    corrupt = {3, 7, 9} if n == 10 else {3, 17, 40}
    report = audited(sv.Network.random_geometric(n, seed=1), corrupt)
    worst = int(np.nanargmax(report.excess))
    figure = report.plot()
    assert {str(i) for i in (*corrupt, worst)} <= names_in(figure)
    assert faults(figure) == []


def test_many_corrupt_parties_do_not_write_over_each_other():
    report = audited(sv.Network.random_geometric(300, seed=1), set(range(0, 300, 5)))
    assert faults(report.plot()) == []


def test_a_name_is_not_cut_by_the_ring_of_a_disclosed_party():
    report = audited(five(), {2})
    assert np.isinf(report.leakage[4])
    figure = report.plot()
    assert set(FIVE) <= names_in(figure)
    assert faults(figure) == []


def test_one_value_needs_no_scale():
    ring = audited(sv.Network.ring(8), set())
    assert len(ring.plot().axes) == 1
    said = f"honest, {ring.excess[0]:.2g} nats added"
    assert said in names_in(ring.plot())
    assert len(audited(five(), {2}).plot().axes) == 2


@pytest.mark.parametrize(
    "network",
    [sv.Network.ring(6), five(), sv.Network.random_geometric(60, seed=2), sv.Network.star(20)],
    ids=["ring", "five", "sixty", "star"],
)
def test_a_network_is_named_where_there_is_room(network):
    figure = plot_network(None, network)
    assert faults(figure) == []
    named = names_in(figure) & {network.name(i) for i in range(network.n)}
    assert len(named) == network.n if network.n <= 30 else 10 <= len(named) <= 30


def test_a_network_shows_over_which_edges_messages_go():
    network = sv.Network.grid(4, 4)
    tree = network.spanning_tree().network
    figure = network.plot(overlay=tree)
    assert faults(figure) == []
    lines = [len(marks.get_segments()) for marks in figure.axes[0].collections if hasattr(marks, "get_segments")]
    assert lines == [network.m, tree.m]
    assert figure.axes[0].get_title(loc="left").endswith("24 edges,\nmessages over 15 of them")


@pytest.mark.parametrize(("n", "d"), [(5, 1), (40, 1), (40, 2), (5, 6)])
def test_a_run_shows_the_answer_of_each_party(n, d):
    network = five() if n == 5 else sv.Network.random_geometric(n, seed=1)
    s = np.random.default_rng(1).normal(size=(n, d)) * 10.0 ** np.arange(d)
    result = sv.solve(sv.averaging(network, s), record=[sv.Residual()], seed=1, progress=False)
    figure = plot_run(None, result, network, 1e-8, "problem.toml: averaging")
    assert faults(figure) == []
    assert len(figure.axes) == min(d, 3) + 2
    for axes, mean in zip(figure.axes[:-2], s.mean(axis=0), strict=False):
        (dots,) = axes.lines
        np.testing.assert_allclose(dots.get_xdata(), mean, rtol=1e-6)
        np.testing.assert_array_equal(dots.get_ydata(), np.arange(n))
    rows = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert rows[0] == network.name(0)
    assert len(rows) == n if n <= 25 else 10 <= len(rows) <= 25


@pytest.mark.parametrize("network", [five(), sv.Network.random_geometric(40, seed=1)], ids=["five", "forty"])
def test_a_run_over_a_tree_shows_its_edges(network):
    result = sv.solve(sv.averaging(network, np.arange(float(network.n))), overlay="tree", progress=False)
    figure = result.plot()
    assert faults(figure) == []
    drawn = [len(lines.get_segments()) for lines in figure.axes[-1].collections if hasattr(lines, "get_segments")]
    assert drawn == [network.m, network.n - 1]
    assert f"messages over {network.n - 1} of them" in figure.axes[-1].get_title(loc="left")


def test_a_run_that_did_not_end_shows_how_far_parties_are_apart():
    result = sv.solve(
        sv.averaging(five(), [1.0, 2, 3, 4, 50]), record=[sv.Residual()], c=0.5, tol=0, max_iter=2, progress=False
    )
    figure = plot_run(None, result, five(), 1e-8)
    assert figure.axes[0].get_title(loc="left") == "Answer of each party"
    low, high = figure.axes[0].get_xlim()
    assert low < result.x.min()
    assert result.x.max() < high
    assert faults(figure) == []


def test_a_result_without_a_record_shows_how_far_each_party_is_off():
    network = sv.Network.from_named_edges([("Ada", "Bob"), ("Bob", "Eve"), ("Eve", "Ada"), ("Eve", "Joe")])
    result = sv.solve(
        sv.averaging(network, [1.0, 2.0, 4.0, 8.0]), schedule=sv.Asynchronous(), seed=1, tol=0, max_rounds=9
    )
    figure = result.plot()
    assert faults(figure) == []
    (panel,) = (axes for axes in figure.axes if axes.get_title(loc="left").startswith("Residual"))
    off = panel.lines[0].get_xdata()
    np.testing.assert_allclose(off, np.abs(result.x - np.mean(result.x)), rtol=1e-12)


def test_a_batch_of_draws_has_no_answer_of_each_party():
    result = sv.solve(
        sv.averaging(five(), np.arange(5.0)), mask=sv.GaussianMask(1.0), batch=5, record=[sv.Residual()], seed=1,
        progress=False,
    )  # fmt: skip
    assert len(plot_run(None, result, five(), 1e-8).axes) == 2


@pytest.mark.parametrize("draw", [paper.figure1, paper.figure2, paper.figure3])
def test_figures_of_the_paper_can_be_read(draw):
    figure = draw(draws=30, iterations=60).figure
    assert faults(figure) == []
    (legend,) = figure.legends
    assert r"30 draws $\pm$ 2 standard errors" in legend.get_title().get_text()


def test_bands_of_figure_1_are_two_standard_errors_around_the_draws():
    panel = paper.figure1(draws=10, iterations=12)
    curve = panel.data["curves"]["1.0"]["var_z_perp"]
    band = panel.figure.axes[2].collections[0].get_paths()[0].vertices[:, 1] * 1e7
    assert np.isclose(band.max(), np.max(np.array(curve["monte_carlo"]) + 2 * np.array(curve["stderr"])))
    assert np.isclose(band.min(), np.min(np.array(curve["monte_carlo"]) - 2 * np.array(curve["stderr"])))
    assert panel.figure.axes[2].get_ylim()[0] > 0  # a panel that starts at zero is half empty


def test_the_right_axis_of_figure_3_is_the_normalised_measure():
    panel = paper.figure3(draws=5, iterations=5)
    curve = panel.data["curves"]["0.5"]["sync"]
    (right,) = [axes for axes in panel.figure.axes[0].child_axes if axes.get_ylabel() == "$1 - e^{-2I}$"]
    np.testing.assert_allclose(right._functions[0](np.array(curve["nats"])), curve["normalised"], rtol=1e-12)


def test_a_report_in_a_notebook_says_what_its_summary_says():
    report = audited(sv.Network.from_edges(4, [(0, 1), (1, 2), (2, 3)], labels=["A&B", "<b>", "c", "d"]), {2})
    page = report._repr_html_()
    assert repr(report) == "<Report: DISCLOSED: 1 of 3 honest parties>"
    assert "<b>DISCLOSED: 1 of 3 honest parties</b>" in page
    assert all(escape(sentence) in page for sentence in report.sentences())
    assert "A&amp;B" in page
    assert "<b></td>" not in page
    rows = re.findall(r"<tr><td[^>]*>(.*?)</td><td[^>]*>(.*?)</td><td[^>]*>(.*?)</td>", page)
    assert [row[:2] for row in rows[:1] + rows[-1:]] == [("d", "DISCLOSED"), ("c", "corrupt")]
    assert rows[1][2] == f"{np.sort(report.excess[:2])[-1]:.3g}"


def test_a_worst_case_in_a_notebook_names_the_coalitions():
    problem = sv.averaging(five(), np.zeros(5))
    page = privacy.audit(problem, sv.GaussianMask(1e3), against=privacy.Worst(1), prior=1.0)._repr_html_()
    assert "worst coalition" in page
    assert re.search(r"Eli</td>.*DISCLOSED.*>Cleo</td></tr>", page)


def test_a_statement_names_the_corrupt_of_a_large_network(tmp_path):
    edges = [(i, 59) for i in range(59)]
    report = audited(sv.Network.from_edges(60, edges), {59})
    privacy.write_statement(tmp_path / "statement.html", privacy.statement(report, subject="a star"))
    names = re.findall(r'text-anchor="middle"[^>]*>(\d+)</text>', (tmp_path / "statement.html").read_text())
    assert names == ["59", *map(str, range(39))]


def test_a_report_without_a_guarantee_shows_no_numbers():
    problem = sv.averaging(five(), np.arange(5.0))
    report = privacy.audit(problem, sv.UniformMask(4.0), corrupt={2}, prior=1.0)
    assert report.guarantee == "none"
    assert "<table>" not in report._repr_html_()
    assert faults(report.plot()) == []


def test_exposure_in_a_notebook_is_its_summary():
    found = privacy.exposure(five(), privacy.Worst(1))
    assert found._repr_html_() == f"<p>{escape(found.summary())}</p>"


def test_a_picture_is_shown_by_notebooks_and_not_known_to_pyplot():
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    figure = audited(five(), {2}).plot()
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert plt.get_fignums() == before


def test_a_picture_is_written_where_there_is_a_path(tmp_path):
    figure = audited(five(), {2}).plot(tmp_path / "audit.svg")
    assert b"Cleo" in (tmp_path / "audit.svg").read_bytes()
    assert figure.axes
    with pytest.raises(sv.errors.InvalidInput, match=r"must end in \.png, \.pdf or \.svg"):
        audited(five(), {2}).plot(tmp_path / "audit.gif")


def test_without_matplotlib_a_picture_names_the_extra(monkeypatch):
    report = audited(five(), {2})
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(sv.errors.MissingExtra, match=r"a picture needs matplotlib.*sottovoce\[plot\]"):
        report.plot()


@pytest.mark.parametrize(
    ("draw", "fault"),
    [
        (lambda axes: (axes.plot([0, 1], label="a"), axes.legend(loc="center")), "a legend lies on what is drawn"),
        (lambda axes: (axes.plot([0, 1]), axes.annotate("word", (0.5, 0.5))), "a curve crosses 'word'"),
        (lambda axes: (axes.twinx().plot([0, 1]), axes.annotate("word", (0.5, 0.5))), "a curve crosses 'word'"),
        (lambda axes: [axes.annotate("word", (0.5, 0.5)) for _ in "ab"], "'word' overlaps 'word'"),
        (lambda axes: (axes.scatter([0.5], [0.5], s=900), axes.annotate("cut by it", (0.5, 0.5))), "is cut by a mark"),
        (lambda axes: axes.annotate("far away", (2, 0.5), annotation_clip=False), "'far away' leaves the picture"),
        (lambda axes: [axes.plot([0, 1, 0, 1, 0], label=name) for name in "ab"], "'b' hides 'a'"),
        (lambda axes: [axes.plot([0, 1, 0, 1, 0], mark, label=mark) for mark in "os"], "'s' hides 'o'"),
    ],
)
def test_faults_are_noticed(draw, fault):
    from matplotlib.figure import Figure

    axes = (figure := Figure()).subplots()
    assert faults(figure) == []
    draw(axes)
    assert any(fault in found for found in faults(figure))


def test_claims_of_the_paper_are_a_list(capsys, monkeypatch):
    from sottovoce.cli.paper import _print_claims
    from sottovoce.paper.claims import Claim

    monkeypatch.setenv("COLUMNS", "80")
    found = [
        Claim("it [converges]", "section 6", "variance", {}, verdict, "a reason " * 12) for verdict in ("holds",) * 3
    ]
    _print_claims(found, Path("paper"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].rstrip() == " 1. it [converges] (variance)"
    assert lines[3].startswith("    holds: a reason")
    assert len(lines) <= 3 * 3 + 4  # and not eight narrow lines a claim
    assert max(len(line) for line in lines) <= 80
