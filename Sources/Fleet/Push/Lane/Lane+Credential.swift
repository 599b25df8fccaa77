// How the lane gets its credential.
extension Lane {
    /// Whether the lane cannot send because no credential is available.
    var isCredentialMissing: Bool { credential == .missing }

    mutating func handle(_ update: CredentialUpdate, _ now: Int64) {
        switch update {
        case .ready:
            if credential != .ready, congestion.mode == .stopped { congestion.probeNow(now) }
            if isCredentialMissing {
                credentialSince = now
                if congestion.mode == .running { emit(.resumed) }
            }
            credential = .ready
        case .expired:
            if credential == .ready { credential = .expired }
        case .missing(let reason):
            recordError(reason, now)
            guard !isCredentialMissing else { return }
            credential = .missing
            credentialSince = now
            release()
            if congestion.mode == .running { emit(.paused(reason: reason, milliseconds: nil)) }
        case .refused(let reason):
            // A later request may succeed, so the next job whose credential has expired may cause one.
            renewalRequestedAfter = .min
            if credential == .renewing { credential = .ready }
            recordError(reason, now)
            apply(congestion.stop(now), reason: reason)
        case .renewalFailed(let reason):
            alarm(reason, now)
        }
    }

    /// Emits an alarm, unless the same one was emitted less than a minute ago.
    mutating func alarm(_ reason: String, _ now: Int64) {
        recordError(reason, now)
        if alarms.permits(reason, at: now) { emit(.alarm("\(lane.rawValue): \(reason)")) }
    }

    /// The provider refused a request because its credential had expired. Requests one renewal for all requests that
    /// carried this credential.
    mutating func renewCredential(after generation: Int) {
        guard generation > renewalRequestedAfter else { return }
        renewalRequestedAfter = generation
        release()
        requestCredential(after: generation)
    }

    mutating func requestCredential(after generation: Int) {
        credential = .renewing
        effects.append(.renewCredential(after: generation))
    }
}
