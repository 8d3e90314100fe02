"""The formula of a model: an own grammar, of which nothing is ever evaluated as code (docs/reference/formula.md).

tokens, grammar      the text, read at once and bounded
arithmetic, factors  what a column of the design is made of
terms, coding        which products of factors there are, and which levels of a category each takes
design, splines      the numbers
"""

from .design import Design
from .formula import Formula

__all__ = ["Design", "Formula"]
