import HTTPClient
import JSON

/// The authorization server's response to a request for an access token (RFC 6749 section 5, RFC 7523 section 3.1).
enum AccessTokenResponse: Equatable {
    /// A token and its lifetime.
    case granted(String, seconds: Int64)
    /// The key, the account or the clock is wrong.
    case refused(reason: String)
    /// A refusal without the `error` that RFC 6749 section 5.2 requires: the address is wrong, or the response is a
    /// proxy's.
    case foreign(reason: String)
    /// Try again later.
    case delayed(reason: String)

    /// A token's lifetime in seconds if the response does not give it.
    private static let secondsDefault: Int64 = 3_600
    /// A token's maximum lifetime in seconds, even if the response gives a longer one.
    private static let secondsMax: Int64 = 86_400
    /// Maximum length of a token, so that requests that carry it do not become too large.
    private static let tokenBytesMax = 8_192
    /// Maximum length of a reason, which goes into the log, in Unicode scalars.
    private static let reasonLengthMax = 200

    init(_ result: Result<HTTPClientResponse, HTTPClientError>) {
        switch result {
        case .success(let response): self.init(response)
        case .failure(let error): self = .delayed(reason: error.description)
        }
    }

    private init(_ response: HTTPClientResponse) {
        var (token, seconds, error, description) = ("", Self.secondsDefault, "", "")
        let isObject: Void? = try? response.body.withUnsafeBytes { bytes in
            try JSONReader.object(bytes) { key, value in
                if key.equals("access_token") { token = value.string ?? "" }
                if key.equals("expires_in"), let number = value.integer { seconds = Int64(number) }
                if key.equals("error") { error = value.string ?? "" }
                if key.equals("error_description") { description = value.string ?? "" }
            }
        }
        let reason = Self.reason(response.status, error, description)
        switch response.status {
        case 200 where isObject != nil && Self.isHeaderText(token) && seconds > 0:
            self = .granted(token, seconds: min(seconds, Self.secondsMax))
        case 200: self = .delayed(reason: "the response has no valid access token")
        case 408, 429, 500...: self = .delayed(reason: reason)
        case 400... where error.isEmpty: self = .foreign(reason: reason)
        case 400...: self = .refused(reason: reason)
        default: self = .delayed(reason: reason)
        }
    }

    private static func reason(_ status: Int, _ error: String, _ description: String) -> String {
        let parts = ["\(status)", error, description].filter { !$0.isEmpty }
        return String(parts.joined(separator: " ").unicodeScalars.prefix(reasonLengthMax))
    }

    /// Whether the token can be sent in a header: printable ASCII without spaces, not empty and not too long.
    private static func isHeaderText(_ token: String) -> Bool {
        (1...tokenBytesMax).contains(token.utf8.count) && token.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}
