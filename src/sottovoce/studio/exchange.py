"""Networks from files that a page is given, and back: edge lists, GraphML, problem files. The content alone: a page
names no path, and what it brings is never taken for one."""

from __future__ import annotations

import io
import json
import math
import warnings
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..data.problem_file import KEYS, ProblemFile
from ..errors import InvalidFile, InvalidInput, MissingExtra
from ..files.toml_table import toml_values
from ..files.toml_text import toml, toml_key
from ..network import Network
from ..pdmm.masks import GaussianMask
from ..pdmm.schedules import Asynchronous, EdgeBernoulli, EdgeReversal, Permutations, Synchronous
from ..statistics.statistic_file import read_file
from .making import first_scene, names_of, numbers_of, on_network
from .scene import LONGEST, MOST, VARIANCES, Scene, party_names

LARGEST = 500_000  # bytes of a file
DRAWN = 1e6  # the variance of a mask that takes another's place
KINDS = {"txt": "edge list", "graphml": "GraphML", "toml": "problem file"}
TAKEN = {  # of a problem file that a page brings: nothing that names a file, a query or another machine
    "network": {*KEYS["network"]} - {"edge_list"},
    "cost": {"type", "values"},
    "pdmm": {*KEYS["pdmm"]},
    "mask": {*KEYS["mask"]},
}
MARKUP = ("<!doctype", "<!entity")


def imported(name: str, content: bytes, scene: Scene) -> tuple[Scene, str]:
    """The scene of a file that a page was given, by the ending of its name, and what to say of it."""
    if len(content) > LARGEST:
        raise InvalidInput(f"the file has {len(content):,} bytes; at most {LARGEST:,} are read here.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput("the file is not UTF-8 text.") from None
    kind = Path(name).suffix.lower().lstrip(".")
    if kind == "graphml":
        return _graphml(text, scene), ""
    if kind == "toml":
        return _problem(text, scene)
    if kind in ("txt", "csv", "edges", "edgelist"):
        return _edge_list(text, scene), ""
    raise InvalidInput(f"a file that ends in {kind or 'nothing'!r} is not known: .txt (edge list), .graphml or .toml.")


def _edge_list(text: str, scene: Scene) -> Scene:
    """Numbers, or names of parties, two a line."""
    rows = [line.split("#")[0].replace(",", " ").replace(";", " ").split() for line in text.splitlines()]
    pairs = [row for row in rows if row]
    for k, row in enumerate(rows, start=1):
        if row and len(row) != 2:
            raise InvalidInput(f"line {k}: expected two parties, by number or by name, and nothing else.")
    if not pairs:
        raise InvalidInput("the file holds no edges. Write two parties a line.")
    if all(end.isdecimal() and len(end) < 6 for pair in pairs for end in pair):
        ends = [(int(a), int(b)) for a, b in pairs]
        n = max(max(pair) for pair in ends) + 1
        if n > MOST:
            raise InvalidInput(f"a network on this page has 2 to {MOST} parties; this one has {n:,}.")
        return on_network(scene, Network.from_edges(n, ends))
    network = Network.from_named_edges([(a, b) for a, b in pairs])
    return on_network(scene, network, [network.name(i) for i in range(network.n)])


def _graphml(text: str, scene: Scene) -> Scene:
    if any(mark in text.lower() for mark in MARKUP):
        raise InvalidInput("a GraphML file with a DOCTYPE or entities is not read.")
    try:
        import networkx
    except ImportError:
        raise MissingExtra("GraphML", "networkx", "networkx") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = networkx.read_graphml(io.BytesIO(text.encode()))
    except Exception as error:  # of XML, of types, of keys: whatever the file makes of it
        raise InvalidInput(f"the file is no GraphML: {str(error)[:120]}.") from None
    if graph.is_directed() or graph.is_multigraph():
        graph = networkx.Graph(graph.to_undirected())
    if graph.number_of_nodes() > MOST:
        raise InvalidInput(f"a network on this page has 2 to {MOST} parties; this one has {graph.number_of_nodes():,}.")
    names = [str(data.get("name", data.get("label", node))).strip()[:LONGEST] for node, data in graph.nodes(data=True)]
    if len(set(names)) < len(names) or not all(names):
        names = [str(node).strip()[:LONGEST] for node in graph.nodes]
    network = Network.from_networkx(networkx.convert_node_labels_to_integers(graph))
    held = [data.get("number") for _, data in graph.nodes(data=True)]
    numbers = [_number(s) for s in held] if all(isinstance(s, int | float) for s in held) else None
    new = on_network(scene, network, names, numbers)
    places = [(data.get("x"), data.get("y")) for _, data in graph.nodes(data=True)]
    if all(isinstance(v, int | float) and 0 <= v <= 1 for place in places for v in place):
        new = replace(new, places=tuple((round(float(x), 3), round(float(y), 3)) for x, y in places))
    return new


def _problem(text: str, scene: Scene) -> tuple[Scene, str]:
    try:
        values = toml_values(text)
    except ValueError as error:
        raise InvalidFile(f"not valid TOML: {error}.") from None
    for table, content in values.items():
        more = sorted(set(content) - TAKEN.get(table, set())) if isinstance(content, dict) else [""]
        if table not in TAKEN or more:
            what = f"[{table}] {more[0]}" if table in TAKEN and more[0] else f"[{table}]"
            raise InvalidInput(
                f"a page takes [network], [cost] with values, [pdmm] and [mask] of a problem file, and no {what:.60}: "
                "it opens no other files. Start the studio with this one instead: sottovoce studio problem.toml"
            )
    held = values.get("cost", {}).get("values")
    if isinstance(held, list | dict) and len(held) > MOST:  # before a network of as many is made
        raise InvalidInput(f"a network on this page has 2 to {MOST} parties; this one has {len(held):,}.")
    with TemporaryDirectory(prefix="sottovoce-") as folder:
        path = Path(folder) / "problem.toml"
        path.write_text(text, encoding="utf-8")
        try:
            return from_problem_file(path, scene)
        except InvalidInput as error:
            raise InvalidFile(str(error).replace(f"{path}", "the file")) from None


def from_problem_file(path: Path, scene: Scene | None = None) -> tuple[Scene, str]:
    """The scene of a problem file, and what to say of it: one that asks for another thing than the mean of a number per
    party lends its network, its names and its mask."""
    scene = first_scene() if scene is None else scene
    file = read_file(path)
    network = file.problem.network if isinstance(file, ProblemFile) else file.network
    names = names_of(network)
    numbers = numbers_of(file.problem) if isinstance(file, ProblemFile) else None
    found = on_network(scene, network, names, numbers)
    said = "" if numbers is not None else (
        f"{path.name} asks for something else than the mean of one number per party. Its network and names are here; "
        "the numbers were drawn for this page."
    )  # fmt: skip
    if isinstance(file, ProblemFile):
        settings, other = _settings(file.options)
        found = replace(found, **settings)
        if other:
            said = f"{said} Not taken over, as a page does not have it: {', '.join(other)}.".strip()
    return found, said


def _number(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf  # which no scene takes


def _settings(options: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Mask, schedule and steps of a problem file as a page has them, its defaults where the file says nothing; and what
    of the file a page does not have."""
    found: dict[str, Any] = {
        "variance": None,
        "schedule": "synchronous",
        "loss": 0.0,
        "theta": None,
        "c": None,
        "seed": 0,
    }
    other = []
    mask, schedule = options.get("mask"), options.get("schedule")
    if type(mask) is GaussianMask and VARIANCES[0] <= mask.variance <= VARIANCES[1]:
        found["variance"] = float(mask.variance)
    elif mask is not None:
        found["variance"] = DRAWN
        other.append(f"the mask {mask!r}, in whose place there is a Gaussian one of variance {DRAWN:g}")
    if isinstance(schedule, EdgeBernoulli) and schedule.p >= 0.1:
        found["loss"] = round(1 - schedule.p, 6)
    elif type(schedule) is Asynchronous and schedule.rates is None:
        found["schedule"] = "asynchronous"
    elif isinstance(schedule, Permutations | EdgeReversal):
        found["schedule"] = "permutations" if isinstance(schedule, Permutations) else "edge_reversal"
    elif schedule is not None and not isinstance(schedule, Synchronous):
        other.append(f"the schedule {type(schedule).__name__}, in whose place all wake at once")
    for key in ("theta", "c"):
        given = options.get(key)
        if isinstance(given, int | float):
            found[key] = float(given)
        elif given is not None and not isinstance(given, str):
            other.append(f"{key} by edge")
    if options.get("overlay") is not None:
        other.append("the overlay: messages use all edges here")
    if options.get("noise") is not None:
        other.append("the noise on the numbers")
    seed = options.get("seed")
    if isinstance(seed, int) and seed < 2**32:
        found["seed"] = seed
    elif seed is not None:
        other.append(f"the seed {seed}, which is too large")
    return found, other


def exported(kind: str, scene: Scene) -> bytes:
    """A scene as a file of this kind."""
    return {"txt": _as_edge_list, "graphml": _as_graphml, "toml": _as_problem}[kind](scene)


def _as_edge_list(scene: Scene) -> bytes:
    lines = "".join(f"{i} {j}\n" for i, j in scene.edges)
    return f"# {scene.n} nodes, {len(scene.edges)} edges\n{lines}".encode()


def _as_graphml(scene: Scene) -> bytes:
    try:
        import networkx
    except ImportError:
        raise MissingExtra("GraphML", "networkx", "networkx") from None
    graph = networkx.Graph()
    for i, (name, (x, y), number) in enumerate(zip(scene.names, scene.places, scene.numbers, strict=True)):
        graph.add_node(i, name=name, x=x, y=y, number=number)
    graph.add_edges_from(scene.edges)
    stream = io.BytesIO()
    networkx.write_graphml(graph, stream)
    return stream.getvalue()


def _as_problem(scene: Scene) -> bytes:
    plain = scene.names == party_names(scene.n)
    values = ", ".join(
        f"{toml_key(name)} = {toml(number)}" for name, number in zip(scene.names, scene.numbers, strict=True)
    )
    edges = ", ".join(json.dumps([scene.names[i], scene.names[j]], ensure_ascii=False) for i, j in scene.edges)
    lossy = scene.schedule == "synchronous" and scene.loss
    lines = [
        "# Made by sottovoce studio. Play it again with: sottovoce solve problem.toml",
        *(["# The names are those of the page."] if plain else []),
        "[network]", f"edges = [{edges}]", "",
        "[cost]", 'type = "averaging"', f"values = {{ {values} }}", "",
        "[pdmm]",
        'schedule = "edge_bernoulli"' if lossy else f"schedule = {toml(scene.schedule)}",
        *([f"p = {1 - scene.loss!r}"] if lossy else []),
        *([] if scene.theta is None else [f"theta = {scene.theta!r}"]),
        *([] if scene.c is None else [f"c = {scene.c!r}"]),
        f"seed = {scene.seed}",
        *([] if scene.variance is None else ["", "[mask]", f"variance = {scene.variance!r}"]),
    ]  # fmt: skip
    return ("\n".join(lines) + "\n").encode()
