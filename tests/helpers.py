"""Data that several tests share."""

from __future__ import annotations

import numpy as np


def shards(rng: np.random.Generator, n: int, rows: int, d: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Random regression data, one shard per node."""
    return [(rng.normal(size=(rows, d)), rng.normal(size=rows)) for _ in range(n)]


def pooled_least_squares(data: list[tuple[np.ndarray, np.ndarray]], ridge: float = 0.0) -> np.ndarray:
    A = np.concatenate([shard[0] for shard in data])
    b = np.concatenate([shard[1] for shard in data])
    return np.linalg.solve(A.T @ A + ridge * np.eye(A.shape[1]), A.T @ b)
