"""What a coalition could ever see of a state: functionals of ``(q, z)`` of the honest nodes that no iteration leaves.

Of a functional ``v`` the update of a set ``b`` of entries sees no more than ``v_b``: ``v E_b = v_b (E_b)_b``, where
``(E_b)_b`` are the rows that ``b`` has. So a set moves at most as many independent functionals as it has entries, and
what was moved once need not be moved again. After ``2m`` at most that is all, and no large space is formed (theory:
Encrypted channels).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .prime_field import Residues, Span

if TYPE_CHECKING:
    from .run_modulo_prime import FieldRun

Entries = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ahead:
    """``first`` are the functionals of ``x_i`` next to the coalition, over ``q`` and ``z`` of the honest nodes;
    ``blocks`` have the entries ``b`` of ``z`` and all ``v_b``. They and the ``v_b (E_b)_b`` span the space."""

    first: Residues
    blocks: list[tuple[Entries, Residues]]

    @classmethod
    def of(cls, run: FieldRun) -> Ahead:
        """Of any state of a run."""
        p, w, network, own, between = run.p, run.width, run.problem.network, run.own, run.between
        C = run.A[between][:, own]
        back = np.full(len(run.P), -1)
        back[between] = np.arange(len(between))
        swapped = back[run.P[between]]
        node = np.repeat(np.arange(len(own) // w), w)  # the honest node of an entry of x
        inverses, twice_c = run.inverse[run.honest], run.twice_c[between].reshape(-1, 1)
        writer = node[np.searchsorted(own, np.repeat(network.indices, w)[between] * w)]  # of an entry of z
        together = np.arange(len(between)) // w if run.schedule.loses else writer
        blocks = [np.flatnonzero(together == b) for b in np.unique(together)]

        def moved(v: Residues, block: Entries) -> Residues:
            """``v_b (E_b)_b / theta``: an entry ``(j|i)`` becomes ``z_{i|j} + 2 c A_ij x_i - z_{j|i}``."""
            result = np.zeros((len(v), len(own) + len(between)), dtype=np.int64)
            written = swapped[block]
            result[:, len(own) + written] += v
            result[:, len(own) + block] -= v
            in_x = C[written].T @ (twice_c[written] * v.T % p) % p  # (own, functionals)
            in_g = run.fresh(in_x, inverses)  # the inverses are symmetric
            result[:, : len(own)] += in_g.T
            result[:, len(own) :] += (C @ in_g).T
            return result % p

        adjacent = network.adjacency.astype(np.int64) @ ~run.honest > 0
        near = np.flatnonzero(np.repeat(adjacent[run.honest], w))
        first = np.zeros((len(near), len(own) + len(between)), dtype=np.int64)
        first[np.arange(len(near)), near] = 1
        first[:, len(own) :] = C[:, near].T.toarray()
        first %= p
        spans = [Span(len(block), p) for block in blocks]
        new = [first]
        while new:
            functionals = new.pop()
            for span, block in zip(spans, blocks, strict=True):
                if span.rank < len(block):
                    part = functionals[:, len(own) + block]
                    if part.any() and len(found := span.add(part[part.any(axis=1)])):
                        new.append(moved(found, block))
        return cls(first, [(block, span.rows) for block, span in zip(blocks, spans, strict=True)])
