# Every target works from a fresh clone: it makes .venv and installs what it needs.
# `make help` lists the targets.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# How long `make fuzz` runs each target.
SECONDS_EACH ?= 60
# Sources of the Rust core: the package is built anew when one of them changes.
RUST := $(shell find rust Cargo.toml -name '*.rs' -o -name Cargo.toml) Cargo.lock pyproject.toml

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-rust test-python lint format bench fuzz clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=24' 'maturin>=1.9,<2'

# A torch on this disk (PIP_FIND_LINKS), for one a build for the CPU, is taken before the one of the registry.
$(VENV)/torch.stamp: $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-index --no-deps torch 2>/dev/null \
		|| echo "no torch on this disk: it is fetched with the other packages"
	touch $@

$(VENV)/demo.stamp: $(VENV)/torch.stamp $(RUST)
	$(BIN)/python -m pip install --quiet -e '.[engine,demo]'
	touch $@

$(VENV)/test.stamp: $(VENV)/torch.stamp $(RUST)
	$(BIN)/python -m pip install --quiet -e '.[engine,demo,test]'
	touch $@ $(VENV)/demo.stamp

setup: $(VENV)/test.stamp ## make .venv with everything that development needs

demo: $(VENV)/demo.stamp ## run the three steps on a small real model
	$(BIN)/dragoman fetch smollm2
	$(BIN)/dragoman demo

test: test-rust test-python ## run all tests

test-rust:
	cargo test --quiet

test-python: $(VENV)/test.stamp
	$(BIN)/dragoman fetch smollm2
	$(BIN)/python -m pytest

lint: $(VENV)/test.stamp ## check format, lints, types and stubs
	cargo fmt --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest dragoman._core --ignore-disjoint-bases

format: $(VENV)/test.stamp ## format the sources
	cargo fmt
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: $(VENV)/test.stamp ## print the speed beside that of the peers
	$(BIN)/dragoman fetch smollm2
	$(BIN)/python -m pytest benches -s

fuzz: ## run the fuzz targets, 60 seconds each
	cargo fuzz --version || cargo install cargo-fuzz --locked
	for target in $$(cargo +nightly fuzz list --fuzz-dir rust/fuzz); do \
		cargo +nightly fuzz run --fuzz-dir rust/fuzz $$target -- -max_total_time=$(SECONDS_EACH) -timeout=20 \
			|| exit 1; done

clean: ## delete what was built
	rm -rf $(VENV) target python/dragoman/_core*.so
