// swift-tools-version: 6.2
import PackageDescription

// The list of targets is the architecture: a module imports only what stands above it.
let settings: [SwiftSetting] = [.treatAllWarnings(as: .error)]

func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .testTarget(
        name: name + "Tests", dependencies: [.byName(name: name)] + dependencies, exclude: exclude, swiftSettings: settings)
}

let package = Package(
    name: "fleetwire",
    products: [.executable(name: "fleetwire", targets: ["fleetwire"])],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    ],
    targets: [
        // C libraries: a module map and a small shim header each, no logic.
        .systemLibrary(name: "CLibev", providers: [.apt(["libev-dev"])]),
        .systemLibrary(name: "CLibwebsockets", pkgConfig: "libwebsockets", providers: [.apt(["libwebsockets-dev"])]),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),

        // Pure: values in, values out.
        module("PusherProtocol"),
        module("Timestamps"),
        module("FleetRules", ["PusherProtocol", "Timestamps"]),
        module("FanOut", ["PusherProtocol", "FleetRules"]),

        // Adapters, each to one thing outside.
        module("Signing", ["COpenSSL"]),
        module("Threads", ["CLinux"]),
        module("Observability", ["Threads", "Timestamps"]),
        module("Tokens", ["PusherProtocol", "Timestamps", "FleetRules", "Signing", "Threads"]),
        module("Configuration", ["PusherProtocol", "FleetRules", "Yams"]),
        module("HTTPClient", ["CCurl"]),
        module("Store", ["CSQLite", "PusherProtocol", "Timestamps", "FleetRules", "Signing", "Threads"]),
        module(
            "Push",
            ["PusherProtocol", "Timestamps", "FleetRules", "Signing", "Threads", "Configuration", "HTTPClient"]),
        module("Webhooks", ["PusherProtocol", "Signing", "Threads", "HTTPClient"]),
        module("HTTPAPI", ["PusherProtocol", "Timestamps", "FleetRules", "FanOut", "Signing", "Tokens", "Threads"]),
        module("Server", ["CLinux", "CLibev", "CLibwebsockets", "PusherProtocol", "Threads", "HTTPAPI"]),

        // Composition, and the seeded world that proves the pure modules.
        module(
            "Gateway",
            [
                "PusherProtocol", "FleetRules", "FanOut", "Signing", "Tokens", "Threads", "Observability", "Configuration",
                "HTTPClient", "Store", "Push", "Webhooks", "HTTPAPI", "Server",
            ]),
        module("Simulation", ["PusherProtocol", "FleetRules", "FanOut"]),
        .executableTarget(
            name: "fleetwire",
            dependencies: [
                "Configuration", "FleetRules", "Gateway", "HTTPClient", "Observability", "Push", "Server", "Signing",
                "Simulation",
                "Store", "Threads", "Timestamps", "Tokens",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings),

        // What several targets' tests need.
        .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: settings),

        tests("PusherProtocol", ["TestSupport"]),
        tests("Timestamps"),
        tests("FleetRules", ["PusherProtocol", "TestSupport"], exclude: ["Golden"]),
        tests("FanOut", ["PusherProtocol", "FleetRules", "TestSupport"]),
        tests("Signing"),
        tests("Tokens", ["FleetRules", "PusherProtocol", "Signing", "Threads"]),
        tests("Store", ["CSQLite", "FleetRules", "PusherProtocol", "Signing", "TestSupport", "Threads"]),
        tests("Threads"),
        tests("Observability", ["Threads", "Timestamps"]),
        tests("Configuration", ["TestSupport", "Yams"]),
        tests("HTTPClient"),
        tests(
            "Push", ["Configuration", "FleetRules", "HTTPClient", "PusherProtocol", "Signing", "TestSupport", "Threads"],
            exclude: ["Golden"]),
        tests("Webhooks", ["HTTPClient", "PusherProtocol", "Signing", "TestSupport", "Threads"]),
        tests("HTTPAPI", ["FanOut", "FleetRules", "PusherProtocol", "Signing", "Tokens"]),
        tests("Server", ["PusherProtocol", "HTTPAPI", "TestSupport"]),
        tests(
            "Gateway",
            [
                "Configuration", "FanOut", "FleetRules", "HTTPAPI", "Observability", "PusherProtocol", "Server", "Store",
                "Threads",
                "Webhooks",
            ]),
        tests("Simulation", ["FanOut", "PusherProtocol"]),
    ],
    swiftLanguageModes: [.v6]
)
