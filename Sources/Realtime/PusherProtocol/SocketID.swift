/// A connection's id, internally and on the wire (protocol point C3: digits, a dot, digits).
///
/// The second number encodes the connection's loop and slot, so that a connection is found by index. The first number
/// is random, so that the slot's next connection has a different id and a stale id is detected.
@usableFromInline package struct SocketID: Hashable, Sendable {  // else its inlinable members are not inlined
    /// Random, never 0.
    @usableFromInline package let salt: UInt32
    /// The loop in the upper 8 bits, the slot in the lower 24 bits.
    @usableFromInline package let place: UInt32

    /// The loop that owns the connection (0–255).
    @inlinable package var loop: Int { Int(place >> 24) }
    /// The connection's index in its loop's table (0–16,777,215).
    @inlinable package var slot: Int { Int(place & 0xFF_FFFF) }

    package init(loop: Int, slot: Int, using random: inout some RandomNumberGenerator) {
        precondition((0..<256).contains(loop) && (0...0xFF_FFFF).contains(slot), "loop \(loop) or slot \(slot) is out of range")
        // Not by `random(in:using:)`, which is not specialised for generators of other modules.
        var salt: UInt32
        repeat { salt = UInt32(truncatingIfNeeded: random.next()) } while salt == 0
        self.salt = salt
        place = UInt32(loop) << 24 | UInt32(slot)
    }

    /// The id as one number, which is never 0: how the nodes of a cluster name a connection to each other.
    package var bits: UInt64 { UInt64(salt) << 32 | UInt64(place) }

    /// Reads ``bits``.
    package init(bits: UInt64) {
        salt = UInt32(bits >> 32)
        place = UInt32(truncatingIfNeeded: bits)
    }

    // Written out, because a synthesized `==` is a call through a witness table in other modules: the fan-out compares
    // ids in its inner loops.
    @inlinable package static func == (one: SocketID, other: SocketID) -> Bool {
        one.place == other.place && one.salt == other.salt
    }

    /// Parses a `socket_id`. Nil unless this server could have issued it.
    package init?(_ text: some StringProtocol) {
        guard Self.isWellFormed(text) else { return nil }
        let parts = text.split(separator: ".")
        guard let salt = UInt32(parts[0]), let place = UInt32(parts[1]) else { return nil }
        self.salt = salt
        self.place = place
        // This server never issues a salt of 0. Leading zeros are rejected, so that only one text is a connection's id.
        guard salt > 0, description == text else { return nil }
    }

    /// Whether `text` has the form of a socket_id (`\A\d+\.\d+\z`), even if this server cannot have issued it.
    package static func isWellFormed(_ text: some StringProtocol) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 2
            && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } }
    }
}

extension SocketID: CustomStringConvertible {
    @usableFromInline package var description: String { "\(salt).\(place)" }
}
