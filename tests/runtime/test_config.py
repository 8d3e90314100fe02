"""Node files: what they say, that equal runs have equal parameters, and a sentence for every mistake."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from sottovoce.errors import BadlyHidden, InvalidInput
from sottovoce.pdmm.masks import GaussianMask
from sottovoce.runtime.keys import identity
from sottovoce.runtime.keys.identity import Identity
from sottovoce.runtime.plan import node_file as config_module
from sottovoce.runtime.plan.node_file import NodeConfig, read_node_file
from sottovoce.runtime.plan.own_data import OwnTable
from sottovoce.runtime.plan.routes import KEYS
from sottovoce.runtime.protocol.link import canonical
from sottovoce.runtime.protocol.route import Route

HEAD = """[party]
name = "ann"
listen = "0.0.0.0:7403"

[run]
name = "trial"
id = "00112233445566778899aabbccddeeff"
parties = ["bob", "cat", "ann", "dan"]
c = 0.4
edges = [["bob", "cat"], ["bob", "ann"], ["cat", "ann"], ["bob", LAST]]
keys = KEYS
"""
EDGES = 'edges = [["bob", "cat"], ["bob", "ann"], ["cat", "ann"], ["bob", LAST]]\n'
OVER = """overlay = [["ann", "cat"], ["bob", "ann"], ["dan", "bob"]]
fallback = { after = 30.0, c = 0.3, theta = 0.8 }
"""
STATISTIC = """
[run.statistic]
type = "linear"
features = ["age", "bmi"]
target = "risk"
"""
COST = """
[run.cost]
type = "lasso"
features = ["age", "bmi"]
target = "risk"
l1 = 2
"""


def neighbour(party: Identity, port: int) -> str:
    return f"""
[[neighbour]]
name = "{party.name}"
address = "10.0.0.1:{port}"
fingerprint = "{party.fingerprint}"
certificate = \"\"\"
{party.certificate}\"\"\"
"""


Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, identities: dict[str, Identity]) -> Write:
    """Writes a node file of ann, with ``old`` replaced by ``new``, and all that it needs beside it."""
    identity.create(tmp_path / "identity", "ann")
    (tmp_path / "data.csv").write_text("risk,age,bmi\n1.5,50,25\n2.5,60,30\n")
    known = neighbour(identities["bob"], 7401) + neighbour(identities["cat"], 7402)
    parties = identities["bob"], identities["cat"], identity.load(tmp_path / "identity"), identities["mallory"]
    keys = [identity.public_key(party.certificate) for party in parties]  # who Dan is, nobody here knows

    def made(old: str = "", new: str = "", about: str = STATISTIC) -> Path:
        text = HEAD + about + known
        if old:
            assert text.count(old) >= 1, old
            text = text.replace(old, new, 1)
        last = re.search(r'("[^"]*")\]', text)  # of the parties
        text = text.replace("LAST", last[1] if last else '"dan"')
        (tmp_path / "node.toml").write_text(text.replace("KEYS", str(keys)))  # last: they are random
        return tmp_path / "node.toml"

    return made


def read(write: Write, *arguments: str) -> NodeConfig:
    return read_node_file(write(*arguments))


def test_what_a_node_file_says(write, identities):
    config = read(write)
    assert (config.name, config.index, config.parties, config.wake) == ("ann", 2, 4, "eager")
    assert (config.channels, config.route.theta, config.tol, config.route.penalty) == ("encrypted", 0.8, 1e-10, 0.4)
    assert (config.record, config.metrics) == (None, None)
    folder = config.path.parent
    assert [config.data, config.journal, config.result] == [
        folder / name for name in ("data.csv", "journal.sqlite", "result.json")
    ]
    assert config.socket == folder / "journal.sqlite.sock"
    assert [(other.name, other.index, other.address) for other in config.neighbours] == [
        ("bob", 0, "10.0.0.1:7401"),
        ("cat", 1, "10.0.0.1:7402"),
    ]
    assert config.neighbours[0].certificate == identities["bob"].certificate  # to the byte: it is pinned
    np.testing.assert_array_equal(config.rows(), [[1.5, 50, 25], [2.5, 60, 30]])  # as the formula names them
    noticed = config.data_bytes()
    assert noticed == read(write).data_bytes()
    config.data.write_text("risk,age,bmi\n1.5,50,25\n2.5,60,31\n")
    assert noticed != read(write).data_bytes()


def test_what_may_be_added(write):
    added = 'listen = "[::]:7403"\nwake = 20\nrecord = "trace.jsonl"\nmetrics = "127.0.0.1:9403"\ndelimiter = ";"'
    config = read(write, 'listen = "0.0.0.0:7403"', added)
    assert (config.listen, config.wake, config.metrics) == ("[::]:7403", 20.0, "127.0.0.1:9403")
    assert config.record == config.path.parent / "trace.jsonl"
    config.data.write_text("risk;age;bmi\n1,5;50;25\n".replace("1,5", "1.5"))
    np.testing.assert_array_equal(config.rows(), [[1.5, 50, 25]])


def test_a_cost_of_the_library(write):
    config = read(write, "", "", COST)
    own = config.cost()
    assert own.kind == "lasso"
    np.testing.assert_allclose(own.cost.l1, 2 / 4)  # this party's share of the penalty
    x = np.array([[1.0, 2.0]])
    rows = np.array([[50.0, 25.0], [60.0, 30.0]])
    expected = ((rows @ x[0] - [1.5, 2.5]) ** 2).sum() + 0.5 * 3.0
    np.testing.assert_allclose(own.cost.value(x), expected, rtol=1e-12)  # a handful of roundings
    assert config.question.mask == GaussianMask(1e8)
    assert config.parameters()["cost"]["l1"] == 2.0


def test_parameters_are_the_run_and_nothing_of_the_party(write):
    config = read(write)
    assert config.parameters() == {
        "name": "trial",
        "id": "00112233445566778899aabbccddeeff",
        "parties": ["bob", "cat", "ann", "dan"],
        "keys": list(config.keys),
        "channels": "encrypted",
        "c": 0.4,
        "edges": [["bob", "cat"], ["bob", "ann"], ["bob", "dan"], ["cat", "ann"]],
        "theta": 0.8,
        "tol": 1e-10,
        "statistic": {
            "type": "linear",
            "formula": "risk ~ age + bmi",
            "missing": "raise",
            "empty_levels": "keep",
            "digits": "full",
            "least_rows": 1,
        },
    }


def test_messages_may_use_fewer_edges(write):
    whole = read(write)
    assert whole.edges == whole.route.edges == ((0, 1), (0, 2), (0, 3), (1, 2))
    assert (whole.fallback_route, whole.route.is_tree) == (None, False)
    config = read(write, "c = 0.4\n" + EDGES, "theta = 1\nc = [6, 2, 4]\n" + EDGES + OVER)
    assert config.route == Route(((0, 2), (0, 3), (1, 2)), (2.0, 4.0, 6.0), 1.0)  # c in the order of overlay
    assert (config.edges, config.route.is_tree, config.fallback_after) == (whole.edges, True, 30.0)
    assert config.fallback_route == Route(config.edges, (0.3,) * 4, 0.8)
    assert {key: config.parameters()[key] for key in KEYS} == {
        "c": [2.0, 4.0, 6.0],
        "theta": 1.0,
        "edges": [["bob", "cat"], ["bob", "ann"], ["bob", "dan"], ["cat", "ann"]],
        "overlay": [["bob", "ann"], ["bob", "dan"], ["cat", "ann"]],
        "fallback": {"after": 30.0, "c": 0.3, "theta": 0.8},
    }


@pytest.mark.parametrize(
    ("old", "new", "about"),
    [
        ("c = 0.4", "c = 4e-1\ntheta = 8e-1\ntol = 1e-10", STATISTIC),
        ('target = "risk"', 'target = "risk"\nintercept = true\nmissing = "raise"\nleast_rows = 1', STATISTIC),
        ('features = ["age", "bmi"]\ntarget = "risk"', 'formula = "risk ~ age + bmi"', STATISTIC),
        ("l1 = 2", "l1 = 2\nmask = { variance = 100000000 }", COST),
        ("l1 = 2", "l1 = 2.0", COST),
        ("l1 = 2", "l1 = 2\nscale = { bmi = 1 }\nintercept = false\nmask = { variance = 1e8 }", COST),
    ],
)
def test_equal_runs_have_equal_parameters(write, old, new, about):
    assert repr(read(write, "", "", about).parameters()) == repr(read(write, old, new, about).parameters())


@pytest.mark.parametrize(
    ("old", "new", "about"),
    [
        ("c = 0.4", "c = 0.5", STATISTIC),
        ('["bob", LAST]', '["cat", LAST]', STATISTIC),
        (EDGES, EDGES + OVER, STATISTIC),
        ('"ann", "dan"', '"ann", "eve"', STATISTIC),
        ("aabb", "aabc", STATISTIC),
        ('"age", "bmi"', '"bmi", "age"', STATISTIC),
        ('"risk"', '"risk"\nintercept = false', STATISTIC),
        ('"risk"', '"risk"\nleast_rows = 2', STATISTIC),
        ("l1 = 2", "l1 = 2\nmask = { variance = 2e8 }", COST),
        ("c = 0.4", 'c = 0.4\nchannels = "open"', STATISTIC),
        ("l1 = 2", "l1 = 3", COST),
        ("l1 = 2", "l1 = 2\nintercept = true", COST),
    ],
)
def test_other_runs_have_other_parameters(write, old, new, about):
    assert read(write, "", "", about).parameters() != read(write, old, new, about).parameters()


MISTAKES = {
    # [party]
    "unknown key": ("listen = ", "lisen = ", "line 3: [party] lisen is not a known key; did you mean 'listen'?"),
    "an index": ('"ann"\n', '"ann"\nindex = 2\n', "line 3: [party] index is not a known key"),
    "unknown table": ("[party]", "[partie]\n[party]", "line 1: [partie] is not a known table; did you mean 'party'?"),
    "no name": ('name = "ann"\n', "", "[party] name is missing"),
    "bad name": ('"ann"', '"ann smith"', "line 2: [party] name cannot be used: a party's name must be 1 to 64 of"),
    "long name": ('"ann"', '"' + 65 * "a" + '"', "line 2: [party] name cannot be used"),
    "stranger": ('"cat", "ann", "dan"', '"cat", "dan"', "[party] name = 'ann' is none of the parties of the run: bob,"),
    "no port": ('"0.0.0.0:7403"', '"0.0.0.0"', "line 3: [party] listen must be host:port"),
    "port": (":7403", ":74030", "line 3: [party] listen = '0.0.0.0:74030': a port is one of 1 .. 65535."),
    "port 0": (":7403", ":0", "line 3: [party] listen = '0.0.0.0:0': a port is one of 1 .. 65535."),
    "IPv6": ("0.0.0.0:7403", "::1:7403", "line 3: [party] listen must be host:port"),
    "no identity": ('"ann"', '"ann"\nidentity = "keys"', "line 3: [party] identity cannot be used"),
    "no data": ('"ann"', '"ann"\ndata = "rows.csv"', "rows.csv': there is no such file."),
    "no folder": ('"ann"', '"ann"\njournal = "var/j.sqlite"', "j.sqlite': its folder does not exist."),
    "a folder": ('"ann"', '"ann"\nresult = "identity"', "identity' is a folder; name a file."),
    "over the data": ('"ann"', '"ann"\nresult = "data.csv"', "[party] result and data are the same file."),
    "twice": ('"ann"', '"ann"\nrecord = "result.json"', "[party] record and result are the same file."),
    "wake": ('"ann"', '"ann"\nwake = 0', 'line 3: [party] wake must be "eager", "turns", or a positive number'),
    "pace": ('"ann"', '"ann"\npace = 0', "line 3: [party] pace must be a positive number of seconds; got 0"),
    "wake word": ('"ann"', '"ann"\nwake = "often"', "line 3: [party] wake must be \"eager\""),
    "metrics": ('"ann"', '"ann"\nmetrics = "9403"', "line 3: [party] metrics must be host:port"),
    "delimiter": ('"ann"', '"ann"\ndelimiter = "ab"', "line 3: [party] delimiter must be one character"),
    # [run]
    "no run": ('[run]\nname = "trial"\n', "[run]\n", "[run] name is missing"),
    "unknown in run": ("c = 0.4", "c = 0.4\ntheeta = 1", "[run] theeta is not a known key; did you mean 'theta'?"),
    "no c": ("c = 0.4", "", "[run] c is missing: a positive number, or one for each edge."),
    "c": ("c = 0.4", "c = 0", "line 9: [run] c must be a positive number; got 0."),
    "c word": ("c = 0.4", 'c = "auto"', "line 9: [run] c must be a number"),
    "theta": ("c = 0.4", "c = 0.4\ntheta = 1.3", "line 10: [run] theta must be in (0, 1]; got 1.3. Use 1 for PDMM"),
    "tol": ("c = 0.4", "c = 0.4\ntol = 0.0", "line 10: [run] tol must be a number between 0 and 1"),
    "channels": ("c = 0.4", 'c = 1\nchannels = "opne"', "channels = 'opne' is not known; did you mean 'open'?"),
    "id": ("aabb", "AABB", "line 7: [run] id must be 32 of the digits 0-9 a-f"),
    "no id": ("id =", "ident =", "line 7: [run] ident is not a known key"),
    "parties": ('["bob", "cat", "ann", "dan"]', "4", "line 8: [run] parties must be a list of names"),
    "one party": ('"bob", "cat", "ann", "dan"', '"ann"', "line 8: [run] parties must be 2 to 65,536 names; got 1."),
    "party twice": ('"ann", "dan"', '"ann", "cat"', "line 8: [run] parties names 'cat' twice."),
    "party name": ('"dan"]', '"da n"]', "line 8: [run] parties cannot be used: a party's name must be"),
    "c of edges": ("c = 0.4", "c = [0.4, 1]", "line 9: [run] c has 2 numbers, and messages go over 4 edges: give"),
    "sign of c": ("c = 0.4", "c = [0.4, 1, 2, -1]", "line 9: [run] c must be a positive number; got -1."),
    "no edges": ("edges =", "# edges =", "[run] edges is missing: all pairs of parties that talk."),
    "no pairs": ('["bob", LAST]', '"bob"', "line 10: [run] edges must have pairs of names such as"),
    "no list": (EDGES, "edges = 4\n", "line 10: [run] edges must be a list of pairs of names such as"),
    "edge of nobody": ('["bob", LAST]', '["bob", "eve"]', "line 10: [run] edges names 'eve', which is none of the"),
    "loop": ('["bob", LAST]', '["bob", "bob"]', "line 10: [run] edges joins bob to itself."),
    "edge twice": ('["bob", LAST]', '["ann", "bob"]', "line 10: [run] edges has the edge bob - ann twice."),
    "nobody's edge": (', ["bob", LAST]', "", "line 10: [run] edges does not connect all parties: there is no way"),
    "no such edge": (EDGES, EDGES + OVER.replace("cat", "dan"), "overlay has the edge ann - dan, which the"),
    "overlay apart": (EDGES, EDGES + OVER.replace('["bob", "ann"], ', ""), "overlay does not connect all parties"),
    "no fallback": (EDGES, EDGES + OVER.partition("\n")[0] + "\n", "[run] fallback must be there beside overlay, as {"),
    "fallback alone": (EDGES, EDGES + OVER.partition("\n")[2], "[run] fallback has no meaning without overlay"),
    "fallback after": (EDGES, EDGES + OVER.replace("30.0", "0"), "after must be a positive number of seconds; got 0."),
    "fallback c": (EDGES, EDGES + OVER.replace("c = 0.3", "c = [1, 2]"), "c has 2 numbers, and messages go over 4"),
    "fallback theta": (EDGES, EDGES + OVER.replace("0.8", "2"), "[run.fallback] theta must be in (0, 1]; got 2."),
    "missing neighbour": ('["cat", "ann"], ', "", "there is a [[neighbour]] cat, but [run] edges has no edge to it."),
    "more neighbours": ('["bob", LAST]', '["ann", LAST]', "edges has an edge to dan, but it is no [[neighbour]]."),
    "run name": ('"trial"', '"a\\u0007b"', "line 6: [run] name must be at most 128 printable characters"),
    # What it is about
    "nothing": (STATISTIC, "", "give one of [run.statistic] and [run.cost]"),
    "both": ("[run.statistic]", "[run.cost]\n[run.statistic]", "give one of [run.statistic] and [run.cost]"),
    "no table": (STATISTIC, "statistic = 3\n", "run.statistic must be a table"),
    "type": ('"linear"', '"regression"', "[run.statistic] type = 'regression' is not known"),
    "target": ('target = "risk"', 'target = "age"', "[run.statistic] features contains the target 'age'."),
    "statistic key": ('"risk"', '"risk"\nrobsut = 1', "robsut is not a known key; did you mean 'robust'?"),
    "an older name": ('"linear"', '"least_squares"', "type = 'least_squares' is one with \"linear\""),
    "variance": ('"risk"', '"risk"\nvariance = 1e6', "[run.statistic] variance is gone: sums are exact"),
    "scale": ('"risk"', '"risk"\nscale = { age = 1 }', "[run.statistic] scale is gone: sums are exact"),
    "mask": ('"risk"', '"risk"\nmask = { variance = 1e6 }', "[run.statistic] takes no [mask]: sums are exact"),
    "mask table": ('"risk"', '"risk"\nmask = 1e6', "run.statistic.mask must be a table"),
    # [[neighbour]]
    "same name": ('name = "cat"', 'name = "bob"', "[[neighbour]] number 2 name = 'bob' is that of an earlier"),
    "not in the run": ('name = "cat"', 'name = "eve"', "[[neighbour]] number 2 name = 'eve' is none of the parties"),
    "own name": ('name = "bob"', 'name = "ann"', "[[neighbour]] number 1 name = 'ann' is this party's own"),
    "other name": ('name = "bob"', 'name = "dan"', "the certificate of dan is for the name 'bob'; ask"),
    "address": ("10.0.0.1:7402", "10.0.0.1:7401", "[[neighbour]] number 2 address = '10.0.0.1:7401' is that of an"),
    "no address": ('"10.0.0.1:7401"', '"http://x:1"', "[[neighbour]] number 1 address must be host:port"),
    "fingerprint": ("SHA256:", "SHA256:00", "the certificate of bob has the fingerprint SHA256:"),
    "not PEM": ("-----BEGIN CERTIFICATE-----", "", "the certificate of bob is not one P-256 certificate in PEM"),
    "neighbour key": ('address = "10.0.0.1:7401"', 'adress = ""', "adress is not a known key; did you mean 'address'?"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_every_mistake_gets_its_sentence(write, mistake):
    old, new, sentence = MISTAKES[mistake]
    with pytest.raises(InvalidInput) as refused:
        read(write, old, new)
    assert sentence in str(refused.value)
    assert "node.toml" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('type = "lasso"', 'type = "least_squares"', "The statistic of that name is exact and does not."),
        ("l1 = 2", 'l1 = 2\nfile = "data.csv"', "[run.cost] file is not a known key"),
        ("l1 = 2", "l1 = -2", "[run.cost] l1 must be a number >= 0; got -2."),
        ("l1 = 2", "", "[run.cost] l1 is missing."),
        ("l1 = 2", "l1 = 2\nmask = { bits = 46 }", "bits are for the counts of a histogram."),
        (
            "l1 = 2",
            "l1 = 2\nmask = { variance = -1.0 }",
            "[run.cost.mask] variance must be a positive number; got -1.0.",
        ),
        ("l1 = 2", "l1 = 2\nmask = { varianse = 1e6 }", "[run.cost.mask] varianse is not a known key"),
        ("l1 = 2", "l1 = 2\nmask = { variance = 1e6, bits = 46 }", "must have one of variance, for real numbers, and"),
    ],
)
def test_mistakes_in_a_cost(write, old, new, sentence):
    with pytest.raises(InvalidInput, match=re.escape(sentence)):
        read(write, old, new, COST)


def test_no_neighbour_at_all(write):
    path = write()
    path.write_text(path.read_text().split("[[neighbour]]")[0])
    with pytest.raises(InvalidInput, match=r"there is no \[\[neighbour\]\]; a party must have at least one"):
        read_node_file(path)
    path.write_text(path.read_text() + "[neighbour]\n")
    with pytest.raises(InvalidInput, match=r"neighbour must be tables: start each with \[\[neighbour\]\]"):
        read_node_file(path)


def test_ones_own_certificate_must_have_ones_name(write):
    with pytest.raises(InvalidInput, match=r"identity = '.*' is that of 'ann', but name is 'dan'. They must agree"):
        read(write, 'name = "ann"', 'name = "dan"')


def test_ones_own_certificate_must_be_valid(write, tmp_path):
    identity.create(tmp_path / "old", "ann", days=1, now=datetime.now(UTC) - timedelta(days=9))
    with pytest.raises(InvalidInput, match=r"\[party\] identity cannot be used: the certificate of ann expired on"):
        read(write, '"ann"', '"ann"\nidentity = "old"')


def test_keys_are_those_of_the_certificates(write, tmp_path):
    """By them everybody checks what anybody signs; all parties compare them."""
    keys = read(write).parameters()["keys"]

    def of(*others: str) -> NodeConfig:
        return read(write, "KEYS", str(list(others)))

    assert of(*keys).keys == tuple(keys)
    with pytest.raises(InvalidInput, match=r"\[run\] keys is missing: the public keys of all parties. sottovoce plan"):
        read(write, "keys = KEYS", "")
    with pytest.raises(InvalidInput, match="must be one for each of the 4 parties; got 3"):
        of(*keys[:3])
    with pytest.raises(InvalidInput, match=f"keys names '{keys[0]}' twice"):
        of(*keys[:3], keys[0])
    another = identity.public_key(identity.create(tmp_path / "another", "dan").certificate)
    of(*keys[:3], another)
    for i, name in ((1, "cat"), (2, "ann")):
        with pytest.raises(InvalidInput, match=f"keys has {another} for {name}, but {keys[i]} is the one of its"):
            of(*keys[:i], another, *keys[i + 1 :])


def test_a_run_fits_into_a_hello(write, monkeypatch):
    fits = len(canonical(read(write).parameters()))
    monkeypatch.setattr(config_module, "MAX_PARAMETERS", fits)
    read(write, '"dan"', '"eve"')
    with pytest.raises(InvalidInput, match=f"takes {fits + 2} bytes; {fits} fit in one hello, and no more is allowed"):
        read(write, '"dan"', '"dana"')


@pytest.mark.parametrize("key", ["x", "04" + 64 * "1", "02" + 64 * "f", "02" + 62 * "1", "02" + 63 * "1" + "A"])
def test_keys_are_points_of_the_curve(write, key):
    keys = read(write).parameters()["keys"]
    with pytest.raises(InvalidInput, match="keys cannot be used: a public key must be a compressed point of P-256"):
        read(write, "KEYS", str([*keys[:3], key]))


def test_a_key_that_others_can_read_is_refused(write, tmp_path):
    path = write()
    os.chmod(tmp_path / "identity" / "key.pem", 0o644)
    with pytest.raises(InvalidInput, match="chmod 600"):
        read_node_file(path)


def test_the_path_of_the_status_socket_has_a_limit(write, tmp_path):
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    with pytest.raises(InvalidInput, match="the socket beside it may have a path of 107 bytes"):
        read(write, '"ann"', f'"ann"\njournal = "{deep.name}/j"')


def test_data_with_a_mistake_are_refused_when_they_are_read(write):
    config = read(write)
    config.data.write_text("risk,age\n1,2\n")
    with pytest.raises(InvalidInput, match="has no column 'bmi'"):
        config.rows()
    config.data.unlink()
    with pytest.raises(InvalidInput, match=r"data\.csv does not exist"):
        config.data_bytes()


# What data alone decide


def with_lines(more: str, about: str = STATISTIC) -> tuple[str, str, str]:
    return "type =", f"{more}type =", about


def test_fewer_rows_than_everybody_must_have_are_refused_before_the_run(write):
    """With the file, the limit and what to do, and without a word about the data."""
    assert isinstance(read(write, *with_lines("least_rows = 2\n")).own_data(), OwnTable)
    with pytest.raises(InvalidInput) as refused:
        read(write, *with_lines("least_rows = 3\n")).own_data()
    told = str(refused.value)
    assert "data.csv: there are fewer rows than each party must have in this run, least_rows = 3." in told
    assert "agree on a new run" in told
    for number in ("50", "60", "55", "25", "30", "1.5", "2.5", "2."):
        assert number not in told.split("data.csv: ")[1]


def test_a_cost_that_a_run_is_not_meant_for(write):
    config = read(write, *with_lines("", COST))
    assert config.parameters()["cost"]["size"] == 100.0  # a hundredth of the default mask's sigma
    with pytest.raises(InvalidInput, match=r"data\.csv: the data are larger than this run hides: .* 2 size = 200\."):
        config.own_data()
    read(write, *with_lines("size = 1000\n", COST)).own_data()


@pytest.mark.parametrize("size", ["0", "-1", "inf", '"4"', "1e31"])
def test_sizes_that_cannot_be(write, size):
    with pytest.raises(InvalidInput, match=r"\[run.cost\] size must be a"):
        read(write, *with_lines(f"size = {size}\n", COST))
    with pytest.raises(InvalidInput, match=r"\[run.statistic\] least_rows must be a whole number >= 1; got 0"):
        read(write, *with_lines("least_rows = 0\n"))
    with pytest.raises(InvalidInput, match=r"\[run.cost\] least_rows is not a known key"):
        read(write, *with_lines("least_rows = 2\n", COST))


def test_a_mask_that_is_smaller_than_what_it_hides(write):
    """Public numbers: every party is told the same."""

    def under(variance: float) -> NodeConfig:
        return read(write, "l1 = 2", f"l1 = 2\nsize = 4000\nmask = {{ variance = {variance} }}", COST)

    with pytest.warns(BadlyHidden, match="hidden badly in this run: the mask's sigma = 3 is smaller .* size = 4000"):
        under(9.0).own_data()
    under(4e8).own_data()  # which would fail by a warning


# What a party says of its data


def cost(kind: str, more: str = "") -> str:
    explained = 'features = ["age"]\ntarget = "risk"' if "target" in more else 'columns = ["age", "risk"]'
    return f'\n[run.cost]\ntype = "{kind}"\n{explained}\n' + more.replace("target", "")


SECRET = "7654321"
MANY = "\n".join([f"{SECRET},{SECRET}1"] * 37)


@pytest.mark.parametrize(
    ("about", "rows"),
    [
        (STATISTIC, f"{SECRET}x,1,1"),
        (STATISTIC, f"1,{SECRET},1,2"),
        (STATISTIC, f'1,"{SECRET}"{SECRET},1'),
        (STATISTIC, f"1,{SECRET}e999,1"),
        (STATISTIC, f"{SECRET}\n1,1,1"),
        (cost("averaging"), f"{SECRET},{SECRET}"),
        (cost("averaging"), MANY),
        (cost("averaging"), f"{SECRET}e200,{SECRET}e200\n{SECRET}e200,1"),
        (cost("huber"), MANY),
        (cost("huber"), f"{SECRET},{SECRET}"),
        (cost("absolute_deviation"), f"{SECRET},{SECRET}"),
        (cost("lasso", "target l1 = 1\n"), MANY),
        (cost("lasso", "target l1 = 1\n"), f"{SECRET}e200,{SECRET}e200\n{SECRET}e200,1"),
        (cost("elastic_net", "target l1 = 1\nl2 = 1\n"), MANY),
        (cost("logistic", "target"), f"{SECRET},{SECRET}"),
        (cost("logistic", "target"), f"1,{SECRET}\n0,{SECRET}"),
        (cost("hinge", "target"), f"1,{SECRET}\n-1,{SECRET}"),
    ],
)
def test_no_refusal_quotes_data(write, about, rows):
    """Neither a number nor how many rows there are: what a party says goes to a log."""
    config = read(write, "", "", about)
    config.data.write_text(("risk,age,bmi\n" if about == STATISTIC else "risk,age\n") + rows + "\n")
    with pytest.raises(InvalidInput) as refused, warnings.catch_warnings(record=True, action="always") as caught:
        config.own_data()
    for said in [str(refused.value), *(str(warning.message) for warning in caught)]:
        said = said.replace(str(config.data.parent), "")
        assert "765" not in said
        assert "37" not in said
        assert "\n" not in said
