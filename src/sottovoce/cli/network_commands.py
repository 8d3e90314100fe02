"""The commands that run between machines: ``keygen``, ``plan``, ``fingerprints``, ``node``, ``status``, ``drop``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from .terminal import facts, print_json, spinner

Tidy = Callable[[Callable[..., int | None]], Callable[..., None]]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
NodeFile = Annotated[
    Path, typer.Argument(metavar="NODE.TOML", help="The party's node file; see docs/guides/deploy.md.")
]

SHOWN = 10  # names in one line of a status


def register(app: typer.Typer, tidy: Tidy) -> None:
    """Add the commands to the program."""
    app.command(short_help="Make the key and certificate of a party.")(tidy(keygen))
    app.command(short_help="Write the node files of a whole network, audited first.")(tidy(plan))
    app.command(short_help="Show what to compare with the neighbours over the telephone.")(tidy(fingerprints))
    app.command(short_help="Run one party on the network.")(tidy(node))
    app.command(short_help="Ask a running party how it is.")(tidy(status))
    app.command(short_help="Say that another party has left the run for good.")(tidy(drop))


def keygen(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to put key.pem and certificate.pem.")],
    name: Annotated[str, typer.Option(help="The party's name: letters, digits, . _ -")],
    json: Json = False,
) -> int | None:
    """Make the identity of a party: a private key, which stays here, and a certificate, which the others get.

    \b
    Examples:
      sottovoce keygen identity --name hospital-3
      sottovoce keygen identity --name hospital-3 --json
    """
    from ..runtime.identity import CERTIFICATE, KEY, create

    identity = create(folder, name)
    made = {
        "name": identity.name,
        "fingerprint": identity.fingerprint,
        "telephone": identity.digits,
        "certificate": str(folder / CERTIFICATE),
        "key": str(folder / KEY),
    }
    if json:
        print_json(made)
        return 0
    typer.echo(f"{identity.name}\n{identity.digits}\n{identity.fingerprint}\n")
    typer.echo(f"Send {folder / CERTIFICATE} to whoever writes the plan.")
    typer.echo("Read the 25 digits to your neighbours over the telephone; sottovoce fingerprints shows them again.")
    typer.echo(f"{folder / KEY} is secret: it never leaves this machine.")
    return 0


def plan(
    file: Annotated[Path, typer.Argument(metavar="PLAN.TOML", help="The plan of the run; see docs/guides/deploy.md.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="A new folder for the node files.")],
    generate_keys: Annotated[
        bool, typer.Option("--generate-keys", help="Make everybody's keys too. For trials on one machine.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Write the files whatever the verdict is.")] = False,
    json: Json = False,
) -> int | None:
    """Audit the run that a plan describes, and write a node file for each party, and a statement for the file.

    \b
    Examples:
      sottovoce plan plan.toml --out parties
      sottovoce plan plan.toml --out trial --generate-keys
      sottovoce plan plan.toml --out parties --json

    \b
    Exit status: 0 written; 1 not written, as the run would be weak, disclose somebody, or cannot be
    assessed; 2 bad input.
    """
    from ..runtime.plan import read_plan, write_plan
    from .plan_answer import planned_dict, print_planned

    with spinner("auditing ...", quiet=json):
        planned = read_plan(file)
        prospect = planned.prospect
    written = prospect.safe or force
    if written:
        write_plan(planned, out, generate_keys=generate_keys)
    if json:
        print_json(planned_dict(planned, out if written else None))
    else:
        print_planned(planned, out if written else None, trial=generate_keys)
    return 0 if written else 1


def fingerprints(file: NodeFile, json: Json = False) -> int | None:
    """The digits of this party's certificate and of its neighbours', as its node file pins them.

    \b
    Examples:
      sottovoce fingerprints node.toml

    The first line is this party's own. Each two neighbours read theirs to each other over the telephone, and find it
    in the other's list. Exit status: 0 shown, 2 bad input.
    """
    from ..runtime.config import read_certificates
    from ..runtime.identity import digits

    telephone = {name: digits(certificate) for name, certificate in read_certificates(file).items()}
    if json:
        print_json({"telephone": telephone})
    else:
        _print_facts(telephone)
    return 0


def node(
    file: NodeFile,
    json: Annotated[
        bool, typer.Option("--json", help="Print the result as one JSON object, and log JSON lines on stderr.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Log warnings and errors only.")] = False,
) -> int | None:
    """Run one party until it has the answer, and its neighbours know that. Start it again after a crash: it goes on.

    \b
    Examples:
      sottovoce node node.toml
      sottovoce node node.toml --quiet --json

    \b
    Exit status: 0 done; 1 stopped before the end, or refused by the others;
    2 bad input; 130 interrupted.
    """
    from .node import run_node

    return run_node(file, json, quiet)


def status(file: NodeFile, json: Json = False) -> int | None:
    """Ask a party that runs on this machine how it is.

    \b
    Examples:
      sottovoce status node.toml
      sottovoce status node.toml --json

    Exit status: 0 answered, 2 it does not run.
    """
    from ..runtime.cluster import ask
    from ..runtime.config import read_node_file

    told = ask(read_node_file(file).socket)
    if json:
        print_json(told)
    else:
        _print_facts(_status_facts(told))
    return 0


def drop(
    file: NodeFile,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The party that will not come back.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether that is meant.")] = False,
) -> int | None:
    """Tell the party that runs on this machine that another one has left the run for good.

    Nothing happens until the operators of all other parties have said so too. Then the run goes on: without it if it
    has not said anything yet, with what it has left behind if it was lost in the last stage; or it ends.

    \b
    Examples:
      sottovoce drop node.toml hospital-3
      sottovoce drop node.toml hospital-3 --yes

    Exit status: 0 said; 1 not confirmed; 2 it cannot be said, or the party does not run.
    """
    from ..runtime import cluster
    from ..runtime.config import read_node_file

    path = read_node_file(file).socket
    explained = cluster.drop(path, name, sure=False)
    if not yes:
        typer.echo(explained)
        if not typer.confirm(f"Has {name} left for good? This cannot be taken back."):
            return 1
    typer.echo(cluster.drop(path, name, sure=True))
    return 0


# What they print


def _print_facts(rows: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.text import Text

    table = facts()
    for name, value in rows.items():
        table.add_row(Text(name), Text(str(value)))
    Console(highlight=False, soft_wrap=True).print(table)


def _status_facts(told: dict[str, Any]) -> dict[str, Any]:
    residual, stage = told.get("residual"), told.get("stage", -1)
    where = "waiting for its neighbours" if stage < 0 else f"agreement {stage + 1}"
    rows = {
        "party": told.get("party"),
        "run": told.get("run"),
        "stage": "finished" if told.get("done") else where,
        "residual": "-" if residual is None else f"{residual:.2e} (1 is good enough)",
        "wakes": f"{told.get('wakes', 0):,}",
        "epochs": f"{told.get('epoch', 0):,}",
        "messages": f"{told.get('messages_sent', 0):,} sent, {told.get('messages_received', 0):,} received, "
        f"{told.get('messages_old', 0):,} of them old news",
        "refused": f"{told.get('frames_refused', 0):,} frames that broke the protocol",
        "running": f"{told.get('seconds', 0):,.0f} s",
    }
    rows |= {f"neighbour {name}": state for name, state in told.get("neighbours", {}).items()}
    if waited_for := told.get("not_agreed", []):
        more = f" and {len(waited_for) - SHOWN:,} more" if len(waited_for) > SHOWN else ""
        rows["not agreed"] = f"{', '.join(waited_for[:SHOWN])}{more}: epoch {told.get('epoch')} waits for them"
    if leaving := told.get("leaving"):
        rows[f"{leaving['party']} has left"] = f"as {', '.join(leaving['agreed'])} said. {leaving['sentence']}"
    if missed := told.get("missed", []):
        rows["missed"] = f"{', '.join(missed)}: start again, also if it has finished"
    return rows | {f"dispute {name}": why for name, why in told.get("disagreements", {}).items()}
