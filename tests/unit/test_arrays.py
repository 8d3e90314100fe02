"""Arrays are tables of number columns: ``private_x`` and ``Study.x`` give one answer, and can do the same."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import InvalidInput

RING = sv.Network.ring(4)
SIZES = (3, 0, 40, 57)
NAMES = ["dose (mg)", "age"]
LEVELS = ["none", "some", "much"]
SAID_OTHERWISE = {"formula", "schema"}  # of arrays there is neither


def columns():
    """Numbers of all parties, by name; none lies on a short decimal but ages."""
    rng = np.random.default_rng(5)
    n = sum(SIZES)
    dose, age = rng.normal(size=n), rng.integers(20, 90, n) / 2
    eta = 0.4 * dose - 0.02 * age
    return {
        "dose (mg)": dose,
        "age": age,
        "cost": np.exp(eta / 3) * rng.gamma(5.0, size=n),
        "hit": (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float),
        "visits": rng.poisson(np.exp(eta)).astype(float),
        "pain": rng.integers(0, 3, n).astype(float),
        "time": rng.exponential(np.exp(-eta)),
        "weights": rng.uniform(0.5, 3.0, n),
        "exposure": rng.uniform(0.2, 2.0, n),
        "offset": rng.normal(size=n),
    }


COLUMNS = columns()
CUTS = np.cumsum(SIZES)[:-1]


def parts(name):
    return np.split(COLUMNS[name], CUTS)


def shards(response):
    rows = np.split(np.column_stack([COLUMNS[name] for name in NAMES]), CUTS)
    return list(zip(rows, parts(response), strict=True))


@pytest.fixture(scope="module")
def study():
    """What the shards are, as tables that are read through Arrow; the pain by its words."""
    schema = {name: "number" for name in COLUMNS}
    schema |= {"pain": {"type": "category", "levels": LEVELS}, "hit": "boolean"}
    tables = [dict(zip(COLUMNS, own, strict=True)) for own in zip(*map(parts, COLUMNS), strict=True)]
    for table in tables:
        table["pain"] = [LEVELS[int(place)] for place in table["pain"]]
        table["hit"] = table["hit"] == 1
    return sv.Study(RING, tables, schema=schema)


def public(answer):
    """Every number in all its digits."""
    return {name: repr(value) for name, value in answer.to_dict().items() if name not in SAID_OTHERWISE}


def of_pairs(ask, response, further=(), **options):
    given = {name: parts(name) for name in further}
    y = [part for part in parts(response)]
    frames = [
        {**dict(zip(NAMES, rows.T, strict=True)), response: own}
        for (rows, _), own in zip(shards(response), y, strict=True)
    ]
    pandas = pytest.importorskip("pandas")
    return ask(RING, [pandas.DataFrame(frame) for frame in frames], target=response, **given, **options)


X = "`dose (mg)` + age"
WEIGHED = {"weights": "weights"}
POISSON = {"family": "poisson"}
ANSWERS = {
    "linear": (sv.private_linear, "cost", (), {}, f"cost ~ {X}", {}),
    "weighted": (sv.private_linear, "cost", ("weights",), {"robust": "HC2"}, f"cost ~ {X}", WEIGHED),
    "no intercept": (sv.private_linear, "cost", (), {"intercept": False}, f"cost ~ 0 + {X}", {}),
    "ridge": (sv.private_ridge, "cost", (), {"folds": 3, "fold_seed": 4}, f"cost ~ {X}", {}),
    "lasso": (sv.private_lasso, "cost", (), {"l1_ratio": 0.5, "standardize": False}, f"cost ~ {X}", {}),
    "logistic": (sv.private_glm, "hit", (), {"robust": "HC1"}, f"hit ~ {X}", {}),
    "penalised": (sv.private_glm, "hit", ("weights",), {"ridge": 2.5, "link": "probit"}, f"hit ~ {X}", WEIGHED),
    "rates": (
        sv.private_glm, "visits", ("exposure", "offset"), POISSON, f"visits ~ {X} + offset(offset)",
        {"exposure": "exposure"},
    ),
    "gamma": (sv.private_glm, "cost", (), {"family": "gamma", "link": "log"}, f"cost ~ {X}", {}),
}  # fmt: skip


@pytest.mark.parametrize("asked", ANSWERS.values(), ids=ANSWERS)
def test_regressions_of_pairs_and_of_tables_are_one(study, asked):
    face, response, further, options, formula, named = asked
    one = of_pairs(face, response, further, **options)
    own = {key: value for key, value in options.items() if key != "intercept"}
    two = getattr(study, face.__name__.removeprefix("private_"))(formula, **own, **named)
    assert public(one) == public(two)
    assert one.shown == two.shown
    assert (one.formula, one.schema) == ("", "")
    rows = np.column_stack([COLUMNS[name] for name in NAMES])
    more = {"offset": COLUMNS["offset"], "exposure": COLUMNS["exposure"]} if "offset" in further else {}
    np.testing.assert_allclose(one.predict(rows, **more), two.predict(COLUMNS), rtol=1e-14)


@pytest.mark.parametrize("options", [{}, {"ridge": 0.7, "weights": "weights"}], ids=["plain", "penalised"])
def test_categories_of_arrays_and_of_tables_are_one(study, options):
    given = {**options, "weights": parts("weights")} if options else {}
    one = sv.private_multinomial(RING, shards("pain"), LEVELS, names=NAMES, **given)
    two = study.multinomial(f"pain ~ {X}", **options)
    assert {**public(one), "response": ""} == {**public(two), "response": ""}
    assert (one.response, two.response) == ("y", "pain")


@pytest.mark.parametrize("options", [{}, {"baseline": "grid", "grid": [0.5, 1.0, 2.0, 9.0]}], ids=["party", "grid"])
def test_times_of_arrays_and_of_tables_are_one(study, options):
    triples = [(rows, time, hit) for (rows, time), hit in zip(shards("time"), parts("hit"), strict=True)]
    one = sv.private_cox(RING, triples, names=NAMES, **options)
    two = study.cox(f"time, hit ~ {X}", **options)
    assert public(one) == {**public(two), **({"event": public(one)["event"]} if "event" in public(one) else {})}


def test_columns_of_arrays_and_of_tables_are_one(study):
    pandas = pytest.importorskip("pandas")
    names = ["dose (mg)", "age", "cost"]
    frames = [pandas.DataFrame(dict(zip(names, own, strict=True))) for own in zip(*map(parts, names), strict=True)]
    for one, two in (
        (sv.private_mean(RING, frames), study.mean(names)),
        (sv.private_mean(RING, [frame["age"] for frame in frames]), study.mean("age")),
        (sv.private_variance(RING, frames, ddof=0), study.variance(names, ddof=0)),
        (sv.private_covariance(RING, frames), study.covariance(names)),
        (sv.private_pca(RING, frames), study.pca(names)),
        (
            sv.private_pca(RING, frames, standardize=True, components=1),
            study.pca(names, standardize=True, components=1),
        ),
        (
            sv.private_histogram(RING, [frame["age"] for frame in frames], bins=[20.0, 30.0, 45.0]),
            study.histogram("age", bins=[20.0, 30.0, 45.0]),
        ),
    ):
        assert public(one) == public(two)
        assert one.shown == two.shown


FACES = [name for name in dir(sv) if name.startswith("private_") and name != "private_meta_analysis"]
OF_ARRAYS = {"network", "shards", "target", "names", "intercept", "offset", "levels", "gone"}
OF_TABLES = {"self", "formula", "columns", "column"}


@pytest.mark.parametrize("name", FACES)
def test_what_one_can_the_other_can(name):
    """The same options, but for those that say what the columns are."""
    arrays = set(inspect.signature(getattr(sv, name)).parameters)
    tables = set(inspect.signature(getattr(sv.Study, name.removeprefix("private_"))).parameters)
    assert arrays - OF_ARRAYS == tables - OF_TABLES


@pytest.mark.parametrize("name", FACES)
@pytest.mark.parametrize("option", ["scale", "mask", "overlay", "schedule", "seed", "tol", "max_iter", "max_rounds"])
def test_options_of_older_versions_get_a_sentence(name, option):
    more = {"levels": LEVELS} if name == "private_multinomial" else {}
    more |= {"bins": [0.0, 1.0]} if name == "private_histogram" else {}
    with pytest.raises(InvalidInput, match=f"{option} is gone"):
        getattr(sv, name)(RING, shards("cost"), **{option: 1}, **more)


def test_names_that_are_taken():
    pairs = shards("cost")
    fit = sv.private_linear(RING, pairs, names=["y", "weights"], weights=parts("weights"))
    assert (fit.terms, fit.response, fit.weights) == (("Intercept", "y", "weights"), "(y)", "(weights)")
    with pytest.raises(InvalidInput, match="a column is called 'a`b': a name has no back-quotes here"):
        sv.private_linear(RING, pairs, names=["a`b", "c"])


@pytest.mark.parametrize(
    ("further", "sentence"),
    [
        (
            {"weights": [[1.0], [], [1.0], []]},
            r"party 0: weights must be 2 finite numbers, one per row; got shape \(1,\)",
        ),
        ({"weights": [[1.0, 0.0], [], [1.0], []]}, "party 0: weights must be positive numbers. Leave out rows"),
        ({"exposure": [[1.0, 1.0], [], [-1.0], []]}, "party 2: exposure must be positive numbers"),
        ({"offset": [[1.0, np.inf], [], [1.0], []]}, "party 0: offset must be 2 finite numbers"),
        ({"weights": [[1.0, 1.0]]}, "weights must have one entry per party, 4; got 1"),
    ],
)
def test_numbers_of_rows_that_do_not_fit(further, sentence):
    pairs = [([[1.0], [2.0]], [0, 1]), (np.empty((0, 1)), []), ([[3.0]], [2]), (np.empty((0, 1)), [])]
    with pytest.raises(InvalidInput, match=sentence):
        sv.private_glm(RING, pairs, family="poisson", **further)


def test_many_columns_with_long_names():
    """A formula of 300 names of 60 letters, which no person writes."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 9, (40, 300)).astype(float)
    names = [f"a name that is much longer than any that people give {k:07d}" for k in range(300)]
    shards = [(own, own[:, 0]) for own in np.split(rows, [1, 1, 12])]
    fit = sv.private_glm(RING, shards, family="poisson", ridge=1.0, names=names)
    assert fit.terms == ("Intercept", *names)
