/// Why a request has no response. The cases tell whether the server may have processed the request.
package enum HTTPClientError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The server has not processed the request: no connection was made, or the request was not written. The text
    /// is the reason, mostly libcurl's message.
    case notSent(String)
    /// The server may have processed the request: the connection was lost after the request was written. The
    /// text is the reason, mostly libcurl's message.
    case lost(String)
    /// The server may have processed the request: it was written, and no complete response arrived within the time-out.
    case timedOut

    /// The reason, or `timed out`. Contains neither URL nor method.
    package var description: String {
        switch self {
        case .notSent(let text), .lost(let text): text
        case .timedOut: "timed out"
        }
    }
}

extension HTTPClientError {
    /// The error of a transfer that libcurl ended with `code`. The mapping is based on tests with libcurl 7.88.1.
    ///
    /// It relies more on `writes` than on the code. libcurl may write a request again on another connection, and an
    /// error of that connection (such as a refused one) does not show whether the server processed the first write. A
    /// lost connection has one of many codes (18, 52, 55, 56, 92), some of them misleading: an aborted connection may
    /// have 18, "partial file".
    /// - Parameters:
    ///   - code: a CURLcode other than CURLE_OK.
    ///   - text: libcurl's message.
    ///   - writes: how often libcurl was about to write the request to a connection.
    init(code: UInt32, text: String, writes: Int) {
        switch code {
        case _ where writes == 0: self = .notSent(text)
        // CURLE_HTTP2: the server sent GOAWAY for streams that it had not processed. If the request was also written
        // to another connection before, the server may have processed that write.
        case 16 where writes == 1: self = .notSent(text)
        case 28: self = .timedOut  // CURLE_OPERATION_TIMEDOUT
        default: self = .lost(text)
        }
    }
}
