/// The form of the ids that notifications bear.
package enum ULID {
    /// Whether `text` is a ULID as ``ULIDSource`` writes them: 26 of Crockford's digits, capitals only, and no more than 128 bits.
    package static func isWellFormed(_ text: String) -> Bool {
        let digits = text.utf8
        // 26 digits of five bits are two bits more than there are: the first digit has three.
        guard digits.count == 26, let first = digits.first, first <= UInt8(ascii: "7") else { return false }
        return digits.allSatisfy(alphabet.contains)
    }

    /// Crockford's base 32: no I, L, O or U, which people misread.
    static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
}

/// Makes ULIDs: 48 bits of time, 80 of chance, 26 characters that sort as they were made.
///
/// Within one source they strictly increase, in one millisecond and when the clock steps back too: the log is read in
/// their order. Then the last id plus one is next, as the ULID specification has it.
package struct ULIDSource: Sendable {
    private let random: @Sendable () -> UInt64
    private var last: UInt128?

    package init(random: @escaping @Sendable () -> UInt64 = { .random(in: 0 ... .max) }) { self.random = random }

    /// The next id, for a time in milliseconds since 1970.
    package mutating func next(at milliseconds: Int64) -> String {
        let time = UInt128(clamping: min(milliseconds, 0xFFFF_FFFF_FFFF))
        // Plus one may carry into the time: that id is a millisecond early, and still in order.
        let id = if let last, time <= last >> 80 { last + 1 } else { time << 80 | chance() }
        last = id
        return text(id)
    }

    private func chance() -> UInt128 { UInt128(random() & 0xFFFF) << 64 | UInt128(random()) }

    private func text(_ value: UInt128) -> String {
        String(unsafeUninitializedCapacity: 26) { digits in
            for index in 0..<26 { digits[index] = ULID.alphabet[Int(truncatingIfNeeded: value >> (5 * (25 - index))) & 31] }
            return 26
        }
    }
}
