# Many Heads: `make demo` shows the whole main job, `make test` runs all tests.
# Both do all set-up themselves, in .venv, from requirements.txt; a second call installs nothing.

PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help setup demo test lab build bench lock lint clean

help:
	@echo "make demo    a sample class, from release to a table of grades"
	@echo "make lab     JupyterLab on the course, with your own copies of the notebooks"
	@echo "make test    all tests, browser included (the ones in Chromium take the longest)"
	@echo "make build   lessons/ -> source/ -> release/ and solutions/"
	@echo "make bench   how long lessons, checks, explorers, grading and imports take"
	@echo "make lock    write requirements.txt anew from pyproject.toml (needs network)"
	@echo "make lint    ruff over the code"
	@echo "make clean   remove .venv"

setup: .venv/.installed

.venv/.installed: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || { \
	  echo "Many Heads needs Python 3.11, 3.12 or 3.13, but '$(PYTHON)' is $$($(PYTHON) --version 2>&1 | tail -n 1)." \
	       "Install one of them, or name it: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; } >&2
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "Python's venv module is missing. Install it (Debian, Ubuntu: apt install python3-venv) and try again."; \
	  exit 1; } >&2
	@echo "Setting up .venv (once; a few minutes)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

demo: setup
	@$(BIN)/manyheads demo

lab: setup
	@$(BIN)/manyheads lab

build: setup
	@$(BIN)/manyheads build

# The browser tests use CHROMIUM, or the system's Chromium, or else one that Playwright brings.
.venv/.browser: .venv/.installed
	@command -v "$${CHROMIUM:-chromium}" >/dev/null 2>&1 || $(BIN)/playwright install chromium || { \
	  echo "The browser tests need Chromium. Install it (Debian, Ubuntu: apt install chromium), or set CHROMIUM to its path."; \
	  exit 1; } >&2
	@touch $@

test: setup .venv/.browser
	@$(BIN)/python -m pytest

bench: setup .venv/.browser
	@$(BIN)/python benchmarks/lessons.py
	@$(BIN)/python benchmarks/checks.py
	@$(BIN)/python benchmarks/explorers.py
	@$(BIN)/python benchmarks/grade_class.py --students 4

lint: setup
	@$(BIN)/ruff check src tests benchmarks

# GPU packages are left out on purpose: each build of torch asks for those it needs.
lock:
	@$(PYTHON) -m venv .venv-lock && .venv-lock/bin/python -m pip install --quiet uv
	@{ echo "# The lock: every package that the course runs on, for Python 3.11 to 3.13."; \
	   echo "# Made by 'make lock' (uv pip compile --universal) from pyproject.toml; do not edit."; \
	   .venv-lock/bin/uv pip compile --universal --no-annotate --no-header --extra test pyproject.toml \
	     | grep -vE '^(nvidia-|cuda-|triton)'; } > requirements.txt.new
	@mv requirements.txt.new requirements.txt && rm -rf .venv-lock

clean:
	rm -rf .venv .venv-lock
