/// What browsers ask before a page of one origin may call another (the Fetch standard's CORS protocol).
package struct CORS {
    /// The answer to a preflight: what may be sent, for an hour.
    package static let preflight = HTTPResponse(
        204, contentType: "text/plain", body: [],
        headers: [
            "Access-Control-Allow-Methods": "GET, POST, PUT, DELETE, OPTIONS",
            "Access-Control-Allow-Headers":
                "Authorization, Content-Type, Idempotency-Key, If-Match, X-Correlation-ID, X-Requested-With",
            "Access-Control-Max-Age": "3600",
        ])

    /// The headers that let the page of `origin` read an answer. They name the origin, so caches must tell origins apart.
    /// - Parameter isNamed: whether the configuration names this very origin: only then may its pages use cookies.
    package static func headers(for origin: String, isNamed: Bool) -> [String: String] {
        var headers = [
            "Access-Control-Allow-Origin": origin, "Vary": "Origin",
            "Access-Control-Expose-Headers": "X-Correlation-ID, Idempotency-Replayed, Retry-After",
        ]
        if isNamed { headers["Access-Control-Allow-Credentials"] = "true" }
        return headers
    }
}
