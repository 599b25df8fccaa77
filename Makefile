# Build, run and test Fleetwire. `make run` and `make test` work in a fresh clone; `make` lists all targets.

.DEFAULT_GOAL := help
SHELL := bash

CONFIG ?= config/fleetwire.yaml
BINARY := .build/release/fleetwire
# The program of the simulations, which is not installed.
SIMULATOR := .build/release/fleetwire-sim
# The program that `make run` or `make build` has built last.
BUILT := .build/fleetwire
# The program that the tests use: optimised, with assertions, and with constants of time that a test may divide.
TEST_BINARY := .build/debug/fleetwire
MANUAL := .build/fleetwire.1
# `make install` puts all files below this directory.
DESTDIR ?=
PYTHON := .build/python/bin/python
PYTHON_READY := .build/python/.ready
SECONDS_PER_FUZZER ?= 10
ROUNDS ?= 200
STOPS ?= 20
SEEDS ?= 10000
# Parts of the names of parsers; empty: all.
PARSERS ?=
MINUTES ?= 30
DRIVERS ?= 10000
ROWS ?= 10000000
NOTIFICATIONS ?= 1000000
CARS ?= 1000
KILLS ?= 20
# The seed of `make city`, `make hostile` and `make soak`; empty: a random one, which they print.
SEED ?=
# Parts of the names of Swift tests for `make unit`, such as StoreTests; empty: all.
FILTER ?=
# Parts of the names or modules of defects for `make mutants`, such as "webhooks json"; empty: all.
MUTANTS ?=
# Arguments of pytest for `make e2e`, such as "test_data.py -k order"; empty: the selection below.
TESTS ?=

RELEASE := swift build -c release --static-swift-stdlib

.PHONY: help run build test-build test unit e2e e2e-plain test-release test-slow test-postgres test-cluster check lint format bench \
  bench-latency bench-cluster bench-base sim crash city storm hostile soak aged growth upgrade pictures conformance \
  mutants fuzz instructions tsan asan man install packages test-packages clean

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: packages ## Start the gateway with the development configuration. Builds without optimisation, to start soon.
	@echo "Building without optimisation; make build makes the program to install and to measure."
	@OPTIMISATION=none swift build --scratch-path .build/run -debug-info-format none --product fleetwire
	@ln -sf run/debug/fleetwire $(BUILT)
	@echo "Try it from another terminal:"
	@echo "  $(BUILT) send --channel my-channel --event my-event --data '{\"hello\":\"world\"}'"
	@echo "  curl http://127.0.0.1:6001/api/admin/orders/A-17/assign-driver -d '{\"driverId\":\"42\"}' \\"
	@echo "    -H \"Authorization: Bearer \$$($(BUILT) token --role admin --subject ann)\""
	@echo "  curl http://127.0.0.1:6001/metrics"
	@echo "and connect a Pusher client to ws://127.0.0.1:6001/app/key1 (README.md shows one). Ctrl-C stops it."
	@exec $(BUILT) serve --config $(CONFIG)

build: packages ## Build the release binary.
	@$(RELEASE) --product fleetwire
	@ln -sf release/fleetwire $(BUILT)

test-build: test-packages ## Build the tests, and the programs that they use.
	swift build --build-tests
	OPTIMISATION=none swift build --package-path examples/realtime --scratch-path .build/example -debug-info-format none

# End-to-end tests wait more than they compute, Swift tests only compute: they run side by side, and Swift tests give way.
test: test-build $(PYTHON_READY) ## Run all tests.
	+$(MAKE) -j 2 --old-file=test-build unit e2e
	+$(MAKE) --old-file=test-build e2e-plain

# Prints what fails and the sum: a line for each of thousands of tests would hide both.
unit: test-build ## Run the Swift tests, or FILTER.
	@set -o pipefail; nice swift test --skip-build --disable-xctest --parallel $(FILTER:%=--filter %) 2>&1 | \
	  awk '/^✔ Test run with/ || !/^(◇|✔)/ { print; fflush() }'

# The tests that let nodes, the bus and the database fail, and what operators see of it.
FAULT_TESTS := test_cluster_node_faults.py test_cluster_outages.py test_cluster_hostile.py test_cluster_metrics.py

ALL_TESTS := -n 4 --dist loadfile --no-loadscope-reorder $(FAULT_TESTS:%=--ignore %)

e2e: test-build $(PYTHON_READY) ## Run the end-to-end tests without those of a cluster's faults, or TESTS.
	cd Tests/EndToEnd && FLEETWIRE_BINARY=$(or $(FLEETWIRE_BINARY),$(abspath $(TEST_BINARY))) $(abspath $(PYTHON)) -m pytest -q $(or $(TESTS),$(ALL_TESTS))

# The tests of the protocol, which hold for a gateway without a fleet, too.
PLAIN_TESTS := test_activity_timeout.py test_api_*.py test_applications.py test_cache_channels.py test_client_events.py \
  test_connection.py test_connection_states.py test_http_wire.py test_invalid_messages.py test_isolation.py test_limits.py \
  test_message_format.py test_message_order.py test_message_rates.py test_origins.py test_path_prefix.py test_presence*.py \
  test_private_channels.py test_quota.py test_replay_protection.py test_sdk_*.py test_subscription_counts.py \
  test_subscriptions.py test_tls.py test_users.py test_watchlists.py test_webhook_delivery.py test_webhooks.py \
  test_websocket_wire.py

e2e-plain: test-build $(PYTHON_READY) ## Run the protocol's end-to-end tests on gateways without a fleet.
	cd Tests/EndToEnd && FLEETWIRE_TEST_PLAIN=1 FLEETWIRE_BINARY=$(or $(FLEETWIRE_BINARY),$(abspath $(TEST_BINARY))) $(abspath $(PYTHON)) -m pytest -q -n 4 --dist loadfile $(PLAIN_TESTS)

# What is true of the program that users install only.
test-release: build $(PYTHON_READY) ## Run the tests of the release binary: its libraries, its unit, the walk through docs/operations.md.
	cd Tests/EndToEnd && $(abspath $(PYTHON)) -m pytest -q test_deploy_docker.py test_deploy_unit.py test_deploy_walkthrough.py

test-slow: build $(PYTHON_READY) ## Run the tests that divide constants of time on the release binary, undivided.
	cd Tests/EndToEnd && $(abspath $(PYTHON)) -m pytest -q -n 4 --dist load $$(grep -l '^TIMING_DIVISOR' test_*.py)

# The tests of what the store keeps.
POSTGRES_TESTS := test_fleet_*.py test_delivery*.py test_trip*.py test_accounts.py test_batch_dispatch.py test_codes.py \
  test_fixed_*.py

test-postgres: build $(PYTHON_READY) ## Run the store's tests, and end-to-end tests of what it keeps, on PostgreSQL.
	dev/with-postgres swift test --disable-xctest --parallel --filter StoreTests
	cd Tests/EndToEnd && ../../dev/with-postgres $(abspath $(PYTHON)) -m pytest -q -n 2 --dist loadfile $(POSTGRES_TESTS)

# The tests of what must not depend on the node that a client or a backend uses.
CLUSTER_TESTS := test_message_order.py test_subscriptions.py test_presence.py test_presence_races.py test_users.py \
  test_watchlists.py test_cache_channels.py test_subscription_counts.py test_webhooks.py test_client_events.py \
  test_api_channels.py test_api_events.py test_api_batch.py test_private_channels.py test_fleet_*.py test_delivery.py \
  test_delivery_clients.py test_trips.py test_trips_data.py

test-cluster: build $(PYTHON_READY) ## Run the tests of clusters, and others on three nodes, a random one for each connection.
	cd Tests/EndToEnd && $(abspath $(PYTHON)) -m pytest -q -n 2 --dist load test_cluster.py test_cluster_ops.py $(FAULT_TESTS)
	cd Tests/EndToEnd && ../../dev/with-cluster $(abspath $(PYTHON)) -m pytest -q -n 2 --dist loadfile $(CLUSTER_TESTS)

check: lint build test test-release ## Check the formatting, build, and run all tests. CI runs more: see .ci/run.

lint: ## Check the formatting, the declared imports, that input is read as bytes, that locks contain no functions, that links name something, that no layer knows those above it.
	swift format lint --strict --recursive Sources Tests Package.swift
	dev/imports
	dev/bytes
	dev/locks
	dev/links
	dev/layers

format: ## Format all Swift files.
	swift format --in-place --recursive Sources Tests Package.swift

# A bound that one of them misses does not hide the others' tables.
bench: build test-packages ## Run the benchmarks and print their tables.
	@failed=0; Benchmarks/run $(BINARY) || failed=1; \
	for name in escapes push latency; do python3 Benchmarks/$$name.py $(BINARY) || failed=1; done; exit $$failed

bench-latency: build test-packages ## Print the latencies of `fleetwire bench` (two minutes).
	python3 Benchmarks/latency.py $(BINARY)

bench-cluster: build $(PYTHON_READY) ## Compare one, two and three nodes with a single gateway (nine minutes).
	$(PYTHON) Benchmarks/cluster.py $(BINARY)

# The revision before guaranteed delivery. With a later one, BENCH_LOADS may name actions, too.
BASE ?= e44a37d
bench-base: build test-packages ## Compare the speed of BASE, an earlier revision, with the present one, in interleaved runs.
	Benchmarks/base $(BASE) $(BINARY)

sim: packages ## Run the simulation with SEEDS seeds.
	@$(RELEASE) --product fleetwire-sim
	$(SIMULATOR) --seed 1 --seeds $(SEEDS)

crash: build $(PYTHON_READY) ## Kill the gateway under load ROUNDS times, stop it STOPS times; check that nothing answered 200 is lost, or not delivered.
	cd Tests/EndToEnd && $(abspath $(PYTHON)) crash.py --rounds $(ROUNDS) --stops $(STOPS)
	cd Tests/EndToEnd && $(abspath $(PYTHON)) crash_delivery.py --rounds $(ROUNDS) --stops $(STOPS)

city: build $(PYTHON_READY) ## Let CARS drivers drive past their pickups while the gateway is killed KILLS times; check what customers are told.
	cd Tests/EndToEnd && $(abspath $(PYTHON)) city.py --drivers $(CARS) --kills $(KILLS) $(SEED:%=--seed %)

storm: build $(PYTHON_READY) ## Let DRIVERS come back at once while notifications wait for them; print how fast they get them.
	cd Tests/EndToEnd && $(abspath $(PYTHON)) storm.py --drivers $(DRIVERS)

hostile: build $(PYTHON_READY) ## Attack the gateway for MINUTES; check that other clients do not notice.
	cd Tests/EndToEnd && $(abspath $(PYTHON)) hostile.py --minutes $(MINUTES) $(SEED:%=--seed %)

soak: build $(PYTHON_READY) ## Load the gateway for MINUTES, then connect 15,000 clients ten times; check memory and loss.
	cd Tests/EndToEnd && $(abspath $(PYTHON)) soak.py --minutes $(MINUTES) $(SEED:%=--seed %)

aged: build $(PYTHON_READY) ## Run everything on a store of a year with ROWS rows; print the slowest of each, and fail above a bound.
	cd Tests/EndToEnd && $(abspath $(PYTHON)) aged.py --rows $(ROWS)

growth: test-packages ## Print the bytes on the disk of a delivered and pushed notification, and fail if there are too many.
	swift test --disable-xctest --filter GrowthTests

upgrade: test-packages ## Migrate a store with NOTIFICATIONS of version 20; print time, memory and space.
	UPGRADE_NOTIFICATIONS=$(NOTIFICATIONS) swift test --disable-xctest --filter StoreUpgradeTests

pictures: build $(PYTHON_READY) ## Let a fleet work for five minutes and picture the console, for the documents.
	cd Tests/EndToEnd && $(abspath $(PYTHON)) pictures.py $(abspath docs/pictures)

conformance: ## List the points of docs/protocol.md without a test.
	@dev/conformance

mutants: test-packages $(PYTHON_READY) ## Plant each defect of Tests/Mutants, or MUTANTS, alone; its suite must find it.
	$(PYTHON) Tests/Mutants/run.py $(MUTANTS)

fuzz: test-packages ## Run each fuzzer for SECONDS_PER_FUZZER seconds.
	Tests/Fuzz/run.sh $(SECONDS_PER_FUZZER)

instructions: test-packages ## Count the instructions of each parser, or PARSERS, on an ordinary input and on those that cost most.
	dev/instructions $(PARSERS)

SANITIZED_TESTS := -q -n 3 --dist loadfile --no-loadscope-reorder

tsan: export OPTIMISATION := none
tsan: test-packages $(PYTHON_READY) ## Run unit and end-to-end tests under ThreadSanitizer.
	swift test --disable-xctest --sanitize=thread --scratch-path .build-tsan
	swift build --sanitize=thread --scratch-path .build-tsan --product fleetwire
	cd Tests/EndToEnd && FLEETWIRE_BINARY=$(abspath .build-tsan/debug/fleetwire) $(abspath $(PYTHON)) -m pytest $(SANITIZED_TESTS) -m "not cost and not pace"

LEAKS := LSAN_OPTIONS=print_suppressions=0:suppressions=$(abspath Tests/EndToEnd/leaks.txt)

asan: test-packages $(PYTHON_READY) ## Run unit and end-to-end tests under AddressSanitizer.
	$(LEAKS) swift test --disable-xctest --sanitize=address --scratch-path .build-asan
	swift build --sanitize=address --scratch-path .build-asan --product fleetwire
	cd Tests/EndToEnd && ASAN_OPTIONS=quarantine_size_mb=1 $(LEAKS) FLEETWIRE_BINARY=$(abspath .build-asan/debug/fleetwire) $(abspath $(PYTHON)) -m pytest $(SANITIZED_TESTS) -m "not cost"

man: build ## Write the manual page to .build/fleetwire.1.
	@dev/manual $(BINARY) > $(MANUAL)

install: ## Install what `make man` has built, as root: the program, its manual page and its units.
	install -D -m 755 $(BINARY) $(DESTDIR)/usr/local/bin/fleetwire
	install -D -m 644 $(MANUAL) $(DESTDIR)/usr/local/share/man/man1/fleetwire.1
	install -D -m 644 deploy/systemd/fleetwire.service $(DESTDIR)/etc/systemd/system/fleetwire.service
	install -D -m 644 deploy/systemd/fleetwire.socket $(DESTDIR)/etc/systemd/system/fleetwire.socket

packages: ## Install the Debian packages that building and running need, if they are missing.
	@dev/packages build

test-packages: ## Install those of the tests and benchmarks, too.
	@dev/packages test

$(PYTHON_READY): Tests/EndToEnd/requirements.txt | test-packages
	python3 -m venv .build/python
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

clean: ## Delete all build products.
	rm -rf .build .build-*
