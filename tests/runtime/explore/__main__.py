"""Searches that take longer than a test may: ``PYTHONPATH=src:tests python -m runtime.explore chain4 --crash all``.

Says how many states there are, from how many not everybody can end, and the shortest way to whatever is wrong. The exit
status is 0 if all was seen and nothing is wrong. Some thousand states take a few seconds.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Collection
from functools import partial
from itertools import combinations

from runtime.explore.agreements import Agreeing
from runtime.explore.liars import TwoFaced
from runtime.explore.search import search
from runtime.explore.summing import Summing

import sottovoce as sv

NETWORKS = {
    "chain": lambda n: sv.Network.from_edges(n, [(i, i + 1) for i in range(n - 1)]),
    "star": sv.Network.star,
    "ring": sv.Network.ring,
    "complete": sv.Network.complete,
}


def network(text: str) -> sv.Network:
    """As in ``chain4``."""
    found = re.fullmatch(f"({'|'.join(NETWORKS)})([2-9])", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(NETWORKS)} with a number of parties, chain4.")
    return NETWORKS[found[1]](int(found[2]))


def strikes(who: str, n: int) -> list[Collection[int]]:
    """The sets of parties that may crash at one moment."""
    if who == "none":
        return []
    sizes = {"all": [n], "one": [1], "any": range(1, n + 1)}[who]
    return [frozenset(struck) for size in sizes for struck in combinations(range(n), size)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m runtime.explore", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("network", type=network, help=f"{', '.join(NETWORKS)}, and how many: chain4")
    parser.add_argument("--over", choices=["tree", "all"], default="tree", help="what messages go over")
    parser.add_argument("--told", action="store_true", help="the answer is one that the first party tells")
    parser.add_argument("--crash", choices=["none", "one", "all", "any"], default="none", help="who, at one moment")
    parser.add_argument("--breaks", action="store_true", help="connections may break, too")
    parser.add_argument("--faults", type=int, default=1, help="how many moments of that")
    parser.add_argument("--liar", type=int, help="the number of a party that tells each neighbour something else")
    parser.add_argument("--sums", type=int, help="so many exact sums, by the protocol to come, and no iteration")
    parser.add_argument("--most", type=int, default=2_000_000, help="states to look at")
    asked = parser.parse_args()
    faults = asked.faults if asked.crash != "none" or asked.breaks else 0
    model: Agreeing | Summing
    if asked.sums is not None:
        model = Summing(asked.network, asked.sums, faults, asked.liar, late=asked.liar is None)
    else:
        kind = Agreeing if asked.liar is None else partial(TwoFaced, liar=asked.liar)
        model = kind(
            asked.network, tree=asked.over == "tree", told=asked.told, strikes=strikes(asked.crash, asked.network.n),
            breaks=asked.breaks, faults=faults,
        )  # fmt: skip
    began = time.monotonic()
    found = search(model, most=asked.most)
    print(f"{found}\n{time.monotonic() - began:.0f} s")
    # Beside a liar nobody may end, but with one answer.
    return int(bool(found.wrong or found.left_out) if asked.liar is not None else not found.fine)


if __name__ == "__main__":
    sys.exit(main())
