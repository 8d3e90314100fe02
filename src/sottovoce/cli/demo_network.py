"""The demonstration: ten hospitals, ten processes, one regression; and one of them is killed on the way.

Everything is real but the distance: keys, encrypted channels on 127.0.0.1, a journal for each party. Only a
demonstration can also look at all shards at once, to compare with what the hospitals found.
"""

from __future__ import annotations

import re
import signal
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np

from ..costs.base import Array
from ..errors import InvalidInput
from ..privacy import Report
from ..runtime.cluster import Cluster
from ..runtime.demonstration import demo_plan
from ..runtime.plan.plan import Plan, write_plan
from .demo_table import FINISHED, KILLED, RESTARTING, STARTING, UP, Seen, as_dict, display, print_summary
from .terminal import Exit, print_json

VICTIM = "hospital-3"
CRASH = (0, 5)  # the agreement, counted from 0, and the wakes in it after which it is killed
SLOW, PACE = "hospital-9", 2.0  # who speaks so many seconds after the others: until then nothing can be over
DOWN = 1.0  # seconds until it is started again
PAUSE = 0.1  # seconds between two looks at everybody
RATE = 0.5  # seconds, at least, over which messages are counted
LIMIT = 180.0  # seconds after which something must be wrong


@dataclass(frozen=True)
class Crash:
    """What was done to the victim, and when it was there again."""

    party: str
    agreement: int  # counted from 1
    wakes: int
    seconds: float  # from the kill until it answered again


@dataclass(frozen=True, eq=False)
class Pooled:
    """The regression of all rows in one place: parameters in the order of the terms, and their standard errors."""

    parameters: Array
    standard_errors: Array


@dataclass(frozen=True, eq=False)
class Outcome:
    """All there is to tell: ``results`` are the result files of the parties."""

    plan: Plan
    results: dict[str, dict[str, Any]]
    pooled: Pooled
    report: Report
    crash: Crash | None
    pids: tuple[int, ...]
    seconds: float

    @property
    def error(self) -> float:
        """How far any party is from the pooled answer, in coefficients and in standard errors. Relative, but to the
        standard error where a coefficient is smaller than that."""
        size = np.maximum(np.abs(self.pooled.parameters), self.pooled.standard_errors)
        errors = []
        for result in self.results.values():
            answer = result["answer"]
            own = np.array(answer["params"])
            errors.append(np.abs(own - self.pooled.parameters) / size)
            errors.append(np.abs(np.array(answer["bse"]) / self.pooled.standard_errors - 1))
        return float(np.max(errors))


def run_network_demo(json: bool, fast: bool) -> int:
    """Run it, and print it for people or for programs; the exit status."""
    began = time.monotonic()
    with Interruption() as interruption, TemporaryDirectory(prefix="sottovoce-") as folder:
        plan, parties = demo_plan(), Path(folder) / "p"  # the path of a socket must be short
        write_plan(plan, parties, generate_keys=True)
        slow = parties / SLOW / "node.toml"
        slow.write_text(re.sub("^pace = .*$", f"pace = {PACE}", slow.read_text(), count=1, flags=re.MULTILINE))
        with Cluster(parties) as cluster, display(plan, json or fast) as show:
            trial = Trial(cluster)
            cluster.start()
            while not trial.over:
                time.sleep(PAUSE)
                trial.step()
                interruption.obey()  # before failures: Ctrl-C ends the parties as well
                if trial.failure:
                    print(f"error: the demonstration failed: {trial.failure}", file=sys.stderr)
                    return 1
                show(trial.seen, trial.events)
            results = cluster.results()
    seconds = time.monotonic() - began
    outcome = Outcome(plan, results, pooled(plan), privacy(plan), trial.crash, tuple(trial.pids), seconds)
    if json:
        print_json(as_dict(outcome))
    else:
        print_summary(outcome)
    return 0


class Trial:
    """The parties as one sees them from outside, through their status sockets; and what is done to one of them."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.began = time.monotonic()
        self.seen = {name: Seen(name, STARTING) for name in cluster.names}
        self.events: list[str] = []
        self.pids: list[int] = []
        self.killed_at = 0.0
        self.crash: Crash | None = None
        self.failure = ""
        self._counted: dict[str, tuple[float, int]] = {}  # when messages were last counted, and how many there were

    @property
    def over(self) -> bool:
        """Whether all have finished, and are gone."""
        return all(seen.state == FINISHED and not self.cluster.running(seen.name) for seen in self.seen.values())

    def step(self) -> None:
        """Look at everybody, and do to the victim what is due."""
        for name in self.cluster.names:
            process = self.cluster.processes[name]
            if process.pid not in self.pids:
                self.pids.append(process.pid)
            self.seen[name] = self._look(name)
        self._harm()
        if time.monotonic() - self.began > LIMIT:
            self.failure = f"not finished after {LIMIT:.0f} s. Is this machine very busy?"

    def _look(self, name: str) -> Seen:
        before, process = self.seen[name], self.cluster.processes[name]
        if before.state == KILLED:
            return before
        if process.poll() is not None:
            if process.returncode != 0:
                said = self.cluster.log(name).strip().splitlines() or ["nothing"]
                self.failure = f"{name} ended with status {process.returncode}. The last it said: {said[-1]}"
                return before
            return replace(before, state=FINISHED, rate=0.0)
        try:
            told = self.cluster.status(name)
        except InvalidInput:  # it has not opened its socket yet, or has closed it: with a result, or just now
            ended = before.state == UP and self.cluster.configs[name].result.exists()
            return replace(before, state=FINISHED, rate=0.0) if ended else before
        if before.state == RESTARTING:
            self._recovered()
        return Seen(
            name,
            FINISHED if told["done"] else UP,
            told["stage"],
            told["residual"],
            told["wakes"],
            told["messages_sent"],
            self._rate(before, told["messages_sent"]),
            told["tol"],
        )

    def _rate(self, before: Seen, sent: int) -> float:
        """Messages a second, lately."""
        now = time.monotonic()
        when, then = self._counted.setdefault(before.name, (now, sent))
        if sent >= then and now - when < RATE:
            return before.rate
        self._counted[before.name] = (now, sent)
        return max(0, sent - then) / max(now - when, RATE)

    def _harm(self) -> None:
        """Kill the victim in the middle of an agreement; start it again a little later."""
        seen, now = self.seen[VICTIM], time.monotonic()
        if seen.state == UP and self.crash is None and (seen.stage, seen.wakes) >= CRASH:
            self.cluster.kill(VICTIM)
            self.killed_at = now
            self.crash = Crash(VICTIM, seen.stage + 1, seen.wakes, 0.0)
            self.seen[VICTIM] = replace(seen, state=KILLED, rate=0.0)
            self.events.append(f"killed {VICTIM} (kill -9) in agreement {seen.stage + 1}")
        elif seen.state == KILLED and now - self.killed_at > DOWN:
            self.cluster.restart(VICTIM)
            self.seen[VICTIM] = Seen(VICTIM, RESTARTING)
            self.events.append(f"started {VICTIM} again")

    def _recovered(self) -> None:
        assert self.crash is not None
        self.crash = replace(self.crash, seconds=time.monotonic() - self.killed_at)
        self.events.append(f"{VICTIM} goes on from its journal")


def pooled(plan: Plan) -> Pooled:
    """The same regression by QR of all rows, which no hospital could compute."""
    assert plan.question.asked is not None
    paths = [plan.path.parent / str(party.data) for party in plan.parties]
    rows = np.concatenate([plan.question.rows(path, ",") for path in paths])
    measured = dict(zip(plan.question.asked.selection.needs, rows.T, strict=True))
    *slopes, target = plan.question.asked.spec.columns
    A, b = np.column_stack([np.ones(len(rows)), *(measured[name] for name in slopes)]), measured[target]
    size = np.abs(A).max(axis=0)
    Q, R = np.linalg.qr(A / size)
    inverse = np.linalg.inv(R) / size[:, None]
    parameters = inverse @ (Q.T @ b)
    variance = ((b - A @ parameters) ** 2).sum() / (len(b) - A.shape[1])
    return Pooled(parameters, np.sqrt((inverse**2).sum(axis=1) * variance))


def privacy(plan: Plan) -> Report:
    """The worst coalition of one: by construction it learns totals alone."""
    return plan.prospect.report


class Interruption:
    """A signal to end, noticed where it can be obeyed: in the midst of a start, the process that was just made would be
    forgotten, and stay."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self.number = 0

    def __enter__(self) -> Self:
        self.before = {number: signal.signal(number, self._noticed) for number in self.SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _noticed(self, number: int, _: object) -> None:
        self.number = number

    def obey(self) -> None:
        """Leave, if there was one."""
        if self.number:
            raise KeyboardInterrupt if self.number == signal.SIGINT else Exit(128 + self.number)
