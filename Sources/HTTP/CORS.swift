/// Headers that let a web page of another origin call the API (the CORS protocol of the Fetch standard).
package struct CORS {
    /// The response to a preflight. Browsers may cache it for an hour.
    package static let preflight = HTTPResponse(
        204, contentType: "text/plain", body: [],
        headers: [
            "Access-Control-Allow-Headers":
                "Authorization, Content-Type, Idempotency-Key, If-Match, X-Correlation-ID, X-Requested-With",
            "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
            "Access-Control-Max-Age": "3600",
        ])

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
