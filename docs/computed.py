"""Pages whose numbers are computed when the site is built.

The Python blocks of a page run in order, as one program, in a folder of their own. Where the source has the line

    <!-- printed -->

or ``<!-- printed as Markdown -->``, the page has what was printed since the last such line.
The source has no results, and reads well without them. Pictures that the program writes go to images/<page>.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
MARK = "<!-- printed"
PART = re.compile(r"^```python\n(?P<code>.*?)^```\n|^<!-- printed(?P<markdown> as Markdown)? -->\n", re.DOTALL | re.M)


class NotComputed(Exception):
    """A block of a page failed, or printed nothing where the page shows what it printed."""


def computed(source: str, name: str) -> str:
    """The page with what its blocks print; they run in the current directory.

    Raises
    ------
    NotComputed
        With the page and the line.
    """
    return "".join(_parts(source, name))


def _parts(source: str, name: str) -> Iterator[str]:
    names: dict[str, object] = {"__name__": "page"}
    printed, end = StringIO(), 0
    for part in PART.finditer(source):
        yield source[end : part.start()]
        end, line = part.end(), source.count("\n", 0, part.start()) + 1
        if (code := part["code"]) is not None:
            yield part[0]
            try:
                with redirect_stdout(printed):
                    exec(compile("\n" * line + code, name, "exec"), names)  # tracebacks have the lines of the page
            except (Exception, SystemExit) as error:
                raise NotComputed(f"{name}, block at line {line}: {type(error).__name__}: {error}") from error
            continue
        if not (text := printed.getvalue().rstrip()):
            raise NotComputed(f"{name}, line {line}: nothing was printed since the last result.")
        yield f"{text}\n" if part["markdown"] else f"```text\n{text}\n```\n"
        printed = StringIO()
    yield source[end:]


def fill(_app: object, page: str, source: list[str]) -> None:
    """As a page is read: compute it, if it shows what it prints."""
    if MARK not in source[0]:
        return
    pictures = HERE / "images" / Path(page).name
    pictures.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, chdir(folder):
        source[0] = computed(source[0], f"{page}.md")
        for picture in Path(folder).glob("*.png"):
            shutil.copy(picture, pictures)
