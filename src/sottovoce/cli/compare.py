"""``sottovoce compare``: other methods on the same problem, in the same units."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Json
from .terminal import print_json

if TYPE_CHECKING:
    from ..network import Network

QUICK: dict[str, Any] = {"draws": 10, "sizes": (10, 100)}


def compare(
    problem: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PROBLEM.TOML]",
            help="Take the network of this problem file. Its data are not used. Default: a random geometric graph.",
        ),
    ] = None,
    parties: Annotated[int, typer.Option(min=4, help="Of the random graph.")] = 10,
    corrupt: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Parties that collude and tap. Default: one that cuts nobody off."),
    ] = None,
    nats: Annotated[
        float | None,
        typer.Option(help="The leakage of the worst party to compare at. Default: 1.5 times what an exact mean tells."),
    ] = None,
    prior: Annotated[float, typer.Option(metavar="VARIANCE", help="Of a party's number.")] = 1.0,
    method: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this one; may be said again. Default: all.")
    ] = None,
    draws: Annotated[int | None, typer.Option(min=1, help="That errors are means over. Default: 100.")] = None,
    sizes: Annotated[
        str | None,
        typer.Option(metavar="N,N,...", help="Parties to count messages for; 'none' for none. Default: 10 to 1000."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of everything that is random.")] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer draws and sizes.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write JSON, CSV and both pictures into this folder.")
    ] = None,
    json: Json = False,
) -> int | None:
    """At equal leakage, what does each method cost in accuracy, messages, bytes and time, and who must collude?

    Every party holds a number and all want the mean. Steps of all methods are tuned by the same procedure, on other
    numbers than those that are reported.

    \b
    Examples:
      sottovoce compare
      sottovoce compare --quick --out comparison
      sottovoce compare problem.toml --corrupt Ada,Bo --nats 0.1 --json
      sottovoce compare --parties 30 --method Shamir --method "subspace perturbation"
    """
    from ..baselines import compare as compare_methods
    from ..data.problem_file import party_numbers

    if out is not None:
        from ..files.atomic import writable_folder
        from ..network.pictures import check_matplotlib

        check_matplotlib("--out")
        writable_folder(out)
    options = QUICK if quick else {}
    options = options | ({} if draws is None else {"draws": draws})
    options |= {} if sizes is None else {"sizes": read_sizes(sizes)}
    network, names = network_of(problem, parties, seed)
    found = compare_methods(
        network,
        methods=method or None,
        corrupt=None if corrupt is None else party_numbers(corrupt, names, problem or "the random graph"),
        prior=prior,
        nats=nats,
        seed=seed,
        progress=False if json else None,
        **options,
    )
    if out is not None:
        found.save(out)
    if json:
        print_json(found.to_dict())
    else:
        print(found.summary())
        if out is not None:
            print(f"\nJSON, CSV and pictures are in {out}")
    return 0


def network_of(problem: Path | None, parties: int, seed: int) -> tuple[Network, list[str]]:
    """Of the file, or a random one; and what its parties are called."""
    from ..data.problem_file import ProblemFile
    from ..network import Network
    from ..statistics.statistic_file import read_file

    if problem is None:
        network = Network.random_geometric(parties, seed=seed)
    else:
        file = read_file(problem, seed)
        network = file.problem.network if isinstance(file, ProblemFile) else file.network
    return network, [network.name(i) for i in range(network.n)]


def read_sizes(text: str) -> tuple[int, ...]:
    """``10,100``, or ``none``."""
    from ..errors import InvalidInput

    if text == "none":
        return ()
    try:
        return tuple(int(size) for size in text.split(","))
    except ValueError:
        raise InvalidInput(f"--sizes takes numbers such as 10,100,1000, or 'none'; got {text!r}.") from None
