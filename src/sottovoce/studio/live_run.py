"""A run as it happens: the parties of a trial on this machine, watched through their status sockets, killed and started
again by whoever may.

One thread owns the processes: it starts, kills and ends them, and looks at everybody a few times a second. Pages read
what it has seen, and ask it for what they want done.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

from ..errors import InvalidInput
from ..network import Network
from ..runtime.cluster import LOG, Cluster, ask
from ..runtime.plan.node_file import NodeConfig
from .live import moment as states
from .live.errands import Errands
from .live.history import History, Rates, Way
from .live.moment import Moment, Seen, agreement, news
from .live.results import Results
from .live.told import Names, Told, last_sentence, read_told
from .making import first_scene, names_of, on_network, places_of
from .scene import Scene

log = logging.getLogger(__name__)

LOOK = 0.3  # seconds between two looks at everybody
ASK = 1.0  # seconds that a party has for an answer
PATIENCE = 3.0  # seconds without an answer after which a party that was up is silent
AT_ONCE = 8  # parties that are asked at the same time
EVENTS = 200  # that are remembered
KILL = -9  # the exit status of a process that was killed
TOLERANCE = "the tolerance"  # among the curves, where no party is called so: names have no spaces
DRAWN = "These are the parties of the trial; the numbers on this page were drawn for it."
EXAMPLE = "This is an example, not the run."


class LiveRun:
    """The parties of a trial, as they run. It is one run, whoever looks at it.

    Leaving the ``with`` block ends the processes that were started here, and no others.

    Parameters
    ----------
    folder : str or Path
        Has ``<party>/node.toml`` for each, as ``sottovoce plan --generate-keys`` writes them.
    start : bool
        Start all parties at once, without being asked to.

    Raises
    ------
    InvalidInput
        No such files, or those of more than one run.
    """

    def __init__(self, folder: str | Path, *, start: bool = False) -> None:
        self.cluster = Cluster(folder)
        configs = self.cluster.configs
        if len({config.run_hash for config in configs.values()}) > 1:
            raise InvalidInput(f"{folder} holds parties of more than one run. Give the folder of one plan.")
        self.controlled = True  # whether pages may start and kill; the server decides
        self.config: NodeConfig = next(iter(configs.values()))  # any: what is read of it is the same for all
        self.names, self.edges = self.config.names, self.config.edges
        self.network = Network.from_edges(len(self.names), self.edges, labels=self.names)
        self.places = places_of(self.network)
        self.history = History()
        self.events: tuple[tuple[float, str], ...] = ()  # when, and what has happened
        self.results = Results(configs, self.names)
        alone = {name: states.NOT_STARTED if name in configs else states.ELSEWHERE for name in self.names}
        self.now = Moment(0, 0.0, {name: Seen(name, state) for name, state in alone.items()})
        self._start, self._began = start, time.monotonic()
        self._files = Names(self.cluster.folder, configs.values())
        self._rates, self._heard = Rates(), dict.fromkeys(self.names, 0.0)
        self._before: set[str] = set()  # who was started here before
        self._met: set[tuple[str, str]] = set()  # who has reached which neighbour
        self._furthest = -1  # agreement that was begun
        self._errands, self._ending = Errands(), threading.Event()
        self._thread = threading.Thread(target=self._watch, name="live run")  # it ends the processes, so it must end

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._errands.hurry()
        self._thread.join()

    def agreement(self, stage: int) -> str:
        """``in agreement 2 of 4``."""
        question = self.config.question
        return agreement(stage, question.stages, exactly=question.statistic is None or question.stages == 1)

    # What pages may ask for

    def start(self, name: str) -> None:
        """Start a party that does not run; with a journal it goes on from there."""
        self._check(name)
        self._errands.ask(lambda: self._begin([name]))

    def start_all(self) -> None:
        """Start all parties that do not run and have no answer."""
        self._check()
        self._errands.ask(lambda: self._begin(self.startable))

    def kill(self, name: str) -> None:
        """End a party that was started here, at once: ``kill -9``."""
        self._check(name)
        self._errands.ask(lambda: self._end(name))

    @property
    def startable(self) -> list[str]:
        """Those that ``start_all`` would start: who does not run, and has not finished."""
        wanted = {*states.ENDED} - {states.FINISHED} if self.now.number else set()  # before the first look, nobody
        seen = [self.now.parties[name] for name in self.cluster.names]
        return [of.name for of in seen if of.state in wanted and not of.here]

    def scene(self) -> tuple[Scene, str]:
        """What the other pages begin with, and what is to be said of it: these parties, with numbers that are drawn,
        since no data reach a page; the first scene where they cannot be shown."""
        try:
            return on_network(first_scene(), self.network, names_of(self.network)), DRAWN
        except InvalidInput:
            return first_scene(), EXAMPLE

    def _check(self, name: str | None = None) -> None:
        if not self.controlled:
            raise InvalidInput(
                "processes are started and ended only from this machine, and this studio can be reached from others. "
                "Start it without --host."
            )
        if name is not None and name not in self.cluster.configs:
            raise InvalidInput(f"{name!r:.60} is no party whose node file lies here.")

    # The thread

    def _watch(self) -> None:
        with ThreadPoolExecutor(AT_ONCE) as pool, self.cluster:
            while not self._ending.is_set():
                try:
                    if self._start:
                        self._start = False
                        self._begin(self.cluster.names)
                    self._look(pool)
                except Exception:  # whatever a party or a disk has done, the others are still to be watched
                    log.exception("a look at the parties failed")
                self._errands.do_next(LOOK)
            self._errands.close()

    def _begin(self, names: Sequence[str]) -> None:
        for name in names:
            if self.now.parties[name].state not in states.ENDED:
                raise InvalidInput(f"{name} runs already.")
            self._before |= {name} & {*self.cluster.processes}
            self.cluster.start([name])

    def _end(self, name: str) -> None:
        if not self.cluster.running(name):
            raise InvalidInput(f"{name} does not run, or was not started here: only what was is ended from here.")
        self.cluster.kill(name)

    def _look(self, pool: ThreadPoolExecutor) -> None:
        """At everybody, once."""
        told = dict(zip(self.cluster.names, pool.map(self._status, self.cluster.names), strict=True))
        self.results.read(pool)  # after what was told: whoever has hung up as it has its answer wrote that before
        before, seconds = self.now, time.monotonic() - self._began
        seen = {name: self._seen(name, told.get(name), seconds) for name in self.names}
        self._rates.add(seconds, _totals(told))
        pairs = [(self.names[a], self.names[b]) for a, b in self.edges]
        rates = {way: self._rates.rate(*way) for a, b in pairs for way in ((a, b), (b, a))}
        self.now = Moment(before.number + 1, seconds, seen, rates)
        up = {name: of.told for name, of in seen.items() if of.state == states.UP or told.get(name) is not None}
        for name in self.names:
            self.history.add(name, seconds, up[name].residual if name in up else None)
        self.history.add(TOLERANCE, seconds, max((of.tol for of in up.values() if of.tol), default=None))
        answered, begun = self.results.found, self._begun(before)
        said = news(before, self.now, self.agreement, self._met, begun=begun, answered=answered)
        self.events = (*self.events, *((seconds, text) for text in said))[-EVENTS:]

    def _begun(self, before: Moment) -> int | None:
        """The agreement that has begun since, if one did; of those before an answer none begins after it."""
        furthest = max(seen.told.stage for seen in self.now.parties.values())
        if furthest <= self._furthest or any(seen.state == states.FINISHED for seen in before.parties.values()):
            return None
        self._furthest = furthest
        return furthest

    def _status(self, name: str) -> Told | None:
        config = self.cluster.configs[name]
        try:
            return read_told(ask(config.socket, timeout=ASK), config, self._files)
        except InvalidInput:  # nobody answers, or nobody of this version
            return None

    def _seen(self, name: str, told: Told | None, seconds: float) -> Seen:
        """A party by what it told, and what has become of its process if that was started here."""
        was, process = self.now.parties[name], self.cluster.processes.get(name)
        if name not in self.cluster.configs:
            return was
        code = None if process is None else process.poll()
        here, said = process is not None and code is None, ""
        if told is not None:
            self._heard[name] = seconds
            state = states.FINISHED if told.done else states.UP
        elif was.state == states.FINISHED or code == 0 or (not here and name in self.results.found):
            state = states.FINISHED
        elif code == KILL:
            state = states.KILLED
        elif code is not None:
            state = states.FAILED
            log_file = self.cluster.configs[name].path.parent / LOG
            said = was.said or self._files.without_paths(last_sentence(log_file))
        elif was.state in (states.UP, states.SILENT):
            state = states.SILENT if seconds - self._heard[name] > PATIENCE else was.state
        else:
            state = states.STARTING if here else states.NOT_STARTED
        return Seen(name, state, told or was.told, said, here, again=name in self._before)


def _totals(told: dict[str, Told | None]) -> dict[Way, int]:
    """Messages by who sent them, to whom, and who has counted them."""
    totals: dict[Way, int] = {}
    for name, status in told.items():
        for other, (sent, received) in ({} if status is None else status.links).items():
            totals[name, other, "sender"] = sent
            totals[other, name, "receiver"] = received
    return totals
