import Crypto
import Fleet
import JSON
import JWT

extension Parser {
    static let token = Parser(
        name: "token",
        plain: {
            signed(
                filled(
                    #"{"sub":"1","role":"driver","exp":1900000000,"permissions":["#, #""orders.read","orders.write","#,
                    #""all"]}"#), $0)
        },
        worst: [
            ("a text", { signed(filled(#"{"sub":"1","name":""#, "a", #""}"#), $0) }),
            ("escaped names", { signed(filled("{", #""\n":1,"#, #""a":1}"#), $0) }),
            ("names with known letters", { signed(filled("{", #""\u0062ooking":1,"#, #""a":1}"#), $0) }),
            ("escapes", { signed(filled(#"{"sub":"1","name":""#, #"\n"#, #""}"#), $0) }),
            ("bookings", { signed(filled(#"{"sub":"1","bookings":["#, #""1","#, #""1"]}"#), $0) }),
            ("brackets", { signed(filled(#"{"sub":"1","x":["#, "[],", "1]}"), $0) }),
            (
                "a header of names",
                { count in
                    var header = filled(#"{"alg":"HS256""#, #","\n":1"#, "}")(4_000)
                    header = Array(Base64URL.text(header).utf8)
                    let payload = Base64URL.text(
                        Array(
                            (#"{"a":""# + String(repeating: "a", count: max(0, (count - header.count - 70) * 3 / 4)) + #""}"#)
                                .utf8))
                    return header + Array((".\(payload)." + Base64URL.text([UInt8](repeating: 1, count: 32))).utf8)
                }
            ),
            ("dots", filled("", ".")),
        ],
        parse: { _ = verifier.verify(String(decoding: $0, as: UTF8.self), now: now) })

    private static func signed(_ payload: Input, _ count: Int) -> [UInt8] {
        signed(String(decoding: payload(count * 3 / 4 - 90), as: UTF8.self))
    }

    private static func signed(_ payload: String) -> [UInt8] {
        let text = Base64URL.text(Array(#"{"alg":"HS256"}"#.utf8)) + "." + Base64URL.text(Array(payload.utf8))
        return Array((text + "." + Base64URL.text(HMACKey(secret: secret).digest(of: Array(text.utf8)))).utf8)
    }

    static let cookies = Parser(
        name: "cookies",
        plain: filled(
            "GET /api/admin/orders/x HTTP/1.1\r\nHost: h\r\nCookie: ", "_ga=GA1.2.1234567890; theme=dark; ", "\r\n\r\n"),
        worst: [
            ("a text", filled("GET /api/admin/orders/x HTTP/1.1\r\nHost: h\r\nCookie: theme=", "a", "\r\n\r\n")),
            ("many", numbered("GET /api/admin/orders/x HTTP/1.1\r\nHost: h\r\nCookie: ", "\r\n\r\n") { "a\($0)=b; " }),
            ("empty", filled("GET /api/admin/orders/x HTTP/1.1\r\nHost: h\r\nCookie: ", ";", "\r\n\r\n")),
            ("without values", filled("GET /api/admin/orders/x HTTP/1.1\r\nHost: h\r\nCookie: ", "=;", "\r\n\r\n")),
            (
                "names that begin like it",
                filled("GET /api/admin/orders/x HTTP/1.1\r\nHost: h\r\nCookie: ", "next-auth.session-token.;", "\r\n\r\n")
            ),
            (
                "chunks",
                filled("GET /api/admin/orders/x HTTP/1.1\r\nHost: h\r\nCookie: ", "next-auth.session-token.0=a;", "\r\n\r\n")
            ),
            (
                "a session",
                filled("GET /api/admin/orders/x HTTP/1.1\r\nHost: h\r\nCookie: next-auth.session-token=", "a.b.c.d.", "\r\n\r\n")
            ),
        ],
        parse: { route($0) })

    static let form = Parser(
        name: "form",
        plain: numbered("socket_id=1.2&channel_name=private-driver-1") { "&field\($0)=two+words%2C+and+more" },
        worst: [
            ("a text", filled("socket_id=1.2&channel_name=private-driver-1&x=", "a")),
            ("fields", numbered("socket_id=1.2&channel_name=private-driver-1") { "&a\($0)=1" }),
            ("escapes", filled("socket_id=1.2&channel_name=", "%41")),
            ("ampersands", filled("socket_id=1.2&channel_name=a", "&")),
            ("empty fields", filled("socket_id=1.2&channel_name=a", "&=")),
            ("spaces", filled("socket_id=1.2&channel_name=", "+")),
        ],
        parse: { post("/pusher/auth", driver + "Content-Type: application/x-www-form-urlencoded\r\n", $0) })

    static let body = Parser(
        name: "JSON body",
        plain: filled(#"{"phone":"1","user_type":"driver","vehicles":["#, objects, "1]}"),
        worst: [
            ("a text", filled(#"{"phone":"1","user_type":""#, "a", #""}"#)),
            ("members", numbered("{", #""phone":"1"}"#) { #""\#($0)":1,"# }),
            ("one member again", filled("{", #""a":1,"#, #""phone":"1"}"#)),
            ("escaped names", filled("{", #""\n":1,"#, #""phone":"1"}"#)),
            ("combining marks", numbered("{", #""phone":"1"}"#) { #""\#($0)\#u{301}\#u{301}\#u{301}\#u{301}\#u{301}":1,"# }),
            ("escapes", filled(#"{"phone":"1","user_type":""#, #"\n"#, #""}"#)),
            ("brackets", filled(#"{"phone":["#, "[],", "1]}")),
        ],
        parse: { post("/api/mobile/v1/auth/login-or-register", "", $0) })

    static let canonical = Parser(
        name: "canonical JSON",
        plain: filled(#"{"stops":["#, objects, "1]}"),
        worst: [
            ("a text", filled(#"{"a":""#, "a", #""}"#)),
            ("members", numbered("{", #""a":1}"#) { #""\#($0)":1,"# }),
            ("escapes", filled(#"{"a":""#, #"\n"#, #""}"#)),
            ("digits", filled("[", "1,", "1]")), ("exponents", filled("[", "1e1,", "1]")),
            ("fractions", filled("[", "0.1,", "1]")), ("short texts", filled("[", #""","#, "1]")),
            ("one member again", filled("{", #""b":1,"a":1,"#, #""a":1}"#)), ("a long number", filled("", "1")),
            ("brackets", filled("[", "[],", "1]")), ("braces", filled("[", "{},", "1]")),
            ("a deep text", filled(String(repeating: "[", count: 60) + "\"", "a", "\"" + String(repeating: "]", count: 60))),
            (
                "a text in deep objects",
                filled(String(repeating: #"{"a":"#, count: 60) + "\"", "a", "\"" + String(repeating: "}", count: 60))
            ),
            ("deep members", filled(String(repeating: "[", count: 60), "{},", "1" + String(repeating: "]", count: 60))),
        ],
        parse: { bytes in bytes.withUnsafeBytes { _ = try? CanonicalJSON.bytes(of: $0) } })

    static let announcement = Parser(
        name: "announcement",
        plain: filled(#"{"type":"T","to":{"all":true},"data":{"stops":["#, objects, "1]}}"),
        worst: [
            ("a text", filled(#"{"type":"T","to":{"all":true},"data":{"a":""#, "a", #""}}"#)),
            ("drivers", numbered(#"{"type":"T","to":{"drivers":["#, #""1"]}}"#) { #""\#($0)","# }),
            ("numbers", filled(#"{"type":"T","to":{"all":true},"data":{"a":["#, "1,", "1]}}")),
            ("exponents", filled(#"{"type":"T","to":{"all":true},"data":{"a":["#, "1e300,", "1]}}")),
            ("escapes", filled(#"{"type":"T","to":{"all":true},"data":{"a":""#, #"\n"#, #""}}"#)),
        ],
        parse: { post("/api/admin/notifications", admin, $0) })

    static let cards = Parser(
        name: "card numbers",
        plain: filled(#"{"stops":["#, objects, "1]}"),
        worst: [
            ("a text", filled(#"{"name":""#, "a", #""}"#)),
            ("Devanagari digits", filled(#"{"name":""#, "१", #""}"#)), ("full-width digits", filled(#"{"name":""#, "１ ", #""}"#)),
            ("fractions", filled(#"{"name":""#, "½", #""}"#)), ("combining marks", filled(#"{"name":""#, "\u{301}", #""}"#)),
            ("exponents", filled(#"{"name":["#, "1e19,", "1]}")), ("zeros", filled(#"{"name":""#, "0 ", #""}"#)),
            ("digits", filled(#"{"name":""#, "1 ", #""}"#)), ("digits and letters", filled(#"{"name":""#, "1a", #""}"#)),
            ("a long number", filled(#"{"name":""#, "1", #""}"#)), ("numbers", filled(#"{"name":["#, "1,", "1]}")),
            ("emoji", filled(#"{"name":""#, "🚚", #""}"#)), ("spaces", filled(#"{"name":""#, "\u{2003}", #""}"#)),
            ("escapes", filled(#"{"name":""#, #"\n"#, #""}"#)),
            ("members", filled("{", #""a":1,"#, #""a":1}"#)),
            ("deep text", filled(String(repeating: "[", count: 60) + "\"", "a", "\"" + String(repeating: "]", count: 60))),
        ],
        parse: { bytes in bytes.withUnsafeBytes { _ = CardNumbers.occur(in: $0) } })
}
