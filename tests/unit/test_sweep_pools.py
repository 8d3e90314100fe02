"""Sweeps on processes and on a cluster: the same table whoever plays, also after a kill; and processes that die."""

from __future__ import annotations

import logging
import os
import pickle
import resource
import runpy
import signal
import subprocess
import sys
import time
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import InvalidInput, MissingExtra, NotGuaranteed, PointsFailed, SottovoceError
from sottovoce.sweeps.dask_pool import _play_chunk, on_dask
from sottovoce.sweeps.grid import settings_of
from sottovoce.sweeps.job import Job
from sottovoce.sweeps.pools import _play_shipped, on_processes, opened, pickled

NETWORK = sv.Network.random_geometric(8, seed=1)
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "slurm_sweep.py"
GRID = [
    {"c": ["auto", 0.3], "schedule": [sv.Asynchronous(), sv.EdgeBernoulli(0.8)]},
    {"c": [0.3], "mask": [sv.GaussianMask(1e6)], "theta": [0.5, 1.0]},
]


def told(found: sv.Sweep) -> dict[str, list]:
    """All columns but one."""
    return {name: cells for name, cells in found.columns.items() if name != "seconds"}


def drawn(seed):
    if seed == 4:
        raise ValueError("there are only four of them")
    return sv.averaging(NETWORK, np.random.default_rng(seed).normal(size=8))


def spread(result):
    return {"spread": result.disagreement, "first": result.x[0]}


@pytest.fixture(scope="module")
def alone():
    """In this process: the readable twin of all others."""
    with pytest.warns(PointsFailed, match="6 of 30 points failed"):
        return sv.sweep(drawn, GRID, 5, measure=spread, jobs=1)


@pytest.fixture(scope="module")
def client():
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        yield client


def test_processes_give_the_same_table(alone):
    with pytest.warns(PointsFailed):
        found = sv.sweep(drawn, GRID, 5, measure=spread, jobs=2)
    assert told(found) == told(alone)
    assert found.converged == 24


def test_a_cluster_gives_the_same_table(alone, client, tmp_path):
    out = tmp_path / "sweep.parquet"
    with pytest.warns(PointsFailed):
        found = sv.sweep(drawn, GRID, 5, measure=spread, client=client, out=out)
    assert told(found) == told(alone)
    with pytest.warns(PointsFailed):  # read, and not played
        assert sv.sweep(drawn, GRID, 5, measure=spread, jobs=1, out=out).columns == found.columns


def test_threads_of_one_worker_do_not_mix_their_warnings():
    distributed, ring = pytest.importorskip("distributed"), sv.averaging(sv.Network.ring(4), [1.0, 2.0, 3.0, 6.0])

    def lingers(result):
        time.sleep(0.003)  # so that others begin
        warnings.warn(f"of seed {result.seed}", NotGuaranteed, stacklevel=1)
        return {}

    with (
        distributed.LocalCluster(1, processes=False, threads_per_worker=4, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        found = sv.sweep(ring, None, 40, client=client, measure=lingers, c=0.5, engine="reference")
    assert found.columns["warnings"] == [f"NotGuaranteed: of seed {seed}" for seed in range(40)]


def test_the_program_of_the_guide_runs_with_other_workers(tmp_path, monkeypatch, capsys):
    """A LocalCluster in the place of SLURM's: it takes the same arguments, and its workers come later."""
    distributed, seen = pytest.importorskip("distributed"), {}

    class SLURMCluster(distributed.LocalCluster):
        def __init__(self, *, queue, cores, processes, memory, walltime):
            seen.update(cores=cores, processes=processes)
            super().__init__(n_workers=0, processes=False, threads_per_worker=1, dashboard_address=":0")

        def scale(self, jobs):
            seen.setdefault("jobs", jobs)  # 0 at the end
            super().scale(min(jobs, 1))

    monkeypatch.setitem(sys.modules, "dask_jobqueue", types.SimpleNamespace(SLURMCluster=SLURMCluster))
    monkeypatch.setattr(sys, "argv", ["slurm_sweep.py"])
    monkeypatch.chdir(tmp_path)
    found = runpy.run_path(str(GUIDE), run_name="__main__")["found"]
    assert seen == {"cores": 16, "processes": 16, "jobs": 10}  # a thread a worker
    assert capsys.readouterr().out.startswith("Sweep(60 points: 60 converged, 0 did not, 0 failed)")
    assert found.path.exists()


# A kill in the middle

STUDY = """
import os, time
import numpy as np
import sottovoce as sv
NETWORK = sv.Network.ring(6)
def drawn(seed):
    return sv.averaging(NETWORK, np.random.default_rng(seed).normal(size=6))
def slowly(result):
    time.sleep(float(os.environ.get("SLOWLY", "0")))
    with open("played", "a") as file:
        file.write(f"{result.theta} {result.seed}\\n")
    return {"first": result.x[0]}
def run(jobs, out):
    grid = {"theta": [0.5, 0.75, 1.0]}
    return sv.sweep(drawn, grid, 20, measure=slowly, jobs=jobs, out=out, c=0.3, engine="reference")
if __name__ == "__main__":
    from sottovoce.sweeps import kept
    kept.SOON = kept.SHARE = 0.0
    run(2, "sweep.parquet")
"""


def test_a_sweep_that_is_killed_goes_on(tmp_path, monkeypatch):
    """A real process, ended by SIGKILL, goes on in this one with another number of workers."""
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    Path("study.py").write_text(STUDY)
    process = subprocess.Popen([sys.executable, "study.py"], start_new_session=True, env=os.environ | {"SLOWLY": "0.2"})
    try:
        deadline = time.monotonic() + 60
        while len(list(Path("sweep.parquet.parts").glob("part-*"))) < 5:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.kill()
        assert process.wait() == -signal.SIGKILL
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # its workers, too, which may be in the middle of a point
    before = parquet.read_table("sweep.parquet.parts").to_pydict()
    assert 5 <= len(before["point"]) < 60
    assert not Path("sweep.parquet").exists()
    Path("played").rename("played-before")
    study = runpy.run_path("study.py", run_name="study")
    found = study["run"](1, "sweep.parquet")
    kept = {(theta, seed) for theta, seed in zip(before["theta"], before["seed"], strict=True)}
    after = [(float(theta), int(seed)) for theta, seed in map(str.split, Path("played").read_text().splitlines())]
    everything = {(theta, seed) for theta in (0.5, 0.75, 1.0) for seed in range(20)}
    assert len(after) == len(set(after))
    assert set(after) == everything - kept  # those that are missing, each once, and no other
    assert told(found) == told(study["run"](1, None))
    assert parquet.read_table("sweep.parquet").to_pydict() == found.columns


# Processes that die


def deadly(seed):
    if seed == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return sv.averaging(sv.Network.ring(4), [1.0, 2.0, 3.0, 6.0 + seed])


def check_deadly(found):
    good = sv.sweep(deadly, None, [0, 1, 2, 4, 5], jobs=1, engine="reference", c=0.5)
    assert found.columns["status"] == ["converged"] * 3 + ["failed"] + ["converged"] * 2
    assert [row for row in found.columns["iterations"] if row is not None] == good.columns["iterations"]
    assert found.columns["failure"][3] == "WorkerDied"
    assert found.columns["reason"][3].startswith("the process that played it died (")
    assert "and so did one that played it alone: it needs more memory" in found.columns["reason"][3]


def test_a_point_that_kills_its_process_is_found_and_told():
    with pytest.warns(PointsFailed, match="1 of 6 points failed; point 3 failed with WorkerDied"):
        found = sv.sweep(deadly, None, 6, jobs=2, engine="reference", c=0.5)
    check_deadly(found)
    assert "(SIGKILL)" in found.columns["reason"][3]


def job_of(seeds, start=0):
    options = {"engine": "reference", "c": 0.5}
    return Job({"problem": deadly}, settings_of(None, {}), tuple(range(start, start + seeds)), options, None)


def test_no_point_comes_twice_when_a_process_dies():
    assert sorted(row["point"] for row in on_processes(job_of(30), range(30), 2)) == list(range(30))


def test_a_point_that_kills_its_worker_is_found_and_told(client):
    with pytest.warns(PointsFailed, match="1 of 6 points failed; point 3 failed with WorkerDied"):
        found = sv.sweep(deadly, None, 6, client=client, engine="reference", c=0.5)
    check_deadly(found)


def test_what_cannot_be_sent_is_refused():
    class Tied:
        def __call__(self, seed):
            return drawn(seed)

        def __reduce__(self):
            raise TypeError("I stay here")

    with pytest.raises(
        InvalidInput, match=r"cannot be sent to other processes \(TypeError: I stay here\)\. Use jobs=1"
    ):
        sv.sweep(Tied(), None, 2, jobs=2)


def unpickled():
    raise ModuleNotFoundError("No module named 'study'")


class Elsewhere:
    """A function of a module that the other process cannot import."""

    def __call__(self, seed):
        return drawn(seed)

    def __reduce__(self):
        return unpickled, ()


def test_what_cannot_be_opened_ends_the_sweep(client):
    sentence = r"cannot open its problems \(ModuleNotFoundError: No module named 'study'\)\. Can it import what this"
    for who in ({"jobs": 2}, {"client": client}):
        with pytest.raises(SottovoceError, match=sentence):
            sv.sweep(Elsewhere(), None, 2, **who)


def test_another_version_on_a_worker_is_refused():
    sentence = r"a worker has sottovoce .*, and the program that calls it 0\.0\.9, which may give other numbers\."
    with pytest.raises(SottovoceError, match=sentence):
        opened(b"0.0.9\n")


def test_a_cluster_that_is_gone_is_a_sentence(client):
    other = type(client)(client.scheduler.address)
    rows = on_dask(job_of(300, start=4), range(300), other)
    next(rows)
    other.close()
    for ends in (lambda: list(rows), lambda: sv.sweep(deadly, None, 2, client=other)):
        with pytest.raises(SottovoceError, match=r"the cluster dropped a part of the sweep \(.*and the client open\?"):
            ends()


def until(happens):
    deadline = time.monotonic() + 60
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_lay_on_workers_that_have_left_is_played_again(client):
    others, rows = set(client.futures), on_dask(job_of(20, start=4), range(20), client)

    def statuses():
        return {each.status for key, each in list(client.futures.items()) if key not in others}

    found = [next(rows)]
    until(lambda: statuses() == {"finished"})
    for worker in client.run(os.getpid).values():
        os.kill(worker, signal.SIGKILL)
    until(lambda: "lost" in statuses())
    assert sorted(row["point"] for row in found + list(rows)) == list(range(20))


def test_threads_of_linear_algebra_are_limited_by_who_plays_alone(monkeypatch):
    """A limit is the process's: one that began outside the turn would end in the middle of another's."""
    threadpoolctl, seen = pytest.importorskip("threadpoolctl"), []

    def threads(_=None):
        seen.append(max(each["num_threads"] for each in threadpoolctl.threadpool_info() if each["user_api"] == "blas"))
        return {}

    class Turn:
        def __enter__(self):
            threads()

        def __exit__(self, *_):
            threads()

    monkeypatch.setattr("sottovoce.sweeps.play._one_at_a_time", Turn())
    job = Job({"problem": deadly}, settings_of(None, {}), (0,), {"engine": "reference", "c": 0.5}, threads)
    with threadpoolctl.threadpool_limits(2, "blas"):
        _play_chunk(job, [0])
    assert seen == [2, 1, 2]


# Where no processes can be started


def sweeps_here(_):
    with pytest.raises(InvalidInput, match=r"processes cannot be started here: .* Use jobs=1\."):
        sv.sweep(deadly, None, 2, jobs=2)
    return len(sv.sweep(deadly, None, 2, jobs=1, c=0.5, engine="reference"))


def test_a_worker_of_another_program_starts_no_processes():
    joblib = pytest.importorskip("joblib")
    assert joblib.Parallel(2, prefer="threads")(joblib.delayed(sweeps_here)(k) for k in range(2)) == [2, 2]


def test_this_process_is_never_ended(tmp_path):
    """Whatever joblib makes of a sweep: it is no worker whose parent is gone."""
    path = tmp_path / "job"
    path.write_bytes(pickled(job_of(1)))
    assert _play_shipped(str(path), 0, os.getpid())["status"] == "converged"


def test_a_temporary_folder_that_is_full_is_a_sentence():
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, limits[1]))
    sentence = r"cannot be written to the temporary folder /.*: File too large\. Set TMPDIR to another one\."
    try:
        with pytest.raises(InvalidInput, match=sentence):
            sv.sweep(deadly, None, 2, jobs=2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_what_is_missing_elsewhere_is_told_here():
    error = pickle.loads(pickle.dumps(MissingExtra("sv.sweep", "threadpoolctl", "sweep")))
    assert str(error) == "sv.sweep needs threadpoolctl. Install it with: pip install 'sottovoce[sweep]'"
