"""Named arrays and a header in one file, ``.npz`` or ``.json``: bit for bit, and without pickle."""

from __future__ import annotations

import json
import math
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidFile, InvalidInput
from .atomic import check_writable, write_whole

SUFFIXES = (".npz", ".json")
HEADER = "header"  # the name that no array has

Arrays = dict[str, npt.NDArray[Any]]


def write_arrays(path: Path, what: str, version: int, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write them whole or not at all. ``what`` the file holds, and its ``version``, are asked for when it is read."""
    check_writable("save", path, SUFFIXES)
    for name, array in arrays.items():
        check_type(name, array)
    about = {"format": what, "version": version, "header": {key: _plain(value) for key, value in header.items()}}

    def save(temporary: str) -> None:
        if path.suffix.lower() == ".npz":
            with open(temporary, "wb") as file:
                np.savez(file, **{HEADER: np.array(json.dumps(about)), **arrays})
        else:
            with open(temporary, "w", encoding="utf-8") as file:
                json.dump(about | {"arrays": {name: _listed(array) for name, array in arrays.items()}}, file)

    write_whole(path, save)


def read_arrays(path: Path, what: str, version: int) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays; ``InvalidFile`` for a file that is missing, damaged, of another kind or version."""
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidFile(f"{path}: the name must end in {SUFFIXES[0]} or {SUFFIXES[1]}.")
    try:
        about, arrays = _read_npz(path) if path.suffix.lower() == ".npz" else _read_json(path)
        found, written = about["format"], about["version"]
        header = dict(about["header"])
    except FileNotFoundError:
        raise InvalidFile(f"{path} does not exist.") from None
    except PermissionError:
        raise InvalidFile(f"{path} cannot be read: permission denied.") from None
    except DAMAGE:
        raise damaged(path, what) from None
    if found != what:
        raise damaged(path, what)
    if written != version:
        raise InvalidFile(f"{path} was written by another version: it is a {what} in format {written}, not {version}.")
    return header, arrays


# Whatever NumPy, zipfile and json raise of bytes that they did not write.
DAMAGE = (
    OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, OverflowError, MemoryError, RecursionError,
    NotImplementedError, RuntimeError, SyntaxError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def damaged(path: Path, what: str) -> InvalidFile:
    return InvalidFile(f"{path} is no {what} that can be read: it is damaged, or something else.")


def check_type(name: str, array: npt.NDArray[Any]) -> None:
    """Refuse what cannot be written bit for bit: objects, and numbers that not every machine has."""
    if array.dtype.kind not in "biufU" or (array.dtype.kind == "f" and array.dtype.itemsize > 8):
        raise InvalidInput(f"{name} holds {array.dtype}: only numbers up to float64, truth values and text are saved.")


def _read_npz(path: Path) -> tuple[Any, Arrays]:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as members:
        arrays = {name: members[name] for name in members.files}  # all bytes, and so all checksums
    return json.loads(str(arrays.pop(HEADER)[()])), arrays


def _read_json(path: Path) -> tuple[Any, Arrays]:
    about = json.loads(path.read_text(encoding="utf-8"))
    return about, {name: _array(entry) for name, entry in about["arrays"].items()}


def _listed(array: npt.NDArray[Any]) -> dict[str, Any]:
    data = [_plain(value) for value in array.ravel().tolist()]
    return {"type": array.dtype.str, "shape": list(array.shape), "data": data}


def _array(entry: Any) -> npt.NDArray[Any]:
    kind = np.dtype(entry["type"])
    data = [float(value) for value in entry["data"]] if kind.kind == "f" else entry["data"]
    array = np.array(data, dtype=kind).reshape(entry["shape"])
    check_type("the file", array)
    return array


def _plain(value: Any) -> Any:
    """JSON has no infinity and no NaN: they are written as text, which ``float`` reads."""
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value
