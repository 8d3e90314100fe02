"""Data that several tests share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import sottovoce as sv


def shards(rng: np.random.Generator, n: int, rows: int, d: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Random regression data, one shard per node."""
    return [(rng.normal(size=(rows, d)), rng.normal(size=rows)) for _ in range(n)]


def by_edge(network: sv.Network) -> np.ndarray:
    """A penalty for each edge, of different sizes."""
    return np.random.default_rng(7).uniform(0.1, 1.0, network.m)


def pooled_least_squares(data: list[tuple[np.ndarray, np.ndarray]], ridge: float = 0.0) -> np.ndarray:
    A = np.concatenate([shard[0] for shard in data])
    b = np.concatenate([shard[1] for shard in data])
    return np.linalg.solve(A.T @ A + ridge * np.eye(A.shape[1]), A.T @ b)


def counted(work: Callable[[], Any]) -> tuple[Any, int]:
    """What some work gives, and how many calls it makes: a measure of its length that no busy machine changes."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        given = work()
    finally:
        sys.setprofile(before)
    return given, calls
