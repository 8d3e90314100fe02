"""Linear models in which parties differ, against the profile likelihood in numbers of 80 bits, on a fine grid of ratios
and from its best point by the root of the slope."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .case import Case
from .climbs import Design, Wide, cholesky, inverse_of, wide
from .exactly import fractions
from .linear import exact_design
from .models import NEARLY, TOO_NEAR, asked_of, explained

# Everything but the root is exact in the package, and the root is that of a secant: its last step is below 2^-22 of the
# logarithm of the ratio, and what is left is of the order of the last two steps multiplied.
CLOSE = 1e-12
PLACES = np.linspace(-32, 24, 225)  # logarithms of ratios, a quarter apart


@dataclass
class Profile:
    """What the likelihood needs: rows about the means of their party, columns at right angles, and of each party its
    rows ``n`` and means; sums over parties have positive terms then, whatever the ratio."""

    Z: Wide
    y: Wide
    n: Wide
    k: Wide
    s: Wide
    reml: bool
    logs: Any  # of the determinant of the columns as they are

    @classmethod
    def of(cls, design: Design, y: Wide, party: Any, reml: bool) -> Profile:
        """Of rows."""
        groups, Z, y = np.unique(party), design.Z.copy(), y.copy()
        n = np.array([(party == each).sum() for each in groups], np.longdouble)
        k = np.array([Z[party == each].sum(axis=0) for each in groups]) / n[:, None]
        s = np.array([y[party == each].sum() for each in groups]) / n
        place = np.searchsorted(groups, party)
        Z, y = Z - k[place], y - s[place]
        Z[:, 0] = 0  # of the ones
        return cls(Z, y, n, k, s, reml, 2 * np.log(np.abs(np.diag(design.R))).sum())

    @property
    def df(self) -> int:
        return len(self.y) - self.Z.shape[1] * self.reml

    def at(self, x: Any) -> dict[str, Any]:
        """Estimates at a ratio ``exp(x)``, the likelihood and its slope in the ratio."""
        theta = np.exp(np.longdouble(x)) if np.isfinite(x) else np.longdouble(0)
        c = self.n / (1 + self.n * theta)
        A = self.Z.T @ self.Z + self.k.T @ (c[:, None] * self.k)
        size = np.sqrt(np.diag(A))
        inverse = inverse_of(A / np.outer(size, size)) / np.outer(size, size)
        beta = inverse @ (self.Z.T @ self.y + self.k.T @ (c * self.s))
        for _ in range(2):  # what rounding has left
            left, r = self.y - self.Z @ beta, self.s - self.k @ beta
            beta = beta + inverse @ (self.Z.T @ left + self.k.T @ (c * r))
        left, r = self.y - self.Z @ beta, self.s - self.k @ beta
        rss = left @ left + (c * r * r).sum()
        scale = rss / self.df
        logs = np.log1p(self.n * theta).sum()
        if self.reml:
            lower = cholesky(A / np.outer(size, size))
            logs = logs + 2 * np.log(np.diag(lower) * size).sum() + self.logs
        llf = -(self.df * (np.log(2 * np.longdouble(np.pi) * scale) + 1) + logs) / 2
        slope = ((c * r) ** 2).sum() / scale - c.sum()
        if self.reml:
            slope += (c**2 * ((self.k @ inverse) * self.k).sum(axis=1)).sum()
        return {"theta": theta, "beta": beta, "V": scale * inverse, "scale": scale, "llf": llf, "slope": slope}

    def best(self) -> tuple[dict[str, Any], float, float]:
        """The maximum, how flat it is, and by how much it is above every other one."""
        heights = np.array([float(self.at(x)["llf"]) for x in PLACES])
        tops = [k for k in range(1, len(PLACES) - 1) if heights[k] >= heights[k - 1] and heights[k] > heights[k + 1]]
        zero = self.at(-np.inf)
        found = [(zero, 0.0)]
        for k in tops:
            low, high = np.longdouble(PLACES[k - 1]), np.longdouble(PLACES[k + 1])
            if not (self.at(low)["slope"] > 0 > self.at(high)["slope"]):
                continue
            while high - low > 1e-18 * max(1, abs(low)):
                middle = (low + high) / 2
                if middle in (low, high):
                    break
                low, high = (middle, high) if self.at(middle)["slope"] > 0 else (low, middle)
            x = (low + high) / 2
            # d slope / dx, of d llf / dx = theta slope / 2
            bend = float((self.at(x - 1e-4)["slope"] - self.at(x + 1e-4)["slope"]) * self.at(x)["theta"] / 4e-4)
            found.append((self.at(x), bend))
        found.sort(key=lambda each: float(each[0]["llf"]))
        above = float(found[-1][0]["llf"] - found[-2][0]["llf"]) if len(found) > 1 else np.inf
        return *found[-1], above


def mixed(case: Case) -> None:
    """By REML and by maximum likelihood."""
    rng = case.rng
    world, names, _ = explained(case, 12)
    formula = f"y ~ {' + '.join(names)}"
    asked = asked_of(world, formula, names, even=bool(rng.random() < 0.4))
    # The response is drawn beside the parties that rows are at, which differ by anything up to 1e4 deviations.
    frame, dealt = asked.dealt.frame, asked.dealt
    party = frame["party"].to_numpy()
    x = frame["x0"].astype(float).fillna(0.0).to_numpy()
    spread = float(rng.choice([0.0, 0.1, 1.0, 30.0, 1e4]))
    y = (x - x.mean()) / (x.std() or 1.0) + spread * rng.normal(size=dealt.parties)[party] + rng.normal(size=len(x))
    y = np.array([float(f"{v:.9g}") for v in (y + rng.choice([0, 0, 1e3])) * 10 ** rng.uniform(-3, 3)])
    study = dealt.with_number("y", y)
    reml = bool(rng.random() < 0.5)
    rows = asked.rows.assign(y=y[asked.rows.index])
    design = Design(exact_design(asked.names, asked.rows))
    n, p = len(rows), len(design.kept)
    where = rows["party"].to_numpy()
    holders = len(set(where.tolist()))
    answers = 2 <= holders < n and n > p and _left_within(design.Z, where, rows["y"].to_numpy())
    rules = [NEARLY] if design.nearness < TOO_NEAR else []
    method = "reml" if reml else "ml"
    fit = case.ask(lambda: study.mixed(formula, method=method), answers=answers, rules=rules)
    if fit is None:
        return
    case.equal("terms", sorted(fit.terms), sorted(asked.names[k] for k in design.kept))
    if case.wrong:
        return
    exact = fractions(rows["y"])
    mean = exact.sum() / len(exact)
    profile = Profile.of(design, wide(exact - mean), where, reml)
    top, bend, above = profile.best()
    pooled = profile.at(-np.inf)
    case.same("llf_pooled", fit.llf_pooled, float(pooled["llf"]), CLOSE, abs(float(pooled["llf"])) + n)
    case.same("llf", fit.llf, float(top["llf"]), CLOSE, abs(float(top["llf"])) + n)
    if above < 1e-6:
        return  # two maxima as high as each other, but for rounding
    loose = CLOSE if bend == 0 else CLOSE * max(1.0, 1 / bend)
    case.same("ratio", fit.tau2 / fit.scale, float(top["theta"]), loose)
    case.same("scale", fit.scale, float(top["scale"]), loose)
    beta = design.inverse @ top["beta"]
    beta[0] += wide(np.array([mean], object))[0]
    V = design.inverse @ top["V"] @ design.inverse.T
    place = [design.kept.index(asked.names.index(term)) for term in fit.terms]
    bse = np.sqrt(np.diag(V).astype(float))
    b = beta.astype(float)
    case.same("params", fit.params, b[place], loose, (np.abs(b) + bse)[place])
    case.same("bse", fit.bse, bse[place], loose)
    case.equal("groups", fit.groups, holders)


def _left_within(Z: Wide, party: Any, y: Any) -> bool:
    """Whether something is left of the response within parties beside the columns."""
    groups = np.unique(party)
    plain = np.column_stack([np.asarray(Z, np.float64), party[:, None] == groups])
    rank = np.linalg.matrix_rank(plain, tol=1e-9 * np.sqrt(len(y)))
    if rank >= len(y):
        return False
    centred = y - y.mean()
    left = centred - plain @ np.linalg.lstsq(plain, centred, rcond=1e-12)[0]
    return bool((left**2).sum() > 1e-20 * (centred**2).sum())


KINDS: dict[str, Callable[[Case], None]] = {"mixed": mixed}
