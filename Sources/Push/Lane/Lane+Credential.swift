// How a lane comes by what it proves by who it is.
extension Lane {
    /// Whether it cannot send because it has nothing to prove by who it is.
    var isCredentialMissing: Bool { credential == .missing }

    mutating func handle(_ news: CredentialUpdate, _ now: Int64) {
        switch news {
        case .ready:
            if credential != .ready, congestion.mode == .stopped { congestion.probeNow(now) }
            if isCredentialMissing {
                notes.credentialSince = now
                if congestion.mode == .running { emit(.resumed) }
            }
            credential = .ready
        case .expired:
            if credential == .ready { credential = .expired }
        case .missing(let reason):
            notes.fail(reason, now)
            guard !isCredentialMissing else { return }
            credential = .missing
            notes.credentialSince = now
            release()
            if congestion.mode == .running { emit(.paused(reason: reason, milliseconds: nil)) }
        case .refused(let reason):
            // What is refused now may be granted later: the next who needs it asks again.
            renewalAskedAfter = .min
            if credential == .awaited { credential = .ready }
            notes.fail(reason, now)
            move(congestion.stop(now), because: reason)
        case .renewalFailed(let reason):
            alarm(reason, now)
        }
    }

    /// Has somebody look, unless he was told a moment ago.
    mutating func alarm(_ reason: String, _ now: Int64) {
        notes.fail(reason, now)
        if notes.isNewAlarm(reason, now) { emit(.alarm("\(lane.rawValue): \(reason)")) }
    }

    /// A request was refused because its credential is too old: one renewal for all that went with it.
    mutating func renewCredential(after generation: Int) {
        guard generation > renewalAskedAfter else { return }
        renewalAskedAfter = generation
        release()
        getCredential(after: generation)
    }

    mutating func getCredential(after generation: Int) {
        credential = .awaited
        effects.append(.getCredential(after: generation))
    }
}
