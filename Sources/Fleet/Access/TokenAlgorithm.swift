/// The algorithms with which a token may be signed (RFC 7518 section 3.1). `none` is not permitted.
package enum TokenAlgorithm: String, CaseIterable, Sendable {
    case hs256 = "HS256"
    case rs256 = "RS256"
    case es256 = "ES256"
}
