/// What browsers ask before a page of one origin may call another (the Fetch standard's CORS protocol).
package struct CrossOrigin {
    /// The answer to a preflight: what may be sent, for an hour.
    package static let preflight = HTTPResponse(
        204, contentType: "text/plain", body: [],
        headers: [
            "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
            "Access-Control-Allow-Headers": "Content-Type, X-Requested-With", "Access-Control-Max-Age": "3600",
        ])

    /// The headers that let the page of `origin` read an answer. They name the origin, so caches must tell origins apart.
    package static func headers(for origin: String) -> [String: String] {
        ["Access-Control-Allow-Origin": origin, "Vary": "Origin"]
    }
}
