"""The auditor: what does each party give away, to whom, by which channel (theory: Transcripts)?"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy.typing as npt

from ..errors import InvalidInput, Unsupported
from ..pdmm.local_noise import LocalNoise
from ..pdmm.masks import GaussianMask, UniformMask
from ..pdmm.modular_mask import ModularMask, integer_secrets
from ..pdmm.overlay import AskedOverlay
from ..pdmm.penalties import AskedPenalty
from ..pdmm.problem import Problem
from ..pdmm.progress import Line
from ..pdmm.schedules import Schedule
from .adversary import Adversary, Channels, Eavesdropper, Worst, listeners
from .answers.report import Report
from .attacks.uncertified import Hessians, check_hessians, uncertified
from .methods.case import Case, MethodName, check, setting_of
from .methods.correlated_pads import CorrelatedPads
from .methods.secrets_and_prior import prior_of, secrets_of
from .methods.worst_coalition import worst_case
from .seen import Snapshot, Transcript


def audit(
    problem: Problem,
    mask: GaussianMask | UniformMask | ModularMask | CorrelatedPads | None = None,
    *,
    noise: LocalNoise | None = None,
    corrupt: Iterable[Hashable] = (),
    against: Adversary | Worst | None = None,
    seen: Transcript | Snapshot = Transcript(),  # noqa: B008 - frozen
    channels: Channels = "open",
    prior: npt.ArrayLike | Mapping[Any, float] | None = None,
    hessians: Hessians = "private",
    schedule: Schedule | None = None,
    theta: float | None = None,
    c: AskedPenalty = "auto",
    overlay: AskedOverlay = "all",
    seed: int | None = None,
    nodes: Iterable[Hashable] | None = None,
    method: MethodName = "auto",
    progress: bool | Line | None = None,
) -> Report:
    """What does each party give away, to whom: the exact leakage ``I(S_i; view)`` of every node, in nats.

    Parameters
    ----------
    problem
        Network and costs.
    mask
        Of the run; None is ``z(0) = 0``, which hides nothing.
    noise
        Of the run, with a mask or without: the informations are then of the secrets themselves, through noisy numbers,
        and ``mu`` is that of differential privacy without any condition. Fresh in every one of several runs.
    corrupt
        The nodes that collude, by name (or number, where names are not), and tap every open channel: short for
        ``against=Coalition(corrupt) | Eavesdropper()``. None of them leaves the eavesdropper.
    against
        Who listens: ``Eavesdropper()``, ``Coalition({0, 3})``, both with ``|``, or ``Worst(max_corrupt=1)``, for each
        node the worst coalition of at most one.
    seen
        ``Transcript()``, whole or of some iterations, of one run or several; or the paper's ``Snapshot(iteration)``.
    channels
        ``"open"``: taps read every message. ``"encrypted"``: a coalition reads the messages of its own edges.
    prior
        The variance of a secret, one per node (also by name), or a covariance. By default the mean square of the data
        that the problem holds, or 1 where it holds none.
    hessians
        No mask hides the ``Q_i`` of quadratic costs. Where they differ from node to node (or belong to a regression)
        they are taken for data, and there is no guarantee; ``"public"`` says that they are none, and what is certified
        are the linear terms, as ``s_i = -Q_i^{-1} q_i``: of a regression its own coefficients, given ``A_i'A_i``.
    schedule, theta, c, overlay, seed
        How the run goes, as for ``solve``. Pads lie on every edge of the network whatever the overlay: once all have
        spoken over open channels, a coalition learns the same over any.
    nodes
        Only these, for networks too large for all.
    method
        ``"closed form"`` or ``"elimination"``, to compare them; by default the fastest that applies.
    progress
        A bar while coalitions are tried, as for ``solve``.

    Returns
    -------
    Report
        Numbers per node, sentences about them, and a verdict.

    Raises
    ------
    InvalidInput
        For an argument that means nothing.
    Unsupported
        For a question without an exact answer or a bound.

    Examples
    --------
    >>> import sottovoce as sv
    >>> problem = sv.averaging(sv.Network.ring(5), [3.0, 1.0, 4.0, 1.0, 5.0])
    >>> report = sv.privacy.audit(problem, sv.GaussianMask(variance=1e6), corrupt={3})
    >>> report.exposed, report.verdict().value
    ((), 'safe')
    >>> path = sv.Network.from_named_edges([("Ada", "Bob"), ("Bob", "Eve"), ("Eve", "Joe")])
    >>> report = sv.privacy.audit(sv.averaging(path, [3.0, 1.0, 4.0, 1.0]), sv.GaussianMask(1e6), corrupt={"Eve"})
    >>> report.exposed, report.groups
    (('Joe',), [['Ada', 'Bob'], ['Joe']])

    Noise on the data keeps Joe from being disclosed, and the mean from being exact:

    >>> noisy = sv.privacy.audit(sv.averaging(path, [3.0, 1.0, 4.0, 1.0]), sv.GaussianMask(1e6), corrupt={"Eve"},
    ...                          noise=sv.LocalNoise(4.0))
    >>> noisy.exposed, round(float(noisy.loc("Joe")["leakage"]), 2), round(float(noisy.delta(epsilon=1.0)[3]), 2)
    ((), 0.49, 0.24)
    """
    check(problem, channels)
    if method not in ("auto", "closed form", "elimination"):
        raise InvalidInput(f"method must be 'auto', 'closed form' or 'elimination'; got {method!r}.")
    if mask is not None and not isinstance(mask, GaussianMask | UniformMask | ModularMask | CorrelatedPads):
        raise InvalidInput(f"mask must be a mask such as sv.GaussianMask(variance=1e6), or None; got {mask!r}.")
    check_hessians(hessians)
    check_noise(noise, problem, mask, seen)
    listening = listeners(corrupt, against).on(problem.network)
    worst = listening.max_corrupt if isinstance(listening, Worst) else None
    adversary = Eavesdropper() if isinstance(listening, Worst) else listening
    setting = setting_of(problem, schedule, theta, c, seed, seen, overlay)
    seen = setting.seen
    if seen.runs > 1 and setting.random and setting.iterations is not None:
        raise InvalidInput(
            f"runs={seen.runs} of a random schedule wake different nodes, so {seen.describe()} of one of them does not "
            "stand for the others. Ask for the whole transcript, or give the sequence as a Trace if all runs share it."
        )
    if seen.answer == "public" and (adversary.corrupt or worst) and setting.iterations is not None:
        raise InvalidInput("answer='public' is of a whole run: leave iterations out.")
    assumed = prior_of(problem, prior)
    without = uncertified(problem, mask, adversary, channels, setting, assumed.value, hessians, worst, noise)
    if without is not None:  # whoever listens
        return without
    assert not isinstance(mask, UniformMask)
    secrets = secrets_of(problem, assumed.value)
    if noise is not None:
        secrets = secrets.with_noise(noise.variance / seen.runs)
    if isinstance(mask, ModularMask):
        integer_secrets(problem, mask)  # refuses what it cannot hide
    case = Case(secrets, mask, channels, setting, method, assumed, noise)
    if worst is None:
        return case.report(adversary, nodes)
    if nodes is not None:
        raise InvalidInput("nodes is for a named coalition; a worst case is over all nodes. Leave one of them out.")
    return worst_case(case, worst, progress)


def check_noise(noise: Any, problem: Problem, mask: Any, seen: Any) -> None:
    """Refuse what is no noise, and what has no exact answer with it."""
    if noise is None:
        return
    if not isinstance(noise, LocalNoise):
        raise InvalidInput(f"noise must be sv.LocalNoise(variance), or None; got {noise!r}.")
    noise.check(problem)
    if isinstance(mask, ModularMask):
        raise Unsupported("local noise is not of integers, and ModularMask hides integers. Use GaussianMask.")
    if isinstance(mask, UniformMask):
        raise Unsupported("uniform pads have no certificate, with local noise or without. Use GaussianMask.")
    if getattr(seen, "pads", None) == "reused":
        raise Unsupported(
            "pads='reused' asks for the change in the data, which fresh noise in every run hides. Leave noise out, or "
            "audit fresh pads."
        )
