"""Private decentralised optimisation."""
