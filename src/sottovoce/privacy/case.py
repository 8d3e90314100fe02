"""One audit: a problem, a mask, channels and a view; what does any adversary learn?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..costs.base import Array
from ..errors import InvalidInput, Unsupported, is_number
from ..pdmm.masks import GaussianMask, UniformMask
from ..pdmm.modular_mask import ModularMask
from ..pdmm.problem import Problem
from ..pdmm.schedules import Schedule, key_of
from ..pdmm.settings import settled_schedule, settled_theta
from .adversary import Adversary, Channels, honest_components, node_set
from .closed_form import OpenView
from .elimination import Elimination, first_sweep
from .encrypted import Between, EncryptedRun
from .indistinguishable import told_apart
from .pads import CorrelatedPads
from .posterior import Posterior, condition, diagonal_blocks
from .report import Guarantee, Report
from .secrets_and_prior import GIVEN, Prior, Secrets
from .snapshot import Snapshot
from .views import Answer, Leaks
from .views import leaks as leaks_of

View = Literal["transcript", "snapshot"]
Method = Literal["auto", "closed form", "elimination"]

DENSE = 3_000  # entries of secrets up to which all nodes are done at once
UNKNOWNS = 1_200  # secrets and pads up to which the elimination takes seconds
SWEEP = 1_000  # rounds in which every node must have woken


@dataclass(frozen=True, eq=False)
class Setting:
    """How the run goes, as far as a view depends on it."""

    problem: Problem
    schedule: Schedule
    theta: float
    c_asked: float | Literal["auto"]
    seed: int  # of the activation sequence
    view: View
    iterations: int | None  # None is the whole transcript

    @cached_property
    def c(self) -> float:
        """Found by pilot runs only where a view depends on it."""
        if isinstance(self.c_asked, str):
            from ..pdmm.tune import tune

            return tune(self.problem, self.schedule, self.theta, 1e-9)
        return float(self.c_asked)

    def describe(self) -> str:
        """The view, in words."""
        if self.view == "snapshot":
            return f"the snapshot of eq. 8 at iteration {self.iterations}"
        return "the whole transcript" if self.iterations is None else f"the first {self.iterations} iterations"

    @property
    def random(self) -> bool:
        """Whether who wakes is left to chance."""
        return self.schedule.length() is None and self.schedule.mu(self.problem.network) != 1


def setting_of(
    problem: Problem,
    schedule: Schedule | None,
    theta: float | None,
    c: float | Literal["auto"],
    seed: int | None,
    view: View,
    iterations: int | None,
) -> Setting:
    """The setting, with every argument checked."""
    schedule = settled_schedule(problem, schedule)
    if view not in ("transcript", "snapshot"):
        raise InvalidInput(f"view must be 'transcript' or 'snapshot'; got {view!r}.")
    if view == "snapshot" and iterations is None:
        raise InvalidInput("a snapshot is of one iteration: give iterations=.")
    for name, value in (("iterations", iterations), ("seed", seed)):
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if value is not None and not (whole and value >= 0):
            raise InvalidInput(f"{name} must be an integer >= 0, or None; got {value!r}.")
    iterations = None if iterations is None else int(iterations)
    length = schedule.length()
    if length is not None and (iterations or 0) > length:
        raise InvalidInput(f"the trace has {length} iterations; got iterations={iterations}. Ask for no more.")
    if iterations is None and length is not None:
        iterations = length
    if c != "auto" and not (is_number(c) and 0 < c < np.inf):
        raise InvalidInput(f"c must be a positive number or 'auto'; got {c!r}.")
    seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
    return Setting(problem, schedule, settled_theta(problem, theta), c, seed, view, iterations)


@dataclass(frozen=True, eq=False)
class Case:
    """A linear-Gaussian audit, for any adversary."""

    secrets: Secrets
    mask: GaussianMask | CorrelatedPads | ModularMask | None
    channels: Channels
    setting: Setting
    runs: int = 1
    pads: Literal["fresh", "reused"] = "fresh"
    method: Method = "auto"
    prior: Prior = GIVEN
    published: bool = False  # whether everybody is told the answer

    @property
    def variance(self) -> float:
        """Of a pad, as far as it hides anything: repeated runs average it away, reused pads cancel."""
        if self.mask is None or self.pads == "reused" or isinstance(self.mask, ModularMask):
            return 0.0
        return self.mask.variance / self.runs

    def view(self, adversary: Adversary) -> tuple[Any, str, Guarantee]:
        """An object with ``leaks(variance)``, its method, and what its numbers are."""
        secrets, setting, corrupt = self.secrets, self.setting, adversary.corrupt
        network, factor = secrets.problem.network, None
        if isinstance(self.mask, CorrelatedPads):
            factor = self.mask.factor(secrets.problem)
        if self.variance == 0:
            factor = np.zeros((int(secrets.problem.rows[-1]), 0))
        if setting.view == "snapshot":
            assert setting.iterations is not None
            if factor is not None:
                raise Unsupported("the snapshot is implemented for independent Gaussian pads.")
            snapshot = Snapshot(secrets, setting.schedule, iteration=setting.iterations, **self.play(corrupt))
            return snapshot, "linear-Gaussian", "exact"
        sees_all, public = adversary.sees_all(self.channels), self.published and not corrupt
        simple = sees_all and (factor is None or not factor.shape[1])
        if self.method == "closed form" and not simple:
            raise Unsupported("the closed form is for open channels that are tapped, and independent pads.")
        if simple and self.method != "elimination":
            woken = self.woken()
            # Where the coalition knows every x, c cancels.
            c = 1.0 if corrupt and woken.all() else setting.c
            return OpenView(secrets, corrupt, woken, c, public), "closed form", "exact"
        if public:
            raise Unsupported("answer='public' is for independent pads, by the closed form.")
        rows, N = int(secrets.problem.rows[-1]), int(secrets.problem.columns[-1])
        correlated = isinstance(self.mask, CorrelatedPads) and self.variance > 0
        if rows + N > UNKNOWNS and (correlated or self.method == "elimination"):
            raise Unsupported(f"{rows + N:,} secrets and pads are too many to eliminate; at most {UNKNOWNS:,}.")
        if rows + N > UNKNOWNS:
            bound = OpenView(secrets, corrupt, np.ones(secrets.n, dtype=bool), 1.0 if corrupt else setting.c)
            return bound, "closed form of open channels, which show more", "upper bound"
        singular = factor is not None and 0 < factor.shape[1] < rows  # pads that lie in a subspace
        if not sees_all and not singular:
            seen = self.encrypted(corrupt, factor).view(setting.iterations)
            if isinstance(seen[0], Between) and self.runs > 1 and setting.random:  # each run has a sequence of its own
                return seen[0].high, "closed form of open channels, which show more", "upper bound"
            return seen
        eliminated = Elimination(secrets, setting.schedule, sees_all=True, pads=factor, **self.play(corrupt))
        if setting.iterations is not None:
            eliminated.play(setting.iterations)
        else:
            first_sweep(eliminated, SWEEP * setting.schedule.round(network))
        # Over encrypted channels a coalition sees less.
        return eliminated, "linear-Gaussian elimination", "exact" if sees_all else "upper bound"

    def encrypted(self, corrupt: frozenset[int], factor: Array | None = None) -> EncryptedRun:
        """The run, as those see it who see their own edges only."""
        return EncryptedRun(self.secrets, self.setting.schedule, factor=factor, **self.play(corrupt))

    def of_one_sequence(self, sees_all: bool) -> bool:
        """Whether the figures hang on who happened to wake when."""
        return self.setting.random and (not sees_all or self.setting.iterations is not None)

    def play(self, corrupt: frozenset[int]) -> dict[str, Any]:
        """The arguments of a run that is played on maps."""
        setting = self.setting
        return {"theta": setting.theta, "c": setting.c, "seed": setting.seed, "corrupt": corrupt}

    @property
    def shows_all(self) -> bool:
        """Whether taps see all there is: every node has spoken. A snapshot is one moment only."""
        return self.setting.view == "transcript" and bool(self.woken().all())

    def woken(self) -> npt.NDArray[np.bool_]:
        """Who has sent at least one message."""
        setting, network = self.setting, self.secrets.problem.network
        if setting.iterations is None:
            return np.ones(network.n, dtype=bool)
        return setting.schedule.awake(network, key_of(setting.seed), setting.iterations)

    def leaks(self, adversary: Adversary, nodes: npt.NDArray[np.int64] | None = None) -> tuple[Leaks, str, Guarantee]:
        """What one adversary learns."""
        if isinstance(self.mask, ModularMask) and self.pads == "fresh" and nodes is None:
            return modular(self, adversary)
        if not adversary.corrupt and not adversary.sees_all(self.channels):
            if self.published:
                return modular(self, adversary)[0], "the published result, and nothing else, is seen", "exact"
            return nothing(self.secrets), "nothing is seen", "exact"
        view, method, guarantee = self.view(adversary)
        if nodes is None:
            return self.bounded(view, method, guarantee)
        if not isinstance(view, OpenView) or isinstance(self.mask, ModularMask):
            raise Unsupported(
                "nodes= is for the closed form of open channels; leave it out, all nodes are done at once."
            )
        return view.leaks(self.variance, nodes), method + ", by sparse solves", guarantee

    def bounded(self, view: Any, method: str, guarantee: Guarantee) -> tuple[Leaks, str, Guarantee]:
        """What a view gives away; two bounds that meet are exact, and those that do not, are not."""
        leaks = view.leaks(self.variance)
        if leaks.least is None:
            return leaks, method, guarantee
        return (replace(leaks, least=None), method, "exact") if leaks.tight else (leaks, method, "between")

    def report(self, adversary: Adversary, nodes: Iterable[int] | None = None) -> Report:
        """The report on one adversary."""
        n, w = self.secrets.n, self.secrets.width
        chosen = None if nodes is None else _chosen(nodes, adversary, n)
        if chosen is None and n * w > DENSE:
            too_many = {
                "a snapshot": self.setting.view == "snapshot",
                "modular pads": isinstance(self.mask, ModularMask),
                "a published result": self.published and not adversary.corrupt,
            }
            if kind := next((kind for kind, asked in too_many.items() if asked), ""):
                raise Unsupported(f"{n:,} nodes are too many for {kind}; at most {DENSE:,} numbers are done at once.")
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
            view=self.setting.describe() + (", for one activation sequence" if self.of_one_sequence(sees_all) else ""),
            mask=describe_mask(self.mask, self.runs),
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
        found["no mask"] = "z(0) = 0 hides nothing: the first message of a node gives its data away."
    if isinstance(case.mask, CorrelatedPads) and case.mask.hides_nothing(case.secrets.problem):
        found["projected"] = (
            "These pads lie in Psi_perp and hide nothing: C' Pi_perp = 0, so no node ever feels them. Draw z(0) with "
            "independent entries."
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
        )
    if alone := sum(len(group) == 1 for group in groups):
        found["isolated"] = f"{alone} honest node(s) have no honest neighbour: no mask can help them."
    if len(groups) > 1:
        found["cut"] = (
            f"The corrupt nodes cut the honest ones into {len(groups)} groups: the sum of each is disclosed, not only "
            "that of all."
        )
    return found


def _chosen(nodes: Iterable[int], adversary: Adversary, n: int) -> npt.NDArray[np.int64]:
    chosen = np.array(sorted(node_set(nodes, "nodes")), dtype=np.int64)
    if not len(chosen) or chosen[0] < 0 or chosen[-1] >= n:
        raise InvalidInput(f"nodes must name some of the nodes 0 .. {n - 1}; got {chosen.tolist()}.")
    if bad := sorted(adversary.corrupt & set(chosen.tolist())):
        raise InvalidInput(f"node {bad[0]} is corrupt itself; ask about honest nodes.")
    return chosen


def check(problem: Problem, channels: Channels) -> None:
    """What every question needs."""
    if not isinstance(problem, Problem):
        raise InvalidInput(f"problem must be a problem such as sv.averaging(network, s); got {problem!r}.")
    if channels not in ("open", "encrypted"):
        raise InvalidInput(f"channels must be 'open' or 'encrypted'; got {channels!r}.")


def nothing(secrets: Secrets) -> Leaks:
    """What nobody learns."""
    leakage, floor, excess = np.zeros((3, secrets.n))
    return Leaks(leakage, floor, excess, np.sqrt(secrets.variances.reshape(secrets.n, -1)))


def modular(case: Case, adversary: Adversary) -> tuple[Leaks, str, Guarantee]:
    """Uniform pads modulo ``2^bits``: by construction the view is the sum over each honest part (``modular_mask``).

    Masked values are public, and so is their sum: taps are told the answer. They are averaged from ``z(0) = 0``, so the
    first message of ``i`` shows ``m_i``, and nothing depends on it before. The values of part of a component are
    uniform whatever the secrets: a component shows its sum once all of it has spoken, and nothing before. (A coalition
    without taps may then still not be able to resolve it: an upper bound.) The same is left of a run that nobody sees,
    once its answer is published.
    """
    if case.setting.view == "snapshot":
        raise Unsupported("the snapshot is for Gaussian pads; audit the transcript of a run under a ModularMask.")
    answer = Answer(case.secrets, adversary.corrupt, public=adversary.sees_all(case.channels) or case.published)
    given = diagonal_blocks(answer.given, case.secrets.width)
    left = Posterior(given, given, np.zeros_like(given))
    before = diagonal_blocks(answer.K, case.secrets.width)
    woken = case.woken()
    spoken = [case.published or bool(woken[group].all()) for group in answer.groups]
    shown = condition(answer.K, answer.sums[np.repeat(spoken, case.secrets.width).astype(bool)])
    after = diagonal_blocks(shown, case.secrets.width)
    seen = Posterior(before, after, before - after)
    told = case.published and not adversary.corrupt
    found = leaks_of(answer, answer.honest, seen, left, complete=all(spoken), heard=woken, told=told)
    sure = case.setting.iterations is None or not any(spoken) or adversary.sees_all(case.channels)
    method = "by construction: masked values are uniform given the sums"
    return found, method, "exact" if sure else "upper bound"


def equal_curvatures(secrets: Secrets) -> bool:
    """Whether ``sum Q_j s_j``, which is disclosed, is the plain sum."""
    return bool((secrets.Q[0] == secrets.Q).all())


def describe_mask(mask: Any, runs: int = 1) -> str:
    """In words."""
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
