import Addresses
import HTTP1
import HTTPAPI

extension Parser {
    static let publish = Parser(
        name: "publish",
        plain: filled(#"{"name":"e","channel":"c","data":""#, "a", #""}"#),
        worst: [
            ("JSON as data", filled(#"{"name":"e","channel":"c","data":""#, #"\"a\":\"bcdef\","#, #""}"#)),
            ("escapes", filled(#"{"name":"e","channel":"c","data":""#, #"\n"#, #""}"#)),
            ("an escaped name", filled(#"{"name":""#, #"\n"#, #"","channel":"c","data":""}"#)),
            (
                "channels",
                numbered(#"{"name":"e","data":"","channels":["#, #""c"]}"#) {
                    #""channel-of-the-fleet-which-has-a-long-name-\#($0 + 1000)-of-100-channels","#
                }
            ),
            ("more channels than are permitted", numbered(#"{"name":"e","data":"","channels":["#, #""c"]}"#) { #""\#($0)","# }),
            ("lists of channels", filled(#"{"name":"e","data":"""#, #","channels":["c"]"#, "}")),
            ("one channel again", filled(#"{"name":"e","data":"","channels":["#, #""c","#, #""c"]}"#)),
            ("members", filled(#"{"name":"e","channel":"c","data":"""#, #","\n":1"#, "}")),
            ("attributes", filled(#"{"name":"e","channel":"c","data":"","info":""#, "user_count,", #"user_count"}"#)),
            ("no attributes", filled(#"{"name":"e","channel":"c","data":"","info":""#, ",", #"user_count"}"#)),
        ],
        parse: { bytes in bytes.withUnsafeBytes { _ = try? EventRequest($0, rules: rules) } })

    static let batch = Parser(
        name: "batch of events",
        plain: filled(#"{"batch":[{"name":"e","channel":"c","data":""#, "a", #""}]}"#),
        worst: [
            ("events", filled(#"{"batch":["#, #"{"name":"e","channel":"c","data":""},"#, "1]}")),
            ("too many", filled(#"{"batch":["#, "1,", "1]}")),
            ("batches", filled(#"{"batch":[]"#, #","batch":[1]"#, "}")),
        ],
        parse: { bytes in bytes.withUnsafeBytes { _ = try? BatchRequest($0, rules: rules) } })

    static let query = Parser(
        name: "signed query",
        plain: filled("a=", "a"),
        worst: [
            ("parameters", numbered("") { "a\($0 + 1000)=1&" }),
            (
                "escaped parameters",
                filled(
                    "",
                    "%41=%41&%41=%41aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa&"
                )
            ),
            ("escapes", filled("a=", "%41")), ("equal signs", filled("", "a=&")), ("ampersands", filled("", "&")),
        ],
        parse: { bytes in
            let query = String(decoding: bytes, as: UTF8.self)
            route(
                Array(
                    "GET /apps/1/channels?\(query)&auth_key=k&auth_timestamp=\(now)&auth_version=1.0&auth_signature=1 HTTP/1.1\r\nHost: h\r\n\r\n"
                        .utf8))
        })
}

extension Parser {
    static let head = Parser(
        name: "request head",
        plain: filled("GET /healthz HTTP/1.1\r\nHost: h\r\nUser-Agent: ", "a", "\r\n\r\n"),
        worst: [
            (
                "fields",
                { count in
                    let field = String(repeating: "v", count: count / 60 - 10)
                    return Array(
                        ("GET /healthz HTTP/1.1\r\nHost: h\r\n" + (0..<60).map { "X-\($0 + 10): \(field)\r\n" }.joined() + "\r\n")
                            .utf8)
                }
            ),
            ("a list of options", filled("GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: ", "a,", "\r\n\r\n")),
            ("a list of protocols", filled("GET /healthz HTTP/1.1\r\nHost: h\r\nUpgrade: ", ",", "\r\n\r\n")),
            ("an escaped path", filled("GET /", "%C3%A9", " HTTP/1.1\r\nHost: h\r\n\r\n")),
            ("a path of segments", filled("GET /", "a/", " HTTP/1.1\r\nHost: h\r\n\r\n")),
            ("a path of the fleet", filled("GET /api/driver/", "a/", " HTTP/1.1\r\nHost: h\r\n\r\n")),
            ("question marks", filled("GET /", "?", " HTTP/1.1\r\nHost: h\r\n\r\n")),
            ("spaces", filled("GET /healthz HTTP/1.1\r\nHost: h\r\nCookie:", " ", "\r\n\r\n")),
            ("a host", filled("GET /healthz HTTP/1.1\r\nHost: ", "h", "\r\n\r\n")),
            ("not ASCII", filled("GET /healthz HTTP/1.1\r\nHost: h\r\nCookie: ", "é", "\r\n\r\n")),
        ],
        parse: { route($0) })

    static let chunks = Parser(
        name: "chunked body",
        // A body of one chunk would only be moved; a client sends what it has, piece by piece.
        plain: filled("", "40\r\n" + String(repeating: "a", count: 64) + "\r\n"),
        worst: [
            ("small chunks", filled("", "1\r\na\r\n")), ("long sizes", filled("", "0000000000000001\r\na\r\n")),
            ("extensions", filled("", "40;a\r\n" + String(repeating: "a", count: 64) + "\r\n")),
        ],
        parse: { bytes in
            var bytes = bytes
            var decoder = ChunkedDecoder(bodyBytesMax: 65_536)
            bytes.withUnsafeMutableBytes { _ = decoder.decode($0) }
        })

    static let forwarding = Parser(
        name: "forwarding fields",
        plain: filled("for=10.0.0.1;by=", "a"),
        worst: [
            ("elements", filled("", ",for=10.0.0.1")), ("pairs", filled("", "a=1;")), ("quotes", filled("", #"""#)),
            ("escaped quotes", filled("\"", #"\""#, "\"")), ("backslashes", filled("\"", #"\"#, "\"")),
            ("commas", filled("", ",", "for=10.0.0.1")),
        ],
        parse: { bytes in
            bytes.withUnsafeBytes { bytes in
                var fields = ForwardingFields()
                fields.forwarded = bytes
                _ = ForwardedClient(peer: IPAddress(ipv4: 0x0A00_0001), fields, trusting: proxies)
            }
        })

    private static let proxies = TrustedProxies([IPNetwork("10.0.0.0/8")!])

    static let proxy = Parser(
        name: "PROXY header",
        plain: { Self.proxyHeader($0) },
        worst: [],
        parse: { bytes in
            bytes.withUnsafeBytes { bytes in
                var parser = ProxyProtocolParser()
                _ = try? parser.parse(bytes)
            }
        })

    private static func proxyHeader(_ count: Int) -> [UInt8] {
        [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A, 0x21, 0x11]
            + [UInt8((count - 16) >> 8), UInt8((count - 16) & 0xFF)] + [UInt8](repeating: 1, count: count - 16)
    }
}
