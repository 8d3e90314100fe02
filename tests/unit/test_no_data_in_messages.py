"""Nothing private is ever said: marked secrets go through every refusal, and all that comes out is searched for them.

What comes out is what is printed, logged or warned of, and every exception of the chain: its text, its arguments and
those of what it was raised from or in the middle of, also where ``from None`` hides that from a traceback.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import logging
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli.app import app
from sottovoce.costs import Cost
from sottovoce.data.csv_rows import read_one_per_party
from sottovoce.data.problem_file import read_problem_file
from sottovoce.errors import SottovoceError
from sottovoce.runtime.plan.node_file import NodeConfig, read_node_file
from sottovoce.runtime.plan.plan import read_plan, write_plan
from sottovoce.statistics.statistic_file import read_file, read_statistic_file

NUMBER, CELL = 918273.645, "SECRET-CELL"
MARKS = ("918273", "918,273", "9.18", "SECRET")  # whole, in groups, rounded
NETWORK = sv.Network.ring(3)


def chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        if error.__cause__ is not None and error.__cause__ is not error.__context__:
            yield from chain(error.__cause__)
        error = error.__context__


def heard(do: Callable[[], object]) -> tuple[str, BaseException | None]:
    """All that can be heard of it, and how it was refused."""
    said, log, refused = io.StringIO(), io.StringIO(), None
    handler = logging.StreamHandler(log)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(said):
            warnings.simplefilter("always")
            with contextlib.redirect_stderr(said):
                try:
                    said.write(repr(do()))
                except Exception as error:  # whatever it is, it is shown to somebody
                    refused = error
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    errors = [f"{error} {error!r} {error.args} {getattr(error, '__notes__', '')}" for error in chain(refused)]
    return "\n".join([said.getvalue(), log.getvalue(), *(str(entry.message) for entry in warned), *errors]), refused


def silent(do: Callable[[], object]) -> bool:
    """Whether it was refused; either way without a word of the data."""
    said, refused = heard(do)
    assert not any(mark in said for mark in MARKS), said
    return refused is not None


def test_a_leak_is_noticed() -> None:
    """Of this test: in words, in a context that ``from None`` hides, in a warning, in a log, in a repr."""

    def hidden() -> None:
        try:
            float(CELL)
        except ValueError:
            raise SottovoceError("the cell is not a number") from None

    for leak in (hidden, lambda: warnings.warn(f"{NUMBER:.3g}", stacklevel=1), lambda: [NUMBER], lambda: print(CELL),
                 lambda: logging.getLogger("any").info("%s", NUMBER)):  # fmt: skip
        assert any(mark in heard(leak)[0] for mark in MARKS)


# Arrays and frames

AWFUL: dict[str, Any] = {
    "text": CELL,
    "a text among numbers": [NUMBER, CELL],
    "rows with a text": [[NUMBER, 1.0], [CELL, 2.0]],
    "NaN": [NUMBER, np.nan],
    "rows with inf": [[NUMBER, np.inf]],
    "three axes": [[[NUMBER]]],
    "rows of different lengths": [[NUMBER], [NUMBER, 1.0]],
    "arrays of different lengths": [np.full(2, NUMBER), np.full(3, NUMBER)],
    "too large an integer": [NUMBER, 10**400],
    "beyond float64": [[NUMBER, 1e308], [1e308, -1e308]],
    "complex": [NUMBER + 1j],
    "a date": [NUMBER, date(2024, 5, 17)],
    "objects": np.array([NUMBER, CELL, None], dtype=object),
    "masked": np.ma.masked_array([NUMBER, 1.0], [False, True]),
    "nothing": None,
    "a mapping": {7: NUMBER, 8: CELL},  # keys are names of nodes, which are public
    "a set": {CELL},
    "bytes": CELL.encode(),
    "a frame of text": pd.DataFrame({"age": [NUMBER, 2.0], "name": [CELL, "b"]}, index=[CELL, "b"]),
    "a frame of categories": pd.DataFrame({"age": pd.Categorical([CELL, "b"])}),
    "a frame of dates": pd.DataFrame({"age": pd.to_datetime(["2024-05-17"]), "dose": [NUMBER]}),
    "a frame with gaps": pd.DataFrame({"age": [NUMBER, None]}),
    "a column of text": pd.Series([CELL, "1.5"], name="age"),
    "a polars frame": pl.DataFrame({"age": [NUMBER], "name": [CELL]}),
    "too many numbers": np.full(17, NUMBER),
    "too many rows": np.full((17, 5), NUMBER),
    "one number": NUMBER,
    "a negative number": -NUMBER,
}

x = cp.Variable()
GOOD: dict[str, Any] = {  # an argument of this name, wherever it occurs
    "s": 1.0, "A": [[1.0]], "b": [1.0], "labels": [1], "Q": 1.0, "q": 1.0, "r": 0.0, "lower": 0.0, "upper": 1.0,
    "radius": 1.0, "centre": None, "total": 1.0, "dim": None, "ridge": 0.0, "delta": 1.0, "l1": 1.0, "l2": 1.0,
    "prox": lambda v, t: v, "value": lambda v: 0.0, "gradient": lambda v: 0.0, "hessian": None, "start": 0.0,
    "variable": x, "objective": cp.square(x), "constraints": (), "cost": sv.Averaging(1.0), "indicator": sv.Box(0, 1),
}  # fmt: skip
PARAMETERS = {"radius", "total", "dim", "ridge", "delta", "l1", "l2"}  # public: one number may be said
COSTS = [family for family in map(sv.costs.__dict__.get, sv.costs.__all__)
         if inspect.isclass(family) and issubclass(family, Cost) and not inspect.isabstract(family)]  # fmt: skip


@pytest.mark.parametrize("family", COSTS, ids=lambda family: family.__name__)
def test_costs(family: type[Cost]) -> None:
    """Every family that is exported, and each of its arguments; one that is new here needs a good value above."""
    makers: list[Callable[..., Any]] = [family] + ([family.many] if hasattr(family, "many") else [])
    for make in makers:
        names = list(inspect.signature(make).parameters)
        good = {name: GOOD[name] for name in names}
        for name in names:
            awful = [bad for bad in AWFUL.values() if not (name in PARAMETERS and isinstance(bad, float))]
            refused = [silent(partial(make, **(good | {name: bad}))) for bad in awful]
            assert any(refused), f"{name} of {make} takes anything"


def test_what_functions_of_a_cost_return_is_not_quoted() -> None:
    for bad in AWFUL.values():
        f = sv.Custom(lambda v, t, bad=bad: bad, lambda v: 0.0, dim=2)
        silent(lambda f=f: f.step(np.zeros((1, 2)), np.ones(1)).shape)
        silent(lambda bad=bad: sv.FromGradient(lambda v: bad, lambda v: v, dim=2))
        silent(lambda bad=bad: sv.FromGradient(lambda v: 0.0, lambda v: bad, dim=2))
    assert silent(lambda: sv.FromCvxpy(x, cp.sqrt(x * NUMBER)))
    assert silent(lambda: sv.FromCvxpy(x, cp.square(x), [cp.sqrt(x) <= NUMBER]))
    assert silent(lambda: sv.FromCvxpy(x, cp.Maximize(x * NUMBER)))


# Problems and statistics

MAKERS = [getattr(sv, name) for name in sv.__all__
          if name.startswith("private_") or getattr(sv, name).__annotations__.get("return") == "Problem"]  # fmt: skip
GOOD_OF_ALL: dict[str, Any] = {
    "s": [1.0, 2.0, 3.0], "weights": None, "offset": None, "exposure": None, "bins": [0.0, 1.0],
    "estimates": [(1.0, 0.5), (2.0, 0.4), (1.5, 0.6)],
}  # fmt: skip
PUBLIC = {"network", "ridge", "intercept", "names", "scale", "ddof", "mask", "schedule", "seed", "tol", "max_iter",
          "max_rounds", "progress", "bins", "columns", "target", "features", "overlay", "ties", "baseline", "grid",
          "min_departures", "family", "link", "shape", "dispersion", "robust", "penalties", "folds", "fold_seed",
          "standardize", "l1_ratio", "components", "levels", "effect", "gone", "unit"}  # fmt: skip
OF_ROWS = ("least", "logistic", "glm", "linear", "ridge", "lasso", "multinomial")  # pairs of columns and a target


def of_all(make: Callable[..., Any], name: str) -> Any:
    if name == "shards" and make.__name__ == "private_cox":
        return [([[0.0], [1.0]], [1.0, 2.0], [0, 1])] * 3
    if name == "shards":
        rows = any(word in make.__name__ for word in OF_ROWS)
        return [([[0.0], [1.0]], [0, 1])] * 3 if rows else [[[1.0, 2.0], [0.0, 1.0]]] * 3
    return GOOD_OF_ALL[name]


def test_there_are_makers() -> None:
    assert {make.__name__ for make in MAKERS} >= {"averaging", "least_squares", "logistic", "private_mean",
                                                  "private_histogram", "private_linear"}  # fmt: skip


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_makers(make: Callable[..., Any]) -> None:
    """Data of all, or of one party among good ones, that are not what they should be."""
    parameters = inspect.signature(make).parameters
    data = [name for name in parameters if name not in PUBLIC]
    good = {name: of_all(make, name) for name in data}
    fixed = {"max_iter": 1} if "max_iter" in parameters else {}
    fixed |= {"bins": [0.0, 1.0]} if "bins" in parameters else {}
    fixed |= {"levels": (0, 1)} if "levels" in parameters else {}
    for name in data:
        refused = []
        for bad in AWFUL.values():
            for given in (bad, [bad, bad, bad], *_among(good[name], bad)):
                refused.append(silent(partial(make, NETWORK, **(good | {name: given}), **fixed)))
        assert sum(refused) > len(AWFUL)
    first = next(iter(data))
    assert silent(lambda: make([[NUMBER, CELL]] * 3, **good, **fixed))  # instead of the network
    assert silent(lambda: make(NETWORK, **(good | {first: [CELL, NUMBER]}), **fixed))


def _among(good: Any, bad: Any) -> list[Any]:
    """Among good data of the others, as an entry, as a part of a pair or triple, or as all of it."""
    if good is None:
        return [[bad, [1.0, 1.0], [1.0, 1.0]]]
    among = [[*good[:2], bad]]
    if isinstance(good[0], tuple):
        whole = good[0]
        among += [[*good[:2], (*whole[:k], bad, *whole[k + 1 :])] for k in range(len(whole))]
        among += [[*good[:2], (bad,) * len(whole)]]
    return among


def test_lists_of_costs_and_states() -> None:
    problem = sv.averaging(NETWORK, [1.0, 2.0, 3.0])
    assert all(silent(lambda bad=bad: sv.Problem(NETWORK, [bad] * 3)) for bad in AWFUL.values())
    assert sum(silent(lambda bad=bad: sv.solve(problem, z0=bad, max_iter=1)) for bad in AWFUL.values()) > 10
    node = sv.nodes_of(problem, c=1.0, theta=1.0)[0]
    for bad in AWFUL.values():
        assert silent(lambda bad=bad: node.receive(sv.Message(1, 0, 1, bad)))


def test_masks_that_do_not_fit() -> None:
    assert silent(lambda: sv.solve(sv.averaging(NETWORK, [1.0, 2.0, NUMBER]), mask=sv.ModularMask()))  # no integer
    large = sv.averaging(NETWORK, [1.0, 2.0, 918273.0])
    assert silent(lambda: sv.solve(large, mask=sv.ModularMask(bits=8)))  # could wrap around
    silent(lambda: sv.solve(large, mask=sv.GaussianMask(1.0), max_iter=1).status)  # badly hidden


def test_tables_of_one_party() -> None:
    """All of a table, or a column of it, among good ones of the others."""
    schema = {"u": {"type": "number", "range": (0, 9)}, "v": "boolean", "w": {"type": "category", "levels": ["a", "b"]}}
    good: dict[str, Any] = {"u": [1.0, 2.0, 0.5, 0.7], "v": [True, False, True, False], "w": ["a", "b", "a", "a"]}

    def asked(table: Any, ask: Callable[[sv.Study], object]) -> bool:
        return silent(lambda: ask(sv.Study(NETWORK, [good, good, table], schema=schema)))

    everything: dict[str, Callable[[sv.Study], object]] = {
        "mean": lambda study: study.mean("u"),
        "histogram": lambda study: study.histogram("w"),
        "linear": lambda study: study.linear("u ~ v + C(w)"),
        "glm": lambda study: study.glm("v ~ u", family="binomial"),
        "table_one": lambda study: study.table_one(by="w"),
    }
    for kind, ask in everything.items():
        assert not asked(good, ask), kind
        given = [bad for bad in AWFUL.values() if not isinstance(bad, str)]  # which is the name of a file
        given += [*(good | {name: bad} for name in good for bad in AWFUL.values())]
        assert sum(asked(table, ask) for table in given) > len(AWFUL), kind


# Files

CSV: dict[str, str] = {
    "not UTF-8": f"u,v\n{NUMBER},\udcff\n",
    "text": f"u,v\n1,2\n{CELL},{NUMBER}\n",
    "a blank": f"u,v\n{NUMBER},\n",
    "nan": f"u,v\n{NUMBER},nan\n",
    "overflow": "u,v\n918273e999,1\n",
    "decimal comma": 'u,v\n"918273,645",1\n',
    "thousands": 'u,v\n"918,273.645",1\n',
    "underscore": "u,v\n918273_645,1\n",
    "unit": "u,v\n918273.645kg,1\n",
    "ragged": f"u,v\n{NUMBER},{CELL},3\n",
    "no header": f"{NUMBER},2\n1,2\n",
    "no header, other marks": f"{NUMBER};{CELL}\n1;2\n",
    "other marks": f"u;v\n{NUMBER};{CELL}\n",
    "quotes": f'u,v\n"{CELL}"x,{NUMBER}\n',
    "NUL": f"u,v\n{NUMBER},\0{CELL}\n",
    "no such column": f"u,w\n{NUMBER},1\n",
}
PROBLEM = "[network]\ngenerator = 'complete'\n{}\n[pdmm]\nc = 1.0\nmax_iter = 1\n[mask]\nvariance = 1e8\n"
ASKED = {
    "cost": "[cost]\ntype = 'averaging'\nfiles = ['a.csv', 'b.csv']\ncolumns = ['u', 'v']",
    "cost of rows": "[cost]\ntype = 'logistic'\nfiles = ['a.csv', 'b.csv']\nfeatures = ['u']\ntarget = 'v'",
    "statistic": "[statistic]\ntype = 'mean'\nfiles = ['a.csv', 'b.csv']\ncolumns = ['u', 'v']",
    "regression": "[statistic]\ntype = 'least_squares'\nfiles = ['a.csv', 'b.csv']\nfeatures = ['u']\ntarget = 'v'",
    "one file": "[cost]\ntype = 'averaging'\nfile = 'a.csv'\nparty = 'u'\ncolumns = ['v']",
}
INLINE = {
    "text": f"values = [1.0, '{CELL}']",
    "nan": f"values = [[{NUMBER}, nan], [1, 2]]",
    "ragged": f"values = [[{NUMBER}], [{NUMBER}, 1.0]]",
    "no list": f"values = '{CELL}'",
    "a number": f"values = {NUMBER}",
    "nested": f"values = [[[{NUMBER}]]]",
    "too large": f"values = [918273{'0' * 400}, 1]",
    "far too large": f"values = [918273{'0' * 5000}, 1]",
    "a date": "values = [2024-05-17, 1]",
    "syntax": f"values = [{NUMBER}, {CELL}]",
    "unclosed": f"values = ['{CELL}",
    "rows": f"parties = [{{ rows = [[{NUMBER}, '{CELL}']] }}, {{ rows = [[1, 2]] }}]",
    "rows of other lengths": f"parties = [{{ rows = [[{NUMBER}, 1]] }}, {{ rows = [[{NUMBER}]] }}]",
    "no rows": f"parties = [{{ rows = {NUMBER} }}, {{ rows = '{CELL}' }}]",
    "no tables": f"parties = [{NUMBER}, '{CELL}']",
}


def command(*words: object) -> bool:
    """The same of a command, with all that it prints."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    errors = [f"{error} {error!r}" for error in chain(result.exception)]
    said = "\n".join([result.stdout, result.stderr, *errors])
    assert not any(mark in said for mark in MARKS), said
    return result.exit_code != 0


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("case", CSV)
def test_csv_files_of_a_problem(tmp_path: Path, case: str, asked: str) -> None:
    (tmp_path / "a.csv").write_bytes(CSV[case].encode("utf-8", "surrogateescape"))
    (tmp_path / "b.csv").write_text("u,v\n0,1\n")
    problem = tmp_path / "problem.toml"
    text = PROBLEM.format(ASKED[asked])
    problem.write_text(text.replace("c = 1.0\n", "") if "[statistic]" in text else text)
    if asked == "one file" and case in ("text", "overflow", "decimal comma", "thousands", "underscore", "unit"):
        return  # the cells of this column are the names of parties
    assert silent(lambda: read_file(problem, None))
    assert command("solve", problem)
    assert command("audit", problem)


def test_data_that_were_read_are_not_shown(tmp_path: Path) -> None:
    problem = tmp_path / "problem.toml"
    problem.write_text(PROBLEM.format(f"[cost]\ntype = 'averaging'\nvalues = [{NUMBER}, 1.0]"))
    assert not silent(lambda: read_problem_file(problem))
    assert not silent(lambda: read_problem_file(problem).cost)
    (tmp_path / "a.csv").write_text(f"u\n{NUMBER}\n")
    assert not silent(lambda: read_one_per_party([tmp_path / "a.csv"], ["u"], None, ","))


@pytest.mark.parametrize("case", INLINE)
def test_data_in_a_problem_file(tmp_path: Path, case: str) -> None:
    problem = tmp_path / "problem.toml"
    problem.write_text(PROBLEM.format(f"[cost]\ntype = 'averaging'\n{INLINE[case]}"))
    assert silent(lambda: read_problem_file(problem))
    assert command("solve", problem)
    assert command("audit", problem)
    asked = INLINE[case].replace("parties = [{", "columns = ['u', 'v']\nparties = [{")
    problem.write_text(PROBLEM.format(f"[statistic]\ntype = 'mean'\n{asked}").replace("c = 1.0\n", ""))
    assert silent(lambda: read_statistic_file(problem))
    assert command("solve", problem)


@pytest.mark.parametrize("case", ["text", "not UTF-8"])
def test_an_edge_list_that_is_data(tmp_path: Path, case: str) -> None:
    (tmp_path / "a.csv").write_bytes(CSV[case].encode("utf-8", "surrogateescape"))
    assert silent(lambda: sv.Network.read_edge_list(tmp_path / "a.csv"))
    problem = tmp_path / "problem.toml"
    problem.write_text(PROBLEM.format("[cost]\ntype = 'averaging'\nvalues = [1, 2]").replace(
        "generator = 'complete'", "edge_list = 'a.csv'"))  # fmt: skip
    assert command("solve", problem)


@pytest.fixture(scope="module")
def parties(tmp_path_factory: pytest.TempPathFactory) -> dict[str, NodeConfig]:
    """A party of a statistic and one of a cost, each with its node file; their data come later."""
    folder, found, names = tmp_path_factory.mktemp("plans"), {}, ("ann", "bob", "cat")
    questions = {"mean": "[statistic]\ntype = 'mean'\ncolumns = ['u', 'v']",
                 "logistic": "[cost]\ntype = 'logistic'\nfeatures = ['u']\ntarget = 'v'"}  # fmt: skip
    for name, question in questions.items():
        plan = folder / f"{name}.toml"
        plan.write_text(
            f"[run]\nname = '{name}'\nc = 1.0\n[network]\ngenerator = 'complete'\n{question}\n"
            + "".join(
                f"[[party]]\nname = '{who}'\naddress = '127.0.0.1:{port}'\ndata = '{who}.csv'\n"
                for port, who in enumerate(names, 7401)
            )
        )
        for who in names:
            (folder / f"{who}.csv").write_text("u,v\n0,1\n")
        write_plan(read_plan(plan), folder / name, generate_keys=True)
        found[name] = read_node_file(folder / name / "ann" / "node.toml")
    return found


@pytest.mark.parametrize("case", CSV)
def test_data_of_a_party(parties: dict[str, NodeConfig], case: str) -> None:
    for config in parties.values():
        config.data.write_bytes(CSV[case].encode("utf-8", "surrogateescape"))
        assert silent(config.own_data)


def test_data_larger_than_a_run_takes(parties: dict[str, NodeConfig]) -> None:
    for config in parties.values():
        config.data.write_text(f"u,v\n{NUMBER}e30,1\n")
        assert silent(config.own_data)


def test_the_command_of_a_party(parties: dict[str, NodeConfig]) -> None:
    """A process of its own, as it logs to stderr."""
    config = parties["mean"]
    config.data.write_text(CSV["text"])
    words = [sys.executable, "-m", "sottovoce", "node", str(config.path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "line 3, column 'u': the cell is not a number" in done.stderr
    assert not any(mark in done.stdout + done.stderr for mark in MARKS)
