# Everything a fresh machine needs is done by these targets; only PyPI and (for browser tests) Debian are used.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Debian's browser and database for the tests that drive real servers; skipped visibly where apt is missing.
DEBIAN := chromium postgresql git

.PHONY: demo test test-all bench mutants docs up down lint setup browser clean

demo: setup
	$(BIN)/hush demo

# Compiled first, and kept also where PYTHONDONTWRITEBYTECODE is set: each worker would rewrite the asserts of all test
# files, nine seconds of work. Three at once on two cores, as tests wait for servers.
test: setup browser
	$(BIN)/python -m compileall -q hush hush_core flows tasks lab
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 3

# Also what is marked slow, and properties and statistics at their full size. Run it before an issue is called done.
test-all: setup browser
	$(BIN)/python -m compileall -q hush hush_core flows tasks lab
	PYTHONDONTWRITEBYTECODE= HUSH_TESTS=all $(BIN)/python -m pytest -n 2 -m ''

bench: setup
	@for script in lab/benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# Do the tests notice a mistake in the rooms on which the promise rests? About an hour; SAMPLE=0: planted ones only.
SAMPLE ?= 200
mutants: setup
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[mutants]'
	$(BIN)/python tests/mutants/run.py --sample $(SAMPLE)

# One site in build/docs: the pages, search, and the reference of the public functions from their docstrings.
docs: setup
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[docs]'
	$(BIN)/python -m sphinx -q -c docs -b html . build/docs
	@echo "build/docs/index.html"

# PostgreSQL, Prefect, MLflow and a worker on loopback, each with a login; CONFIG=job.yaml: with its schedule.
up: setup browser
	$(BIN)/hush serve $(CONFIG) --with-servers --postgres --background

down:
	$(BIN)/hush stop

lint: setup
	$(BIN)/ruff check . && $(BIN)/ruff format --check .

setup: $(STAMP)

# torch comes first and alone: asked for together with the rest, pip may take a CUDA build of several GB.
$(STAMP): pyproject.toml lab/pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[test]'
	$(BIN)/python -m pip install --quiet --no-deps -e lab
	$(BIN)/python -m compileall -q hush hush_core flows tasks lab
	$(BIN)/python -m flows.set_up
	touch $@

browser:
	@command -v chromium >/dev/null && ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || \
	  { command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(DEBIAN) >/dev/null; } || \
	  echo "chromium or postgresql is missing: the tests that need them are skipped"

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .ruff_cache .hypothesis
