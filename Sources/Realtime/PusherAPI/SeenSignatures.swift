/// Records an accepted request. Called on any loop's thread.
package typealias ReplayGuard = @Sendable (SignedHead) -> SeenSignatures.Verdict

/// The signatures of the requests that were accepted lately, to reject repeated requests (`auth.replay_protection`).
///
/// A request's timestamp may be in the future by ``RequestSignature/clockSkewSecondsMax``, so a signature is valid for
/// at most twice that time after it was accepted. Signatures are remembered in two generations: when the newer one has
/// lasted that long, the older one is forgotten. The clock may be set, so time alone is no proof that a forgotten
/// signature is no longer valid; the timestamps are: a request is accepted only if it is later than all that were
/// forgotten.
package struct SeenSignatures: Sendable {
    package enum Verdict: Equatable, Sendable {
        /// The request has not been accepted before. It is now recorded.
        case new
        /// The request was accepted before, or is older than what is remembered.
        case repeated
        /// As many signatures are remembered as may be: the request must be rejected. Nothing is recorded.
        case full
    }

    /// How long a generation lasts, in seconds.
    package static let generationSeconds = 2 * RequestSignature.clockSkewSecondsMax

    private struct Generation {
        var signatures: Set<UInt128> = []
        /// When it began, in seconds since 1970.
        var start: Int64 = 0
        /// The latest timestamp of its requests.
        var timestampMax = Int64.min
    }

    private let capacity: Int
    private var newer = Generation()
    private var older = Generation()
    /// The latest timestamp of all forgotten requests.
    private var forgottenMax = Int64.min

    /// - Parameter capacity: the maximum number of signatures, at least 1. Each takes 20 to 40 bytes.
    package init(capacity: Int) { self.capacity = capacity }

    /// The number of remembered signatures.
    package var count: Int { newer.signatures.count + older.signatures.count }

    /// Records a request with a valid signature, unless it was recorded before.
    /// - Parameter now: seconds since 1970, by this machine's clock.
    package mutating func insert(_ head: SignedHead, now: Int64) -> Verdict {
        rotate(now)
        guard head.timestamp > forgottenMax, !newer.signatures.contains(head.signature),
            !older.signatures.contains(head.signature)
        else { return .repeated }
        guard count < capacity else { return .full }
        if newer.signatures.isEmpty { newer.start = now }
        newer.signatures.insert(head.signature)
        newer.timestampMax = max(newer.timestampMax, head.timestamp)
        return .new
    }

    private mutating func rotate(_ now: Int64) {
        guard !newer.signatures.isEmpty || !older.signatures.isEmpty, now - newer.start > Self.generationSeconds else { return }
        forget(older)
        older = newer
        newer = Generation(start: now)
        // The older generation may have ended long ago.
        guard now - older.start > 2 * Self.generationSeconds else { return }
        forget(older)
        older = Generation()
    }

    private mutating func forget(_ generation: Generation) { forgottenMax = max(forgottenMax, generation.timestampMax) }
}
