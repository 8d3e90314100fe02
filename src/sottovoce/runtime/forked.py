"""Parties as forks of one process that has loaded everything (:mod:`sottovoce.cli.fork_nodes`): this end of its
socket, with the few words of ``subprocess.Popen`` that a trial needs."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

LOOK = 0.01  # seconds between two looks at a party that is waited for


class ForkServer:
    """The process that parties are forked from. It ends when it is closed; parties that run then run on."""

    def __init__(self) -> None:
        here, there = socket.socketpair()
        with there:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "sottovoce.cli.fork_nodes", str(there.fileno())],
                stdin=subprocess.DEVNULL, pass_fds=[there.fileno()],
            )  # fmt: skip
        self._connection = here
        self._lines = here.makefile("rw", encoding="utf-8")

    def start(self, file: Path, log: Path) -> ForkedParty:
        """A party of this ``node.toml``, which appends what it prints to a log."""
        return ForkedParty(self, self.ask("start", file=str(file.absolute()), log=str(log.absolute())))

    def ask(self, what: str, **details: Any) -> Any:
        """One line there, one line back."""
        try:
            self._lines.write(json.dumps({"ask": what, **details}) + "\n")
            self._lines.flush()
            line = self._lines.readline()
        except OSError:
            line = ""
        if not line:
            raise RuntimeError("the process that parties are forked from has ended; stderr has what it said.")
        return json.loads(line)

    def close(self) -> None:
        """Let it go."""
        with suppress(OSError):  # it has ended by itself, and what was still to be said is lost
            self._lines.close()
        self._connection.close()
        self._process.wait()


class ForkedParty:
    """A party that was started; what is asked of it is asked of its parent."""

    def __init__(self, server: ForkServer, pid: int) -> None:
        self._server = server
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit status, minus the number of a signal that ended it; ``None`` as long as it runs."""
        if self.returncode is None:
            self.returncode = self._server.ask("status", process=self.pid)
        return self.returncode

    def wait(self, timeout: float = float("inf")) -> int:
        """Its exit status, once it has ended; ``subprocess.TimeoutExpired`` where it runs after so many seconds."""
        deadline = time.monotonic() + timeout
        while (status := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(f"party {self.pid}", timeout)
            time.sleep(LOOK)
        return status

    def send_signal(self, number: int) -> None:
        """Nothing where it has ended."""
        if self.poll() is None:
            self._server.ask("signal", process=self.pid, number=int(number))

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it, at once."""
        self.send_signal(signal.SIGKILL)
