// swift-tools-version: 6.2
import PackageDescription

// The list of targets is the architecture: a module imports only what stands above it.
let settings: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    // Without the checks at run time that no two accesses to a property overlap: they are 6 % of a publish's
    // instructions. Debug builds, which the tests and the sanitizers run, keep them.
    .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release)),
]

// The modules are optimised in debug builds, too: the tests spend their time in them. Assertions stay. OPTIMISATION=whole
// optimises each module as a whole, which is quicker for a build from nothing, and slower after a change.
// OPTIMISATION=none is for `make run`, which is to start soon, and for ThreadSanitizer: optimised code reads a copied
// array's elements itself, and the sanitizer does not see the reference counts, in the runtime, that order these reads
// before the writes of the only owner left.
let optimised = ["-O", "-assert-config", "Debug"]
let optimisation =
    switch Context.environment["OPTIMISATION"] {
    case nil: optimised
    case "none": [String]()
    case "whole": optimised + ["-whole-module-optimization", "-num-threads", "2"]
    case let other?: fatalError("OPTIMISATION is \(other): expected none or whole, or no such variable")
    }
let moduleSettings: [SwiftSetting] =
    settings + [
        .unsafeFlags(optimisation, .when(configuration: .debug)),
        .define("TIMING_DIVISOR", .when(configuration: .debug)),
    ]

func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: moduleSettings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .testTarget(
        name: name + "Tests", dependencies: [.byName(name: name)] + dependencies, exclude: exclude, swiftSettings: settings)
}

let package = Package(
    name: "fleetwire",
    products: [
        .executable(name: "fleetwire", targets: ["fleetwire"]),
        .executable(name: "fleetwire-sim", targets: ["fleetwire-sim"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
    ],
    targets: [
        // C libraries: a module map and a small shim header each, no logic.
        .systemLibrary(name: "CLibev", providers: [.apt(["libev-dev"])]),
        .systemLibrary(name: "CLibwebsockets", pkgConfig: "libwebsockets", providers: [.apt(["libwebsockets-dev"])]),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CTLS", pkgConfig: "libssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CNats", pkgConfig: "libnats", providers: [.apt(["libnats-dev"])]),
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),

        // The files of the console's page, as bytes in the binary.
        .target(name: "CConsole", exclude: ["page"]),

        // Values: no I/O, no threads, no C.
        module("Primitives"),
        module("Addresses", ["Primitives"]),
        module("JSON", ["Primitives"]),
        module("HTTP", ["Addresses", "Primitives"]),
        module("HTTP1", ["HTTP", "Primitives"]),
        module("WebSocketFraming"),
        module("PusherProtocol", ["JSON", "Primitives", "WebSocketFraming"]),
        module("Access", ["Addresses", "Primitives", "PusherProtocol"]),
        module("FanOut", ["Access", "Primitives", "PusherProtocol"]),
        module("Cluster", ["Access", "FanOut", "Primitives", "PusherProtocol"]),
        module("Accounts", ["Primitives"]),
        module("Batches", ["JSON", "Primitives"]),
        module("OneTimeCodes", ["JSON", "Primitives"]),
        module("FleetRules", ["Access", "Accounts", "Batches", "JSON", "OneTimeCodes", "Primitives"]),
        module("Replay", ["FleetRules"]),
        module("Trips", ["Access", "FleetRules", "Primitives"]),

        module("Console", ["CConsole", "HTTP", "JSON"]),

        // Adapters, each to one thing outside.
        module("Crypto", ["COpenSSL"]),
        module("Threads", ["CLinux"]),
        module("Observability", ["Primitives", "Threads"]),
        module("JWT", ["Access", "Crypto", "JSON", "Primitives", "Threads"]),
        module(
            "Configuration", ["Access", "Accounts", "Addresses", "FleetRules", "JSON", "Primitives", "PusherProtocol", "Yams"]),
        module("Migration", ["Configuration", "JSON"]),
        module("HTTPClient", ["CCurl"]),
        module("NATS", ["CNats", "Primitives", "Threads"]),
        module(
            "Store",
            [
                "Access", "Accounts", "Batches", "CPostgres", "Crypto", "CSQLite", "FleetRules", "JSON", "OneTimeCodes",
                "Primitives", "Threads",
            ]),
        module(
            "Push", ["Access", "Crypto", "FleetRules", "HTTPClient", "JSON", "JWT", "Primitives", "Threads"]),
        // What the load test does: values, and an epoll loop over its own sockets.
        module(
            "Bench",
            [
                "Addresses", "CLinux", "CTLS", "Crypto", "HTTP1", "JSON", "Primitives", "PusherProtocol", "Threads",
                "WebSocketFraming",
            ]),
        module("Top", ["CLinux", "HTTPClient", "JSON", "Primitives"]),
        module("Webhooks", ["Crypto", "HTTPClient", "JSON", "Primitives", "PusherProtocol", "Threads"]),
        module("SMS", ["Crypto", "HTTPClient", "JSON", "Primitives", "Threads"]),
        module(
            "HTTPAPI",
            [
                "Access", "Accounts", "Batches", "Console", "Crypto", "FanOut", "FleetRules", "HTTP", "JSON", "JWT",
                "OneTimeCodes", "Primitives", "PusherProtocol",
            ]),
        module(
            "Server",
            [
                "Addresses", "CLibev", "CLibwebsockets", "CLinux", "CTLS", "Crypto", "HTTP", "HTTP1", "Observability",
                "Primitives", "PusherProtocol", "Threads", "WebSocketFraming",
            ]),

        // Composition.
        module(
            "Gateway",
            [
                "Access", "Accounts", "Addresses", "Batches", "Cluster", "Configuration", "Console", "Crypto", "Replay",
                "FanOut", "FleetRules", "HTTP", "HTTPAPI", "HTTPClient", "JSON", "JWT", "NATS", "Observability",
                "OneTimeCodes", "Primitives", "Push", "PusherProtocol", "Server", "SMS", "Store", "Threads", "Trips", "Webhooks",
            ]),
        .executableTarget(
            name: "fleetwire",
            dependencies: [
                "Access", "Bench", "Configuration", "Crypto", "FleetRules", "Gateway", "HTTPClient", "JSON", "JWT",
                "Migration", "Observability",
                "Primitives", "Push", "PusherProtocol", "Server", "Store", "Threads", "Top",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings),

        // What several targets' tests need; the seeded world that runs the pure modules against a naive model, and its
        // program, which is not installed.
        .target(
            name: "TestSupport", dependencies: ["HTTP", "HTTP1", "JSON"], path: "Tests/TestSupport", swiftSettings: settings),
        .target(
            name: "Simulation",
            dependencies: [
                "Access", "Cluster", "Crypto", "Replay", "FanOut", "FleetRules", "Gateway", "JSON", "Primitives",
                "PusherProtocol", "Store", "TestSupport",
            ],
            path: "Tests/Simulation",
            swiftSettings: settings),
        .executableTarget(
            name: "fleetwire-sim",
            dependencies: ["Simulation", .product(name: "ArgumentParser", package: "swift-argument-parser")],
            swiftSettings: settings),

        tests("Primitives", ["TestSupport"]),
        tests("Addresses", ["TestSupport"]),
        tests("JSON", ["TestSupport"]),
        tests("HTTP", ["TestSupport"]),
        tests("HTTP1", ["HTTP", "TestSupport"], exclude: ["Golden"]),
        tests("WebSocketFraming", ["Crypto", "TestSupport"], exclude: ["Golden"]),
        tests("PusherProtocol", ["JSON", "TestSupport"]),
        tests("Console", ["HTTP"]),
        tests("Access", ["Addresses", "PusherProtocol"]),
        tests("Migration", ["Configuration", "TestSupport"]),
        tests("Accounts", ["Primitives", "TestSupport"]),
        tests("OneTimeCodes", ["Primitives", "TestSupport"]),
        tests("Batches", ["JSON", "Primitives", "TestSupport"]),
        tests(
            "FleetRules", ["Access", "Accounts", "Batches", "HTTPAPI", "JSON", "Primitives", "TestSupport"], exclude: ["Golden"]),
        tests("FanOut", ["Access", "JSON", "PusherProtocol", "TestSupport"]),
        tests("Cluster", ["Access", "FanOut", "Primitives", "PusherProtocol", "TestSupport"]),
        tests("Replay", ["FleetRules", "TestSupport"]),
        tests("Trips", ["Access", "FleetRules", "JSON", "Primitives", "TestSupport"]),
        tests("Crypto", ["TestSupport"]),
        tests("JWT", ["Access", "Crypto", "TestSupport", "Threads"]),
        tests(
            "Store",
            [
                "Access", "Accounts", "Batches", "Crypto", "CSQLite", "FleetRules", "HTTPAPI", "JSON", "OneTimeCodes",
                "Primitives",
                "TestSupport", "Threads", "Trips",
            ]),
        tests("Threads"),
        tests("Observability", ["Primitives", "TestSupport", "Threads"]),
        tests("Configuration", ["Access", "FleetRules", "TestSupport", "Yams"]),
        tests("HTTPClient"),
        tests("NATS", ["Threads"]),
        tests("Bench", ["JSON"]),
        tests("Top"),
        tests(
            "Push", ["Access", "Crypto", "FleetRules", "HTTPClient", "JSON", "Primitives", "TestSupport", "Threads"],
            exclude: ["Golden"]),
        tests("SMS", ["Threads"]),
        tests("Webhooks", ["JSON", "PusherProtocol", "TestSupport", "Threads"]),
        tests(
            "HTTPAPI",
            [
                "Access", "Accounts", "Batches", "Crypto", "FanOut", "FleetRules", "HTTP", "JSON", "JWT", "OneTimeCodes",
                "Primitives", "PusherProtocol", "TestSupport", "Yams",
            ], exclude: ["Golden"]),
        tests(
            "Server",
            ["Addresses", "CLibev", "CTLS", "HTTP", "HTTP1", "Observability", "PusherProtocol", "TestSupport", "Threads"]),
        tests(
            "Gateway",
            [
                "Access", "Addresses", "Batches", "Cluster", "Configuration", "FanOut", "FleetRules", "HTTP", "HTTPAPI",
                "Observability", "OneTimeCodes", "Primitives", "PusherProtocol", "Server", "Store", "TestSupport", "Threads",
                "Webhooks",
            ]),
        tests("Simulation", ["Access", "FanOut", "FleetRules", "PusherProtocol", "Store", "TestSupport"]),
    ],
    swiftLanguageModes: [.v6]
)
