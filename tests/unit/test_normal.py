"""Quantiles for pads: right, the same everywhere, and made of nothing that a platform may round in its own way."""

from __future__ import annotations

import ast
import inspect
import re
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
from runtime.mini_quantile import quantile
from scipy.special import ndtri

from sottovoce.numerics import normal_quantile as normal
from sottovoce.numerics.normal_quantile import lower_quantile

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "protocol.md"
# Both sides of every limit at which another formula takes over.
SEAMS = np.array([0.075, 0.07500000000000001, 0.0749, np.exp(-25.0), 1.4e-11, 1.38e-11, 2.0**-65, 0.5, 0.4999999])


def tails(count: int) -> np.ndarray:
    """Over all magnitudes, and as pads have them."""
    rng = np.random.default_rng(5)
    return np.concatenate([2.0 ** -rng.uniform(1, 65, count), rng.uniform(0, 0.5, count), SEAMS])


def relative_error(v: float, p: float) -> float:
    """``(Phi(v) - p) / (phi(v) v)`` by the power series, in 90 digits."""
    with localcontext() as context:
        context.prec = 90
        t = term = total = Decimal(v)
        k = 1
        while abs(term) > Decimal(10) ** -85 * abs(total):
            k += 2
            term *= t * t / k
            total += term
        density = (-t * t / 2).exp() / (2 * PI).sqrt()
        return float((Decimal("0.5") + density * total - Decimal(p)) / (density * t))


def test_it_is_as_good_as_a_library():
    p = tails(150)[:-2]  # 1/2 itself has the quantile 0
    ours, theirs = ([abs(relative_error(v, x)) for v, x in zip(f(p), p, strict=True)] for f in (lower_quantile, ndtri))
    # A few roundings of 1.1e-16 each: of the quotient, of the last steps of both polynomials, of sqrt(-log p).
    assert max(ours) < 8e-16
    assert max(ours) < 2 * max(theirs)
    p = tails(100_000)
    np.testing.assert_allclose(lower_quantile(p), ndtri(p), rtol=2e-15, atol=0)  # 6e-16 and 9e-16 of one and the other
    assert lower_quantile(np.array([0.5])).tolist() == [0.0]


def test_it_increases():
    """Over all magnitudes; and where one formula follows another a last place may be out of order, no more."""
    p = np.unique(np.concatenate([2.0 ** -np.linspace(1, 65, 100_000), np.linspace(1e-6, 0.5, 100_000)]))
    assert (np.diff(lower_quantile(p)) > 0).all()
    for seam in (0.075, np.exp(-25.0)):
        around = seam * (1 + np.arange(-200, 201) * 2.0**-50)
        assert (np.diff(lower_quantile(around)) > -1e-14).all()


def test_the_logarithm():
    p = tails(100_000)
    np.testing.assert_allclose(normal.log(p), np.log(p), rtol=4.5e-16, atol=0)  # two last places


def test_what_every_machine_must_come_to():
    said = re.findall(r"`quantile\(2\^(-\d+)\) = (-0x[0-9a-fp.+-]+)`", PAGE.read_text())
    assert len(said) == 6
    for exponent, value in said:
        p = 2.0 ** int(exponent)
        assert float(lower_quantile(np.array([p]))[0]).hex() == value
    # One at a time and in blocks, by the package and by the page: the same bits.
    p = tails(3_000)
    np.testing.assert_array_equal(lower_quantile(p), [quantile(x) for x in p.tolist()])


def test_nothing_in_it_hangs_on_a_library_of_mathematics():
    """Only what IEEE 754 defines to the last bit, or what is exact."""
    called = {
        node.attr
        for node in ast.walk(ast.parse(inspect.getsource(normal)))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("np", "math")
    }
    assert called <= {
        "asarray", "empty_like", "flatnonzero", "float64", "frexp", "full_like", "sqrt", "where"
    }  # fmt: skip
