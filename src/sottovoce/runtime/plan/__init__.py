"""Before a run: the plan of all parties, its audit, and the node file of each."""
