"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import InvalidInput


def check_writable(option: str, path: Path, suffixes: Sequence[str]) -> None:
    """Refuse, before the work, what could not be written after it."""
    if path.suffix.lower() not in suffixes:
        known = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}" if len(suffixes) > 1 else suffixes[0]
        raise InvalidInput(f"{option} {path}: the name must end in {known}.")
    try:
        if path.is_dir():
            raise InvalidInput(f"{option} {path} is a directory. Name a file in it.")
        if not path.parent.is_dir():
            raise InvalidInput(f"{option} {path}: the directory {path.parent} does not exist.")
    except OSError as error:  # a name that is too long
        raise InvalidInput(f"{option} {path} cannot be written: {error.strerror or error}.") from None
    if not os.access(path.parent, os.W_OK):
        raise InvalidInput(f"{option} {path}: the directory {path.parent} cannot be written to.")


def writable_folder(out: Path) -> Path:
    """The folder of ``--out``, made where it is not there, before the work."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"--out {out}: cannot make this folder ({error.strerror}). Choose another one.") from None
    if not os.access(out, os.W_OK):
        raise InvalidInput(f"--out {out}: the folder is not writable. Choose another one.")
    return out


def write_whole(path: Path, save: Callable[[str], object]) -> None:
    """Save to a temporary file beside it, then rename: a reader never sees half a file, nor does a crash leave one."""
    temporary = None
    try:
        # Not by tempfile, whose files are private: the mode is to be the user's usual one, which nobody can ask for
        # without changing it for all threads.
        new = path.with_name(f".{path.stem}-{secrets.token_hex(4)}{path.suffix}")
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        temporary = str(new)
        save(temporary)
        os.replace(temporary, path)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
