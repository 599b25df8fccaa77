import CTLS

/// The keys that seal the sessions which clients keep to resume them (RFC 5077 section 4, RFC 8446 section 4.6.1).
///
/// Who gets such a key reads the recorded TLS 1.2 sessions whose tickets it has sealed. So it is made anew each day, and the
/// one before is kept for a day to open tickets only. Both are overwritten when they are dropped.
struct TicketKeys: Sendable {
    /// How long a key seals, in nanoseconds: a day.
    static let lifetime: UInt64 = 86_400_000_000_000

    /// One key.
    final class Key: @unchecked Sendable {  // its bytes do not change until it is freed
        /// Its name, and the two keys that `ctls_use_ticket_key` uses.
        let bytes: UnsafeMutablePointer<UInt8>

        init() {
            bytes = .allocate(capacity: Int(CTLS_TICKET_KEY_BYTES))
            var random = SystemRandomNumberGenerator()
            for index in 0..<Int(CTLS_TICKET_KEY_BYTES) { bytes[index] = .random(in: 0...255, using: &random) }
        }

        deinit {
            OPENSSL_cleanse(bytes, Int(CTLS_TICKET_KEY_BYTES))
            bytes.deallocate()
        }

        func isNamed(_ name: UnsafePointer<UInt8>) -> Bool {
            (0..<Int(CTLS_TICKET_NAME_BYTES)).allSatisfy { bytes[$0] == name[$0] }
        }
    }

    /// Seals, and opens.
    private(set) var current = Key()
    /// Opens only.
    private(set) var previous: Key?
    private var madeAt: UInt64

    /// - Parameter now: nanoseconds since an arbitrary moment.
    init(at now: UInt64) { madeAt = now }

    /// Makes a new key if the current one has lived for a day. A key that has not been used for sealing for a day is dropped.
    /// - Parameter now: may be earlier than that of another call.
    mutating func renew(at now: UInt64) {
        let age = now - min(now, madeAt)
        guard age >= Self.lifetime else { return }
        previous = age < 2 * Self.lifetime ? current : nil
        current = Key()
        madeAt = now
    }

    /// The key that opens a ticket, by the 16 bytes of its name. Nil: it has been dropped, and the client makes a whole
    /// handshake.
    func key(named name: UnsafePointer<UInt8>) -> Key? {
        if current.isNamed(name) { return current }
        return previous.flatMap { $0.isNamed(name) ? $0 : nil }
    }
}
