"""``python -m sottovoce``, and the command ``sottovoce``."""

import sys

from .cli import run_node


def main() -> None:
    """The entry point."""
    if run_node.is_plain(sys.argv[1:]):
        run_node.leave(run_node.main(sys.argv[1:]))
    from .cli.app import main as every_command

    every_command()


if __name__ == "__main__":
    main()
