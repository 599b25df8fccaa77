import Crypto
import HTTP
import Primitives
import PusherProtocol

/// Verifies the signature of a request to Pusher's HTTP API (protocol points A1–A10).
package struct RequestSignature {
    /// The maximum difference between a request's timestamp and this machine's clock, in seconds.
    package static let clockSkewSecondsMax: Int64 = 600

    private let md5 = MD5()

    package init() {}

    /// Checks the key, the version, the timestamp, the signature and the body's digest, in this order.
    /// - Parameter now: seconds since 1970.
    /// - Throws: ``APIError`` with 401.
    package func check(_ request: HTTPRequest, for app: Application, now: Int64) throws(APIError) {
        let key = try parameter("auth_key", request)
        guard key == app.key else { throw APIError(401, "Unknown auth_key") }
        guard try parameter("auth_version", request) == "1.0" else {
            throw APIError(401, "Invalid auth_version: expected 1.0")
        }
        try checkTime(parameter("auth_timestamp", request), now)
        let signature = try parameter("auth_signature", request)
        let text = SigningText.request(method: request.method.rawValue, path: request.path, query: request.query)
        guard app.verifies(signature, of: text) else {
            // Splits by scalars, not by characters: CR LF is one character, which is not equal to a line feed.
            let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
            let shown = lines.map(String.init).joined(separator: "\\n")
            throw APIError(
                401,
                "Invalid signature: you should have sent HmacSHA256Hex(\"\(shown)\", your_secret_key), but you sent \"\(signature)\""
            )
        }
        try checkBody(request)
    }

    private func checkTime(_ text: String, _ now: Int64) throws(APIError) {
        // The upper limit prevents overflows in the arithmetic below.
        guard let seconds = Int64(text), (0..<1 << 40).contains(seconds) else {
            throw APIError(401, "Invalid auth_timestamp: expected seconds since 1970")
        }
        guard abs(now - seconds) <= Self.clockSkewSecondsMax else {
            let given = Timestamp.iso8601(milliseconds: seconds * 1000)
            let ours = Timestamp.iso8601(milliseconds: now * 1000)
            throw APIError(
                401,
                "Timestamp expired: Given timestamp (\(given)) not within \(Self.clockSkewSecondsMax)s of server time (\(ours))")
        }
    }

    /// The signature covers the digest in the query. Checks that this digest is that of the body (protocol point A8).
    private func checkBody(_ request: HTTPRequest) throws(APIError) {
        let digest = request.query.last { $0.name.lowercased() == "body_md5" }?.value
        if request.body.isEmpty, digest == nil { return }
        guard let digest else { throw APIError(401, "Missing parameter: body_md5") }
        guard digest.lowercased() == md5.hexadecimalDigest(of: request.body) else {
            throw APIError(401, "Invalid body_md5: it is not the MD5 of the body received")
        }
    }

    private func parameter(_ name: String, _ request: HTTPRequest) throws(APIError) -> String {
        guard let value = request.query.last(where: { $0.name.lowercased() == name })?.value else {
            throw APIError(401, "Missing parameter: \(name)")
        }
        return value
    }
}
