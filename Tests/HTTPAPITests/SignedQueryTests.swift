import HTTP
import TestSupport
import Testing

@testable import Fleet
@testable import PusherAPI

@Suite struct SignedQueryTests {
    /// The signed bytes, then key, signature, timestamp, version and digest, each nil if absent.
    private struct Parts: Equatable {
        let signed: String
        let values: [String?]
    }

    private func parts(_ query: SignedQuery, in bytes: UnsafeRawBufferPointer) -> Parts {
        let text = { (range: ByteRange) in String(decoding: bytes[range], as: UTF8.self) }
        return Parts(
            signed: text(query.signedBefore) + text(query.signedAfter),
            values: [query.key, query.signature, query.timestamp, query.version, query.bodyMD5].map { $0.map(text) })
    }

    private func raw(_ query: String) -> Parts? {
        Array(query.utf8).withUnsafeBytes { bytes in SignedQuery(raw: bytes).map { parts($0, in: bytes) } }
    }

    private func decoded(_ query: String) -> Parts {
        Array(query.utf8).withUnsafeBytes { bytes in
            let (decoded, query) = SignedQuery.decoding(bytes)
            return decoded.withUnsafeBytes { parts(query, in: $0) }
        }
    }

    @Test func readsTheUsualFormInPlace() {
        let query = "auth_key=k&auth_timestamp=1&auth_version=1.0&body_md5=d"
        let values: [String?] = ["k", "s", "1", "1.0", "d"]
        #expect(raw(query + "&auth_signature=s") == Parts(signed: query, values: values))
        #expect(raw("auth_signature=s&" + query) == Parts(signed: query, values: values))
        let sorted = query.replacing("&auth_timestamp", with: "&auth_signature=s&auth_timestamp")
        #expect(raw(sorted) == Parts(signed: query, values: values))
        #expect(raw("auth_signature=s") == Parts(signed: "", values: [nil, "s", nil, nil, nil]))
        #expect(raw("") == Parts(signed: "", values: [nil, nil, nil, nil, nil]))
        #expect(raw("a=&a==,;&b=1") == Parts(signed: "a=&a==,;&b=1", values: [nil, nil, nil, nil, nil]))
    }

    static let unusual = [
        "b=1&a=2", "A=1", "a=%31", "a=1+2", "%61=1", "a", "a&b=1", "&a=1", "a=1&", "a=1&&b=2", "=1", "aB=1", "&",
        "auth_signature=a&auth_signature=b", "ab=1&a=2",
    ]

    @Test(arguments: unusual) func convertsOtherForms(query: String) {
        #expect(raw(query) == nil)
    }

    @Test func convertedBytesAreDecodedSortedAndInLowerCase() {
        #expect(
            decoded("b=2%26+%2B&A=1&a=0&auth_SIGNATURE=s%3D&Auth_Key=k")
                == Parts(
                    signed: "a=1&a=0&auth_key=k&b=2& +", values: ["k", "s=", nil, nil, nil]))
        #expect(decoded("%ff=%C3") == Parts(signed: "\u{FFFD}=\u{FFFD}", values: [nil, nil, nil, nil, nil]))
        #expect(decoded("a&&=b&") == Parts(signed: "=b&a=", values: [nil, nil, nil, nil, nil]))
        #expect(decoded("auth_key=1&auth_key=2").values[0] == "2")
    }

    /// The two ways agree wherever both can read a query.
    @Test func readingInPlaceEqualsConverting() {
        let names = ["a", "auth_key", "auth_signature", "auth_timestamp", "auth_version", "b", "body_md5", "c", "auth_keys", "A"]
        let values = ["", "1", "x=y", "%41", "+"]
        var inPlace = 0
        for seed in UInt64(1)...3_000 {
            var random = SplitMix(seed: seed)
            var chosen = (0..<Int.random(in: 0...6, using: &random)).map { _ in Int.random(in: 0..<names.count, using: &random) }
            if Bool.random(using: &random) { chosen.sort() }
            let query = chosen.map { names[$0] + "=" + values[Int.random(in: 0..<20, using: &random) % values.count] }
                .joined(separator: "&")
            guard let read = raw(query) else { continue }
            inPlace += 1
            #expect(read == decoded(query), "\(query)")
        }
        #expect(inPlace > 100)
    }
}
