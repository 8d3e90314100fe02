"""``python -m sottovoce``, and the command ``sottovoce``."""

import os
import sys
from contextlib import suppress
from typing import NoReturn

from .cli import run_node


def main() -> None:
    """The entry point."""
    if run_node.is_plain(sys.argv[1:]):
        leave(run_node.main(sys.argv[1:]))
    from .cli.app import main as every_command

    every_command()


def leave(status: int) -> NoReturn:
    """End at once. Files are written and connections closed: to take the interpreter and all libraries apart piece by
    piece, as ``sys.exit`` does, is a tenth of what a party costs."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, AttributeError):  # nobody reads it, or it was never there
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
