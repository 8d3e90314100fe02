"""What a party does once: it writes the parameters down, ends its journal, and takes a goodbye for what it is."""

from __future__ import annotations

import pytest
from runtime.leavers import Stage
from runtime.test_party import Triangle

import sottovoce as sv
from sottovoce.runtime.plan.node_file import NodeConfig

RING = sv.Network.ring(3)


@pytest.fixture
def triangle(identities) -> Triangle:
    return Triangle(identities)


def test_the_parameters_are_written_down_once(tmp_path, monkeypatch):
    """By whoever reads the node file; keys, signatures, hellos and the journal take them from there."""
    stage, made = Stage(tmp_path, RING), []
    make = NodeConfig.parameters
    monkeypatch.setattr(NodeConfig, "parameters", lambda config: made.append(config.name) or make(config))

    async def plot(stage: Stage) -> None:
        stage.start()

    assert len(stage.play(plot)) == 3
    assert made.count("p0") <= 1
