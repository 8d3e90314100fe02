"""Values as TOML writes them."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import Any


def toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml(entry) for entry in value)}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{toml_key(key)} = {toml(entry)}' for key, entry in value.items())} }}"
    return value.isoformat() if isinstance(value, date) else repr(value)


def toml_key(key: str) -> str:
    """A key, in quotes where it needs them."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml(key)
