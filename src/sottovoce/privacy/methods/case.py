"""One audit: a problem, a mask, channels and a view; what does any adversary learn?"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ...costs import Averaging
from ...costs.base import Array
from ...errors import InvalidInput, Unsupported
from ...network import Network
from ...pdmm.local_noise import LocalNoise
from ...pdmm.masks import GaussianMask, UniformMask
from ...pdmm.modular_mask import ModularMask
from ...pdmm.overlay import AskedOverlay, Overlay, matched, over, settled_overlay
from ...pdmm.penalties import AskedPenalty, Penalty, checked_penalty, is_auto, squares
from ...pdmm.problem import Problem
from ...pdmm.schedules import Schedule, key_of
from ...pdmm.settings import settled_schedule, settled_theta, whole_number
from ...pdmm.unit import missing_unit
from ..adversary import Adversary, Channels, honest_components, node_numbers
from ..answers.indistinguishable import told_apart
from ..answers.report import Report
from ..encrypted.own_edges import EncryptedRun
from ..seen import Seen, Snapshot, settled
from .closed_form import DENSE, OpenView
from .correlated_pads import CorrelatedPads
from .in_order import Question, view_of
from .leaks import Guarantee, Leaks, Viewed
from .secrets_and_prior import GIVEN, Prior, Secrets

MethodName = Literal["auto", "closed form", "elimination"]

ONE_SEQUENCE = ", for one activation sequence"


@dataclass(frozen=True, eq=False)
class Setting:
    """How the run goes, as far as a view depends on it."""

    problem: Problem  # with messages over the overlay
    schedule: Schedule
    theta_asked: float | None  # None is tuned together with c
    c_asked: Penalty | Literal["auto"]
    seed: int  # of the activation sequence
    seen: Seen
    overlay: Overlay | None = None

    @cached_property
    def tuned(self) -> tuple[Penalty, float]:
        """``c`` and ``theta`` as ``solve`` would take them: found by pilot runs, only where a view depends on them."""
        from ...pdmm.tune import tuned_pair

        return tuned_pair(self.problem, self.schedule, self.theta_asked, 1e-9)

    @property
    def c(self) -> Penalty:
        """The step parameter."""
        return self.tuned[0] if isinstance(self.c_asked, str) else self.c_asked

    @property
    def strength(self) -> float:
        """The sum of ``c^2`` over the edges with messages."""
        return squares(self.c, self.problem.network)

    @property
    def theta(self) -> float:
        """The averaging."""
        return self.tuned[1] if self.theta_asked is None else self.theta_asked

    @property
    def iterations(self) -> int | None:
        """How many are seen, or before which one; None is the whole transcript."""
        return self.seen.iterations

    @property
    def one_moment(self) -> bool:
        """Whether one iteration is seen, and not those before it."""
        return isinstance(self.seen, Snapshot)

    def describe(self) -> str:
        """What is seen, in words."""
        return self.seen.describe() + ("" if self.overlay is None else f" over {self.overlay}")

    @property
    def random(self) -> bool:
        """Whether who wakes is left to chance."""
        return not self.schedule.planned and self.schedule.mu(self.problem.network) != 1


def setting_of(
    problem: Problem,
    schedule: Schedule | None,
    theta: float | None,
    c: AskedPenalty,
    seed: int | None,
    seen: Seen,
    overlay: AskedOverlay = "all",
) -> Setting:
    """The setting, with every argument checked, as ``settle`` would have it."""
    on = settled_overlay(problem.network, overlay)
    played = problem if on is None else over(problem, on)
    schedule = settled_schedule(played, schedule)
    seen = settled(seen, schedule)
    whole_number(seed, "seed")
    seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
    two_sweeps = matched(problem, on) if is_auto(c) and on is not None else None
    if two_sweeps is not None:
        c, theta = two_sweeps, 1.0 if theta is None else theta
    asked: Penalty | Literal["auto"] = "auto"
    if not is_auto(c):
        asked = checked_penalty(c, problem.network) if on is None else on.of_overlay(c)
    if theta is not None or not isinstance(asked, str):
        theta = settled_theta(problem, theta)
    return Setting(played, schedule, theta, asked, seed, seen, on)


@dataclass(frozen=True, eq=False)
class Case:
    """A linear-Gaussian audit, for any adversary."""

    secrets: Secrets
    mask: GaussianMask | CorrelatedPads | ModularMask | None
    channels: Channels
    setting: Setting
    method: MethodName = "auto"
    prior: Prior = GIVEN
    noise: LocalNoise | None = None

    @property
    def runs(self) -> int:
        """On the same data."""
        return self.setting.seen.runs

    @property
    def pads(self) -> str:
        """Fresh, or reused."""
        return self.setting.seen.pads

    @property
    def published(self) -> bool:
        """Whether everybody is told the answer."""
        return self.setting.seen.answer == "public"

    @property
    def variance(self) -> float:
        """Of a pad, as far as it hides anything: repeated runs average it away, reused pads cancel."""
        if self.mask is None or self.pads == "reused" or isinstance(self.mask, ModularMask):
            return 0.0
        return self.mask.variance / self.runs

    @property
    def noise_variance(self) -> float:
        """Of the local noise on a number: drawn afresh, repeated runs average it away like pads."""
        return 0.0 if self.noise is None else self.noise.variance / self.runs

    def view(self, adversary: Adversary, nodes: npt.NDArray[np.int64] | None = None) -> Viewed:
        """What an adversary sees, by the first method that applies."""
        return view_of(Question(self, adversary, nodes))

    def encrypted(self, corrupt: frozenset[int], factor: Array | None = None) -> EncryptedRun:
        """The run, as those see it who see their own edges only."""
        return EncryptedRun(self.secrets, self.setting.schedule, factor=factor, **self.play(corrupt))

    def of_one_sequence(self, sees_all: bool) -> bool:
        """Whether the figures hang on who happened to wake when."""
        return self.setting.random and (not sees_all or self.setting.iterations is not None)

    def play(self, corrupt: frozenset[int]) -> dict[str, Any]:
        """The arguments of a run that is played on maps."""
        setting = self.setting
        how = {"theta": setting.theta, "c": setting.c, "seed": setting.seed, "overlay": setting.overlay}
        return how | {"corrupt": corrupt}

    @property
    def shows_all(self) -> bool:
        """Whether taps see all there is: every node has spoken. A snapshot is one moment only."""
        return not self.setting.one_moment and bool(self.woken().all())

    def woken(self) -> npt.NDArray[np.bool_]:
        """Who has sent at least one message."""
        setting, network = self.setting, self.setting.problem.network
        if setting.iterations is None:
            return np.ones(network.n, dtype=bool)
        return setting.schedule.awake(network, key_of(setting.seed), setting.iterations)

    def leaks(self, adversary: Adversary, nodes: npt.NDArray[np.int64] | None = None) -> tuple[Leaks, str, Guarantee]:
        """What one adversary learns."""
        seen = self.view(adversary, nodes)
        if nodes is None or Question(self, adversary).deaf:
            return self.bounded(seen)
        if not isinstance(seen.view, OpenView) or isinstance(self.mask, ModularMask):
            raise Unsupported(
                "nodes= is for the closed form of open channels; leave it out, all nodes are done at once."
            )
        return seen.view.leaks(self.variance, nodes), seen.method + ", by sparse solves", seen.guarantee

    def bounded(self, seen: Viewed) -> tuple[Leaks, str, Guarantee]:
        """What a view gives away; two bounds that meet are exact, and those that do not, are not."""
        leaks = seen.view.leaks(self.variance)
        if leaks.least is None:
            return leaks, seen.method, seen.guarantee
        if leaks.tight:
            return replace(leaks, least=None), seen.method, "exact"
        return leaks, seen.method, "between"

    def report(self, adversary: Adversary, nodes: Iterable[Hashable] | None = None) -> Report:
        """The report on one adversary."""
        n, w = self.secrets.n, self.secrets.width
        chosen = None if nodes is None else _chosen(nodes, adversary, self.secrets.problem.network)
        if chosen is None and n * w > DENSE:
            too_many = {
                "a snapshot": self.setting.one_moment,
                "modular pads": isinstance(self.mask, ModularMask),
                "a published result": self.published and not adversary.corrupt,
            }
            if kind := next((kind for kind, asked in too_many.items() if asked), ""):
                raise Unsupported(f"{n:,} nodes are too many for {kind}; at most {DENSE:,} numbers are done at once.")
            view = self.view(adversary).view
            if not (isinstance(view, OpenView) and view.at_once(self.variance)):
                chosen = np.setdiff1d(np.arange(n), list(adversary.corrupt))
        leaks, method, guarantee = self.leaks(adversary, chosen)
        return self.assemble(leaks, method, guarantee, adversary)

    def assemble(self, leaks: Leaks, method: str, guarantee: Guarantee, adversary: Adversary, **more: Any) -> Report:
        secrets = self.secrets
        prior_std = np.sqrt(secrets.variances.reshape(secrets.n, -1))
        sees_all = adversary.sees_all(self.channels)
        if guarantee != "exact":
            leaks = replace(leaks, std=np.full_like(leaks.std, np.nan))
        return Report(
            network=secrets.problem.network,
            leakage=leaks.leakage,
            floor=leaks.floor,
            excess=leaks.excess,
            prior_std=np.repeat(prior_std, secrets.copies, axis=1),
            posterior_std=np.repeat(leaks.std, secrets.copies, axis=1),
            method=method,
            guarantee=guarantee,
            adversary=adversary,
            channels=self.channels,
            view=self.setting.describe() + (ONE_SEQUENCE if self.of_one_sequence(sees_all) else ""),
            mask=describe_mask(self.mask, self.runs, self.noise),
            noise=self.noise,
            prior=f"{describe_prior(secrets.variances)}, {self.prior.told}",
            flags=flags(self, adversary),
            holds_answer=self.setting.iterations is None or self.published or (sees_all and self.shows_all),
            public_answer=(isinstance(self.mask, ModularMask) and sees_all) or self.published,
            published=self.published,
            mu_bound=not (sees_all and self.shows_all and secrets.width == 1),
            least=leaks.least,
            weighted=not equal_curvatures(secrets),
            **({"mu": told_apart(self, adversary)} | more),
        )


def flags(case: Case, adversary: Adversary) -> dict[str, str]:
    """What is wrong with the setting, by name."""
    found: dict[str, str] = {}
    groups = honest_components(case.secrets.problem.network, adversary.corrupt)
    if not isinstance(case.mask, ModularMask):  # of which nothing depends on the size of the data
        found |= case.prior.flag(case.secrets.variances)
    if case.mask is None:
        found["no mask"] = (
            "z(0) = 0 hides nothing: the first message of a node gives its data away."
            if case.noise is None
            else "z(0) = 0 hides nothing: the first message of a node gives its noisy numbers away, and the noise on "
            "them is all that hides its data."
        )
    if isinstance(case.mask, CorrelatedPads) and case.mask.hides_nothing(case.secrets.problem):
        found["projected"] = (
            "These pads lie in Psi_perp and hide nothing: C' Pi_perp = 0, so no node ever feels them. Draw z(0) with "
            "independent entries."
        )
    if (unit := _unit_of_data(case)) is not None:
        found["decimals"] = (
            "The data are decimals, which lie on no binary grid: the last bits of the result tell how they were "
            "rounded to that of the mask, which the figures do not count. Give sv.averaging their unit, "
            f"unit={unit:g}."
        )
    if case.pads == "reused":
        found["pads reused"] = (
            f"Pads used for {case.runs} runs cancel in the difference of the transcripts: the numbers are what is "
            "learned of the CHANGE in the data between the runs. Draw fresh pads for every run."
        )
    elif case.runs > 1:
        found["repeated runs"] = (
            f"{case.runs} runs on the same data with fresh pads divide the noise by {case.runs}: this counts as a mask "
            f"of variance {case.variance:.4g}."
            if case.noise is None
            else f"{case.runs} runs on the same data, with fresh pads and fresh noise, divide both by {case.runs}: "
            f"this counts as a mask of variance {case.variance:.4g}, and noise of {case.noise_variance:.4g}."
        )
    if alone := sum(len(group) == 1 for group in groups):
        helps = "no mask can help them" if case.noise is None else "their noise is all that hides them, at any mask"
        found["isolated"] = f"{alone} honest node(s) have no honest neighbour: {helps}."
    if len(groups) > 1:
        total = "the sum of each" if case.noise is None else "the sum of each, noise included,"
        found["cut"] = (
            f"The corrupt nodes cut the honest ones into {len(groups)} groups: {total} is disclosed, not only that of "
            "all."
        )
    return found


def _unit_of_data(case: Case) -> float | None:
    """The unit that an averaging problem with data should have been given."""
    problem, mask = case.setting.problem, case.mask
    averages = problem.q is not None and all(isinstance(cost, Averaging) for _, cost in problem.groups)
    if not averages or problem.unit is not None or not isinstance(mask, GaussianMask) or case.noise is not None:
        return None
    assert problem.q is not None
    return missing_unit(-problem.q / 2, mask.grid)


def _chosen(nodes: Iterable[Hashable], adversary: Adversary, network: Network) -> npt.NDArray[np.int64]:
    chosen = node_numbers(network, nodes, "nodes")
    if not chosen:
        raise InvalidInput("nodes must name some of the nodes; got none. Leave it out for all.")
    if bad := sorted(adversary.corrupt & set(chosen)):
        raise InvalidInput(f"node {network.name(bad[0])} is corrupt itself; ask about honest nodes.")
    return np.array(chosen, dtype=np.int64)


def check(problem: Problem, channels: Channels) -> None:
    """What every question needs."""
    if not isinstance(problem, Problem):
        raise InvalidInput(f"problem must be a problem such as sv.averaging(network, s); got {problem!r}.")
    if channels not in ("open", "encrypted"):
        raise InvalidInput(f"channels must be 'open' or 'encrypted'; got {channels!r}.")


def equal_curvatures(secrets: Secrets) -> bool:
    """Whether ``sum Q_j s_j``, which is disclosed, is the plain sum."""
    return bool((secrets.Q[0] == secrets.Q).all())


def describe_mask(mask: Any, runs: int = 1, noise: LocalNoise | None = None) -> str:
    """In words."""
    if noise is not None:
        alone = describe_mask(mask)
        return f"{alone} and local noise of variance {noise.variance:.4g}" + (f", {runs} runs" if runs > 1 else "")
    if mask is None:
        return "no mask"
    if isinstance(mask, ModularMask):
        return f"uniform pads modulo 2^{mask.bits}"
    kind = {GaussianMask: "Gaussian", UniformMask: "uniform", CorrelatedPads: "correlated Gaussian"}
    name = next(name for family, name in kind.items() if isinstance(mask, family))
    return f"{name} pads of variance {mask.variance:.4g}" + (f", {runs} runs" if runs > 1 else "")


def describe_prior(variances: Array) -> str:
    """In words."""
    low, high = float(variances.min()), float(variances.max())
    return f"Gaussian secrets of variance {low:.4g}" + (f" to {high:.4g}" if high > low else "")
