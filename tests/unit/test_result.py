"""Results that are good to hold: the answer, by name; a short repr; frames; files and back."""

from __future__ import annotations

import json
import pickle
from dataclasses import fields

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import InvalidFile, InvalidInput, MissingExtra, Unsupported
from sottovoce.pdmm.transcript import MessageTable

NAMES = ["Ada", "Bob", "Cid", "Eve"]


@pytest.fixture
def named():
    return sv.Network.ring(4).with_labels(NAMES)


def constrained():
    network = sv.Network.from_edges(2, [(0, 1)]).with_constraints({(0, 1): np.ones((1, 2)), (1, 0): [[-1.0]]})
    return sv.Problem(network, [sv.Averaging([1.0, 2.0]), sv.Averaging(5.0)])


# The answer


def test_the_answer_by_name_and_the_agreed_one(named):
    problem = sv.averaging(named, [[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [6.0, 4.0]])
    result = sv.solve(problem, c=0.5)
    assert result.converged
    assert result.problem is problem
    for i, name in enumerate(NAMES):
        np.testing.assert_array_equal(result[name], result.x[i])
        np.testing.assert_array_equal(result[i], result.x[i])
    np.testing.assert_array_equal(result.solution, result.x.mean(axis=0))
    np.testing.assert_allclose(result.solution, [3.0, 1.0], atol=1e-8)
    assert result.disagreement == (result.x.max(axis=0) - result.x.min(axis=0)).max() > 0
    with pytest.raises(InvalidInput, match="'Zoe' is no node of this network; they are Ada, Bob, Cid, Eve"):
        result["Zoe"]
    with pytest.raises(InvalidInput, match="there is no node 4"):
        result[4]
    with pytest.raises(TypeError, match="not iterable"):
        list(result)


def test_a_batch_keeps_its_draws(named):
    problem = sv.averaging(named, [1.0, 2.0, 3.0, 6.0])
    result = sv.solve(problem, c=0.5, mask=sv.GaussianMask(1.0), seed=0, batch=3, tol=0, max_iter=5)
    np.testing.assert_array_equal(result["Bob"], result.x[:, 1])
    np.testing.assert_array_equal(result.solution, result.x.mean(axis=1))
    frame = result.to_frame()
    assert frame.shape == (12, 3)
    assert frame["draw"].tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert frame["node"].tolist() == NAMES * 3
    assert frame["x"].tolist() == result.x.ravel().tolist()
    assert repr(result) == "Result(max_iter after 5 iterations, 4 nodes, 3 draws, residual inf)".replace(
        "inf", f"{result.residual:.1e}"
    )
    assert "<table>" in result._repr_html_()


def test_general_constraints_have_no_one_answer():
    result = sv.solve(constrained(), theta=0.5)
    np.testing.assert_array_equal(result[1], result.x[1])
    for what in ("solution", "disagreement"):
        with pytest.raises(Unsupported, match=f"there is no {what}: under general edge constraints"):
            getattr(result, what)
    frame = result.to_frame()
    assert list(frame.columns) == ["node", "x0", "x1"]
    assert np.isnan(frame["x1"][1])
    assert "disagreement" not in result._repr_html_()


def test_a_modular_run_answers_for_the_problem_that_was_given(named):
    problem = sv.averaging(named, [1, 2, 3, 8])
    result = sv.solve(problem, mask=sv.ModularMask(), seed=1)
    assert result.problem is problem
    assert (result["Eve"], result.solution, result.disagreement) == (3.5, 3.5, 0.0)


# For people


def test_short_reprs_and_html_without_arrays_or_markup(named):
    network = named.with_labels(["<script>", "Bob", "Cid", "Eve"])
    result = sv.solve(sv.averaging(network, np.arange(400.0).reshape(4, 100)), c=0.5)
    state = next(sv.iterate(sv.averaging(named, [1, 2, 3, 6]), c=0.5))
    assert len(repr(result)) < 80 > len(repr(state))
    assert "array" not in repr(result) + repr(state)
    html = result._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    for fact in result._facts().values():
        assert fact in result.summary()
        assert fact in html
    many = sv.solve(sv.averaging(sv.Network.ring(500), np.arange(500.0)), c=0.5, tol=0, max_iter=1)
    assert len(many._repr_html_()) < 4000


def test_networks_and_problems_in_notebooks(named):
    html = named.with_labels(["<i>", "Bob", "Cid", "Eve"])._repr_html_()
    for fact in ("4", "2 to 2 each", "&lt;i&gt;, Bob, Cid, Eve", "x_i = x_j"):
        assert fact in html
    assert "<i>" not in html
    problem = sv.averaging(named, [10.25, 20.5, 30.75, 60.125])._repr_html_()
    assert "Averaging" in problem
    assert "10.25" not in problem  # no data
    assert "dimension" in problem
    two = constrained()._repr_html_()
    assert "1 to 2" in two
    assert "general constraints" in two
    assert len(sv.Network.ring(10_000).with_labels([f"party {i}" for i in range(10_000)])._repr_html_()) < 2000


def test_plots_are_figures_that_are_saved_where_asked(tmp_path, named):
    figure = pytest.importorskip("matplotlib.figure")
    problem = sv.averaging(named, [[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [6.0, 4.0]])
    play = {"c": 0.5, "tol": 0, "max_iter": 5}
    recorded = sv.solve(problem, record=[sv.Residual()], **play)
    recorded.save(tmp_path / "run.npz")
    batch = sv.solve(problem, mask=sv.GaussianMask(1.0), seed=0, batch=2, **play)
    for thing, panels in (
        (named, 1), (recorded, 4), (sv.Result.load(tmp_path / "run.npz"), 4), (sv.solve(problem, **play), 4),
        (batch, 1), (sv.solve(constrained(), theta=0.5), 3),
    ):  # fmt: skip
        drawn = thing.plot()
        assert isinstance(drawn, figure.Figure)
        assert len(drawn.axes) == panels
    written = recorded.plot(tmp_path / "run.svg")
    assert "Ada" in (tmp_path / "run.svg").read_text()
    assert isinstance(written, figure.Figure)
    with pytest.raises(InvalidInput, match="must end in"):
        named.plot(tmp_path / "run.txt")


def test_without_matplotlib_a_sentence(named, monkeypatch):
    monkeypatch.setattr("sottovoce.network.pictures.importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"sottovoce\[plot\]"):
        named.plot()


# Frames


def test_frames_by_name_and_the_history(named):
    result = sv.solve(
        sv.averaging(named, [1, 2, 3, 6]), c=0.5, tol=0, max_iter=4, record=[sv.Residual(), Answers()], record_every=2
    )
    frame = result.to_frame()
    assert frame["node"].tolist() == NAMES
    assert frame["x"].tolist() == result.x.tolist()
    history = result.history_frame()
    assert list(history.columns) == ["iteration", "residual", *(f"answers{i}" for i in range(4))]
    assert history["answers2"].tolist() == result.history["answers"][:, 2].tolist()
    assert sv.solve(sv.averaging(sv.Network.ring(3), [1, 2, 6]), c=0.5).to_frame()["node"].tolist() == [0, 1, 2]


def test_variables_that_have_names(tmp_path, named):
    pandas = pytest.importorskip("pandas")
    frames = [pandas.DataFrame({"age": [float(i)], "k$W$h": [2.0 * i]}) for i in range(4)]
    problem = sv.averaging(named, frames)
    result = sv.solve(problem, c=0.5)
    result.save(tmp_path / "run.json")
    for held in (result, sv.Result.load(tmp_path / "run.json")):
        assert list(held.to_frame().columns) == ["node", "age", "k$W$h"]
        assert "age" in held._repr_html_()
        pytest.importorskip("matplotlib")
        assert [axes.get_xlabel() for axes in held.plot().axes[:2]] == ["age", "k$W$h"]
    assert "age, k$W$h" in problem._repr_html_()


def test_other_libraries_where_pandas_is_missing(named, monkeypatch):
    import importlib.util

    result = sv.solve(sv.averaging(named, [1, 2, 3, 6]), c=0.5)
    missing = {"pandas"}
    found = importlib.util.find_spec
    monkeypatch.setattr("sottovoce.files.frames.find_spec", lambda name: None if name in missing else found(name))
    assert type(result.to_frame()).__module__.startswith("polars")
    missing |= {"polars"}
    assert result.to_frame().column("node").to_pylist() == NAMES
    missing |= {"pyarrow"}
    with pytest.raises(Unsupported, match="needs pandas, polars or pyarrow"):
        result.to_frame()


class Answers(sv.recorders.Recorder):
    name = "answers"

    def __call__(self, run):
        return run.x


# Files


def kinds():
    """Results of every shape."""
    ring, placed = sv.Network.ring(4), sv.Network.random_geometric(5, seed=1)
    grid = ring.with_labels([(0, 0), (0, 1), "b", 7])
    scalars = [1.0, 2.0, 3.0, 6.0]
    masked = {"mask": sv.GaussianMask(1e6), "seed": 3}
    play = {"c": 0.3, "tol": 0, "max_iter": 5}
    return {
        "names": sv.solve(sv.averaging(grid, scalars), record=[sv.Residual(), Answers(), sv.Messages()], **play),
        "vectors": sv.solve(sv.averaging(ring, np.outer(scalars, [1, -0.0, 1e-300])), c=0.5, **masked),
        "transcript": sv.solve(sv.averaging(grid, scalars), record=[sv.Transcript(), sv.Transcript("b")], **play),
        "places": sv.solve(sv.averaging(placed, np.arange(5.0)), **play),
        "batch": sv.solve(sv.averaging(ring, scalars), batch=3, **masked, **play),
        "ragged": sv.solve(constrained(), theta=0.5),
        "ragged batch": sv.solve(constrained(), theta=0.5, batch=2, **masked, **play),
        "not a number": sv.solve(sv.averaging(ring, [1, 2, 3, 6]), mask=sv.ModularMask(), **play),
        "c by edge": sv.solve(sv.averaging(ring, scalars), c=[0.1, 0.2, 0.3, 1 / 3]),
        "nobody looked": sv.solve(sv.averaging(ring, scalars), schedule=sv.Trace([]), c=0.3, tol=0),
    }


def same(a, b):
    """To the bit, and of one type."""
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and same(list(a.values()), list(b.values()))
    if isinstance(a, MessageTable):
        return all(same(getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    if isinstance(a, np.ndarray | np.generic):
        return (a.dtype, a.shape) == (b.dtype, b.shape) and a.tobytes() == b.tobytes()
    return type(a) is type(b) and (a == b or a is b)


def same_network(a, b):
    assert (a.n, a.labels) == (b.n, b.labels)
    assert same(a.half_edges, b.half_edges)
    assert same(a.positions, b.positions)
    assert (a.constraints is None) == (b.constraints is None)
    if a.constraints is not None:
        assert same(a.constraints.A, b.constraints.A)
        assert same(a.constraints.b, b.constraints.b)


@pytest.mark.parametrize("suffix", [".npz", ".json", ".NPZ"])
def test_what_was_saved_comes_back_bit_for_bit(tmp_path, suffix):
    for name, result in kinds().items():
        path = tmp_path / f"run{suffix}"
        result.save(path)
        again = sv.Result.load(path)
        assert again.problem is None
        for field in fields(result):
            if field.name not in ("problem", "network"):
                assert same(getattr(result, field.name), getattr(again, field.name)), (name, field.name)
        same_network(result.network, again.network)
        assert repr(again) == repr(result)
        first = 0 if result.network.labels is None else (0, 0)
        assert same(again[first], result[first])
        assert [path.name for path in tmp_path.iterdir()] == [f"run{suffix}"]
        path.unlink()
    if suffix == ".json":
        result.save(path)
        json.loads(path.read_text(), parse_constant=pytest.fail)  # no NaN, which JSON does not have


def test_a_loaded_run_goes_on(tmp_path, named):
    problem = sv.averaging(named, [1, 2, 3, 6])
    sv.solve(problem, c=0.3, tol=0, max_iter=50).save(tmp_path / "half.npz")
    half = sv.Result.load(str(tmp_path / "half.npz"))
    rest = sv.solve(problem, z0=half.z, c=half.c, theta=half.theta, tol=0, max_iter=50)
    whole = sv.solve(problem, c=0.3, tol=0, max_iter=100)
    np.testing.assert_allclose(rest.z, whole.z, atol=1e-13)


def test_a_damaged_file_is_one_sentence(tmp_path):
    """Cut anywhere, or with any byte changed, a file is refused, or it is the same result."""
    result = kinds()["names"]
    for suffix, stride in ((".npz", 37), (".json", 41)):
        path = tmp_path / f"run{suffix}"
        result.save(path)
        whole = path.read_bytes()
        refused = 0
        for at in range(0, len(whole), stride):
            for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]):
                path.write_bytes(damaged)
                try:
                    sv.Result.load(path)
                except InvalidFile:  # and nothing else
                    refused += 1
        assert refused > 0.5 * 2 * len(range(0, len(whole), stride))


def test_files_that_are_no_results(tmp_path, named):
    result = sv.solve(sv.averaging(named, [1, 2, 3, 6]), c=0.5)
    path = tmp_path / "run.json"
    for path, sentence in (
        (tmp_path / "run.txt", "must end in .npz or .json"),
        (tmp_path / "none.npz", "does not exist"),
        (tmp_path / "folder.npz", "no sottovoce result"),
    ):
        if path.stem == "folder":
            path.mkdir()
        with pytest.raises(InvalidFile, match=sentence):
            sv.Result.load(path)
    other = '{"format": "x", "version": 1, "header": {}, "arrays": {}}'
    for text in ("", "[]", "null", '{"format": "sottovoce result"}', other, "[" * 9999):
        (tmp_path / "run.json").write_text(text)
        with pytest.raises(InvalidFile, match="damaged, or something else"):
            sv.Result.load(tmp_path / "run.json")
    result.save(tmp_path / "run.json")
    about = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps(about | {"version": 2}))
    with pytest.raises(InvalidFile, match="another version: it is a sottovoce result in format 2, not 1"):
        sv.Result.load(tmp_path / "run.json")
    np.savez(tmp_path / "other.npz", header=np.array([object()], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidFile, match="damaged, or something else"):
        sv.Result.load(tmp_path / "other.npz")


def test_what_cannot_be_saved_is_refused_and_leaves_the_old_file(tmp_path, named):
    class Odd(sv.recorders.Recorder):
        name = "odd"

        def __call__(self, run):
            return 1j

    problem = sv.averaging(named, [1, 2, 3, 6])
    path = tmp_path / "run.npz"
    sv.solve(problem, c=0.5).save(path)
    before = path.read_bytes()
    odd = sv.solve(problem, c=0.5, record=[Odd()])
    with pytest.raises(InvalidInput, match=r"history odd .*complex128"):
        odd.save(path)
    assert path.read_bytes() == before
    for wrong, sentence in (("run.pkl", "must end in .npz or .json"), ("no/run.npz", "does not exist")):
        with pytest.raises(InvalidInput, match=sentence):
            odd.save(tmp_path / wrong)


def test_a_result_goes_to_another_process_without_its_problem(named):
    costs = [sv.Custom(lambda v, t, s=s: (v + 2 * t * s) / (1 + 2 * t), lambda x: 0.0) for s in (1.0, 2.0, 3.0, 6.0)]
    result = sv.solve(sv.Problem(named, costs), c=0.5, theta=0.5)
    again = pickle.loads(pickle.dumps(result))  # whose costs could not
    assert again.problem is None
    assert same(again["Eve"], result["Eve"])
    assert result.problem is not None


def test_nothing_is_pickled(tmp_path):
    for result in kinds().values():
        result.save(tmp_path / "run.npz")
        with np.load(tmp_path / "run.npz", allow_pickle=False) as members:
            assert all(members[name].dtype.kind in "biufU" for name in members.files)
