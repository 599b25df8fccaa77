import COpenSSL

/// Equality that takes as long for a near miss as for a wild guess.
package enum ConstantTime {
    /// Whether two texts have the same bytes; only their lengths can be told apart by timing.
    package static func equal(_ one: String, _ other: String) -> Bool {
        equal(Array(one.utf8), Array(other.utf8))
    }

    /// The same for bytes.
    package static func equal(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
    }
}
