import PusherProtocol
import Testing

@Suite struct HandshakeTests {
    private func handshake(_ path: String, _ query: [String: String]) -> Handshake {
        Handshake(path: path, query: { query[$0] })
    }

    static let accepted: [(path: String, version: String, expected: Handshake)] = [
        ("/app/key1", "7", .app(key: "key1", version: 7)), ("/app/key1", "6", .app(key: "key1", version: 6)),
        ("/app/key1", "5", .app(key: "key1", version: 5)), ("/app/K-_.~:%20 é", "7", .app(key: "K-_.~:%20 é", version: 7)),
        ("/app/app", "7", .app(key: "app", version: 7)),
    ]

    @Test(arguments: accepted) func acceptsKeyAndVersion(path: String, version: String, expected: Handshake) {
        #expect(handshake(path, ["protocol": version]) == expected)
    }

    @Test func ignoresOtherParameters() {
        let query = ["protocol": "7", "client": "js", "version": "8.4.0", "flash": "false", "Protocol": "3", "": "1"]
        #expect(handshake("/app/key1", query) == .app(key: "key1", version: 7))
    }

    /// Refused requests, their close codes, and the parsed version: nil if the path or the version is invalid. The
    /// version determines whether an error event precedes the close (protocol point C7).
    static let refused: [(path: String, version: String?, code: CloseCode, parsed: Int?)] = [
        ("", "7", .pathNotFound, nil), ("/", "7", .pathNotFound, nil), ("/app", "7", .pathNotFound, nil),
        ("/app/", "7", .pathNotFound, nil), ("/app//", "7", .pathNotFound, nil), ("/app/key1/", "7", .pathNotFound, nil),
        ("/app/key1/more", "7", .pathNotFound, nil), ("/App/key1", "7", .pathNotFound, nil),
        ("app/key1", "7", .pathNotFound, nil),
        ("//app/key1", "7", .pathNotFound, nil), ("/apps/key1", "7", .pathNotFound, nil),
        ("/x/app/key1", "7", .pathNotFound, nil),
        ("/nowhere", nil, .pathNotFound, nil),
        ("/app/key1", nil, .missingVersion, nil), ("/app/key1", "", .missingVersion, nil),
        ("/app/key1", "x", .badVersion, nil), ("/app/key1", "-7", .badVersion, nil), ("/app/key1", "7.0", .badVersion, nil),
        ("/app/key1", " 7", .badVersion, nil), ("/app/key1", "+7", .badVersion, nil), ("/app/key1", "-0", .badVersion, nil),
        ("/app/key1", "7x", .badVersion, nil), ("/app/key1", "0x7", .badVersion, nil),
        ("/app/key1", "99999999999999999999", .badVersion, nil), ("/app/key1", "٧", .badVersion, nil),
        ("/app/key1", "0", .unsupportedVersion, 0), ("/app/key1", "1", .unsupportedVersion, 1),
        ("/app/key1", "3", .unsupportedVersion, 3), ("/app/key1", "4", .unsupportedVersion, 4),
        ("/app/key1", "8", .unsupportedVersion, 8), ("/app/key1", "70", .unsupportedVersion, 70),
    ]

    @Test(arguments: refused)
    func rejectsWithTheMatchingCode(path: String, version: String?, code: CloseCode, parsed: Int?) throws {
        guard case .refused(let refusedWith, let reason, let version) = handshake(path, version.map { ["protocol": $0] } ?? [:])
        else {
            Issue.record("accepted")
            return
        }
        #expect(refusedWith == code && version == parsed)
        // RFC 6455 section 5.5: the payload of a close frame has at most 125 bytes, two of which are the code.
        #expect(!reason.isEmpty && reason.utf8.count <= 123)
    }

    @Test func reasonNamesTheExpectedValue() {
        #expect(
            handshake("/", [:])
                == .refused(.pathNotFound, reason: "Path not found: connect to /app/KEY", version: nil))
        #expect(
            handshake("/app/k", [:])
                == .refused(.missingVersion, reason: "No protocol version supplied: add ?protocol=7", version: nil))
        #expect(
            handshake("/app/k", ["protocol": "x"])
                == .refused(.badVersion, reason: "Invalid protocol version: expected a number", version: nil))
        #expect(
            handshake("/app/k", ["protocol": "3"])
                == .refused(.unsupportedVersion, reason: "Unsupported protocol version 3: use 5, 6 or 7", version: 3))
    }
}
