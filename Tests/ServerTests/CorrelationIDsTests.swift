import HTTP
import HTTP1
import TestSupport
import Testing

@testable import Server

@Suite struct CorrelationIDsTests {
    private struct Incomplete: Error {}

    private func id(_ sent: String?) throws -> String {
        var ids = CorrelationIDs()
        let request = RawRequest(.get, "/", fields: sent.map { [("X-Correlation-ID", $0)] } ?? [])
        return try request.bytes.withUnsafeBytes { bytes in
            var parser = RequestHeadParser()
            guard case .complete(let head) = parser.parse(bytes) else { throw Incomplete() }
            return ids.id(of: head, in: bytes)
        }
    }

    @Test(arguments: [
        "a", "0", "A-Z_a.z:/+=", "4bf92f3577b34da6a3ce929d0e0e4736/00f067aa0ba902b7", String(repeating: "x", count: 128),
    ])
    func permittedIDIsKept(sent: String) throws { #expect(try id(sent) == sent) }

    @Test(arguments: ["a b", "<b>", "a\"b", "a'b", "a,b", "a;b", "a\\b", "a@b", "é", "a{b}", String(repeating: "x", count: 129)])
    func otherIDIsReplaced(sent: String) throws {
        let id = try id(sent)
        #expect(id != sent && id.hasSuffix("-1"))
        #expect(try self.id(id) == id, "a generated id is permitted")
    }

    @Test func requestWithoutIDGetsOne() throws { #expect(try id(nil).hasSuffix("-1")) }
}
