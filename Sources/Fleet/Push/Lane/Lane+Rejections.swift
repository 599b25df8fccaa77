import Fleet

// Rejections that may be the effect of a wrong configuration (``RejectionBreaker``).
extension Lane {
    /// Suspends a doubtful rejection. If the breaker opens, stops the lane: queue and devices are kept.
    /// - Returns: what the rejection says about the provider.
    mutating func suspend(
        _ job: PushJob, _ reason: String, _ removal: DeviceRemoval?, _ completion: Completion, _ now: Int64
    ) -> CongestionControl.Signal {
        recordError(reason, now)
        guard !breaker.isOpen else {
            postpone(job, until: now, reason, wasTried: false)
            return .forbidden(newConnection: false)
        }
        if let removal {
            backoff.markDead(job.device.id, removal)
            reports.add(PushOutcome(job, .undecided, wasTried: true, removal: removal))
        }
        let rejection = RejectionBreaker.Rejection(
            job: job, reason: reason, removal: removal, seconds: completion.seconds, at: now)
        if breaker.suspend(rejection) {
            release(breaker.open())
            let advice = "check address, topic and project; queue and devices are kept"
            apply(congestion.stop(now), reason: "the provider rejects most pushes, the last with \(reason): \(advice)")
        }
        return .success
    }

    /// Acts on the rejections that are confirmed by now. A lane that is stopping returns all of them to the queue: the
    /// provider rejects the pushes again after the next start.
    mutating func decideRejections(_ now: Int64) {
        if isStopping { return release(breaker.takeSuspended()) }
        for rejection in breaker.takeConfirmed(at: now) {
            reject(rejection.job, rejection.reason, rejection.removal, seconds: rejection.seconds, now)
            if rejection.removal == nil { alarm("the provider rejects pushes: \(rejection.reason)", now) }
        }
    }

    /// Returns the jobs of suspended rejections to the queue, and ends the quarantine of their devices.
    private mutating func release(_ rejections: [RejectionBreaker.Rejection]) {
        for rejection in rejections {
            reports.add(PushOutcome(rejection.job, .released(reason: rejection.reason), wasTried: false))
        }
    }
}
