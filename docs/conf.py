"""How the site is made: ``make docs``. Nothing is fetched: the pages need no network, neither to build nor to read."""

import re
import subprocess
import sys
from pathlib import Path
from types import new_class
from typing import Generic, TypeVar

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import command_line  # beside this file
import computed
import numpy.typing
from sphinx.ext import autosummary

# Signatures say ArrayLike and NDArray[float64], not the ten types that these stand for.
SAME = {"__module__": "numpy.typing"}
numpy.typing.ArrayLike = type("ArrayLike", (), SAME)
numpy.typing.NDArray = new_class("NDArray", (Generic[TypeVar("Entry")],), {}, lambda space: space.update(SAME))

import sottovoce
from sottovoce import privacy

project = "sottovoce"
author = "The sottovoce developers"
copyright = "the sottovoce developers, Apache-2.0"
version = release = sottovoce.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
html_theme = "furo"
html_title = f"sottovoce {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]
suppress_warnings = ["misc.highlighting_failure"]  # shell transcripts are no language

napoleon_google_docstring = False
python_maximum_signature_line_length = 90  # longer ones get a line for each argument
python_use_unqualified_type_names = True
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_typehints = "signature"
autosummary_generate = True
autosummary.periods_re = re.compile(r"(?<![ .])\.\s+")  # a sentence ends after a word, not in the middle of "0 .. n-1"
# ``sv.averaging`` and ``sv.Averaging`` have a page each, also on disks that do not tell them apart.
autosummary_filename_map = {
    f"{module.__name__}.{name}": f"{module.__name__}.{name}-function"
    for module in (sottovoce, privacy)
    for name in module.__all__
    if name.islower() and any(other != name and other.lower() == name for other in module.__all__)
}


def run_gallery(_app: object) -> None:
    """Each program of the gallery draws its picture, where that is older than the program."""
    folder = HERE / "images" / "gallery"
    folder.mkdir(exist_ok=True)
    for program in sorted((HERE / "gallery").glob("*.py")):
        picture = folder / f"{program.stem}.png"
        if not picture.exists() or picture.stat().st_mtime < program.stat().st_mtime:
            subprocess.run([sys.executable, program], cwd=folder, check=True)


WHOLE: dict[str, list[str]] = {}


def remember(_app: object, what: str, name: str, _obj: object, _options: object, lines: list[str]) -> None:
    """Of an attribute, napoleon takes what stands before a colon in the first line for its type. It is prose."""
    if what in ("attribute", "property"):
        WHOLE[name] = list(lines)


def restore(_app: object, _what: str, name: str, _obj: object, _options: object, lines: list[str]) -> None:
    lines[:] = WHOLE.pop(name, lines)


def is_of_scikit_learn(_app: object, _what: str, name: str, _obj: object, skip: bool, _options: object) -> bool | None:
    """What scikit-learn adds to every estimator refers to pages of its own."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app: object) -> None:
    app.connect("autodoc-skip-member", is_of_scikit_learn)
    app.connect("autodoc-process-docstring", remember, priority=400)  # napoleon's is 500
    app.connect("autodoc-process-docstring", restore, priority=600)
    app.connect("builder-inited", run_gallery)
    app.connect("builder-inited", command_line.write)
    app.connect("source-read", computed.fill)
