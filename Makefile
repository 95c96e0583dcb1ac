# Two commands do everything on a machine with Rust and a package manager: make run, make test.

PORT ?= 6379
TARGET_DIR := $(abspath $(or $(CARGO_TARGET_DIR),target))
MODULE := $(TARGET_DIR)/release/libredis_rank.$(if $(filter Darwin,$(shell uname -s)),dylib,so)
REDIS_SERVER ?= redis-server

.DEFAULT_GOAL := help
.PHONY: help build run test lint unit integration bench clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build the module (installs libclang where it is missing)
	@scripts/setup.sh build
	cargo build --release
	@echo "$(MODULE)"

run: ## start a server with the module on PORT (6379), in the foreground; ARGS go to the server
	@scripts/setup.sh run
	cargo build --release
	@echo
	@echo 'In another terminal, try:'
	@echo '  redis-cli -p $(PORT) RANK.ADD game 50 ann 70 bob 60 eve'
	@echo '  redis-cli -p $(PORT) RANK.TOPN game 2'
	@echo '(Ctrl-C ends the server; it keeps nothing.)'
	@echo
	@exec $(REDIS_SERVER) --port $(PORT) --bind 127.0.0.1 -::1 --save '' --appendonly no --loadmodule '$(MODULE)' $(ARGS)

test: ## everything that must hold: formatting, clippy, unit tests, tests with real servers
	@scripts/setup.sh test
	cargo fmt --check
	cargo build --release
	cargo clippy --all-targets -- -D warnings
	cargo test --lib
	REDIS_RANK_SO='$(MODULE)' cargo test --test integration

lint: ## formatting and clippy
	@scripts/setup.sh lint
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings

unit: ## the unit tests; ARGS is a filter
	@scripts/setup.sh build
	cargo test --lib -- $(ARGS)

integration: ## the tests with real servers; ARGS is a filter
	@scripts/setup.sh test
	cargo build --release
	REDIS_RANK_SO='$(MODULE)' cargo test --test integration -- $(ARGS)

bench: ## measure against the core commands, side by side; ARGS go to the benchmark
	@scripts/setup.sh run
	cargo build --release
	REDIS_RANK_SO='$(MODULE)' cargo bench --bench side_by_side -- $(ARGS)

clean: ## remove what was built and the servers that were fetched
	cargo clean
	rm -rf .servers
