"""Fixtures that several tests share. Seeds are fixed; every tolerance says where it comes from."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


@pytest.fixture
def network() -> sv.Network:
    return sv.Network.random_geometric(12, seed=4)
