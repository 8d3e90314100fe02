"""Formulas: the grammar and its limits, columns under a schema, numbers of rows, and what is refused."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.data.schema import Schema
from sottovoce.errors import InvalidInput

SCHEMA = Schema(
    {
        "age": {"type": "number", "range": (0, 120)},
        "crp": "number",
        "visits": "integer",
        "death": "boolean",
        "smoker": "boolean",
        "entry": "date",
        "days": "number",
        "body mass": "number",
        "größe": "number",
        "sex": {"type": "category", "levels": ["f", "m"]},
        "dose": {"type": "category", "levels": ["low", "mid", "high"], "reference": "mid"},
    }
)
ROWS = {
    "age": np.array([30.0, 50.0, 70.0]),
    "crp": np.array([1.0, 2.0, 4.0]),
    "visits": np.array([0.0, 1.0, 2.0]),
    "death": np.array([0.0, 1.0, 1.0]),
    "smoker": np.array([1.0, 0.0, 1.0]),
    "entry": np.array([18_000.0, 18_001.0, 18_002.0]),
    "days": np.array([10.0, 20.0, 40.0]),
    "body mass": np.array([20.0, 25.0, 30.0]),
    "größe": np.array([1.6, 1.7, 1.8]),
    "sex": np.array([0.0, 1.0, 1.0]),
    "dose": np.array([0.0, 1.0, 2.0]),
}


def columns(text: str) -> list[str]:
    return list(sv.Formula(text).design(SCHEMA).columns)


def matrix(text: str) -> np.ndarray:
    return sv.Formula(text).design(SCHEMA).matrix(ROWS)


def test_the_example_of_the_issue():
    design = sv.Formula("death ~ age + C(sex) * dose + log(crp) + offset(log(days))").design(SCHEMA)
    assert design.columns == (
        "Intercept",
        "age",
        "C(sex)[T.m]",
        "dose[T.low]",
        "dose[T.high]",
        "log(crp)",
        "C(sex)[T.m]:dose[T.low]",
        "C(sex)[T.m]:dose[T.high]",
    )
    assert design.response == ("death",)
    assert design.needs == ("age", "crp", "death", "days", "sex", "dose")  # in the order of the schema
    expected = [
        [1, 30, 0, 1, 0, np.log(1), 0, 0],
        [1, 50, 1, 0, 0, np.log(2), 0, 0],
        [1, 70, 1, 0, 1, np.log(4), 0, 1],
    ]
    np.testing.assert_array_equal(design.matrix(ROWS), expected)
    np.testing.assert_array_equal(design.target(ROWS), [[0], [1], [1]])
    np.testing.assert_array_equal(design.offset(ROWS), np.log(ROWS["days"]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", ["Intercept"]),
        ("0 + dose", ["dose[low]", "dose[mid]", "dose[high]"]),
        ("dose - 1", ["dose[low]", "dose[mid]", "dose[high]"]),
        ("age:dose", ["Intercept", "age:dose[low]", "age:dose[mid]", "age:dose[high]"]),
        ("age + age:dose", ["Intercept", "age", "age:dose[T.low]", "age:dose[T.high]"]),
        ("(age + sex + crp)^2 - age:crp", ["Intercept", "age", "sex[T.m]", "crp", "age:sex[T.m]", "sex[T.m]:crp"]),
        ("sex/age", ["Intercept", "sex[T.m]", "sex[f]:age", "sex[m]:age"]),
        ("smoker + C(death)", ["Intercept", "smoker", "C(death)[T.True]"]),
        ("0 + C(smoker)", ["C(smoker)[False]", "C(smoker)[True]"]),
        ("`body mass` + größe", ["Intercept", "body mass", "größe"]),
        ("entry", ["Intercept", "entry"]),
        ("I(age^2) + I(2*age)", ["Intercept", "I(age ** 2)", "I(2 * age)"]),
        ("log( `body mass`/größe**2 )", ["Intercept", "log(`body mass` / größe ** 2)"]),
        ("log(crp)\n  + sqrt(visits)", ["Intercept", "log(crp)", "sqrt(visits)"]),
    ],
)
def test_columns(text, expected):
    assert columns(text) == expected


def test_numbers_of_arithmetic():
    age, crp, days = ROWS["age"], ROWS["crp"], ROWS["days"]
    for text, expected in {
        "I(age^2)": age**2,
        "I(-age**2)": -(age**2),
        "I((-age)^2 - 2*age/crp)": (-age) ** 2 - 2 * age / crp,
        "I(age - crp - days)": age - crp - days,
        "I(age - (crp - days))": age - (crp - days),
        "I(age / crp * 2)": age / crp * 2,
        "I(age / (crp * 2))": age / (crp * 2),
        "I(crp^-2)": crp**-2.0,
        "exp(-crp / 2)": np.exp(-crp / 2),
        "log1p(sqrt(visits) * .5e1)": np.log1p(np.sqrt(ROWS["visits"]) * 5),
    }.items():
        np.testing.assert_array_equal(matrix(f"0 + {text}")[:, 0], expected, err_msg=text)


def test_text_variables_response_and_equality():
    formula = sv.Formula("days, death ~ sex * age - crp")
    assert formula.text == "days, death ~ sex * age - crp"
    assert repr(formula) == "Formula('days, death ~ sex * age - crp')"
    assert formula.variables == ("days", "death", "sex", "age", "crp")
    assert formula.response == ("days", "death")
    assert formula.design(SCHEMA).needs == ("age", "death", "days", "sex")  # crp is taken away
    assert formula == sv.Formula("days,death~sex+age+ sex:age") != sv.Formula("days, death ~ age * sex")
    assert hash(formula) == hash(sv.Formula("days,death~sex+age+ sex:age"))
    assert formula != formula.text
    assert sv.Formula("age").response == sv.Formula("~ age").response == ()


@pytest.mark.parametrize(
    "text",
    [
        "death ~ age*sex*dose - age:sex + 0",
        "log(crp) ~ I((age + 1)^-2) + `body mass`:C(sex)",
        "~ bs(age, knots=[40, 60.5], range=[-1e-3, 120], degree=2) + ns(log(crp), knots=[], range=[0, 1e20])",
        "days, death ~ 1 + offset(log(days)) + offset(I - `I (x)`)",
        "0 + I(-(age + 1) * -age / (2 / crp) - (3 - age)) + exp(log(log1p(age))) + I(0.1 * 100000 + age ** 2)",
    ],
)
def test_the_canonical_text_is_the_same_formula(text):
    formula = sv.Formula(text)
    assert sv.Formula(formula.canonical) == formula
    assert sv.Formula(formula.canonical).canonical == formula.canonical


def test_the_canonical_text_is_written_out():
    assert sv.Formula("y~a*b-1+offset( t/2 )").canonical == "y ~ 0 + a + b + a:b + offset(t / 2)"


def test_responses_and_offsets():
    design = sv.Formula("I(days / 2), death ~ 1 + offset(age) + offset(2 * crp)").design(SCHEMA)
    assert design.response == ("I(days / 2)", "death")
    np.testing.assert_array_equal(design.target(ROWS), np.column_stack([ROWS["days"] / 2, ROWS["death"]]))
    np.testing.assert_array_equal(design.offset(ROWS), ROWS["age"] + 2 * ROWS["crp"])
    without = sv.Formula("age").design(SCHEMA)
    assert without.target(ROWS).shape == (3, 0)
    np.testing.assert_array_equal(without.offset(ROWS), np.zeros(3))


def test_a_party_without_rows_has_the_same_columns():
    text = (
        "death ~ age * dose + bs(crp, knots=[2], range=[0, 9]) + ns(days, knots=[2], range=[0, 9]) + offset(log(days))"
    )
    design = sv.Formula(text).design(SCHEMA)
    empty = {name: np.empty(0) for name in SCHEMA}
    assert design.matrix(empty).shape == (0, len(design.columns))
    assert design.target(empty).shape == (0, 1)
    assert design.offset(empty).shape == (0,)


def test_rows_have_the_same_bits_in_any_batch():
    draw = np.random.default_rng(0)
    rows = {name: draw.uniform(0.01, 0.99, 1_001) for name in ("age", "crp", "days")}
    rows["dose"] = draw.integers(0, 3, 1_001).astype(float)
    text = "dose * log(crp) + exp(age):sqrt(days) + I(age^7/crp) + log1p(age) + ns(age, knots=[.2, .5], range=[0, 1])"
    design = sv.Formula(f"{text} + bs(crp, knots=[.5], range=[0, 1])").design(SCHEMA)
    whole = design.matrix(rows)
    for size in (1, 7, 64):
        blocks = [design.matrix({k: v[at : at + size] for k, v in rows.items()}) for at in range(0, 1_001, size)]
        np.testing.assert_array_equal(np.concatenate(blocks), whole)
    strided = {name: np.repeat(column, 3)[::3] for name, column in rows.items()}
    np.testing.assert_array_equal(design.matrix(strided), whole)


def test_design_and_formula_travel():
    formula = sv.Formula("death ~ age * dose + ns(crp, knots=[2], range=[0, 9])")
    copy = pickle.loads(pickle.dumps(formula))
    assert copy == formula
    design = pickle.loads(pickle.dumps(formula.design(SCHEMA)))
    np.testing.assert_array_equal(design.matrix(ROWS), formula.design(SCHEMA).matrix(ROWS))


@pytest.mark.parametrize(
    ("text", "sentence", "place"),
    [
        ("", "no terms here", 0),
        ("death ~ ", "no terms here", 8),
        ("age + 0", None, None),
        ("0", "no terms left", 1),
        ("0 + age - age", "no terms left", 13),
        ("age +", "missing at the end", 5),
        ("age ++ crp", "one sign too", 5),
        ("age crp", "one sign too", 4),
        ("(age + crp", "not closed", 10),
        ("age)", "not opened", 3),
        ("()", "missing before this bracket", 1),
        ("(-age + crp)", "begin with a minus", 1),
        ("crp:(age - age)", "nothing is left", 4),
        ("(0 + age)", "outside of brackets", 1),
        ("2 + age", r"inside of I\(...\)", 0),
        ("1:age", "about the intercept", 1),
        ("age*2", r"inside of I\(...\)", 4),
        ("age^2", r"I\(x\^2\)", 3),
        ("(age + crp)^2^2", "two meanings", 13),
        ("(age + crp)^0", "from 1 to 20", 12),
        ("(age + crp)^21", "from 1 to 20", 12),
        ("(age + crp)^1.5", "from 1 to 20", 12),
        ("age.max", "back-quotes", 3),
        ("age + 'sex'", "text has no place", 6),
        ("age | sex", "one part", 4),
        ("age + `sex", "not closed", 6),
        ("age + ``", "no name", 6),
        ("age + 2x", "no number", 6),
        ("age + 1.2.3", "no number", 6),
        ("age + \u202esex", r"U\+202E \(RIGHT-TO-LEFT OVERRIDE\)", 6),
        ("age + `s\u200bex`", r"U\+200B", 8),
        ("death ~ age ~ crp", "one sign too", 12),
        ("days, death, age ~ crp", "at most two responses", 17),
        ("death, death ~ crp", "twice", 7),
        ("C(sex) ~ crp", "one number a row", 0),
        ("death + crp ~ age", "one column, or two", 6),
        ("death ~ age + death", "the response, and a term", 0),
        ("sex + C(sex)", "same columns twice", 0),
        ("C(sex + dose)", "name of one column", 6),
        ("C(log(sex))", "name of one column", 2),
        ("C(sex, Sum)", "reference are in the schema", 5),
        ("eval(age)", "'eval' is no function", 0),
        ("log(abs(age))", "'abs' is no function of numbers", 4),
        ("log(age, crp)", "take one argument", 7),
        ("log()", "missing before this bracket", 4),
        ("log(2)", "no column", 0),
        ("log(crp / (1 - 1))", "no finite result", 0),
        ("I(--age)", "one sign too", 3),
        ("I(age^0.5)", "from -20 to 20", 6),
        ("I(age^crp)", "from -20 to 20", 6),
        ("I(age^2^2)", "two meanings", 7),
        ("I(1e999 * age)", "too large", 2),
        ("I(age[0])", "not closed", 5),
        ("center(age)", "learns from the rows", 0),
        ("poly(age, 2)", "learns from the rows", 0),
        ("bs(age, df=4)", "rows of each party", 8),
        ("bs(age)", r"needs knots=\[...\]", 0),
        ("bs(age, knots=[40])", r"needs range=\[...\]", 0),
        ("bs(age, [40], [0, 120])", "one of knots=", 8),
        ("bs(age, knots=40, range=[0, 120])", "a list of numbers", 14),
        ("bs(age, knots=[a], range=[0, 120])", "numbers only", 15),
        ("bs(age, knots=[1 2], range=[0, 120])", "a comma", 17),
        ("bs(age, knots=[60, 40], range=[0, 120])", "in order", 0),
        ("bs(age, knots=[0], range=[0, 120])", "in order", 0),
        ("bs(age, knots=[], range=[120, 0])", "two numbers in order", 0),
        ("bs(age, knots=[], range=[0])", "two numbers in order", 0),
        ("bs(age, knots=[], knots=[], range=[0, 9])", "each once", 18),
        ("bs(age, knots=[], range=[0, 9], degree=6)", "from 1 to 5", 39),
        ("ns(age, knots=[], range=[0, 9], degree=3)", "one of knots=, range=,", 32),
        ("bs(age, knots=[1e-320], range=[0, 9])", "too close", 0),
        ("bs(2, knots=[], range=[0, 9])", "no column", 0),
        ("age * offset(crp)", "no bracket, product or response", 6),
        ("offset(crp) * age", "no products", 12),
        ("age - offset(crp)", "is added", 6),
        ("offset(crp) + offset( crp )", "twice", 14),
        ("ages", "'ages' is no column of the schema; is 'age' meant?", 0),
        ("age + xyz", "'xyz' is no column of the schema. There are 'age', 'crp', .* and 6 others", 6),
        ("gro\u0308ße", "other Unicode characters", 0),
        ("age + log(sex)", "a category, and no number", 10),
        ("age + sqrt(sex)", r"in 'sqrt\(sex\)'", 11),
        ("sex ~ age", "a category, and no number", 0),
        ("age + offset(dose)", "a category, and no number", 13),
        ("C(visits)", "type integer in the schema, and has no levels", 2),
        ("C(entry)", "type date", 2),
    ],
)
def test_what_is_refused_and_where(text, sentence, place):
    if sentence is None:
        sv.Formula(text).design(SCHEMA)
        return
    with pytest.raises(InvalidInput, match=sentence) as refused:
        sv.Formula(text).design(SCHEMA)
    caret = str(refused.value).splitlines()[-1]
    # marks that take no place of their own do not move the caret
    assert caret.strip() == "^"
    assert len(caret) - 1 - 4 == place


def test_the_caret_stands_under_wide_characters():
    with pytest.raises(InvalidInput) as refused:
        sv.Formula("年齢 + e\u0301 + ?")
    _, line, caret = str(refused.value).splitlines()
    assert line == "    年齢 + e\u0301 + ?"
    assert caret == "    " + " " * (4 + 3 + 1 + 3) + "^"


def test_the_place_in_a_long_formula_is_shown_with_what_is_around_it():
    with pytest.raises(InvalidInput) as refused:
        sv.Formula(" + ".join(["age"] * 500) + " + {} + " + " + ".join(["age"] * 500))
    _, line, caret = str(refused.value).splitlines()
    assert line[caret.index("^")] == "{"
    assert len(line) < 80


def test_wrong_arguments():
    for wrong in (None, 3, ["age"], b"age"):
        with pytest.raises(InvalidInput, match="a formula is a text"):
            sv.Formula(wrong)
    with pytest.raises(InvalidInput, match="needs a Schema"):
        sv.Formula("age").design({"age": "number"})


@pytest.mark.parametrize(
    ("text", "rows", "sentence"),
    [
        (
            "log(crp)",
            {"crp": [1, 0, -1]},
            r"log\(crp\) has the logarithm of a number that is not positive in 2 rows: 11, 12",
        ),
        ("sqrt(crp)", {"crp": [1, -777, 1]}, r"sqrt\(crp\) has the root of a negative number in row 11\."),
        ("log1p(crp)", {"crp": [-1, 1, 1]}, r"log1p of a number that is not above -1 in row 10\."),
        ("exp(crp)", {"crp": [1, 1, 777]}, r"exp\(crp\) has an exponential that is too large in row 12\."),
        ("I(1 / (1 / crp))", {"crp": [1, 0, 1]}, r"a division by zero.* in row 11\."),  # which 1 / inf would hide
        ("I(crp^-1)", {"crp": [1, 0, 1]}, r"a power of zero below 0.* in row 11\."),
        ("I(crp * crp)", {"crp": [1, 1e200, 1]}, r"a number that is too large in row 11\."),
        (
            "crp:days",
            {"crp": [1, 1e200, 1], "days": [1, 1e200, 1]},
            r"'crp:days' has a product that is too large in row 11",
        ),
        ("crp", {"crp": [np.nan, 1, np.inf]}, r"column 'crp' has a missing value.* in 2 rows: 10, 12\."),
        ("sex", {"sex": [0, np.nan, 1]}, r"column 'sex' has a missing value.* in row 11\."),
        ("sex", {"sex": [0, 1, 2]}, r"column 'sex' has what is no place of a level in row 12\."),
        ("sex", {"sex": [0, 0.5, -1]}, r"no place of a level in 2 rows: 11, 12\."),
        (
            "bs(crp, knots=[], range=[0, 1])",
            {"crp": [777, 0.5, -777]},
            r"has a number outside its range \[0, 1\] in 2 rows: 10, 12\.",
        ),
        ("ns(crp, knots=[], range=[0, 1])", {"crp": [0, 777, 1]}, r"a number outside its range \[0, 1\] in row 11\."),
        ("crp", {"crp": [1, 2, 3, 4, 5, 6, np.nan] + 6 * [np.nan]}, r"in 7 rows: 16, 17, 18, 19, 20, \.\.\.\."),
    ],
)
def test_rows_that_cannot_be_used_are_numbered_and_not_quoted(text, rows, sentence):
    rows = {name: np.array(column, dtype=float) for name, column in rows.items()}
    with pytest.raises(InvalidInput, match=sentence) as refused:
        sv.Formula(text).design(SCHEMA).matrix(rows, first=10)
    assert "777" not in str(refused.value)


def test_rows_may_have_numbers_of_their_own():
    design = sv.Formula("log(crp) ~ age + offset(sqrt(crp))").design(SCHEMA)
    rows = {"age": np.ones(4), "crp": np.array([1.0, -1.0, 1.0, -1.0])}
    numbers = np.array([3, 5, 8, 13])
    for part in (design.target, design.offset):
        with pytest.raises(InvalidInput, match="in 2 rows: 5, 13"):
            part(rows, numbers)


def test_values_that_do_not_fit():
    design = sv.Formula("age + crp").design(SCHEMA)
    with pytest.raises(InvalidInput, match="reads column 'crp', which is not among"):
        design.matrix({"age": np.ones(3)})
    with pytest.raises(InvalidInput, match=r"alike; got shapes \[\(2,\), \(3,\)\]"):
        design.matrix({"age": np.ones(3), "crp": np.ones(2)})
    constant = sv.Formula("1").design(SCHEMA)
    assert constant.needs == ()
    np.testing.assert_array_equal(constant.matrix({"age": np.ones(2)}), [[1], [1]])
    with pytest.raises(InvalidInput, match="the number of rows is unknown"):
        constant.matrix({})


def test_two_columns_of_one_name():
    schema = Schema({"a": "number", "b": "number", "a:b": "number"})
    with pytest.raises(InvalidInput, match="two columns of the design would be called 'a:b'"):
        sv.Formula("a * b + `a:b`").design(schema)


def test_limits_are_counted_before_anything_is_multiplied_out():
    wide = Schema({f"c{k}": {"type": "category", "levels": [f"l{i}" for i in range(80)]} for k in range(30)})
    names = [f"c{k}" for k in range(30)]
    for text, sentence in {
        f"({' + '.join(names)})^9": "more than 2,000 terms",
        f"({' + '.join(names)})^2 * ({' + '.join(names)})^2": "more than 50,000 pairs",
        ":".join(names[:9]): "at most 8 factors",
        "*".join(names[:9]): "at most 8 factors",
        f"{'('.join(['c0 + '] * 52)}c0{')' * 51}": "at most 50 deep",
        "+".join(["c0"] * 2_501): "at most 5,000 names",
        "c0 + " * 20_001: "at most 100,000 characters",
        f"I({'+'.join(['c0'] * 200)})": "at most 500 characters",
        "x" * 201: "at most 200 characters",
        f"bs(c0, knots={list(range(51))}, range=[-1, 99])": "at most 50 numbers",
        "c0:c1": "more than 5,000 columns",
        ":".join(names[:8]): "more than 5,000 columns",
    }.items():
        with pytest.raises(InvalidInput, match=re.escape(sentence)):
            sv.Formula(text).design(wide)
    assert len(sv.Formula("*".join(names[:8])).canonical.split(" + ")) == 2**8
    assert len(sv.Formula("(" * 50 + "c0" + ")" * 50).design(wide).columns) == 80
