import Access
import JSON

/// What a backend has said of an opaque token (RFC 7662 section 2.2).
package struct IntrospectionAnswer: Equatable, Sendable {
    /// The identity of the token's user, or why the token is refused.
    package let result: VerificationResult
    /// The token's `exp` in seconds since 1970; nil if the backend does not say: then the answer counts as long as it is
    /// fresh, and no longer.
    package let expiresAt: Int64?
    /// Whether the backend said `active: true`, but not who the user is.
    package let isUnusable: Bool
    /// About the memory that the answer takes while it is kept.
    let byteCount: Int

    /// Whether the token counts.
    package var isActive: Bool { if case .identity = result { true } else { false } }

    /// The answer that a token is not active.
    package static let inactive = IntrospectionAnswer(
        result: .refused("The token is not active"), expiresAt: nil, isUnusable: false, byteCount: 0)

    init(result: VerificationResult, expiresAt: Int64?, isUnusable: Bool = false, byteCount: Int) {
        self.result = result
        self.expiresAt = expiresAt
        self.isUnusable = isUnusable
        self.byteCount = byteCount
    }

    /// Reads a response. Only a JSON object with `active` answers the question: whatever else comes, the backend is broken
    /// or does not know the gateway, which says nothing of the token.
    /// - Parameters:
    ///   - status: the HTTP status.
    ///   - now: seconds since 1970.
    /// - Throws: ``IntrospectionFailure`` if the response is no answer.
    package init(status: Int, body: [UInt8], now: Int64) throws(IntrospectionFailure) {
        switch status {
        case 200: break
        case 301, 302, 303, 307, 308: throw IntrospectionFailure("HTTP \(status): redirects are not followed")
        case 401, 403: throw IntrospectionFailure("HTTP \(status): check client_id and client_secret")
        default: throw IntrospectionFailure("HTTP \(status)")
        }
        guard try Self.isActive(body) else {
            self = .inactive
            return
        }
        do throws(TokenError) {
            let (identity, expiresAt) = try Claims(body).introspected(now: now)
            self.init(result: .identity(identity), expiresAt: expiresAt, byteCount: body.count)
        } catch {
            self.init(result: VerificationResult(error), expiresAt: nil, isUnusable: error.kind == .invalid, byteCount: 0)
        }
    }

    /// The member `active`, which is required and a boolean.
    private static func isActive(_ body: [UInt8]) throws(IntrospectionFailure) -> Bool {
        var values: [[UInt8]] = []
        do {
            try body.withUnsafeBytes { bytes in
                try JSONReader.object(bytes) { name, value in
                    if name.equals(text: "active") { values.append(Array(value.raw)) }
                }
            }
        } catch {
            throw IntrospectionFailure("the response is no JSON object")
        }
        // Given twice, it contradicts itself: other readers may take either.
        guard values.count == 1 else { throw IntrospectionFailure("the response needs \"active\" exactly once") }
        if values[0].elementsEqual("true".utf8) { return true }
        guard values[0].elementsEqual("false".utf8) else {
            throw IntrospectionFailure("expected \"active\" to be true or false")
        }
        return false
    }
}

/// What was found out about one opaque token.
package struct AnsweredToken: Equatable, Sendable {
    /// The token's digest.
    package let digest: [UInt8]
    /// The identity of its user, or why it is refused.
    package let result: VerificationResult

    package init(digest: [UInt8], result: VerificationResult) { (self.digest, self.result) = (digest, result) }
}

/// Why a response tells nothing of the token, for the operator. Quotes nothing of it.
package struct IntrospectionFailure: Error, Equatable {
    package let reason: String

    package init(_ reason: String) { self.reason = reason }
}
