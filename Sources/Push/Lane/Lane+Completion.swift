import FleetRules
import HTTPClient

// What becomes of a job when its request has ended.
extension Lane {
    mutating func end(
        _ ticket: InFlight, _ ending: Completion, at now: Int64, using dice: inout some RandomNumberGenerator
    ) {
        let (sign, reason) = settle(ticket, ending, at: now, using: &dice)
        let change = congestion.end(sign, era: ticket.era, begun: ticket.begunAt, at: now, using: &dice)
        move(change, because: reason)
    }

    /// Settles the job; returns what its end says of the provider, in a sign and in words.
    private mutating func settle(
        _ ticket: InFlight, _ ending: Completion, at now: Int64, using dice: inout some RandomNumberGenerator
    ) -> (CongestionControl.Signal, String) {
        switch ending.result {
        case .success(let verdict): return settle(ticket, verdict, ending, at: now, using: &dice)
        case .failure(let failure):
            let reason = SendResult.reason(failure)
            switch failure {
            case .notSent:
                // It never left, so it was no try.
                notes.fail(reason, now)
                reports.add(PushOutcome(ticket.job, .returned, wasTried: false))
                return (.notSent, reason)
            case .lost:
                tryAgain(ticket.job, reason, after: nil, ending, at: now, using: &dice)
                return (.lost, reason)
            case .timedOut:
                tryAgain(ticket.job, reason, after: nil, ending, at: now, using: &dice)
                return (.timedOut, reason)
            }
        }
    }

    private mutating func settle(
        _ ticket: InFlight, _ verdict: SendResult, _ ending: Completion, at now: Int64,
        using dice: inout some RandomNumberGenerator
    ) -> (CongestionControl.Signal, String) {
        let job = ticket.job
        switch verdict {
        case .accepted(let messageID):
            backoff.clear(job.device.id)
            poisonJobs.recordAccepted()
            notes.lastAcceptedAt = now
            reports.add(PushOutcome(job, .accepted(messageID: messageID), wasTried: true))
            emit(.accepted(job, seconds: ending.seconds))
            return (.success, "")
        case .rejected(let reason, let alarm):
            reject(job, reason, nil, ending, now)
            if alarm { self.alarm("notifications are rejected: \(reason)", now) }
            return (.success, reason)
        case .invalidToken(let removal):
            backoff.markDead(job.device.id, removal)
            reject(job, removal.reason, removal, ending, now)
            return (.success, removal.reason)
        case .deviceThrottled(let reason, let after):
            let until = backoff.refuse(
                job.device.id, begun: ticket.begunAt, at: now, atLeast: min(after ?? 0, rules.retryAfterMax))
            emit(.retried(job, reason: reason, seconds: ending.seconds))
            postpone(job, until: until, reason, wasTried: true)
            return (.success, reason)
        case .retry(let reason, let after):
            tryAgain(job, reason, after: after, ending, at: now, using: &dice)
            return (.overloaded(after: after), reason)
        case .tooManyTokens(let reason):
            tryAgain(job, reason, after: nil, ending, at: now, using: &dice)
            return (.tooManyTokens, reason)
        case .configurationError(let reason, let newConnection):
            if congestion.isRunning(era: ticket.era), poisonJobs.isPoison(job.number) {
                reject(job, reason, nil, ending, now)
                alarm("a notification is refused, and others are not: \(reason)", now)
                return (.answered, reason)
            }
            notes.fail(reason, now)
            // Not a word about the job; but it gives up its turn, here and below: it may be this one that is not wanted, and
            // a lane that probes with it for ever sends nobody's.
            postpone(job, until: now, reason, wasTried: false)
            return (.forbidden(newConnection: newConnection), reason)
        case .credentialExpired(let reason):
            notes.fail(reason, now)
            postpone(job, until: now, reason, wasTried: false)
            renewCredential(after: ending.credential)
            return (.answered, reason)
        case .goAway(let reason):
            notes.fail(reason, now)
            reports.add(PushOutcome(job, .returned, wasTried: false))
            return (.goAway, reason)
        }
    }

    // MARK: Fates

    private mutating func reject(
        _ job: PushJob, _ reason: String, _ removal: DeviceRemoval?, _ ending: Completion, _ now: Int64
    ) {
        notes.fail(reason, now)
        reports.add(PushOutcome(job, .failed(reason: reason), wasTried: true, removal: removal))
        emit(.rejected(job, reason: reason, seconds: ending.seconds))
    }

    private mutating func tryAgain(
        _ job: PushJob, _ reason: String, after wish: Int64?, _ ending: Completion, at now: Int64,
        using dice: inout some RandomNumberGenerator
    ) {
        notes.fail(reason, now)
        emit(.retried(job, reason: reason, seconds: ending.seconds))
        let wish = wish.map { min($0, rules.retryAfterMax) }
        postpone(
            job, until: now + RetrySchedule.delay(afterAttempts: job.attempts, asked: wish, using: &dice), reason,
            wasTried: true)
    }

    /// Later, if it is not too late by then.
    mutating func postpone(_ job: PushJob, until: Int64, _ reason: String, wasTried: Bool) {
        guard until < job.notification.expiresAt else { return expire(job, wasTried: wasTried) }
        reports.add(PushOutcome(job, .retry(at: until, reason: reason), wasTried: wasTried))
    }

    mutating func expire(_ job: PushJob, wasTried: Bool) {
        reports.add(PushOutcome(job, .expired, wasTried: wasTried))
        emit(.expired(job))
    }

    mutating func cancel(_ job: PushJob, _ reason: String) {
        reports.add(PushOutcome(job, .cancelled(reason: reason), wasTried: false))
        emit(.cancelled(job, reason: reason))
    }
}

extension SendResult {
    /// Why there was no answer, in the words that jobs are retried with.
    fileprivate static func reason(_ failure: HTTPClientError) -> String {
        if case .retry(let reason, _) = SendResult(failure) { reason } else { "no answer" }
    }
}
