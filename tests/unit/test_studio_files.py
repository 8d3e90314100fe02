"""Files that a page is given, and gives: content alone, bounded, and never a path."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import InvalidInput
from sottovoce.studio.exchange import LARGEST, exported, from_problem_file, imported
from sottovoce.studio.making import first_scene, generated

SCENE = replace(
    generated("watts_strogatz", 9, seed=3),
    names=("Zoë", "a b", "C-3", "d.e", "é", "F", "g_h", '"quoted"', "1"),
    variance=1e9, schedule="synchronous", loss=0.25, theta=0.8, c=0.5, seed=4,
)  # fmt: skip


def test_a_problem_file_is_played_by_the_library_as_on_the_page(tmp_path):
    path = tmp_path / "problem.toml"
    path.write_bytes(exported("toml", SCENE))
    file = sv.data.read_problem_file(path)
    assert tuple(file.problem.network.labels) == SCENE.names
    assert np.array_equal(file.problem.network.edges, SCENE.network.edges)
    assert file.options["schedule"] == sv.EdgeBernoulli(0.75)
    assert (file.options["theta"], file.options["c"], file.options["seed"]) == (0.8, 0.5, 4)
    assert file.options["mask"] == sv.GaussianMask(1e9)
    assert float(sv.solve(file.problem, **file.options).solution) == pytest.approx(SCENE.mean, abs=1e-6)
    again, said = from_problem_file(path)
    assert said == ""
    assert again.differs(SCENE) <= {"places"}


def test_graphml_holds_names_numbers_and_places():
    again, _ = imported("net.graphml", exported("graphml", SCENE), first_scene())
    assert (again.names, again.numbers, again.places, again.edges) == (
        SCENE.names, SCENE.numbers, SCENE.places, SCENE.edges,
    )  # fmt: skip


def test_graphml_of_networkx_is_opened():
    networkx = pytest.importorskip("networkx")
    text = "\n".join(networkx.generate_graphml(networkx.les_miserables_graph()))
    scene, _ = imported("les.graphml", text.encode(), first_scene())
    assert (scene.n, len(scene.edges)) == (77, 254)
    assert "Valjean" in scene.names


def test_edge_lists_of_numbers_and_of_names():
    scene, _ = imported("net.txt", exported("txt", SCENE), first_scene())
    assert scene.edges == SCENE.edges
    named, _ = imported("net.csv", b"# who, whom\nAda,Bob\nBob;Eve\nEve Ada\n", first_scene())
    assert (named.names, named.edges) == (("Ada", "Bob", "Eve"), ((0, 1), (0, 2), (1, 2)))


@pytest.mark.parametrize("name", ["regression", "lasso"])
def test_a_file_that_asks_for_something_else_lends_its_network(name, tmp_path):
    path = tmp_path / "other.toml"
    path.write_text(sv.data.example(name))
    scene, said = from_problem_file(path)
    assert said.startswith("other.toml asks for something else than the mean")
    assert scene.n == 4


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.png", b"x", "ends in 'png' is not known"),
        ("a", b"x", "is not known"),
        ("a.txt", b"\xff\xfe0 1", "not UTF-8"),
        ("a.txt", b"", "holds no edges"),
        ("a.txt", b"0 1 2\n", "line 1: expected two parties"),
        ("a.txt", b"0 1\n0 201\n", "2 to 200 parties; this one has 202"),
        ("a.txt", b"0 1\n1 0\n", "is a duplicate"),
        ("a.graphml", b"<graphml", "no GraphML"),
        ("a.graphml", b"<html></html>", "no GraphML"),
        ("a.graphml", b'<!DOCTYPE a [<!ENTITY b "c">]><graphml>&b;</graphml>', "DOCTYPE"),
        ("a.toml", b"[network", "not valid TOML"),
        ("a.toml", b"network = " + b"[" * 50_000 + b"]" * 50_000, "nested more than 32 deep"),
        ("a.toml", b"[network]\ngenerator='ring'\n", r"\[cost\] is missing"),
        ("a.toml", b"[network]\ngenerator='ring'\n[cost]\ntype='averaging'\nvalues=[1,2,'x']\n", "the file, line"),
    ],
)
def test_contents_that_are_none_get_a_sentence(name, content, why):
    with pytest.raises(InvalidInput, match=why) as raised:
        imported(name, content, first_scene())
    assert "/tmp" not in str(raised.value)


def test_a_file_may_not_be_large():
    with pytest.raises(InvalidInput, match="at most 500,000"):
        imported("a.txt", b"0" * (LARGEST + 1), first_scene())
    many = b"".join(b"a%d b%d\n" % (k, k) for k in range(300))
    with pytest.raises(InvalidInput):
        imported("a.txt", many, first_scene())


@pytest.mark.parametrize(
    "text",
    [
        "[network]\nedge_list = '{secret}'\n[cost]\ntype = 'averaging'\nvalues = [1, 2]\n",
        "[network]\ngenerator = 'ring'\n[cost]\ntype = 'averaging'\nfiles = ['{secret}']\n",
        "[network]\ngenerator = 'ring'\n[cost]\ntype = 'averaging'\nfile = '{secret}'\nparty = 'kwh'\n",
        "[network]\ngenerator = 'ring'\n[cost]\ntype = 'averaging'\nparties = [{{name = 'a', file = '{secret}'}}]\n",
        "[network]\ngenerator = 'ring'\n[statistic]\ntype = 'mean'\nfiles = ['{secret}']\n",
        "[network]\ngenerator = 'ring'\n[schema]\nfile = '{secret}'\n[cost]\ntype = 'averaging'\nvalues = [1, 2, 3]\n",
        "[network]\ngenerator = 'ring'\n[statistic]\ntype = 'mean'\nparties = "
        "[{{name = 'a', data = {{source = 'duckdb', query = \"select * from read_csv('{secret}')\"}}}}]\n",
        "cost = '{secret}'\n",
    ],
)
def test_nothing_on_the_disk_is_opened_for_a_page(text, tmp_path, monkeypatch):
    secret = tmp_path / "secret.csv"
    secret.write_text("kwh\n41\n")
    monkeypatch.setattr("sottovoce.studio.exchange.from_problem_file", lambda *_: pytest.fail("it was read"))
    with pytest.raises(InvalidInput, match="it opens no other files"):
        imported("a.toml", text.format(secret=secret).encode(), first_scene())


@pytest.mark.parametrize(
    ("text", "taken", "told"),
    [
        ("", {"theta": None, "c": None, "variance": None, "schedule": "synchronous", "loss": 0.0, "seed": 0}, ""),
        ("[pdmm]\nc = 2\ntheta = 1\n", {"c": 2.0, "theta": 1.0}, ""),
        ("[pdmm]\nschedule = 'delayed'\nmax_delay = 2\n", {"schedule": "synchronous", "loss": 0.0}, "schedule Delayed"),
        ("[pdmm]\nschedule = 'asynchronous'\nrates = [1, 2, 3]\n", {"schedule": "synchronous"}, "Asynchronous"),
        ("[pdmm]\noverlay = 'tree'\n", {}, "the overlay"),
        ("[pdmm]\nseed = 1099511627776\n", {"seed": 0}, "the seed 1099511627776"),
        ("[pdmm]\nc = [1, 2, 3]\n", {"c": None}, "c by edge"),
        ("[mask]\ntype = 'uniform'\nvariance = 4\n", {"variance": 1e6}, "the mask UniformMask"),
        ("[mask]\nvariance = 1e14\n", {"variance": 1e6}, "the mask GaussianMask"),
        ("[mask]\nvariance = 1e4\n", {"variance": 1e4}, ""),
    ],
)
def test_settings_of_a_file_are_taken_or_named(text, taken, told):
    """Nothing of the scene before stays, and what a page does not have is said."""
    other = replace(first_scene(), theta=0.3, c=7.0, loss=0.25, seed=9, schedule="synchronous")
    network = "[network]\ngenerator = 'ring'\n[cost]\ntype = 'averaging'\nvalues = [1, 2, 4]\n"
    scene, said = imported("a.toml", (network + text).encode(), other)
    assert {key: getattr(scene, key) for key in taken} == taken
    assert (told in said) if told else said == ""


def test_a_file_of_many_parties_is_refused_before_their_network_is_made(monkeypatch):
    monkeypatch.setattr("sottovoce.studio.exchange.from_problem_file", lambda *_: pytest.fail("it was read"))
    text = f"[network]\ngenerator = 'complete'\n[cost]\ntype = 'averaging'\nvalues = [{'1,' * 10_000}]\n"
    with pytest.raises(InvalidInput, match="2 to 200 parties; this one has 10,000"):
        imported("a.toml", text.encode(), first_scene())


@pytest.mark.parametrize("key", ["theta", "c", "tol", "max_iter", "seed"])
def test_numbers_that_cannot_be_told_get_a_sentence(key):
    text = "[network]\ngenerator = 'ring'\n[cost]\ntype = 'averaging'\nvalues = [1, 2, 4]\n[pdmm]\n"
    with pytest.raises(InvalidInput, match="beyond 64 bits"):
        imported("a.toml", f"{text}{key} = 0x{'f' * 10_000}\n".encode(), first_scene())


def test_a_graph_with_numbers_beyond_all_bounds_gets_a_sentence():
    networkx = pytest.importorskip("networkx")
    graph = networkx.path_graph(3)
    networkx.set_node_attributes(graph, 7, "number")
    text = "\n".join(networkx.generate_graphml(graph)).replace(">7<", f">{'9' * 400}<")
    with pytest.raises(InvalidInput):
        imported("a.graphml", text.encode(), first_scene())
