import FleetRules
import HTTPClient

// What becomes of a job when its request has ended.
extension Lane {
    mutating func end(
        _ ticket: Ticket, _ ending: Ending, at now: Int64, using dice: inout some RandomNumberGenerator
    ) {
        let (sign, reason) = settle(ticket, ending, at: now, using: &dice)
        let change = pace.end(sign, era: ticket.era, begun: ticket.begunAt, at: now, using: &dice)
        carry(change, because: reason)
    }

    /// Settles the job; returns what its end says of the provider, in a sign and in words.
    private mutating func settle(
        _ ticket: Ticket, _ ending: Ending, at now: Int64, using dice: inout some RandomNumberGenerator
    ) -> (LanePace.Sign, String) {
        switch ending.result {
        case .success(let verdict): return settle(ticket, verdict, ending, at: now, using: &dice)
        case .failure(let failure):
            let reason = Verdict.reason(failure)
            switch failure {
            case .notSent:
                // It never left, so it was no try.
                notes.fail(reason, now)
                book.add(PushOutcome(ticket.job, .unsent, wasTried: false))
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
        _ ticket: Ticket, _ verdict: Verdict, _ ending: Ending, at now: Int64, using dice: inout some RandomNumberGenerator
    ) -> (LanePace.Sign, String) {
        let job = ticket.job
        switch verdict {
        case .accepted(let messageID):
            troubles.relieve(job.device.id)
            suspects.noteAccepted()
            notes.lastAcceptedAt = now
            book.add(PushOutcome(job, .accepted(messageID: messageID), wasTried: true))
            say(.accepted(job, seconds: ending.seconds))
            return (.well, "")
        case .rejected(let reason, let alarm):
            reject(job, reason, nil, ending, now)
            if alarm { self.alarm("notifications are rejected: \(reason)", now) }
            return (.well, reason)
        case .dead(let removal):
            troubles.bury(job.device.id, removal)
            reject(job, removal.reason, removal, ending, now)
            return (.well, removal.reason)
        case .deviceBusy(let reason, let after):
            let until = troubles.refuse(
                job.device.id, begun: ticket.begunAt, at: now, atLeast: min(after ?? 0, rules.wishMax))
            say(.retried(job, reason: reason, seconds: ending.seconds))
            postpone(job, until: until, reason, wasTried: true)
            return (.well, reason)
        case .retry(let reason, let after):
            tryAgain(job, reason, after: after, ending, at: now, using: &dice)
            return (.overloaded(after: after), reason)
        case .connectionSpoilt(let reason):
            tryAgain(job, reason, after: nil, ending, at: now, using: &dice)
            return (.spoilt, reason)
        case .laneStopped(let reason, let newConnection):
            if pace.isRunning(era: ticket.era), suspects.convict(job.number) {
                reject(job, reason, nil, ending, now)
                alarm("a notification is refused, and others are not: \(reason)", now)
                return (.alive, reason)
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
            return (.alive, reason)
        case .reconnect(let reason):
            notes.fail(reason, now)
            book.add(PushOutcome(job, .unsent, wasTried: false))
            return (.leaving, reason)
        }
    }

    // MARK: Fates

    private mutating func reject(
        _ job: PushJob, _ reason: String, _ removal: DeviceRemoval?, _ ending: Ending, _ now: Int64
    ) {
        notes.fail(reason, now)
        book.add(PushOutcome(job, .failed(reason: reason), wasTried: true, removal: removal))
        say(.rejected(job, reason: reason, seconds: ending.seconds))
    }

    private mutating func tryAgain(
        _ job: PushJob, _ reason: String, after wish: Int64?, _ ending: Ending, at now: Int64,
        using dice: inout some RandomNumberGenerator
    ) {
        notes.fail(reason, now)
        say(.retried(job, reason: reason, seconds: ending.seconds))
        let wish = wish.map { min($0, rules.wishMax) }
        postpone(
            job, until: now + RetrySchedule.delay(afterAttempts: job.attempts, asked: wish, using: &dice), reason,
            wasTried: true)
    }

    /// Later, if it is not too late by then.
    mutating func postpone(_ job: PushJob, until: Int64, _ reason: String, wasTried: Bool) {
        guard until < job.notification.expiresAt else { return expire(job, wasTried: wasTried) }
        book.add(PushOutcome(job, .later(at: until, reason: reason), wasTried: wasTried))
    }

    mutating func expire(_ job: PushJob, wasTried: Bool) {
        book.add(PushOutcome(job, .expired, wasTried: wasTried))
        say(.expired(job))
    }

    mutating func cancel(_ job: PushJob, _ reason: String) {
        book.add(PushOutcome(job, .cancelled(reason: reason), wasTried: false))
        say(.cancelled(job, reason: reason))
    }
}

extension Verdict {
    /// Why there was no answer, in the words that jobs are retried with.
    fileprivate static func reason(_ failure: HTTPFailure) -> String {
        if case .retry(let reason, _) = Verdict(failure) { reason } else { "no answer" }
    }
}
