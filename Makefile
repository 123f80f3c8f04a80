# Everything a developer types. Each target builds what it needs in .venv: `make run` what the product needs (run.lock,
# tens of megabytes), everything else the tools, Spark and peers on top (requirements.lock). Tests of Spark ask for Java.
SHELL := /bin/bash
.DEFAULT_GOAL := help

VENV  ?= .venv
SEEDS ?= 500
JOBS  ?= 2
ARGS  ?=

BIN    := $(VENV)/bin
RUN    := $(VENV)/.installed-run
STAMP  := $(VENV)/.installed
PIP    := $(BIN)/python -m pip --quiet --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest
CODE   := src tests tools bench examples faults

# Tests in one process share the cores test by test; those of real processes file by file, as the tests of a file share
# their brokers. Those that hold a rate or an outage against the clock run alone, so that nothing disturbs it.
PARALLEL_TESTS := tests/unit tests/property tests/simulation tests/conformance tests/faults tests/tidy
ALONE_TESTS    := $(addprefix tests/integration/test_,causal_chat.py faults.py kill.py management.py roaming.py)
PROCESS_TESTS  := $(filter-out $(ALONE_TESTS),$(sort $(wildcard tests/integration/test_*.py)))
# What a release of Python can break; the rest runs on the oldest one alone.
NEWEST_TESTS   := tests/unit tests/property tests/conformance
# All tests of the pipeline share one Spark session.
SPARK_TESTS    := tests/pipeline
# With ARGS='-k ...' a part may have nothing to run (pytest's code 5); without ARGS that is an error.
NONE_SELECTED  := $(if $(ARGS),|| [ $$? = 5 ])

.PHONY: help
help:  ## This list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Setting up -----------------------------------------------------------------------------------------------------
$(RUN): run.lock pyproject.toml
	@python=$$(PYTHON="$(PYTHON)" tools/python.sh) || exit 1; \
	if ! $(BIN)/python -c 'import pip' >/dev/null 2>&1; then \
		echo "Building $(VENV) with $$python"; \
		"$$python" -m venv --clear $(VENV) || exit 1; \
	fi
	@$(PIP) install --require-hashes -r run.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(STAMP): $(RUN) requirements.lock
	@echo "Installing what developers need into $(VENV): 1.3 GB, most of it Spark"
	@$(PIP) install --require-hashes -r requirements.lock
	@touch $@

.PHONY: setup java
setup: $(STAMP)  ## Build the virtual environment with everything in it
java:
	@tools/java.sh >/dev/null

# Running --------------------------------------------------------------------------------------------------------
.PHONY: run test test-processes test-spark test-oldest-spark test-newest test-interpreter evaluate bench soak faults
run: $(RUN)  ## The main job in small: a cluster, traffic of every class and on topics, a killed broker (ARGS=--keep leaves it running)
	@$(BIN)/causeway demo $(ARGS)
	@echo "To have the command \`causeway\` here: . $(BIN)/activate" >&2

# Tests start hundreds of brokers and commands. Each finds the code compiled by the first, outside the tree, also where
# Python was told to leave no compiled code behind.
test test-processes test-spark test-newest: export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pycache
test test-processes test-spark test-newest: export PYTHONDONTWRITEBYTECODE :=
test: java $(STAMP)  ## Every test
	$(PYTEST) -n $(JOBS) --dist worksteal $(PARALLEL_TESTS) $(ARGS) $(NONE_SELECTED)
	@echo "Real processes and Spark beside each other: what they print comes when each is done"
	@$(MAKE) --no-print-directory -j 2 --output-sync=target test-processes test-spark
	$(PYTEST) $(ALONE_TESTS) $(ARGS) $(NONE_SELECTED)

# Both wait more than they compute: for brokers, and for Java.
test-processes: $(STAMP)
	$(PYTEST) -n $(JOBS) --dist loadfile $(PROCESS_TESTS) $(ARGS) $(NONE_SELECTED)
test-spark: java $(STAMP)
	$(PYTEST) $(SPARK_TESTS) $(ARGS) $(NONE_SELECTED)

# The range of PySpark in pyproject.toml: the lock has its newest release.
test-oldest-spark: java $(STAMP)  ## The connector and a job on the oldest release of PySpark that we support
	@$(PIP) install --no-deps --upgrade --target build/oldest-spark 'pyspark==4.2.0'
	PYTHONPATH=$(CURDIR)/build/oldest-spark $(PYTEST) $(wildcard tests/pipeline/test_connector*.py) tests/pipeline/test_rates.py $(ARGS)

test-newest:  ## What depends on the interpreter, on the newest Python of this machine, in an environment of its own
	@python=$$(PYTHON= tools/python.sh newest) && echo "Testing with $$python" && \
	$(MAKE) --no-print-directory VENV=build/newest PYTHON="$$python" test-interpreter
test-interpreter: $(STAMP)
	$(PYTEST) -n $(JOBS) --dist worksteal $(NEWEST_TESTS) $(ARGS) $(NONE_SELECTED)

evaluate: $(STAMP)  ## The papers' experiments in small, in build/evaluation; fails if a claim that held does not hold any more
	@$(BIN)/causeway evaluate all --quick --strict --jobs $(JOBS) --out build/evaluation $(ARGS)

bench: $(STAMP)  ## Throughput and round trips beside the machine's limit and the peers installed here
	@$(BIN)/python -m bench $(ARGS)

soak: $(STAMP)  ## The simulator with SEEDS seeds (500) that nobody has run before; fails on any, and prints how to see it again
	@$(BIN)/python -m causeway.sim.soak --seeds $(SEEDS) --jobs $(JOBS) $(ARGS)

faults: $(STAMP)  ## Brokers and clients on hosts of their own, hurt in phases; every guarantee checked (ARGS="PHASE ... --seed N")
	@$(BIN)/python -m faults $(ARGS)

# Checking -------------------------------------------------------------------------------------------------------
.PHONY: check lint types layers tidy generated
check: lint types layers generated tidy  ## Everything that can be wrong without running it
lint: $(STAMP)
	$(BIN)/ruff check --no-cache $(CODE)
	$(BIN)/ruff format --no-cache --check $(CODE)
types: $(STAMP)
	$(BIN)/mypy
layers: $(STAMP)
	$(BIN)/lint-imports --no-cache
generated: $(STAMP)
	$(BIN)/python tools/gen_docs.py --check
	$(BIN)/python tools/adr_index.py --check
	$(BIN)/python tools/unasync.py --check
tidy: $(STAMP)
	$(PYTEST) -q tests/tidy

.PHONY: fmt generate lock clean
fmt: $(STAMP)  ## Format the code and mend what can be mended
	$(BIN)/ruff check --no-cache --fix $(CODE)
	$(BIN)/ruff format --no-cache $(CODE)

generate: $(STAMP)  ## Write the generated documents and the sync client anew
	$(BIN)/python tools/gen_docs.py
	$(BIN)/python tools/adr_index.py
	$(BIN)/python tools/unasync.py

COMPILE := build/lock/bin/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header \
	--no-emit-index-url --no-emit-find-links --quiet
# The lock has its own small environment: a broken lock must not stand in the way of mending it.
lock:  ## Resolve the dependencies anew into requirements.lock and, the same versions, run.lock
	@python=$$(PYTHON="$(PYTHON)" tools/python.sh) && "$$python" -m venv build/lock
	@build/lock/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(COMPILE) --extra bench --extra connect --extra evaluate --extra pipeline --group dev --upgrade --output-file requirements.lock
	$(COMPILE) --group build --constraint requirements.lock --upgrade --output-file run.lock

clean:  ## Remove what the other targets made
	rm -rf $(VENV) build dist .mypy_cache .hypothesis .benchmarks
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
