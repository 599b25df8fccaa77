import HTTP
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
    }

    /// Browsers send domains in ASCII. Swift compares strings by canonical equivalence, and lets K equal the Kelvin sign.
    @Test func comparesBytes() {
        let origins = AllowedOrigins(["https://k\u{E9}.example"])
        #expect(origins.allows("https://k\u{E9}.example") && !origins.allows("https://ke\u{301}.example"))
        #expect(!AllowedOrigins(["https://k.example"]).allows("https://\u{212A}.example"))
    }

    @Test func originIsOfItsHost() {
        #expect(AllowedOrigins.isOrigin("https://A.example:1", of: "a.example:1"))
        for (origin, host) in [("https://a.example", "b.example"), ("https://xa.example", "a.example"), ("null", "")] {
            #expect(!AllowedOrigins.isOrigin(origin, of: host))
        }
        #expect(!AllowedOrigins.isOrigin("https://a", of: nil))
    }
}
