# Everything runs from the virtual environment .venv in the checkout.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test lint bench clean

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "sottovoce needs Python 3.11 or later; set PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	@$(BIN)/sottovoce demo

# Two processes, so that linear algebra needs no threads of its own: they would only wait for each other.
test: lint
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 3

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis benchmarks/results benchmarks/build
