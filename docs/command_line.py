"""What every command says of itself: ``--help``, written where reference/command-line.md takes it in."""

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE / "reference" / "command-line.md"


def says(*words: str) -> str:
    """The help of a command, 100 characters wide and without colours."""
    plain = os.environ | {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    command = [sys.executable, "-m", "sottovoce", *words, "--help"]
    return subprocess.run(command, env=plain, check=True, capture_output=True, text=True).stdout


def commands() -> list[str]:
    """Their names, as ``sottovoce --help`` lists them."""
    return re.findall(r"^  (\w+) ", says().split("Commands:")[1], re.MULTILINE)


def write(_app: object = None) -> None:
    folder = PAGE.parent / "commands"
    folder.mkdir(exist_ok=True)
    for words in ([], *([name] for name in commands())):
        (folder / f"{' '.join(['sottovoce', *words])}.txt").write_text(says(*words))
