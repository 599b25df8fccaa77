/// The codes to phones without an account whose numbers begin with the same calling code and three digits. If many codes in
/// a row bring no sign-in, they are sent for the fees of the numbers: the prefix then stops for an hour.
package struct SignInCodePrefix: Equatable, Sendable {
    /// Codes without a sign-in that stop the prefix.
    package static let unusedMax = 50
    /// Milliseconds.
    static let stopTime: Int64 = 3_600_000

    /// The codes since the last sign-in with one of them, or since the last stop was over.
    package private(set) var unused: Int
    /// When the prefix was stopped, in milliseconds since 1970; nil if it has not been since then.
    package private(set) var stoppedAt: Int64?

    package init(unused: Int = 0, stoppedAt: Int64? = nil) {
        self.unused = unused
        self.stoppedAt = stoppedAt
    }

    /// The seconds until codes are sent again; nil if they are sent. A time of more than a minute in the future is of before
    /// the clock was set back.
    package func stoppedSeconds(now: Int64) -> Int? {
        guard let stoppedAt, (-SignInCodeSession.setBackMax..<Self.stopTime).contains(now - stoppedAt) else { return nil }
        return Int((min(stoppedAt + Self.stopTime - now, Self.stopTime) + 999) / 1_000)
    }

    /// Counts a code, which is sent although it may not arrive.
    /// - Returns: whether it stops the prefix.
    package mutating func send(at now: Int64) -> Bool {
        if stoppedAt != nil { self = SignInCodePrefix() }
        unused += 1
        guard unused >= Self.unusedMax else { return false }
        stoppedAt = now
        return true
    }

    /// Takes back a code that could not be sent.
    package mutating func withdraw() {
        unused = max(0, unused - 1)
        if unused < Self.unusedMax { stoppedAt = nil }
    }

    /// A code has brought a customer.
    package mutating func signIn() { self = SignInCodePrefix() }
}
