import Testing

@testable import Configuration
@testable import Fleet
@testable import PusherAPI

/// The rule of `server.path_prefix` knows the paths of the gateway.
@Suite struct OwnPathsTests {
    @Test func pathPrefixesAreNoneOfTheGatewaysPaths() {
        let paths = FixedPath.allCases.map(\.pattern) + ConsolePaths.all + FleetEndpoints.groupsWithAccounts.map(\.path)
        let segments = Set(paths.filter { $0.hasPrefix("/") }.compactMap { $0.split(separator: "/").first.map(String.init) })
        #expect(segments == StringRule.ownSegments)
        for segment in segments { #expect(!StringRule.pathPrefix.accepts("/\(segment)/ws")) }
    }
}
