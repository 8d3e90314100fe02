"""How large messages get: honest ones stay below both bounds, whatever the network, the pads and the data."""

from __future__ import annotations

import numpy as np
import pytest
from runtime.judged import Adversary, Run
from runtime.test_agreement import ADVERSARIES, Chance

import sottovoce as sv
from sottovoce.pdmm.node import nodes_of
from sottovoce.runtime.protocol.agreement import Agreement, Contradiction
from sottovoce.runtime.protocol.message_bounds import TAIL, Sizes

PATH = sv.Network.from_edges(9, [(i, i + 1) for i in range(8)])
LOLLIPOP = sv.Network.from_edges(8, [(j, i) for i in range(5) for j in range(i)] + [(4, 5), (5, 6), (6, 7)])
NETWORKS = {"pair": sv.Network.from_edges(2, [(0, 1)]), "ring": sv.Network.ring(5), "path": PATH, "lollipop": LOLLIPOP}


def data(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    s = rng.normal(size=(n, 2))
    if kind == "huge":
        return 1e9 * s
    if kind == "one of them huge":
        s[0] *= 1e9
    if kind == "huge, and they cancel":  # x is next to nothing, and all that flows is large
        return np.where(np.arange(n)[:, None] % 2, 1e9, -1e9) * np.ones((n, 2)) * (1 - n % 2 / n)
    return s


@pytest.mark.parametrize("kind", ["size 1", "huge", "one of them huge", "huge, and they cancel"])
@pytest.mark.parametrize("network", NETWORKS)
def test_honest_parties_never_come_near(network, kind):
    """Random wakes, a fifth of the messages lost. The bound on all messages is derived with ``Sizes`` for contributions
    up to S; that on settled ones leaves a factor of 2 at least."""
    net, rng = NETWORKS[network], np.random.default_rng(3)
    for c in (0.05, 0.4, 5.0):
        for theta, sigma in ((0.5, 1.0), (1.0, 1e4)):
            s = data(kind, net.n, rng)
            z0 = sigma * rng.normal(size=(2 * net.m, 2))
            nodes = nodes_of(sv.averaging(net, s), c=c, theta=theta, z0=z0)
            peak, last = 0.0, {}
            for _ in range(40 * net.n):
                for message in nodes[rng.integers(net.n)].wake():
                    peak = max(peak, np.abs(message.r).max())
                    last[message.sender, message.receiver] = np.abs(message.r).max()
                    if rng.random() < 0.8:
                        nodes[message.receiver].receive(message)
            sizes = Sizes(net.n, c, sigma)
            assert peak <= 2 * net.n**2 * (1 + c) * (TAIL * sigma + np.abs(s).max())
            assert peak <= sizes.largest / 1e9
            for node in nodes:
                seen = max(size for edge, size in last.items() if node.i in edge)
                if (
                    kind != "one of them huge" or np.abs(node.x).max() > 1e6
                ):  # who has not heard of it yet has no answer
                    assert seen <= sizes.settled(np.abs(node.x).max(), node.size, len(node.neighbours)) / 2


@pytest.mark.parametrize("kind", ["huge", "one of them huge", "huge, and they cancel"])
@pytest.mark.parametrize("tol", [1e-7, 1e-12])
def test_huge_data_behind_a_small_mask_end_all_the_same(kind, tol):
    """Adversarial times, and no party is refused or gives up."""
    for adversary in (Adversary(0.0), ADVERSARIES["delivers old things later"]):
        run = Run(sv.Network.ring(5), adversary, theta=0.8, tol=tol, sigma=1.0)
        s = data(kind, 5, np.random.default_rng(1))
        run.problem, run.s = sv.averaging(run.network, s), s
        run.parties = [run.party(i) for i in range(5)]
        run.play()
        assert not any(party.hopeless for party in run.parties)


@pytest.mark.parametrize("sigma", [1.0, 1e2, 1e4, 1e8])
def test_masks_of_all_sizes_end(sigma):
    chance = Chance(5, 5.0, 0.2, 5.0, (1.0, 1.0, 1.0))
    for tol in (1e-6, 1e-14):
        run = Run(
            sv.Network.grid(2, 3), Adversary(2.0, chance.pause, chance.delays), theta=0.8, tol=tol, sigma=sigma, dim=1
        )
        run.play()
        assert not any(party.hopeless for party in run.parties)


def party(sigma: float = 100.0) -> Agreement:
    return Run(sv.Network.ring(5), Adversary(0.0), theta=0.8, sigma=sigma).parties[0]


@pytest.mark.parametrize("size", [1e30, 1e200, 1.7e308])
def test_what_no_honest_party_sends_is_refused_and_changes_nothing(size):
    own = party()
    own.wake()
    before = own.state()
    with pytest.raises(Contradiction, match="sent a number of size"):
        own.receive(1, 1, np.array([1.0, -size]))
    with pytest.raises(Contradiction, match="sent a number of size"):
        own.hear(1, 1, np.array([size, 1.0]))
    np.testing.assert_equal(own.state(), before)


def test_a_party_whose_own_numbers_are_too_large_says_so():
    run = Run(sv.Network.ring(5), Adversary(0.0), sigma=1.0)
    run.problem = sv.averaging(run.network, 1e3 * run.parties[0].sizes.largest * run.s)
    own = run.party(0)
    own.wake()
    assert "Agree on a run with larger scales" in str(own.hopeless)


def settle(own: Agreement, r: float) -> None:
    """The neighbours say the same huge number again and again, and freeze it."""
    for counter in range(1, 200):
        for j in own.node.neighbours:
            own.receive(j, counter, np.array([r * (1 if j > own.node.i else -1) * (1 if j == 1 else -1), 0.0]))
        own.wake()
    own.propose()
    for j in own.node.neighbours:
        own.hear(j, 1, own.last[j])


def test_what_rounding_spoils_is_not_accepted():
    """Two neighbours whose huge numbers cancel in x: nothing moves any more, and x has no digit that tol asks for."""
    own = party()
    settle(own, 1e20)
    assert "the messages have settled at numbers of 1e20" in str(own.hopeless)
    assert own.epoch.ok == 0
    fine = party()
    settle(fine, 300.0)
    assert fine.hopeless is None
    assert fine.epoch.ok == 1


def test_a_value_of_the_moment_does_not_widen_tau():
    """Frozen numbers are judged by frozen numbers: a huge value between freezing and judging changes nothing."""
    verdicts = []
    for spike in (False, True):
        own = party()
        for counter in range(1, 10):
            for j in own.node.neighbours:
                own.receive(j, counter, np.array([100.0, 50.0]))
            own.wake()
        own.propose()
        if spike:
            own.receive(1, 100, np.array([1e15, 0.0]))
            own.wake()
        for j in own.node.neighbours:
            own.hear(j, 1, np.array([101.0, 50.0]))
        verdicts.append((own.epoch.no, own.epoch.ok, own.epoch.residual))
    assert verdicts[0] == verdicts[1]
    assert verdicts[0][:2] == (True, 0)
