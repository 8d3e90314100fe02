"""The shape of the house: imports go downwards, nothing heavy at import, documentation that runs."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from picture_faults import faults, kept

import sottovoce

ROOT = Path(sottovoce.__file__).parent
PROJECT = ROOT.parent.parent

# From the ground up: a module imports from its own room, and from rooms on floors below.
FLOORS = [
    ["errors"],
    ["numerics", "files"],
    ["network", "costs"],
    ["pdmm", "sums"],
    ["data", "privacy", "sweeps"],
    ["statistics"],
    ["baselines", "paper", "runtime", "sklearn"],
    ["studio"],
    ["cli"],
    ["__main__"],
]
FLOOR = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}


def test_the_root_shows_the_architecture():
    """Whoever opens the package reads its rooms, the public face and what can go wrong; nothing else lies about."""
    found = {path.name for path in ROOT.iterdir()} - {"__pycache__"}
    rooms = set(FLOOR) - {"errors", "__main__"}
    assert found == rooms | {"__init__.py", "__main__.py", "errors.py", "py.typed"}
    assert all((ROOT / room / "__init__.py").read_text().startswith('"""') for room in rooms)


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imported_rooms(path: Path) -> set[str]:
    depth = len(path.relative_to(ROOT).parts)
    found = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            found |= {node.module.split(".")[0]} if node.module else {alias.name for alias in node.names}
    return found


MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def test_imports_go_downwards():
    upwards = [
        f"{path.relative_to(ROOT)} must not import {other}"
        for path in MODULES
        for other in sorted(imported_rooms(path) - {room(path)})
        if FLOOR[other] >= FLOOR[room(path)]
    ]
    assert upwards == []


def private_names_of_others(path: Path) -> set[str]:
    """What a module takes of other rooms that begins with an underscore: by an import, or as an attribute of one."""
    depth, found, imported = len(path.relative_to(ROOT).parts), set(), {}
    tree = parsed(path)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == depth and path.parent != ROOT:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}" if node.module else alias.name
                imported[alias.asname or alias.name] = whole
                if whole.split(".")[0] != room(path) and any(part.startswith("_") for part in whole.split(".")):
                    found.add(whole)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in imported:
            whole = f"{imported[node.value.id]}.{node.attr}"
            private = node.attr.startswith("_") and not node.attr.startswith("__")
            if private and whole.split(".")[0] != room(path):
                found.add(whole)
    return found


def test_underscores_stay_in_their_room():
    found = {str(path.relative_to(ROOT)): private_names_of_others(path) for path in MODULES}
    assert {path: names for path, names in found.items() if names} == {}


def test_a_private_name_of_another_room_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    (tmp_path / "runtime").mkdir()
    path = tmp_path / "runtime" / "plan.py"
    path.write_text(
        "from ..network import graphs\nfrom ..network._hidden import a\nfrom ..pdmm.solve import _b\n"
        "from . import _own\ngraphs._pair_up, graphs.__name__, _own._c"
    )
    assert private_names_of_others(path) == {"network._hidden.a", "pdmm.solve._b", "network.graphs._pair_up"}


def test_files_stay_readable():
    lengths = {path.name: len(path.read_text().splitlines()) for path in MODULES}
    assert {name: length for name, length in lengths.items() if length > 600} == {}


def test_import_is_light_and_compiles_nothing():
    heavy = ("numba", "matplotlib", "narwhals", "pandas", "networkx", "cvxpy", "rich", "websockets", "cryptography")
    heavy += (
        "numpy",
        "scipy",
        "sklearn",
        "nicegui",
        "joblib",
        "threadpoolctl",
        "cloudpickle",
        "pyarrow",
        "distributed",
    )
    code = f"import sys, sottovoce; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_are_what_all_says():
    assert sorted(sottovoce.__all__) == sottovoce.__all__
    assert all(getattr(sottovoce, name).__doc__ for name in sottovoce.__all__)


@pytest.mark.parametrize("module", ["sottovoce", "sottovoce.statistics", "sottovoce.runtime"])
def test_names_that_are_loaded_late_are_those_that_type_checkers_see(module):
    loaded = importlib.import_module(module)
    (late,) = (node for node in parsed(Path(loaded.__file__)).body if isinstance(node, ast.If))
    found = {
        (node.module, alias.name)
        for node in late.body
        if isinstance(node, ast.ImportFrom) and node.module not in (None, "pdmm")  # which are modules
        for alias in node.names
    }
    assert {(where, name) for where, names in loaded._FOUND_IN.items() for name in names} == found
    assert {name for _, name in found} <= {*loaded.__all__, "compare"}
    assert set(loaded.__all__) <= set(dir(loaded)) or module == "sottovoce.runtime"


def test_import_changes_no_environment():
    code = (
        "import os; before = dict(os.environ)\n"
        "import pkgutil, importlib, sottovoce\n"
        "for module in pkgutil.walk_packages(sottovoce.__path__, 'sottovoce.'):\n"
        "    if not module.name.endswith('__main__'): importlib.import_module(module.name)\n"
        "changed = {name for name, _ in os.environ.items() ^ before.items()}\n"
        "assert changed <= {'KMP_DUPLICATE_LIB_OK', 'KMP_INIT_AT_FORK'}, changed"  # scikit-learn's own
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def module_of(path: Path) -> str:
    return ".".join(["sottovoce", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")


# All modules are imported by the test above; these have examples.
EXAMPLES = [module_of(path) for path in (ROOT / "__init__.py", *MODULES) if ">>> " in path.read_text()]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_in_docstrings(name):
    importlib.import_module(name)
    done = doctest.testmod(sys.modules[name], optionflags=doctest.ELLIPSIS)
    assert done.failed == 0
    assert done.attempted > 0


PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if "<!-- printed" not in page.read_text()]  # those run as the site does: test_computed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_python_in_the_documentation_runs(page, tmp_path, monkeypatch):
    """The Python blocks of a page, in order, as one program."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    figures = kept(monkeypatch)
    exec(compile("\n".join(blocks), str(page), "exec"), {"__name__": "page"})
    assert [faults(figure) for figure in figures] == [[] for _ in figures]
    if page.name == "given-away.md":  # whose pictures come from its own code
        assert {path.name for path in tmp_path.glob("*.png")} == set(re.findall(r"images/(\w+\.png)", page.read_text()))
