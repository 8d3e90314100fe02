"""``python -m sottovoce``."""

from .cli import main

main()
