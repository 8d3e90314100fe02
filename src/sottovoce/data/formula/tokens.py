"""The text of a formula in pieces, and the place of what is wrong with it.

A formula may come in a plan of somebody else: all that is read of it is bounded, and a sentence about it is short and
has no character that a terminal would obey.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from ...errors import InvalidInput

LONGEST_TEXT = 100_000  # characters: that of 1,000 columns with long names
LONGEST_NAME = 200
LONGEST_NUMBER = 40
MOST_TOKENS = 5_000

MARKS = ("**", "+", "-", "*", "/", "^", ":", "(", ")", "[", "]", ",", "=", "~")
NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
SPACES = " \t\r\n"
HINTS = {
    "'": "text has no place in a formula; a name with spaces goes into back-quotes",
    '"': "text has no place in a formula; a name with spaces goes into back-quotes",
    ".": "a name has no dot; where a column is called so, write it in back-quotes",
    "{": "nothing is evaluated as code here; arithmetic goes into I(...)",
    "}": "nothing is evaluated as code here; arithmetic goes into I(...)",
    "|": "a formula has one part",
    "%": "nesting is written a / b",
}


@dataclass(frozen=True)
class Token:
    """A piece of a formula and where it begins. A name in back-quotes is ``quoted``, and never that of a function."""

    kind: Literal["name", "quoted", "number", "mark", "end"]
    text: str
    place: int


def refusal(text: str, place: int, sentence: str) -> InvalidInput:
    """What is wrong, and a line of the formula with a caret under the place."""
    first = max(0, place - 40)
    before, after = _printable(text[first:place]), _printable(text[place : place + 24])
    caret = " " * sum(map(_width, before)) + "^"
    return InvalidInput(f"formula: {sentence}\n    {before}{after}\n    {caret}")


def shown(name: str) -> str:
    """A name as a sentence quotes it."""
    return repr(name if len(name) <= 40 else name[:40] + "...")


def tokens(text: str) -> list[Token]:
    """All pieces, with an ``end`` behind them.

    Raises
    ------
    InvalidInput
        For a character that no formula has, a back-quote that is not closed, a number that is none, and too much.
    """
    if len(text) > LONGEST_TEXT:
        raise InvalidInput(f"formula: at most {LONGEST_TEXT:,} characters; got {len(text):,}.")
    found: list[Token] = []
    place = 0
    while place < len(text):
        if text[place] in SPACES:
            place += 1
            continue
        token, place = _token(text, place)
        found.append(token)
        if len(found) > MOST_TOKENS:
            raise refusal(text, token.place, f"at most {MOST_TOKENS:,} names, numbers and signs.")
    return [*found, Token("end", "", len(text))]


def _token(text: str, place: int) -> tuple[Token, int]:
    """The piece that begins here, and where the next one may."""
    character = text[place]
    if character == "`":
        return _quoted(text, place)
    if character.isidentifier():
        end = place + 1
        while end < len(text) and ("_" + text[end]).isidentifier():
            end += 1
        return Token("name", _short(text, place, text[place:end]), place), end
    if number := NUMBER.match(text, place):
        return _number(text, place, number.end())
    for mark in MARKS:
        if text.startswith(mark, place):
            return Token("mark", mark, place), place + len(mark)
    why = HINTS.get(character, "it has no meaning in a formula")
    raise refusal(text, place, f"{_character(character)} cannot stand here: {why}.")


def _quoted(text: str, place: int) -> tuple[Token, int]:
    end = text.find("`", place + 1)
    if end < 0:
        raise refusal(text, place, "this back-quote is not closed.")
    name = text[place + 1 : end]
    for k, character in enumerate(name):
        if not character.isprintable():
            raise refusal(text, place + 1 + k, f"{_character(character)} cannot be in a name.")
    if not name:
        raise refusal(text, place, "there is no name between the back-quotes.")
    return Token("quoted", _short(text, place, name), place), end + 1


def _number(text: str, place: int, end: int) -> tuple[Token, int]:
    digits = text[place:end]
    if end < len(text) and (text[end] == "." or ("_" + text[end]).isidentifier()):
        raise refusal(text, place, "this is no number (one is 2, 0.5 or 1e-3), and no name begins with a digit.")
    if len(digits) > LONGEST_NUMBER or float(digits) == float("inf"):
        raise refusal(text, place, "this number is too large or has too many digits.")
    return Token("number", digits, place), end


def _short(text: str, place: int, name: str) -> str:
    if len(name) > LONGEST_NAME:
        raise refusal(text, place, f"a name has at most {LONGEST_NAME} characters.")
    return name


def _character(character: str) -> str:
    if character.isascii() and character.isprintable():
        return character
    name = unicodedata.name(character, "")
    return f"the character U+{ord(character):04X}" + (f" ({name})" if name else "")


def _printable(text: str) -> str:
    return "".join(" " if character in SPACES else character if character.isprintable() else "?" for character in text)


def _width(character: str) -> int:
    """How many places of a terminal it takes."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
