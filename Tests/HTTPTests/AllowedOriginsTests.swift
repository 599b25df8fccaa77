import HTTP
import TestSupport
import Testing

@Suite struct AllowedOriginsTests {
    private let origins = AllowedOrigins(["https://A.example", "https://*.b.example"])

    @Test func ignoresTheCaseOfLetters() {
        #expect(origins.allows("https://a.example") && origins.allows("HTTPS://A.EXAMPLE") && origins.allows(nil))
        #expect(!origins.allows("https://a.example.") && !origins.allows("http://a.example") && !origins.allows(""))
    }

    @Test func wildcardMatchesSubdomainsOnly() {
        #expect(origins.allows("https://x.b.example") && origins.allows("https://x.y.B.example"))
        for origin in ["https://b.example", "https://.b.example", "https://xb.example", "http://x.b.example", "x.b.example"] {
            #expect(!origins.allows(origin), "\(origin)")
        }
    }

    @Test func anyOriginIsNotListedExplicitly() {
        let any = AllowedOrigins(["*", "https://a.example"])
        #expect(any.allows("null") && !any.lists(explicitly: "null") && any.lists(explicitly: "https://a.example"))
        #expect(any.allows("https://b.example") && !any.lists(explicitly: "https://b.example"))
    }

    /// Browsers send domains in ASCII. Swift compares strings by canonical equivalence, and lets K equal the Kelvin sign.
    @Test func comparesBytes() {
        let origins = AllowedOrigins(["https://k\u{E9}.example"])
        #expect(origins.allows("https://k\u{E9}.example") && !origins.allows("https://ke\u{301}.example"))
        #expect(!AllowedOrigins(["https://k.example"]).allows("https://\u{212A}.example"))
    }

    /// React Native on Android writes the port of its URL into `Origin`; others add a slash.
    @Test func aDefaultPortEqualsNone() {
        let origins = AllowedOrigins([
            "https://a.example", "https://b.example:443/", "http://c.example:80", "https://*.d.example:443",
            "https://e.example:8443",
            "capacitor://localhost",
        ])
        for origin in [
            "https://a.example:443", "https://a.example/", "https://a.example:443/", "https://b.example", "https://b.example:443",
            "http://c.example", "https://x.d.example", "https://x.d.example:443", "https://e.example:8443/",
            "capacitor://localhost",
        ] {
            #expect(origins.allows(origin), "\(origin)")
        }
        for origin in [
            "https://a.example:80", "http://a.example:443", "http://a.example:80", "https://a.example:8443",
            "https://a.example//",
            "https://a.example/x", "https://a.example:", "https://a.example:0443", "https://a.example:443:443",
            "https://u@a.example",
            "https://a.example?", "https://a.example#", "https:a.example", "a.example", "https://e.example",
            "https://e.example:443",
            "https://d.example:443", "https://x.d.example:444", "capacitor://localhost:443",
            "https://a.example, https://a.example",
            "https://a.example:65979", "https://a.example\\", "https://a.example ", " https://a.example",
        ] {
            #expect(!origins.allows(origin), "\(origin)")
        }
    }

    @Test func filesAreAnOriginIfTheyAreListed() {
        #expect(AllowedOrigins(["file://"]).allows("file://") && AllowedOrigins(["file://"]).allows("file:///"))
        for origin in ["null", "file:", "file:////", "file://x", "http://", "https://"] {
            #expect(!AllowedOrigins(["file://"]).allows(origin), "\(origin)")
        }
        #expect(!origins.allows("file://"))
    }

    /// Any page can have the origin `null`: a list that names it would name everybody.
    @Test func nullIsNeverListed() {
        #expect(!AllowedOrigins(["null", "null://", "http://null"]).allows("null"))
        #expect(AllowedOrigins.explanation(ofRefusing: "null")?.contains("null is the origin of every sandboxed page") == true)
        for origin in [nil, "", "https://a.example", "Null", "nulL\u{301}"] {
            #expect(AllowedOrigins.explanation(ofRefusing: origin) == nil)
        }
    }

    @Test func originIsOfItsHost() {
        for (origin, host) in [
            ("https://A.example:1", "a.example:1"), ("https://a.example", "A.example:443"),
            ("https://a.example:443", "a.example"),
            ("http://a.example:80", "a.example"), ("http://a.example", "a.example:80"), ("https://[::1]:6001", "[::1]:6001"),
            ("https://a.example/", "a.example"),
        ] {
            #expect(AllowedOrigins.isOrigin(origin, of: host, isSecure: false), "\(origin)")
            #expect(AllowedOrigins.isOrigin(origin, of: host, isSecure: true) == origin.hasPrefix("https"), "\(origin)")
        }
        for (origin, host) in [
            ("https://a.example", "b.example"), ("https://xa.example", "a.example"), ("null", ""), ("null", "null"),
            ("https://a.example", "a.example:80"), ("http://a.example", "a.example:443"), ("https://a.example", "a.example:"),
            ("https://a.example", ""), ("capacitor://localhost", "localhost"), ("file://", ""), ("https://[::1]", "::1"),
            ("https://a.example", "a.example, a.example"),
        ] {
            #expect(!AllowedOrigins.isOrigin(origin, of: host, isSecure: false), "\(origin)")
        }
        #expect(!AllowedOrigins.isOrigin("https://a", of: nil, isSecure: false))
    }

    // MARK: Any spelling

    /// What an origin means (RFC 6454 section 4), and ways to write it.
    private struct Meaning: Equatable {
        var scheme: String
        var host: String
        var port: Int

        static func random(_ random: inout SplitMix) -> Meaning {
            let scheme = random.pick(["http", "https"]) ?? ""
            let host =
                random.pick(["a.example", "b.example", "x.a.example", "x.y.a.example", "xa.example", "localhost", "[::1]"]) ?? ""
            return Meaning(scheme: scheme, host: host, port: random.pick([80, 443, 8443]) ?? 0)
        }

        private var defaultPort: Int { scheme == "https" ? 443 : 80 }

        func host(_ random: inout SplitMix) -> String {
            let isWritten = port != defaultPort || random.chance(percent: 50)
            return Self.anyCase(host, &random) + (isWritten ? ":\(port)" : "")
        }

        func spelling(_ random: inout SplitMix) -> String {
            Self.anyCase(scheme, &random) + "://" + host(&random) + (random.chance(percent: 30) ? "/" : "")
        }

        private static func anyCase(_ text: String, _ random: inout SplitMix) -> String {
            text.map { random.chance(percent: 30) ? $0.uppercased() : String($0) }.joined()
        }
    }

    /// However an origin and an entry are written, they match exactly if they mean the same.
    @Test func spellingsOfOneOriginAreEqual() {
        var random = SplitMix(seed: 6_454)
        var matches = 0
        for _ in 0..<20_000 {
            let entry = Meaning.random(&random)
            let sent = random.chance(percent: 30) ? entry : Meaning.random(&random)
            let (pattern, origin) = (entry.spelling(&random), sent.spelling(&random))
            matches += entry == sent ? 1 : 0
            #expect(AllowedOrigins([pattern]).allows(origin) == (entry == sent), "\(pattern) \(origin)")
            // A request for the same host, with TLS and without. The scheme of a request without TLS is not known.
            let host = entry.host(&random)
            let isSame = entry.host == sent.host && Self.isPort(of: host, sent)
            #expect(AllowedOrigins.isOrigin(origin, of: host, isSecure: false) == isSame, "\(host) \(origin)")
            #expect(
                AllowedOrigins.isOrigin(origin, of: host, isSecure: true) == (isSame && sent.scheme == "https"),
                "\(host) \(origin)")
        }
        #expect(matches > 5_000)
    }

    /// Whether `Host` has the port of an origin, or none and the origin the default one.
    private static func isPort(of host: String, _ origin: Meaning) -> Bool {
        let port = host.hasSuffix("]") ? nil : host.split(separator: ":").last.flatMap { Int($0) }
        return (port ?? (origin.scheme == "https" ? 443 : 80)) == origin.port
    }

    @Test func wildcardsMatchEverySpellingOfASubdomain() {
        var random = SplitMix(seed: 3)
        for _ in 0..<5_000 {
            let (parent, sent) = (Meaning.random(&random), Meaning.random(&random))
            guard parent.host != "[::1]" else { continue }
            var wildcard = parent
            wildcard.host = "*." + parent.host
            let isSubdomain =
                sent.host.hasSuffix("." + parent.host) && sent.scheme == parent.scheme && sent.port == parent.port
            let (pattern, origin) = (wildcard.spelling(&random), sent.spelling(&random))
            #expect(AllowedOrigins([pattern]).allows(origin) == isSubdomain, "\(pattern) \(origin)")
        }
    }

    /// One changed byte makes another origin, or none.
    @Test func otherBytesAreOtherOrigins() {
        let origin = Array("https://a.example:8443".utf8)
        let allowed = AllowedOrigins(["https://a.example:8443"])
        for index in origin.indices {
            for byte in UInt8.min...UInt8.max {
                var other = origin
                other[index] = byte
                let isSameLetter = (0x41...0x5A).contains(byte) && byte | 0x20 == origin[index]
                let text = String(decoding: other, as: UTF8.self)
                #expect(allowed.allows(text) == (byte == origin[index] || isSameLetter), "\(text)")
            }
        }
    }
}
