"""What agreements over a tree cost on real connections: frames of the demonstration, and time over long lines."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np

import sottovoce as sv

from .measure import Row

DELAY = 0.05  # seconds that everything takes, in each direction


def over_a_tree(quick: bool) -> list[Row]:
    """The demonstration with its kill, and ten parties on lines with a delay."""
    return [*([] if quick else _demonstration()), *_long_lines(quick)]


def _demonstration() -> list[Row]:
    command = [sys.executable, "-m", "sottovoce", "demo", "--json"]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, timeout=180).stdout)
    sent, n, agreements = told["messages"], 10, 1
    alone = 2 * (n - 1) * agreements
    how = f"a regression of {n} parties, {agreements} agreement, one killed; all frames. Words alone: {alone}"
    return [Row("frames of the demonstration", sent, 1_500, "at most", how, "frames")]


def _long_lines(quick: bool) -> list[Row]:
    from sottovoce.runtime.cluster import Cluster, free_ports
    from sottovoce.runtime.plan.plan import read_plan, write_plan

    n = 4 if quick else 10
    network, ports = sv.Network.random_geometric(n, seed=1), free_ports(n)
    names = [f"p{i}" for i in range(n)]
    rows = np.round(np.random.default_rng(0).normal(size=(n, 3)), 6)  # multiples of the unit that columns have
    with tempfile.TemporaryDirectory() as folder, Lines() as lines:
        base = Path(folder)
        parties = [
            f'[[party]]\nname = "{name}"\naddress = "127.0.0.1:{port}"\ndata = "{name}.csv"'
            for name, port in zip(names, ports, strict=True)
        ]
        edges = [[int(i), int(j)] for i, j in network.edges]
        text = (
            f'[run]\nname = "lines"\n[network]\nedges = {edges}\n[statistic]\ntype = "mean"\ncolumns = ["a", "b", "c"]'
        )
        (base / "plan.toml").write_text("\n".join([text, *parties]) + "\n")
        for name, row in zip(names, rows, strict=True):
            (base / f"{name}.csv").write_text("a,b,c\n" + ",".join(map(repr, row.tolist())) + "\n")
        write_plan(read_plan(base / "plan.toml"), base / "run", generate_keys=True)
        for i, j in edges:  # p_i dials, as its name is the smaller one
            path = base / "run" / names[i] / "node.toml"
            old, new = f'"127.0.0.1:{ports[j]}"', f'"{lines.to(ports[j])}"'
            path.write_text(path.read_text().replace(old, new))
        with Cluster(base / "run") as cluster:
            cluster.start()
            cluster.wait(120)
            results = cluster.results().values()
    assert max(np.abs(np.subtract(result["answer"]["mean"], rows.mean(axis=0))).max() for result in results) < 1e-12
    each = max(result["seconds"] for result in results)
    how = f"{1e3 * DELAY:.0f} ms each way; a mean takes one, and the handshakes are in it"
    return [Row(f"an agreement of {n} parties over long lines", each, 4.0, "at most", how, "s")]


class Lines:
    """TCP connections of this machine that take ``DELAY``."""

    def __enter__(self) -> Lines:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.loop.call_soon_threadsafe(self._end)
        self.thread.join()

    def _end(self) -> None:
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.call_soon(self.loop.stop)

    def to(self, port: int) -> str:
        """An address behind which ``port`` is."""

        async def joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(OSError):
                there = await asyncio.open_connection("127.0.0.1", port)
                await asyncio.gather(self._move(reader, there[1]), self._move(there[0], writer))
                return
            writer.close()

        listening = asyncio.run_coroutine_threadsafe(asyncio.start_server(joined, "127.0.0.1", 0), self.loop).result()
        return f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"

    async def _move(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(2**14):
                self.loop.call_later(DELAY, _write, writer, data)
        self.loop.call_later(DELAY, writer.close)


def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    if not writer.is_closing():
        writer.write(data)
