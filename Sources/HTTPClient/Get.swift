import CCurl

/// One blocking GET of something public that has to be genuine, such as an issuer's keys: over TLS, or from this machine.
package struct Get {
    package typealias Failure = TransferFailure

    /// What came back.
    package struct Answer {
        package let status: Int
        package let body: [UInt8]
    }

    /// Asks `url` and waits for the answer, whatever its status.
    /// - Parameters:
    ///   - url: as ``check(_:)`` allows; redirects are not followed.
    ///   - timeoutSeconds: for everything together (1–3,600).
    package static func bytes(from url: String, timeoutSeconds: Int) throws(Failure) -> Answer {
        let scheme = try check(url)
        let transfer = try Transfer(url: url, protocols: scheme, timeoutSeconds: timeoutSeconds)
        // What goes to this machine goes nowhere else: the environment's proxies are for https only.
        if scheme == "http" { ccurl_set_text(transfer.easy, CURLOPT_PROXY, "") }
        let answer = try transfer.perform()
        return Answer(status: answer.status, body: answer.body)
    }

    /// Allows https, and http when the host is 127.0.0.1, ::1 or localhost; returns which of the two.
    ///
    /// libcurl's own parser takes the URL apart, for a second opinion on where the host begins would be a way around.
    @discardableResult
    package static func check(_ url: String) throws(Failure) -> String {
        guard let parts = curl_url() else { throw Failure(description: "curl_url: out of memory") }
        defer { curl_url_cleanup(parts) }
        let result = curl_url_set(parts, CURLUPART_URL, url, UInt32(CURLU_DISALLOW_USER))
        // A NUL would end the URL early for a library of C, behind the back of whoever reads it.
        guard result == CURLUE_OK, !url.utf8.contains(0) else {
            throw Failure(description: "\(url): expected a URL without a user's name or password")
        }
        let scheme = part(CURLUPART_SCHEME, of: parts)
        let host = part(CURLUPART_HOST, of: parts)
        switch scheme {
        case "https": return "https"
        case "http" where ["127.0.0.1", "[::1]", "localhost"].contains(host): return "http"
        default: throw Failure(description: "\(url): expected https, or http from 127.0.0.1, ::1 or localhost")
        }
    }

    private static func part(_ part: CURLUPart, of parts: OpaquePointer) -> String {
        var text: UnsafeMutablePointer<CChar>?
        defer { curl_free(text) }
        guard curl_url_get(parts, part, &text, 0) == CURLUE_OK, let text else { return "" }
        return String(cString: text)
    }
}
