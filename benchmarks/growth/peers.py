"""Other packages on the same task, each in an environment of its own: installed by name, run through what its
documentation says, and never read. Nothing of them is part of this package: they are under the GPL and the AGPL."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sottovoce as sv

from ..measure import ROOT
from ..networks import THETA, C, network

BUILD = ROOT / "build" / "peers"
ONE_THREAD = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class Missing(Exception):
    """Why a peer cannot be measured here."""


@dataclass(frozen=True)
class Peer:
    """``program`` defines ``play(count)``: so many iterations from the start, and every node's answer."""

    name: str
    method: str
    program: str
    python: tuple[int, int] = (3, 11)  # the least that it installs on


BEGINNING = """
import json, resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))
resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds} + 5))
import numpy as np

task, least = np.load(sys.argv[1]), float(sys.argv[2])
edges, s = task["edges"], task["s"]
c, theta = float(task["c"]), float(task["theta"])
"""

# The ADMM of both is theta-averaged PDMM, as they document it: z_ij <- (1 - a) z_ij - a z_ji + 2 a rho x_j.
TVOPT = """
from tvopt.costs import Quadratic_1D, SeparableCost
from tvopt.distributed_solvers import admm
from tvopt.networks import Network

adjacency = np.zeros((len(s), len(s)))
adjacency[edges[:, 0], edges[:, 1]] = adjacency[edges[:, 1], edges[:, 0]] = 1
cost = SeparableCost([Quadratic_1D(2.0, -2.0 * number) for number in s])
problem = {"network": Network(adjacency), "f": cost}

def play(count):
    return np.ravel(admm(problem, penalty=c, rel=theta, num_iter=count)[0])
"""

DECENT_BENCH = """
import networkx as nx
from decent_array import interoperability as iop
from decent_bench.agents import Agent
from decent_bench.algorithms.p2p import ADMM
from decent_bench.costs import QuadraticCost
from decent_bench.networks import P2PNetwork

iop.set_backend("numpy")
array = lambda numbers: iop.from_numpy(np.array(numbers))
costs = [QuadraticCost(array([[2.0]]), array([-2.0 * number])) for number in s]
agents = [Agent(cost, state_snapshot_period=10**9) for cost in costs]  # keeps no history
graph = nx.Graph()
graph.add_nodes_from(range(len(s)))
graph.add_edges_from(edges.tolist())
network = P2PNetwork(graph, agents)

def play(count):
    ADMM(penalty=c, relaxation=theta).run(network, count)
    return np.array([iop.to_numpy(agent.x)[0] for agent in agents])
"""

ENDING = """
def timed(count):
    began = time.process_time()
    return play(count), time.process_time() - began

first = timed(1)[1]  # with what comes before any iteration
count, (x, took) = 2, timed(2)
while took - first < least:
    count *= 2
    x, took = timed(count)
peak = int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) * 1024
off = float(np.abs(x - s.mean()).max())
ns = 1e9 * (took - first) / (count - 1) / (2 * len(edges))
print(json.dumps({"iterations": count, "ns": ns, "peak": peak, "error": off}))
"""

PEERS = [Peer("tvopt", "ADMM", TVOPT), Peer("decent-bench", "ADMM", DECENT_BENCH, (3, 13))]


def interpreter(peer: Peer) -> str:
    """A Python that is new enough."""
    if sys.version_info >= peer.python:
        return sys.executable
    for minor in range(peer.python[1], 20):
        found = shutil.which(f"python3.{minor}")
        if found and subprocess.run([found, "-c", ""], capture_output=True).returncode == 0:
            return found
    raise Missing(f"needs Python {peer.python[0]}.{peer.python[1]} or later, and there is none here")


def environment(peer: Peer) -> Path:
    """The Python of its own environment, made where it is not there yet."""
    folder = BUILD / peer.name
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        subprocess.run([interpreter(peer), "-m", "venv", "--clear", str(folder)], check=True, capture_output=True)
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", peer.name], capture_output=True, text=True)
        if done.returncode:
            raise Missing(f"does not install: {done.stderr.strip().splitlines()[-1]}")
        (folder / "ready").touch()
    return python


def about(peer: Peer, python: Path) -> dict[str, str]:
    """Its version and its licence, as its metadata say."""
    code = (
        "import json, sys; from importlib.metadata import metadata; m = metadata(sys.argv[1]); print(json.dumps({"
        "'version': m['Version'], 'licence': m.get('License-Expression') or m.get('License') or "
        "'; '.join(c for c in m.get_all('Classifier', []) if c.startswith('License'))}))"
    )
    return json.loads(subprocess.run([python, "-c", code, peer.name], check=True, capture_output=True).stdout)


def measured(peer: Peer, graph: str, n: int, least: float, seconds: int, memory: int) -> dict[str, Any]:
    """One point of at least ``least`` seconds; ``Missing`` where it takes more time or memory than it may, or fails."""
    made = network(graph, n)
    with tempfile.TemporaryDirectory() as folder:
        task = Path(folder) / "task.npz"
        s = np.random.default_rng(2).standard_normal(made.n)
        np.savez(task, edges=made.edges, s=s, c=C, theta=THETA / 2)  # their step is to be below 1
        program = BEGINNING.format(memory=memory, seconds=seconds) + peer.program + ENDING
        command = [str(environment(peer)), "-c", program, str(task), str(least)]
        found = answer(command, n, 10 * seconds)  # of the wall's: others have the machine too
    own = sv.solve(sv.averaging(made, s), c=C, theta=THETA / 2, tol=0, max_iter=found["iterations"])
    if not np.isclose(found["error"], np.abs(own.x - s.mean()).max(), rtol=1e-6, atol=1e-12):
        raise Missing(f"n = {n:,}: after {found['iterations']} iterations its answer is not that of the same iteration")
    return {"n": made.n, "edges": 2 * made.m, **found}


def answer(command: list[str], n: int, seconds: float) -> dict[str, Any]:
    """What a process prints as JSON; it has one thread, and so much time."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, cwd=ROOT.parent, env=ONE_THREAD)
    except subprocess.TimeoutExpired:
        raise Missing(f"n = {n:,} takes more than {seconds:.0f} s") from None
    if done.returncode == -signal.SIGXCPU:
        raise Missing(f"n = {n:,} takes more processor time than it may")
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"ended with {done.returncode}"]
        raise Missing(f"n = {n:,}: {last[0][:160]}")
    return json.loads(done.stdout.splitlines()[-1])
