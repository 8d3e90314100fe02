"""On PYTHONPATH, this makes a liar of a party: its environment says how. Python imports it by itself at the start.

``SOTTOVOCE_LIE``: the kind of lie; ``SOTTOVOCE_OFTEN``: one frame in so many, or 0 for one lie only. It changes frames
just before they are encoded, or the party's own count; all else is the party's own software.
"""

from __future__ import annotations

import os
import sys
from typing import Any

LIE, OFTEN, PARTIES = (os.environ.get(f"SOTTOVOCE_{name}", "") for name in ("LIE", "OFTEN", "PARTIES"))


def lie_in_frames() -> None:
    import numpy as np

    from sottovoce.runtime.protocol import link
    from sottovoce.runtime.protocol.frames import Value, Verdict

    n, often, honest, values = int(PARTIES), int(OFTEN), link.encode, 0
    everybody = (1 << n) - 1

    def bits(ok: int) -> bytes:
        return ok.to_bytes((n + 7) // 8, "little")

    def lied(body: Any, receiver: str) -> Any:
        nonlocal values
        if LIE == "forged bits" and isinstance(body, Verdict):  # of everybody but the one who would notice
            mine = int.from_bytes(body.ok, "little") & 1 << int(receiver[1:])
            return body._replace(no=False, ok=bits(everybody & ~(1 << int(receiver[1:])) | mine))
        if not isinstance(body, Value):
            return body
        values += 1
        if not (values % often == 0 if often else values == 30):
            return body
        match LIE:
            case "all bits":
                return Verdict(body.stage, 1, False, bits(everybody))
            case "far epoch":
                return Verdict(body.stage, 2**53 - 1, True, bits(0))
            case "1e200" | "1.7e308":
                return body._replace(data=np.concatenate([[float(LIE)], body.data[1:]]))
        return body

    def encode(body: Any, *more: Any, **options: Any) -> bytes:
        return honest(lied(body, options.get("receiver", "p0")), *more, **options)

    link.encode = encode


def lie_about_rows() -> None:
    from sottovoce.runtime import network_agreements

    honest = network_agreements.masked_limbs
    network_agreements.masked_limbs = lambda integers, *more: honest(integers * 0 - 10_000, *more)


if LIE and "sottovoce" in " ".join(sys.orig_argv):
    lie_about_rows() if LIE == "negative count" else lie_in_frames()
