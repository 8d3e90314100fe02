"""Strangers by the thousand before a party that runs: ``PYTHONPATH=src:tests python tests/runtime/crowd.py --help``.

Three parties agree on a mean, while connections to one of them say nothing, or a byte, or half a request, so many of
each. Prints what the party takes of memory, and how the run ended; the exit status is 0 where all was right.
"""

from __future__ import annotations

import argparse
import resource
import socket
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from runtime.trial import edit, prepare, results_of, status, wait_for

import sottovoce as sv

WAYS = {"silent": b"", "a byte": b"G", "half a request": b"GET /p0 HTTP/1.1\r\nHost: p1\r\n"}


def crowd(count: int, channels: str, folder: Path) -> bool:
    """Whether the run ended as it should; prints what the crowd took."""
    trial = prepare(folder, sv.Network.complete(3), channels=channels)
    for i in range(3):  # it lasts as long as the crowd
        edit(trial.folder / f"p{i}" / "node.toml", "pace = 0.25", "pace = 15.0")
    with trial.cluster() as cluster:
        cluster.start()
        wait_for(lambda: set(status(cluster, "p1").get("neighbours", {}).values()) == {"up"})
        host, _, port = cluster.configs["p1"].listen.rpartition(":")
        before = resident(cluster.processes["p1"].pid)
        print(f"{channels}: {before / 1e6:.0f} MB before")
        guests: list[socket.socket] = []
        for way, said in WAYS.items():
            began = time.monotonic()
            for _ in range(count):
                guest = socket.create_connection((host, int(port)), timeout=10)
                with suppress(OSError):
                    guest.sendall(said)
                guests.append(guest)
            took, now = time.monotonic() - began, resident(cluster.processes["p1"].pid)
            print(f"{channels}: {count:,} {way}, in {took:.1f} s: {(now - before) / 1e6:+.0f} MB")
            for guest in guests:
                guest.close()
            guests.clear()
        results_of(cluster, 120)
        trial.check(cluster)
        ends, quiet = cluster.wait(60.0), "Traceback" not in "".join(map(cluster.log, cluster.names))
        print(f"{channels}: exit statuses {sorted(ends.values())}, {'no' if quiet else 'a'} traceback")
        return quiet and set(ends.values()) == {0}


def resident(process: int) -> int:
    """Bytes of memory."""
    text = Path(f"/proc/{process}/status").read_text()
    return 1024 * int(text.split("VmRSS:")[1].split()[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000, help="connections of each kind (10,000)")
    parser.add_argument("--channels", choices=["encrypted", "open"], action="append", help="both, unless one is given")
    asked = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    right = True
    for channels in asked.channels or ("encrypted", "open"):
        with tempfile.TemporaryDirectory() as folder:
            right &= crowd(asked.count, channels, Path(folder))
    return not right


if __name__ == "__main__":
    sys.exit(main())
