PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
FUZZ_SECONDS ?= 600

.PHONY: help install demo test test-slow fuzz check format clean

help:
	@echo "make demo       train three real predictors and write runs/demo/ (about five minutes)"
	@echo "make test       run the tests"
	@echo "make test-slow  run the long tests too"
	@echo "make fuzz       feed the readers random bytes for FUZZ_SECONDS (600)"
	@echo "make check      lint, types, import rules"

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/python benchmarks/demo.py

test: $(STAMP)
	$(BIN)/python -m pytest -q -n 2 -m "not slow"

test-slow: $(STAMP)
	$(BIN)/python -m pytest -q -n 2

fuzz: $(STAMP)
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[fuzz]"
	$(BIN)/python tests/fuzz/fuzz_tables.py --seconds $(FUZZ_SECONDS) --folder runs/fuzz

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) runs .pytest_cache .mypy_cache .ruff_cache
