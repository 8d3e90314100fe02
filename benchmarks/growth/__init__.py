"""Growth curves: time and memory per directed edge from a hundred nodes to ten million, with peers beside them."""
