"""The figures, recomputed from their own JSON by a dense program that shares no code with the package."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sottovoce import paper
from sottovoce.paper.reproduce import reproduce


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("paper")
    reproduce(out, seed=3, quick=True)
    return out


def load(folder, name):
    return json.loads((folder / f"{name}.json").read_text())


class Dense:
    """theory: The iteration, with full matrices, scalar averaging ``f_i = (x - s_i)^2``."""

    def __init__(self, data):
        edges = data["edges"]
        self.n = 1 + max(max(edge) for edge in edges)
        self.pairs = sorted([(i, j) for i, j in edges] + [(j, i) for i, j in edges])
        row = {pair: r for r, pair in enumerate(self.pairs)}
        size = len(self.pairs)
        self.C, self.P = np.zeros((size, self.n)), np.zeros((size, size))
        for (i, j), r in row.items():
            self.C[r, i] = 1.0 if i > j else -1.0
            self.P[r, row[j, i]] = 1.0
        self.row, self.c, self.sequence = row, data["c"], data["sequence"]
        self.degree = np.abs(self.C).sum(axis=0)
        both = np.hstack([self.C, self.P @ self.C])
        self.Psi = both @ np.linalg.pinv(both)
        self.X = -self.C.T / (2 + self.c * self.degree)[:, None]  # dx/dz
        self.Xs = np.diag(2 / (2 + self.c * self.degree))  # dx/ds

    def writes(self, i):
        return np.array([float(writer == i) for _, writer in self.pairs])

    def run(self, theta, iterations, synchronous=False):
        """Yield ``(x_z, x_s, M, L)`` with ``z = M z0 + L s`` and ``x = x_z z0 + x_s s`` after each iteration."""
        size = len(self.pairs)
        M, L = np.eye(size), np.zeros((size, self.n))
        x_z, x_s = np.zeros((self.n, size)), np.zeros((self.n, self.n))
        yield x_z.copy(), x_s.copy(), M, L
        for k in range(iterations):
            new_z, new_s = self.X @ M, self.X @ L + self.Xs
            U = np.ones(size) if synchronous else self.writes(self.sequence[k])
            awake = np.ones(self.n) if synchronous else np.eye(self.n)[self.sequence[k]]
            x_z, x_s = (np.where(awake[:, None] > 0, new, old) for new, old in ((new_z, x_z), (new_s, x_s)))
            y_z, y_s = self.P @ (M + 2 * self.c * self.C @ new_z), self.P @ (L + 2 * self.c * self.C @ new_s)
            step = theta * np.diag(U)
            M, L = M + step @ (y_z - M), L + step @ (y_s - L)
            yield x_z, x_s, M, L


def mean_variance(matrix, sigma2):
    return sigma2 * np.mean(np.sum(matrix**2, axis=1))


def test_figure_1(folder):
    data = load(folder, "figure1")
    dense, s, sigma2 = Dense(data), np.array(data["s"]), data["sigma2"]
    assert sigma2 == 1e8
    assert list(data["curves"]) == ["1.0", "0.8", "0.5"]
    for theta, curves in data["curves"].items():
        expected = {"x_error": [], "var_z_psi": [], "var_z_perp": []}
        for x_z, x_s, M, _ in dense.run(float(theta), data["iterations"][-1]):
            expected["x_error"].append(np.mean((x_s @ s - s.mean()) ** 2) + mean_variance(x_z, sigma2))
            expected["var_z_psi"].append(mean_variance(dense.Psi @ M, sigma2))
            expected["var_z_perp"].append(mean_variance(M - dense.Psi @ M, sigma2))
        for name, values in expected.items():
            # Double precision follows the decay to 1e-8 only where it is above eps^2 times where it began.
            np.testing.assert_allclose(curves[name]["exact"], values, rtol=1e-8, atol=1e-24 * max(values))


def test_figure_2(folder):
    data = load(folder, "figure2")
    dense, sigma2, k = Dense(data), data["sigma2"], np.array(data["iterations"])
    perp = np.eye(len(dense.P)) - dense.Psi
    for theta, curves in data["curves"].items():
        for name in ("async", "sync"):
            runs = dense.run(float(theta), k[-1], synchronous=name == "sync")
            values = [mean_variance(perp @ M, sigma2) for _, _, M, _ in runs]
            np.testing.assert_allclose(curves[name]["exact"], values, rtol=1e-8)
        rho = abs(1 - 2 * float(theta) / dense.n)
        swap = dense.P
        eye = np.eye(len(swap))
        bound = [np.mean(np.diag(perp @ (sigma2 / 2 * ((eye + swap) + rho ** (2 * t) * (eye - swap))))) for t in k]
        np.testing.assert_allclose(curves["bound"], bound, rtol=1e-8)
        Sigma, expected = sigma2 * eye, []
        maps = [np.diag(dense.writes(i)) for i in range(dense.n)]
        whole = swap @ (eye + 2 * dense.c * dense.C @ dense.X)
        for _ in k:
            expected.append(np.mean(np.diag(perp @ Sigma @ perp)))
            steps = [eye + float(theta) * U @ (whole - eye) for U in maps]
            Sigma = np.mean([T @ Sigma @ T.T for T in steps], axis=0)
        np.testing.assert_allclose(curves["expected"], expected, rtol=1e-8)
        assert (np.array(curves["expected"]) >= np.array(bound) * (1 - 1e-12)).all()


def test_figure_3(folder):
    data = load(folder, "figure3")
    dense, i, theta = Dense(data), data["node"], data["theta"]
    h = dense.row[i, data["honest_neighbour"]]
    for sigma2, curves in data["curves"].items():
        for name in ("async", "sync"):
            nats = []
            for _, _, M, L in dense.run(theta, data["iterations"][-1], synchronous=name == "sync"):
                # eq. 8: Y = 2 (x_i(k+1) - s_i) + A_ij z_{i|j}(k), with x_i(k+1) the argmin at z(k).
                y_z = 2 * dense.X[i] @ M + dense.C[h, i] * M[h]
                y_s = 2 * (dense.X[i] @ L + dense.Xs[i] - np.eye(dense.n)[i]) + dense.C[h, i] * L[h]
                variance = float(sigma2) * y_z @ y_z + y_s @ y_s
                nats.append(-0.5 * np.log(1 - y_s[i] ** 2 / variance))
            np.testing.assert_allclose(curves[name]["nats"], nats, rtol=1e-8)
            np.testing.assert_allclose(curves[name]["normalised"], 1 - np.exp(-2 * np.array(nats)), rtol=1e-8)


def test_monte_carlo_lies_within_its_error_bars(folder):
    for name in ("figure1", "figure2"):
        for curves in load(folder, name)["curves"].values():
            for curve in curves.values():
                if isinstance(curve, dict):
                    exact, sampled, error = (np.array(curve[key]) for key in ("exact", "monte_carlo", "stderr"))
                    off = np.abs(sampled - exact)[error > 0] / error[error > 0]
                    # Points of one curve share their 30 draws, so one unlucky draw shifts them all: 5 standard errors.
                    assert off.max() < 5


def test_every_file_is_there_and_the_pictures_are_pictures(folder):
    for name in ("figure1", "figure2", "figure3"):
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        data = load(folder, name)
        assert {"edges", "positions", "s", "c", "sigma2", "sequence", "iterations", "curves"} <= data.keys()
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_claims(folder):
    found = {claim["claim"]: claim for claim in json.loads((folder / "claims.json").read_text())}
    verdicts = [claim["verdict"] for claim in found.values()]
    assert len(found) == 13
    assert set(verdicts) == {"holds", "holds with a condition", "does not hold"}  # none undecided
    # What the theory and the errata say to expect, decided here by measurement on a graph of its own.
    expected = {
        "x(k) converges": "holds",
        "the variance of Z_Psi": "holds",
        "the variance of Z_perp remains": "holds",
        "the variance of Z_perp is higher": "holds with a condition",
        "the larger the variance": "holds",
        "asynchronous schemes reveal less than synchronous ones during": "holds with a condition",
        "the convergence rate decreases": "does not hold",
        "the algorithm's accuracy": "holds with a condition",
        "every two synchronous updates": "holds with a condition",
        "synchronous: E[Z_perp": "holds",
        "asynchronous: the variance of Z_perp is at least": "holds",
        "the bound guarantees": "holds with a condition",
        "asynchronous schemes reveal less than synchronous ones, to whoever": "does not hold",
    }
    for start, verdict in expected.items():
        assert [claim["verdict"] for text, claim in found.items() if text.startswith(start)] == [verdict]
    assert {claim["metric"] for claim in found.values()} == {"convergence", "variance", "snapshot", "transcript"}


def test_slow_graphs_get_the_same_verdicts():
    """Seed 6 is sparse, and takes ten times as long: long enough a run decides."""
    found = paper.claims(paper.Experiment.paper(6))
    assert [claim.verdict for claim in found[:2]] == ["holds", "does not hold"]
    assert "undecided" not in {claim.verdict for claim in found}
    json.dumps([claim.to_dict() for claim in found], allow_nan=False)


def test_claims_snapshots_are_snapshot_information():
    import sottovoce as sv
    from sottovoce.paper.experiments import INFORMATION_ITERATIONS

    experiment = paper.Experiment.paper(2)
    bench = __import__("sys").modules["sottovoce.paper.claims"].Bench(experiment)
    network = experiment.problem.network
    h = int(network.indptr[4]) + 1
    one = sv.privacy.research.snapshot_information(
        experiment.problem, sv.Synchronous(), node=4, honest=[int(network.indices[h])], theta=0.8, c=experiment.c,
        variance=0.5, iterations=INFORMATION_ITERATIONS,
    )  # fmt: skip
    np.testing.assert_allclose(bench.snapshots(sv.Synchronous(), 0.8, 0.5)[:, h], one.nats, rtol=1e-10)


def test_one_thing_varied():
    """Other graphs, costs, schedules and thetas through the same functions."""
    import sottovoce as sv
    import sottovoce.errors

    network = sv.Network.ring(7)
    rng = np.random.default_rng(0)
    data = [(rng.normal(size=(5, 2)), rng.normal(size=5)) for _ in range(7)]
    regression = paper.Experiment(sv.least_squares(network, data), thetas=(0.9,), draws=20)
    one = paper.figure1(regression, iterations=30)
    assert len(one.data["curves"]["0.9"]["x_error"]["exact"]) == 31
    assert one.data["s"] is None
    median = paper.Experiment(sv.Problem(network, sv.Huber.many(rng.normal(size=7))), thetas=(0.5,), draws=20)
    assert paper.figure1(median, iterations=10).data["curves"]["0.5"]["var_z_psi"]["exact"] is None
    loss = paper.figure2(schedule=sv.EdgeBernoulli(0.7), thetas=(1.0,), iterations=20, draws=20)
    assert loss.data["mu"] == 0.7
    assert loss.data["sequence"] is None
    assert min(loss.data["curves"]["1.0"]["expected"]) < 0.999 * loss.data["curves"]["1.0"]["sync"]["exact"][-1]
    three = paper.figure3(node=2, sigma2=(4.0,), iterations=10, draws=20)
    assert list(three.data["curves"]) == ["4.0"]
    with pytest.raises(sv.errors.Unsupported, match="quadratic"):
        paper.figure3(median)
    with pytest.raises(sv.errors.Unsupported, match="uniform asynchronous"):
        paper.claims(median)
    with pytest.raises(sv.errors.Unsupported, match="tree"):
        paper.claims(paper.Experiment(sv.averaging(sv.Network.star(5), np.arange(5.0))))
    for wrong in (
        {"draws": 1},
        {"seed": -1},
        {"thetas": (1.5,)},
        {"thetas": ()},
        {"schedule": "async"},
        {"iterations": 0},
    ):
        with pytest.raises(sv.errors.InvalidInput):
            paper.figure1(**wrong)


def test_the_command_line(tmp_path, capsys):
    from typer.testing import CliRunner

    from sottovoce.cli.app import app

    (tmp_path / "file").write_text("")
    refused = CliRunner().invoke(app, ["paper", "--out", str(tmp_path / "file")])
    assert refused.exit_code == 2
    done = CliRunner().invoke(app, ["paper", "--quick", "--json", "--out", str(tmp_path / "[red]x")])
    assert done.exit_code == 0
    assert len(json.loads(done.stdout)["claims"]) == 13
    assert len(list((tmp_path / "[red]x").iterdir())) == 10
