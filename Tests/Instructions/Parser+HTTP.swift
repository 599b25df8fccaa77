import Addresses
import Fleet
import HTTP1
import PusherAPI

extension Parser {
    static let publish = Parser(
        name: "publish",
        plain: filled(#"{"name":"positions","channel":"private-driver-42","data":""#, escapedObjects, #""}"#),
        worst: [
            ("a text", filled(#"{"name":"e","channel":"c","data":""#, "a", #""}"#)),
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
        plain: { count in
            let start = #"{"name":"positions","channel":"private-driver-42","data":""#
            let event = start + String(repeating: escapedObjects, count: count / 2_000) + #""},"#
            return filled(#"{"batch":["# + String(repeating: event, count: 9) + start, escapedObjects, #""}]}"#)(count)
        },
        worst: [
            ("events", filled(#"{"batch":["#, #"{"name":"e","channel":"c","data":""},"#, "1]}")),
            ("too many", filled(#"{"batch":["#, "1,", "1]}")),
            ("batches", filled(#"{"batch":[]"#, #","batch":[1]"#, "}")),
        ],
        parse: { bytes in bytes.withUnsafeBytes { _ = try? EventBatchRequest($0, rules: rules) } })

    static let query = Parser(
        name: "signed query",
        plain: numbered("") { "filter-\($0 + 1000)=private-driver-42&" },
        worst: [
            ("a text", filled("a=", "a")), ("parameters", numbered("") { "a\($0 + 1000)=1&" }),
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
        plain: { count in
            // As a browser's, with cookies of other pages.
            filled(
                "GET /api/driver/jobs/A-17?since=2026-11-28T08%3A24%3A54Z&limit=50 HTTP/1.1\r\nHost: fleet.example.com\r\n"
                    + "Accept: application/json, text/plain, */*\r\nAccept-Encoding: gzip, deflate, br\r\n"
                    + "Accept-Language: de-DE,de;q=0.9,en;q=0.8\r\nOrigin: https://fleet.example.com\r\n"
                    + "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)\r\nCookie: ",
                "_ga=GA1.2.1234567890; theme=dark; ", "\r\n\r\n")(count)
        },
        worst: [
            ("a text", filled("GET /healthz HTTP/1.1\r\nHost: h\r\nUser-Agent: ", "a", "\r\n\r\n")),
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
            (
                "an origin",
                filled("GET /api/driver/jobs HTTP/1.1\r\nHost: h\r\nCookie: token=a\r\nOrigin: https://", "a", "\r\n\r\n")
            ),
            (
                "a preflight",
                filled(
                    "OPTIONS /pusher/auth HTTP/1.1\r\nHost: h\r\nOrigin: https://a\r\nAccess-Control-Request-Headers: a", ",a",
                    "\r\n\r\n")
            ),
            ("cookies of one name", filled("GET /api/driver/jobs HTTP/1.1\r\nHost: h\r\nCookie: ", "token=a;", "\r\n\r\n")),
            ("versions", filled("PUT /api/admin/orders/A HTTP/1.1\r\nHost: h\r\n\(admin)If-Match: 1", ",1", "\r\n\r\n")),
        ],
        parse: { route($0) })

    static let chunks = Parser(
        name: "chunked body",
        // A body of one chunk would only be moved; a client sends what it has, piece by piece.
        plain: filled("", "28\r\n" + String(repeating: "a", count: 40) + "\r\n"),
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
        plain: filled("", "for=10.0.0.1;proto=https;host=fleet.example.com;by=10.0.0.2, ", "for=10.0.0.1"),
        worst: [
            ("a text", filled("for=10.0.0.1;by=", "a")),
            ("IPv6", filled("", #",for="[::ffff:10.0.0.1]""#)), ("empty pairs", filled("for=10.0.0.1", ";")),
            ("spaces", filled("for=10.0.0.1", " ", ",for=10.0.0.1")),
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

    static let forwardedFor = Parser(
        name: "X-Forwarded-For",
        plain: filled("", "10.0.0.1, ", "10.0.0.1"),
        worst: [
            ("commas", filled("10.0.0.1", ",", "10.0.0.1")), ("spaces", filled("10.0.0.1", " ", ",10.0.0.1")),
            ("without spaces", filled("", ",10.0.0.1")),
            ("IPv6", filled("", ",[::ffff:10.0.0.1]:443")), ("a colon", filled("", ",10.0.0.1:1")),
        ],
        parse: { bytes in
            bytes.withUnsafeBytes { bytes in
                var fields = ForwardingFields()
                fields.forwardedFor = bytes
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
