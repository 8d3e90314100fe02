"""Quantiles of the normal distribution, the same to the bit on every machine.

The two ends of an edge make the same pads from the same words. A library's quantiles take its platform's logarithm, and
two platforms may round that differently: then two pads differ by a step, and nobody notices. So this is done with what
IEEE 754 rounds correctly everywhere: ``+ - * /``, square roots, and exact scaling by powers of two, one NumPy call for
each, so that no compiler fuses two of them into one.

The rational functions are PPND16 of M. J. Wichura, "Algorithm AS 241: the percentage points of the normal
distribution", Applied Statistics 37 (1988), 477-484. docs/reference/protocol.md has all of it for other languages.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Rational = tuple[tuple[float, ...], tuple[float, ...]]  # numerator and denominator, the constant first

BLOCK = 4096  # numbers at a time: they stay in the cache
CENTRE, SQUARE = 0.425, 0.180625  # the first rational function is for |p - 1/2| up to that, and of this less its square
NEAR, FAR = 1.6, 5.0  # what the two others are written around
LN2 = 0.6931471805599453
ROOT_HALF = 0.7071067811865476
SERIES = tuple(1 / (2 * k + 1) for k in range(12))  # atanh(s)/s in s^2, which is at most 0.0295 here

MIDDLE: Rational = (
    (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
     4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3),
)  # fmt: skip
TAIL: Rational = (
    (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
     1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)  # fmt: skip
END: Rational = (
    (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
)  # fmt: skip


def lower_quantile(p: Array) -> Array:
    """The ``v <= 0`` below which a standard normal number lies with probability ``p``, ``0 < p <= 1/2``."""
    found = np.empty_like(p)
    for start in range(0, len(p), BLOCK):
        found[start : start + BLOCK] = _block(p[start : start + BLOCK])
    return found


def _block(p: Array) -> Array:
    q = p - 0.5
    found = q * _ratio(MIDDLE, SQUARE - q * q)
    if (outer := np.flatnonzero(q < -CENTRE)).size:
        r = np.sqrt(-log(p[outer]))
        far = r > FAR
        found[outer] = -np.where(far, _ratio(END, r - FAR), _ratio(TAIL, r - NEAR))
    return found


def log(p: Array) -> Array:
    """The natural logarithm: of the power of two, and of the rest by ``log m = 2 atanh((m - 1)/(m + 1))``."""
    m, exponent = np.frexp(p)
    low = m < ROOT_HALF
    m = np.where(low, 2.0 * m, m)
    s = (m - 1.0) / (m + 1.0)
    return np.asarray((exponent - low) * LN2 + 2.0 * s * _horner(SERIES, s * s))


def _ratio(functions: Rational, r: Array) -> Array:
    return _horner(functions[0], r) / _horner(functions[1], r)


def _horner(coefficients: tuple[float, ...], r: Array) -> Array:
    found = np.full_like(r, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        found *= r
        found += coefficient
    return found
