import Foundation
import Testing
import Yams

@testable import Fleet
@testable import PusherAPI

/// docs/openapi.yaml has the same paths and methods as the gateway.
@Suite struct OpenAPITests {
    private static let methods: Set = ["get", "post", "put", "patch", "delete"]

    /// Texts such as `GET /api/driver/jobs`, with the roles that the file names.
    private static func documented() throws -> [String: Set<String>] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/openapi.yaml").standardized
        let root = try #require(try Yams.load(yaml: String(contentsOf: file, encoding: .utf8)) as? [String: Any])
        let paths = try #require(root["paths"] as? [String: [String: Any]])
        var found: [String: Set<String>] = [:]
        for (path, operations) in paths {
            for (method, operation) in operations where methods.contains(method) {
                let roles = (operation as? [String: Any])?["x-roles"] as? [String]
                found["\(method.uppercased()) \(path)"] = Set(roles ?? [])
            }
        }
        return found
    }

    private static let groups = FleetEndpoints.groupsWithAccounts + [SignInCodeEndpoints.group]

    @Test func everyEndpointOfTheFleetIsDescribed() throws {
        let documented = try Self.documented()
        for group in Self.groups {
            for endpoint in group.endpoints {
                let name = "\(endpoint.method.rawValue) \(endpoint.path)"
                let roles = try #require(documented[name], "\(name) is missing")
                guard let allowed = endpoint.roles ?? group.roles else { continue }
                #expect(roles == Set(allowed.map(\.rawValue)), "\(name)")
            }
        }
    }

    /// The endpoints outside the fleet's API: texts such as `POST /apps/{id}/events`.
    private static var others: Set<String> {
        Set(FixedPath.allCases.filter { $0 != .other }.map { "\(method(of: $0)) \($0.pattern)" })
            .union(ConsolePaths.all.map { "GET \($0)" })
    }

    private static func method(of path: FixedPath) -> String {
        switch path {
        case .events, .batchEvents, .terminateConnections, .terminateConnectionsByKey: "POST"
        case .liveness, .readiness, .metrics, .webSocket, .channels, .channel, .channelUsers, .other:
            "GET"
        }
    }

    @Test func everyDescribedOperationExists() throws {
        let endpoints = Self.groups.flatMap(\.endpoints).map { "\($0.method.rawValue) \($0.path)" }
        // Of the files at `/console/{file}`, the description has this one alone as well, because it is no part of the page.
        let known = Self.others.union(endpoints).union(["GET /console/config.json"])
        for name in try Self.documented().keys { #expect(known.contains(name), "\(name) does not exist") }
    }

    @Test func everyOtherPathIsDescribed() throws {
        let documented = try Self.documented()
        for name in Self.others { #expect(documented[name] != nil, "\(name) is missing") }
    }
}
