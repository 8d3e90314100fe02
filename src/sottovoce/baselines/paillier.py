"""An own Paillier cryptosystem, for comparison only: no part of the product's security, and not constant-time.

Paillier (1999), with ``g = n + 1``: a ciphertext of ``v`` is ``(1 + v n) r^n mod n^2``. The product of two ciphertexts
holds the sum of what they hold, and a power of one a multiple. On Python's integers, or ``gmpy2``'s where it is
installed, which are about eight times as fast; a seed gives the same keys and ciphertexts with both.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..costs.base import Array
from ..errors import InvalidInput

try:
    import gmpy2
except ImportError:
    gmpy2 = None

LEAST_BITS = 128  # of a modulus: enough to compute with, for tests; 2048 and more for secrecy
SMALL_PRIMES = [p for p in range(3, 2000) if all(p % q for q in range(2, math.isqrt(p) + 1))]
WITNESSES = [2, *SMALL_PRIMES[:19]]


@dataclass(frozen=True)
class PublicKey:
    """With which anybody encrypts, and computes with ciphertexts.

    Parameters
    ----------
    n : int
        The modulus, a product of two primes.

    Examples
    --------
    >>> from sottovoce.baselines.base import randomness
    >>> key, rng = PrivateKey(7, 11), randomness(0)
    >>> public = key.public
    >>> three, minus_five = public.encrypt(3, rng), public.encrypt(-5, rng)
    >>> key.decrypt(public.add(three, minus_five)), key.decrypt(public.times(three, 4))
    (-2, 12)
    """

    n: int

    @cached_property
    def square(self) -> int:
        """``n^2``, the modulus of ciphertexts."""
        return self.n * self.n

    @property
    def size(self) -> int:
        """Bytes of a ciphertext."""
        return -(-self.square.bit_length() // 8)

    def encrypt(self, value: int, rng: random.Random) -> int:
        """A ciphertext of a whole number between ``-n/2`` and ``n/2``."""
        if 2 * abs(value) >= self.n:
            raise InvalidInput(f"a number to encrypt must lie between -n/2 and n/2; n has {self.n.bit_length()} bits.")
        return self.fresh(1 + value % self.n * self.n, rng)

    def add(self, one: int, other: int) -> int:
        """A ciphertext of the sum of two that are encrypted."""
        return one * other % self.square

    def add_plain(self, one: int, value: int) -> int:
        """A ciphertext of the sum of one that is encrypted and one that is not; ``fresh`` hides which it was."""
        return one * (1 + value % self.n * self.n) % self.square

    def times(self, one: int, factor: int) -> int:
        """A ciphertext of a multiple of what is encrypted; ``fresh`` hides which it was."""
        return _power(one, factor % self.n, self.square)

    def fresh(self, one: int, rng: random.Random) -> int:
        """Another ciphertext of the same number, that nobody can tell from any other: by new randomness ``r^n``."""
        r = rng.randrange(1, self.n)
        while math.gcd(r, self.n) != 1:
            r = rng.randrange(1, self.n)
        return one * _power(r, self.n, self.square) % self.square


@dataclass(frozen=True)
class PrivateKey:
    """With which its owner decrypts.

    Parameters
    ----------
    p, q : int
        Two primes (which is believed), different, and neither dividing the other less one. ``generate_key`` draws them.

    Raises
    ------
    InvalidInput
        For numbers with which decryption would fail.

    Examples
    --------
    >>> PrivateKey(7, 11).public
    PublicKey(n=77)
    """

    p: int = field(repr=False)
    q: int = field(repr=False)

    def __post_init__(self) -> None:
        p, q = self.p, self.q
        if min(p, q) < 3 or p == q or math.gcd(p * q, (p - 1) * (q - 1)) != 1:
            raise InvalidInput("p and q must be different odd primes, and p q without a factor of (p - 1)(q - 1).")

    @cached_property
    def public(self) -> PublicKey:
        """The other half, for everybody."""
        return PublicKey(self.p * self.q)

    def decrypt(self, ciphertext: int) -> int:
        """The whole number between ``-n/2`` and ``n/2``: modulo each prime, and the two put together."""
        p, q, n = self.p, self.q, self.public.n
        at_p, at_q = _logarithm(ciphertext, p, q), _logarithm(ciphertext, q, p)
        value = at_p + p * ((at_q - at_p) * pow(p, -1, q) % q)
        return value - n if 2 * value > n else value


def _logarithm(ciphertext: int, p: int, q: int) -> int:
    """The number modulo ``p``: ``c^(p-1) = 1 + (p-1) v n mod p^2``, in which ``(p-1) n/p = -q mod p``."""
    power = (_power(ciphertext % (p * p), p - 1, p * p) - 1) // p
    return power * pow(-q, -1, p) % p


def generate_key(bits: int, rng: random.Random) -> PrivateKey:
    """A key whose modulus has ``bits`` bits, from two random primes of equal length.

    Parameters
    ----------
    bits : int
        2048 or 3072; other even numbers from 128 on are for tests, and hide nothing from anybody.
    rng : random.Random
        ``randomness(seed)``: the operating system's without a seed.

    Returns
    -------
    PrivateKey

    Raises
    ------
    InvalidInput
        Other numbers of bits.

    Examples
    --------
    >>> from sottovoce.baselines.base import randomness
    >>> key = generate_key(128, randomness(0))
    >>> key.public.n.bit_length(), key.public.size
    (128, 32)
    """
    half = checked_bits(bits) // 2
    while True:
        p, q = random_prime(half, rng), random_prime(half, rng)
        if p != q and math.gcd(p * q, (p - 1) * (q - 1)) == 1:
            return PrivateKey(p, q)


def checked_bits(bits: int) -> int:
    """The length of a modulus, or a sentence."""
    if isinstance(bits, bool) or not isinstance(bits, int | np.integer) or bits < LEAST_BITS or bits % 2:
        raise InvalidInput(
            f"bits must be 2048 or 3072, or another even number from {LEAST_BITS} on, for tests; got {bits!r}."
        )
    return int(bits)


def random_prime(bits: int, rng: random.Random) -> int:
    """A prime at random. Its two top bits are set, so that a product of two has all its bits."""
    while True:
        candidate = rng.getrandbits(bits) | 3 << (bits - 2) | 1
        if is_prime(candidate):
            return candidate


def is_prime(n: int) -> bool:
    """By Miller and Rabin, of an odd number above 2000 that was drawn at random: the first primes are witnesses enough,
    because nobody chose it to deceive them, and take nothing from the source of randomness."""
    if any(n % p == 0 for p in SMALL_PRIMES):
        return False
    twos = ((n - 1) & -(n - 1)).bit_length() - 1
    return all(_passes(n, witness, twos) for witness in WITNESSES)


def _passes(n: int, witness: int, twos: int) -> bool:
    """Whether ``witness`` finds only square roots of 1 that a prime has."""
    root = _power(witness, (n - 1) >> twos, n)
    if root in (1, n - 1):
        return True
    for _ in range(twos - 1):
        root = root * root % n
        if root == n - 1:
            return True
    return False


def fixed_point(numbers: Array, resolution: float) -> Array:
    """Numbers as multiples of ``resolution``, the nearest whole ones (kept as floats, exact below ``2^53``)."""
    return np.rint(numbers / resolution)


def _power(base: int, exponent: int, modulus: int) -> int:
    return pow(base, exponent, modulus) if gmpy2 is None else int(gmpy2.powmod(base, exponent, modulus))
