"""``compare``: at equal leakage, what does each method cost in accuracy, messages and time, and who breaks it?"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np

from ..errors import InvalidInput, SottovoceWarning
from ..network import Network
from ..pdmm.common_problems import averaging
from ..pdmm.problem import Problem
from ..pdmm.progress import Progress
from ..pdmm.settings import positive_integer, whole_number
from ..privacy.adversary import Adversary, Coalition, Eavesdropper, honest_components
from .base import Method, Outcome, positive
from .comparison import Comparison, Cost, Point, Row
from .equal_leakage import CLOSE, Target, at_leakage, changed, method_with, tuned
from .every import every_method

SIZES = (10, 30, 100, 300, 1000)
DRAWS, TUNING = 100, 3
REPORTED_DRAWS, TUNING_DRAWS = 0, 1  # streams of random numbers
ABOVE = 1.5  # times the floor: the leakage that is compared at, unless it is given
CURVE = 7  # points of a curve
SWEEP = 0.2, 20.0  # times the floor: where curves begin and end
MOST = 1.0  # nats, where they end at the latest
LONGEST = 5_000  # rounds in networks of growing size


def compare(
    network: Network,
    *,
    methods: Sequence[Method | str] | None = None,
    corrupt: Iterable[Hashable] | None = None,
    prior: float = 1.0,
    nats: float | None = None,
    draws: int = DRAWS,
    sizes: Sequence[int] = SIZES,
    seed: int = 0,
    progress: bool | None = None,
) -> Comparison:
    """Everything that the paper names beside its own method, on the same numbers, in the same units.

    Every party holds one number, ``N(0, prior)``, and all want the mean. The adversary is a coalition that taps every
    channel as far as a method leaves them open, and keeps the whole transcript. Steps (penalties, step sizes, numbers
    of rounds) are tuned by one procedure for all, on other draws than those that are reported; then the noise of each
    method is made as large as it takes to leak ``nats`` at most.

    Parameters
    ----------
    network : Network
        Who talks to whom. Shamir and secure aggregation do not keep to it, and say so.
    methods : sequence of Method or str, optional
        Such as ``baselines.Gossip()`` or their names. Default: all.
    corrupt : iterable, optional
        The parties that collude. Default: the first one without which the others are still connected.
    prior : float
        The variance of a number.
    nats : float, optional
        The leakage of the worst honest party at which methods are compared. Default: 1.5 times the floor, which is what
        an exact answer gives away.
    draws : int
        Of the numbers, and of the noise, that errors are means over. Methods without noise are played on one of them.
    sizes : sequence of int
        Numbers of parties for which messages and bytes are counted, on random geometric graphs; none for ``()``.
    seed : int
        Of everything that is random.
    progress : bool, optional
        A bar after two seconds. Default: on a terminal and in notebooks.

    Returns
    -------
    Comparison
        A row a method, curves of error against leakage, and costs against the number of parties.

    Raises
    ------
    InvalidInput
        For an argument that means nothing.

    Examples
    --------
    >>> import sottovoce as sv
    >>> network = sv.Network.random_geometric(10, seed=1)
    >>> found = sv.compare(network, methods=["subspace perturbation, tree"], sizes=(), draws=2)
    >>> print(f"{found.rows[0].nats:.3f} nats, {found.rows[0].messages:.0f} messages")
    0.088 nats, 36 messages
    """
    played = chosen_methods(methods)
    adversary, floor = adversary_of(network, corrupt)
    target = Target(adversary, positive(prior, "prior"), floor_times(floor) if nats is None else nats)
    positive(target.nats, "nats")
    positive_integer(draws, "draws")
    whole_number(seed, "seed")
    sizes = checked_sizes(sizes)
    reported = [drawn(network, prior, seed, REPORTED_DRAWS, k) for k in range(draws)]
    tuning = [drawn(network, prior, seed, TUNING_DRAWS, k) for k in range(TUNING)]
    rows, curves, costs = [], {}, []
    with Progress(progress, "comparing", "steps") as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", SottovoceWarning)  # of masks that hide little: how little is in the answer
        bar.begin(len(played) * (2 + len(sizes)))
        for method in played:
            bar.step(method.label)
            found = tuned(method, tuning, target)
            rows.append(row_of(found, reported, target))
            bar.step(f"{method.label}, curve")
            curves[method.label] = curve_of(found, reported, target, floor)
        for n in sizes:
            graph = Network.random_geometric(n, seed=seed)
            for method in played:
                bar.step(f"{method.label}, {n} parties")
                costs.append(cost_of(method, graph, prior, seed))
    return Comparison(
        rows=tuple(rows),
        curves=curves,
        costs=tuple(costs),
        nats=target.nats,
        floor=floor,
        useless=prior / network.n,
        settings=settings_of(network, played, target, draws, sizes, seed),
    )


def drawn(network: Network, prior: float, seed: int, stream: int, k: int) -> Problem:
    """The mean of numbers ``N(0, prior)``: draw ``k`` of a stream."""
    rng = np.random.default_rng([seed, stream, k])
    return averaging(network, math.sqrt(prior) * rng.standard_normal(network.n))


def row_of(method: Method, problems: Sequence[Problem], target: Target) -> Row:
    """One method at the target, or with as much noise as it takes."""
    at = at_leakage(method, problems[0], target) if method.hides else method
    if at is None:  # below its floor: its largest noise
        at = method_with(method, 1e8 * target.prior)
    outcomes = played_on(at, problems)
    leakage = outcomes[0].leakage(target.adversary, prior=target.prior)
    errors = np.array([outcome.error for outcome in outcomes])
    return Row(
        method=at.label,
        family=at.family,
        parameters=parameters_of(at),
        error=float(errors.mean()),
        stderr=stderr(errors),
        nats=leakage.worst,
        kind=leakage.kind,
        told=leakage.told,
        reached=leakage.worst <= target.nats * (1 + 1e-3),
        messages=float(np.mean([outcome.traffic.messages for outcome in outcomes])),
        bytes=float(np.mean([outcome.traffic.bytes for outcome in outcomes])),
        rounds=float(np.mean([outcome.traffic.rounds for outcome in outcomes])),
        seconds=float(np.mean([outcome.seconds for outcome in outcomes])),
        converged=all(outcome.converged for outcome in outcomes),
        needs=at.needs,
        breaks=at.breaks,
        survives=at.survives,
        notes=outcomes[0].notes,
    )


def played_on(method: Method, problems: Sequence[Problem]) -> list[Outcome]:
    """A run on each draw; of an exact method on the first alone, as its error is its tolerance on all."""
    some = problems if method.noisy else problems[:1]
    return [method.run(problem, seed=k) for k, problem in enumerate(some)]


def stderr(errors: np.ndarray[Any, Any]) -> float:
    return float(errors.std(ddof=1) / math.sqrt(len(errors))) if len(errors) > 1 else 0.0


def curve_of(method: Method, problems: Sequence[Problem], target: Target, floor: float) -> tuple[Point, ...]:
    """Error against leakage where the method has a choice, else nothing: its row is the point."""
    if not method.hides:
        return ()
    around = floor if math.isfinite(floor) else target.nats  # somebody is cut off: what was asked for is all there is
    low, high = around * SWEEP[0], min(MOST, around * SWEEP[1])
    points: list[Point] = []
    for nats in np.geomspace(low, max(high, 2 * low), CURVE):
        at = at_leakage(method, problems[0], Target(target.adversary, target.prior, float(nats)))
        if at is not None:
            outcomes = played_on(at, problems)
            errors = np.array([outcome.error for outcome in outcomes])
            worst = outcomes[0].leakage(target.adversary, prior=target.prior).worst
            if points and worst <= points[-1].nats * (1 + CLOSE):
                break  # it leaks no more than this, whatever is allowed
            points.append(Point(worst, float(errors.mean()), stderr(errors)))
    return tuple(points)


def cost_of(method: Method, network: Network, prior: float, seed: int) -> Cost:
    """Of one run, with steps that were tuned on another draw."""
    adversary, floor = adversary_of(network, None)
    quick = changed(method, max_rounds=min(LONGEST, getattr(method, "max_rounds", LONGEST)))
    target = Target(adversary, prior, ABOVE * floor)
    found = tuned(quick, [drawn(network, prior, seed, TUNING_DRAWS, 0)], target)
    sent = found.traffic(network)
    if sent is None:
        outcome = found.run(drawn(network, prior, seed, REPORTED_DRAWS, 0), seed=0)
        if not outcome.converged:
            return Cost(method.label, network.n, math.nan, math.nan, math.nan)
        sent = outcome.traffic
    return Cost(method.label, network.n, sent.messages, sent.bytes, sent.rounds)


def adversary_of(network: Network, corrupt: Iterable[Hashable] | None) -> tuple[Adversary, float]:
    """A coalition with taps, and the largest floor of an honest node."""
    if corrupt is None:
        alone = next(i for i in range(network.n) if len(honest_components(network, {i})) == 1)
        corrupt = {alone if network.labels is None else network.labels[alone]}
    adversary = Coalition(corrupt) | Eavesdropper()
    parts = honest_components(network, adversary.on(network).corrupt)
    if not parts:
        raise InvalidInput("corrupt names all parties: nobody is left to learn about.")
    smallest = min(len(part) for part in parts)
    return adversary, math.inf if smallest == 1 else -0.5 * math.log1p(-1 / smallest)


def floor_times(floor: float) -> float:
    if math.isinf(floor):
        raise InvalidInput(
            "the corrupt parties cut an honest one off from all others, and every exact answer discloses it: name "
            "others, or give nats."
        )
    return ABOVE * floor


def chosen_methods(methods: Sequence[Method | str] | None) -> list[Method]:
    """As given, or by name, or all."""
    known = {method.label: method for method in every_method()}
    if methods is None:
        return list(known.values())
    if isinstance(methods, str | Method) or not methods:
        raise InvalidInput(f"methods must be a list of methods or of their names; got {methods!r}.")
    found = []
    for method in methods:
        if isinstance(method, str) and method not in known:
            raise InvalidInput(f"no method is called {method!r}. There are: {', '.join(known)}.")
        if not isinstance(method, str | Method):
            raise InvalidInput(f"methods must be methods, such as baselines.Gossip(), or names; got {method!r}.")
        found.append(known[method] if isinstance(method, str) else method)
    if len({method.label for method in found}) < len(found):
        raise InvalidInput("two of the methods have the same name: compare them one at a time.")
    return found


def checked_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    if isinstance(sizes, str) or not all(isinstance(n, int) and not isinstance(n, bool) and n >= 4 for n in sizes):
        raise InvalidInput(f"sizes must be numbers of parties, 4 or more, such as (10, 100); got {sizes!r}.")
    return tuple(sorted(set(sizes)))


def parameters_of(method: Method) -> dict[str, Any]:
    """Such that ``getattr(baselines, d["class"])(**rest)`` is the method."""
    plain = {name: list(value) if isinstance(value, frozenset) else value for name, value in asdict(method).items()}  # type: ignore[call-overload]
    return {"class": type(method).__name__, **plain}


def settings_of(
    network: Network, methods: list[Method], target: Target, draws: int, sizes: tuple[int, ...], seed: int
) -> dict[str, Any]:
    corrupt = sorted(target.adversary.on(network).corrupt)
    return {
        "sottovoce": version("sottovoce"),
        "numpy": np.__version__,
        "n": network.n,
        "edges": network.edges.tolist(),
        "labels": None if network.labels is None else [str(label) for label in network.labels],
        "corrupt": [network.name(i) for i in corrupt],
        "prior": target.prior,
        "nats": target.nats,
        "draws": draws,
        "tuning_draws": TUNING,
        "sizes": list(sizes),
        "seed": seed,
        "methods": [parameters_of(method) for method in methods],
    }
