"""``sottovoce keygen``: make the key and certificate of a party."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Json
from .terminal import print_json


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
    from ..runtime.keys.identity import CERTIFICATE, KEY, create

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
