import Foundation
import HTTP
import Testing

@testable import Fleet
@testable import PusherAPI

/// The tables in docs/api.md have the same endpoints as ``FleetEndpoints``.
@Suite struct DocumentedEndpointsTests {
    /// The lines of the table below a title: texts such as ``PUT`, `GET /api/admin/orders/{code}`, `/api/admin/routes/{id}``.
    private static func rows(of title: String) throws -> [Row] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/api.md").standardized
        let text = try String(contentsOf: file, encoding: .utf8)
        let section = try #require(text.firstRange(of: "\n## \(title)\n").map { text[$0.upperBound...] })
        let end = section.firstRange(of: "\n## ")?.lowerBound ?? section.endIndex
        return section[..<end].split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst().map { Row($0) }
    }

    /// The endpoints of one line.
    private struct Row {
        /// What the paths begin with that are written in full.
        private static let roots = ["/api/", "/app", "/pusher/", "/readyz"]

        var methods: Set<String> = []
        /// With `*` for a variable segment.
        var paths: Set<String> = []

        init(_ line: Substring) {
            var first: [Substring] = []
            for (index, code) in line.split(separator: "`", omittingEmptySubsequences: false).enumerated() where index % 2 == 1 {
                let words = code.split(separator: " ")
                methods.formUnion(words.filter { !$0.contains("/") }.map(String.init))
                guard let word = words.last, word.contains("/") else { continue }
                let path = word.prefix { $0 != "?" }.replacing(/\{[^}]*\}/, with: "*").split(separator: "/")
                if word.hasPrefix("…") {
                    add(first + path.dropFirst())
                } else if first.isEmpty || Self.roots.contains(where: word.hasPrefix) {
                    if first.isEmpty { first = path }
                    add(path)
                } else {
                    // `/unassign` after `/api/admin/orders/{code}/assign-driver` replaces the last segment.
                    add(first.dropLast() + path)
                }
            }
        }

        private mutating func add(_ segments: [Substring]) { paths.insert("/" + segments.joined(separator: "/")) }
    }

    @Test func everyEndpointIsDocumented() throws {
        let rows = try Self.rows(of: "Pusher") + Self.rows(of: "Fleet")
        let endpoints = (FleetEndpoints.groupsWithAccounts + [SignInCodeEndpoints.group]).flatMap(\.endpoints)
        #expect(rows.count > 10 && endpoints.count > 40)
        for endpoint in endpoints {
            let path = endpoint.documentedPath
            let method = endpoint.method.rawValue
            #expect(rows.contains { $0.methods.contains(method) && $0.paths.contains(path) }, "\(method) \(path)")
        }
    }

    @Test func everyDocumentedPathExists() throws {
        let known = Set(
            (FleetEndpoints.groupsWithAccounts + [SignInCodeEndpoints.group]).flatMap(\.endpoints).map(\.documentedPath))
        let others: Set = ["/healthz", "/readyz", "/metrics", "/console"]
        for path in try Self.rows(of: "Fleet").flatMap(\.paths) where !others.contains(path) {
            #expect(known.contains(path), "\(path)")
        }
    }
}

extension Endpoint {
    /// The path with `*` for a variable segment, also for the role of a person, which has one endpoint each.
    fileprivate var documentedPath: String {
        path.replacing(/\{[^}]*\}/, with: "*").replacing(/people\/(driver|customer)/, with: "people/*")
    }
}
