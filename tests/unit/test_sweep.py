"""Sweeps in one process: what is refused before anything runs, what the table says, and what fails."""

from __future__ import annotations

import sys
import threading
import warnings
from functools import lru_cache, partial

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import InvalidInput, MissingExtra, NotGuaranteed, PointsFailed
from sottovoce.sweeps.digest import digest

RING = sv.Network.ring(5)
PROBLEM = sv.averaging(RING, [1.0, 2.0, 3.0, 4.0, 10.0])
play = partial(sv.sweep, jobs=1, engine="reference")


def drawn(seed):
    return sv.averaging(RING, np.random.default_rng(seed).normal(size=5))


# What is refused


@pytest.mark.parametrize(
    ("grid", "sentence"),
    [
        ({"thta": [1.0]}, "'thta' is no argument of sv.solve; did you mean 'theta'?"),
        ({"seed": [1]}, "seed cannot be in the grid: give seeds=."),
        ({"progress": [True]}, "progress cannot be in the grid: the sweep has a bar of its own, progress=."),
        ({"theta": [0.5, 2]}, "grid['theta']: theta must be in (0, 1]; got 2."),
        ({"theta": ["big"]}, "grid['theta']: theta must be in (0, 1]; got 'big'."),
        ({"c": [0.5, "fast"]}, "grid['c']: c must be a positive number, 'auto', or one number per edge; got 'fast'."),
        ({"c": [-1.0]}, "grid['c']: c must be a positive number; got -1.0."),
        ({"c": [None]}, "grid['c']: c must be a positive number, 'auto'"),
        ({"tol": [-1e-9]}, "grid['tol']: tol must be a number >= 0; got -1e-09."),
        ({"max_iter": [2**63]}, "grid['max_iter']: a whole number must be at most 2**63 - 1, which a table holds."),
        ({"c": [10**5000]}, "grid['c']: a whole number must be at most 2**63 - 1, which a table holds."),
        ({"c": {"\udc80": 1.0}}, "grid['c']: the name '\\udc80' has half a character in it. Give another one."),
        ({"max_iter": [10.5]}, "grid['max_iter'] must be an integer >= 1; got 10.5."),
        ({"schedule": ["asynchronous"]}, "grid['schedule']: schedule must be a schedule such as sv.Asynchronous();"),
        ({"mask": [1e6]}, "grid['mask']: mask must be a mask such as sv.GaussianMask(variance=1e6); got 1000000.0."),
        ({"noise": [1.0]}, "grid['noise']: noise must be sv.LocalNoise(variance); got 1.0."),
        ({"overlay": ["star"]}, "grid['overlay']: overlay must be 'all', 'tree', or a list of edges; got 'star'."),
        ({"arithmetic": ["exact"]}, "grid['arithmetic']: arithmetic must be one of collapsed, plain; got 'exact'."),
        ({"record": [sv.Residual()]}, "grid['record']: record must be a list such as [sv.Residual()]; got Residual"),
        ({"record": [[sv.Variance()]]}, "Variance is over the draws of a batch"),
        ({"max_iter": [5], "max_rounds": [5]}, "give either max_iter or max_rounds, not both"),
        ({"engine": [None]}, "grid['engine']: engine must be one of auto, reference, compiled, cuda; got None."),
        ([{"theta": [None], "c": [0.5]}, {"c": [0.5]}], "the grid has a point twice: c = 0.5."),
        ([], "grid is an empty list, which has no points. Leave it out to play one point a seed."),
        ([{"c": {"0.5": 0.7}}, {"c": [0.5]}], "grid['c']: two of its values read '0.5' in a table. Give it a name"),
        ({"theta": []}, "grid has no points: one of its lists is empty."),
        ({"theta": [0.5, 0.5]}, "the grid has a point twice: theta = 0.5."),
        ([{"theta": [1], "c": 0.5}, {"theta": 1.0, "c": [0.5]}], "the grid has a point twice: theta = 1.0, c = 0.5."),
        (
            "theta",
            'grid must be a mapping such as {"theta": [0.5, 1.0], "c": [0.1, 1.0]}, or a list of them; got text.',
        ),
        ([1.0], "grid must be a mapping"),
        ({"c": [np.arange(1.0, 101.0)]}, "grid['c']: ndarray of shape (100,) has no short text for a table. Give it"),
        ({"schedule": {1: sv.Synchronous()}}, "grid['schedule']: the names of values must be text; got [1]."),
        ({"engine": ["auto"]}, "engine is in the grid and beside it"),
    ],
)
def test_grids_that_are_refused_before_anything_runs(grid, sentence):
    def never(_):
        raise AssertionError("it ran")

    options = {"engine": "reference"} if grid == {"engine": ["auto"]} else {}
    with pytest.raises(InvalidInput) as caught:
        sv.sweep(never, grid, jobs=1, **options)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"problems": {}}, "problems is empty"),
        ({"problems": [PROBLEM]}, "problems must be a Problem, a function that makes one of a seed, or a mapping"),
        ({"problems": {"\udc80": PROBLEM}}, "problems: the name '\\udc80' has half a character in it."),
        ({"problems": {3: PROBLEM}}, "problems: their names must be text; got 3."),
        ({"problems": sv.Problem}, "problems must be a Problem"),
        ({"problems": lambda: PROBLEM}, "the function for problem 'problem' must take a seed, and nothing else ("),
        ({"problems": {"a": lambda seed, n: PROBLEM}}, "the function for problem 'a' must take a seed, and nothing el"),
        ({"measure": lambda: {}}, "measure must take a Result, and nothing else ("),
        ({"seeds": 0}, "seeds, the number of them, must be an integer >= 1; got 0."),
        ({"seeds": True}, "seeds, the number of them, must be an integer >= 1; got True."),
        ({"seeds": [1, 1]}, "seeds has a number twice."),
        ({"seeds": []}, "seeds must be how many, such as 10, or a list of whole numbers >= 0; got []."),
        ({"seeds": [2**63]}, "seeds: a whole number must be at most 2**63 - 1, which a table holds."),
        ({"seeds": [10**5000]}, "seeds: a whole number must be at most 2**63 - 1"),
        ({"seeds": 10**5000}, "seeds: a whole number must be at most 2**63 - 1"),
        ({"seeds": 2**62}, "a sweep has at most 10,000,000 points; this one has 4,611,686,018,427,387,904 or more."),
        ({"seeds": range(2**70)}, "a sweep has at most 10,000,000 points;"),
        (
            {"seeds": 5_000, "grid": {"c": np.linspace(1, 2, 3_000)}},
            "a sweep has at most 10,000,000 points; this one has 15",
        ),
        (
            {"grid": {name: range(1, 10**4) for name in ("max_iter", "check_every", "record_every")}},
            "a sweep has at most 10,000,000 points; this one has 999,700,029,999 or more.",
        ),
        (
            {"overlay": iter([(0, 1)])},
            "overlay: a list_iterator is used up by the first point. Give a list.",
        ),
        ({"arithmetic": np.array(["plain", "collapsed"])}, "arithmetic: arithmetic must be one of collapsed, plain;"),
        ({"seeds": np.array(0)}, "seeds, the number of them, must be an integer >= 1; got 0."),
        ({"max_iter": 10**5000}, "max_iter: a whole number must be at most 2**63 - 1, which"),
        ({"seeds": "10"}, "seeds must be how many, such as 10, or a list of whole numbers >= 0; got '10'."),
        ({"measure": "error"}, "measure must be a function of a Result; got 'error'."),
        ({"jobs": 0}, "jobs must be an integer >= 1; got 0."),
        ({"client": "tcp://here:8786"}, "give either jobs or client, not both"),
        ({"client": "tcp://here:8786", "jobs": None}, "client must be a distributed.Client, connected to a cluster;"),
        ({"tol": "small"}, "tol: tol must be a number >= 0; got 'small'."),
        ({"seed": 3}, "seed cannot be in the arguments: give seeds=."),
        ({"max_itr": 3}, "'max_itr' is no argument of sv.solve; did you mean 'max_iter'?"),
    ],
)
def test_arguments_that_are_refused(arguments, sentence):
    with pytest.raises(InvalidInput) as caught:
        play(**{"problems": PROBLEM} | arguments)
    assert str(caught.value).startswith(sentence)


def test_warnings_are_counted_in_the_summary():
    hidden = {"mask": {"small": sv.GaussianMask(1e-6), "large": sv.GaussianMask(1e6)}}
    found = sv.sweep(PROBLEM, hidden, seeds=2, c=0.5, jobs=1)
    assert repr(found).startswith("Sweep(4 points: 4 converged, ")
    last = found.summary().splitlines()[-1]
    assert last.startswith("2 points have warnings; point 0: BadlyHidden: ")
    one = sv.sweep(PROBLEM, seeds=1, c=0.5, jobs=1)
    assert one.first_warning() == ""
    assert one.summary().startswith("Sweep(1 point: 1 converged, 0 did not, 0 failed)")


def test_two_values_that_read_alike_need_names():
    class Quiet(sv.Synchronous):
        def __init__(self, loud=False):
            object.__setattr__(self, "loud", loud)

        def __repr__(self):
            return "Quiet"

    values = [Quiet(), Quiet(loud=True)]
    with pytest.raises(
        InvalidInput, match=r"grid\['schedule'\]: two of its values read 'Quiet' in a table\. Give it a"
    ):
        play(PROBLEM, {"schedule": values})
    found = play(PROBLEM, {"schedule": dict(zip(("a", "b"), values, strict=True))}, c=0.5)
    assert found.columns["schedule"] == ["a", "b"]


def test_what_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(
        MissingExtra, match=r"sv\.sweep needs joblib\. Install it with: pip install 'sottovoce\[sweep\]'"
    ):
        play(PROBLEM)
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    with pytest.raises(MissingExtra, match="threadpoolctl"):
        play(PROBLEM)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"client= needs Dask"):
        play(PROBLEM, jobs=None, client=3)


# What the table says


def test_a_point_is_what_solve_gives():
    found = play({"one": PROBLEM, "drawn": drawn}, {"theta": [0.5, 1.0], "c": [0.5, "auto"]}, [3, 7], tol=1e-7)
    assert len(found) == 16
    for row in found.rows():
        problem = PROBLEM if row["problem"] == "one" else drawn(row["seed"])
        c = "auto" if row["c"] == "auto" else float(row["c"])
        result = sv.solve(problem, theta=row["theta"], c=c, seed=row["seed"], tol=1e-7, engine="reference")
        told = (result.status.value, result.iterations, result.activations, result.messages, result.residual)
        assert tuple(row[name] for name in ("status", "iterations", "activations", "messages", "residual")) == told
        assert (row["used_c"], row["used_theta"]) == (result.c, result.theta)
    keys = [tuple(row[name] for name in ("problem", "theta", "c", "seed")) for row in found.rows()]
    assert keys[:3] == [("one", 0.5, "0.5", 3), ("one", 0.5, "0.5", 7), ("one", 0.5, "auto", 3)]
    assert keys[4::4] == [("one", 1.0, "0.5", 3), ("drawn", 0.5, "0.5", 3), ("drawn", 1.0, "0.5", 3)]
    assert found.columns["point"] == list(range(16))
    assert found.settings == ("theta", "c")


def test_settings_are_numbers_where_all_are_and_readable_text_elsewhere():
    by_edge = np.array([0.5, 0.5, 0.5, 0.5, 0.6])
    grid = [
        {"schedule": [sv.Asynchronous(), sv.EdgeBernoulli(0.7)], "c": [0.5], "max_iter": [2]},
        {"mask": [sv.GaussianMask(1e6)], "c": [by_edge, 1], "max_iter": np.array([3])},
    ]
    columns = play(PROBLEM, grid, tol=0).columns
    assert columns["schedule"] == ["Asynchronous()", "EdgeBernoulli(p=0.7)", None, None]
    assert columns["c"] == ["0.5", "0.5", "[0.5, 0.5, 0.5, 0.5, 0.6]", "1.0"]  # as where it is 1.0
    assert columns["mask"] == [None, None, "GaussianMask(variance=1000000.0)", "GaussianMask(variance=1000000.0)"]
    assert columns["max_iter"] == [2, 2, 3, 3]
    assert columns["iterations"] == [2, 2, 3, 3]
    assert columns["used_c"] == [0.5, 0.5, None, 1.0]
    assert play(PROBLEM, {"theta": [1, 0.5]}, c=0.5).columns["theta"] == [1.0, 0.5]


def test_what_is_measured_becomes_columns():
    def measure(result):
        exact = np.mean([cost.quadratic.q.mean() / -2 for _, cost in result.problem.groups])
        return {"error": np.abs(result.x - exact).max(), "good": result.converged}

    found = play(drawn, {"tol": [1e-3, 1e-9]}, 2, measure=measure, c=0.5)
    loose, tight = found.columns["error"][:2], found.columns["error"][2:]
    assert all(1e-9 < error < 1e-1 for error in loose)
    assert all(error < 1e-7 for error in tight)
    assert found.columns["good"] == [1.0] * 4


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        (3.0, "measure must return a mapping from names to numbers; it returned float."),
        ({"x": [1, 2]}, "measure must return numbers; 'x' is list of 2."),
        ({"messages": 1}, "measure must name its numbers by texts that are no columns yet; it returned 'messages'."),
        ({"c": 1}, "measure must name its numbers by texts that are no columns yet; it returned 'c'."),
        ({1: 1}, "measure must name its numbers by texts that are no columns yet; it returned 1."),
        ({"\udc80": 1}, "measure: the name '\\udc80' has half a character in it. Give another one."),
        ({"x": 10**400}, "int too large to convert to float"),
    ],
)
def test_measures_that_are_none(returned, sentence):
    with pytest.warns(PointsFailed):
        found = play(PROBLEM, {"c": [0.5]}, measure=lambda _: returned)
    assert found.columns["reason"] == [sentence]


# What fails, and what is warned of


def test_a_point_that_fails_is_kept_and_the_others_go_on():
    def shy(seed):
        if seed == 1:
            raise ZeroDivisionError("seed 1 is not to my taste")
        return 3 if seed == 2 else drawn(seed)

    rates = sv.Asynchronous([1.0, 2.0])  # for five nodes
    with pytest.warns(PointsFailed, match="5 of 6 points failed; point 1 failed with ZeroDivisionError: seed 1 is not"):
        found = play(shy, {"schedule": [sv.Synchronous(), rates], "c": [0.5]}, 3)
    assert found.columns["status"] == ["converged", *["failed"] * 5]
    assert found.columns["failure"] == [
        None,
        "ZeroDivisionError",
        "InvalidInput",
        *["InvalidInput", "ZeroDivisionError", "InvalidInput"],
    ]
    assert found.columns["reason"][2] == "the function for problem 'problem' must return a Problem; it returned int."
    assert found.columns["reason"][3] == "rates must have one entry per node, 5; got 2."
    assert found.columns["iterations"][1:] == [None] * 5
    assert (found.failed, found.converged) == (5, 1)
    assert repr(found) == "Sweep(6 points: 1 converged, 0 did not, 5 failed)"
    assert "point 1 failed with ZeroDivisionError: seed 1 is not to my taste" in found.summary()
    assert play(PROBLEM, {"c": [0.5]}).first_failure() == ""


def test_warnings_are_in_the_table_and_nowhere_else():
    """Also where they are errors, as in these tests: the table must not depend on who has set what."""
    boxes = sv.Problem(RING, [sv.Box(-1, 1)] * 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = play({"box": boxes, "mean": PROBLEM}, {"theta": [1.0]}, c=0.5, max_iter=1)
    first, second = found.columns["warnings"]
    assert first.startswith("NotGuaranteed: theta=1 is not guaranteed to converge")
    assert second is None  # not converged, which is its status
    assert found.columns["status"][1] == "max_iter"


def test_other_peoples_warnings_are_passed_on_once():
    def noisy(_):
        warnings.warn("of my own", UserWarning, stacklevel=1)
        return {}

    with pytest.warns(UserWarning, match="of my own") as heard:
        assert play(PROBLEM, None, 3, measure=noisy, c=0.5).columns["warnings"] == [None] * 3
    assert len(heard) == 1


def test_what_the_caller_has_set_does_not_act_on_points(monkeypatch):
    """As it does not on those of other processes."""

    def noisy(result):
        warnings.warn(f"of seed {result.seed}", UserWarning, stacklevel=1)
        return {"infinite": np.float64(1.0) / np.float64(0.0), "small": np.float64(1e-300) ** 2}

    shown = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_: shown.append(str(message)))
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        found = play(PROBLEM, measure=noisy, c=0.5)
    assert found.columns["infinite"] == [np.inf]
    assert shown == ["of seed 0", "divide by zero encountered in scalar divide"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        play(PROBLEM, None, [1], measure=noisy, c=0.5)
    assert len(shown) == 2


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("I say nothing")


@pytest.mark.parametrize(
    ("raised", "failure", "reason"),
    [
        (SystemExit(0), "SystemExit", "0"),
        (ValueError("\udc80"), "ValueError", r"\udc80"),
        (Mute(), "Mute", "a Mute that has no text"),
    ],
)
def test_whatever_a_point_raises_is_in_its_row(raised, failure, reason):
    def raises(seed):
        warnings.warn("\udc80", NotGuaranteed, stacklevel=1)
        raise raised

    with pytest.warns(PointsFailed):
        found = play(raises, c=0.5)
    row = next(found.rows())
    assert (row["failure"], row["reason"], row["warnings"]) == (failure, reason, r"NotGuaranteed: \udc80")


def test_a_long_reason_is_one_line_of_the_summary():
    def raises(_):
        raise ValueError("first\nsecond " + "x" * 1000)

    with pytest.warns(PointsFailed) as heard:
        found = play(raises)
    told = f"point 0 failed with ValueError: first second {'x' * 287}..."
    assert str(heard[0].message) == f"1 of 1 points failed; {told}"
    assert found.summary().endswith(f"\n{told}")
    assert len(found.columns["reason"][0]) == 1013


def test_ctrl_c_ends_a_sweep():
    def raises(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play(raises)


# What is made of it


def test_frames_dicts_and_pages():
    found = play(PROBLEM, {"theta": [0.5, 1.0], "c": [0.5]}, 2)
    frame = found.to_frame()
    assert list(frame.columns) == [
        "point", "problem", "theta", "c", "seed", "status", "iterations", "activations", "messages", "residual",
        "used_c", "used_theta", "warnings", "failure", "reason", "seconds",
    ]  # fmt: skip
    assert frame["theta"].tolist() == [0.5, 0.5, 1.0, 1.0]
    told = found.to_dict()
    assert (told["points"], told["converged"], told["failed"], told["settings"]) == (4, 4, 0, ["theta", "c"])
    assert told["rows"][3]["seed"] == 1
    assert ">1.0</td>" in found._repr_html_()
    many = play(PROBLEM, {"c": np.linspace(0.3, 1.0, 25)}, max_iter=1, tol=0)
    assert "... and 5 more" in many.summary()
    assert "0/1" in many.summary()


def test_the_bar_counts_points(capsys, monkeypatch):
    monkeypatch.setattr("sottovoce.pdmm.progress.APPEAR", -1.0)
    shown = []
    monkeypatch.setattr("sottovoce.pdmm.progress.Terminal.show", lambda _, *what: shown.append(what[:2]))
    monkeypatch.setattr("sottovoce.pdmm.progress.REFRESH", 0.0)
    play(PROBLEM, {"c": [0.5, 1.0]}, 2, progress=True)
    assert shown == [(0, 4), (1, 4), (2, 4), (3, 4)]


# Digests

SCALE, LOCK = 2.0, threading.Lock()


@lru_cache
def cached(x):
    with LOCK:
        return of_scale([x])


class Scaled:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return self.by * x


class Slotted:
    __slots__ = ("by",)

    def __init__(self, by):
        self.by = by


def of_scale(x):
    return [SCALE * y for y in x]


def test_a_digest_is_of_what_a_value_is():
    before = digest(PROBLEM)
    sv.solve(PROBLEM, c=0.5)  # which keeps matrices in it
    assert digest(PROBLEM) == before == digest(sv.averaging(sv.Network.ring(5), [1.0, 2.0, 3.0, 4.0, 10.0]))
    different = [
        PROBLEM, sv.averaging(RING, [1.0, 2.0, 3.0, 4.0, 10.5]), sv.averaging(sv.Network.complete(5), [1, 2, 3, 4, 10]),
        sv.averaging(RING.with_labels(list("abcde")), [1, 2, 3, 4, 10]), sv.GaussianMask(1.0), sv.UniformMask(1.0),
        None, 0, False, 0.0, "", b"", (), [], [[]], {}, {1: 2}, {2: 1}, {1, 2}, range(2), slice(1, 2),
        np.zeros(2), np.zeros((2, 1)), np.zeros(2, np.float32), np.array([None, 1]), sv.Status.CONVERGED,
        sv.Status.DIVERGED, of_scale, partial(of_scale, 1), len, np.sin, int, sys, [1].append, [2].append,
        Scaled(1), Scaled(2), Slotted(1), Slotted(2), np.random.default_rng(1), np.random.default_rng(2),
        PROBLEM.value, lambda x: x, lambda x: x + 1, lambda x, y=1: x,
    ]  # fmt: skip
    assert len({digest(value) for value in different}) == len(different)
    assert digest({1, 2, 3}) == digest({3, 2, 1})
    own: list[object] = []
    own.append(own)
    assert digest(own) != digest([[]])


def test_a_digest_of_a_function_sees_what_it_captures_and_names(monkeypatch):
    def adds(n):
        return lambda x: x + n

    assert digest(adds(1)) == digest(adds(1)) != digest(adds(2))
    before = digest(of_scale)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3.0)
    assert digest(of_scale) != before
    assert digest(cached) != digest(lru_cache(drawn))
    before = digest(cached)
    monkeypatch.setattr(sys.modules[__name__], "LOCK", threading.Lock())  # cannot be compared, and is named only
    assert digest(cached) == before
    monkeypatch.setattr(sys.modules[__name__], "LOCK", 3)
    assert digest(cached) != before
    with pytest.raises(InvalidInput, match="generator cannot be compared with what another call is given"):
        digest(x for x in "ab")


def of_program(text: str, name: str = "asked"):
    """What a program has under a name, as if it were another module."""
    space = {"__name__": "program"}
    exec(text, space)
    return space[name]


@pytest.mark.parametrize(
    "text",
    [
        "class Model:\n def data(self): return WHAT\ndef asked(seed): return Model().data()",
        "class Model:\n scale = WHAT\ndef asked(seed): return Model.scale",
        "class Model:\n @property\n def data(self): return WHAT\ndef asked(seed): return Model().data",
        "class Model:\n @classmethod\n def data(cls): return WHAT\ndef asked(seed): return Model.data()",
        "class Base:\n def data(self): return WHAT\nclass Model(Base): pass\nasked = Model()",
        "class Model:\n def data(self): return self.more()\n def more(self): return WHAT\nasked = Model().data",
        "class Model:\n def __call__(self): return Model, WHAT\nasked = Model()",
        "import sottovoce as sv\nclass Model(sv.masks.Mask):\n def draw(self): return WHAT\nasked = Model(1.0)",
        "class Model(dict):\n def data(self): return WHAT\nasked = Model()",
        "class Model:\n __slots__ = ()\n def data(self): return WHAT\nasked = Model()",
        "import threading\nCONFIG = {'scale': WHAT, 'lock': threading.Lock()}\ndef asked(seed): return CONFIG['scale']",
        "import re\nWORDS = re.compile('WHAT')\ndef asked(seed): return WORDS",
        "import threading\n"
        "def locked(f, lock=threading.Lock()):\n def inner():\n  with lock: return f()\n return inner\n"
        "@locked\ndef helper(): return WHAT\ndef asked(seed): return helper()",
        "class Model:\n def __init__(self): self.lines, self.scale = (_ for _ in ()), WHAT\n"
        "MODEL = Model()\ndef asked(seed): return MODEL.scale",
    ],
)
def test_a_digest_sees_code_of_classes_and_what_lies_beside_a_lock(text):
    one, same, other = (digest(of_program(text.replace("WHAT", what))) for what in ("1", "1", "1000"))
    assert one == same != other


@pytest.mark.parametrize(
    "text",
    [
        "scale = WHAT\ndef asked(seed): return seed.scale",  # an attribute, and no variable
        "from concurrent.futures import ThreadPoolExecutor\n"
        "POOL = ThreadPoolExecutor(WHAT)\ndef asked(seed): return POOL.submit(abs, seed)",  # a whole that has locks
    ],
)
def test_a_digest_is_not_of_what_does_not_count(text):
    assert digest(of_program(text.replace("WHAT", "1"))) == digest(of_program(text.replace("WHAT", "2")))


def test_a_digest_of_a_function_that_has_captured_nothing_yet():
    def outer(late):
        def asked(seed):
            return more + seed

        if late:
            more = 1
        return asked

    assert digest(outer(False)) == digest(outer(False)) != digest(outer(True))


def test_the_order_of_keywords_does_not_count():
    assert digest(partial(drawn, a=1, b=2)) == digest(partial(drawn, b=2, a=1)) != digest(partial(drawn, a=2, b=1))
