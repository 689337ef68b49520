# Commands for people. `make setup` builds everything into .venv; the other targets call it, and it costs nothing when up to date.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV_VERSION := 0.13.9
RUST_SOURCES := $(shell find crates -type f \( -name '*.rs' -o -name 'Cargo.toml' \) -not -path '*/target/*')

.PHONY: help setup s2n web dist demo test verify fuzz form trajectories lint advisories bench docs clean

help:
	@grep -hE '^# make ' Makefile | sed 's/^# //'

# make setup   dependencies and the release build of the engine, into .venv; the page of 'elephan play', where Node.js is; for the kernel backend Debian's clang and others, if root
setup: $(VENV)/.engine $(VENV)/.kernel $(VENV)/.web

# What runs on real Linux TCP needs besides; everything else of Elephan works without, and 'elephan lab check' says what is missing.
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

$(VENV)/.engine: $(VENV)/.dependencies Cargo.toml Cargo.lock $(RUST_SOURCES)
	@command -v cargo >/dev/null || { echo "elephan needs Rust 1.85 or later (cargo): see https://rustup.rs"; exit 1; }
	@echo "building the engine"
	@mkdir -p python/elephan/bin && cargo build --release --locked --quiet -p wire -p quic -p linux \
		&& install -m 755 $${CARGO_TARGET_DIR:-target}/release/elephan-{wire,quic,linux} python/elephan/bin/
	@cargo rustc --release --locked --quiet -p guest --bin elephan-guest -- -C target-feature=+crt-static \
		&& install -m 755 $${CARGO_TARGET_DIR:-target}/release/elephan-guest python/elephan/bin/ \
		|| echo "elephan-guest could not be built (a static program: libc6-dev); --on linux needs it, nothing else does"
	@PATH="$(CURDIR)/$(BIN):$$PATH" VIRTUAL_ENV="$(CURDIR)/$(VENV)" maturin develop --uv --release --locked --quiet
	@$(BIN)/python -m compileall -q python
	@touch $@

# make s2n     elephan-quic with the congestion controllers of s2n-quic, s2n:cubic and s2n:bbr, until the next build of the setup
s2n: setup
	cargo build --release --locked --quiet -p quic --features s2n
	install -m 755 $${CARGO_TARGET_DIR:-target}/release/elephan-quic python/elephan/bin/

# make web     the page of 'elephan play': the engine for the browser and the page's scripts; needs Node.js
web: $(VENV)/bin/python
	@scripts/web

# Part of the setup where it can be built; a host without Node.js has everything else, and one line says what is missing.
WEB_SOURCES := $(wildcard web/src/* web/*.json web/*.mjs)
$(VENV)/.web: $(VENV)/.engine $(WEB_SOURCES) scripts/web
	@scripts/web || [ $$? = 3 ]
	@touch $@

# make dist    a wheel and an sdist in dist/, checked: the page and the programs are in, and run wherever the wheel's tag says
dist: setup
	@scripts/dist

# make demo    the 36 runs of weigle2006 at full rate, judged; ends by naming the report
demo: setup
	$(BIN)/elephan paper weigle2006

# make test    lint, types, all tests of both languages; the last line counts them (captures are read with tshark if it is there)
test: setup
	@scripts/test

# make verify  the long tests, pairs of runs on Linux that must be equal, and the coverage of intervals on 200 paths
verify: setup
	$(BIN)/python -m pytest -q -m large
	$(BIN)/python benches/linux_pairs.py
	$(BIN)/python -m tests.interval_coverage --rows .elephan/interval_coverage.jsonl

# make fuzz    random scenarios, TIME=60s, JOBS=2 processes, from SEED on; a failure is printed with the seed that replays it. Before that, CALLS=10000 sequences of calls of hostile transports
TIME ?= 60s
JOBS ?= 2
CALLS ?= 10000
fuzz: setup
	@PROPTEST_CASES=$(CALLS) cargo test --quiet --locked -p elephan-cc --test hostile_transport
	@PROPTEST_CASES=$(CALLS) cargo test --quiet --locked -p elephan-quinn --lib hostile
	@$(BIN)/python -m tests.fuzz --time $(TIME) --jobs $(JOBS) $(if $(SEED),--first $(SEED))

# make form    the JSON Schema of the canonical form and Python's types of it, after a change of crates/sim/src/spec
form: setup
	$(BIN)/python scripts/form.py
	$(BIN)/python docs/generate.py

# make trajectories    write the tables of trajectories that the tests compare with, after a change of behavior that is meant
trajectories: setup
	$(BIN)/python -m pytest -n 2 -q tests/trajectories --snapshot-update

# make lint    formatting, lint and types only
lint: setup
	@scripts/lint

# make advisories    known vulnerabilities of the Rust dependencies, by the RustSec database (needs the Internet)
advisories: setup
	@PATH="$(CURDIR)/$(BIN):$$PATH" cargo-deny --log-level error --locked check advisories

# make bench   the engine's speed, beside its bound and ns-2's where it is installed
bench: setup
	$(BIN)/elephan bench

# make docs    the documentation as HTML, in docs/_build/html
docs: setup
	$(BIN)/uv sync --quiet --locked --no-install-project --inexact --group docs
	$(BIN)/python -m sphinx --fail-on-warning --quiet -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# make clean   removes what was built; results in .elephan stay
clean:
	rm -rf $(VENV) target dist web/node_modules docs/_build python/elephan/_engine*.so python/elephan/bin python/elephan/web/built .mypy_cache .ruff_cache .pytest_cache .hypothesis
