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

/// The layers, from the lowest: a target imports only targets that stand above it in this file. `dev/layers` checks the
/// words, too: what stands below `fleet` knows nothing of the fleet.
enum Layer: String {
    case base = "Base"
    case realtime = "Realtime"
    case fleet = "Fleet"
    /// The programs, and what only they need.
    case program = ""

    func path(_ target: String) -> String { self == .program ? "Sources/\(target)" : "Sources/\(rawValue)/\(target)" }
}

func library(
    _ layer: Layer, _ name: String, pkgConfig: String? = nil, apt package: String? = nil
) -> Target {
    .systemLibrary(
        name: name, path: layer.path(name), pkgConfig: pkgConfig, providers: package.map { [.apt([$0])] })
}

func module(_ layer: Layer, _ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: layer.path(name), swiftSettings: moduleSettings)
}

/// - Parameter module: the tested one, if the tests have another name.
func tests(
    _ name: String, of module: String? = nil, _ dependencies: [Target.Dependency] = [], exclude: [String] = []
) -> Target {
    .testTarget(
        name: name + "Tests", dependencies: [.byName(name: module ?? name)] + dependencies, exclude: exclude,
        swiftSettings: settings)
}

let package = Package(
    name: "fleetwire",
    products: [
        .executable(name: "fleetwire", targets: ["fleetwire"]),
        .executable(name: "fleetwire-sim", targets: ["fleetwire-sim"]),
        .library(name: "Realtime", targets: ["Realtime"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
    ],
    targets: [
        // Base: what any server needs. C libraries are a module map and a small shim header each, no logic.
        library(.base, "CLibev", apt: "libev-dev"),
        library(.base, "CLinux"),
        library(.base, "COpenSSL", pkgConfig: "libcrypto", apt: "libssl-dev"),
        library(.base, "CTLS", pkgConfig: "libssl", apt: "libssl-dev"),
        library(.base, "CCurl", pkgConfig: "libcurl", apt: "libcurl4-openssl-dev"),
        module(.base, "Primitives"),
        module(.base, "Addresses", ["Primitives"]),
        module(.base, "JSON", ["Primitives"]),
        module(.base, "HTTP", ["Addresses", "Primitives"]),
        module(.base, "HTTP1", ["HTTP", "Primitives"]),
        module(.base, "WebSocketFraming"),
        module(.base, "Crypto", ["COpenSSL"]),
        module(.base, "Threads", ["CLinux"]),
        module(.base, "Observability", ["Primitives", "Threads"]),
        module(.base, "HTTPClient", ["CCurl"]),

        // Realtime: a Pusher server.
        library(.realtime, "CLibwebsockets", pkgConfig: "libwebsockets", apt: "libwebsockets-dev"),
        library(.realtime, "CNats", pkgConfig: "libnats", apt: "libnats-dev"),
        module(.realtime, "PusherProtocol", ["JSON", "Primitives", "WebSocketFraming"]),
        module(.realtime, "FanOut", ["Addresses", "Primitives", "PusherProtocol"]),
        module(.realtime, "Cluster", ["FanOut", "Primitives", "PusherProtocol"]),
        module(.realtime, "NATS", ["CNats", "Primitives", "Threads"]),
        module(.realtime, "Webhooks", ["Crypto", "HTTPClient", "JSON", "Primitives", "PusherProtocol", "Threads"]),
        module(
            .realtime, "PusherAPI",
            ["Crypto", "FanOut", "HTTP", "JSON", "Primitives", "PusherProtocol"]),
        module(
            .realtime, "Server",
            [
                "Addresses", "CLibev", "CLibwebsockets", "CLinux", "CTLS", "Crypto", "HTTP", "HTTP1", "Observability",
                "Primitives", "PusherProtocol", "Threads", "WebSocketFraming",
            ]),
        // The Pusher server itself: the library product.
        module(
            .realtime, "Realtime",
            [
                "Addresses", "Cluster", "Crypto", "FanOut", "HTTP", "JSON", "NATS", "Observability", "Primitives", "PusherAPI",
                "PusherProtocol", "Server", "Threads", "Webhooks",
            ]),

        // Fleet: what a delivery fleet needs of it. The files of the console's page are bytes in the binary.
        .target(name: "CConsole", path: "Sources/Fleet/CConsole", exclude: ["page"]),
        module(.fleet, "Console", ["CConsole", "HTTP", "JSON"]),
        library(.fleet, "CPostgres", pkgConfig: "libpq", apt: "libpq-dev"),
        library(.fleet, "CSQLite", pkgConfig: "sqlite3", apt: "libsqlite3-dev"),
        module(.fleet, "Access", ["Cluster", "FanOut", "JSON", "Primitives", "PusherProtocol"]),
        module(.fleet, "JWT", ["Access", "Crypto", "JSON", "Primitives", "Threads"]),
        module(
            .fleet, "Fleet",
            [
                "Access", "Console", "CPostgres", "Crypto", "CSQLite", "FanOut", "HTTP", "JSON", "JWT", "Primitives",
                "PusherAPI", "PusherProtocol", "Threads",
            ]),
        module(.fleet, "Push", ["Access", "Crypto", "Fleet", "HTTPClient", "JSON", "JWT", "Primitives", "Threads"]),
        module(.fleet, "SMS", ["Crypto", "HTTPClient", "JSON", "Primitives", "Threads"]),
        module(
            .fleet, "Configuration",
            ["Access", "Addresses", "Fleet", "JSON", "Primitives", "PusherProtocol", "Realtime", "Server", "Yams"]),
        // The fleet on top of the Pusher server.
        module(
            .fleet, "FleetGateway",
            [
                "Access", "Addresses", "Cluster", "Configuration", "Console", "Crypto", "FanOut", "Fleet", "HTTP",
                "HTTPClient", "JSON", "JWT", "Observability", "Primitives", "Push", "PusherAPI", "PusherProtocol", "Realtime",
                "Server", "SMS", "Threads", "Webhooks",
            ]),

        // The programs.
        module(.program, "Migration", ["Configuration", "JSON"]),
        // What the load test does: values, and an epoll loop over its own sockets.
        module(
            .program, "Bench",
            [
                "Addresses", "CLinux", "CTLS", "Crypto", "HTTP1", "JSON", "Primitives", "PusherProtocol", "Threads",
                "WebSocketFraming",
            ]),
        module(.program, "Top", ["CLinux", "HTTPClient", "JSON", "Primitives"]),
        .executableTarget(
            name: "fleetwire",
            dependencies: [
                "Access", "Bench", "Configuration", "Crypto", "Fleet", "FleetGateway", "HTTPClient", "JSON", "JWT", "Migration",
                "Observability", "Primitives", "Push", "PusherProtocol", "Server", "Threads", "Top",
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
                "Access", "Cluster", "Crypto", "FanOut", "Fleet", "JSON", "Primitives", "PusherProtocol", "TestSupport",
            ],
            path: "Tests/Simulation",
            swiftSettings: settings),
        .target(
            name: "HubFixture", dependencies: ["FanOut", "JSON", "PusherProtocol"], path: "Tests/HubFixture",
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
        tests("Access", ["Addresses", "Cluster", "FanOut", "HubFixture", "JSON", "PusherProtocol", "TestSupport"]),
        tests("Migration", ["Configuration", "TestSupport"]),
        tests("Accounts", of: "Fleet", ["Primitives", "TestSupport"]),
        tests("OneTimeCodes", of: "Fleet", ["Primitives", "TestSupport"]),
        tests("Batches", of: "Fleet", ["JSON", "Primitives", "TestSupport"]),
        tests(
            "FleetRules", of: "Fleet", ["Access", "JSON", "Primitives", "TestSupport"], exclude: ["Golden"]),
        tests("FanOut", ["HubFixture", "PusherProtocol", "TestSupport"]),
        tests("Cluster", ["FanOut", "Primitives", "PusherProtocol", "TestSupport"]),
        tests("Replay", of: "Fleet", ["Access", "FanOut", "PusherProtocol", "TestSupport"]),
        tests("Trips", of: "Fleet", ["Access", "JSON", "Primitives", "TestSupport"]),
        tests("Crypto", ["TestSupport"]),
        tests("JWT", ["Access", "Crypto", "TestSupport", "Threads"]),
        tests(
            "Store", of: "Fleet",
            ["Access", "CSQLite", "Crypto", "JSON", "Primitives", "TestSupport", "Threads"]),
        tests("Threads"),
        tests("Observability", ["Primitives", "TestSupport", "Threads"]),
        tests("Configuration", ["Access", "Fleet", "TestSupport", "Yams"]),
        tests("HTTPClient"),
        tests("NATS", ["Threads"]),
        tests("Bench", ["JSON"]),
        tests("Top"),
        tests(
            "Push", ["Access", "Crypto", "Fleet", "HTTPClient", "JSON", "Primitives", "TestSupport", "Threads"],
            exclude: ["Golden"]),
        tests("SMS", ["Threads"]),
        tests("Webhooks", ["JSON", "PusherProtocol", "TestSupport", "Threads"]),
        tests(
            "HTTPAPI", of: "PusherAPI",
            [
                "Access", "Fleet", "Crypto", "FanOut", "HTTP", "JSON", "JWT", "Primitives", "PusherProtocol", "TestSupport",
                "Yams",
            ], exclude: ["Golden"]),
        tests(
            "Server",
            ["Addresses", "CLibev", "CTLS", "HTTP", "HTTP1", "Observability", "PusherProtocol", "TestSupport", "Threads"]),
        tests(
            "Realtime", ["Addresses", "FanOut", "PusherAPI", "PusherProtocol", "Server", "TestSupport", "Threads", "Webhooks"]),
        tests(
            "FleetGateway",
            [
                "Access", "Cluster", "Configuration", "FanOut", "Fleet", "HTTP", "Observability", "Primitives", "PusherAPI",
                "PusherProtocol", "Realtime", "Server", "TestSupport", "Threads",
            ]),
        tests("Simulation", ["Access", "FanOut", "Fleet", "PusherProtocol", "TestSupport"]),
    ],
    swiftLanguageModes: [.v6]
)
