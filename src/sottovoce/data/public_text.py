"""Names, units, levels and codes of a schema. They come from others, and everybody sees them: short, and with nothing
in them that hides what a reader would see."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

from ..files.toml_table import shown

LONGEST = 200  # characters
DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # that turn text around
HIDDEN = ("Cc", "Cs", "Zl", "Zp")  # control characters, halves of pairs, marks that break lines


def fault_of(text: Any) -> str:
    """The end of a sentence on what is wrong with it: ``must be text; got 5.`` Nothing where it can be used."""
    if not isinstance(text, str):
        return f"must be text in quotes; got {shown(text)}."
    if len(text) > LONGEST:
        return f"must have at most {LONGEST} characters; got {len(text):,}."
    plain = text.isascii() and text.isprintable()
    if not plain and any(unicodedata.category(mark) in HIDDEN or mark in DIRECTIONS for mark in text):
        return f"must not have control characters in it; got {shown(text)}."
    if text != text.strip():
        return f"must not begin or end with a blank; got {shown(text)}."
    return ""


def same_form(text: str) -> str:
    """The same for texts that look the same, whether an accent is a mark of its own or not."""
    return unicodedata.normalize("NFC", text)


def fault_of_list(texts: Any, most: int) -> str:
    """What is wrong with a list of distinct texts, none of them empty."""
    if isinstance(texts, str) or not isinstance(texts, Sequence):
        return f'must be a list of texts, such as ["a", "b"]; got {shown(texts)}.'
    if len(texts) > most:
        return f"must be at most {most:,}; got {len(texts):,}."
    for number, text in enumerate(texts, start=1):
        if wrong := fault_of(text) or ("" if text else "is empty. Leave it out."):
            return f"number {number} {wrong}"
    forms = [same_form(text) for text in texts]
    if len(set(forms)) < len(forms):
        twice = next(form for at, form in enumerate(forms) if form in forms[:at])
        return f"has {shown(twice)} twice."
    return ""
