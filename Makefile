# make demo   see it work: check, mend and compare the example (needs python3 with venv; fetches torch once)
# make test   everything that is checked before a change is accepted
# make clean  remove what these made
# make bench-sweep MODELS_PYTHON=...   Dynamo as the judge of the findings, over many architectures (bench/README.md)
# make bench-table2 MODELS_PYTHON=...  the paper's Table 2 (bench/README.md says what that Python needs)

PYTHON ?= python3
MODELS_PYTHON ?= $(PYTHON)
VENV ?= .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif

.PHONY: demo test bench-sweep bench-table2 clean

demo: $(VENV)/.installed-demo
	$(BIN)/python examples/demo.py

test: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest

bench-table2: $(VENV)/.installed-test
	$(BIN)/python bench/table2 --python $(MODELS_PYTHON)

bench-sweep: $(VENV)/.installed-test
	$(BIN)/python bench/sweep/sweep.py --python $(MODELS_PYTHON) --report bench/SWEEP.md

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# installed in place, so that a change of the source needs no new installation
$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --editable '.[$*]'
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .graphmend_cache
	find graphmend_lsp tests examples -name __pycache__ -type d -prune -exec rm -rf {} +
