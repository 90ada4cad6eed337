# Plain pip and venv: needs python >= 3.11 and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DIGITS := examples/digits

.PHONY: help demo test test-long mutants check coverage bench bench-serving bench-smoke docs \
	package format clean

help:
	@echo "make demo      install into $(VENV) and read twelve handwritten digits"
	@echo "make test      run the whole test suite"
	@echo "make test-long the long sweeps and samples, and soaks under load: some minutes"
	@echo "make mutants   plant faults, and see the suite notice each"
	@echo "make check     style, types, spelling"
	@echo "make coverage  every branch of the pure core is tested"
	@echo "make bench     what everything costs, as ratios"
	@echo "make package   wheel, sdist and SBOM in dist, built, checked and tried"
	@echo "make bench-serving  what serving costs beside other servers"
	@echo "make docs      the documentation, in docs/_build"
	@echo "make format    let ruff rewrite what it can"
	@echo "make clean     remove $(VENV) and every cache"

demo: $(VENV)/.installed
	$(BIN)/aclasync run --config $(DIGITS)/acl.json --model $(DIGITS)/digits.onnx --input $(DIGITS)/images/*.png

test: $(VENV)/.test
	$(BIN)/python -m pytest $(ARGS)

# What takes minutes.
test-long: $(VENV)/.test
	$(BIN)/python -m pytest -m "soak or long" --durations=0 -rP $(ARGS)

# ARGS="shield" plants those faults only whose harm says so.
mutants: $(VENV)/.test
	$(BIN)/python -m tests.robust.mutants $(ARGS)

check: $(VENV)/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PATH="$(CURDIR)/$(BIN):$$PATH" pyright --ignoreexternal --verifytypes aclasync
	$(BIN)/codespell

# Under coverage's own runner: pytest loads the package's plugin before its coverage plugin starts.
coverage: $(VENV)/.test
	$(BIN)/python -m coverage run --branch --source=aclasync.config,aclasync.lifecycle \
		-m pytest -q tests/config tests/lifecycle
	$(BIN)/python -m coverage report --fail-under=100

# ARGS="nested hop" measures these only, ARGS=--save keeps the run for the next ones.
bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks $(ARGS)

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -n -W --keep-going -q -E -b html docs docs/_build

# Needs wrk; the peers live in an environment of their own.
bench-serving: $(VENV)/.bench $(VENV)/peers/.installed
	$(BIN)/python -m benchmarks.serving --peers $(VENV)/peers $(ARGS)

bench-smoke: $(VENV)/.bench
	$(BIN)/python -m benchmarks --smoke
	$(BIN)/python -m benchmarks.stress --tasks 40 --sessions 10
	$(BIN)/python -m benchmarks.instructions

package: $(VENV)/.package
	.ci/package $(BIN)

format: $(VENV)/.check
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: an environment is filled again only when pyproject.toml has changed.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "aclasync needs python >= 3.11; say which: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"  # the first with --group
	touch $@

# Editable, so that what runs is what stands in the checkout.
$(VENV)/.installed: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[embedded,cli,serving,tracing]"
	touch $@

$(VENV)/.test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group test
	touch $@

$(VENV)/.bench: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group bench
	touch $@

$(VENV)/peers/.installed: benchmarks/serving/peers.txt $(VENV)/.made
	$(PYTHON) -m venv $(VENV)/peers
	$(VENV)/peers/bin/python -m pip install --quiet -r $<
	touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

$(VENV)/.package: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group package
	touch $@

$(VENV)/.check: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --group check
	touch $@
