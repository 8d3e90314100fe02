"""What one party computes: its statistic, or the optimum of its cost, with agreements that happen over the network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from ..costs import Averaging, Cost
from ..costs.base import Array
from ..data.cost_table import PartyCost
from ..data.rows import Rows
from ..errors import NotConverged
from ..numerics.exact_algebra import NoGram
from ..pdmm.masks import GaussianMask, resolution
from ..pdmm.modular_mask import TOLERANCE, limb_width, split
from ..pdmm.result import Result, Status
from ..statistics.agreements import UNIT, Agreements
from ..statistics.of_tables import run_on_tables
from ..statistics.statistic import Statistic
from ..sums import Ring, Whole
from .agent import Agent, Changed
from .keys.identity import with_lengths
from .own_noise import OwnNoise
from .plan.node_file import NodeConfig
from .plan.own_data import OwnData, OwnTable
from .protocol.agreement import Contradiction

T = TypeVar("T")
WORD = 64


class NetworkAgreements(Agreements):
    """Agreements of a program that runs in a thread of its own and waits for the event loop."""

    def __init__(self, agent: Agent, loop: asyncio.AbstractEventLoop) -> None:
        config = agent.config
        super().__init__(config.parties, [config.name])
        self.agent, self.loop, self.tol = agent, loop, config.tol
        self.runs: list[Result] = []
        self.ended = False
        self._under_way: asyncio.Task[Any] | None = None

    def end(self) -> None:
        """There will be no more agreements: the program gets ``CancelledError`` where it waits for one or asks for one,
        so that its thread ends. Called from the event loop."""
        self.ended = True
        if self._under_way is not None:
            self._under_way.cancel()

    def units(self, rows: Sequence[Rows], declared: Sequence[Fraction | None]) -> tuple[Fraction, ...]:
        """A party knows its own rows alone, and units are public: those declared, or else 10^-9."""
        return tuple(UNIT if unit is None else unit for unit in declared)

    def objection(self, ring: Ring) -> int:
        """The same after a restart: another one under the same pads would show who objects."""
        config, stage = self.agent.config, len(self.runs)
        info = with_lengths(config.run_hash, stage.to_bytes(4, "little"))
        key = self.agent.identity.derive("objection")
        return int.from_bytes(HKDF(hashes.SHA256(), ring.bits // 8, None, info).derive(key), "little")

    def add_up(self, own: Sequence[Whole], ring: Ring, rows_counted: int) -> Whole:
        """Exact sums over the network of today: covered words are cut into limbs, which are averaged by PDMM. They are
        uniform given the totals, whatever becomes of them afterwards."""
        stage, planned, k = len(self.runs), self.agent.config.parties, len(own[0])
        width = limb_width(WORD, planned)

        def covered() -> Cost:
            pads = []
            for link in self.agent.party.padded:
                words = link.secrets.words(stage, k * ring.width, WORD)
                link.pad(stage, words.astype("<u8").tobytes())
                sign = 1 if self.agent.config.index < link.index else -1
                pads.append((sign, words.reshape(k, ring.width)))
            return Averaging(split(ring.cover(ring.words(own[0]), pads).ravel(), WORD, width))

        tol, size = min(self.tol, TOLERANCE), 2.0**width
        run = self._until_nobody_leaves(lambda: self.agent.agree(stage, covered, None, tol, size))
        self.parties = self.agent.parties  # a party is dropped in the first agreement, or not at all
        self.runs.append(run)
        if run.status is not Status.CONVERGED:
            raise NotConverged(f"run {len(self.runs)} ended as {run.status.value}.")
        # Of those who are left; the mean is over them.
        total = _joined(run.x[0] * self.parties, ring, width)
        if any(total[:rows_counted] < own[0][:rows_counted]):
            raise Contradiction(
                "the parties have agreed on fewer rows than this party has: one of them has not told the truth. "
                "Nothing more was said. Agree on a new run."
            )
        return total

    def optimise(self, cost: Cost | Callable[[], Cost], mask: GaussianMask) -> Result:
        """One agreement on the optimum of all parties' costs."""
        size = max(1.0, resolution(mask) / (3 * self.tol))  # also of the public number that rides along
        size += self.agent.noise.reach
        return self._until_nobody_leaves(lambda: self.agent.agree(len(self.runs), cost, mask, self.tol, size))

    def _until_nobody_leaves(self, agree: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        while True:
            with suppress(Changed):
                return self._wait(agree())

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(self._unless_ended(coroutine), self.loop).result()

    async def _unless_ended(self, coroutine: Coroutine[Any, Any, T]) -> T:
        if self.ended:
            coroutine.close()
            raise asyncio.CancelledError
        self._under_way = asyncio.current_task()
        return await coroutine


def _joined(sums: Array, ring: Ring, width: int) -> Whole:
    """Integers of the ring from sums of the limbs of their words, which carry."""
    limbs = np.rint(sums).astype(np.int64).astype(object).reshape(-1, ring.width, -(-WORD // width))
    integers = np.zeros(len(limbs), object)
    for word in range(limbs.shape[1]):
        for limb in range(limbs.shape[2]):
            integers = integers + limbs[:, word, limb] * (1 << (WORD * word + width * limb))
    return ring.integers(ring.words(integers))


def answer(config: NodeConfig, own: OwnData, agreements: NetworkAgreements) -> dict[str, Any]:
    """The answer of this party, and how it was come by, for the result file; ``own`` is ``config.own_data()``."""
    if isinstance(own, OwnTable):
        found = _computed(own, agreements)
        told: dict[str, Any] = {"statistic": config.question.statistic_told(), "answer": found.to_dict()}
        told["disclosure"] = found.disclosure.to_dict()
    else:
        run = _optimum(config, own, agreements)
        agreements.runs.append(run)
        x = run.x[0] if own.scale is None else run.x[0] / own.scale
        told = {"cost": own.kind, "answer": dict(zip(own.columns, x.tolist(), strict=True)), "notes": list(own.notes)}
    runs = agreements.runs
    if "disclosure" not in told and agreements.ledger is not None:
        told["disclosure"] = {"ledger": agreements.ledger}
    return told | {
        "noise": config.question.noise_told(agreements.agent.parties),
        "agreements": len(runs),
        "residuals": [run.residual for run in runs],
        "wakes": sum(run.activations for run in runs),
    }


def _computed(own: OwnTable, agreements: NetworkAgreements) -> Statistic:
    try:
        return run_on_tables(own.asked, agreements, [own.table])
    except NoGram:
        raise Contradiction(
            "the parties have agreed on sums of products that no rows have: one of them has not told the truth. "
            "Nothing more was said. Agree on a new run."
        ) from None


def _optimum(config: NodeConfig, own: PartyCost, agreements: NetworkAgreements) -> Result:
    """The agreement on the optimum; of whole multiples of a unit in its steps (``pdmm.unit``)."""
    mask, agent = config.question.mask, agreements.agent
    assert isinstance(mask, GaussianMask)
    if own.unit is not None and not agent.noise:  # which lies on a grid of its own
        unit = own.unit
        run = agreements.optimise(lambda: unit.of_cost(own.among(agent.parties)), unit.of_mask(mask))
        return replace(run, x=run.x * unit.step)
    # Those who are left, if a party was dropped, share the whole penalty.
    return agreements.optimise(lambda: _brought(own.among(agent.parties), agent.noise), mask)


def _brought(cost: Cost, noise: OwnNoise) -> Cost:
    """A party's cost with the noise on its numbers, once all is there that they hang on."""
    if not noise:
        return cost
    assert isinstance(cost, Averaging)  # see ``with_noise`` and ``Limits.check_cost``
    return Averaging(noise.on(cost.s[0]))
