import Foundation
import Testing
import Yams

@testable import HTTPAPI

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

    private static let groups = FleetEndpoints.groupsWithAccounts + [CodeEndpoints.group]

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

    @Test func everyDescribedPathExists() throws {
        var known = Set(FixedPath.allCases.map(\.pattern))
        for endpoint in Self.groups.flatMap(\.endpoints) { known.insert("\(endpoint.method.rawValue) \(endpoint.path)") }
        for name in try Self.documented().keys {
            let path = String(name.split(separator: " ")[1])
            #expect(known.contains(name) || known.contains(path) && !path.hasPrefix("/api/"), "\(name) does not exist")
        }
    }

    @Test func everyOtherPathIsDescribed() throws {
        let paths = Set(try Self.documented().keys.map { String($0.split(separator: " ")[1]) })
        for path in FixedPath.allCases where path != .other { #expect(paths.contains(path.pattern), "\(path.pattern)") }
    }
}
