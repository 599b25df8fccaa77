import CCurl

/// One blocking POST, for commands that do a single thing.
package struct Post {
    package typealias Failure = TransferFailure

    package struct Answer {
        package let status: Int
        package let body: String
    }

    /// Sends `body` as JSON and waits for the answer.
    /// - Parameters:
    ///   - url: http or https; redirects are not followed.
    ///   - timeoutSeconds: for everything together (1–3,600).
    package static func json(_ body: [UInt8], to url: String, timeoutSeconds: Int) throws(Failure) -> Answer {
        let transfer = try Transfer(url: url, protocols: "http,https", timeoutSeconds: timeoutSeconds)
        let headers = curl_slist_append(nil, "Content-Type: application/json")
        defer { curl_slist_free_all(headers) }
        ccurl_set_headers(transfer.easy, headers)
        // The size first: only then is the body copied by its length, whatever bytes it holds.
        ccurl_set_number(transfer.easy, CURLOPT_POSTFIELDSIZE, body.count)
        body.withUnsafeBytes { bytes in
            _ = ccurl_set_text(transfer.easy, CURLOPT_COPYPOSTFIELDS, bytes.assumingMemoryBound(to: CChar.self).baseAddress)
        }
        let answer = try transfer.perform()
        return Answer(status: answer.status, body: String(decoding: answer.body, as: UTF8.self))
    }
}
