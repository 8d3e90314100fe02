"""``python -m sottovoce``, and the command ``sottovoce``."""

import sys

from . import node_command


def main() -> None:
    """The entry point."""
    if node_command.is_plain(sys.argv[1:]):
        sys.exit(node_command.main(sys.argv[1:]))
    from .cli import main as every_command

    every_command()


if __name__ == "__main__":
    main()
