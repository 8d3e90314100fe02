"""What the auditor answers: numbers per node, and plain sentences about them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...costs.base import Array
from ...network import Network, names
from ...pdmm.local_noise import LocalNoise
from ..adversary import Adversary, Channels, honest_components
from ..methods.leaks import Guarantee, Leaks
from .indistinguishable import best_guess, delta, epsilon
from .report_nodes import NAMED, NodesOfReport
from .report_shown import Shown
from .verdict import DELTA, Verdict, verdict

LEAKS = ("leakage", "floor", "excess")
EPSILON_AT = 1e-6  # the delta of differential privacy at which epsilon is stated


@dataclass(frozen=True, eq=False, repr=False)
class Report(NodesOfReport, Shown):
    """What each node gives away, to whom, by which method. Made by ``audit``.

    ``leakage``, ``floor`` and ``excess`` are in nats, one entry per node: ``nan`` for corrupt nodes (and where there is
    no certificate), ``inf`` for disclosed ones. In a worst case each of the three is the largest over all coalitions,
    not all three of one.

    Attributes
    ----------
    network : Network
        Who talks to whom.
    leakage, floor, excess : ndarray
        ``I(S_i; view)``; of it ``I(S_i; answer)``, which the result itself tells at any mask; and
        ``I(S_i; view | answer)``, which the procedure adds.
    prior_std, posterior_std : ndarray
        ``(n, d)``, standard deviations of a secret before and after; ``nan`` where there is no exact one.
    method : str
        How it was found.
    guarantee : str
        What the numbers are: ``"exact"``, ``"between"`` two bounds, an ``"upper bound"``, or ``"none"``.
    adversary, channels, view, mask, prior
        Who listens (in a worst case besides the coalitions), to which channels, what is seen, behind which pads, and
        what is assumed of the secrets; the last three in words.
    noise : LocalNoise or None
        On the data of every party: the answer, and every sum that is disclosed, is then that of noisy numbers.
    flags : dict
        What is wrong with the setting: a sentence by name.
    attack : object or None
        Without a guarantee: what the best attack there is recovered, where one was played.
    coalitions : tuple of frozenset or None
        Worst case: the worst coalition for each node, by name, or None where none is known to learn anything.
    overall : frozenset or None
        Worst case: the coalition that learns most of anybody, by name, where all were tried.
    max_corrupt : int or None
        Worst case: how many may be corrupt.
    holds_answer : bool
        Whether the view has the answer; a prefix or a snapshot may not have it yet.
    public_answer, published : bool
        Whether taps alone are told the answer, and whether that is because the result is published.
    weighted : bool
        Whether the sums that are disclosed are ``sum Q_j s_j`` with different ``Q_j``.
    mu, mu_bound : ndarray or None, bool
        Gaussian differential privacy given the sums (see ``indistinguishable``), and with local noise without that
        condition; None where it is not known. And whether it is an upper bound: of a prefix, or of what encrypted
        channels leave.
    least : Leaks or None
        ``"between"``: the lower ends; ``leakage``, ``floor`` and ``excess`` are the upper ones.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(5), [3.0, 1.0, 4.0, 1.0, 5.0])
    >>> report = sv.privacy.audit(problem, sv.GaussianMask(variance=1e6), corrupt={3})
    >>> print(report.against())
    Against corrupt party 3 and taps on every channel, open channels, the whole transcript
    >>> report.guarantee, bool(report.excess[0] < 1e-4)
    ('exact', True)

    Rows are in the order of the nodes; ``loc`` has them by name:

    >>> path = sv.Network.from_named_edges([("Ada", "Bob"), ("Bob", "Eve"), ("Eve", "Joe")])
    >>> report = sv.privacy.audit(sv.averaging(path, [3.0, 1.0, 4.0, 1.0]), sv.GaussianMask(1e6), corrupt={"Eve"})
    >>> report.loc("Joe")["leakage"], report.exposed
    (inf, ('Joe',))
    """

    network: Network
    leakage: Array
    floor: Array
    excess: Array
    prior_std: Array
    posterior_std: Array
    method: str
    guarantee: Guarantee
    adversary: Adversary
    channels: Channels
    view: str
    mask: str
    prior: str
    noise: LocalNoise | None = None
    flags: dict[str, str] = field(default_factory=dict)
    attack: Any = None
    coalitions: tuple[frozenset[Any] | None, ...] | None = None
    overall: frozenset[Any] | None = None
    max_corrupt: int | None = None
    holds_answer: bool = True
    public_answer: bool = False
    published: bool = False
    weighted: bool = False
    mu: Array | None = None
    mu_bound: bool = False
    least: Leaks | None = None

    @property
    def dim(self) -> int:
        """Entries of one secret."""
        return int(self.prior_std.shape[1])

    @property
    def share(self) -> Array:
        """``1 - exp(-2 I/d)``: the share of the variance of ``S_i`` that the view explains."""
        return -np.expm1(-2 * self.leakage / self.dim)

    @property
    def narrower(self) -> Array:
        """``1 - exp(-I/d)``: how much narrower an attacker's 95 % interval for a number of ``S_i`` becomes."""
        return -np.expm1(-self.leakage / self.dim)

    @property
    def guess(self) -> Array | None:
        """How often the best guess between two candidates is right, where both have the same answer (with local noise:
        where the data of one party differ); 1/2 is chance."""
        return None if self.mu is None else best_guess(self.mu)

    def epsilon(self, delta: float = EPSILON_AT) -> Array | None:
        """Of differential privacy, at this ``delta``: given the sums, and with local noise without that condition."""
        return None if self.mu is None else np.array([epsilon(float(mu), delta) for mu in self.mu])

    def delta(self, epsilon: float) -> Array | None:
        """Of the same, at this ``epsilon``."""
        return None if self.mu is None else np.array([delta(float(mu), epsilon) for mu in self.mu])

    def verdict(self, delta: float = DELTA) -> Verdict:
        """*safe*, *weak*, *disclosed* or *not assessed*, for ``delta`` nats that the procedure may add."""
        return verdict(self, delta)

    def loc(self, node: Hashable) -> dict[str, Any]:
        """The row of one node, by name: every figure that the report has for it, and in a worst case the coalition."""
        i = self.network.index(node)
        row: dict[str, Any] = {name: float(getattr(self, name)[i]) for name in (*LEAKS, "share", "narrower")}
        row |= {name: getattr(self, name)[i].copy() for name in ("prior_std", "posterior_std")}
        if self.least is not None:
            row["least"] = {name: float(getattr(self.least, name)[i]) for name in LEAKS}
        for name, value in (("mu", self.mu), ("guess", self.guess), ("epsilon", self.epsilon())):
            if value is not None:
                row[name] = float(value[i])
        return row if self.coalitions is None else {**row, "coalition": self.coalitions[i]}

    # In words

    def sentences(self) -> list[str]:
        """Who is exposed and why, what is learned exactly, how much beyond that, and what would help."""
        wrong = [sentence for flag, sentence in self.flags.items() if flag not in ("isolated", "cut")]  # said below
        return [
            self.setting(),
            *wrong,
            *self.disclosures(),
            *self._beyond(),
            *self._apart(),
            *self.advice(),
        ]

    def setting(self) -> str:
        """The assumptions under which everything else holds."""
        return f"{self.against()}; {self.mask}; {self.prior}. {_GUARANTEES[self.guarantee]} ({self.method})."

    def against(self) -> str:
        """Who listens, and what they see."""
        who = _who(self)
        published = ", the result published" if self.published else ""
        return f"Against {who}, {self.channels} channels, {self.view}{published}"

    def disclosures(self) -> list[str]:
        """Whose values are disclosed, and which sums."""
        return [*self._exposed(), *self._learned()]

    def _exposed(self) -> list[str]:
        said, found, alone = [], [], []
        by_answer = {i for i in self._doomed if np.isinf(self.floor[i])}
        whys = {"because all neighbours are corrupt": by_answer, "by what was seen": set(self._doomed) - by_answer}
        for why, those in whys.items():
            if those:
                said.append(f"DISCLOSED once the answer is there, {why}: {self._told(those)}.")
        if not said and not self._disclosed:
            return [] if self.guarantee == "none" else ["No party is disclosed exactly."]
        for i in self._disclosed:
            corrupt = self.corrupt if self.coalitions is None else (self.coalitions[i] or frozenset())
            around = self.network.around(i)
            if corrupt.issuperset(names.labels(self.network, around)):
                alone.append(f"{self.name(i)} (neighbours {self._told(around)})")
            else:
                found.append(i)
        if alone:
            more = f" and {len(alone) - NAMED} more" if len(alone) > NAMED else ""
            every = "; ".join(alone[:NAMED]) + more
            said.append(f"DISCLOSED exactly, at any mask, because all neighbours are corrupt: {every}.")
        if found:
            what = "exactly, in what the attack recovered" if self.guarantee == "none" else "exactly"
            said.append(f"DISCLOSED {what}: {self._told(found)}.")
        return said

    def _learned(self) -> list[str]:
        if self.guarantee == "none" or self.coalitions is not None:
            return []
        if not self.adversary.corrupt and not self.public_answer:
            hidden = (
                f"{'Nothing else' if 'counts' in self.flags else 'Nothing'} is learned exactly: without a corrupt "
                "party the result itself stays hidden, until somebody publishes it."
            )
            bare = self.noise is not None and "no mask" in self.flags and self.adversary.sees_all(self.channels)
            return [] if self._disclosed or bare else [hidden]
        groups = [group for group in self._groups if not set(group) <= set(self._disclosed)]
        if not groups:
            return []
        when = "Learned exactly" if self.holds_answer else "Learned exactly once the answer is there"
        if len(groups) == 1:
            return [f"{when}, whatever the mask: {self._sum} over the honest parties {self._told(groups[0])}."]
        parts = "; ".join(f"{{{self._told(group)}}}" for group in groups[:NAMED])
        return [f"The corrupt parties cut the network. {when}, whatever the mask: {self._sum} over each of {parts}."]

    @property
    def _sum(self) -> str:
        total = "the sum of Q_j s_j, secrets times their curvatures," if self.weighted else "the sum"
        return total if self.noise is None else f"{total.rstrip(',')}, noise included,"

    def _beyond(self) -> list[str]:
        left = np.where(np.isfinite(self.excess), self.excess, -1.0)
        if self.guarantee == "none" or left.max(initial=-1.0) < 0:
            return []
        i = int(np.argmax(left))
        most = "" if self.guarantee == "exact" else "at most "
        adds = f"{most}{left[i]:.3g}" if self.least is None else f"between {self.least.excess[i]:.3g} and {left[i]:.3g}"
        before, after = float(self.prior_std[i].max()), float(self.posterior_std[i].max())
        spread = f"; its standard deviation goes from {before:.4g} to {after:.4g}" if after == after else ""
        by_answer = 100 * -math.expm1(-float(self.floor[i]) / self.dim)
        alone = "" if math.isnan(by_answer) else f", {by_answer:.3g} % by the result alone"
        if alone and not self.holds_answer:
            alone += ", once it is there"
        by = "both together" if self.holds_answer else "what is seen so far"
        return [
            f"To what the result itself tells, the procedure adds {adds} nats, most of it about party "
            f"{self.name(i)}: by {by} an attacker's 95 % interval for {self._one} becomes {most}"
            f"{100 * float(self.narrower[i]):.3g} % narrower{alone}{spread}."
        ]

    @property
    def _one(self) -> str:
        return "its number" if self.dim == 1 else f"one of its {self.dim} numbers"

    def _apart(self) -> list[str]:
        if self.mu is None or self.guarantee == "none" or not np.isfinite(self.mu).any():
            return []
        i = int(np.nanargmax(np.where(np.isfinite(self.mu), self.mu, -1.0)))
        mu = float(self.mu[i])
        low, high = float(self.prior_std[i].min()), float(self.prior_std[i].max())
        most = "at most " if self.mu_bound and mu else ""
        by = f"by {'up to ' if low < high else ''}{high:.3g}, the prior's standard deviation,"
        each = "" if self.dim == 1 else f"in each of {self.dim} numbers "
        same = " and at another party the other way, so that the result is the same," if self.noise is None else ""
        given = "given the sums, " if self.noise is None else "differential privacy: "
        return [
            f"Whatever is known beforehand: of two sets of data that differ at party {self.name(i)} {each}{by}{same} "
            f"the best guess is right in {most}{100 * float(best_guess(mu)):.4g} % of cases, where chance is 50 % "
            f"(mu = {mu:.2g}; {given}epsilon = {epsilon(mu, EPSILON_AT):.2g} at delta = {EPSILON_AT:g})."
        ]

    def advice(self) -> list[str]:
        """What would help; every edge that is named was tried."""
        said = []
        if self.coalitions is None and self.adversary.corrupt:
            for i in self._disclosed[:3]:
                partner = _hides(self.network, i, self.adversary.corrupt)
                if partner is not None:
                    j, size = partner
                    said.append(
                        f"An edge {self.name(i)} - {self.name(j)} would hide {self.name(i)} in a sum over {size}."
                    )
        worst = float(np.max(np.where(np.isfinite(self.excess), self.excess, 0.0), initial=0.0))
        if self.guarantee != "none" and worst > DELTA:
            said.append(
                "What the procedure adds falls as one over the variance of the mask: sv.privacy.calibrate, or --delta "
                "on the command line, finds a mask that keeps it below a bound."
            )
        if self.channels == "open" and not self.adversary.corrupt and self.coalitions is None and worst > DELTA:
            said.append("Encrypted channels would leave an eavesdropper nothing.")
        if self.view.startswith("the snapshot"):
            said.append("A snapshot understates: an adversary keeps all iterations, and not one. Audit the transcript.")
        return said

    def summary(self) -> str:
        """All sentences, as one text."""
        return "\n".join(self.sentences())

    @property
    def _is_worst(self) -> bool:
        """Whether parties have the coalition that learns most of each."""
        return self.coalitions is not None and self.max_corrupt != 0

    # For machines

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON; infinite and missing values are the strings ``"inf"`` and None.

        Nodes are numbers; ``labels`` has their names where they have any, and ``names`` says the same by name.
        """
        labels = None if self.network.labels is None else [str(label) for label in self.network.labels]
        coalitions = None
        if self.coalitions is not None:
            coalitions = [None if nodes is None else self._numbers(nodes) for nodes in self.coalitions]
        by_number = {
            "corrupt": sorted(self.adversary.corrupt),
            "exposed": self._disclosed,
            "groups": self._groups,
            "coalitions": coalitions,
            "overall": None if self.overall is None else self._numbers(self.overall),
        }
        return {
            "adversary": _who(self) if self._is_worst else self.adversary.told(self.name),
            "max_corrupt": self.max_corrupt,
            "channels": self.channels,
            "view": self.view,
            "mask": self.mask,
            "noise": None if self.noise is None else self.noise.variance,
            "prior": self.prior,
            "method": self.method,
            "guarantee": self.guarantee,
            "unit": "nats",
            "labels": labels,
            "names": None if labels is None else {key: _by_name(labels, value) for key, value in by_number.items()},
            "leakage": plain(self.leakage),
            "floor": plain(self.floor),
            "excess": plain(self.excess),
            "least": None if self.least is None else {name: plain(getattr(self.least, name)) for name in LEAKS},
            "share": plain(self.share),
            "narrower": plain(self.narrower),
            "mu": None if self.mu is None else plain(self.mu),
            "mu_bound": self.mu_bound,
            "mu_given_sums": self.noise is None,
            "guess": None if self.guess is None else plain(self.guess),
            "epsilon": None if self.mu is None else plain(self.epsilon()),  # type: ignore[arg-type]
            "published": self.published,
            "prior_std": plain(self.prior_std),
            "posterior_std": plain(self.posterior_std),
            **by_number,
            "flags": self.flags,
            "sentences": self.sentences(),
        }


_GUARANTEES = {
    "exact": "Exact",
    "between": "Between two bounds, of which the upper one is told",
    "upper bound": "Upper bounds",
    "none": "NOT ASSESSED: there is no guarantee, and what follows is the best attack we have",
}


def _who(report: Report) -> str:
    corrupt, t = report.adversary.corrupt, report.max_corrupt
    if report._is_worst:
        few = "" if t is None else f" of at most {t}"
        parties = f"the worst coalition{few} for each party"
    elif not corrupt:
        return "an eavesdropper" if report.adversary.taps else "nobody"
    else:
        parties = f"corrupt part{'ies' if len(corrupt) > 1 else 'y'} {report.names(report.corrupt)}"
    return f"{parties} and taps on every channel" if report.adversary.taps and report.channels == "open" else parties


def _hides(network: Network, i: int, corrupt: frozenset[int]) -> tuple[int, int] | None:
    """The honest node to which an edge from ``i`` joins the largest group, and the size of the group with ``i``."""
    groups = [group for group in honest_components(network, corrupt) if i not in group]
    if not groups:
        return None
    best = max(groups, key=len)
    return int(best[np.argmin(network.degrees[best])]), len(best) + 1


def _by_name(labels: Sequence[str], value: Any) -> Any:
    """Numbers of nodes, in lists of any depth, as names."""
    if isinstance(value, list):
        return [_by_name(labels, part) for part in value]
    return None if value is None else labels[value]


def plain(values: Array | Sequence[float]) -> Any:
    """Nested lists in which ``nan`` is None and infinity a string, as JSON has neither."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if isinstance(values, list):
        return [plain(value) for value in values]
    number = float(values)  # type: ignore[arg-type]
    return None if math.isnan(number) else "inf" if math.isinf(number) else number
