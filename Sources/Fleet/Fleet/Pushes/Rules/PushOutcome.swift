/// The result of a push job, as its lane reports it to the store.
package struct PushOutcome: Equatable, Sendable {
    /// The result of one lease of a job.
    package enum Result: Equatable, Sendable {
        /// The provider accepted the push. `messageID` is the provider's, if it returned one.
        case accepted(messageID: String?)
        case failed(reason: String)
        /// Not sent, for one of these reasons: `quiet_hours`, `preferences`, `connected`, `off`, `device_removed`. The
        /// store itself cancels jobs for further reasons: `superseded`, `confirmed`, `acknowledged`,
        /// `notification_removed`, and the reasons for which a recipient loses a device: `new_owner`, `replaced`,
        /// `unregistered`, `stale`…
        case cancelled(reason: String)
        /// The notification expired before the provider accepted the push.
        case expired
        /// The lane sends the push again at `at` (milliseconds since 1970).
        case retry(at: Int64, reason: String)
        /// The token's APNs environment is unknown, but not that of the reporting lane: another lane tries the push at
        /// once.
        case moved(to: PushLane, reason: String)
        /// The lane returned the job to the queue without an attempt.
        case returned
        /// The provider rejected the device's token, but the configuration may be the cause. The job stays leased until
        /// the lane reports it again; meanwhile its device is quarantined: the store leases no jobs for it.
        case undecided
        /// The configuration was the cause of an `undecided` rejection: the quarantine ends, and the job goes back to
        /// the queue, behind the recipient's other jobs.
        case released(reason: String)
    }

    package let job: PushJob
    package let result: Result
    /// Whether the result counts as an attempt: the lane sent the push, and the result concerns this push rather than
    /// the lane's credential, configuration or connection.
    package let wasTried: Bool
    /// Nil unless the provider reported that the token is not valid.
    package let removal: DeviceRemoval?

    package init(_ job: PushJob, _ result: Result, wasTried: Bool, removal: DeviceRemoval? = nil) {
        self.job = job
        self.result = result
        self.wasTried = wasTried
        self.removal = removal
    }
}

/// Requests the removal of a device, unless its app has registered it again.
package struct DeviceRemoval: Equatable, Sendable {
    /// The provider's reason: `Unregistered`, `BadDeviceToken`, `UNREGISTERED`…
    package let reason: String
    /// Milliseconds since 1970. A device that its app registered at this time or later is not removed.
    package let ifSeenBefore: Int64

    package init(reason: String, ifSeenBefore: Int64) {
        self.reason = reason
        self.ifSeenBefore = ifSeenBefore
    }
}
