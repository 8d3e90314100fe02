"""A party whose own policy refuses: nothing of its data travels, all others learn that it refuses, and nobody why."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from runtime.leavers import Stage
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli.app import app
from sottovoce.errors import InvalidFile, PeerError, PolicyError
from sottovoce.runtime.plan.node_file import read_node_file
from sottovoce.runtime.plan.own_policy import admitted, foreseen
from sottovoce.runtime.protocol.frames import Goodbye, Hello, Opening, decode
from sottovoce.runtime.protocol.refusing import farewell, refusal
from sottovoce.statistics.policy.ledger import Ledger

PATH = [(0, 1), (1, 2), (2, 3)]
RULES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "min_rows": lambda folder: {"min_rows": 100},
    "rows_per_parameter": lambda folder: {"rows_per_parameter": 50},
    "columns": lambda folder: {"columns": ["a", "b"]},
    "analyses": lambda folder: {"analyses": ["histogram", "least_squares"]},
    "ledger": lambda folder: {"ledger": folder / "ledger.sqlite", "min_cell": 5},
    "damaged": lambda folder: {"ledger": _damaged(folder / "ledger.sqlite")},
}


def _damaged(path: Path) -> Path:
    path.write_bytes(b"not a ledger" * 1000)
    return path


def network() -> sv.Network:
    return sv.Network.from_edges(4, PATH)


class Overheard:
    """What one party sends, but for what is drawn at random."""

    def __init__(self, party: str) -> None:
        self.party, self.said = party, []

    def __call__(self, sender: str, receiver: str, frame: bytes) -> list[tuple[float, bytes]]:
        if sender == self.party:
            body = decode(frame)
            if isinstance(body, Opening):
                body = len(body.nonce)
            elif isinstance(body, Hello):
                body = body._replace(offer=bytes(len(body.offer)), signature=b"", known=bytes(len(body.known)))
            self.said.append((asyncio.get_running_loop().time(), receiver, body))
        return [(0.0, frame)]


async def start(stage: Stage) -> None:
    stage.start()


def refused(stage: Stage, policy: sv.Policy) -> list[Any]:
    """What p1 sends if it has this policy; all begin anew."""
    for config in stage.configs.values():
        config.journal.unlink(missing_ok=True)
    stage.faults = overheard = Overheard("p1")
    stage.configs["p1"] = replace(stage.configs["p1"], policy=policy)
    stage.tasks.clear()
    stage.refused.clear()

    async def plot(stage: Stage) -> None:
        began = asyncio.get_running_loop().time()
        stage.start()
        await asyncio.gather(*stage.tasks.values(), return_exceptions=True)
        assert asyncio.get_running_loop().time() - began < 10  # seconds: nobody stays once all have heard it

    assert stage.play(plot) == {}
    return overheard.said


def test_all_learn_that_it_refuses_and_nobody_why(tmp_path: Path) -> None:
    said, reasons, stage = {}, set(), Stage(tmp_path / "run", network(), rows=4)
    for name, rules in RULES.items():
        said[name] = refused(stage, sv.Policy(**rules(tmp_path)))
        own = stage.refused.pop("p1")
        assert isinstance(own, PolicyError)
        reasons.add(str(own))
        assert str(own).startswith(f"{name}: ") or "the ledger is damaged" in str(own)
        for who, error in stage.refused.items():
            assert isinstance(error, PeerError)
            far = "p2 says that " if who == "p3" else ""
            assert str(error).startswith(f"{far}p1 refuses to take part in this run; why, it tells nobody.")
            assert not any(word in str(error) for word in ("rows", "ledger", "column"))
        assert sorted(stage.refused) == ["p0", "p2", "p3"]
    assert len(reasons) == len(RULES)
    first, *others = said.values()
    assert all(other == first for other in others)  # to the byte and the moment, but for keys and nonces
    assert {type(body) for _, _, body in first} == {int, Hello, Goodbye}  # no pads, no values
    assert [body for _, _, body in first if isinstance(body, Goodbye)] == [Goodbye("p1 refuses to take part")] * 2


def test_allowed(tmp_path: Path) -> None:
    answers = {}
    for name in ("without", "with"):
        stage = Stage(tmp_path / name[-4:], network(), rows=4)
        if name == "with":
            rules = sv.Policy(min_rows=4, ledger=tmp_path / "ledger.sqlite", columns=["a", "b", "y"])
            stage.configs["p1"] = replace(stage.configs["p1"], policy=rules)
        answers[name] = stage.play(start)
    means = [answers[name]["p0"]["answer"]["mean"] for name in answers]
    assert means[0] == pytest.approx(means[1], abs=1e-9)  # two runs, each to 1e-10
    assert answers["without"]["p1"]["disclosure"]["ledger"] is None
    assert "release 1 of the ledger" in answers["with"]["p1"]["disclosure"]["ledger"]
    assert answers["with"]["p0"]["disclosure"]["ledger"] is None
    config = stage.configs["p1"]
    (entry,) = Ledger(tmp_path / "ledger.sqlite").entries()
    assert (entry["run"], entry["hash"], entry["rows"]) == ("trial", config.run_hash.hex(), 4)


def test_once_the_policy_is_mended_the_same_run_goes_on(tmp_path: Path) -> None:
    """Nothing was sent that hangs on data, and keys are kept."""
    stage = Stage(tmp_path, network(), rows=4)
    allowed = stage.configs["p1"]
    stage.configs["p1"] = replace(allowed, policy=sv.Policy(min_rows=5))

    async def plot(stage: Stage) -> None:
        stage.start()
        ended = await asyncio.gather(*stage.tasks.values(), return_exceptions=True)
        assert all(isinstance(how, PolicyError | PeerError) for how in ended)
        stage.configs["p1"] = replace(allowed, policy=sv.Policy(min_rows=4))
        stage.start()

    stage.trial.check(type("Results", (), {"results": lambda _: stage.play(plot), "names": sorted(stage.configs)})())


def test_whose_refusal_is_believed() -> None:
    parties = ("ann", "bob", "cat")
    found = refusal(farewell("bob"), "bob", parties)
    assert found is not None
    assert str(found).startswith("bob refuses to take part")
    assert found.farewell == "bob refuses to take part"
    assert str(refusal(farewell("cat"), "bob", parties)).startswith("bob says that cat refuses")
    for reason in (farewell("mallory"), "finished", "refuses to take part", ""):
        assert refusal(reason, "bob", parties) is None


@pytest.mark.parametrize(("kind", "columns", "numbers"), [("lasso", {"a", "y"}, 1), ("averaging", {"a", "b", "y"}, 3)])
def test_a_cost_is_under_the_policy_too(tmp_path: Path, kind: str, columns: set[str], numbers: int) -> None:
    config = Stage(tmp_path, sv.Network.complete(2), kind, rows=4).configs["p0"]

    def asked(**rules: Any) -> str | None:
        return foreseen(replace(config, policy=sv.Policy(**rules)), config.own_data())

    assert asked(min_rows=4, columns=columns, analyses=[kind], rows_per_parameter=4 / numbers) is None
    assert "It is release 1" in str(asked(ledger=tmp_path / "ledger.sqlite"))
    for rules in ({"min_rows": 5}, {"columns": columns - {"y"}}, {"analyses": ["mean"]}, {"rows_per_parameter": 4.5}):
        with pytest.raises(PolicyError, match=f"^{next(iter(rules))}: "):
            asked(**rules)


def test_what_a_ledger_shows(tmp_path: Path) -> None:
    config = Stage(tmp_path, sv.Network.complete(2), rows=4).configs["p0"]
    shown = partial(CliRunner().invoke, app)
    assert "names no ledger" in shown(["ledger", str(config.path)]).stderr
    config.path.write_text(f'{config.path.read_text()}\n[policy]\nledger = "ledger.sqlite"\n')
    config = read_node_file(config.path)
    assert shown(["ledger", str(config.path)]).stdout == "Nothing was released yet.\n"
    admitted(config, config.own_data())
    told = shown(["ledger", str(config.path)]).stdout
    assert all(word in told for word in ("trial", "mean", "a, b, y", "4"))
    (entry,) = json.loads(shown(["ledger", str(config.path), "--json"]).stdout)["releases"]
    assert (entry["hash"], entry["rows"]) == (config.run_hash.hex(), 4)
    _damaged(config.path.parent / "ledger.sqlite")
    done = shown(["ledger", str(config.path)])
    assert (done.exit_code, "the ledger is damaged" in done.stderr) == (3, True)


# The node file


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("min_row = 5", "[policy] min_row is not a known key; did you mean 'min_rows'?"),
        ("min_rows = 0", "[policy] min_rows must be an integer >= 1, or left out; got 0."),
        ("max_runs = 5", "[policy] max_runs needs a ledger, which is a file. Add it."),
        ('analyses = ["meen"]', "[policy] analyses has 'meen', which is none; did you mean 'mean'?"),
        ('ledger = "away/ledger.sqlite"', "its folder does not exist. Make it first."),
        ('ledger = "journal.sqlite"', "[policy] ledger and journal are the same file. Name another."),
        ("columns = 3", "[policy] columns must be a list of names"),
    ],
)
def test_what_cannot_be_a_policy(tmp_path: Path, text: str, sentence: str) -> None:
    stage = Stage(tmp_path, sv.Network.complete(2))
    path = stage.configs["p0"].path
    path.write_text(f"{path.read_text()}\n[policy]\n{text}\n")
    with pytest.raises(InvalidFile) as error:
        read_node_file(path)
    assert sentence in str(error.value)


def test_a_policy_is_in_no_hash(tmp_path: Path) -> None:
    config = Stage(tmp_path, sv.Network.complete(2)).configs["p0"]
    config.path.write_text(f'{config.path.read_text()}\n[policy]\nmin_rows = 7\nledger = "ledger.sqlite"\nid = "a"\n')
    other = read_node_file(config.path)
    assert other.policy == sv.Policy(min_rows=7, ledger=config.path.parent / "ledger.sqlite", id="a")
    assert other.run_hash == config.run_hash
