"""The formula of a model, as a text that is read at once."""

from __future__ import annotations

import unicodedata
from difflib import get_close_matches

from ...errors import InvalidInput
from ...numerics.unquoted import kind_of
from ..schema import Schema
from .coding import parts
from .design import Design
from .factors import Coded, Factor, Levels, Named
from .grammar import Grammar
from .terms import INTERCEPT, TooMuch
from .tokens import refusal, shown


class Formula:
    """Which columns of a table a model is made of, and how.

    Nothing of it is ever evaluated as code; what is not in the grammar (docs/reference/formula.md) is refused, with the
    place. The columns of the design follow from formula and schema alone, and are the same at every party.

    Parameters
    ----------
    text : str
        Such as ``"death ~ age + C(sex) * dose + log(crp) + offset(log(days))"``. Before ``~`` stands the response: one
        column, two for a time and an event, or none.

    Raises
    ------
    InvalidInput
        For everything that is not the grammar.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce.data.schema import Schema
    >>> sex = {"type": "category", "levels": ["f", "m"]}
    >>> schema = Schema({"age": "number", "sex": sex, "crp": "number", "death": "boolean"})
    >>> formula = sv.Formula("death ~ age * sex + log(crp)")
    >>> formula.variables, formula.response
    (('death', 'age', 'sex', 'crp'), ('death',))
    >>> formula.design(schema).columns
    ('Intercept', 'age', 'sex[T.m]', 'log(crp)', 'age:sex[T.m]')
    >>> formula == sv.Formula("death ~ age + sex + log(crp) + sex:age - sex:age + age:sex")
    True
    """

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise InvalidInput(f"a formula is a text such as 'death ~ age + sex'; got {kind_of(text)}.")
        read = Grammar(text)
        self._text = text
        self._factors, self._terms = tuple(read.factors), read.terms
        self._responses, self._offsets = read.responses, tuple(read.offsets)
        self._places = read.places

    @property
    def text(self) -> str:
        """As it was given."""
        return self._text

    @property
    def variables(self) -> tuple[str, ...]:
        """The columns of the table that it names, in the order in which it does."""
        return tuple(self._places)

    @property
    def response(self) -> tuple[str, ...]:
        """What stands before ``~``: none, one, or a time and an event."""
        return tuple(factor.label for factor in self._responses)

    @property
    def canonical(self) -> str:
        """The same formula, multiplied out: equal for two texts that have the same design under every schema."""
        written = [":".join(self._factors[k].text for k in term) for term in self._terms if term != INTERCEPT]
        written += [f"offset({offset.text})" for offset in self._offsets]
        intercept = "1" if INTERCEPT in self._terms else "0"
        return f"{', '.join(factor.text for factor in self._responses)} ~ {' + '.join([intercept, *written])}".lstrip()

    def __repr__(self) -> str:
        return f"Formula({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return self.canonical == other.canonical if isinstance(other, Formula) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.canonical)

    def design(self, schema: Schema, *, categories: bool = False, response: bool = True) -> Design:
        """The columns that it has under a schema.

        Parameters
        ----------
        schema : Schema
            What the columns of the table are.
        categories : bool
            Whether a response may be a category, whose numbers are then the places of its levels.
        response : bool
            Whether there is one, as of the formula; of new rows it is not known.

        Returns
        -------
        Design
            Their names, and how to compute them from the values of some rows.

        Raises
        ------
        InvalidInput
            For a name that is not in the schema, a category where a number is needed, and too many columns.
        """
        if not isinstance(schema, Schema):
            raise InvalidInput(f"a formula needs a Schema to have columns; got {kind_of(schema)}.")
        for name in self._places:
            if name not in schema:
                raise self._refused(name, _unknown(name, schema))
        responses = self._responses if response else ()
        for factor in (*responses, *self._offsets, *self._factors):
            self._check_types(factor, schema, factor in self._factors, categories and factor in responses)
        coded = tuple(Coded.of(factor, schema) for factor in self._factors)
        try:
            by_term = list(parts(self._terms, coded))
        except TooMuch as much:
            raise InvalidInput(f"formula: {much}") from None
        made = [(part, term) for term, each in zip(self._terms, by_term, strict=True) for part in each]
        of_terms = [tuple(self._factors[k].label for k in term) for _, term in made]
        design = Design(coded, [part for part, _ in made], responses, self._offsets, schema, of_terms)
        if len(set(design.columns)) < len(design.columns):
            twice = next(name for k, name in enumerate(design.columns) if name in design.columns[:k])
            raise InvalidInput(f"formula: two columns of the design would be called {shown(twice)}. Rename one.")
        return design

    def _check_types(self, factor: Factor, schema: Schema, is_term: bool, is_category: bool) -> None:
        for name in factor.names:
            kind = schema[name].type
            if isinstance(factor, Levels):
                if kind not in ("category", "boolean"):
                    raise self._refused(
                        name,
                        f"{shown(name)} is of type {kind} in the schema, and has no levels there. "
                        "Make it a category, or leave C() out.",
                    )
            elif kind == "category" and not ((is_term or is_category) and isinstance(factor, Named)):
                use = f"in {shown(factor.text)}" if is_term else "as a response or in an offset"
                raise self._refused(name, f"{shown(name)} is a category, and no number to use {use}.")

    def _refused(self, name: str, sentence: str) -> InvalidInput:
        return refusal(self._text, self._places[name], sentence)


def _unknown(name: str, schema: Schema) -> str:
    """A column that is not there, and the one that may be meant."""
    same = [known for known in schema if unicodedata.normalize("NFC", known) == unicodedata.normalize("NFC", name)]
    if same:
        return f"{shown(name)} is written with other Unicode characters than the column of the schema."
    near = get_close_matches(name, list(schema), n=1)
    meant = f"; is {shown(near[0])} meant?" if near else f". There are {_listed(list(schema))}."
    return f"{shown(name)} is no column of the schema{meant}"


def _listed(names: list[str]) -> str:
    return ", ".join(map(shown, names[:5])) + (f" and {len(names) - 5} others" if len(names) > 5 else "")
