"""Shamir's shares (1979): a secret is the value at 0 of a polynomial of degree ``t`` modulo a prime, and a share is its
value at another point.

The other coefficients are uniform. So ``t`` shares are uniform whatever the secret, and ``t + 1`` determine it. Shares
of several secrets at one point add up to a share of their sum.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from ..errors import InvalidInput
from .fixed_point import Integers

BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71)


def deal(secrets: Sequence[int], t: int, points: Sequence[int], p: int, rng: random.Random) -> Integers:
    """A share of every secret at every point, ``(len(secrets), len(points))``."""
    coefficients = [[secret, *(rng.randrange(p) for _ in range(t))] for secret in secrets]
    by_degree = np.array(coefficients, dtype=object).T[:, :, None]
    at = np.array(points, dtype=object)
    shares = np.zeros((len(secrets), len(points)), dtype=object)
    for coefficient in by_degree[::-1]:  # Horner
        shares = (shares * at + coefficient) % p
    return shares


def reconstruct(points: Sequence[int], shares: Integers, p: int) -> Integers:
    """The secrets, from their shares ``(..., len(points))`` at ``t + 1`` points."""
    return np.asarray(shares @ np.array(at_zero(points, p), dtype=object) % p)


def at_zero(points: Sequence[int], p: int) -> list[int]:
    """Lagrange's weights: ``f(0) = sum_k weight_k f(point_k)`` for polynomials of a smaller degree than points."""
    weights = []
    for point in points:
        above = below = 1
        for other in points:
            if other != point:
                above, below = above * other % p, below * (other - point) % p
        weights.append(above * pow(below, -1, p) % p)
    return weights


def is_prime(p: int) -> bool:
    """Miller and Rabin's test with twenty bases: certain below 2^81, and beyond for all but made-up numbers."""
    if p < 2 or any(p % base == 0 for base in BASES):
        return p in BASES
    odd, twos = p - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    return all(
        (power := pow(base, odd, p)) in (1, p - 1)
        or any((power := power * power % p) == p - 1 for _ in range(twos - 1))
        for base in BASES
    )


def settled_threshold(threshold: int | None, holders: int, what: str) -> int:
    """``t``, such that ``t + 1`` of the holders reconstruct: by default half of them, rounded up."""
    if threshold is None:
        threshold = max(1, (holders - 1) // 2)
    if not 1 <= threshold < holders:
        raise InvalidInput(
            f"threshold must be from 1 to {holders - 1}, so that threshold + 1 of {holders} {what} reconstruct; "
            f"got {threshold}."
        )
    return threshold


def asked_threshold(threshold: int | None) -> int | None:
    """One that may fit some network."""
    if threshold is None:
        return None
    if isinstance(threshold, bool) or not isinstance(threshold, int | np.integer) or threshold < 1:
        raise InvalidInput(
            f"threshold must be an integer >= 1, how many may collude and learn nothing, or None; got {threshold!r}."
        )
    return int(threshold)
