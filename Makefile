# Every target prepares what it needs; `make test` on a fresh Debian machine is enough.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
WORKERS ?= 3
DURATION ?= 60
SEEDS ?= 50

# Tests start Python some thousand times. What is compiled once is kept, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup run demo test most spark again lint format compat bench fuzz sim chaos generate clean

help:
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(STAMP) ## prepare .venv, and the Debian packages that tests use where we may

COMPILED := $(addprefix src/penstock/wire/,records.py choosing.py holding.py places.py)
$(STAMP): pyproject.toml requirements.lock setup.py $(COMPILED) tools/setup.sh
	@PYTHON=$(PYTHON) bash tools/setup.sh $(VENV)
	@touch $@

run: setup ## start a broker on 127.0.0.1:9092, data in ./penstock-data
	$(BIN)/penstock serve

demo: setup ## the main job from end to end, with what it does printed
	$(BIN)/python -m tools.demo

test: most spark ## the suite; what needs Spark after the rest, which has the machine for itself

most: setup ## the suite but for Spark
	$(BIN)/pytest -q -m "not chaos" -n $(WORKERS) --dist worksteal --ignore=tests/compat --ignore=tests/spark

spark: setup ## what needs Spark
	$(BIN)/pytest -q -m "not chaos" -n 2 tests/spark

again: setup ## what failed the last time, one at a time
	$(BIN)/pytest -q --last-failed --last-failed-no-failures none

lint: setup ## formatting, lint, types, imports, generated files
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m penstock.wire.generate --check
	$(BIN)/python -m tools.pages --check

format: setup ## format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

generate: setup ## write the generated messages and pages anew
	$(BIN)/python -m penstock.wire.generate
	$(BIN)/python -m tools.pages

compat: setup ## clients of other languages, as far as their tools are installed
	bash tools/compat.sh $(BIN)

bench: setup ## measure; results go to bench/results
	$(BIN)/python -m bench.run

fuzz: setup ## fuzz every decoder for DURATION seconds each
	@for target in tests/fuzz/fuzz_*.py; do echo "== $$target"; \
	  $(BIN)/python $$target -max_total_time=$(DURATION) -close_fd_mask=1 || exit 1; done

sim: setup ## the broker in simulated worlds, SEEDS of them for each scenario and size
	$(BIN)/python -m penstock.sim --seeds $(SEEDS)

chaos: setup ## broker processes on every store that meet with faults by chance, for DURATION seconds each
	SECONDS=$(DURATION) $(BIN)/pytest -q -s tests/chaos
	$(BIN)/pytest -q -m chaos --ignore=tests/chaos --ignore=tests/compat

clean: ## remove what was built
	rm -rf $(VENV) build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src -name '*.so' -delete
	find src tests tools bench -name __pycache__ -prune -exec rm -rf {} +
