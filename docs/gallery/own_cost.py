"""A cost of your own, from its value and gradient: Poisson regression of counts at six practices."""

import matplotlib.pyplot as plt
import numpy as np

import sottovoce as sv


def poisson(A: np.ndarray, counts: np.ndarray) -> sv.FromGradient:
    """The negative log likelihood of counts with the rates ``exp(Ax)``, but for a constant."""
    return sv.FromGradient(
        value=lambda x: np.sum(np.exp(A @ x) - counts * (A @ x)),
        gradient=lambda x: A.T @ (np.exp(A @ x) - counts),
        hessian=lambda x: A.T @ (np.exp(A @ x)[:, None] * A),  # may be left out; faster with it
        dim=A.shape[1],
    )


rng = np.random.default_rng(2)
network = sv.Network.complete(6)
ages = rng.uniform(20, 80, size=(6, 12))
visits = rng.poisson(np.exp(-0.6 + ages / 40))
A = np.stack([np.ones_like(ages), ages / 50 - 1], axis=2)  # columns of size 1
result = sv.solve(sv.Problem(network, [poisson(A[i], visits[i]) for i in range(6)]), c=3.0, tol=1e-7)
x = result.x[0]
assert np.abs(np.einsum("ij,ijk->k", np.exp(A @ x) - visits, A)).max() < 1e-4  # the gradient of all rows together

figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
axes.plot(ages.ravel(), visits.ravel(), ".", color="#999999", label="72 patients, 12 at each practice")
line = np.linspace(20, 80)
axes.plot(line, np.exp(x[0] + x[1] * (line / 50 - 1)), color="#D55E00", label="as agreed on")
axes.set(xlabel="age", ylabel="visits a year")
axes.legend()
figure.savefig("own_cost.png", dpi=110)
