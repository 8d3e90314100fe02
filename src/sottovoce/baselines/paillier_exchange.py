"""What the two ends of an edge do with ciphertexts in a round of Paillier consensus, and how long it takes them."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from ..costs.base import Array
from ..network import Network
from .base import randomness
from .paillier import PrivateKey, generate_key

WEIGHT = 2**16  # the largest weight, which stands for 1
Index = npt.NDArray[np.int64]
Work = Literal["key", "question", "answer", "decryption"]
Made = TypeVar("Made")


class Clock:
    """Seconds of the processor for each kind of work, and how often it was done."""

    def __init__(self) -> None:
        self.spent: dict[Work, float] = defaultdict(float)
        self.times: dict[Work, int] = defaultdict(int)

    def timed(self, work: Work, do: Callable[[], Made]) -> Made:
        start = time.process_time()
        made = do()
        self.spent[work] += time.process_time() - start
        self.times[work] += 1
        return made

    def of(self, work: Work, times: int) -> float:
        """The seconds of so much work, at the mean of what was measured."""
        return times * self.spent[work] / self.times[work]


class Parties:
    """All parties with their keys. They encrypt so many exchanges over an edge, None is all of them, and then stop."""

    def __init__(self, bits: int, rng: random.Random, exchanges: int | None) -> None:
        self.bits, self.rng, self.left, self.done = bits, rng, exchanges, 0
        self.keys: dict[int, PrivateKey] = {}
        self.questions: dict[tuple[int, int], int] = {}
        self.clock = Clock()

    def encrypt(self, products: Array, X: Array, weights: Index, i: Index, j: Index) -> None:
        """Replace products ``a_ij a_ji (X_j - X_i)``, edge by edge, by those that ``i`` and ``j`` decrypt."""
        now = len(products) if self.left is None else min(self.left, len(products))
        self.left = None if self.left is None else self.left - now
        self.done += now
        self.questions.clear()
        for edge, entry in np.ndindex(now, products.shape[1]):
            ends = int(i[edge]), int(j[edge])
            mine, yours = (int(X[end, entry]) for end in ends)
            a, b = (int(weight) for weight in weights[:, edge, entry])
            at_i = a * self.decrypted(ends[0], entry, mine, yours, b)
            at_j = b * self.decrypted(ends[1], entry, yours, mine, a)
            assert at_i == -at_j  # both move by the same, and the sum stays
            products[edge, entry] = at_i

    def decrypted(self, asks: int, entry: int, mine: int, yours: int, weight: int) -> int:
        """``weight (yours - mine)``, as the one who asks finds it. One question is for all neighbours."""
        key, clock, rng = self.key_of(asks), self.clock, self.rng
        public = key.public
        if (asks, entry) not in self.questions:
            self.questions[asks, entry] = clock.timed("question", lambda: public.encrypt(-mine, rng))
        question = self.questions[asks, entry]
        # New randomness comes last: from a mere power of its own ciphertext the asker would find the weight.
        difference = public.add_plain(question, yours)
        answer = clock.timed("answer", lambda: public.fresh(public.times(difference, weight), rng))
        return clock.timed("decryption", lambda: key.decrypt(answer))

    def key_of(self, node: int) -> PrivateKey:
        if node not in self.keys:
            self.keys[node] = self.clock.timed("key", lambda: generate_key(self.bits, self.rng))
        return self.keys[node]

    def seconds(self, network: Network, dim: int, rounds: int) -> tuple[float, tuple[str, ...]]:
        """Of all parties in a run of so many rounds, and what to say of them."""
        n, m, every = network.n, network.m, network.m * rounds
        clock = self.clock if self.done else measured(self.bits)
        keys = clock.of("key", n)
        each = clock.of("question", n * dim) + clock.of("answer", 2 * m * dim) + clock.of("decryption", 2 * m * dim)
        how = f"{self.done} of {every} exchanges encrypted, the rest counted"
        if not self.done:
            how = f"none of {every} exchanges encrypted, all counted at the times of one that was"
        return keys + rounds * each, (f"seconds: {how}", f"of the seconds, {keys:.2g} for making {n} keys")


@cache
def measured(bits: int) -> Clock:
    """The times of an exchange, measured once."""
    parties = Parties(bits, randomness(None), None)
    X, weights = np.array([[2.0**49 - 1], [-(2.0**48) + 1]]), np.full((2, 1, 1), WEIGHT - 1)
    product = np.empty((1, 1))
    parties.encrypt(product, X, weights, np.array([0]), np.array([1]))
    assert product[0, 0] == (WEIGHT - 1) ** 2 * (X[1, 0] - X[0, 0])
    return parties.clock
