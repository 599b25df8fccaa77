/// A connection's id, internally and on the wire (protocol point C3: digits, a dot, digits).
///
/// The second number is the connection's loop and slot, so finding it is indexing. The first is random, so that the
/// slot's next connection has another id and a stale id is detected.
package struct SocketID: Hashable, Sendable {
    /// Random, never 0.
    package let salt: UInt32
    /// Loop and slot: eight bits and twenty-four.
    package let place: UInt32

    /// The loop that owns the connection (0–255).
    package var loop: Int { Int(place >> 24) }
    /// The connection's index in its loop's table (0–16,777,215).
    package var slot: Int { Int(place & 0xFF_FFFF) }

    package init(loop: Int, slot: Int, using random: inout some RandomNumberGenerator) {
        precondition((0..<256).contains(loop) && (0...0xFF_FFFF).contains(slot), "loop or slot out of range")
        salt = UInt32.random(in: 1...UInt32.max, using: &random)
        place = UInt32(loop) << 24 | UInt32(slot)
    }

    /// Parses a `socket_id`. Nil unless this server could have issued it.
    package init?(_ text: some StringProtocol) {
        guard Self.isWellFormed(text) else { return nil }
        let parts = text.split(separator: ".")
        guard let salt = UInt32(parts[0]), let place = UInt32(parts[1]) else { return nil }
        self.salt = salt
        self.place = place
        // Each connection has exactly one id: reject leading zeros and a salt of 0.
        guard salt > 0, description == text else { return nil }
    }

    /// Whether `text` has the form of a socket_id (`\A\d+\.\d+\z`), of this server or not.
    package static func isWellFormed(_ text: some StringProtocol) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 2
            && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } }
    }
}

extension SocketID: CustomStringConvertible {
    package var description: String { "\(salt).\(place)" }
}
