// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "chat-server",
    dependencies: [.package(name: "fleetwire", path: "../..")],
    targets: [
        .executableTarget(
            name: "chat-server", dependencies: [.product(name: "Realtime", package: "fleetwire")], path: "Sources/ChatServer")
    ]
)
