"""A stand-in for CuPy on machines without a GPU: arrays are NumPy's, and ``kernels.cu`` is compiled by g++.

Blocks run one after the other. Threads of a kernel without barriers do too; where there are barriers, each thread has a
stack of its own and they take turns at every barrier. So the arithmetic and the indices of every kernel are tested
everywhere; races between blocks, and speed, on a real GPU only.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np

PROLOGUE = r"""
#include <cmath>
#include <cstdlib>
#include <ucontext.h>
#include <utility>
using std::isnan;
#define __global__
#define __device__
#define __forceinline__ inline
struct Three { unsigned x, y, z; };
static Three blockIdx, blockDim, threadIdx, gridDim;
template <class T> static T atomicAdd(T* at, T more) { T old = *at; *at += more; return old; }
static ucontext_t scheduler, threads[1024];
static bool over[1024];
static void barrier() { unsigned me = threadIdx.x; swapcontext(&threads[me], &scheduler); }
static unsigned shared_words[1024];
static int __syncthreads_count(int yes) {
    shared_words[threadIdx.x] = over[threadIdx.x] ? 0 : yes != 0;
    barrier();
    int total = 0;
    for (unsigned t = 0; t < blockDim.x; ++t) total += shared_words[t];
    barrier();
    return total;
}
static unsigned __shfl_down_sync(unsigned, unsigned value, int apart) {
    unsigned me = threadIdx.x;
    shared_words[me] = value;
    barrier();
    unsigned found = me % 32 + apart < 32 ? shared_words[me + apart] : value;
    barrier();
    return found;
}
"""

EPILOGUE = r"""
template <class... A, size_t... I> void call(void (*f)(A...), void** a, std::index_sequence<I...>) { f(*(A*)a[I]...); }
template <class... A> void call(void (*f)(A...), void** a) { call(f, a, std::index_sequence_for<A...>{}); }
static void (*body)(void**);
static void** given;
static void one() { body(given); over[threadIdx.x] = true; }
static void run(void (*f)(void**), unsigned grid, unsigned block, void** a, bool turns) {
    static char* stacks = (char*)malloc(1024 * 65536);
    blockDim.x = block; gridDim.x = grid; body = f; given = a;
    for (blockIdx.x = 0; blockIdx.x < grid; ++blockIdx.x) {
        if (!turns) {
            for (threadIdx.x = 0; threadIdx.x < block; ++threadIdx.x) f(a);
            continue;
        }
        for (unsigned t = 0; t < block; ++t) {
            getcontext(&threads[t]);
            threads[t].uc_stack.ss_sp = stacks + t * 65536;
            threads[t].uc_stack.ss_size = 65536;
            threads[t].uc_link = &scheduler;
            over[t] = false;
            makecontext(&threads[t], one, 0);
        }
        for (bool left = true; left;) {
            left = false;
            for (threadIdx.x = 0; threadIdx.x < block; ++threadIdx.x)
                if (!over[threadIdx.x]) {
                    swapcontext(&scheduler, &threads[threadIdx.x]);
                    left = true;
                }
        }
    }
}
"""


class RawModule:
    def __init__(self, code: str, options: tuple[str, ...], folder: Path) -> None:
        assert "--fmad=false" in options
        parts = re.split(r'(?=extern "C" __global__)', code)
        names = {re.search(r"(\w+)\(\s*(?:count_t|int) ", part)[1]: "__syncthreads" in part for part in parts[1:]}
        launchers = "".join(
            f'extern "C" void launch_{name}(unsigned grid, unsigned block, void** a) '
            f"{{ run([](void** a) {{ call({name}, a); }}, grid, block, a, {str(turns).lower()}); }}\n"
            for name, turns in names.items()
        )
        source, library = folder / "kernels.cpp", folder / "kernels.so"
        source.write_text(PROLOGUE + code + EPILOGUE + launchers)
        flags = ["-std=c++17", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-w"]
        subprocess.run(["g++", *flags, str(source), "-o", str(library)], check=True)
        self.library = ctypes.CDLL(str(library))

    def get_function(self, name: str):
        function = getattr(self.library, f"launch_{name}")

        def launch(grid, block, args):
            held = [np.array(arg.ctypes.data if isinstance(arg, np.ndarray) else arg) for arg in args]
            assert all(arg.flags.c_contiguous for arg in args if isinstance(arg, np.ndarray))
            pointers = (ctypes.c_void_p * len(held))(*(one.ctypes.data for one in held))
            function(grid[0], block[0], pointers)

        return launch


class OutOfMemoryError(Exception):
    pass


class EmulatedCupy:
    """What ``pdmm/cuda`` uses of CuPy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        properties = {"name": b"emulated", "multiProcessorCount": 2, "maxThreadsPerMultiProcessor": 512}
        runtime = SimpleNamespace(getDeviceProperties=lambda _: properties, memGetInfo=lambda: (0, 1 << 30))
        memory = SimpleNamespace(OutOfMemoryError=OutOfMemoryError)
        self.cuda = SimpleNamespace(runtime=runtime, Device=lambda: SimpleNamespace(id=0), memory=memory)

    def __getattr__(self, name: str):
        return getattr(np, name)

    def RawModule(self, code, options):
        return RawModule(code, options, self.folder)

    def asnumpy(self, array):
        return np.array(array)

    def get_default_memory_pool(self):
        return SimpleNamespace(free_all_blocks=lambda: None)
