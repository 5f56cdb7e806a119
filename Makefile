# Two commands to know: `make demo` and `make test`. Both set up .venv first; a second run starts at once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all fuzz lint types format reference pictures bench bench-scale bench-spark bench-identity clean

demo: $(VENV)/.core
	$(BIN)/kohort demo

# Python keeps the bytecode of what it imports: tests start many processes, and each would compile the package anew.
test test-all fuzz: export PYTHONDONTWRITEBYTECODE :=

# Kernels are compiled first, once (tests/compile_kernels.py). Files stay with one worker: two that need the same one that is
# missing there would both compile it.
test: $(VENV)/.dev
	$(BIN)/pytest -q -n auto --dist loadfile

# Tests are dealt one by one; those of Spark stay with one worker, which starts their clusters one after the other.
test-all: $(VENV)/.dev
	$(BIN)/pytest -q -n auto --dist loadgroup -m "slow or not slow"

# A longer run of the suite's generators; a failing case names the seed and the number that make it again.
fuzz: CASES ?= 20000
fuzz: SEED := $(or $(SEED),$(shell date +%s))
fuzz: $(VENV)/.dev
	@echo "make fuzz CASES=$(CASES) SEED=$(SEED)"
	KOHORT_FUZZ_CASES=$(CASES) KOHORT_FUZZ_SEED=$(SEED) $(BIN)/pytest -q -n auto -m "slow or not slow" tests/journeys/test_fuzz.py

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

types: $(VENV)/.dev
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# The pages of docs/reference, from the code.
reference: $(VENV)/.dev
	$(BIN)/python docs/generate_reference.py

# The pictures of README and tutorial, from a release.
pictures: $(VENV)/.dev
	$(BIN)/python docs/generate_pictures.py

bench: $(VENV)/.dev
	KOHORT_DATA=$${KOHORT_DATA:-../shared/data} $(BIN)/python -m benchmarks.run

# One machine, a table larger than memory: make bench-scale ROWS=100000000 (5 GB of disk, a quarter of an hour).
bench-scale: ROWS ?= 10000000
bench-scale: $(VENV)/.dev
	ROWS=$(ROWS) $(BIN)/python -m benchmarks.scale

# The same on a Spark cluster of two workers on this machine.
bench-spark: ROWS ?= 2000000
bench-spark: $(VENV)/.dev
	ROWS=$(ROWS) $(BIN)/python -m benchmarks.spark_scale

# Every engine's release against memory's, 48 jobs.
bench-identity: $(VENV)/.dev
	KOHORT_DATA=$${KOHORT_DATA:-../shared/data} $(BIN)/python -m benchmarks.identity

clean:
	rm -rf $(VENV) kohort-demo

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $@ $(VENV)/.core
