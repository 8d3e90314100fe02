"""A thousand hostile formulas: each gets a sentence, short and printable, and none takes long."""

from __future__ import annotations

import random

from helpers import counted

import sottovoce as sv
from sottovoce.data.schema import Schema
from sottovoce.errors import InvalidInput

SCHEMA = Schema(
    {
        "age": "number",
        "crp": "number",
        "death": "boolean",
        "sex": {"type": "category", "levels": ["f", "m"]},
        **{f"x{k}": "number" for k in range(40)},
    }
)

CODE = [
    "__import__('os').system('id')",
    "().__class__.__bases__[0].__subclasses__()",
    "age.__class__",
    "age.__array_interface__",
    "sex.cat.codes",
    "np.load('x')",
    "os.environ",
    "getattr(age, 'T')",
    "eval(age)",
    "exec(age)",
    "compile(age)",
    "open(age)",
    "globals()",
    "type(age)",
    "print(age)",
    "__class__(age)",
    "lambda: age",
    "(lambda x: x)(age)",
    "[x for x in age]",
    "{age}",
    "{__import__('os')}",
    "f'{age}'",
    'f"{age!r:{sex}}"',
    "'age'",
    '"age"',
    "'''age'''",
    "'\"`age`\"'",
    "`age",
    "``age``",
    "``",
    "age`",
    "Q('age')",
    "I(__import__)",
    "I(age.T)",
    "I(age := 3)",
    "I(age if sex else crp)",
    "I(age @ crp)",
    "I(age // 2)",
    "I(age % 2)",
    "I(age < 2)",
    "I(age and crp)",
    "I(not age)",
    "I(~age)",
    "I(age << 99999)",
    "I(9**9**9**9 * age)",
    "I(age^999999)",
    "I(age^-999999)",
    "I(1e999 * age)",
    "I(nan * age)",
    "I(inf + age)",
    "I(0x10 * age)",
    "I(1_000 * age)",
    "I(1j * age)",
    "I(age, crp)",
    "I(*age)",
    "I(**age)",
    "I(x=age)",
    "log(age)(crp)",
    "log(log)(age)",
    "log[age]",
    "C(sex, levels=['f'])",
    "C(sex, contr.sum)",
    "C(C(sex))",
    "C()",
    "C(",
    "bs(age)",
    "bs(age, df=10**9)",
    "bs(age, knots=[1]*10**9, range=[0, 1])",
    "bs(age, knots=range(99), range=[0, 1])",
    "bs(age, knots=[__import__('os')], range=[0, 1])",
    "bs(age, knots=[nan], range=[0, 1])",
    "bs(age, knots=[1e999], range=[0, 1])",
    "bs(age, knots=[[]], range=[0, 1])",
    "bs(age, knots=[], range=[0, 1], degree=10**9)",
    "bs(age, knots=[], range=[0, 1], degree=-1)",
    "bs(age, knots=[], range=[0, 1], include_intercept=True)",
    "bs(**{'x': age})",
    "poly(age, 3)",
    "center(age)",
    "scale(age)",
    "offset(offset(age))",
    "(age + crp)^999999",
    "(age + crp)^99999999999999999999999999999999999999",
    "age ~ crp ~ sex",
    "~ ~ age",
    "age; crp",
    "age, crp, sex ~ x1",
    "age # crp",
    "age \\ crp",
    "age == crp",
    "age = crp",
    "age ? crp",
    "age && crp",
    "age | sex",
    "age %in% sex",
    ".",
    "..",
    "...",
    "age + .",
    "$age",
    "@age",
    "!age",
    "${age}",
    "%s",
    "%(age)s",
    "{0.__class__}",
    "<script>",
    "'; DROP TABLE rows; --",
    "age\x00",
    "\x00",
    "`age\x00`",
    "`age\n`",
    "\u202eage",
    "age\u202e",
    "`\u202eage`",
    "`a\u2066b\u2069`",
    "\ufeffage",
    "age\u200d",
    "\u0301age",
    "a\u0301ge",
    "аge",  # the first letter is Cyrillic
    "ａｇｅ",
    "age\u00a0+ crp",
    "age − crp",
    "age ＋ crp",
    "٣ + age",
    "I(٣ * age)",
    "\ud800",
    "`\udfff`",
    "\U0001f600",
    "\x1b[31mage",
    "age\r\x1b]0;x\x07",
    "+",
    "-",
    "*",
    "^",
    ":",
    "/",
    "(",
    ")",
    "]",
    ",",
    "=",
    "age +",
    "age -",
    "age *",
    "age :",
    "age ^",
    "* age",
    "age + * crp",
    "((age)",
    "(age))",
    ")(",
    "1 2",
    "age 1",
    "unknown",
    "self",
    "None",
    "True + nothing",
    "__builtins__",
    "__dict__",
]
ALONE = [
    "~",
    "death ~",
    "",
    " \t\r\n",
    "(age + crp)^-1",
    "(age + crp)^(2)",
    "a" * 10_000,
    "`" * 10_000,
    "(" * 10_000,
    "(" * 2_000 + "age" + ")" * 2_000,
    "log(" * 1_000 + "age" + ")" * 1_000,
    "I(" + "(" * 1_000 + "age" + ")" * 1_000 + ")",
    "-" * 9_000 + "age",
    "I(" + "-" * 4_000 + "age)",
    "~" * 9_000,
    "age" * 3_000_000,
    "age + " * 1_000_000,
    "\x00" * 5_000_000,
    "1" * 9_999,
    "I(0." + "1" * 9_000 + " * age)",
    "(" + "+".join(f"x{k}" for k in range(40)) + ")^9",
    "(" + "+".join(f"x{k}" for k in range(40)) + ")^20",
    "*".join(f"x{k}" for k in range(40)),
    ":".join(f"x{k}" for k in range(40)),
    "/".join(f"x{k}" for k in range(40)),
    "*".join("(" + "+".join(f"x{k}" for k in range(40)) + ")" for _ in range(30)),
    "((x0+x1+x2+x3+x4+x5+x6+x7+x8)^9 * (x10+x11+x12+x13)^9)^9",
    "+".join(f"log(x{k % 40} + {k})" for k in range(5_000)),
    "I(" + "+".join(["age"] * 2_000) + ")",
    "bs(age, knots=[" + ",".join(map(str, range(2_000))) + "], range=[-1, 9999])",
    "age, " * 2_000 + "age ~ crp",
    "`" + "x" * 5_000 + "`",
]
AROUND = ["{}", "age + {}", "{} + crp", "death ~ {}", "({})", "log({})", "sex * {}", "age:{} - 1"]


def formulas() -> list[str]:
    made = [around.replace("{}", text) for text in CODE for around in AROUND]
    return list(dict.fromkeys(made + ALONE))


def answer(text: str) -> str:
    """The sentence; nothing where the formula is taken."""
    try:
        sv.Formula(text).design(SCHEMA)
    except InvalidInput as refused:
        return str(refused)
    return ""


def test_a_thousand_hostile_formulas_get_a_sentence():
    hostile = formulas()
    assert len(hostile) > 1_000
    taken, most = [], 0
    for text in hostile:
        sentence, calls = counted(lambda text=text: answer(text))
        most = max(most, calls)
        if not sentence:
            taken.append(text)
        assert len(sentence) < 500, text[:80]
        assert all(line.isprintable() for line in sentence.split("\n")), text[:80]
    assert taken == []
    assert most < 1_000_000  # none of them makes the reader go round and round


def test_noise_is_a_formula_or_gets_a_sentence():
    """Pieces of formulas at random, and formulas with characters changed: nothing else is ever raised."""
    draw = random.Random(1)
    words = "age crp sex + - * : ^ 2 0 1 ( ) ~ C( log( I( , ` bs( knots=[ ] offset( / ** [ = .5 1e é \u202e ' _"
    pieces = [*words.split(), " ", "range=[0, 99]"]
    good = "death ~ (age + sex)^2 / crp - 1 + log(crp + 1.5) + bs(age, knots=[4, 5], range=[0, 9]) + offset(x1 * `x2`)"
    taken = 0
    for _ in range(3_000):
        if draw.random() < 0.5:
            text = "".join(draw.choices(pieces, k=draw.randrange(1, 12)))
        else:
            at, length = draw.randrange(len(good)), draw.randrange(4)
            text = good[:at] + "".join(draw.choices(pieces, k=draw.randrange(3))) + good[at + length :]
        sentence = answer(text)
        taken += not sentence
        assert len(sentence) < 500
        assert all(line.isprintable() for line in sentence.split("\n"))
    assert 30 < taken < 1_500
