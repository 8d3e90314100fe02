"""What a comparison answers: a row a method, curves of error against leakage, and what all of it costs as n grows."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput
from ..files.frames import to_frame
from ..files.html_table import html_table
from ..files.written import write_csv, write_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTHS = (38, 17, 16, 10, 10, 8, 9)  # of the columns of a summary
EXACT = 1e-12  # times the variance of a secret: an error that is rounding, or where an iteration was told to stop


@dataclass(frozen=True, kw_only=True)
class Row:
    """One method, at the leakage that was asked for, or as near as it comes.

    Attributes
    ----------
    method, family : str
        What it is called.
    parameters : dict
        As tuned, and with the noise that gives the leakage.
    error, stderr : float
        Mean of ``(x_i - exact)^2`` over nodes and draws, and its standard error.
    nats : float
        What the worst honest node gives away; ``inf`` where a number is disclosed.
    kind, told : str
        Whether that is exact, what an attack finds, or computational; and how it was found.
    reached : bool
        Whether it is at most what was asked for.
    messages, bytes, rounds : float
        Means over the draws.
    seconds : float
        Of cryptography, all parties together.
    converged : bool
        Whether every run came to its answer.
    needs, breaks, survives : str
        What must be there, who must collude, who may drop out.
    notes : tuple of str
        What has to be said about the figures.
    """

    method: str
    family: str
    parameters: dict[str, Any]
    error: float
    stderr: float
    nats: float
    kind: str
    told: str
    reached: bool
    messages: float
    bytes: float
    rounds: float
    seconds: float
    converged: bool
    needs: str
    breaks: str
    survives: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Point:
    """Of a curve: so many nats at such an error."""

    nats: float
    error: float
    stderr: float


@dataclass(frozen=True)
class Cost:
    """What one method sends among so many parties; ``nan`` where it did not come to its answer."""

    method: str
    n: int
    messages: float
    bytes: float
    rounds: float


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Comparison:
    """All methods on one network, in the same units: made by ``compare``.

    Attributes
    ----------
    rows : tuple of Row
        One a method.
    curves : dict
        By method, tuples of ``Point``: error against leakage.
    costs : tuple of Cost
        Messages and bytes on random geometric graphs of growing size.
    nats : float
        The leakage at which the rows were taken, of the worst honest node.
    floor : float
        What an exact answer gives away at any mask.
    useless : float
        The error of whoever answers 0 without looking, ``prior/n``.
    settings : dict
        All that is needed to redo it.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce import baselines
    >>> methods = [baselines.SubspacePerturbation(overlay="tree")]
    >>> found = sv.compare(sv.Network.ring(5), methods=methods, sizes=(), draws=2)
    >>> found.rows[0].reached, found.rows[0].messages, round(found.floor, 4)
    (True, 32.0, 0.1438)
    """

    rows: tuple[Row, ...]
    curves: dict[str, tuple[Point, ...]]
    costs: tuple[Cost, ...]
    nats: float
    floor: float
    useless: float
    settings: dict[str, Any]

    def __repr__(self) -> str:
        return f"Comparison of {len(self.rows)} methods at {self.nats:.3g} nats"

    def row(self, method: str) -> Row:
        """That of one method, by its name."""
        for row in self.rows:
            if row.method == method:
                return row
        raise InvalidInput(f"no method {method!r} here; there are: {', '.join(row.method for row in self.rows)}.")

    def summary(self) -> str:
        """The rows as a table, and who must collude to break each."""
        lines = [
            f"At most {self.nats:.4g} nats of the worst honest party; floor of exact answers {self.floor:.4g}, "
            f"useless from error {self.useless:.3g}.",
            "",
            _line("method", "error", "leakage (nats)", "messages", "bytes", "rounds", "crypto s"),
        ]
        for row in self.rows:
            missed = "" if row.reached else " !"
            lines.append(
                _line(
                    row.method,
                    error_words(row.error, row.stderr, self.settings["prior"]) if row.converged else "not reached",
                    nats_words(row.nats) + missed + ("" if row.kind == "exact" else f" ({row.kind[:4]}.)"),
                    short(row.messages),
                    short(row.bytes),
                    short(row.rounds),
                    seconds_words(row.seconds) if row.seconds else "-",
                )
            )
        lines += ["", "! leaks more than was asked for, and no parameter of it helps. Broken where:"]
        lines += [f"  {row.method}: {row.breaks}" for row in self.rows]
        return "\n".join(lines)

    def _columns(self) -> dict[str, list[Any]]:
        plain = [asdict(row) for row in self.rows]
        for row in plain:
            row["parameters"] = json.dumps(row["parameters"])
            row["notes"] = " ".join(row["notes"])
        return {name: [row[name] for row in plain] for name in (plain[0] if plain else {})}

    def to_frame(self) -> Any:
        """The rows as a data frame."""
        return to_frame(self._columns())

    def costs_frame(self) -> Any:
        """What all cost as ``n`` grows, as a data frame."""
        return to_frame({name: [getattr(cost, name) for cost in self.costs] for name in COSTS})

    def to_dict(self) -> dict[str, Any]:
        """For JSON: figures, and the settings that give them again."""
        return {
            "nats": self.nats,
            "floor": self.floor,
            "useless": self.useless,
            "rows": [asdict(row) | {"disclosed": math.isinf(row.nats)} for row in self.rows],
            "curves": {name: [asdict(point) for point in curve] for name, curve in self.curves.items()},
            "costs": [asdict(cost) for cost in self.costs],
            "settings": self.settings,
        }

    def save(self, folder: str | Path) -> None:
        """Write ``comparison.json``, ``comparison.csv``, ``comparison.png``, and ``costs.csv`` and ``costs.png`` where
        sizes were asked for, each whole or not at all."""
        folder = Path(folder)
        columns = self._columns()
        write_json(folder / "comparison.json", self.to_dict())
        write_csv(folder / "comparison.csv", list(columns), zip(*columns.values(), strict=True))
        self.plot(folder / "comparison.png")
        if self.costs:
            write_csv(folder / "costs.csv", COSTS, [astuple(cost) for cost in self.costs])
            self.plot_costs(folder / "costs.png")

    def plot(self, path: str | Path | None = None) -> Figure:
        """Error against leakage, all methods on one pair of axes."""
        from .comparison_pictures import plot_errors

        return plot_errors(path, self)

    def plot_costs(self, path: str | Path | None = None) -> Figure:
        """Messages and bytes against the number of parties."""
        from .comparison_pictures import plot_costs

        if not self.costs:
            raise InvalidInput("no costs were asked for: give sizes, such as compare(network, sizes=(10, 100)).")
        return plot_costs(path, self)

    def _repr_html_(self) -> str:
        header = ("method", "error", "nats", "messages", "bytes", "rounds", "crypto s", "broken where")
        rows = [
            (r.method, r.error, nats_words(r.nats), r.messages, r.bytes, r.rounds, r.seconds, r.breaks)
            for r in self.rows
        ]
        return html_table(rows, header, f"{self!r}; floor {self.floor:.4g}, useless from {self.useless:.3g}")


COSTS = tuple(field.name for field in fields(Cost))


def error_words(error: float, stderr: float, prior: float) -> str:
    """An error with its standard error; below what matters it is exact."""
    if error <= EXACT * prior:
        return "exact"
    return f"{error:.3g}" + (f" ± {stderr:.1g}" if stderr else "")


def nats_words(nats: float) -> str:
    """Of a leakage."""
    return "disclosed" if math.isinf(nats) else "not known" if math.isnan(nats) else f"{nats:.4g}"


def short(number: float, unit: str = "") -> str:
    """In four letters or so: ``16.6 k``, or ``16.6 kB``."""
    if math.isnan(number):
        return "-"
    for least, size, letter in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if number >= least:
            return f"{number / size:.3g} {letter}{unit}"
    return f"{number:.0f} {unit}".rstrip()


def seconds_words(seconds: float) -> str:
    """Two digits, and no power of ten where they are many."""
    return f"{seconds:.0f}" if seconds >= 100 else f"{seconds:.2g}"


def _line(*cells: str) -> str:
    first, *rest = zip(cells, WIDTHS, strict=True)
    return first[0].ljust(first[1]) + " ".join(cell.rjust(width) for cell, width in rest)
