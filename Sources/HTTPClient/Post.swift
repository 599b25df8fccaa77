import CCurl

/// One blocking POST, for commands that do a single thing.
package struct Post {
    package struct Answer {
        package let status: Int
        package let body: String
    }

    /// A request that got no answer: libcurl's words.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Sends `body` as JSON and waits for the answer.
    /// - Parameters:
    ///   - url: http or https; redirects are not followed.
    ///   - timeoutSeconds: for everything together (1–3,600).
    package static func json(_ body: [UInt8], to url: String, timeoutSeconds: Int) throws(Failure) -> Answer {
        guard let easy = curl_easy_init() else { throw Failure(description: "curl_easy_init: out of memory") }
        defer { curl_easy_cleanup(easy) }
        let headers = curl_slist_append(nil, "Content-Type: application/json")
        defer { curl_slist_free_all(headers) }
        let received = Received()
        // libcurl copies texts, except the body, which has to live until the transfer ends.
        let result = body.withUnsafeBytes { bytes in
            ccurl_set_text(easy, CURLOPT_URL, url)
            ccurl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https")
            ccurl_set_number(easy, CURLOPT_TIMEOUT_MS, timeoutSeconds * 1000)
            ccurl_set_headers(easy, headers)
            ccurl_set_number(easy, CURLOPT_POSTFIELDSIZE, bytes.count)
            ccurl_set_text(easy, CURLOPT_POSTFIELDS, bytes.assumingMemoryBound(to: CChar.self).baseAddress)
            ccurl_set_writer(easy, Received.append, Unmanaged.passUnretained(received).toOpaque())
            return curl_easy_perform(easy)
        }
        guard result == CURLE_OK else { throw Failure(description: "\(url): \(String(cString: curl_easy_strerror(result)))") }
        var status = 0
        ccurl_status(easy, &status)
        return withExtendedLifetime(received) { Answer(status: status, body: String(decoding: $0.bytes, as: UTF8.self)) }
    }

    private final class Received {
        var bytes: [UInt8] = []

        static let append: curl_write_callback = { bytes, size, count, user in
            guard let bytes, let user else { return 0 }
            let chunk = UnsafeRawBufferPointer(start: bytes, count: size * count)
            Unmanaged<Received>.fromOpaque(user)._withUnsafeGuaranteedRef { $0.bytes.append(contentsOf: chunk) }
            return size * count
        }
    }
}
