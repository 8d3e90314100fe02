"""The method, stochastic PDMM with subspace perturbation: a problem, a schedule and a mask; one node, one loop, and the
compiled engine with the same answers."""
