"""Many ``sottovoce node`` on one machine from one process that has loaded everything: each party is a fork of it.

To load NumPy, TLS and the rest is a third of what a party of fifty costs. Whoever starts this process holds the other
end of a socket, and asks it line by line; :mod:`sottovoce.runtime.forked` is that end.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import traceback
from typing import Any, NoReturn

from . import run_node


def main(descriptor: int) -> None:
    """Answer until the other end is closed; parties that still run then run on."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: threads do not survive a fork
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a key meant for who started this, and who will close the socket
    run_node.load()
    with socket.socket(fileno=descriptor) as connection, connection.makefile("rw", encoding="utf-8") as lines:
        for line in lines:
            asked = json.loads(line)
            lines.write(json.dumps(ANSWERS[asked.pop("ask")](connection, **asked)) + "\n")
            lines.flush()


def start(connection: socket.socket, file: str, log: str) -> int:
    """The process id of a party that has just been started."""
    process = os.fork()
    if not process:
        _become_party(connection, file, log)
    return process


def status(connection: socket.socket, process: int) -> int | None:
    """The exit status of a party, minus the number of a signal that ended it; ``None`` as long as it runs."""
    ended, how = os.waitpid(process, os.WNOHANG)
    return os.waitstatus_to_exitcode(how) if ended else None


def send_signal(connection: socket.socket, process: int, number: int) -> None:
    """To a party whose status was not given away yet, so that its process id is still its own."""
    os.kill(process, number)


ANSWERS: dict[str, Any] = {"start": start, "status": status, "signal": send_signal}


def _become_party(connection: socket.socket, file: str, log: str) -> NoReturn:
    """What the command ``sottovoce node`` does, with its output in a file. Never returns: what stands above in the
    stack belongs to the process that was forked."""
    code = 1
    try:
        os.close(connection.detach())
        signal.signal(signal.SIGINT, signal.default_int_handler)
        output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(output, stream.fileno())
        os.close(output)
        code = run_node.main(["node", file])
    except BaseException:
        traceback.print_exc()
    finally:
        run_node.leave(code)


if __name__ == "__main__":
    main(int(sys.argv[1]))
