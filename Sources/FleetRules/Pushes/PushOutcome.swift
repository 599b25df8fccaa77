/// The result of a push job, as its lane reports it to the store.
package struct PushOutcome: Equatable, Sendable {
    /// The result of one lease of a job.
    package enum Result: Equatable, Sendable {
        /// The provider accepted the push. `messageID` is the provider's, if it returned one.
        case accepted(messageID: String?)
        case failed(reason: String)
        /// Not sent: `quiet_hours`, `preferences`, `connected`, `off`, `device_removed`. The store has further reasons:
        /// `superseded`, `notification_removed`, and why the device no longer belongs to the recipient.
        case cancelled(reason: String)
        case expired
        /// To be sent again at `at` (milliseconds since 1970).
        case retry(at: Int64, reason: String)
        /// Returned to the queue without an attempt.
        case returned
    }

    package let job: PushJob
    package let result: Result
    /// Whether the lane sent it: only then the attempt counts.
    package let wasTried: Bool
    /// Set if the provider reported that the token is no longer valid.
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
    /// Milliseconds since 1970. A device that was registered later stays.
    package let ifSeenBefore: Int64

    package init(reason: String, ifSeenBefore: Int64) {
        self.reason = reason
        self.ifSeenBefore = ifSeenBefore
    }
}
