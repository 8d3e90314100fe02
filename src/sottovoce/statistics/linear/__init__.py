"""Linear models from sums of products: tests, robust errors, penalties, and principal components."""
