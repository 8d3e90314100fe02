# Everything runs from the virtual environment .venv in the checkout.
PYTHON ?= python3
BIN := .venv/bin
# The tests of parts, without those that play many runs or whole pages; and frames and links of the network.
FAST := tests/unit tests/runtime/test_frames.py tests/runtime/test_link.py \
	--ignore-glob='*attacks.py' --ignore-glob='*worst_and_calibrate.py' --ignore-glob='*tune.py' \
	-k 'not (documentation_runs or gallery_draw or thousand_nodes)'

.PHONY: setup demo studio test suite check lint style types docs studio-pictures wheel bench clean

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "sottovoce needs Python 3.11 or later; set PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	@$(BIN)/sottovoce demo

studio: setup
	@$(BIN)/sottovoce studio

# Types are checked beside the tests: without its cache, mypy keeps one core busy for half a minute.
test: style
	$(MAKE) --no-print-directory --jobs 2 types suite

# Four processes for two cores, since many tests wait for real parties; linear algebra has no threads of its own. Each
# begins with another quarter of the tests, so that those that wait run beside those that compute; who is done takes
# over from the others.
suite: setup
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 4 --dist worksteal

# Lint, types and the tests that take seconds, while you work.
check: lint
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 $(FAST)

lint: style types

style: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

# The site, in docs/_build/html. Warnings are errors.
docs: setup
	rm -rf docs/reference/api/generated
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --builder html docs docs/_build/html
	@echo docs/_build/html/index.html

# Those of docs/guides/studio.md, as the browser tests have just seen the pages.
studio-pictures: setup
	$(BIN)/python -m pytest tests/browser
	for page in playground learns paper; do cp out/studio/$$page-light-1280.png docs/images/studio-$$page.png; done
	cp out/studio/compare-done.png docs/images/studio-compare.png
	cp out/studio/live-killed.png docs/images/studio-live.png

# dist/sottovoce-*.whl, to install on machines that have no checkout.
wheel: setup
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

bench: setup
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis benchmarks/results/latest.json benchmarks/build dist \
		docs/_build docs/images/gallery docs/images/multi-centre-study docs/reference/api/generated docs/reference/commands
