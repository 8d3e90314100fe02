"""A sweep whose workers are jobs of SLURM; with --local, two processes here."""

import sys

import numpy as np
from distributed import Client, LocalCluster

import sottovoce as sv


def drawn(seed):
    rng = np.random.default_rng(seed)
    return sv.averaging(sv.Network.random_geometric(50, seed=seed), rng.normal(size=50))


def workers():
    if "--local" in sys.argv:
        return LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    from dask_jobqueue import SLURMCluster

    # A job of 16 processes with a thread each. Names and sizes are those of your site.
    cluster = SLURMCluster(queue="normal", cores=16, processes=16, memory="32GB", walltime="04:00:00")
    cluster.scale(jobs=10)  # or cluster.adapt(maximum_jobs=10)
    return cluster


if __name__ == "__main__":
    with workers() as cluster, Client(cluster) as client:
        grid = {"theta": [0.5, 0.8, 1.0], "schedule": [sv.Synchronous(), sv.EdgeBernoulli(0.7)]}
        found = sv.sweep(drawn, grid, seeds=10, c=0.2, client=client, out="sweep.parquet")
    print(found.summary())
