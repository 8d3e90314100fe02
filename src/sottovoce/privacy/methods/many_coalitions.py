"""Many coalitions at once: whole transcripts over open channels, of independent secrets with one entry each.

In ``q = Q s``, with ``D = Cov q`` diagonal, a coalition sees ``q + N(0, (sigma^2/2) L_h)`` on the honest nodes, and the
answer is ``1'q`` over each of their components (theory: Open channels). Here corrupt nodes keep their place as nodes
without edges, so that all coalitions have one shape.

Small networks: all but the solves is done for a stack of coalitions. Larger ones: every coalition is an update of one
matrix (``removed_coalitions``; theory: Many coalitions), and one coalition alone needs a diagonal alone
(``given_sums``); where digits would be lost, under weak masks, it is solved for like the small ones.
``closed_form._dense`` says the same for one coalition, and for everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from ...costs.base import Array
from ...network import Network
from ...network.graphs import components
from ..adversary import Nodes, honest_components
from .given_sums import diagonal_beyond_the_sum, laplacian, overheard
from .leaks import Leaks, informations
from .posterior import Posterior, conditioned, observe, too_far_apart
from .removed_coalitions import Removal, keeps_digits
from .secrets_and_prior import Secrets

STACK = 300_000  # entries of the matrices that are held at once
LARGE = 100  # nodes from which coalitions are updates of one matrix

Members = npt.NDArray[np.bool_]


def whole_transcripts(
    secrets: Secrets, coalitions: Sequence[frozenset[int]], variance: float, strength: float
) -> Iterator[Leaks]:
    """What each coalition learns once all have woken, taps included; of ``strength``, the sum of ``c^2`` over the edges
    with messages, only the empty one takes notice."""
    if secrets.n >= LARGE and len(coalitions) > 1 and keeps_digits(secrets, variance):
        return _updated(secrets, coalitions, variance, strength)
    return solved(secrets, coalitions, variance, strength)


def solved(secrets: Secrets, coalitions: Sequence[frozenset[int]], variance: float, strength: float) -> Iterator[Leaks]:
    """The same by solves for every coalition, in stacks."""
    each = max(1, STACK // secrets.n**2)
    for start in range(0, len(coalitions), each):
        yield from _one_by_one(_stacked(secrets, coalitions[start : start + each], variance, strength))


def all_nodes(secrets: Secrets, corrupt: frozenset[int], variance: float, strength: float) -> Leaks | None:
    """What one coalition learns, from the diagonals of its components; None where digits would be lost."""
    if not corrupt:
        return overhearing(secrets, variance)(strength)
    network, D = secrets.problem.network, secrets.Q**2 * secrets.K
    honest, group, E = np.zeros((1, secrets.n), dtype=bool), np.arange(secrets.n)[None], np.zeros((1, secrets.n))
    L = laplacian(network, corrupt)
    for part in honest_components(network, corrupt):
        honest[0, part], group[0, part] = True, part[0]
        if len(part) > 1:
            found = diagonal_beyond_the_sum((variance / 2) * L[part][:, part], D[part], secrets.Q[part])
            if found is None:
                return None
            E[0, part] = found[0]
    return next(_one_by_one(_from_precisions(secrets, honest, np.array([[True]]), group, E)))


def overhearing(secrets: Secrets, variance: float) -> Callable[[float], Leaks | None]:
    """The same for taps without a corrupt node, for any ``strength``."""
    D, once = secrets.Q**2 * secrets.K, np.zeros((1, secrets.n), dtype=np.int64)
    found = diagonal_beyond_the_sum((variance / 2) * laplacian(secrets.problem.network), D, secrets.Q)

    def of(strength: float) -> Leaks | None:
        E = None if found is None else overheard(*found, D, secrets.Q, variance / (2 * strength))
        if E is None:
            return None
        return next(_one_by_one(_from_precisions(secrets, once == 0, np.array([[False]]), once, E[None])))

    return of


def _updated(
    secrets: Secrets, coalitions: Sequence[frozenset[int]], variance: float, strength: float
) -> Iterator[Leaks]:
    """Coalitions from one matrix; those of which digits were lost by matrices of their own."""
    whole, D = Removal(secrets, variance), secrets.Q**2 * secrets.K
    each = max(1, STACK // secrets.n)
    for start in range(0, len(coalitions), each):
        some = coalitions[start : start + each]
        honest, told = _shape(secrets.n, some)
        group = _groups(secrets.problem.network, honest)
        E, inaccurate = np.zeros(honest.shape), np.zeros(len(some), dtype=bool)
        for k, corrupt in enumerate(some):
            if corrupt:
                found = whole.diagonal(corrupt, group[k] - group[k].min())
            else:
                EQ = whole.E @ secrets.Q
                found = overheard(whole.E.diagonal(), EQ, D, secrets.Q, variance / (2 * strength))
            inaccurate[k] = found is None
            E[k] = 0.0 if found is None else found
        for k, one in enumerate(_one_by_one(_from_precisions(secrets, honest, told, group, E))):
            again = all_nodes(secrets, some[k], variance, strength) if inaccurate[k] else one
            yield again or next(solved(secrets, [some[k]], variance, strength))


def _from_precisions(secrets: Secrets, honest: Members, told: Members, group: Nodes, E: Array) -> Leaks:
    """From what each coalition's view adds to the precision of each node. Where ``keeps_digits`` holds no difference
    here is a small part of what it is taken from."""
    D = secrets.Q**2 * secrets.K
    size, total = np.bincount(group.ravel())[group], np.bincount(group.ravel(), np.tile(D, len(group)))[group]
    prior, gained = np.broadcast_to(D, honest.shape), D**2 * E
    before = np.where(told, D * (total - D) / total, D)
    after = before - gained
    left = Posterior(*_blocks(before, after, gained))
    seen = Posterior(*_blocks(prior, after, np.where(told, gained + D**2 / total, gained)))
    return _informed(secrets, honest, told, size, seen, left)


def _informed(secrets: Secrets, honest: Members, told: Members, size: Nodes, seen: Posterior, left: Posterior) -> Leaks:
    lone = (size == 1) & told
    noise = None if secrets.noise is None else secrets.noise.scaled(secrets.Q)
    found = informations(seen.before, seen, left, lone, np.ones_like(lone), told, secrets.copies, noise=noise)
    found.std[:] /= np.abs(secrets.Q)[:, None]
    for values in (found.leakage, found.floor, found.excess, found.std):
        values[~honest] = np.nan
    return found


def _one_by_one(stack: Leaks) -> Iterator[Leaks]:
    for each in zip(stack.leakage, stack.floor, stack.excess, stack.std, strict=True):
        yield Leaks(*each)


def _shape(n: int, coalitions: Sequence[frozenset[int]]) -> tuple[Members, Members]:
    """Who is honest, and whether the answer is told: to an eavesdropper it is not."""
    honest = np.ones((len(coalitions), n), dtype=bool)
    for member, corrupt in zip(honest, coalitions, strict=True):
        member[list(corrupt)] = False
    return honest, np.array([[bool(corrupt)] for corrupt in coalitions])


def _stacked(secrets: Secrets, coalitions: Sequence[frozenset[int]], variance: float, strength: float) -> Leaks:
    network, n, D = secrets.problem.network, secrets.n, secrets.Q**2 * secrets.K
    diagonal = np.arange(n)
    honest, told = _shape(n, coalitions)
    group = _groups(network, honest)
    same = group[:, :, None] == group[:, None, :]
    size, total = np.bincount(group.ravel())[group], np.bincount(group.ravel(), np.tile(D, len(group)))[group]
    per_total = np.where(told, 1 / total, 0.0)

    # Cov q given the answer; its diagonal without a difference.
    given = np.where(same, D[:, None] * D, 0.0) * -per_total[:, :, None]
    same[:, diagonal, diagonal] = False
    given[:, diagonal, diagonal] = np.where(told, D * (same @ D) * per_total, D)
    same[:, diagonal, diagonal] = True
    edges = network.adjacency.toarray() * (honest[:, :, None] & honest[:, None, :])
    N = (variance / 2) * -edges.astype(np.float64)
    N[:, diagonal, diagonal] = (variance / 2) * edges.sum(axis=2)
    untold = ~told[:, 0]
    shift = variance / (2 * strength)  # of all x
    prior, before = np.broadcast_to(D, honest.shape), given[:, diagonal, diagonal]
    after, gained = np.empty((2, *honest.shape))
    mean = (per_total[:, :, None] * same)[~untold]
    after[~untold], gained[~untold] = _observed(given[~untold], N[~untold], _largest(same[~untold], D), D, mean)
    if untold.any():
        after[untold], gained[untold] = _overheard(D, N[untold][0], shift, secrets.Q)
    left = Posterior(*_blocks(before, after, gained))
    # A coalition's view holds the answer, so both leave the same; see ``_dense``.
    seen = Posterior(*_blocks(prior, after, gained + D**2 * per_total))
    return _informed(secrets, honest, told, size, seen, left)


def _largest(same: Members, D: Array) -> Members:
    """Of every group the node with the most variance: given the answer it has nothing to add, as ``1'Y`` is constant
    over the group."""
    return np.asarray(np.argmax(np.where(same, D, 0.0), axis=2) == np.arange(len(D)))


def _observed(given: Array, N: Array, aside: Members, D: Array, mean: Array) -> tuple[Array, Array]:
    """``posterior.observe`` for ``A = I``, by rows: what is left of each variance, and what was gained, from those that
    are not left ``aside``.

    Given the answer, ``x' given x`` is the sum over ``D`` of the squares of ``x`` about its mean.
    """
    M, heard = given + N, given.copy()
    M[aside[:, :, None] | aside[:, None, :]] = 0.0
    M[aside[:, :, None] & np.eye(len(D), dtype=bool)] = 1.0
    heard.swapaxes(1, 2)[aside] = 0.0
    gain = _solved(M, heard)
    gained = np.einsum("kij,kij->ki", gain, given)
    before = np.diagonal(given, axis1=1, axis2=2)
    if (2 * gained <= before).all():  # the difference loses nothing
        return before - gained, gained
    error = np.eye(len(D)) - gain
    error -= (error @ D)[:, :, None] * mean
    return (error**2) @ D + np.einsum("kij,kij->ki", gain, gain @ N), gained


def _overheard(D: Array, N: Array, shift: float, Q: Array) -> tuple[Array, Array]:
    """The same for taps without a corrupt node: ``Y = q + N(0, N) + Q t``, ``t ~ N(0, shift)``, where pads cancel from
    ``1'Y = 1'q + 1'Q t``.

    That sum is taken as known, as no digit of it may be lost to the pads, however large they are; one entry of ``Y``
    has nothing to add then.
    """
    n = len(D)
    root, told_by = conditioned(np.diag(np.sqrt([*D, shift])), np.array([[*np.ones(n), Q.sum()]]))
    A = np.column_stack([np.eye(n), Q])
    rest = np.delete(np.arange(n), np.argmax(((A @ root) ** 2).sum(axis=1)))
    found = observe(root, A[rest], N[np.ix_(rest, rest)], 1)
    return found.after[:n, 0, 0], found.gained[:n, 0, 0] + told_by[:n, 0] ** 2


def _blocks(*values: Array) -> Iterator[Array]:
    """Numbers as covariances of one entry."""
    return (value[..., None, None] for value in values)


def _groups(network: Network, honest: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """A number for each component of each coalition's honest nodes; corrupt ones are components of their own."""
    count, n = honest.shape
    kept = honest[:, network.edges].all(axis=2)
    at, edge = np.nonzero(kept)
    _, group = components(count * n, network.edges[edge] + n * at[:, None])
    return group.astype(np.int64).reshape(count, n)


def _solved(M: Array, given: Array) -> Array:
    """The rows ``(M^{-1} given)'``, for symmetric matrices; ``M`` is used up."""
    gain = given.copy()
    for matrix, columns in zip(M, gain, strict=True):
        # Rows in C are columns in Fortran: LAPACK works in place.
        *_, failed = lapack.dposv(matrix.T, columns.T, overwrite_a=True, overwrite_b=True)
        if failed:
            raise too_far_apart()
    return gain
