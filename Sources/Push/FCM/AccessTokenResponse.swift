import HTTPClient
import JSON

/// What the place where access tokens are to be had answered (RFC 6749 section 5, RFC 7523 section 3.1).
enum AccessTokenResponse: Equatable {
    /// For so many seconds.
    case granted(String, seconds: Int64)
    /// Not to us, as things are: key, account or clock are wrong.
    case refused(reason: String)
    /// Not now.
    case delayed(reason: String)

    /// Seconds for which a token is good when the answer does not say, and at most.
    private static let secondsDefault: Int64 = 3_600
    private static let secondsMax: Int64 = 86_400
    private static let tokenBytesMax = 8_192
    /// Characters of an error's description that an operator gets to see.
    private static let wordsMax = 200

    init(_ result: Result<HTTPClientResponse, HTTPClientError>) {
        switch result {
        case .success(let reply): self.init(reply)
        case .failure(.notSent(let words)), .failure(.lost(let words)): self = .delayed(reason: words)
        case .failure(.timedOut): self = .delayed(reason: "no answer in time")
        }
    }

    private init(_ reply: HTTPClientResponse) {
        var (token, seconds, error, words) = ("", Self.secondsDefault, "", "")
        let isObject: Void? = try? reply.body.withUnsafeBytes { bytes in
            try JSONReader.object(bytes) { key, value in
                if key.equals("access_token") { token = value.string ?? "" }
                if key.equals("expires_in"), let number = value.integer { seconds = Int64(number) }
                if key.equals("error") { error = value.string ?? "" }
                if key.equals("error_description") { words = value.string ?? "" }
            }
        }
        let reason = Self.reason(reply.status, error, words)
        switch reply.status {
        case 200 where isObject != nil && Self.isHeaderText(token) && seconds > 0:
            self = .granted(token, seconds: min(seconds, Self.secondsMax))
        case 200: self = .delayed(reason: "an answer without an access token")
        case 408, 429, 500...: self = .delayed(reason: reason)
        case 400...: self = .refused(reason: reason)
        default: self = .delayed(reason: reason)
        }
    }

    private static func reason(_ status: Int, _ error: String, _ words: String) -> String {
        let parts = ["\(status)", error, words].filter { !$0.isEmpty }
        return String(parts.joined(separator: " ").unicodeScalars.prefix(wordsMax))
    }

    /// It becomes part of a header.
    private static func isHeaderText(_ token: String) -> Bool {
        (1...tokenBytesMax).contains(token.utf8.count) && token.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}
