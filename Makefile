PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
FUZZ_SECONDS ?= 600
OF_EXTRAS := attention/test_pyg.py cli/test_finetune.py estimators/test_ecosystem.py model/test_adapted.py \
	model/test_base_weights.py model/test_huggingface.py prediction/test_ray_engine.py tokens/test_base_tokenizer.py \
	tokens/test_base_vocabulary.py training/test_base.py

.PHONY: help install demo test test-slow test-core test-lowest notebooks notebooks-update docs fuzz check format \
	clean

help:
	@echo "make demo       train three real predictors and write runs/demo/ (about five minutes)"
	@echo "make test       run the tests"
	@echo "make test-slow  run the long tests too"
	@echo "make notebooks  run the notebooks"
	@echo "make docs       build the documentation into docs/_build/html"
	@echo "make test-core  import every module in an environment without the extras"
	@echo "make test-lowest  run the tests of the core on the lowest versions that pyproject.toml allows"
	@echo "make fuzz       feed the readers random bytes for FUZZ_SECONDS (600)"
	@echo "make check      lint, types, import rules"

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/python benchmarks/demo.py

# One thread for each of the two workers: torch slows down several times where threads wait for a core.
test: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 -m "not slow"

test-slow: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2

notebooks: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --nbmake --nbmake-timeout 600 notebooks

# A notebook needs no widgets, and its outputs no line about where they are not installed.
notebooks-update: $(STAMP)
	$(BIN)/jupytext --sync notebooks/*.py
	PYTHONWARNINGS="ignore:IProgress not found" $(BIN)/python -m pytest -q --nbmake --nbmake-timeout 900 --overwrite notebooks

docs: $(STAMP)
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

test-core:
	$(PYTHON) -m venv --clear .venv-core
	.venv-core/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt . pytest hypothesis
	.venv-core/bin/python -m pytest -q tests/test_core_only.py

# Without transformers, peft, ray and what the estimators are combined with: the floors of the core are what is tested.
test-lowest:
	$(PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-lowest.txt \
		. pytest hypothesis pyarrow tokenizers
	.venv-lowest/bin/python -m pytest -q -m "not slow" $(foreach path,$(OF_EXTRAS),--ignore=tests/$(path)) \
		$(addprefix tests/,attention tokens data model evaluation prediction training estimators cli)

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
	rm -rf $(VENV) .venv-core .venv-lowest runs docs/_build docs/generated notebooks/runs .pytest_cache .mypy_cache .ruff_cache
