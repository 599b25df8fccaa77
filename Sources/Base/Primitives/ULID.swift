/// The textual form of ULIDs, the ids of notifications.
package enum ULID {
    /// Whether `text` is a ULID as ``ULIDSource`` writes it: 26 digits of Crockford's base 32, in upper case, whose
    /// value fits in 128 bits.
    package static func isWellFormed(_ text: String) -> Bool {
        let digits = text.utf8
        // 26 digits of five bits are 130 bits, so only three bits of the first digit are used.
        guard digits.count == 26, let first = digits.first, first <= UInt8(ascii: "7") else { return false }
        return digits.allSatisfy(alphabet.contains)
    }

    /// The least id of a millisecond since 1970: ids begin with their time, so this divides a log by age.
    package static func least(at milliseconds: Int64) -> String {
        var source = ULIDSource(random: { 0 })
        return source.next(at: max(0, milliseconds))
    }

    /// Crockford's base 32: without I, L, O and U, which are easily misread.
    static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
}

/// Generates ULIDs: 48 bits of time and 80 random bits, written as 26 characters that sort by time of creation.
///
/// The notification log is read in the order of the ids, so the ids of one source must strictly increase. Within the
/// same millisecond, or if the clock steps back, the next id is the last one plus 1, as the ULID specification
/// requires.
package struct ULIDSource: Sendable {
    private let random: @Sendable () -> UInt64
    private var last: UInt128?

    /// - Parameter random: returns 64 random bits per call.
    package init(random: @escaping @Sendable () -> UInt64 = { .random(in: 0 ... .max) }) { self.random = random }

    /// The last id, or the one that ``advance(to:)`` was told last. Nil: none yet.
    package var lastID: String? { last.map(text) }

    /// The next id, for a time in milliseconds since 1970.
    package mutating func next(at milliseconds: Int64) -> String {
        let time = UInt128(clamping: min(milliseconds, 0xFFFF_FFFF_FFFF))
        // The increment may carry into the bits of the time. The id's time is then one millisecond ahead, but the ids
        // still increase.
        let id = if let last, time <= last >> 80 { last + 1 } else { time << 80 | randomBits() }
        last = id
        return text(id)
    }

    /// Lets all further ids be greater than `id`, which another source has made. Ignores what is not a ULID.
    package mutating func advance(to id: String) {
        guard ULID.isWellFormed(id) else { return }
        let value = id.utf8.reduce(UInt128(0)) { $0 << 5 | UInt128(ULID.alphabet.firstIndex(of: $1) ?? 0) }
        last = max(last ?? 0, value)
    }

    private func randomBits() -> UInt128 { UInt128(random() & 0xFFFF) << 64 | UInt128(random()) }

    private func text(_ value: UInt128) -> String {
        String(unsafeUninitializedCapacity: 26) { digits in
            for index in 0..<26 { digits[index] = ULID.alphabet[Int(truncatingIfNeeded: value >> (5 * (25 - index))) & 31] }
            return 26
        }
    }
}
