# Each target is a line or two. `make` alone says what there is.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CODE := cmgr tests bench

.PHONY: help demo check test bench reliability fmt generated golden clean deb rpm test-packages

help:
	@echo "make demo    the whole cycle before your eyes, in under a minute"
	@echo "make test    the whole test suite; installs what it needs"
	@echo "make check   format, lint, types, layers"
	@echo "make bench   the numbers of the README, measured here"
	@echo "make reliability  every proof of docs/reliability.md, and its figures written there"
	@echo "make deb     the Debian package in dist/, for this machine or with ARCH=x86_64, ARCH=aarch64; make rpm: the other"
	@echo "make test-packages  both packages for both architectures, built and tried on machines made for it"
	@echo "make fmt     format the code; make generated, make golden: rewrite generated and expected texts"

demo: $(STAMP)
	@$(BIN)/cmgr demo

check: $(STAMP)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(STAMP)
	@sh tests/support/install.sh
	$(BIN)/pytest --ignore=tests/packages

deb rpm: $(STAMP)
	@sh packaging/build.sh $@

test-packages: $(STAMP)
	@sh tests/support/install.sh packages
	@for arch in x86_64 aarch64; do ARCH=$$arch sh packaging/build.sh deb rpm || exit; done
	$(BIN)/pytest tests/packages

bench: $(STAMP)
	@sh tests/support/install.sh
	$(BIN)/python -m bench

reliability: $(STAMP)
	@sh tests/support/install.sh
	CMGR_FIGURES=build/reliability.json $(BIN)/pytest -m proof
	$(BIN)/python -m tests.support.figures build/reliability.json

fmt: $(STAMP)
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

generated: $(STAMP)
	$(BIN)/python -m tests.config.regenerate
	$(BIN)/python -m tests.docs.generated
	$(BIN)/python -m tests.docs.metrics
	$(BIN)/python -m tests.docs.logs
	$(BIN)/python -m tests.docs.migration
	$(BIN)/python -m tests.docs.man_pages

golden: $(STAMP)
	CMGR_REWRITE_GOLDEN=1 $(BIN)/pytest tests/cli tests/model tests/docs

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

# Debian's python3 may come without ensurepip; pip can fill an environment that has no pip of its own.
$(STAMP): pyproject.toml packaging/constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv --without-pip $(VENV)
	@$(PYTHON) -m pip --python $(BIN)/python install --quiet --disable-pip-version-check -c packaging/constraints.txt -e '.[dev]'
	@touch $@
