# Needs make and a Python of 3.10 or newer; every target makes the virtual environment that it uses.
#
#   make demo       a small evolutionary trainer, instrumented; SCENARIO=evaluate plants a leak
#   make test       the suite without torch on every Python from 3.10 to 3.13 found here, then with torch
#   make leakbench  known leaks and healthy twins: TOOL=phaseprof by default, ARGS for more options
#   make real       programs with other frameworks, healthy and leaky, bare and watched
#   make bench      the figures of docs/benchmarks.md
#   make integrations  tests against the packages of phaseprof.integrations, which are large
#   make lint       ruff and mypy --strict
#   make docs       the documentation as a site, in build/site; a broken link ends it
#   make sanitize   the extension's tests under the address and undefined-behaviour sanitizers
#   make clean      remove what the targets above made

SHELL := /bin/sh
# torch publishes wheels for new Python releases late, so 3.11 goes first; PYTHON=... overrides.
PYTHON ?= $(shell sh .ci/interpreters --best)
VENV := .venv
BIN := $(VENV)/bin
INTEGRATIONS := .venvs/integrations
PIP := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check
# A change of the extension's source builds it again.
METADATA := setup.cfg setup.py pyproject.toml $(wildcard phaseprof/native/*.c)

SCENARIO ?= none
TOOL ?= phaseprof
ARGS ?=
# Two workers suit the smallest machine; with a third, tests that wait for other processes cost little.  A worker that is
# done takes tests from the others, since those that walk a large heap without a budget lie together.
WORKERS ?= 2
PYTEST := -m pytest -q -n $(WORKERS) --dist worksteal

.PHONY: demo test test-torch test-base integrations bench real leakbench lint docs sanitize coverage clean

demo: $(VENV)/.test
	$(BIN)/phaseprof demo --scenario $(SCENARIO) $(ARGS)

# Both halves run even when one fails, and the recipe fails if either did.
test: $(VENV)/.test $(VENV)/.all
	@status=0; $(MAKE) --no-print-directory test-base || status=1; $(MAKE) --no-print-directory test-torch || status=1; exit $$status

# What needs no torch and takes long, the base suites run.
IN_BASE := $(addprefix --ignore=tests/,native/test_trust.py test_pytest_plugin.py safety/test_liars.py \
	safety/test_interrupts.py safety/test_lost_recordings.py safety/test_any_name.py safety/test_settings_of_others.py \
	safety/test_any_call.py safety/test_side_by_side.py safety/test_started_children.py)

test-torch: $(VENV)/.test $(VENV)/.all
	$(BIN)/python $(PYTEST) $(IN_BASE) $(ARGS)

test-base:
	sh .ci/test-base $(PYTEST) $(ARGS)

# In an environment of their own, so that the ordinary suite goes on skipping what these packages unlock.
integrations: $(INTEGRATIONS)/.installed
	$(INTEGRATIONS)/bin/python -m pytest -q tests/integrations tests/docs/test_docs.py -k integrations $(ARGS)
	$(INTEGRATIONS)/bin/python tests/integrations/versions.py

$(INTEGRATIONS)/.installed: $(METADATA)
	$(PYTHON) -m venv $(INTEGRATIONS)
	$(INTEGRATIONS)/bin/python -m pip install --quiet --quiet --disable-pip-version-check -e '.[integrations]'
	@touch $@

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/run.py $(ARGS)

# Programs with the frameworks that people use, healthy and leaky, bare and watched: a quarter of an hour.
real: $(INTEGRATIONS)/.installed
	cd benchmarks && ../$(INTEGRATIONS)/bin/python -m real $(ARGS)

leakbench: $(VENV)/.bench
	cd benchmarks && ../$(BIN)/python -m leakbench --tool $(TOOL) $(ARGS)

# The type checker reads torch, pytest and rich, so they must be there.
lint: $(VENV)/.lint $(VENV)/.test $(VENV)/.all
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

sanitize: $(VENV)/.test-base
	sh .ci/sanitize $(abspath $(BIN)/python)

coverage: $(VENV)/.test $(VENV)/.all
	$(BIN)/coverage run -m pytest -q $(ARGS)
	$(BIN)/coverage report --skip-covered

clean:
	rm -rf $(VENV) .venvs build dist *.egg-info phaseprof/native/*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage runs
	find phaseprof tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "no Python 3.10 or newer was found; install one or set PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# One stamp an extra: $(VENV)/.lint stands for `pip install -e .[lint]`.
$(VENV)/.%: $(METADATA) | $(BIN)/python
	$(PIP) -e '.[$*]'
	@touch $@
