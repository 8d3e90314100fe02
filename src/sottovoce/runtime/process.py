"""One party from start to end: files, transport, signals, status, metrics, and the result."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import ExitStatus, InvalidInput, JournalError, PeerError, PolicyError, SottovoceError, Undetermined
from .agent import Agent
from .drop import drop
from .ending import close, linger, part, refuse, say_goodbye
from .journal import Journal
from .keys.identity import Identity, load
from .network_agreements import NetworkAgreements, answer
from .plan.node_file import NodeConfig
from .plan.own_data import OwnData
from .plan.own_policy import admitted
from .prepare import prepare
from .retention import RESULT, finished
from .self_audit import own_privacy
from .transport.transport import Transport
from .transport.web_socket_transport import WebSocketTransport

log = logging.getLogger(__name__)

ASKING = 1.0  # seconds to wait for what is asked on the local socket
ENDING = 1.0  # seconds to wait for a program that is not wanted any more; one that computes ends at its next agreement


Tell = Callable[[dict[str, Any]], None]  # what to do with the result, once it is written


def run_party(config: NodeConfig, tell: Tell) -> ExitStatus:
    """Run one party until it has its answer and its neighbours know; docs/guides/own-transport.md runs some.

    Parameters
    ----------
    config : NodeConfig
        As ``read_node_file`` gives it.
    tell : callable
        Called with the result, once it is written.

    Returns
    -------
    ExitStatus
        That of ``sottovoce node``: done, or interrupted or unfinished for a party that was told to stop before.

    Raises
    ------
    InvalidFile, JournalError, PeerError, PolicyError
        Why there is no answer: data that cannot be used, a journal that cannot, what others have said, or the party's
        own policy.

    Examples
    --------
    Data are read before anybody is called (``serve`` has an example that comes to an answer):

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sottovoce.runtime import read_node_file, read_plan, run_party, write_plan
    >>> text = '''run = {name = "ages", c = 2.0}
    ... network = {generator = "complete"}
    ... statistic = {type = "mean", columns = ["age"]}
    ... party = [
    ...     {name = "ann", address = "10.0.0.1:7401", data = "data.csv"},
    ...     {name = "bob", address = "10.0.0.2:7401", data = "data.csv"},
    ... ]'''
    >>> with TemporaryDirectory() as folder:
    ...     plan, out = Path(folder) / "plan.toml", Path(folder) / "parties"
    ...     _ = plan.write_text(text), (Path(folder) / "data.csv").write_text("age\\nold\\n")
    ...     write_plan(read_plan(plan), out, generate_keys=True)
    ...     run_party(read_node_file(out / "ann" / "node.toml"), tell=print)
    Traceback (most recent call last):
    sottovoce.errors.InvalidFile: .../data.csv, line 2, column 'age': the cell is not a number: it looks like text. ...
    """
    return asyncio.run(serve(config, tell=tell))


async def serve(config: NodeConfig, transport: Transport | None = None, tell: Tell = lambda result: None) -> ExitStatus:
    """``run_party`` on a running event loop.

    Parameters
    ----------
    config : NodeConfig
        As ``read_node_file`` gives it.
    transport : Transport, optional
        How frames travel; by default over WebSockets.
    tell : callable, optional
        Called with the result, once it is written.

    Returns
    -------
    ExitStatus
        As of ``run_party``, which also says what is raised.

    Examples
    --------
    Two parties as tasks of one process, over queues:

    >>> import asyncio
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sottovoce.runtime import Cluster, read_plan, serve, write_plan
    >>> from sottovoce.runtime.transport.in_memory import Hub
    >>> text = '''run = {name = "ages", c = 2.0, pace = 0.01}
    ... network = {generator = "complete"}
    ... statistic = {type = "mean", columns = ["age"]}
    ... party = [
    ...     {name = "ann", address = "10.0.0.1:7401", data = "data.csv"},
    ...     {name = "bob", address = "10.0.0.2:7401", data = "data.csv"},
    ... ]'''
    >>> async def both(parties):
    ...     hub = Hub()
    ...     ann, bob = parties.configs["ann"], parties.configs["bob"]
    ...     return await asyncio.gather(
    ...         serve(ann, hub.transport("ann", ["bob"])), serve(bob, hub.transport("bob", ["ann"]))
    ...     )
    >>> with TemporaryDirectory() as folder:
    ...     plan, out = Path(folder) / "plan.toml", Path(folder) / "parties"
    ...     _ = plan.write_text(text), (Path(folder) / "data.csv").write_text("age\\n41\\n")
    ...     write_plan(read_plan(plan), out, generate_keys=True)
    ...     parties = Cluster(out)
    ...     asyncio.run(both(parties))
    ...     round(parties.results()["ann"]["answer"]["mean"][0], 6)
    [<ExitStatus.DONE: 0>, <ExitStatus.DONE: 0>]
    41.0
    """
    began = asyncio.get_running_loop().time()
    own = config.own_data()  # before anybody is called: others would see a party that stops, or that is slow to speak
    prepare(config, own)
    identity = load(config.identity)
    transport = transport or _transport(config, identity)
    with Journal(config.journal, identity.derive("journal")) as journal:
        if (result := finished(config, journal)) is not None:
            tell(result)
            return ExitStatus.DONE
        with journal.together():  # keys of all edges, and whose they are: one wait for the disk
            agent = Agent(config, transport, identity, journal)
        ledger, refused = _policy(config, own, over=journal.get(RESULT) is not None)
        halted = Halt()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError, RuntimeError, ValueError):  # not in a thread, not on every system
                loop.add_signal_handler(number, halted.stop, number)
        await agent.public_time(began)
        await transport.start(agent)
        agent.mark()
        agent.missing.begin(agent.party.links)
        agent.fallback.away(*agent.party.links)
        status = await _status_server(config.socket, agent)
        metrics = _metrics(config.metrics, agent)
        log.info("party started", extra={"party": config.name, "run": config.run_name, "listen": config.listen})
        work = asyncio.create_task(refuse(agent, refused) if refused else _work(agent, own, tell, ledger))
        halt = asyncio.create_task(halted.happened.wait())
        try:
            await asyncio.wait({work, halt}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
                return ExitStatus.DONE
            if refused is not None:
                raise refused
            if agent.result is not None:
                log.info("told to stop; the answer is there")
                close(agent)
                return ExitStatus.DONE
            log.warning("told to stop before the end; start the same command to go on")
            return ExitStatus.INTERRUPTED if halted.by == signal.SIGINT else ExitStatus.UNFINISHED
        finally:
            for task in (work, halt):
                task.cancel()
            agent.fallback.stop()
            if agent.result is None:
                if not agent.parting:
                    say_goodbye(agent, "stopped before the end")
                with suppress(JournalError):  # which may be the reason to stop
                    agent.save()
            await transport.stop()
            await asyncio.wait({work, halt}, timeout=2 * ENDING)  # so that its thread ends with it
            status.close()
            with suppress(OSError):
                config.socket.unlink()
            if metrics is not None:
                metrics()


def _transport(config: NodeConfig, identity: Identity) -> Transport:
    return WebSocketTransport(identity, config.listen, config.neighbours, config.channels, proxy=config.proxy)


class Halt:
    """Whether the party was told to stop, and how."""

    def __init__(self) -> None:
        self.happened, self.by = asyncio.Event(), 0

    def stop(self, number: int) -> None:
        self.by = number
        self.happened.set()


def _policy(config: NodeConfig, own: OwnData, *, over: bool) -> tuple[str | None, PolicyError | None]:
    """What the ledger says, in which the run is recorded now, or why the policy refuses. Of a run that is over all was
    released before."""
    try:
        return admitted(config, own), None
    except PolicyError as error:
        return None, None if over else error


async def _work(agent: Agent, own: OwnData, tell: Tell, ledger: str | None) -> None:
    """The program in its thread, the result file, and some patience for the neighbours."""
    loop = asyncio.get_running_loop()
    began = time.time()
    agreements = NetworkAgreements(agent, loop)
    agreements.ledger = ledger
    failed = asyncio.create_task(agent.failure())
    # Its own: programs wait in their threads for what others say. Where these wait for a thread of the same pool,
    # nobody ever says it.
    thread = ThreadPoolExecutor(1, f"sottovoce program of {agent.config.name}")
    program = asyncio.ensure_future(loop.run_in_executor(thread, answer, agent.config, own, agreements))
    program.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # nobody asks if this is cancelled
    try:
        await asyncio.wait([failed, program], return_when=asyncio.FIRST_COMPLETED)
        if not program.done():
            failed.result()  # raises what went wrong on the event loop
        told = program.result()
    except Undetermined:  # the same everywhere, once all have heard how the last stage ended
        await linger(agent, answered=False)
        agent.parting = True  # nothing is left to say
        raise
    except PeerError as error:  # what others have said, or mean, leaves no way to an answer
        await part(agent, error)
        raise
    finally:
        failed.cancel()  # nobody asks it any more
        agreements.end()
        thread.shutdown(wait=False)
        await asyncio.wait({program}, timeout=ENDING)
    counts = agent.party.counts
    agent.write_result(
        {
            "status": "converged",
            "party": agent.config.name,
            "run": agent.config.run_name,
            **told,
            **agent.departure.result(),
            **agent.fallback.result(),
            "messages_sent": counts.sent,
            "messages_received": counts.received,
            "bytes_sent": counts.bytes_sent,
            "bytes_received": counts.bytes_received,
            "seconds": time.time() - began,
            "privacy": own_privacy(agent.config),
        }
    )
    log.info("result written", extra={"path": str(agent.config.result)})
    assert agent.result is not None
    tell(agent.result)
    await linger(agent)


async def _status_server(path: Path, agent: Agent) -> asyncio.AbstractServer:
    """Answers a line of JSON on a local socket, mode 600, with another one."""

    async def tell(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            line = b""
            with suppress(TimeoutError, ValueError):  # too slow, too long
                line = await asyncio.wait_for(reader.readline(), ASKING)
            writer.write(json.dumps(_told(agent, line), allow_nan=False).encode() + b"\n")
            await writer.drain()
        writer.close()

    with suppress(FileNotFoundError):
        path.unlink()  # of a party that crashed; the journal is locked, so no other one runs
    listening = socket.socket(socket.AF_UNIX)
    try:
        # Nobody is let in before it listens, so the mode may follow the name. A umask is that of all parties here:
        # two that meet at it leave each other's behind.
        listening.bind(str(path))
        path.chmod(0o600)
        return await asyncio.start_unix_server(tell, sock=listening)
    except OSError as error:
        listening.close()
        raise SottovoceError(f"{path}: the status socket cannot be made: {error.strerror or error}.") from None


def _told(agent: Agent, line: bytes) -> dict[str, Any]:
    """What the operator asks for: how the party is, or that it says that another one has left for good."""
    try:
        asked = json.loads(line or b"{}")
        wanted, name, sure = asked.get("ask", "status"), str(asked.get("party")), asked.get("sure") is True
    except (ValueError, AttributeError, RecursionError):
        return {"error": "what was asked is no JSON object."}
    if wanted == "status":
        return agent.status()
    if wanted != "drop":
        return {"error": f"this party does not know what {wanted!r:.40} means; another version may have asked."}
    try:
        return {"told": drop(agent, name, sure=sure)}
    except InvalidInput as error:
        return {"error": str(error)}
    except JournalError as error:
        agent.fail(error)
        return {"error": str(error)}


def _metrics(address: str | None, agent: Agent) -> Any:
    """Prometheus metrics on request: what ``status`` says, as numbers. Returns how to stop them."""
    if address is None:
        return None
    from prometheus_client import CollectorRegistry, start_http_server
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    class Collector:
        def collect(self) -> Any:
            status = agent.status()
            for name in ("wakes", "messages_sent", "messages_received", "messages_old", "frames_refused"):
                yield CounterMetricFamily(f"sottovoce_{name}", f"{name} of this party", value=status[name])
            for name in ("stage", "epoch", "residual", "tol"):
                value = float("nan") if status[name] is None else status[name]
                yield GaugeMetricFamily(f"sottovoce_{name}", f"{name} of the agreement under way", value=value)
            up = GaugeMetricFamily("sottovoce_neighbour_up", "whether a neighbour is connected", labels=["neighbour"])
            for name, state in status["neighbours"].items():
                up.add_metric([name], float(state == "up"))
            yield up
            missing = GaugeMetricFamily("sottovoce_not_agreed", "who has not accepted this epoch", labels=["party"])
            for name in status["not_agreed"]:
                missing.add_metric([name], 1.0)
            yield missing

    registry = CollectorRegistry()
    registry.register(Collector())
    host, _, port = address.rpartition(":")
    try:
        server, thread = start_http_server(int(port), host.strip("[]"), registry)
    except OSError as error:
        raise SottovoceError(f"metrics = {address!r} cannot be listened on: {error.strerror or error}.") from None

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join(1.0)

    return stop
