"""Speed, measured: ``python -m benchmarks``. Every figure is a ratio within one run, beside the bar it has to clear."""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # before NumPy is loaded: one thread
    os.environ.setdefault(_name, "1")
