import TestSupport
import Testing

@testable import Addresses

@Suite struct ProxyProtocolParserTests {
    private typealias Failure = ProxyProtocolParser.Failure
    static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10]
    static let ipv4: [UInt8] = [192, 0, 2, 7, 10, 0, 0, 1, 0x12, 0x34, 0, 80]
    static let ipv6: [UInt8] =
        [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [7] + [UInt8](repeating: 1, count: 16) + [0, 1, 0, 80]

    static func header(_ command: UInt8 = 0x21, _ family: UInt8 = 0x11, _ rest: [UInt8] = ipv4) -> [UInt8] {
        signature + [command, family, UInt8(rest.count >> 8), UInt8(rest.count & 0xFF)] + rest
    }

    /// Parses bytes in pieces of these sizes; the last size repeats.
    private func parse(
        _ bytes: [UInt8], pieces: [Int]
    ) throws -> (header: ProxyProtocolParser.Header?, consumed: Int) {
        var parser = ProxyProtocolParser()
        var (consumed, piece) = (0, 0)
        while consumed < bytes.count {
            let part = Array(bytes[consumed...].prefix(pieces[min(piece, pieces.count - 1)]))
            piece += 1
            let result = try part.withUnsafeBytes { try parser.parse($0) }
            consumed += result.consumed
            if let header = result.header { return (header, consumed) }
            #expect(result.consumed == part.count, "an incomplete header takes all bytes")
        }
        return (nil, consumed)
    }

    static let headers: [(bytes: [UInt8], source: String?)] = [
        (header(), "192.0.2.7"), (header(0x21, 0x12), "192.0.2.7"), (header(0x21, 0x21, ipv6), "2001:db8::7"),
        (header(0x21, 0x22, ipv6), "2001:db8::7"), (header(0x21, 0x11, ipv4 + [3, 0, 4, 1, 2, 3, 4]), "192.0.2.7"),
        (header(0x21, 0x21, ipv6 + [UInt8](repeating: 9, count: 3_000)), "2001:db8::7"),
        (header(0x20, 0x00, []), nil), (header(0x20, 0x11, ipv4), nil), (header(0x20, 0x11, []), nil),
        (header(0x21, 0x00, []), nil), (header(0x21, 0x00, [1, 2, 3]), nil),
        (header(0x21, 0x31, [UInt8](repeating: 65, count: 216)), nil),
        (header(0x21, 0x11, ipv4 + [UInt8](repeating: 0, count: 65_535 - 12)), "192.0.2.7"),
    ]

    @Test(arguments: headers) func readsTheSourceAndLeavesTheClientsBytes(bytes: [UInt8], source: String?) throws {
        for pieces in [[100_000], [16, 100_000], [bytes.count, 1], [7]] {
            let result = try parse(bytes + Array("GET / HTTP/1.1".utf8), pieces: pieces)
            #expect(result.header?.source == source.flatMap { IPAddress($0) } && result.header != nil)
            #expect(result.consumed == bytes.count)
        }
    }

    // MARK: TLS (section 2.2.6)

    /// An extension: its type, the length of its value, and the value.
    static func tlv(_ type: UInt8, _ value: [UInt8]) -> [UInt8] {
        [type, UInt8(value.count >> 8), UInt8(value.count & 0xFF)] + value
    }

    /// PP2_TYPE_SSL with the client's flags, the result of the verification, and the version of TLS.
    static func tls(_ flags: UInt8) -> [UInt8] { tlv(0x20, [flags, 0, 0, 0, 0] + tlv(0x21, Array("TLSv1.3".utf8))) }

    static let secure: [(bytes: [UInt8], isSecure: Bool?)] = [
        (header(0x21, 0x11, ipv4 + tls(1)), true), (header(0x21, 0x11, ipv4 + tls(7)), true),
        (header(0x21, 0x11, ipv4 + tls(0)), false), (header(0x21, 0x11, ipv4 + tls(2)), false),
        (header(0x21, 0x21, ipv6 + tls(1)), true), (header(0x21, 0x00, tls(1)), true),
        (header(0x21, 0x31, [UInt8](repeating: 0x20, count: 216) + tls(1)), true),
        (header(0x21, 0x11, ipv4 + tlv(4, [0x20, 0, 1, 1]) + tls(1) + tlv(3, [1, 2, 3, 4])), true),
        (header(0x21, 0x11, ipv4 + tlv(0x21, [1]) + tlv(1, Array("h2".utf8))), nil),
        (header(0x21, 0x11, ipv4), nil), (header(0x21, 0x11, ipv4 + tlv(0x20, [])), nil),
        // What reaches beyond the header, and what ends within its type and length.
        (header(0x21, 0x11, ipv4 + [4, 0xFF, 0xFF] + tls(1)), nil), (header(0x21, 0x11, ipv4 + tls(1) + [0x20, 0]), true),
        (header(0x21, 0x11, ipv4 + [0x20, 0, 9, 1]), true),
        // A health check of the load balancer states nothing about a client.
        (header(0x20, 0x11, ipv4 + tls(1)), nil), (header(0x20, 0x00, tls(1)), nil),
    ]

    @Test(arguments: secure) func readsWhetherTheClientUsesTLS(bytes: [UInt8], isSecure: Bool?) throws {
        for pieces in [[100_000], [1], [bytes.count - 1, 1], [20, 100_000], [30, 1]] {
            let result = try parse(bytes + Array("GET".utf8), pieces: pieces)
            #expect(try #require(result.header).isSecure == isSecure, "\(pieces)")
            #expect(result.consumed == bytes.count)
        }
    }

    @Test func splitsAtAnyByte() throws {
        for (bytes, source) in Self.headers where bytes.count < 300 {
            for split in 1..<bytes.count {
                let result = try parse(bytes, pieces: [split, 100_000])
                #expect(result.header == .init(source: source.flatMap { IPAddress($0) }), "split at \(split)")
            }
            #expect(try parse(Array(bytes.dropLast()), pieces: [1]).header == nil)
        }
    }

    @Test func rejectsOtherBeginnings() {
        let reject = { (bytes: [UInt8], failure: Failure) in
            #expect(throws: failure) { try parse(bytes, pieces: [100_000]) }
            #expect(throws: failure) { try parse(bytes, pieces: [1]) }
        }
        reject(Array("GET / HTTP/1.1\r\n".utf8), .signature)
        reject(Array("PROXY TCP4 192.0.2.7 10.0.0.1 1 80\r\n".utf8), .signature)
        for index in Self.signature.indices {
            var bytes = Self.header()
            bytes[index] ^= 0x80
            reject(bytes, .signature)
        }
        reject(Self.header(0x11), .version(1))
        reject(Self.header(0x31), .version(3))
        reject(Self.header(0x22), .command(2))
        reject(Self.header(0x21, 0x41), .family(0x41))
        reject(Self.header(0x21, 0x13), .family(0x13))
        reject(Self.header(0x21, 0x11, Array(Self.ipv4.dropLast())), .length(11))
        reject(Self.header(0x21, 0x21, Self.ipv4), .length(12))
        reject(Self.header(0x21, 0x11, []), .length(0))
    }

    /// A byte that cannot belong to a header fails at once: the parser does not wait for more.
    @Test func failsAtTheFirstWrongByte() {
        for count in 1...12 {
            let bytes = Self.signature.prefix(count - 1) + [0xAA]
            #expect(throws: Failure.signature) { try parse(Array(bytes), pieces: [1]) }
        }
    }

    @Test(arguments: 0..<100) func theSizeOfPiecesChangesNothing(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        for _ in 0..<50 {
            let picked = random.pick(Self.headers.map(\.bytes).filter { $0.count < 300 } + Self.secure.map(\.bytes))
            var bytes = try #require(picked)
            if random.chance(percent: 50) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
            let whole = Result { try parse(bytes, pieces: [100_000]) }
            let pieces = Result { try parse(bytes, pieces: (0..<9).map { _ in random.within(1...20) }) }
            switch (whole, pieces) {
            case (.success(let one), .success(let other)): #expect(one.header == other.header && one.consumed == other.consumed)
            case (.failure(let one), .failure(let other)): #expect(one as? Failure == other as? Failure)
            default: Issue.record("\(whole) in one piece, \(pieces) in several: \(bytes)")
            }
        }
    }
}
