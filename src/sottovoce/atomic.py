"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from .errors import InvalidInput


def write_whole(path: Path, save: Callable[[str], object]) -> None:
    """Save to a temporary file beside it, then rename: a reader never sees half a file, nor does a crash leave one."""
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
        os.close(handle)
        save(temporary)
        mask = os.umask(0)  # mkstemp makes private files; the result gets the user's usual mode
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror or error}.") from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
