#!/usr/bin/env bash
# Fuzzes the code that reads untrusted bytes: Tests/Fuzz/run.sh [seconds per target, default 10].
#
# Each target starts from its committed corpus and the inputs that earlier runs found (.build-fuzz/units). An input that
# crashes a target is copied into the target's corpus, where it stays as a regression test.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=${1:-10}
build=.build-fuzz
modules=(Primitives Addresses JSON HTTP HTTP1 WebSocketFraming PusherProtocol FanOut Cluster Crypto PusherAPI Access Threads JWT Console
    Fleet TestSupport)
targets=(FuzzAddresses FuzzHTTP1 FuzzWebSocketFraming FuzzJSON FuzzClientMessage FuzzHub FuzzTokens FuzzFleet)
flags=(-O -wmo -g -swift-version 6 -warnings-as-errors -parse-as-library -package-name fleetwire -enable-testing
    -sanitize=fuzzer,address -use-ld=lld -I "$build" -I "$PWD/Sources/Base/COpenSSL" -I "$PWD/Sources/Base/CLinux"
    -I "$PWD/Sources/Fleet/CSQLite" -I "$PWD/Sources/Fleet/CPostgres" -I /usr/include/postgresql
    -I "$PWD/Sources/Fleet/CConsole/include")

mkdir -p "$build"
clang -O2 -c Sources/Fleet/CConsole/console.c -I Sources/Fleet/CConsole/include -o "$build/CConsole.o"
objects=("$build/CConsole.o")
for module in "${modules[@]}"; do
    for folder in Sources/*/"$module" Sources/"$module" Tests/"$module"; do if [ -d "$folder" ]; then break; fi; done
    mapfile -t sources < <(find "$folder" -name '*.swift')
    swiftc "${flags[@]}" -module-name "$module" -emit-module -emit-module-path "$build/$module.swiftmodule" \
        -c -o "$build/$module.o" "${sources[@]}"
    objects+=("$build/$module.o")
done

# Calls a function for each target, for as many at a time as there are cores.
for_each_target() {
    local processes=() failed=0
    for target in "${targets[@]}"; do
        while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n || true; done
        "$1" "$target" &
        processes+=($!)
    done
    for process in "${processes[@]}"; do wait "$process" || failed=1; done
    return "$failed"
}

# Runs in the build folder of the target, because the compiler leaves intermediate files in its working directory.
build_target() {
    mkdir -p "$build/$1.build"
    (cd "$build/$1.build" && swiftc "${flags[@]}" -I .. -module-name "$1" -o "../$1" \
        "../../Tests/Fuzz/$1"*.swift ../../Tests/Fuzz/Invariant.swift "${objects[@]/#$build/..}")
}

# Swift's own backtrace reads memory that AddressSanitizer guards. AddressSanitizer would report that read, not the crash.
export SWIFT_BACKTRACE=enable=no

run_target() {
    local target=$1 corpus=Tests/Fuzz/corpus/$1 log=$build/$1.log crashes=$build/crashes/$1
    rm -rf "$crashes"
    mkdir -p "$crashes" "$build/units/$target"
    # Limits per input: 5 seconds and 1 GiB.
    if timeout -k 5 $((seconds + 60)) "$build/$target" -max_total_time="$seconds" -max_len=4096 -timeout=5 \
        -rss_limit_mb=1024 -artifact_prefix="$crashes/" "$build/units/$target" "$corpus" </dev/null >"$log" 2>&1; then
        runs=$(sed -nE 's/^Done ([0-9]+) runs in ([0-9]+) second.*/\1 runs in \2 seconds/p' "$log")
        echo "$target: ${runs:-no runs}"
        return
    fi
    grep -E 'Fatal error|ERROR: |SUMMARY: |^ +#[0-9]+ ' "$log" | head -n 12 || tail -n 20 "$log"
    for crash in "$crashes"/*; do
        [ -e "$crash" ] || continue
        cp "$crash" "$corpus/"
        echo "$target fails on $corpus/$(basename "$crash"): fix it, and commit the fix with this input" >&2
    done
    echo "$target: FAILED, see $log"
    return 1
}

for_each_target build_target
for_each_target run_target
