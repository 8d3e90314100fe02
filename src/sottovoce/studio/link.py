"""A scene as the text of an address, and back: JSON, compressed, in letters that addresses have.

Whatever comes in is bounded before it is unpacked, and is a scene only if ``Scene`` takes it.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from typing import Any

from ..errors import InvalidInput
from .scene import FIELDS, Scene

LONGEST = 24_000  # characters of a link
UNPACKED = 400_000  # bytes behind them

DAMAGED = "this link is damaged, or was made by another version; ask for it again, or start anew."


def to_link(scene: Scene) -> str:
    """Some letters, digits, ``-`` and ``_``."""
    plain = {name: getattr(scene, name) for name in FIELDS}
    plain["corrupt"] = sorted(scene.corrupt)
    plain["edges"] = _rows(scene)
    plain["numbers"] = [int(s) if s.is_integer() else s for s in scene.numbers]
    text = json.dumps(plain, separators=(",", ":"), ensure_ascii=False)
    packed = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
    return packed


def from_link(text: str) -> Scene:
    """The scene of such a text; ``InvalidInput`` for any other."""
    if len(text) > LONGEST:
        raise InvalidInput(f"this link has {len(text):,} characters; at most {LONGEST:,} make a scene.")
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        unpacker = zlib.decompressobj()
        plain = json.loads(unpacker.decompress(packed, UNPACKED))
        whole = unpacker.eof
    except (binascii.Error, zlib.error, ValueError, RecursionError):
        raise InvalidInput(DAMAGED) from None
    if not whole or not isinstance(plain, dict) or set(plain) != set(FIELDS):
        raise InvalidInput(DAMAGED)
    try:
        return _scene(plain)
    except InvalidInput:
        raise
    except (TypeError, ValueError, OverflowError, KeyError, IndexError):
        raise InvalidInput(DAMAGED) from None


def _scene(plain: dict[str, Any]) -> Scene:
    places = tuple((float(x), float(y)) for x, y in plain.pop("places"))
    numbers = tuple(float(s) for s in plain.pop("numbers"))
    edges = tuple((i, i + gap) for i, row in enumerate(plain.pop("edges")) for gap in _summed(row))
    corrupt = frozenset(int(i) for i in plain.pop("corrupt"))
    return Scene(names=tuple(plain.pop("names")), places=places, numbers=numbers, edges=edges, corrupt=corrupt, **plain)


def _rows(scene: Scene) -> list[list[int]]:
    """For every party its larger neighbours, each as the step from the one before: small numbers, which pack well."""
    rows: list[list[int]] = [[] for _ in scene.names]
    last = list(range(scene.n))
    for i, j in scene.edges:
        rows[i].append(j - last[i])
        last[i] = j
    return rows


def _summed(steps: list[int]) -> list[int]:
    total, found = 0, []
    for step in steps:
        if not isinstance(step, int) or step < 1:
            raise ValueError
        total += step
        found.append(total)
    return found
