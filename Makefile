# `make demo` and `make test` need only Python 3.10 or later, pip and make; the rest is set up in .venv.
PYTHON ?= python3
FIXTURE ?= base_parallel

BIN := .venv/bin
DEMO := build/demo
SOURCES := pyproject.toml

# Bytecode is kept from run to run: without it pytest rewrites the asserts of every test module each time, and each
# program that a test starts is compiled anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check docs bench field gpu reliability mutants release trust runtimes lint types clean

demo: .venv/verify runtimes
	rm -rf $(DEMO)
	mkdir -p build
	cp -R fixtures/$(FIXTURE)/before $(DEMO)
	$(BIN)/tfmigrate check $(DEMO) || test $$? -eq 1
	$(BIN)/tfmigrate fix $(DEMO)
	$(BIN)/tfmigrate verify fixtures/$(FIXTURE)/before/train.py $(DEMO)/train.py --report $(DEMO)/report
	@echo "The report is $(CURDIR)/$(DEMO)/report/report.html"

test: .venv/dev runtimes lint types
	$(BIN)/python -m pytest -n 2 --dist loadgroup

# What can be known without TensorFlow and without starting other programs: while working.
check: .venv/dev lint types
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not runs_tensorflow and not starts_processes"

lint: .venv/dev
	$(BIN)/ruff check .

types: .venv/dev
	$(BIN)/mypy

docs: .venv/dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --site-dir build/site

bench: .venv/dev
	$(BIN)/python benchmarks/run.py

# Public programs, migrated and run on made-up data: docs/field.md. Resumable. FIELD_MIRROR=DIR takes git directories from
# there instead of cloning; FIELD="--only NAME" or FIELD="--steps default" is passed on.
field: .venv/verify runtimes
	for name in tf1.15-keras2.2 tf1.15-keras2.1; do $(BIN)/tfmigrate runtimes --make $$name || true; done
	$(BIN)/python benchmarks/field/run.py $(FIELD)

# What `make test` does in small: 500 kills, 2,000 generated programs (re-exports among them), 2,000 modules of generated
# scopes, thousands of damaged programs, all installed packages.
reliability: .venv/dev
	TFMIGRATE_KILLS=500 TFMIGRATE_PROGRAMS=2000 TFMIGRATE_SCOPES=2000 TFMIGRATE_EXAMPLES=20 TFMIGRATE_FOREIGN_EVERY=1 \
		$(BIN)/python -m pytest -n 2 tests/everyday/test_kill.py tests/everyday/test_programs.py \
		tests/everyday/test_properties.py tests/everyday/test_variations.py tests/everyday/test_foreign_code.py \
		tests/understand/test_scopes_property.py tests/test_budget.py

# Small mistakes, drawn at random, in the modules that decide: the tests must notice each. MUTANTS="--seed 7 --draws 50"
mutants: .venv/dev
	$(BIN)/python tools/mutants.py $(MUTANTS)

# Version, changelog, build, metadata, and the wheel tried in a fresh environment of each Python that is here.
release: .venv/dev
	$(BIN)/python tools/release.py

# Every right pair three times, and every mistake that can be made in one: false alarms, misses, wrong causes. Resumable.
trust: .venv/dev runtimes
	$(BIN)/python tools/trust.py

# All fixtures verified on the devices of this machine, the trust matrix, the speed of training: build/gpu. Resumable;
# GPU="--parts fixtures" is passed on.
gpu: .venv/verify runtimes
	$(BIN)/python benchmarks/gpu.py $(GPU)

# TensorFlow 1.15 and 2.3, for the old side of verify. Where no Python old enough is installed, verify does without.
runtimes: .venv/verify
	$(BIN)/tfmigrate runtimes --make all || echo "Going on without the runtimes that could not be made."

.venv/bin/python:
	$(PYTHON) -c "import sys; sys.exit('tfmigrate needs Python 3.10 or later: make PYTHON=python3.12 ...' if sys.version_info < (3, 10) else 0)"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

.venv/verify: .venv/bin/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --editable '.[verify]'
	touch $@

.venv/dev: .venv/verify
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache
