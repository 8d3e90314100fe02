"""The C++ twins of the kernels: built with the system compiler on first use, called through ctypes."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
from functools import cache
from typing import Any

import numpy as np

from .measure import ROOT

SOURCE = ROOT / "native.cpp"
LIBRARY = ROOT / "build" / "native.so"
CPU = os.environ.get("NUMBA_CPU_NAME", "native")  # Numba's own variable: both compilers write code for the same CPU
FLAGS = ("-std=c++20", "-O3", f"-march={CPU}", "-shared", "-fPIC")
if platform.machine() in ("x86_64", "AMD64"):
    FLAGS += ("-mprefer-vector-width=512",)  # where there are such: by itself GCC takes half on Intel's, to their loss


class NoCompiler(Exception):
    """There is no C++ compiler here, or it cannot build the library."""


@cache
def library() -> ctypes.CDLL:
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise NoCompiler("no C++ compiler (c++, g++, clang++) on the path")
    LIBRARY.parent.mkdir(exist_ok=True)
    built = subprocess.run([compiler, *FLAGS, "-o", str(LIBRARY), str(SOURCE)], capture_output=True, text=True)
    if built.returncode:
        raise NoCompiler(f"{compiler} cannot build {SOURCE.name}: {built.stderr.strip().splitlines()[-1]}")
    return ctypes.CDLL(str(LIBRARY))


def call(name: str, *arguments: Any) -> None:
    """Arrays go as pointers (None: null), ``np.uint64`` as such, other integers as int64, floats as doubles."""
    getattr(library(), name)(*map(_argument, arguments))


def _argument(value: Any) -> Any:
    if value is None:
        return ctypes.c_void_p(None)
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(value, np.uint64):
        return ctypes.c_uint64(int(value))
    return ctypes.c_int64(value) if isinstance(value, int | np.integer) else ctypes.c_double(value)
