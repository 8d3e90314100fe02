"""A link on the route stays dead while both its parties live: all go on over the whole network, with the right answer
and a word about it; nothing else does that, and nobody can do it to others."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema
import numpy as np
import pytest
from runtime.leavers import Stage
from runtime.trial import ACCURACY

import sottovoce as sv

SCHEMA = json.loads((files("sottovoce.runtime") / "result.schema.json").read_text())
HOUSE = sv.Network.from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (3, 4)])
AFTER = 30.0


def tree_edge(stage: Stage, k: int = 0) -> tuple[str, str]:
    config = stage.configs["p0"]
    i, j = config.route.edges[k]
    return config.names[i], config.names[j]


def check(stage: Stage, results: dict[str, Any], *dead: tuple[str, str]) -> None:
    assert sorted(results) == sorted(stage.configs), stage.refused
    for name, result in results.items():
        jsonschema.validate(result, SCHEMA)
        np.testing.assert_allclose(result["answer"]["mean"], stage.mean(), rtol=0, atol=ACCURACY, err_msg=name)
        told = result["fallback"]
        assert (told is None) == (not dead)
        assert told is None or told["dead"] == sorted(map(list, dead))


def test_a_tree_without_trouble(tmp_path):
    async def plot(stage: Stage) -> None:
        stage.start()

    stage = Stage(tmp_path, HOUSE, overlay="tree")
    check(stage, stage.play(plot))


@pytest.mark.parametrize("k", range(4))
def test_a_link_that_stays_dead(tmp_path, k):
    async def plot(stage: Stage) -> None:
        stage.start()
        await stage.until(lambda: all(agent.met.is_set() for agent in stage.agents.values()) and len(stage.agents) == 5)
        stage.hub.cut(*tree_edge(stage, k))

    stage = Stage(tmp_path, HOUSE, overlay="tree")
    check(stage, stage.play(plot), tree_edge(stage, k))
