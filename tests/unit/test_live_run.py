"""A run watched from outside: statuses that are missing, old or strange, who may kill whom, and what is kept."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli.app import app
from sottovoce.errors import InvalidInput
from sottovoce.network import Network
from sottovoce.runtime import cluster
from sottovoce.runtime.plan.plan import read_plan, write_plan
from sottovoce.studio import live_run
from sottovoce.studio.live import results as live_results
from sottovoce.studio.live.answers import Answer, Pooled, answer_of, numbers, pooled_answer
from sottovoce.studio.live.drawing import SIGNS, busiest, edge, label_places, sign
from sottovoce.studio.live.history import History, Rates
from sottovoce.studio.live.moment import STATES, Moment, Seen, agreement
from sottovoce.studio.live.sentences import event_list, headline, traffic
from sottovoce.studio.live.told import LONGEST, Names, Told, last_sentence, read_result, read_told
from sottovoce.studio.live_run import LiveRun
from sottovoce.studio.making import drawn_numbers, first_scene

ROWS = {"ann": [41.0, 52.0], "bob": [30.0], "cat": [70.0, 20.0, 33.0]}


# Two agreements: on rows with missing values, and on the sums.
MEAN = 'type = "mean"\ncolumns = ["age"]\nmissing = "drop"'


def written(folder: Path, statistic: str = MEAN) -> Path:
    """A trial of three parties in a path."""
    folder.mkdir(exist_ok=True)
    text = f'[run]\nname = "ages"\nc = 1.0\n[network]\nedges = [[0, 1], [1, 2]]\n[statistic]\n{statistic}\n'
    for port, (name, rows) in enumerate(ROWS.items(), start=7401):
        (folder / f"{name}.csv").write_text("age\n" + "".join(f"{row}\n" for row in rows))
        text += f'[[party]]\nname = "{name}"\naddress = "127.0.0.1:{port}"\ndata = "{name}.csv"\n'
    (folder / "plan.toml").write_text(text)
    write_plan(read_plan(folder / "plan.toml"), folder / "trial", generate_keys=True)
    return folder / "trial"


@pytest.fixture(scope="module")
def trial(tmp_path_factory) -> Path:
    return written(tmp_path_factory.mktemp("live"))


@dataclass
class FakeProcess:
    """As ``ForkedParty``; ``signals`` that it was sent."""

    name: str
    code: int | None = None
    signals: list[int] = field(default_factory=list)

    def poll(self) -> int | None:
        return self.code

    def wait(self, timeout: float = 0.0) -> int | None:
        return self.code

    def send_signal(self, number: int) -> None:
        self.signals.append(number)
        self.code = -number

    def terminate(self) -> None:
        self.send_signal(15)

    def kill(self) -> None:
        self.send_signal(9)


@dataclass
class World:
    """Processes and sockets that tests play with: ``answers`` by party, ``started`` in order."""

    answers: dict[str, Any] = field(default_factory=dict)
    started: list[FakeProcess] = field(default_factory=list)
    asked: list[threading.Thread] = field(default_factory=list)

    def ask(self, path: Path, asked: Any = None, timeout: float = 0.0) -> Any:
        answer = self.answers.get(path.parent.name, InvalidInput(f"{path}: nobody answers there."))
        if isinstance(answer, Exception):
            raise answer
        return answer

    def start(self, file: Path, log: Path) -> FakeProcess:
        self.asked.append(threading.current_thread())
        self.started.append(FakeProcess(file.parent.name))
        return self.started[-1]

    def close(self) -> None:
        pass


@pytest.fixture
def world(monkeypatch) -> World:
    world = World()
    monkeypatch.setattr(live_run, "ask", world.ask)
    monkeypatch.setattr(live_run, "LOOK", 0.005)
    monkeypatch.setattr(cluster, "ForkServer", lambda: world)
    return world


def status(name: str, **more: Any) -> dict[str, Any]:
    return {"party": name, "run": "ages", "stage": 0, "done": False, "residual": 1e-3, "tol": 1e-10, **more}


def until(condition: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.005)


def look_again(live: LiveRun) -> None:
    number = live.now.number
    until(lambda: live.now.number > number + 1, "another look")


def states(live: LiveRun) -> list[str]:
    return [live.now.parties[name].state for name in live.names]


# What parties say


def test_a_status_is_believed_as_far_as_it_can_be(trial):
    with_all = status(
        "bob", wakes=7, epoch=2, messages_sent=9, messages_received=8, not_agreed=["cat", "nobody"],
        links={"ann": {"sent": 5, "received": 4}, "cat": {"sent": 4}, "nobody": {"sent": 1, "received": 1}},
        neighbours={"ann": "up", "cat": "down: nobody listens on 127.0.0.1:7403", "nobody": "up"},
        disagreements={"cat": "c is 1"}, missed=["cat"], lost_links=[["bob", "cat"]],
    )  # fmt: skip
    config = LiveRun(trial).cluster.configs["bob"]
    told = read_told(with_all, config, Names(trial, [config]))
    assert (told.stage, told.residual, told.tol, told.wakes, told.epoch) == (0, 1e-3, 1e-10, 7, 2)
    assert told.links == {"ann": (5, 4), "cat": (4, 0)}  # an old party lacks a key, and nobody is no neighbour
    assert told.neighbours == {"ann": "up", "cat": "down: nobody listens on 127.0.0.1:7403"}
    assert told.waits_for == ("cat",)
    assert told.sentences == (
        "dispute with cat: c is 1",
        "misses cat: start it again, also if it has finished",
        "bob does not reach cat",
    )


STRANGE: list[Any] = [
    "text", 7, None, [], {}, {"party": "bob"}, {"party": "eve", "run": "ages"}, {"party": "bob", "run": "another"},
    {"party": ["bob"], "run": {}}, InvalidInput("nobody answers"),
]  # fmt: skip
ODD: list[dict[str, Any]] = [
    {},
    {
        key: "text"
        for key in ("stage", "done", "residual", "tol", "wakes", "links", "neighbours", "not_agreed", "leaving")
    },
    {key: [{}] for key in ("stage", "done", "residual", "tol", "wakes", "links", "neighbours", "lost_links", "missed")},
    {"residual": float("nan"), "tol": float("inf"), "stage": -7, "wakes": 10**400, "epoch": True},
    {"residual": -1, "tol": 10**400, "links": {"ann": 3, "cat": {"sent": "x", "received": -1}}},
    {"neighbours": {"ann": {"x": 1}, "cat": None}, "disagreements": {"ann": ["x"] * 99_999}},
]


def test_strange_statuses_are_as_good_as_none(trial):
    config = LiveRun(trial).cluster.configs["bob"]
    names = Names(trial, [config])
    assert [read_told(answer, config, names) for answer in STRANGE if not isinstance(answer, Exception)] == [None] * 9
    for odd in ODD:
        told = read_told({"party": "bob", "run": "ages", **odd}, config, names)
        assert (told.stage, told.done, told.residual, told.tol, told.wakes, told.epoch) == (-1, False, None, None, 0, 0)
        assert all(len(text) <= LONGEST for text in (*told.sentences, *told.neighbours.values()))


def test_whatever_a_party_says_the_watch_goes_on(trial, world):
    with LiveRun(trial) as live:
        for strange in (*STRANGE, *({"party": "bob", "run": "ages", **odd} for odd in ODD)):
            world.answers = {"ann": status("ann"), "bob": strange}
            look_again(live)
            assert live.now.parties["ann"].state == "up"
        world.answers["bob"] = status("bob", stage=1, links={"ann": {"sent": 1, "received": 1}})
        until(lambda: live.now.parties["bob"].told.stage == 1, "bob's status")


def test_no_folder_of_this_machine_is_told(trial, world):
    with LiveRun(trial) as live:
        live.start("ann")
        log = trial / "ann" / "node.log"
        log.write_text(
            f"INFO party started\nerror: {trial.parent.resolve()}/ann.csv, line 2: see '/etc/some folder/x' and /a\n\n"
        )
        world.started[0].code = 2
        until(lambda: states(live)[0] == "failed", "the failure")
        seen = live.now.parties["ann"]
        assert seen.said == "ann.csv, line 2: see 'some folder/x' and a"
        assert live.events[-1][1] == f"ann failed: {seen.said}"
    log.unlink()


# Who may do what


UP = {"ann": {"bob": "up"}, "bob": {"ann": "up", "cat": "up"}, "cat": {"bob": "up"}}


def look(live: LiveRun) -> None:
    """One look, now, and none before the next."""
    number = live.now.number
    live._errands.hurry()
    until(lambda: live.now.number == number + 1, "a look")


def test_a_party_is_started_killed_and_started_again(trial, world, monkeypatch):
    monkeypatch.setattr(live_run, "LOOK", 60.0)  # but at once when something was done
    near = {"ann": ["bob"], "bob": ["ann", "cat"], "cat": ["bob"]}
    with LiveRun(trial) as live:
        until(lambda: live.now.number == 1, "the first look")
        assert (states(live), live.startable) == (["not started"] * 3, ["ann", "bob", "cat"])
        live.start_all()
        until(lambda: live.now.number == 2, "the second look")
        assert states(live) == ["starting"] * 3
        assert [process.name for process in world.started] == ["ann", "bob", "cat"]
        world.answers = {name: status(name, neighbours=dict.fromkeys(near[name], "down: not yet")) for name in ROWS}
        look(live)
        assert states(live) == ["up"] * 3
        world.answers = {name: status(name, neighbours=dict.fromkeys(near[name], "up")) for name in ROWS}
        look(live)  # that they meet is no news
        with pytest.raises(InvalidInput, match=r"^bob runs already\.$"):
            live.start("bob")
        until(lambda: live.now.number == 5, "the look after that")
        del world.answers["bob"]
        world.answers["ann"] = status("ann", neighbours={"bob": "down: it hung up"})
        live.kill("bob")
        until(lambda: live.now.number == 6, "the look after the kill")
        assert world.started[1].signals == [9]
        assert (states(live), live.startable) == (["up", "killed", "up"], ["bob"])
        live.start("bob")
        until(lambda: live.now.number == 7, "the look after the restart")
        assert states(live) == ["up", "starting", "up"]
        world.answers |= {name: status(name, neighbours=dict.fromkeys(near[name], "up")) for name in ("ann", "bob")}
        look(live)
        assert states(live) == ["up"] * 3
        told = [text for _, text in live.events]
    assert told == [
        "ann, bob and cat are started",
        "ann, bob and cat are up",
        "agreement 1 of at most 2 begins",
        "bob was killed (kill -9), in agreement 1 of at most 2",
        "ann has lost bob",
        "bob is started again",
        "bob is up again, and goes on from its journal",
        "ann reaches bob again",
    ]
    assert {thread.name for thread in world.asked} == {"live run"}  # one thread owns the processes
    assert [process.signals for process in world.started] == [[15], [9], [15], [15]]  # leaving ends those that run


def test_events_of_one_look_are_in_the_order_of_their_causes(trial, world, monkeypatch):
    monkeypatch.setattr(live_run, "LOOK", 60.0)
    world.answers = {name: status(name, neighbours=UP[name]) for name in ROWS}
    with LiveRun(trial) as live:
        until(lambda: live.now.number == 1, "the first look")
        world.answers["ann"] = status("ann", stage=1, done=True)
        world.answers["bob"] = status("bob", stage=1, neighbours=UP["bob"], disagreements={"ann": "c is 1"})
        look(live)
        world.answers["cat"] = status("cat", stage=2, done=True)  # what began before an answer is not told after it
        look(live)
        told = [text for _, text in live.events]
    assert told == [
        "ann, bob and cat are up",
        "agreement 1 of at most 2 begins",
        "agreement 2 of at most 2 begins",
        "bob: dispute with ann: c is 1",
        "ann has its answer",
        "cat has its answer",
    ]
    page = event_list([(1.0, "first"), (1.0, "second"), (2.0, "third")])
    assert page.index("third") < page.index("second") < page.index("first")


@pytest.mark.parametrize("known_by", ["its status", "its result", "nothing"])
def test_a_party_that_has_finished_and_left_is_not_lost(tmp_path, world, monkeypatch, known_by):
    monkeypatch.setattr(live_run, "LOOK", 60.0)
    with LiveRun(written(tmp_path / "own")) as live:
        until(lambda: live.now.number == 1, "the first look")
        live.start("ann")  # its process is about to end, and has not: nothing but this tells that it has finished
        until(lambda: live.now.number == 2, "the look after the start")
        world.answers = {name: status(name, neighbours=UP[name]) for name in ROWS}
        look(live)
        if known_by == "its status":
            world.answers["ann"] = status("ann", done=True, neighbours=UP["ann"])
            look(live)
        if known_by == "its result":
            results_of(live, {"ann": {"mean": [41.0], "names": ["age"]}})
        del world.answers["ann"]
        world.answers["bob"] = status("bob", neighbours={"ann": "down: it hung up", "cat": "up"})
        look(live)
        told = [text for _, text in live.events]
    assert ("bob has lost ann" in told) == (known_by == "nothing")


def test_results_are_read_while_a_table_is_made(own, monkeypatch):
    made, may = [], threading.Event()

    def slow(results: dict[str, Any], parties: int, exact: Pooled) -> Answer:
        made.append(list(results))
        may.wait(20)
        return answer_of(results, parties, exact)

    monkeypatch.setattr(live_results, "answer_of", slow)
    results_of(own, {"ann": {"mean": [41.0], "names": ["age"]}})
    until(lambda: made == [["ann"]], "the first table")
    results_of(own, {"bob": {"mean": [41.0], "names": ["age"]}})
    until(lambda: list(own.results.found) == ["ann", "bob"], "bob's result")
    may.set()
    until(lambda: made == [["ann"], ["ann", "bob"]], "the second table")
    look_again(own)
    assert len(made) == 2


def test_of_a_run_that_has_finished_no_rate_is_told(trial, world, monkeypatch):
    monkeypatch.setattr(live_run, "LOOK", 60.0)

    def sent(count: int, **more: Any) -> dict[str, Any]:
        return {n: status(n, messages_sent=count, links={"bob": {"sent": count}}, **more) for n in ROWS}

    world.answers = sent(1000)
    with LiveRun(trial) as live:
        until(lambda: live.now.number == 1, "the first look")
        world.answers = sent(2000)
        look(live)
        assert re.fullmatch(r"6,000 messages so far, [1-9][\d,]* a second", traffic(live.now))
        world.answers = sent(3000, done=True)
        look(live)
        assert any(rate for rate in live.now.rates.values())  # they were fast a moment ago
        assert (headline(live), traffic(live.now)) == ("Finished: every party has its answer.", "9,000 messages")


def test_the_last_residual_of_a_party_is_kept(trial, world, monkeypatch):
    monkeypatch.setattr(live_run, "LOOK", 60.0)
    world.answers = {"ann": status("ann", done=True, residual=1e-11)}  # between two looks it ran, and has finished
    with LiveRun(trial) as live:
        until(lambda: live.now.number == 1, "the first look")
        del world.answers["ann"]
        look(live)
        assert [value for _, value in live.history.after("ann", -1.0)] == [1e-11, None]


def test_all_are_started_but_those_who_run_or_have_finished(trial, world, monkeypatch):
    monkeypatch.setattr(live_run, "LOOK", 60.0)
    monkeypatch.setattr(live_run, "PATIENCE", 0.0)
    live = LiveRun(trial)
    assert live.startable == []  # nobody was looked at yet
    with live:
        until(lambda: live.now.number == 1, "the first look")
        live.start("ann")
        until(lambda: live.now.number == 2, "the look after the start")
        world.answers = {"ann": status("ann"), "cat": status("cat", done=True)}
        look(live)
        world.answers = {}
        look(live)
        assert states(live) == ["no answer", "not started", "finished"]  # ann hangs: its process is there
        assert live.startable == ["bob"]
        live.start_all()
    assert [process.name for process in world.started] == ["ann", "bob"]


def test_other_pages_begin_with_the_parties_of_the_run(trial):
    scene, said = LiveRun(trial).scene()
    assert (scene.names, scene.edges) == (("ann", "bob", "cat"), ((0, 1), (1, 2)))
    assert scene.numbers == drawn_numbers(3, scene.seed)  # of the data, nothing
    assert said == "These are the parties of the trial; the numbers on this page were drawn for it."


@pytest.mark.parametrize(
    ("names", "scene_of_run"),
    [
        (["hospital-of-the-holy-ghost-1", "bob"], True),  # of 28 characters
        (["hospital-of-the-holy-ghost-1", "hospital-of-the-holy-ghost-2"], False),  # which are one, cut
        ([f"p{k}" for k in range(201)], False),
    ],
)
def test_a_run_that_no_page_can_show_leaves_the_example(trial, names, scene_of_run):
    live = LiveRun(trial)
    live.network = Network.from_edges(len(names), [(k, k + 1) for k in range(len(names) - 1)], labels=names)
    scene, said = live.scene()
    if scene_of_run:
        assert scene.names == ("hospital-of-the-holy-gho", "bob")
    else:
        assert (scene, said) == (first_scene(), "This is an example, not the run.")


def test_parties_that_others_started_are_shown_and_never_ended(trial, world):
    world.answers = {"ann": status("ann"), "cat": status("cat", done=True)}
    with LiveRun(trial) as live:
        until(lambda: states(live) == ["up", "not started", "finished"], "the parties of others")
        assert not live.now.parties["ann"].here
        with pytest.raises(InvalidInput, match="ann does not run, or was not started here"):
            live.kill("ann")
        with pytest.raises(InvalidInput, match="ann runs already"):
            live.start("ann")
        live.start_all()
        assert [process.name for process in world.started] == ["bob"]


def test_without_control_nothing_is_done(trial, world):
    with LiveRun(trial) as live:
        live.controlled = False
        for act in (live.start_all, lambda: live.start("ann"), lambda: live.kill("ann")):
            with pytest.raises(InvalidInput, match=r"only from this machine, .* Start it without --host\."):
                act()
        live.controlled = True
        for name in ("eve", "../ann", "", "ann/node.toml"):
            for act in (live.start, live.kill):
                with pytest.raises(InvalidInput, match="is no party whose node file lies here"):
                    act(name)
        look_again(live)
    assert world.started == []
    with pytest.raises(InvalidInput, match="this studio is ending"):
        live.start("ann")


def test_a_party_that_hangs_is_told_from_one_that_is_late(trial, world, monkeypatch):
    monkeypatch.setattr(live_run, "PATIENCE", 0.2)
    world.answers = {"ann": status("ann")}
    with LiveRun(trial) as live:
        until(lambda: states(live)[0] == "up", "ann")
        del world.answers["ann"]
        look_again(live)
        assert states(live)[0] == "up"
        until(lambda: states(live)[0] == "no answer", "patience to end")


def test_where_the_forking_process_is_gone_the_others_are_still_watched(trial, world, monkeypatch):
    def gone() -> None:
        raise RuntimeError("it has ended")

    with LiveRun(trial) as live:
        monkeypatch.setattr(cluster, "ForkServer", gone)
        with pytest.raises(InvalidInput, match="the parties cannot be reached any more: it has ended"):
            live.start("ann")
        world.answers = {"bob": status("bob")}
        until(lambda: states(live)[1] == "up", "bob")


def test_a_folder_must_hold_the_parties_of_one_run(trial, tmp_path):
    other = written(tmp_path / "other")
    (tmp_path / "both").mkdir()
    (tmp_path / "both" / "ann").symlink_to(trial / "ann")
    with LiveRun(tmp_path / "both") as live:  # the others are elsewhere
        assert states(live) == ["not started", "elsewhere", "elsewhere"]
    (tmp_path / "both" / "bob").symlink_to(other / "bob")
    with pytest.raises(InvalidInput, match="holds parties of more than one run"):
        LiveRun(tmp_path / "both")


# What is kept


def test_history_is_bounded_and_keeps_the_newest():
    history = History(points=100)
    for k in range(10_000):
        history.add("ann", float(k), 1.0 / (k + 1))
    kept = history.after("ann", -1.0)
    assert 50 <= len(kept) <= 100
    assert kept[-1] == (9999.0, 1e-4)
    assert [time for time, _ in kept] == sorted(time for time, _ in kept)
    assert history.after("ann", kept[-3][0]) == kept[-2:]
    assert history.after("nobody", 0.0) == []


def test_gaps_are_noted_once_and_what_stands_still_now_and_then():
    history = History()
    for time_, value in ((0.0, None), (1.0, 5.0), (1.5, 5.0), (2.5, 5.0), (2.6, None), (9.0, None), (9.5, 4.0)):
        history.add("ann", time_, value)
    assert history.after("ann", -1.0) == [(1.0, 5.0), (2.5, 5.0), (2.6, None), (9.5, 4.0)]


def test_events_are_bounded(trial, world, monkeypatch):
    monkeypatch.setattr(live_run, "EVENTS", 5)
    with LiveRun(trial) as live:
        for k in range(9):
            world.answers = {"ann": status("ann", stage=k)}
            until(lambda k=k: live.now.parties["ann"].told.stage == k, "the stage")
        look_again(live)
        assert [text for _, text in live.events] == [
            f"agreement {k} of at most {max(2, k)} begins" for k in range(5, 10)
        ]


def test_rates_begin_anew_where_a_party_does():
    rates = Rates(window=10.0)
    assert rates.rate("ann", "bob") is None
    for time_, total in ((0.0, 100), (1.0, 130), (2.0, 160)):
        rates.add(time_, {("ann", "bob", "sender"): total})
    assert rates.rate("ann", "bob") == 30.0
    rates.add(3.0, {("ann", "bob", "sender"): 4})
    assert rates.rate("ann", "bob") == 0.0
    rates.add(4.0, {("ann", "bob", "sender"): 24, ("ann", "bob", "receiver"): 999})
    assert rates.rate("ann", "bob") == 20.0  # the sender knows best
    rates.add(5.0, {("ann", "bob", "receiver"): 1009})
    assert rates.rate("ann", "bob") == 10.0  # and the receiver where the sender is silent
    rates.add(6.0, {})
    assert rates.rate("ann", "bob") is None


# How it is drawn


def test_no_state_hangs_on_its_colour_alone():
    assert SIGNS.keys() == STATES.keys()
    assert len(set(SIGNS.values())) == len(SIGNS)
    assert sign(Seen("ann", "up", Told(stage=1))) == "2"


def test_an_edge_tells_how_much_is_said_and_whether_it_is_down():
    both = {"ann": Seen("ann", "up", Told(neighbours={"bob": "up"})), "bob": Seen("bob", "up")}
    now = Moment(1, 1.0, both, {("ann", "bob"): 12.0, ("bob", "ann"): 30.5})
    assert busiest(now) == 42.5
    drawn = edge(now, "ann", "bob", busiest(now), used=True)
    assert (drawn["text"], drawn["width"], drawn["dashed"]) == ("42/s", 7.0, False)
    assert drawn["tip"] == "ann to bob: 12 messages a second\nbob to ann: 30 messages a second"
    half = Moment(1, 1.0, both, {("ann", "bob"): 6.0, ("bob", "ann"): 4.625})
    assert edge(half, "ann", "bob", 42.5, used=True)["width"] == 4.0  # half the way from thin to thick
    lost = {**both, "ann": Seen("ann", "up", Told(neighbours={"bob": "down: it hung up"}))}
    drawn = edge(Moment(1, 1.0, lost, now.rates), "ann", "bob", 42.5, used=True)
    assert (drawn["text"], drawn["dashed"], drawn["tip"]) == ("", True, "ann – bob: the connection is down.")


def test_numbers_of_edges_that_cross_stand_apart():
    corners = [(0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (1.0, 0.0)]
    assert label_places(corners, [(0, 1), (2, 3)])[0] == 0.5
    assert label_places(corners, [(0, 1), (2, 3)])[1] != 0.5


def test_an_agreement_is_told_with_how_many_there_are():
    assert agreement(-1, 4, True) == "before the first agreement"
    assert agreement(1, 4, True) == "in agreement 2 of 4"
    assert agreement(1, 40, False) == "in agreement 2 of at most 40"


# The answer


def results_of(live: LiveRun, answers: dict[str, dict[str, Any]], **more: Any) -> None:
    for name, answer in answers.items():
        result = {"answer": answer, "covers": list(ROWS), "left": [], "noise": None, **more}
        live.cluster.configs[name].result.write_text(json.dumps(result))


def header(answer: Answer) -> list[str]:
    """Without what is told when one points at it."""
    return [cell if isinstance(cell, str) else cell[0] for cell in answer.header]


@pytest.fixture
def own(tmp_path, world) -> Iterator[LiveRun]:
    with LiveRun(written(tmp_path / "own")) as live:
        yield live


def test_the_answer_stands_beside_that_of_all_rows(own):
    exact = sum(map(sum, ROWS.values())) / 6
    for name, text in (("cat", "no JSON"), ("bob", "[]")):
        own.cluster.configs[name].result.write_text(text)
    results_of(own, {"ann": {"observations": 6, "mean": [exact], "names": ["age"], "status": "converged"}})
    until(lambda: own.results.answer is not None, "the first answer")
    assert own.results.answer.sentences[0] == "1 of 3 parties have their answers."
    results_of(own, {name: {"observations": 6, "mean": [exact + 1e-9], "names": ["age"]} for name in ("bob", "cat")})
    until(lambda: own.results.answer.sentences[0] == "All 3 parties have their answers.", "all answers")
    assert header(own.results.answer) == ["", "ann's", "pooled", "difference"]
    assert own.results.answer.rows == (("observations", "6", "6", "0"), ("mean of age", "41", "41", "1e-09"))
    assert own.results.answer.sentences[1] == (
        "No number of any party is further than 2e-11 (relative) from the pooled answer "
        "(of all rows in one place, which only a trial can compute)."
    )
    told = dict(cell for cell in own.results.answer.header if not isinstance(cell, str))
    assert told["pooled"] == "Of all rows in one place, which only a trial can compute. In the units of the data."
    until(lambda: states(own) == ["finished"] * 3, "all finished")


@pytest.mark.parametrize(
    ("statistic", "wanted"),
    [
        (MEAN, {"observations": 6.0, "mean of age": 41.0, "dropped rows": 0.0, "dropped age": 0.0}),
        ('type = "variance"\ncolumns = ["age"]',
         {"observations": 6.0, "mean of age": 41.0, "variance of age": 1588 / 5}),
        ('type = "histogram"\ncolumns = ["age"]\nbins = [30.0, 40.0, 60.0]',
         {"count of 30 to 40": 2.0, "count of 40 to 60": 2.0, "below": 1.0, "above": 1.0}),
    ],
)  # fmt: skip
def test_pooled_numbers_have_the_names_of_a_result_file(statistic, wanted):
    with TemporaryDirectory(prefix="live-") as folder:  # whose name is short, as the path of a socket must be
        _pooled_numbers(LiveRun(written(Path(folder) / "trial", statistic)).cluster.configs, wanted)


def _pooled_numbers(configs, wanted) -> None:
    assert pooled_answer(configs, list(ROWS)).numbers == wanted
    without_bob = pooled_answer(configs, ["ann", "cat"]).numbers  # of a party that has left no rows are in the answer
    of_bob = {"observations": 1, "count of 30 to 40": 1}
    assert [without_bob[name] for name in of_bob if name in wanted] == [
        wanted[name] - rows for name, rows in of_bob.items() if name in wanted
    ]
    assert pooled_answer(configs, [*ROWS, "eve"]).numbers is None


def test_answers_without_a_pooled_one_stand_side_by_side():
    results = {
        name: {"answer": {"params": [1.0, 2.0 + k], "terms": ["age", "bmi"], "fits": True}, "covers": ["ann"]}
        for k, name in enumerate(("ann", "bob"))
    }
    found = answer_of(results, 3, Pooled(None, "There is none."))
    assert header(found) == ["", "ann's", "bob's", "apart"]
    assert found.rows == (("coefficient of age", "1", "1", "0"), ("coefficient of bmi", "2", "3", "1e+00"))
    assert found.sentences == (
        "2 of 3 parties have their answers.",
        "There is none.",
        "No two parties are further apart than 1e+00.",
    )


def test_numbers_of_a_regression_are_named_by_its_terms():
    shards = [([[0.0], [1.0]], [1.0, 2.5]), ([[2.0], [3.0], [4.0]], [2.9, 4.2, 4.1])]
    fit = sv.private_linear(Network.complete(2), shards, names=["age"])
    found = dict(numbers(fit.to_dict()))
    for word, values in {"coefficient": fit.params, "standard error": fit.bse, "p-value": fit.pvalues}.items():
        assert [found[f"{word} of {term}"] for term in ("Intercept", "age")] == values.tolist()
    assert found["covariance of age, Intercept"] == fit.covariance[1, 0]
    assert found["scale"] == fit.scale  # of the residuals
    assert not [name for name in found if name.startswith(("gram", "tested", "sum sq"))]


# The commands


def served(monkeypatch: pytest.MonkeyPatch, module: str) -> dict[str, Any]:
    """What a command gives the server."""
    pytest.importorskip("nicegui")
    given: dict[str, Any] = {}
    monkeypatch.setattr(f"{module}.serve", lambda scene=None, **more: given.update(more, scene=scene) or 0)
    return given


def test_the_studio_begins_with_the_network_of_the_cluster(trial, world, monkeypatch):
    given = served(monkeypatch, "sottovoce.studio.serve")
    done = CliRunner().invoke(app, ["studio", "--no-browser", "--cluster", str(trial)])
    assert done.exit_code == 0, done.output
    assert given["scene"].names == ("ann", "bob", "cat")
    assert (given["page"], given["notice"]) == ("/live", live_run.DRAWN)


def test_the_demonstration_begins_with_its_hospitals(world, monkeypatch):
    given = served(monkeypatch, "sottovoce.cli.demo_studio")
    done = CliRunner().invoke(app, ["demo", "--studio", "--no-browser"])
    assert done.exit_code == 0, done.output
    assert given["scene"].names == tuple(f"hospital-{k}" for k in range(10))
    assert given["scene"].edges == given["live"].edges
    assert (given["page"], given["notice"]) == ("/live", live_run.DRAWN)


def test_a_cluster_that_is_not_there_is_refused_with_a_sentence(tmp_path):
    pytest.importorskip("nicegui")
    done = CliRunner().invoke(app, ["studio", "--no-browser", "--cluster", str(tmp_path / "nothing-there")])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "nothing-there holds no <party>/node.toml. Write them with: sottovoce plan --generate-keys" in done.stderr


@pytest.mark.parametrize("others", [["--json"], ["--simulate"], ["--fast"], ["--json", "--fast"], ["--seed", "1"]])
def test_the_demonstration_in_the_browser_takes_no_options_of_the_others(others):
    done = CliRunner().invoke(app, ["demo", "--studio", *others])
    named = ", ".join(word for word in others if word.startswith("--"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"error: --studio shows real processes in the browser: it does not go with {named}.\n"


def test_what_is_no_file_is_no_result_and_nobody_waits_for_it(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "endless").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    for name in ("fifo", "endless", "folder", "missing"):
        assert read_result(tmp_path / name) is None
        assert last_sentence(tmp_path / name) == ""
    (tmp_path / "log").write_text("first\nerror: the last\n\n")
    assert last_sentence(tmp_path / "log") == "the last"
