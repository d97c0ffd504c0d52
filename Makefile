# ragnb: one command per chore. `make` alone lists them.
PYTHON ?= python3
WORKERS ?= 2
NODES ?= 1
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
SUMS = find nbs ragnb \( -name '*.ipynb' -o -name '*.py' \) -not -path '*/.*' -exec cksum {} + | sort -k 3

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
export PIP_COMPILE := 0# a module is compiled when it is imported; most never are
export UV_LINK_MODE := copy# a file linked to uv's cache is refused by nltk, which some parsers of LlamaIndex read their stopwords with
export PYTHONUTF8 := 1
unexport PYTHONDONTWRITEBYTECODE# where it is set, every process compiles all modules again: seconds for each of the hundreds that tests start

.DEFAULT_GOAL := help
.PHONY: help demo test test-heavy test-slow test-cluster test-browser opensearch opensearch-stop lab export notebooks readme docs docs-serve check clean evidence evidence-quick
.DELETE_ON_ERROR:

help:  ## list these chores
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-15s %s\n", $$1, $$2}' Makefile
	@echo "Another Python: make PYTHON=python3.11 demo"

demo: $(VENV)/.runtime  ## index the sample documents, answer a question, write a page to look at
	@$(BIN)/ragnb demo

test: export OMP_NUM_THREADS := 1
test: export OPENBLAS_NUM_THREADS := 1
test: $(VENV)/.dev  ## run every notebook, then pytest (about four minutes)
	$(BIN)/nbdev_test --n_workers $(WORKERS)
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m "not heavy and not cluster and not browser"

test-heavy: export OMP_NUM_THREADS := 1
test-heavy: export OPENBLAS_NUM_THREADS := 1
test-heavy: $(VENV)/.dev  ## the tests that run the tutorials, kill processes, build large indexes and attack every pattern
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m heavy

test-slow: export OMP_NUM_THREADS := 1
test-slow: export OPENBLAS_NUM_THREADS := 1
test-slow: $(VENV)/.dev  ## test-heavy and test-browser in one run
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m "(heavy or browser) and not cluster"

test-cluster: $(VENV)/.dev  ## the tests against a real OpenSearch: one node, started and stopped (needs Maven)
	@export RAGNB_OPENSEARCH="$$($(BIN)/python tools/opensearch.py start)"; \
	test -n "$$RAGNB_OPENSEARCH" || exit 1; \
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile -m cluster; code=$$?; \
	$(BIN)/python tools/opensearch.py stop; exit $$code

test-browser: $(VENV)/.dev  ## the tests that look at pages in a real Chromium (apt install chromium, or RAGNB_CHROMIUM=PATH)
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m browser

opensearch: $(VENV)/.made  ## fetch and start a real OpenSearch on free ports, and print its address (NODES=3: three nodes)
	@$(BIN)/python tools/opensearch.py start --nodes $(NODES)

opensearch-stop:  ## end what make opensearch has started
	@$(BIN)/python tools/opensearch.py stop

lab: $(VENV)/.dev  ## open the notebooks in JupyterLab (one: make lab NB=40_retrieval/01_bm25.ipynb)
	$(BIN)/jupyter lab nbs --LabApp.default_url=/lab/tree/$(NB)

export: $(VENV)/.dev  ## write ragnb/*.py from the notebooks
	$(BIN)/nbdev_export

notebooks: export  ## run the notebooks and store their outputs (some: make notebooks NB="span text")
	$(BIN)/python tools/notebooks.py $(NB)

readme: $(VENV)/.dev  ## write README.md from nbs/index.ipynb
	$(BIN)/python tools/readme.py

docs: $(VENV)/.dev  ## build the documentation site from the stored notebooks into _docs/, and check its links
	$(BIN)/python -m tools.docs build

docs-serve: docs  ## build the site and show it on this machine (another port: make docs-serve PORT=8001)
	$(BIN)/python -m tools.docs serve --port $(PORT)

evidence: export OMP_NUM_THREADS := 1
evidence: $(VENV)/.dev  ## ragnb beside the best library and the tuned recipe, on all sets: some hours, goes on where it was interrupted
	$(BIN)/python benchmarks/rivals.py install out/evidence/venvs
	$(BIN)/python benchmarks/evidence.py

evidence-quick: export OMP_NUM_THREADS := 1
evidence-quick: $(VENV)/.dev  ## the same with the sample of this repository: about ten minutes
	$(BIN)/python benchmarks/evidence.py --quick

check: $(VENV)/.dev  ## modules exported, notebooks clean, README up to date, imports in the order of the rooms, answers as expected
	@before=$$(mktemp) && after=$$(mktemp) && trap 'rm -f $$before $$after' EXIT && $(SUMS) > $$before \
	&& $(BIN)/nbdev_export && $(BIN)/nbdev_clean && $(SUMS) > $$after \
	&& { diff $$before $$after || { echo "the files above were not exported or not clean; they are now: look at them and commit" >&2; exit 1; }; }
	@$(BIN)/python benchmarks/golden.py compare --quick --jobs $(WORKERS) & golden=$$!; \
	$(BIN)/python tools/readme.py --check && $(BIN)/python tools/rooms.py && $(BIN)/python -m tools.plain_words > /dev/null \
	&& $(BIN)/python benchmarks/ask_functions.py; code=$$?; wait $$golden && exit $$code
	@echo "modules, notebooks, rooms, README and golden file agree"

clean:  ## remove .venv, indexes and everything else that can be made again
	@test ! -d .opensearch || $(PYTHON) tools/opensearch.py stop
	rm -rf $(VENV) .ragnb .opensearch out .pytest_cache .hypothesis build dist *.egg-info _proc _docs
	find . \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +

# uv installs in seconds, pip in minutes; where uv cannot be had, or finds another index than pip, pip does it.
UV_INDEX = $$($(BIN)/python -m pip config get global.index-url 2>/dev/null | sed 's/^/--default-index /')
define install
	@$(BIN)/python -m pip install --quiet uv 2>/dev/null \
	&& $(BIN)/python -m uv pip install --quiet --python $(BIN)/python $(UV_INDEX) -e $(1) 2>/dev/null \
	|| $(BIN)/python -m pip install --quiet -e $(1)
endef

# The stamps: reinstalled only when the requirements change.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null \
	|| { echo "ragnb needs Python 3.10 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>/dev/null || echo not there). Name another: make PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	|| { echo "'$(PYTHON)' cannot make virtual environments. Install its venv module (Debian, Ubuntu: apt install python3-venv) or name another Python: make PYTHON=python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.runtime: $(VENV)/.made settings.ini setup.py
	@echo "Installing ragnb into $(VENV): up to some minutes the first time"
	$(call install,.)
	@touch $@

$(VENV)/.dev: $(VENV)/.made settings.ini setup.py
	@echo "Installing ragnb and its development tools into $(VENV): up to some minutes the first time"
	$(call install,'.[dev]')
	@touch $(VENV)/.runtime $@
