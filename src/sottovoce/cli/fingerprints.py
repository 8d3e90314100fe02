"""``sottovoce fingerprints``: what to compare with the neighbours over the telephone."""

from __future__ import annotations

from .options import Json, NodeFile
from .terminal import print_facts, print_json


def fingerprints(file: NodeFile, json: Json = False) -> int | None:
    """The digits of this party's certificate and of its neighbours', as its node file pins them.

    \b
    Examples:
      sottovoce fingerprints node.toml

    The first line is this party's own. Each two neighbours read theirs to each other over the telephone, and find it
    in the other's list. Exit status: 0 shown, 2 bad input.
    """
    from ..runtime.keys.identity import digits
    from ..runtime.plan.node_file import read_certificates

    telephone = {name: digits(certificate) for name, certificate in read_certificates(file).items()}
    if json:
        print_json({"telephone": telephone})
    else:
        print_facts(telephone)
    return 0
