"""The GPU: CuPy, the compiled kernels, and sentences for what is not there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import MissingExtra, Unsupported

THREADS = 256  # of a block
AS_C: dict[type, Callable[[Any], Any]] = {int: np.int64, float: np.float64, type(None): lambda _: np.uintp(0)}


class Device:
    """CuPy as ``xp``, and the kernels of ``kernels.cu`` by their names."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        source = files(__package__).joinpath("kernels.cu").read_text(encoding="utf-8")
        # Contracted products and sums would round once where the CPU rounds twice.
        self._module = xp.RawModule(code=source, options=("--std=c++14", "--fmad=false"))
        self._kernels: dict[str, Any] = {}
        properties = xp.cuda.runtime.getDeviceProperties(xp.cuda.Device().id)
        self.name = properties["name"].decode()
        self.at_once = properties["multiProcessorCount"] * properties["maxThreadsPerMultiProcessor"]

    def launch(self, name: str, threads: int, *args: Any) -> None:
        """``threads`` threads of a kernel, on the current stream. None is a null pointer."""
        if threads:
            kernel = self._kernels.get(name) or self._kernels.setdefault(name, self._module.get_function(name))
            given = tuple(AS_C[type(arg)](arg) if type(arg) in AS_C else arg for arg in args)
            kernel((-(-threads // THREADS),), (THREADS,), given)

    def array(self, values: npt.ArrayLike, dtype: npt.DTypeLike = np.float64) -> Any:
        """On the GPU, contiguous."""
        return self.xp.asarray(np.ascontiguousarray(values, dtype=dtype))

    @contextmanager
    def memory(self) -> Iterator[None]:
        """Inside, memory that runs out is a sentence."""
        try:
            yield
        except self.xp.cuda.memory.OutOfMemoryError:
            pool = self.xp.get_default_memory_pool()
            pool.free_all_blocks()
            _, whole = self.xp.cuda.runtime.memGetInfo()
            raise Unsupported(
                f"the run does not fit into the {whole / 2**30:.0f} GiB of {self.name}. Use a smaller batch, or "
                "engine='auto', which plays it on the CPU."
            ) from None


@cache
def device() -> Device:
    """The GPU of this process; a sentence where there is none."""
    try:
        import cupy
    except ImportError:
        raise MissingExtra("engine='cuda'", "CuPy", "cuda") from None
    try:
        found = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise Unsupported(f"engine='cuda' found no GPU that it can use: {error}. Use engine='auto'.") from None
    if not found:
        raise Unsupported("engine='cuda' found no GPU. Use engine='auto', which plays the run on the CPU.")
    return Device(cupy)
