/// Headers that let a web page of another origin call the API (the CORS protocol of the Fetch standard).
package struct CORS {
    /// What each preflight allows.
    private static let usualNames = [
        "Authorization", "Content-Type", "Idempotency-Key", "If-Match", "X-Correlation-ID", "X-Requested-With",
    ]
    /// The most requested names that a preflight allows besides the usual ones. The others are left out.
    package static let requestedNamesMax = 64
    /// The longest list of requested names in bytes. Of a longer one, none is allowed.
    package static let requestedBytesMax = 2_048

    /// The response to a preflight of an allowed origin. Browsers may cache it for an hour.
    ///
    /// A page may send the names that it asks for: frameworks and tracing libraries add headers to each request, such as
    /// `X-CSRF-TOKEN` and `traceparent`, which the gateway ignores.
    /// - Parameter requested: the value of `Access-Control-Request-Headers`.
    package static func preflight(requesting requested: String?) -> HTTPResponse {
        HTTPResponse(
            204, contentType: "text/plain", body: [],
            headers: [
                "Access-Control-Allow-Headers": (usualNames + names(in: requested ?? "")).joined(separator: ", "),
                "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
                "Access-Control-Max-Age": "3600",
            ])
    }

    /// The names in a list, except the usual ones and those that are no tokens (RFC 9110 section 5.6.2).
    private static func names(in list: String) -> [String] {
        guard list.utf8.count <= requestedBytesMax else { return [] }
        let names = list.utf8.split(separator: UInt8(ascii: ",")).map { Array(trimming: $0) }
        let requested = names.filter { name in
            !name.isEmpty && name.allSatisfy(isTokenByte)
                && !usualNames.contains { $0.utf8.map(\.lowercased).elementsEqual(name.map(\.lowercased)) }
        }
        return requested.prefix(requestedNamesMax).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    /// The headers that let a page of `origin` read a response. They contain the origin, so `Vary` tells caches to
    /// store one response per origin.
    /// - Parameter isNamed: whether the configuration matches this origin by a pattern other than `*`. Only then may
    ///   its pages send cookies.
    package static func headers(for origin: String, isNamed: Bool) -> HTTPHeaders {
        var headers: HTTPHeaders = isNamed ? ["Access-Control-Allow-Credentials": "true"] : [:]
        headers["Access-Control-Allow-Origin"] = origin
        headers["Access-Control-Expose-Headers"] = "X-Correlation-ID, Idempotency-Replayed, Retry-After, WWW-Authenticate"
        headers["Vary"] = "Origin"
        return headers
    }
}

extension [UInt8] {
    /// The bytes without the spaces and tabs at their ends.
    fileprivate init(trimming bytes: some BidirectionalCollection<UInt8>) {
        let start = bytes.drop { $0 == 0x20 || $0 == 0x09 }
        self = Array(start)
        while let last, last == 0x20 || last == 0x09 { removeLast() }
    }
}
