"""All parties of a plan as processes of this machine, for trials and for tests of real faults; and asking a party how
it is."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..errors import InvalidInput
from .forked import ForkedParty, ForkServer
from .plan.node_file import NodeConfig, read_node_file

GRACE = 5.0  # seconds between asking a process to end and ending it
LOG = "node.log"
ANSWER = 2**20  # bytes of a status, at most


def free_ports(n: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on now. They are not reserved: use them soon."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]  # all at once, so that they differ
    ports = [int(listening.getsockname()[1]) for listening in sockets]
    for listening in sockets:
        listening.close()
    return ports


class Cluster:
    """All parties of a plan as processes of this machine, for trials.

    A party's output is appended to ``node.log`` in its folder. Leaving the ``with`` block ends the processes that were
    started here, and no others.

    Parameters
    ----------
    folder : str or Path
        Has ``<party>/node.toml`` for each, as ``sottovoce plan --generate-keys`` writes them.

    Raises
    ------
    InvalidInput
        No such files, or a party that is not there.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sottovoce.runtime import Cluster, read_plan, write_plan
    >>> text = '''run = {name = "ages", c = 2.0}
    ... network = {generator = "complete"}
    ... statistic = {type = "mean", columns = ["age"]}
    ... party = [
    ...     {name = "ann", address = "10.0.0.1:7401", data = "data.csv"},
    ...     {name = "bob", address = "10.0.0.2:7401", data = "data.csv"},
    ... ]'''
    >>> with TemporaryDirectory() as folder:
    ...     plan, out = Path(folder) / "plan.toml", Path(folder) / "parties"
    ...     _ = plan.write_text(text), (Path(folder) / "data.csv").write_text("age\\n41\\n")
    ...     write_plan(read_plan(plan), out, generate_keys=True)
    ...     parties = Cluster(out)
    >>> parties.names, parties.running("ann")
    (['ann', 'bob'], False)

    As long as the folder is there::

        with Cluster("parties") as cluster:
            cluster.start()
            assert set(cluster.wait(60.0).values()) == {0}
            results = cluster.results()
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        files = sorted(self.folder.glob("*/node.toml"))
        if not files:
            raise InvalidInput(f"{folder} holds no <party>/node.toml. Write them with: sottovoce plan --generate-keys")
        configs = [read_node_file(path) for path in files]
        self.configs: dict[str, NodeConfig] = {config.name: config for config in configs}
        self.processes: dict[str, ForkedParty] = {}
        self._server: ForkServer | None = None

    @property
    def names(self) -> list[str]:
        """All parties, by index."""
        return sorted(self.configs, key=lambda name: self.configs[name].index)

    def start(self, names: Iterable[str] | None = None) -> None:
        """Start these parties, or all."""
        for name in self.names if names is None else names:
            if self.running(name):
                raise InvalidInput(f"{name} runs already.")
            path = self._config(name).path
            self._server = self._server or ForkServer()
            self.processes[name] = self._server.start(path, path.parent / LOG)

    def running(self, name: str) -> bool:
        """Whether a party was started here, and has not ended."""
        process = self.processes.get(name)
        return process is not None and process.poll() is None

    def kill(self, name: str, how: int = signal.SIGKILL) -> None:
        """Send a signal to a party that was started here: ``SIGKILL`` for a crash, ``SIGSTOP`` for a hang, ..."""
        self._config(name)
        if not self.running(name):
            raise InvalidInput(f"{name} does not run; start it first.")
        self.processes[name].send_signal(how)
        if how == signal.SIGKILL:
            self.processes[name].wait()

    def restart(self, name: str) -> None:
        """Start a party again, from its journal; one that still runs is asked to end first."""
        self._end([name])
        self.start([name])

    def wait(self, timeout: float) -> dict[str, int]:
        """Exit statuses, once all have ended; ``TimeoutError`` where some still run after so many seconds."""
        deadline = time.monotonic() + timeout
        for name, process in self.processes.items():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                late = ", ".join(other for other in self.processes if self.running(other))
                raise TimeoutError(f"{name} still runs after {timeout:g} s; running: {late}. See {LOG}.") from None
        return {name: process.wait() for name, process in self.processes.items()}

    def results(self) -> dict[str, dict[str, Any]]:
        """What each party wrote down, as far as it did."""
        paths = {name: self.configs[name].result for name in self.names}
        return {name: json.loads(path.read_text(encoding="utf-8")) for name, path in paths.items() if path.exists()}

    def log(self, name: str) -> str:
        """All that a party has printed."""
        path = self._config(name).path.parent / LOG
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def status(self, name: str) -> dict[str, Any]:
        """What a running party says of itself."""
        return ask(self._config(name).socket)

    def _config(self, name: str) -> NodeConfig:
        if name not in self.configs:
            raise InvalidInput(f"{name!r} is no party of {self.folder}; they are {', '.join(self.names)}.")
        return self.configs[name]

    def _end(self, names: Iterable[str]) -> None:
        ending = [self.processes[name] for name in names if self.running(name)]
        for process in ending:
            process.terminate()
        deadline = time.monotonic() + GRACE
        for process in ending:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()  # ends a stopped process too
                process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(self.processes)
        if self._server is not None:
            self._server.close()
            self._server = None


def drop(path: str | Path, party: str, *, sure: bool) -> str:
    """Tell the party that listens on this Unix socket that another one has left for good; unless ``sure``, only ask
    what that would mean. Returns what the party says to that; ``InvalidInput`` where it refuses."""
    told = ask(path, {"ask": "drop", "party": party, "sure": sure})
    if "told" not in told:
        raise InvalidInput(str(told.get("error", "the party that runs here is of a version that cannot do this.")))
    return str(told["told"])


def ask(path: str | Path, asked: dict[str, Any] | None = None, timeout: float = 5.0) -> dict[str, Any]:
    """What the party that listens on this Unix socket answers, its status unless something else is asked for: one JSON
    object, ended by a newline."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout)
            connection.connect(str(path))
            connection.sendall(json.dumps(asked or {"ask": "status"}).encode() + b"\n")
            line = _line(connection, time.monotonic() + timeout)
    except (FileNotFoundError, ConnectionRefusedError):  # a party that crashed leaves its socket behind
        raise InvalidInput(f"{path}: nobody answers there. The party does not run; start it: sottovoce node") from None
    except TimeoutError:
        raise InvalidInput(f"{path}: no answer within {timeout:g} s. The party hangs, or is stopped.") from None
    except OSError as error:
        raise InvalidInput(f"{path}: the party cannot be asked: {error.strerror or error}.") from None
    try:
        answer = json.loads(line) if line.endswith(b"\n") else None
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise InvalidInput(f"{path}: what answers there is no party of this version.")
    return answer


def _line(connection: socket.socket, deadline: float) -> bytes:
    """What comes up to a newline, in all until the deadline: one byte a second must not keep anybody waiting."""
    line = b""
    while not line.endswith(b"\n") and len(line) <= ANSWER:
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        part = connection.recv(2**16)
        if not part:
            break
        line += part
    return line
