"""Random nasty cases of every analysis, against outside oracles: ``tests/differential.py`` plays them."""
