"""What must be flagged: settings that look protected and are not. And the mirror image, which must not be."""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers import shards

import sottovoce as sv
from sottovoce.pdmm.masks import UniformMask
from sottovoce.privacy import Coalition, Eavesdropper, Transcript, Worst, audit
from sottovoce.privacy.research import CorrelatedPads, Subspace, pad_reuse_attack

# Two triangles that meet in 2, and a leaf at 5: the corrupt cut vertex 2 leaves {0, 1} and {3, 4, 5}; 4 isolates 5.
NETWORK = sv.Network.from_edges(6, [(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4), (4, 5)])
AVERAGING = sv.averaging(NETWORK, np.arange(6.0))
GAUSSIAN = sv.GaussianMask(1e4)
HONEST = {"coalition": [0, 2, 3, 4, 5], "eavesdropper": [0, 1, 2, 3, 4, 5]}
WHO = {"coalition": {"corrupt": {1}}, "eavesdropper": {}}


def projected(variance=1e4):
    """Pads projected on ``Psi_perp``."""
    basis = Subspace(NETWORK).basis()
    return CorrelatedPads(variance * (np.eye(len(basis)) - basis @ basis.T))


def claims_privacy(report):
    """Whether a sentence says ``private`` without ``NOT`` in front; a function's name does not count."""
    return any(re.search(r"(?<!NOT )\bprivate\b", text, re.IGNORECASE) for text in report.sentences())


# Healthy


@pytest.mark.parametrize("channels", ["open", "encrypted"])
@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize(
    "mask",
    [GAUSSIAN, CorrelatedPads(1e4 * np.eye(14)), pytest.param(sv.ModularMask(), id="modular")],
    ids=lambda mask: type(mask).__name__,
)
def test_a_healthy_setting_raises_no_flag(mask, who, channels):
    report = audit(AVERAGING, mask=mask, c=0.4, channels=channels, seed=0, **WHO[who])
    assert report.flags == {}
    assert report.exposed == ()
    assert report.guarantee == "exact"
    assert np.isfinite(report.leakage[HONEST[who]]).all()
    assert "No party is disclosed exactly." in report.sentences()
    assert not claims_privacy(report)


# No mask, or one that hides nothing


@pytest.mark.parametrize("who", WHO)
def test_no_mask(who):
    report = audit(AVERAGING, mask=None, c=0.4, **WHO[who])
    assert list(report.flags) == ["no mask"]
    assert list(report.exposed) == HONEST[who]
    assert (report.posterior_std[HONEST[who]] == 0).all()
    assert "DISCLOSED exactly" in report.summary()


def test_no_mask_over_encrypted_channels():
    """The coalition's own edges carry everything in the end: a synchronous run on this graph is observable from 1."""
    report = audit(AVERAGING, mask=None, c=0.4, corrupt={1}, channels="encrypted")
    assert "no mask" in report.flags
    assert report.exposed == (0, 2, 3, 4, 5)


def test_before_anybody_speaks_nothing_is_disclosed():
    report = audit(AVERAGING, mask=None, c=0.4, seen=Transcript(0))
    assert report.exposed == ()
    assert (report.leakage == 0).all()


@pytest.mark.parametrize("method", ["auto", "elimination"])
@pytest.mark.parametrize("who", WHO)
def test_noise_projected_on_psi_perp(who, method):
    """``C' Pi_perp = 0``: no node ever feels it, at any variance."""
    report = audit(AVERAGING, mask=projected(1e12), c=0.4, method=method, **WHO[who])
    assert list(report.flags) == ["projected"]
    assert list(report.exposed) == HONEST[who]


def test_noise_projected_on_psi_can_give_a_node_away_too():
    """It is felt, so it is not called projected; but its ``2n - 1`` numbers are known from the coalition's pads and
    traffic as far as they reach node 0, and only a posterior tells."""
    basis = Subspace(NETWORK).basis()
    report = audit(AVERAGING, mask=CorrelatedPads(1e4 * basis @ basis.T), c=0.4, corrupt={1})
    assert report.flags == {}
    assert report.exposed == (0,)


# Uniform


def test_uniform_noise():
    report = audit(AVERAGING, mask=UniformMask(1e4), corrupt={1})
    assert list(report.flags) == ["uniform"]
    assert report.guarantee == "none"
    assert np.isnan(report.leakage).all()
    # The attack is on the node with the fewest honest neighbours, and beats what Gaussian pads allow.
    assert report.attack.node in (0, 5)
    assert report.attack.nats > 2 * report.attack.gaussian
    assert "NOT ASSESSED" in report.summary()
    assert not claims_privacy(report)


def test_uniform_noise_without_a_corrupt_node_has_no_guarantee_either():
    report = audit(AVERAGING, mask=UniformMask(1e4))
    assert list(report.flags) == ["uniform"]
    assert report.guarantee == "none"
    assert np.isnan(report.leakage).all()


# Twice


@pytest.mark.parametrize("who", WHO)
def test_pads_that_are_used_twice(who):
    """Of the change between the runs nothing is hidden, at any variance; and an attack takes it."""
    mask = sv.GaussianMask(1e8)
    report = audit(AVERAGING, mask=mask, seen=Transcript(runs=2, pads="reused"), c=0.4, **WHO[who])
    assert list(report.flags) == ["pads reused"]
    assert list(report.exposed) == HONEST[who]
    after = sv.averaging(NETWORK, np.arange(6.0) ** 2)
    change = pad_reuse_attack(AVERAGING, after, mask=mask, seed=1, c=0.4)
    # A few dozen roundings at the size of the pads, 1e4.
    assert change.errors(AVERAGING, after).max() < 1e4 * 100 * np.finfo(float).eps


@pytest.mark.parametrize("channels", ["open", "encrypted"])
@pytest.mark.parametrize("runs", [2, 10])
def test_repeated_runs_leak_as_a_smaller_mask_does(runs, channels):
    arguments = {"corrupt": {1}, "channels": channels, "c": 0.4, "seed": 0}
    report = audit(AVERAGING, mask=GAUSSIAN, seen=Transcript(runs=runs), **arguments)
    assert list(report.flags) == ["repeated runs"]
    weaker = audit(AVERAGING, mask=sv.GaussianMask(1e4 / runs), **arguments)
    assert weaker.flags == {}
    np.testing.assert_array_equal(report.leakage, weaker.leakage)
    once = audit(AVERAGING, mask=GAUSSIAN, **arguments)
    assert (report.excess > 1.9 * once.excess)[HONEST["coalition"]].all()


# The graph


@pytest.mark.parametrize("channels", ["open", "encrypted"])
@pytest.mark.parametrize("variance", [1.0, 1e12])
def test_a_node_whose_neighbours_are_all_corrupt(variance, channels):
    report = audit(AVERAGING, mask=sv.GaussianMask(variance), corrupt={4}, channels=channels, c=0.4, seed=0)
    assert report.exposed == (5,)
    assert set(report.flags) == {"isolated", "cut"}
    assert (report.leakage[5], report.floor[5], report.posterior_std[5, 0]) == (np.inf, np.inf, 0)
    assert "all neighbours are corrupt: 5 (neighbours 4)" in report.summary()
    assert any(text.startswith("An edge 5 - ") for text in report.sentences())


@pytest.mark.parametrize("channels", ["open", "encrypted"])
def test_a_corrupt_cut_vertex(channels):
    report = audit(AVERAGING, mask=GAUSSIAN, corrupt={2}, channels=channels, c=0.4, seed=0)
    assert list(report.flags) == ["cut"]
    assert report.groups == [[0, 1], [3, 4, 5]]
    assert report.exposed == ()
    expected = [np.log(2) / 2, np.log(2) / 2, np.nan, *[-0.5 * np.log(2 / 3)] * 3]
    np.testing.assert_allclose(report.floor, expected, rtol=1e-12)
    assert "the sum over each of {0, 1}; {3, 4, 5}" in report.summary()


def test_a_coalition_that_cuts_nothing_learns_one_sum():
    report = audit(AVERAGING, mask=GAUSSIAN, corrupt={1})
    assert report.groups == [[0, 2, 3, 4, 5]]
    assert report.flags == {}


# No certificate


@pytest.mark.parametrize("variance", [1.0, 1e8])
@pytest.mark.parametrize("who", WHO)
def test_regression_is_not_private(rng, who, variance):
    problem = sv.least_squares(NETWORK, shards(rng, 6, rows=8, d=3), ridge=0.1)
    report = audit(problem, mask=sv.GaussianMask(variance), c=2.0, seed=0, **WHO[who])
    assert list(report.flags) == ["regression"]
    assert report.guarantee == "none"
    assert list(report.exposed) == HONEST[who]
    assert report.attack.errors(problem).max() < 1e-10
    for i in range(6):
        A = problem.cost(i).quadratic.Q[0]
        np.testing.assert_allclose(report.attack.matrices[i], A, rtol=0, atol=1e-10 * np.abs(A).max())
    assert not claims_privacy(report)
    assert "NOT PRIVATE" in report.summary()
    assert "private_linear" in report.summary()


def test_regression_over_encrypted_channels_has_no_guarantee_either(rng):
    """Node 1 alone, from its own edges: both neighbours where nodes wake one by one, none where all wake at once."""
    problem = sv.least_squares(NETWORK, shards(rng, 6, rows=8, d=2), ridge=0.1)
    arguments = {"mask": GAUSSIAN, "corrupt": {1}, "channels": "encrypted", "c": 2.0, "seed": 0}
    report = audit(problem, schedule=sv.Asynchronous(), **arguments)
    assert list(report.flags) == ["regression"]
    assert report.guarantee == "none"
    assert report.exposed == (0, 2)
    assert np.nanmax(report.attack.errors(problem)) < 1e-9
    assert "A_0'A_0, A_2'A_2" in report.summary()
    assert not claims_privacy(report)
    together = audit(problem, **arguments)
    assert (together.guarantee, together.exposed) == ("none", ())
    assert "found none in this run" in together.summary()
    assert "That is no guarantee." in together.summary()
    assert not claims_privacy(together)


ROWS = np.array([5, 17, 40, 3, 9, 9])


def unequal(d=1):
    """The mean of all rows, of parties with different numbers of them: ``Q_i = 2 n_i``."""
    return sv.Problem(NETWORK, sv.Quadratic.many(2.0 * ROWS, np.zeros((6, d))))


@pytest.mark.parametrize("who", WHO)
def test_hessians_that_differ_are_data(who):
    report = audit(unequal(), mask=GAUSSIAN, c=8.0, seed=0, **WHO[who])
    assert list(report.flags) == ["hessians"]
    assert report.guarantee == "none"
    assert list(report.exposed) == HONEST[who]
    assert np.abs(report.attack.matrices[:, 0, 0] / 2 - ROWS).max() < 1e-10
    assert "Q_0 = 10" in report.summary()
    assert "Nothing is learned exactly" not in report.summary()


def test_hessians_that_are_public_leave_the_certificate():
    arguments = {"mask": GAUSSIAN, "corrupt": {1}, "c": 8.0, "seed": 0}
    report = audit(unequal(), hessians="public", **arguments)
    assert (report.guarantee, report.flags, report.exposed) == ("exact", {}, ())
    assert audit(unequal(3), hessians="public", **arguments).guarantee == "exact"
    # One Hessian for all needs no word.
    one = sv.Problem(NETWORK, sv.Quadratic.many(np.full(6, 34.0), np.zeros((6, 1))))
    assert audit(one, **arguments).guarantee == "exact"
    # Nor is one needed where nothing is seen.
    assert audit(unequal(), mask=GAUSSIAN, channels="encrypted").method == "nothing is seen"


def test_hessians_over_encrypted_channels():
    report = audit(
        unequal(), mask=GAUSSIAN, c=2.0, seed=0, schedule=sv.Asynchronous(), channels="encrypted", corrupt={4}
    )
    assert list(report.flags) == ["hessians"]
    assert report.exposed == (2, 3, 5)
    assert "from own edges alone, recovered 3 of 5 matrices" in report.summary()


def test_a_regression_whose_hessians_are_public_is_audited_like_any_other(rng):
    """What is left to hide is ``A_i'b_i``, as each party's own coefficients ``(A_i'A_i + ridge I)^-1 A_i'b_i``."""
    regression = sv.least_squares(NETWORK, shards(rng, 6, rows=8, d=2), ridge=0.6)
    form = regression.quadratic
    arguments = {"mask": GAUSSIAN, "corrupt": {1}, "hessians": "public"}
    report = audit(regression, **arguments)
    assert report.guarantee == "exact"
    again = audit(sv.Problem(NETWORK, sv.Quadratic.many(form.Q, form.q)), **arguments)
    np.testing.assert_array_equal(report.leakage, again.leakage)
    assert sv.privacy.calibrate(regression, delta=1.0, against=Worst(0), hessians="public", c=1.0).variance > 0


def test_medians_are_read_at_their_kinks():
    s = np.array([0.3, -1.7, 2.2, 0.9, -0.4, 5.1])
    problem = sv.Problem(NETWORK, sv.AbsoluteDeviation.many(s))
    arguments = {"mask": sv.GaussianMask(100.0), "c": 0.4, "seed": 0}
    tapped = audit(problem, corrupt={1}, **arguments)
    own = audit(problem, corrupt={1}, channels="encrypted", schedule=sv.Asynchronous(), **arguments)
    for report in (tapped, own):
        assert list(report.flags) == ["not quadratic"]
        assert report.guarantee == "none"
        assert "we know of no attack" not in report.summary()
        assert report.exposed
        for i in report.exposed:
            assert abs(report.attack.values[i, 0] - s[i]) < 1e-12
            assert f"the value of party {i}, {s[i]:g}" in report.summary() or i not in report.exposed[:3]
    assert set(own.exposed) <= {0, 2}
    outside = audit(problem, **arguments)  # which knows differences only
    assert outside.exposed == ()
    assert "less that of party" in outside.summary()


def test_one_row_logistic_parties_give_their_row_away(rng):
    data = [(rng.normal(size=(1, 2)), [1.0]) for _ in range(6)]
    report = audit(sv.logistic(NETWORK, data), mask=sv.GaussianMask(10.0), c=0.5, seed=0)
    assert report.exposed == (0, 1, 2, 3, 4, 5)
    assert "the rows of 6 parties, up to their signs" in report.summary()
    several = audit(
        sv.logistic(NETWORK, [(A, np.sign(b)) for A, b in shards(rng, 6, 4, 2)]), mask=GAUSSIAN, c=0.5, seed=0
    )
    assert several.exposed == ()
    assert "The gradient map of node" in several.summary()


def test_what_no_attack_fits_is_said_to_be_no_guarantee(rng):
    problem = sv.logistic(NETWORK, [(A, np.sign(b)) for A, b in shards(rng, 6, 4, 2)])
    for more in ({"channels": "encrypted", "corrupt": {1}}, {"schedule": sv.Delayed(2)}):
        report = audit(problem, mask=GAUSSIAN, c=0.5, seed=0, **more)
        assert (report.guarantee, report.attack, report.method) == ("none", None, "no attack was played")
        assert "That is no guarantee." in report.summary()
        assert "we know of no attack" not in report.summary()


def test_the_most_telling_node_is_named():
    """Of medians some nodes wake often and see nothing: their gradient stays at 1."""
    problem = sv.Problem(NETWORK, [sv.Huber(s, 0.1) for s in (0.0, 1e6, 0.1, 0.2, 0.3, 0.4)])
    report = audit(problem, mask=sv.GaussianMask(1.0), c=0.4, seed=0)
    assert report.attack.telling != 1
    assert report.attack.ranges[report.attack.telling] == report.attack.ranges.max() > 1e-3
    assert f"The gradient map of node {report.attack.telling} " in report.summary()


def test_costs_that_are_not_quadratic():
    problem = sv.Problem(NETWORK, [sv.Huber(float(i), 1.0) for i in range(6)])
    report = audit(problem, mask=GAUSSIAN, theta=0.5, c=0.4, seed=0)
    assert list(report.flags) == ["not quadratic"]
    assert report.guarantee == "none"
    assert np.isnan(report.leakage).all()
    assert report.attack.points.max() > 1
    assert f"known up to a constant at {report.attack.points[report.attack.telling]} points" in report.summary()
    assert not claims_privacy(report)


def test_a_single_quadratic_regression_among_averages_spoils_all(rng):
    A, b = shards(rng, 1, rows=4, d=1)[0]
    problem = sv.Problem(NETWORK, [sv.LeastSquares(A, b), *(sv.Averaging([1.0]) for _ in range(5))])
    assert list(audit(problem, mask=GAUSSIAN, c=0.4, seed=0).flags) == ["regression"]


# Uniform pads modulo 2^bits


def test_modular_pads_leave_the_floor():
    report = audit(AVERAGING, mask=sv.ModularMask(), corrupt={2})
    assert (report.excess[[0, 1, 3, 4, 5]] == 0).all()
    np.testing.assert_array_equal(report.leakage, report.floor)
    assert audit(AVERAGING, mask=sv.ModularMask(), corrupt={4}).exposed == (5,)


def test_modular_pads_tell_an_eavesdropper_the_sum():
    """``sum m_i = sum s_i`` modulo ``2^bits``, and the ``m_i`` are averaged in the open, from ``z(0) = 0``."""
    s, mask = np.arange(6), sv.ModularMask()
    hidden = mask.hide(NETWORK, s[:, None], mask.draw((NETWORK.m, 1), 0))
    assert mask.centre(hidden.sum(axis=0)) == [15]  # so much is known
    report = audit(sv.averaging(NETWORK, s), mask=mask, against=Eavesdropper())
    np.testing.assert_allclose(report.leakage, -0.5 * np.log(5 / 6), rtol=1e-12)


def test_modular_pads_in_the_worst_case():
    worst = audit(sv.averaging(sv.Network.complete(5), np.arange(5)), mask=sv.ModularMask(), against=Worst(2))
    np.testing.assert_allclose(worst.leakage, -0.5 * np.log(2 / 3), rtol=1e-12)


def test_modular_pads_that_are_used_twice():
    report = audit(AVERAGING, mask=sv.ModularMask(), seen=Transcript(runs=2, pads="reused"), corrupt={1})
    assert report.exposed == (0, 2, 3, 4, 5)


@pytest.mark.parametrize("adversary", [Eavesdropper(), Coalition({4}) | Eavesdropper()], ids=str)
def test_modular_pads_show_nothing_until_a_whole_group_has_spoken(adversary):
    """Node 4 cuts off 5: the groups are {0, 1, 2, 3} and {5}; without it there is one."""
    arguments = {"mask": sv.ModularMask(), "against": adversary}
    assert np.nanmax(audit(AVERAGING, seen=Transcript(0), **arguments).leakage) == 0
    some = audit(AVERAGING, schedule=sv.Trace([0, 1, 5]), **arguments)
    assert some.exposed == ((5,) if adversary.corrupt else ())
    assert (some.leakage[:4] == 0).all()
    assert some.guarantee == "exact"
    all_but = audit(AVERAGING, schedule=sv.Trace([0, 1, 5, 2]), **arguments)
    assert (all_but.leakage[:4] == 0).all()
    spoken = audit(AVERAGING, schedule=sv.Trace([0, 1, 5, 2, 3]), **arguments)
    whole = audit(AVERAGING, schedule=sv.Trace([0, 1, 5, 2, 3, 4]), **arguments)
    size = 4 if adversary.corrupt else 6
    assert np.allclose(spoken.leakage[:4], -0.5 * np.log(3 / 4) if adversary.corrupt else 0.0, rtol=1e-12)
    np.testing.assert_allclose(whole.leakage[:4], -0.5 * np.log(1 - 1 / size), rtol=1e-12)
    np.testing.assert_array_equal(whole.leakage, audit(AVERAGING, **arguments).leakage)


def test_what_a_modular_prefix_shows_without_taps_is_bounded():
    arguments = {"mask": sv.ModularMask(), "corrupt": {1}, "channels": "encrypted"}
    quiet = audit(AVERAGING, schedule=sv.Trace([0, 2, 3, 4]), **arguments)
    assert (quiet.guarantee, np.nanmax(quiet.leakage)) == ("exact", 0)
    loud = audit(AVERAGING, schedule=sv.Trace([0, 2, 3, 4, 5]), **arguments)
    assert loud.guarantee == "upper bound"
    np.testing.assert_allclose(loud.leakage[[0, 2, 3, 4, 5]], -0.5 * np.log(4 / 5), rtol=1e-12)


def test_part_of_a_modular_group_is_uniform_whatever_the_secrets():
    """The claim behind it, by exhaustion modulo 4 on a path of three: two of three masked values, for two secrets."""
    path, mask = sv.Network.from_edges(3, [(0, 1), (1, 2)]), sv.ModularMask(2)
    pads = np.array([[p, q] for p in range(4) for q in range(4)], dtype=np.uint64)
    for part in ([0, 1], [0, 2], [1, 2]):
        seen = [
            sorted(tuple(mask.hide(path, s[:, None], pad[:, None])[part, 0].tolist()) for pad in pads)
            for s in (np.array([0, 1, 0]), np.array([1, 0, 1]))
        ]
        assert seen[0] == seen[1]
        assert len(set(seen[0])) == 16


@pytest.mark.parametrize("adversary", [Coalition(()), Coalition({1})], ids=str)
def test_nobody_is_told_what_nobody_hears(adversary):
    """Encrypted channels, and no corrupt node: nothing is seen; with one, its own edges."""
    report = audit(AVERAGING, mask=None, against=adversary, channels="encrypted", c=0.4)
    assert report.flags.keys() == {"no mask"}
    assert bool(report.exposed) == bool(adversary.corrupt)


@pytest.mark.parametrize("against", [Coalition({1}) | Eavesdropper(), Worst(1)], ids=str)
def test_decimals_without_a_unit(against):
    """Their last bits show in the answer, and no figure counts that; with a unit, or on the grid, they do not."""
    tenths = np.array([0.1, 2.0, 3.5, 1.7, 4.0, 5.2])

    def flags(s, unit=None, **more):
        return audit(sv.averaging(NETWORK, s, unit=unit), against=against, c=0.4, **({"mask": GAUSSIAN} | more)).flags

    assert "unit=0.1." in flags(tenths)["decimals"]
    assert "unit=0.01." in flags(np.column_stack([tenths, tenths / 10]))["decimals"]
    for healthy in (
        flags(tenths, unit=0.1),
        flags(np.rint(tenths)),
        flags(tenths * np.pi),  # of which the last bits are noise
        flags(np.rint(4 * tenths) / 4),
        flags(tenths, noise=sv.LocalNoise(1.0)),
        flags(tenths, mask=None),
    ):
        assert "decimals" not in healthy
