"""The noise that one party adds to its own numbers: drawn once for a run, and never again.

Two transcripts with the same pads and other noise show the difference of the noises, and many of them their mean, which
is the data. So noise hangs on a *seed*, 32 bytes of the operating system's generator, that is written in one go with
the keys of the edges, while the journal is new: a party that is killed at any time, or comes back with an older copy of
its journal, adds the noise that it added before, or has no keys either and is refused by its neighbours.

    key    = HKDF-SHA256(derived from the party's private key; "noise", seed)
    noise  = N(0, variance) on its grid, from the key stream of ChaCha20, as pads are

The noise itself is never written, told or logged. A journal alone does not tell it, for the seed is nothing without the
private key; and the private key alone does not, once the seed is deleted: with the agreement that takes the noise.
"""

from __future__ import annotations

import os

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from ..costs.base import Array
from ..errors import JournalError
from ..numerics.grid import on_grid
from ..pdmm.local_noise import LocalNoise
from ..pdmm.masks import GaussianMask
from .journal import Journal
from .keys.identity import Identity, with_lengths
from .plan.question import Question
from .protocol.message_bounds import TAIL

SEED = "noise"  # the row of the journal


class OwnNoise:
    """Of one party in one run, in which it may be none."""

    def __init__(self, question: Question, identity: Identity, journal: Journal) -> None:
        self.noise, self._last = question.noise, question.stages - 1
        self._identity, self._journal = identity, journal
        if self.noise is not None and journal.new and journal.get(SEED) is None:
            journal.put({SEED: os.urandom(32)})

    def __bool__(self) -> bool:
        return self.noise is not None

    @property
    def reach(self) -> float:
        """What no noise of anybody exceeds (see ``GaussianMask.shaped``); 0 without."""
        return 0.0 if self.noise is None else TAIL * float(np.sqrt(self.noise.variance))

    def outdated(self, stage: int) -> list[str]:
        """Rows of the journal that are not needed once this stage is over: the last one takes the noise."""
        return [SEED] if self.noise is not None and stage == self._last else []

    def on(self, values: Array) -> Array:
        """A party's own numbers with their noise, the same ones every time; without noise as they are."""
        if self.noise is None:
            return values
        drawn = self._drawn(self.noise, values.size).reshape(values.shape)
        return np.asarray(on_grid(values, self.noise.grid) + drawn)

    def _drawn(self, noise: LocalNoise, count: int) -> Array:
        seed = self._journal.get(SEED)
        if seed is None:
            raise JournalError(
                f"{self._journal.path}: the seed of this party's noise is missing, which this journal had when this "
                "run began. Other noise would show the data. Restore the newest copy of it, or plan a new run, with a "
                "new name and new journals."
            )
        info = with_lengths(b"noise", seed)
        key = HKDF(hashes.SHA256(), length=32, salt=None, info=info).derive(self._identity.derive("noise"))
        stream = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor().update(bytes(12 * count))
        words, low = np.frombuffer(stream, "<u8", count), np.frombuffer(stream, "<u4", count, offset=8 * count)
        return GaussianMask(noise.variance).shaped(words.astype(np.uint64), low.astype(np.uint32))
