/// Why a request has no response, by what the server may have done with it.
package enum HTTPClientError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Not processed: no connection was made, or the request was not written. The text is libcurl's.
    case notSent(String)
    /// Perhaps processed: the connection was lost after the request was written. The text is libcurl's.
    case lost(String)
    /// Perhaps processed: written, and no response within the time-out.
    case timedOut

    /// libcurl's text, or `timed out`. Names neither URL nor method.
    package var description: String {
        switch self {
        case .notSent(let text), .lost(let text): text
        case .timedOut: "timed out"
        }
    }
}

extension HTTPClientError {
    /// Maps a transfer that libcurl ended with `code`, as measured with libcurl 7.88.1.
    ///
    /// How often the request was written says more than the code. libcurl may write it again on another connection, and
    /// an error of the second (a refused connection, say) leaves the first in doubt. The codes of lost connections are
    /// many (18, 52, 55, 56, 92) and misleading: an aborted connection may be 18, "partial file".
    /// - Parameters:
    ///   - code: a CURLcode other than CURLE_OK.
    ///   - text: libcurl's message.
    ///   - writes: how often libcurl was about to write the request to a connection.
    init(code: UInt32, text: String, writes: Int) {
        switch code {
        case _ where writes == 0: self = .notSent(text)
        // CURLE_HTTP2: the server sent GOAWAY for streams that it had not processed. It says nothing about an earlier
        // write to another connection.
        case 16 where writes == 1: self = .notSent(text)
        case 28: self = .timedOut  // CURLE_OPERATION_TIMEDOUT
        default: self = .lost(text)
        }
    }
}
