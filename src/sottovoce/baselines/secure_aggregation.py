"""Secure aggregation: a server adds up numbers under masks that cancel, and takes the rest off after dropouts."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from importlib.util import find_spec
from time import perf_counter
from typing import ClassVar

import numpy as np

from ..errors import InvalidInput, MissingExtra
from ..network import Network, names
from ..pdmm.problem import Problem
from ..pdmm.settings import positive_integer
from ..privacy.adversary import Adversary, node_numbers, node_set
from .base import FLOAT, Family, Leakage, Method, Outcome, Traffic, numbers_of, positive, randomness
from .fixed_point import RESOLUTION, in_units, mean_of
from .known_sums import nats_of_sums
from .masking_graph import known_groups, masking_graph
from .optimum import optimum
from .polynomial_shares import asked_threshold, settled_threshold
from .sent import Sent

KEYS = 64  # bytes of two public keys
SHARE = 33
CIPHERTEXT = 2 * SHARE + 16  # two shares and a tag
WORD = 8
MODULUS = 2**64


@dataclass(frozen=True)
class SecureAggregation(Method):
    """A sum by double masking with a server (SecAgg, Bonawitz et al. 2017; SecAgg+, Bell et al. 2020).

    Four rounds: public keys; Shamir's shares of each party's seeds, encrypted, through the server; inputs under a mask
    of their own and pairwise pads; shares with which the server takes off what does not cancel. Real cryptography
    (``double_masking``), which needs the extra ``network``. An oracle for what dropouts and a server cost.

    Parameters
    ----------
    threshold : int, optional
        ``t``: as many of those who hold a party's shares may collude with the server; ``(holders - 1) // 2`` by
        default, and at least 1.
    neighbours : int, optional
        With how many others each party shares pads and seeds: a ring of parties in random order, each joined to the
        nearest ``k`` (SecAgg+). All others by default (SecAgg).
    resolution : float
        Numbers are rounded to multiples of it; whole numbers are exact with 1, and with the default.
    dropouts : collection of nodes
        Those that vanish after they shared seeds, before their input: the mean is of the others.
    late_dropouts : collection of nodes
        Those that vanish after their input, which is in the sum.

    Raises
    ------
    InvalidInput
        For parameters that fit no network; as it runs, for those that do not fit this one, and for numbers that are too
        large.
    MissingExtra
        As it runs, without the package ``cryptography``.

    Notes
    -----
    The server is no node. It listens with every adversary that taps, and with no other. Addressed ciphertexts count as
    messages, to the server and from it; in bundles there would be ``8n`` messages, of as many bytes. ``seconds`` are
    those of all parties and of the server, shares and ciphers together.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce import baselines
    >>> outcome = baselines.SecureAggregation(late_dropouts={4}).run([3, 1, 4, 1, 5], sv.Network.ring(5), seed=0)
    >>> outcome.x[:, 0].tolist(), outcome.traffic.rounds
    ([2.8, 2.8, 2.8, 2.8, nan], 4)
    >>> leakage = outcome.leakage(sv.privacy.Coalition({0}) | sv.privacy.Eavesdropper())
    >>> leakage.kind, round(leakage.worst, 3)
    ('computational', 0.144)
    """

    threshold: int | None = None
    neighbours: int | None = None
    resolution: float = RESOLUTION
    dropouts: Collection[Hashable] = ()
    late_dropouts: Collection[Hashable] = ()

    name: ClassVar[str] = "secure aggregation"
    family: ClassVar[Family] = "secret sharing"
    reference: ClassVar[str] = "Bonawitz et al. 2017; Bell et al. 2020"
    needs: ClassVar[str] = "a server that all parties reach, and its honest list of keys"
    breaks: ClassVar[str] = "the server colludes with more than t holders of a party's shares"
    survives: ClassVar[str] = "dropouts at any time, as long as t + 1 holders of each party's shares are left"

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", asked_threshold(self.threshold))
        object.__setattr__(self, "resolution", positive(self.resolution, "resolution"))
        if self.neighbours is not None:
            object.__setattr__(self, "neighbours", positive_integer(self.neighbours, "neighbours"))
        for field in ("dropouts", "late_dropouts"):
            object.__setattr__(self, field, node_set(getattr(self, field), field))

    def settled(self, network: Network) -> tuple[int, int, set[int], set[int]]:
        """How many hold the shares of a party, ``t``, and who drops out early and late."""
        n = network.n
        holders = n - 1 if self.neighbours is None else self.neighbours
        if n < 3:
            raise InvalidInput(f"secure aggregation is for three parties or more: of {n}, each knows the other.")
        if not 2 <= holders < n or holders * n % 2:
            raise InvalidInput(
                f"neighbours must be from 2 to {n - 1}, and even where the number of parties is odd; got {holders} for "
                f"{n} parties."
            )
        early = set(node_numbers(network, self.dropouts, "dropouts"))
        late = set(node_numbers(network, self.late_dropouts, "late_dropouts"))
        if both := early & late:
            who = names.few([network.name(i) for i in sorted(both)])
            raise InvalidInput(f"a node drops out once; {who} is in dropouts and in late_dropouts.")
        return holders, settled_threshold(self.threshold, holders, "holders of shares"), early, late

    def traffic(self, network: Network, dim: int = 1) -> Traffic:
        holders, _, early, late = self.settled(network)
        n, asked, stay = network.n, network.n - len(early), network.n - len(early) - len(late)
        messages = 2 * n + 2 * n * holders + 2 * asked + 2 * stay
        keys, shares = n * (KEYS + holders * KEYS), 2 * n * holders * CIPHERTEXT
        inputs, unmasking = asked * (WORD * dim + holders), stay * (holders * SHARE + FLOAT * dim)
        return Traffic(messages, keys + shares + inputs + unmasking, 4)

    def play(self, problem: Problem, seed: int | None) -> Outcome:
        if find_spec("cryptography") is None:
            raise MissingExtra("SecureAggregation", "cryptography", "network")
        from .double_masking import protocol  # what it imports is not always there

        network, s = problem.network, numbers_of(problem, self)
        holders, t, early, late = self.settled(network)
        units = in_units(s, self.resolution, MODULUS, network, "Take a coarser resolution.").astype(np.uint64)
        rng, sent, began = randomness(seed), Sent(), perf_counter()
        graph = masking_graph(network.n, holders, rng)
        total = protocol(units, graph, t, early, late, rng, sent)
        seconds = perf_counter() - began
        n, d = s.shape
        x, notes = np.full((n, d), np.nan), []
        stay = [i for i in range(n) if i not in early | late]
        if total is not None:
            x[stay] = mean_of(total, self.resolution, MODULUS, n - len(early))
        else:
            notes.append(f"no answer: not of all parties are there {t + 1} holders of shares left, of {holders}.")
        if early and total is not None:
            notes.append(f"the mean is of {n - len(early)} parties: {len(early)} dropped out before their input.")

        def view(adversary: Adversary, prior: float) -> Leakage:
            groups = known_groups(graph, t, early, late, adversary, answered=total is not None)
            told = "secure as X25519 and ChaCha20 are; what shows are sums over honest parties whose input came, "
            told += "and to the server over those that pads connect. The server listens with the taps"
            return Leakage(nats_of_sums(groups, adversary.corrupt, n, d), "computational", told)

        return Outcome(
            method=self,
            problem=problem,
            x=x,
            exact=optimum(problem),
            traffic=sent.traffic,
            seconds=seconds,
            converged=total is not None,
            notes=tuple(notes),
            view=view,
        )
