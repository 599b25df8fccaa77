/// Why there was no answer, by what the caller must think of the request (PUSH.md section 6).
package enum HTTPClientError: Error, Equatable, Sendable {
    /// Surely not processed: no connection could be made, or the request never left. The text is libcurl's.
    case notSent(String)
    /// Perhaps processed: the connection was lost after the request had been written.
    case lost(String)
    /// Written, and no answer within the time allowed.
    case timedOut
}

extension HTTPClientError {
    /// What a transfer that libcurl ended with `code` means.
    ///
    /// Whether the request was written says more than the code: of one written, and perhaps written again by libcurl
    /// itself on another connection, even a refused connection leaves the first time in doubt. Codes of lost connections
    /// are many (18, 52, 55, 56, 92), and not to be taken by their names: an aborted connection may be 18, as if part of an
    /// answer had come.
    /// - Parameters:
    ///   - code: a CURLcode other than CURLE_OK, as a number.
    ///   - writes: how often a connection was ready and libcurl about to write the request to it.
    init(code: UInt32, words: String, writes: Int) {
        switch code {
        case _ where writes == 0: self = .notSent(words)
        // CURLE_HTTP2: the server said goodbye (GOAWAY) to streams that it had not processed. Of what went out before, over
        // another connection, that says nothing.
        case 16 where writes == 1: self = .notSent(words)
        case 28: self = .timedOut  // CURLE_OPERATION_TIMEDOUT
        default: self = .lost(words)
        }
    }
}
