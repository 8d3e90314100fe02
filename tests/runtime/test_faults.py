"""Real parties on this machine, and real faults: whatever breaks, the answer is that of all data in one place."""

from __future__ import annotations

import random
import signal
import time

import pytest
from runtime.proxy import Proxies
from runtime.trial import Trial, prepare, results_of, status, wait_for

import sottovoce as sv
from sottovoce.runtime.cluster import Cluster

# Mean wakes per second. A run takes some 100 wakes for each of its agreements, so the faults are over before it is, on
# every machine.
CLOCK = 25.0


def left_in_order(trial: Trial, cluster: Cluster) -> None:
    """The right answer everywhere, everybody gone by itself, and nothing in the logs that should not be there."""
    results_of(cluster)
    trial.check(cluster)
    assert cluster.wait(30.0) == dict.fromkeys(cluster.names, 0)
    for name in cluster.names:
        for words in ("Traceback", "internal error", "refused a frame"):
            assert words not in cluster.log(name), name


def in_stage(cluster: Cluster, name: str, stage: int) -> None:
    told = wait_for(lambda: (told := status(cluster, name)).get("stage", -1) >= stage and told, what=f"stage {stage}")
    assert told["stage"] == stage


def test_a_storm_of_kills(tmp_path):
    """Random parties at random times, and one that hangs for a while."""
    trial = prepare(tmp_path, sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3)]), wake=CLOCK)
    chance = random.Random(3)
    with trial.cluster() as cluster:
        cluster.start()
        in_stage(cluster, "p0", 0)
        cluster.kill("p2", signal.SIGSTOP)
        for _ in range(7):
            time.sleep(chance.uniform(0.05, 0.4))
            name = chance.choice(["p0", "p1", "p3", "p4"])
            if cluster.running(name):
                cluster.kill(name)
            cluster.start([name])
        assert not cluster.results()
        cluster.kill("p2", signal.SIGCONT)
        left_in_order(trial, cluster)


def test_a_storm_of_kills_on_a_tree(tmp_path):
    """Everybody at random times, the root included; while one hangs nobody can be done."""
    trial = prepare(tmp_path, sv.Network.grid(2, 3), wake=CLOCK, overlay="tree")
    chance = random.Random(5)
    with trial.cluster() as cluster:
        assert cluster.configs["p0"].route.is_tree
        root = cluster.configs["p0"].names[cluster.configs["p0"].route.root]
        hangs = next(name for name in cluster.names if name != root)
        cluster.start()
        in_stage(cluster, hangs, 0)
        cluster.kill(hangs, signal.SIGSTOP)
        for name in [root, *(chance.choice([other for other in cluster.names if other != hangs]) for _ in range(6))]:
            time.sleep(chance.uniform(0.05, 0.4))
            cluster.kill(name)
            cluster.start([name])
        assert not cluster.results()
        cluster.kill(hangs, signal.SIGCONT)
        left_in_order(trial, cluster)


def test_kills_in_every_stage_and_of_everybody(tmp_path):
    """A linear model with robust errors has three agreements: on missing values, on sums of products, and on squares of
    residuals, which hang on the second. Those who come back go through the answers that they have, and on."""
    trial = prepare(tmp_path, sv.Network.ring(4), "robust", channels="open", wake=CLOCK)
    with trial.cluster() as cluster:
        cluster.start()
        for stage, victims in enumerate((["p0"], ["p1", "p2"], ["p0", "p1", "p2", "p3"])):
            in_stage(cluster, "p3", stage)
            time.sleep(0.3)
            for name in victims:
                cluster.kill(name)
            cluster.start(victims)
        left_in_order(trial, cluster)
        for result in cluster.results().values():
            assert result["agreements"] == 3


@pytest.mark.parametrize("channels", ["encrypted", "open"])
def test_links_that_misbehave(tmp_path, channels):
    """On every edge of a ring, one fault after the other. The party that dials knows why, and dials again."""
    with Proxies() as proxies:
        trial = prepare(tmp_path, sv.Network.ring(4), channels=channels, wake=CLOCK, proxies=proxies)
        with trial.cluster() as cluster:
            cluster.start()
            in_stage(cluster, "p0", 0)
            edges = list(trial.through.values())
            for garble in ("cut short", "twice", "overtaken", "bit"):
                before = [edge.connections for edge in edges]
                for edge in edges:
                    edge.garble = garble
                wait_for(lambda before=before: all(e.connections > b for e, b in zip(edges, before, strict=True)))
                for edge in edges:
                    edge.garble = ""
            for edge in edges[:2]:
                edge.refusing = True
                edge.hang_up()
            wait_for(lambda: status(cluster, "p0").get("neighbours", {}).get("p1", "").startswith("down"))
            edges[2].still = True  # an outage, after which TCP goes on where it was
            edges[3].rate = 5_000
            time.sleep(1.0)
            for edge in edges:
                edge.refusing = edge.still = False
                edge.delay, edge.rate = 0.02, float("inf")
            assert not cluster.results()
            results_of(cluster)
            trial.check(cluster)
            assert cluster.wait(30.0) == dict.fromkeys(cluster.names, 0)
            for name in cluster.names:
                assert "Traceback" not in cluster.log(name)
                assert "internal error" not in cluster.log(name)


def test_a_connection_that_dies_without_a_word_is_noticed(tmp_path):
    """By keepalive, after 10 to 15 seconds. Nobody else is disturbed; over the new connection the run ends, which it
    cannot without the frozen messages of every edge."""
    with Proxies() as proxies:
        trial = prepare(tmp_path, sv.Network.complete(3), proxies=proxies, wake=CLOCK)
        with trial.cluster() as cluster:
            cluster.start()
            in_stage(cluster, "p0", 0)
            wait_for(lambda: status(cluster, "p0").get("wakes", 0) > 3)
            proxy = trial.through[0, 1]
            began, before = time.monotonic(), proxy.connections
            proxy.swallow()
            wait_for(lambda: proxy.connections > before, 25.0, "a new connection")
            assert time.monotonic() - began > 4.5  # a ping is given 5 seconds; one may have been on its way
            assert not cluster.results()
            assert "disconnected" not in cluster.log("p2")
            left_in_order(trial, cluster)
