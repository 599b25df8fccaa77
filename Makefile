# Everything one does with Fleetwire. `make run` and `make test` need nothing done before.

CONFIG ?= config/fleetwire.yaml
BINARY := .build/release/fleetwire
PYTHON := .build/python/bin/python
PYTHON_READY := .build/python/.ready
# Load generator and reference server for `make bench`: a folder with wsload.c and floor.c.
BENCH_TOOLS ?= ../shared/bench
SECONDS_PER_FUZZER ?= 10
ROUNDS ?= 200
SEEDS ?= 10000

RELEASE := swift build -c release --static-swift-stdlib

.PHONY: run build test unit e2e check lint format bench sim crash fuzz conformance tsan asan packages clean

run: build ## Start the gateway with the development configuration.
	@echo "Try it from another terminal:"
	@echo "  $(BINARY) send --channel my-channel --event my-event --data '{\"hello\":\"world\"}'"
	@echo "  curl http://127.0.0.1:6001/api/admin/orders/A-17/assign-driver -d '{\"driverId\":\"42\"}' \\"
	@echo "    -H \"Authorization: Bearer \$$($(BINARY) token --role admin --subject ann)\""
	@echo "  curl http://127.0.0.1:6001/metrics"
	@echo "and connect a Pusher client to ws://127.0.0.1:6001/app/key1 (README.md shows one). Ctrl-C stops it."
	@exec $(BINARY) serve --config $(CONFIG)

build: packages ## Build the release binary.
	@$(RELEASE)

test: unit e2e ## Run all tests.

unit: packages
	swift test --disable-xctest --parallel

e2e: build $(PYTHON_READY)
	cd Tests/EndToEnd && $(abspath $(PYTHON)) -m pytest -q -n 2 --dist loadfile

check: lint build test ## What CI runs.

lint:
	swift format lint --strict --recursive Sources Tests Package.swift

format:
	swift format --in-place --recursive Sources Tests Package.swift

bench: build ## Print the speed table; ARCHITECTURE.md has the last one.
	Benchmarks/run $(BINARY) $(BENCH_TOOLS)
	python3 Benchmarks/push.py $(BINARY)

sim: build ## Many seeds of the simulation.
	$(BINARY) simulate --seed 1 --seeds $(SEEDS)

crash: build $(PYTHON_READY) ## Kill the gateway at random instants under load; nothing it answered may be lost.
	cd Tests/EndToEnd && $(abspath $(PYTHON)) crash.py --rounds $(ROUNDS)

conformance: ## Which points of the protocol have no test.
	@dev/conformance

fuzz: packages ## Every fuzzer for a few seconds.
	Tests/Fuzz/run.sh $(SECONDS_PER_FUZZER)

tsan: packages $(PYTHON_READY) ## Unit and end-to-end tests under ThreadSanitizer.
	swift test --disable-xctest --sanitize=thread --scratch-path .build-tsan
	swift build --sanitize=thread --scratch-path .build-tsan --product fleetwire
	cd Tests/EndToEnd && FLEETWIRE_BINARY=$(abspath .build-tsan/debug/fleetwire) $(abspath $(PYTHON)) -m pytest -q

asan: packages $(PYTHON_READY) ## Unit and end-to-end tests under AddressSanitizer.
	swift test --disable-xctest --sanitize=address --scratch-path .build-asan
	swift build --sanitize=address --scratch-path .build-asan --product fleetwire
	cd Tests/EndToEnd && ASAN_OPTIONS=quarantine_size_mb=1 LSAN_OPTIONS=print_suppressions=0:suppressions=$(abspath Tests/EndToEnd/leaks.txt) FLEETWIRE_BINARY=$(abspath .build-asan/debug/fleetwire) $(abspath $(PYTHON)) -m pytest -q

packages:
	@dev/packages

$(PYTHON_READY): Tests/EndToEnd/requirements.txt | packages
	python3 -m venv .build/python
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

clean:
	rm -rf .build .build-*
