# Each target is a line or two. `make` alone says what there is.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
STAMP := $(VENV)/.installed
CODE := cmgr tests bench
# Images often have this set: each worker, service and command of a test would compile all anew, a minute of a whole run.
unexport PYTHONDONTWRITEBYTECODE
# For those that run as another user and may not write here.
COMPILED = $(BIN)/python -m compileall -q -j 0 $(CODE)

NOT_HERE := --ignore=tests/packages --ignore=tests/power
SIDE_BY_SIDE := -n auto --dist worksteal -m "not alone" $(NOT_HERE)
# Each of these has a daemon or a service of its own, and mostly waits for it: with two for each processor a tenth of
# the processors' time is left over, with three nothing.
THREE_EACH := -n $(shell expr 3 \* $$(nproc)) --dist worksteal
WAITING := $(THREE_EACH) -m alone $(NOT_HERE)
# A file's tests share what takes long to make. The longest come first, which xdist would reorder.
BY_FILE := -n $(shell expr 1 + $$(nproc)) --dist loadfile --no-loadscope-reorder
# What passed only at its second try: again.sh notes it there, and without a command says it.
SECOND_TRIES := build/second-tries

.PHONY: help demo demo-web check quick test bench recording pictures reliability reliability-crash reliability-host reliability-security reliability-stories reliability-parts reliability-hands reliability-fleet mutants fmt generated golden clean deb rpm repo release test-packages test-shipped test-newest test-fresh test-machine

# Each part of what CI runs says how long it took.
check quick test test-packages test-shipped test-newest: .SHELLFLAGS = tests/support/timed.sh $@ -c

# A sample of the random walks, of what is fuzzed, and of the ways in which daemons and drivers fail: `make reliability`
# has five times, five times and three times as much. On the packages' interpreter the same is not walked a second time.
quick test: export CMGR_WALKS ?= 12
test-shipped: export CMGR_WALKS ?= 3
quick test test-shipped: export CMGR_FUZZ ?= 0.2
test test-newest: export CMGR_EACH ?= 3
test: export CMGR_HANDS ?= 1

help:
	@echo "make demo    the whole cycle before your eyes, in under a minute"
	@echo "make demo-web  the same on a page in a browser: it prints the link"
	@echo "make quick   the tests to run all day: minutes, and neither root nor a daemon"
	@echo "make test    the whole test suite; installs what it needs"
	@echo "make check   format, lint, types, layers"
	@echo "make bench   the numbers of docs/performance.md, measured here and written there with their pictures"
	@echo "make reliability  every proof of docs/reliability.md, and its figures written there"
	@echo "make deb     the Debian package in dist/, for this machine or with ARCH=x86_64, ARCH=aarch64; make rpm: the other"
	@echo "make repo    signed repositories for apt and dnf of what lies in dist/; make release: all that a release has"
	@echo "make test-packages  both packages for both architectures, built and tried on machines made for it"
	@echo "make test-shipped  the core suites on the interpreter of the package in dist/"
	@echo "make test-newest  the newest Docker, containerd and etcd of Debian's suites, instead of this machine's"
	@echo "make test-fresh  the demo and the core suites on bare roots of Debian's suites, with the Python of each"
	@echo "make test-machine  the packaged units on an emulated machine with a kernel of its own (x86_64), in minutes"
	@echo "make fmt     format the code; make generated, make golden: rewrite generated and expected texts"

demo: $(RUNS)
	@$(BIN)/cmgr demo

demo-web: $(RUNS)
	@$(BIN)/cmgr demo --web

check: $(STAMP)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports

quick: $(STAMP)
	@$(COMPILED)
	$(BIN)/pytest $(SIDE_BY_SIDE)

test: $(STAMP)
	@rm -f $(SECOND_TRIES)
	@sh tests/support/install.sh
	@$(COMPILED)
	@sh tests/support/again.sh $(BIN)/pytest $(SIDE_BY_SIDE)
	@sh tests/support/rooted.sh $(BIN)/pytest $(NOT_HERE)
	@sh tests/support/again.sh $(BIN)/pytest $(WAITING)
	@sh tests/support/again.sh

# What is missing is said before a minute is spent on the environment.
deb rpm:
	@sh packaging/build.sh --look $@
	@$(MAKE) --no-print-directory $(STAMP)
	@sh packaging/build.sh $@

# Whoever owns the key that signs says so: KEY, and for the repository URL, too.
repo:
	@sh packaging/repo.sh

release: $(STAMP)
	@sh packaging/release.sh

test-packages: $(STAMP)
	@rm -f $(SECOND_TRIES)
	@sh tests/support/install.sh packages
	@ARCH=x86_64 sh packaging/build.sh deb rpm & ARCH=aarch64 sh packaging/build.sh deb rpm; other=$$?; wait $$! && exit $$other
	@sh tests/support/again.sh $(BIN)/pytest $(BY_FILE) tests/packages tests/power
	@sh tests/support/again.sh

# What meets files, sockets, libraries and threads once more, on the interpreter and the libraries that the packages in
# dist/ bring along; of the model, which meets nothing, the walks.
test-shipped: $(STAMP)
	@rm -f $(SECOND_TRIES)
	@sh tests/support/shipped.sh build/shipped $(SIDE_BY_SIDE) \
		$(addprefix tests/,model/walks store config service drivers runtimes metrics)
	@sh tests/support/again.sh

# What cmgr asks of a daemon, and whole episodes.
OF_A_SUITE := tests/runtimes $(addprefix tests/fleet/,test_contract.py test_gateway.py test_services.py proofs/test_deaths.py) \
	tests/system/episodes/test_episodes.py tests/system/episodes/test_containerd_episodes.py \
	tests/system/owners/test_clients.py tests/system/owners/test_compose.py tests/system/slots/test_slots.py

# The newest of Debian's suites are unpacked, not installed.
test-newest: $(STAMP)
	@rm -f $(SECOND_TRIES)
	@sh tests/support/install.sh
	@$(COMPILED)
	@sh tests/support/newest.sh build/newest
	@PATH="$(CURDIR)/build/newest/usr/sbin:$(CURDIR)/build/newest/usr/bin:$$PATH" sh tests/support/again.sh \
		$(BIN)/pytest $(THREE_EACH) -m "docker or containerd or etcd" $(OF_A_SUITE)
	@sh tests/support/newest.sh build/trixie trixie
	@PATH="$(CURDIR)/build/trixie/usr/sbin:$(CURDIR)/build/trixie/usr/bin:$$PATH" sh tests/support/again.sh \
		$(BIN)/pytest $(THREE_EACH) -m "docker or containerd" tests/runtimes/containerd/test_slots.py \
		tests/system/episodes/test_containerd_episodes.py tests/system/slots/test_slots.py
	@sh tests/support/again.sh

# The README's first command on bare roots of Debian's suites, and the core suites on the Pythons that these have: 3.11, 3.13 and
# the newest; 3.9 of bullseye is refused.
test-fresh:
	@sh tests/support/install.sh packages
	@sh tests/support/fresh.sh bullseye bookworm trixie sid

# It takes minutes, and is no part of any other target. Its figures go into docs/reliability.md.
test-machine: $(STAMP)
	@sh tests/support/install.sh machine
	@ARCH=x86_64 sh packaging/build.sh deb rpm
	CMGR_MACHINE=1 CMGR_PATIENCE=$${CMGR_PATIENCE:-600} CMGR_FIGURES=build/machine.json $(BIN)/pytest tests/packages/whole
	$(BIN)/python -m tests.support.figures build/machine.json machine

bench: $(STAMP)
	@sh tests/support/install.sh
	$(BIN)/python -m bench $(if $(REFERENCE),--reference $(REFERENCE))
	$(BIN)/python -m bench --page

pictures: $(STAMP)
	@sh tests/support/install.sh
	$(BIN)/python -m tests.web.standing

recording: $(STAMP)
	$(BIN)/python -m tests.docs.made.recording

reliability: $(STAMP)
	@sh tests/support/install.sh
	$(BIN)/pytest $(SIDE_BY_SIDE)
	CMGR_CRASH_EVERY=$${CMGR_CRASH_EVERY:-1} $(BIN)/pytest tests/running
	$(MAKE) reliability-crash
	$(MAKE) reliability-host
	$(MAKE) reliability-stories
	$(MAKE) reliability-hands
	$(MAKE) reliability-fleet
	$(MAKE) reliability-parts

# Every point of every world.
reliability-crash: $(STAMP)
	@sh tests/support/install.sh
	CMGR_CRASH_EVERY=$${CMGR_CRASH_EVERY:-1} CMGR_FIGURES=build/crash.json $(BIN)/pytest $(THREE_EACH) -m proof tests/crash
	$(BIN)/python -m tests.support.figures build/crash.json crash

# All proofs that have no part of their own.
reliability-host: $(STAMP)
	@sh tests/support/install.sh power
	CMGR_SOAK=$${CMGR_SOAK:-10000} CMGR_CUTS=$${CMGR_CUTS:-20} CMGR_REBOOTS=$${CMGR_REBOOTS:-10} CMGR_FIGURES=build/host.json \
		$(BIN)/pytest -n 2 --dist loadfile -m proof \
		$(addprefix --ignore=tests/,crash fleet/proofs packages/whole mutants)
	$(BIN)/python -m tests.support.figures build/host.json

# The attacks alone, whose figures docs/security.md has; they are part of the proofs above.
reliability-security: $(STAMP)
	@sh tests/support/install.sh
	CMGR_FIGURES=build/security.json $(BIN)/pytest -n 2 --dist loadfile -m proof \
		tests/security tests/config tests/service tests/store/test_roundtrip.py tests/drivers/dcmi/test_export.py
	$(BIN)/python -m tests.support.figures build/security.json security

# The stories of other people's machines, on the daemons of this machine, of Debian's stable suite and of its newest.
reliability-stories: $(STAMP)
	@sh tests/support/install.sh
	@sh tests/support/newest.sh build/newest
	@sh tests/support/newest.sh build/trixie trixie
	$(BIN)/pytest tests/stories
	PATH="$(CURDIR)/build/trixie/usr/sbin:$(CURDIR)/build/trixie/usr/bin:$$PATH" $(BIN)/pytest -m "docker or containerd" tests/stories
	PATH="$(CURDIR)/build/newest/usr/sbin:$(CURDIR)/build/newest/usr/bin:$$PATH" $(BIN)/pytest -m "docker or containerd" tests/stories

# The parts of every suite of Debian, from the oldest: what was tried with which version, and what came of it, in docs/parts.md.
reliability-parts: export CMGR_PARTS := build/parts.jsonl
reliability-parts: export CMGR_EACH ?= 3
reliability-parts: $(STAMP)
	@sh tests/support/install.sh packages
	@rm -f $(CMGR_PARTS)
	@ARCH=x86_64 sh packaging/build.sh deb rpm
	@CMGR_SUITE=bullseye $(BIN)/python -m tests.docs.made.parts containerd 1.4 "not tried: cmgr needs 1.6"
	@CMGR_SUITE=bullseye $(BIN)/python -m tests.docs.made.parts etcd 3.3 "not tried: cmgr needs 3.4"
	@for suite in bullseye bookworm trixie sid; do \
		[ $$suite = bullseye ] && kinds="docker and not containerd and not etcd" || kinds="docker or containerd or etcd"; \
		sh tests/support/newest.sh build/parts/$$suite $$suite && \
		PATH="$(CURDIR)/build/parts/$$suite/usr/sbin:$(CURDIR)/build/parts/$$suite/usr/bin:$$PATH" CMGR_SUITE=$$suite \
			$(BIN)/pytest $(THREE_EACH) -m "$$kinds" $(OF_A_SUITE) && \
		SUITE=$$suite CMGR_SUITE=$$suite $(BIN)/pytest $(BY_FILE) tests/packages/test_install.py tests/packages/test_units.py || exit; \
	done
	@sh tests/support/fresh.sh bullseye bookworm trixie sid
	@$(BIN)/python -m tests.docs.made.parts

# In parts: whoever has an hour walks one of them (CMGR_HANDS_FROM=50 CMGR_HANDS=50 .venv/bin/pytest tests/stories/hands).
reliability-hands: $(STAMP)
	@sh tests/support/install.sh
	for from in 0 50 100 150; do CMGR_HANDS_FROM=$$from CMGR_HANDS=50 $(BIN)/pytest $(THREE_EACH) tests/stories/hands || exit; done

reliability-fleet: $(STAMP)
	@sh tests/support/install.sh
	CMGR_CRASH_EVERY=$${CMGR_CRASH_EVERY:-1} CMGR_STORMS=$${CMGR_STORMS:-20} \
		CMGR_FIGURES=build/fleet.json $(BIN)/pytest -n 2 --dist worksteal -m proof tests/fleet/proofs
	$(BIN)/python -m tests.support.figures build/fleet.json fleet

# Changes of the model, drawn by the seed that is printed, each of which its tests are to notice. It takes hours.
mutants: $(STAMP)
	CMGR_MUTANTS=$${CMGR_MUTANTS:-100} CMGR_FIGURES=build/mutants.json $(BIN)/pytest -s tests/mutants

fmt: $(STAMP)
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

generated: $(STAMP)
	$(BIN)/python -m tests.config.regenerate
	$(BIN)/python -m tests.docs.made.generated
	$(BIN)/python -m tests.docs.made.metrics
	$(BIN)/python -m tests.docs.made.json_page
	$(BIN)/python -m tests.docs.made.logs
	$(BIN)/python -m tests.docs.made.migration
	$(BIN)/python -m tests.docs.made.man_pages

golden: $(STAMP)
	CMGR_REWRITE_GOLDEN=1 $(BIN)/pytest tests/cli tests/model tests/docs tests/web/test_pictures.py \
		tests/store/test_upgrades.py::test_a_new_file_has_the_tables_that_are_declared

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

# What runs cmgr, and what works on it: a demo waits for no tool of a developer.
$(RUNS): pyproject.toml packaging/constraints.txt
	@sh tests/support/venv.sh $(PYTHON) $(VENV) .
	@touch $@

$(STAMP): pyproject.toml packaging/constraints.txt
	@sh tests/support/venv.sh $(PYTHON) $(VENV) '.[dev]'
	@touch $(RUNS) $@
