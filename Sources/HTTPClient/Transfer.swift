import CCurl

/// A request that got no answer: the URL, and libcurl's words.
package struct TransferFailure: Error, CustomStringConvertible {
    package let description: String
}

/// One blocking libcurl transfer, whatever its method. Redirects are not followed and certificates are verified.
final class Transfer {
    /// Bytes of an answer's body; more is a failure.
    static let bodyBytesMax = 1_048_576

    let easy: UnsafeMutableRawPointer
    private let url: String
    private var body: [UInt8] = []
    private var isTooLong = false

    /// - Parameters:
    ///   - protocols: what the URL may be of, as libcurl names them.
    ///   - timeoutSeconds: for everything together.
    init(url: String, protocols: String, timeoutSeconds: Int) throws(TransferFailure) {
        guard let easy = curl_easy_init() else { throw TransferFailure(description: "curl_easy_init: out of memory") }
        self.easy = easy
        self.url = url
        ccurl_set_text(easy, CURLOPT_URL, url)
        ccurl_set_text(easy, CURLOPT_PROTOCOLS_STR, protocols)
        ccurl_set_number(easy, CURLOPT_TIMEOUT_MS, timeoutSeconds * 1000)
        ccurl_set_number(easy, CURLOPT_NOSIGNAL, 1)  // a timeout must not be a signal to some other thread
        ccurl_set_writer(easy, Self.receive, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { curl_easy_cleanup(easy) }

    /// Waits until everything has come.
    func perform() throws(TransferFailure) -> (status: Int, body: [UInt8]) {
        let result = curl_easy_perform(easy)
        guard !isTooLong else {
            throw TransferFailure(description: "\(url): an answer of more than \(Self.bodyBytesMax) bytes")
        }
        guard result == CURLE_OK else {
            throw TransferFailure(description: "\(url): \(String(cString: curl_easy_strerror(result)))")
        }
        var status = 0
        ccurl_status(easy, &status)
        return (status, body)
    }

    private static let receive: curl_write_callback = { bytes, size, count, user in
        guard let bytes, let user else { return 0 }
        let chunk = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return Unmanaged<Transfer>.fromOpaque(user)._withUnsafeGuaranteedRef { $0.append(chunk) ? chunk.count : 0 }
    }

    /// False, which ends the transfer, when `chunk` is too much.
    private func append(_ chunk: UnsafeRawBufferPointer) -> Bool {
        isTooLong = chunk.count > Self.bodyBytesMax - body.count
        if !isTooLong { body.append(contentsOf: chunk) }
        return !isTooLong
    }
}
