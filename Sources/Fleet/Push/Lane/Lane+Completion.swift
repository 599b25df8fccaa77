import Fleet
import HTTPClient

// How the lane handles the end of a job's request.
extension Lane {
    mutating func complete(
        _ request: InFlight, _ completion: Completion, at now: Int64, using rng: inout some RandomNumberGenerator
    ) {
        let (signal, reason) = recordResult(request, completion, at: now, using: &rng)
        let change = congestion.complete(signal, epoch: request.epoch, startedAt: request.startedAt, at: now, using: &rng)
        apply(change, reason: reason)
    }

    /// Reports the job. Returns what the result says about provider and connection, and the reason for the log.
    private mutating func recordResult(
        _ request: InFlight, _ completion: Completion, at now: Int64, using rng: inout some RandomNumberGenerator
    ) -> (CongestionControl.Signal, String) {
        switch completion.result {
        case .success(let result): return recordResult(request, result, completion, at: now, using: &rng)
        case .failure(let error):
            let reason = SendResult.reason(error)
            switch error {
            case .notSent:
                // The request was not written, so it does not count as an attempt.
                recordError(reason, now)
                reports.add(PushOutcome(request.job, .returned, wasTried: false))
                return (.notSent, reason)
            case .lost:
                retry(request.job, reason, after: nil, completion, at: now, using: &rng)
                return (.lost, reason)
            case .timedOut:
                retry(request.job, reason, after: nil, completion, at: now, using: &rng)
                return (.timedOut, reason)
            }
        }
    }

    private mutating func recordResult(
        _ request: InFlight, _ result: SendResult, _ completion: Completion, at now: Int64,
        using rng: inout some RandomNumberGenerator
    ) -> (CongestionControl.Signal, String) {
        let job = request.job
        switch result {
        case .accepted(let messageID):
            breaker.recordOther(at: now)
            backoff.clear(job.device.id)
            poisonJobs.recordAccepted()
            recorded.lastAcceptedAt = now
            reports.add(PushOutcome(job, .accepted(messageID: messageID), wasTried: true))
            emit(.accepted(job, seconds: completion.seconds))
            return (.success, "")
        case .rejected(let reason, let alarm):
            breaker.recordOther(at: now)
            reject(job, reason, nil, seconds: completion.seconds, now)
            if alarm { self.alarm("the provider rejects pushes: \(reason)", now) }
            return (.success, reason)
        case .invalidToken(let removal):
            breaker.recordOther(at: now)
            backoff.markDead(job.device.id, removal)
            reject(job, removal.reason, removal, seconds: completion.seconds, now)
            return (.success, removal.reason)
        case .doubtfulToken(let removal):
            return (suspend(job, removal.reason, removal, completion, now), removal.reason)
        case .wrongEnvironment(let removal):
            // Unknown tokens are tried at production first, so the sandbox is the second try.
            guard lane == .apns, job.device.token.environment == nil else {
                return (suspend(job, removal.reason, removal, completion, now), removal.reason)
            }
            emit(.retried(job, reason: removal.reason, seconds: completion.seconds))
            reports.add(PushOutcome(job, .moved(to: .apnsSandbox, reason: removal.reason), wasTried: true))
            return (.success, removal.reason)
        case .unknownAddress(let reason):
            return (suspend(job, reason, nil, completion, now), reason)
        case .deviceThrottled(let reason, let after):
            let until = backoff.throttle(
                job.device.id, startedAt: request.startedAt, at: now, atLeast: min(after ?? 0, rules.retryAfterMax))
            emit(.retried(job, reason: reason, seconds: completion.seconds))
            postpone(job, until: until, reason, wasTried: true)
            return (.success, reason)
        case .retry(let reason, let after):
            retry(job, reason, after: after, completion, at: now, using: &rng)
            return (.overloaded(after: after), reason)
        case .shutdown(let reason, let after):
            retry(job, reason, after: after, completion, at: now, using: &rng)
            return (.shutdown(after: after), reason)
        case .tooManyTokens(let reason):
            retry(job, reason, after: nil, completion, at: now, using: &rng)
            return (.tooManyTokens, reason)
        case .foreign(let reason):
            guard congestion.stopsAtForeign(epoch: request.epoch) else {
                retry(job, reason, after: nil, completion, at: now, using: &rng)
                return (.foreign, reason)
            }
            return (refuse(request, .foreign, reason, completion, now), reason)
        case .configurationError(let reason, let newConnection):
            return (refuse(request, .forbidden(newConnection: newConnection), reason, completion, now), reason)
        case .credentialExpired(let reason):
            recordError(reason, now)
            // As for a job that stops the lane, the job loses its place.
            postpone(job, until: now, reason, wasTried: false)
            renewCredential(after: completion.credential)
            return (.answered, reason)
        case .goAway(let reason):
            recordError(reason, now)
            reports.add(PushOutcome(job, .returned, wasTried: false))
            return (.goAway, reason)
        }
    }

    /// Handles a job whose result stops the lane: returns it to the queue, or rejects it if it is a poison job.
    /// - Returns: `signal`; for a poison job, that the provider responds.
    private mutating func refuse(
        _ request: InFlight, _ signal: CongestionControl.Signal, _ reason: String, _ completion: Completion, _ now: Int64
    ) -> CongestionControl.Signal {
        let job = request.job
        if congestion.isRunning(epoch: request.epoch), poisonJobs.recordRefusal(of: job.number) {
            reject(job, reason, nil, seconds: completion.seconds, now)
            alarm("a push has failed because the provider refuses it, although it accepts others: \(reason)", now)
            return .answered
        }
        recordError(reason, now)
        // This does not count as an attempt, but the job loses its place in the queue. If a job that the provider always
        // refuses kept its place, the lane would try it again and again and send no other job.
        postpone(job, until: now, reason, wasTried: false)
        return signal
    }

    // MARK: Outcomes

    mutating func reject(
        _ job: PushJob, _ reason: String, _ removal: DeviceRemoval?, seconds: Double, _ now: Int64
    ) {
        recordError(reason, now)
        reports.add(PushOutcome(job, .failed(reason: reason), wasTried: true, removal: removal))
        emit(.rejected(job, reason: reason, seconds: seconds))
    }

    private mutating func retry(
        _ job: PushJob, _ reason: String, after retryAfter: Int64?, _ completion: Completion, at now: Int64,
        using rng: inout some RandomNumberGenerator
    ) {
        recordError(reason, now)
        emit(.retried(job, reason: reason, seconds: completion.seconds))
        let retryAfter = retryAfter.map { min($0, rules.retryAfterMax) }
        let delay = RetrySchedule.delay(afterAttempts: job.attempts, retryAfter: retryAfter, using: &rng)
        postpone(job, until: now + delay, reason, wasTried: true)
    }

    /// Reports a retry at `until`. If the notification ends before, the job waits nevertheless, and the store expires it
    /// at its end: until then it is open, and a confirmation or a newer push may still cancel it.
    mutating func postpone(_ job: PushJob, until: Int64, _ reason: String, wasTried: Bool) {
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
    /// The reason of the retry that follows this error.
    fileprivate static func reason(_ error: HTTPClientError) -> String {
        if case .retry(let reason, _) = SendResult(error) { reason } else { "no response" }
    }
}
