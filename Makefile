# make demo   see it work: check, mend and compare the example (needs python3 with venv; fetches torch once)
# make test   everything that is checked before a change is accepted, a day in Neovim included (needs Node 20 or later with npm, too);
#             JOBS=4 for more than two tests at once (1 GB of memory each)
# make test-editors  the extension in real VS Code, newest and oldest, and Emacs: installs them into .editors/ first (Debian; 2 GB, minutes)
#                    EDITORS="vscode" for some of vscode, floor and emacs; pictures and logs are in .editors/shots and .editors/out
# make pictures      takes the pictures of the README and the extension's README anew
# make test-oldest-torch  the runtime and the profiler on the oldest torch supported, in an environment of its own (5 GB)
# make clean  remove what these made
# make bench-cases CASES=FOLDER        graphmend verify and profile on labelled cases
# make bench-sweep MODELS_PYTHON=...   Dynamo as the judge of the findings, over many architectures (bench/README.md)
# make bench-differential               10,000 random modules per transformation, mended and compared: hours on 2 cores
# make bench-profile MODELS_PYTHON=...  graphmend profile on real models, against an independent count (bench/README.md)
# make gpu-check MODELS_PYTHON=...      the parts of graphmend profile that need a CUDA device; under 6 minutes
# make bench-session                    2,000 random edits and requests, each answer checked against a fresh analysis
# make bench-robustness TREES=FOLDERS   tries to knock the analysis, the server and the mending over, on torch's sources and more
# make bench-requests                   CPU of each request in a file with 200 findings
# make bench-table2 MODELS_PYTHON=...  the paper's Table 2 (bench/README.md says what that Python needs)

PYTHON ?= python3
MODELS_PYTHON ?= $(PYTHON)
VENV ?= .venv
OLDEST_TORCH := 2.4.0
OLDEST_VENV ?= .venv-oldest
EDITORS ?= vscode floor emacs
JOBS ?= 2
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
OLDEST_BIN := $(OLDEST_VENV)/Scripts
else
BIN := $(VENV)/bin
OLDEST_BIN := $(OLDEST_VENV)/bin
endif

.PHONY: demo test test-oldest-torch bench-cases bench-differential bench-profile bench-requests bench-robustness bench-session bench-sweep bench-table2 gpu-check pictures test-editors clean

demo: $(VENV)/.installed-demo
	$(BIN)/python examples/demo.py

# the Node of tests/editors/install.sh, if it is there, else that of the PATH
NPM := PATH="$(CURDIR)/.editors/node/bin:$$PATH" npm

test: $(VENV)/.installed-test node_modules/.installed
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports --no-cache
	$(NPM) run check
	$(NPM) test
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile

node_modules/.installed: package-lock.json
	@PATH="$(CURDIR)/.editors/node/bin:$$PATH"; npm --version >/dev/null 2>&1 && \
	    node -e 'process.exit(+(parseInt(process.versions.node) < 20))' || \
	    { echo "The VS Code extension is tested with Node 20 or later and npm: put them on the PATH," \
	        "or run: tests/editors/install.sh .editors node" >&2; exit 1; }
	$(NPM) ci --no-audit --no-fund
	touch $@

VSCODE_VERSIONS := $(patsubst vscode,--version newest,$(patsubst floor,--version floor,$(filter vscode floor,$(EDITORS))))
VSCODE_DAY := .editors/node/bin/node tests/editors/vscode/run.mjs --python $(abspath $(BIN)/python)

test-editors: $(VENV)/.installed-test node_modules/.installed
	tests/editors/install.sh .editors $(EDITORS)
ifneq ($(VSCODE_VERSIONS),)
	$(NPM) run --silent package
	$(VSCODE_DAY) $(VSCODE_VERSIONS)
endif
ifneq ($(filter emacs,$(EDITORS)),)
	GRAPHMEND_EDITORS=1 $(BIN)/python -m pytest tests/editors/test_eglot.py
endif

pictures: $(VENV)/.installed-test node_modules/.installed
	tests/editors/install.sh .editors vscode
	$(NPM) run --silent package
	$(VSCODE_DAY) --version newest pictures
	mkdir -p docs/images
	for name in problem mended measured; do \
	    cp .editors/shots/newest/pictures-$$name.png docs/images/$$name.png && \
	    cp .editors/shots/newest/pictures-$$name.png vscode-client/images/$$name.png || exit 1; done

bench-differential: $(VENV)/.installed-test
	$(BIN)/python bench/differential/differential.py --report bench/DIFFERENTIAL.md

test-oldest-torch: $(OLDEST_VENV)/.installed-$(OLDEST_TORCH) $(VENV)/.installed-test
	$(OLDEST_BIN)/python -m pytest tests/runtime
	GRAPHMEND_OTHER_PYTHON=$(abspath $(OLDEST_BIN)/python) $(BIN)/python -m pytest tests/profile/test_releases.py

bench-table2: $(VENV)/.installed-test
	$(BIN)/python bench/table2 --python $(MODELS_PYTHON)

bench-session: $(VENV)/.installed-test
	GRAPHMEND_SESSION_STEPS=2000 $(BIN)/python -m pytest -s tests/server/test_long_session.py tests/server/refresh

bench-robustness: $(VENV)/.installed-test
	$(BIN)/python bench/robustness $(foreach tree,$(TREES),--tree $(tree)) --report bench/ROBUSTNESS.md

bench-requests: $(VENV)/.installed-test
	$(BIN)/python bench/requests.py

bench-profile: $(VENV)/.installed-test
	$(BIN)/python bench/profile --python $(MODELS_PYTHON) --unsafe

gpu-check: $(VENV)/.installed-test
	$(BIN)/python bench/gpu_check.py --python $(MODELS_PYTHON)

bench-cases: $(VENV)/.installed-test
	$(BIN)/python bench/cases.py $(CASES)
	$(BIN)/python bench/profile/cases.py $(CASES)

bench-sweep: $(VENV)/.installed-test
	$(BIN)/python bench/sweep/sweep.py --python $(MODELS_PYTHON) --report bench/SWEEP.md

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# installed in place, so that a change of the source needs no new installation
$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --editable '.[$*]'
	touch $@

# nothing of this project is installed there: the runtime needs torch alone, pytest finds it from this folder
$(OLDEST_VENV)/.installed-$(OLDEST_TORCH): | $(OLDEST_BIN)/python
	$(OLDEST_BIN)/python -m pip install --disable-pip-version-check --quiet torch==$(OLDEST_TORCH) numpy setuptools 'pytest>=8'
	touch $@

$(OLDEST_BIN)/python:
	$(PYTHON) -m venv $(OLDEST_VENV)

clean:
	rm -rf $(VENV) $(OLDEST_VENV) .editors node_modules vscode-client/node_modules vscode-client/dist build dist .pytest_cache .ruff_cache .hypothesis .graphmend_cache
	find graphmend_lsp tests examples -name __pycache__ -type d -prune -exec rm -rf {} +
