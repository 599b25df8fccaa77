import Testing

@testable import Fleet
@testable import PusherAPI

@Suite struct ApplicationsTests {
    private let apps = Applications([.example(), .example(index: 1, id: "é", key: "K\u{E9}")])

    private func index(ofID segment: String) -> Int? {
        Array("/\(segment)".utf8).withUnsafeBytes { path in
            var segments = PathSegments(path)
            return segments.next().flatMap { apps.withID($0) }?.index
        }
    }

    @Test func findsApplicationsByIDAndKey() {
        #expect(index(ofID: "1001") == 0 && index(ofID: "%31001") == 0 && index(ofID: "%C3%A9") == 1)
        #expect(index(ofID: "100") == nil && index(ofID: "10011") == nil && index(ofID: "") == nil)
        #expect(apps.withKey("key1")?.index == 0 && apps.withKey("K\u{E9}")?.index == 1)
        #expect(apps.withKey("key") == nil && apps.withKey("") == nil)
    }

    /// Swift compares strings by canonical equivalence.
    @Test func comparesBytes() {
        #expect(index(ofID: "e%CC%81") == nil)
        #expect(apps.withKey("Ke\u{301}") == nil && apps.withKey("\u{212A}\u{E9}") == nil)
    }
}
