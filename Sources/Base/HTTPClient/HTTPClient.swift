import CCurl

/// Sends one request and blocks until its response: for the command line, and for threads that do one thing at a time.
///
/// Certificates are verified, redirects are not followed. Of the requests, those to other machines over https use the proxies
/// that the environment variables configure (``usesProxy(for:)``).
/// ``sendAuthenticated(_:timeoutSeconds:isCancelled:)`` permits plain http to this machine only.
package enum HTTPClient {
    /// The largest response body in bytes. A longer body is an error.
    static let responseBytesMax = 1_048_576

    /// Sends a request to an http or https URL. Returns a response of any status.
    /// - Parameter timeoutSeconds: the limit for the whole request, including name resolution and the response
    ///   (1–3,600).
    /// - Throws: ``HTTPClientError``, also if the response is incomplete or its body exceeds 1,048,576 bytes.
    package static func send(
        _ request: HTTPClientRequest, timeoutSeconds: Int
    ) throws(HTTPClientError) -> HTTPClientResponse {
        try send(request, timeoutSeconds: timeoutSeconds, usesProxy: usesProxy(for: request.url))
    }

    /// Whether requests to a URL go through the proxy that the environment names: over https, and to another machine. A
    /// proxy would read all of a request over plain http, its token included, and cannot reach this machine's loopback.
    package static func usesProxy(for url: String) -> Bool {
        guard let parts = curl_url() else { preconditionFailure("curl_url: out of memory") }
        defer { curl_url_cleanup(parts) }
        guard curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK, part(CURLUPART_SCHEME, of: parts) == "https" else {
            return false
        }
        return !isLoopback(part(CURLUPART_HOST, of: parts))
    }

    /// Whether a URL's host, as libcurl splits it off, is this machine.
    private static func isLoopback(_ host: String) -> Bool {
        let isIPv4 = host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return host == "localhost" || host == "[::1]" || isIPv4 && host.utf8.starts(with: "127.".utf8)
    }

    /// Sends a request whose response must come from an authenticated host, such as a request for the public keys of a
    /// JWT's issuer.
    /// - Parameters:
    ///   - timeoutSeconds: as for ``send(_:timeoutSeconds:)``.
    ///   - isCancelled: returns whether to give up. Called several times a second.
    /// - Throws: as ``send(_:timeoutSeconds:)``, and `.notSent` for a URL that ``checkAuthenticated(_:)`` rejects.
    package static func sendAuthenticated(
        _ request: HTTPClientRequest, timeoutSeconds: Int, isCancelled: () -> Bool = { false }
    ) throws(HTTPClientError) -> HTTPClientResponse {
        try checkAuthenticated(request.url)
        return try send(request, timeoutSeconds: timeoutSeconds, usesProxy: usesProxy(for: request.url), isCancelled)
    }

    /// How long it may take until ``sendAuthenticated(_:timeoutSeconds:isCancelled:)`` is cancelled.
    private static let cancellationMilliseconds = 200

    private static func send(
        _ request: HTTPClientRequest, timeoutSeconds: Int, usesProxy: Bool, _ isCancelled: () -> Bool = { false }
    ) throws(HTTPClientError) -> HTTPClientResponse {
        var options = HTTPPool.Options()
        options.timeoutMilliseconds = timeoutSeconds * 1_000
        options.allowsPlainHTTP = true
        options.usesProxy = usesProxy
        options.responseBytesMax = responseBytesMax
        options.rejectsLargerResponses = true
        let pool = HTTPPool(options)
        pool.start(request, tag: 0)
        while true {
            guard let completion = pool.perform().first else {
                if isCancelled() { throw .lost("cancelled") }
                pool.wait(milliseconds: Self.cancellationMilliseconds)
                continue
            }
            let response = try completion.result.get()
            guard response.isComplete else { throw .lost("the response was cut off") }
            return response
        }
    }

    /// Checks that a response from the URL can come only from its host: the scheme is https, which authenticates the
    /// host, or the scheme is http and the host is this machine (127.0.0.1, ::1 or localhost).
    ///
    /// libcurl's own parser splits the URL: another parser could disagree with libcurl about where the host begins.
    /// - Throws: `.notSent` for any other URL.
    package static func checkAuthenticated(_ url: String) throws(HTTPClientError) {
        guard let parts = curl_url() else { preconditionFailure("curl_url: out of memory") }
        defer { curl_url_cleanup(parts) }
        let result = curl_url_set(parts, CURLUPART_URL, url, UInt32(CURLU_DISALLOW_USER))
        // libcurl reads the URL only up to a NUL, other code reads the whole string.
        guard result == CURLUE_OK, !url.utf8.contains(0) else {
            throw .notSent("expected a valid URL without user name and password")
        }
        let scheme = part(CURLUPART_SCHEME, of: parts)
        let host = part(CURLUPART_HOST, of: parts)
        switch scheme {
        case "https": return
        case "http" where ["127.0.0.1", "[::1]", "localhost"].contains(host): return
        default: throw .notSent("expected https, or http to 127.0.0.1, ::1 or localhost")
        }
    }

    private static func part(_ part: CURLUPart, of parts: OpaquePointer) -> String {
        var text: UnsafeMutablePointer<CChar>?
        defer { curl_free(text) }
        guard curl_url_get(parts, part, &text, 0) == CURLUE_OK, let text else { return "" }
        return String(cString: text)
    }
}
