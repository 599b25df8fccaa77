/// What became of a push job, as its lane tells the store.
package struct PushOutcome: Equatable, Sendable {
    package enum Result: Equatable, Sendable {
        /// The provider took it; its own id of the message, where it gives one.
        case accepted(messageID: String?)
        case failed(reason: String)
        /// Not to be sent: `quiet_hours`, `preferences`, `connected`, `off`, `device_removed`. The store has reasons of its own:
        /// `superseded`, `notification_removed`, and why the device is not his any more.
        case cancelled(reason: String)
        case expired
        /// To be tried at `at` (milliseconds since 1970).
        case retry(at: Int64, reason: String)
        /// Given back as it was taken: it was not tried.
        case returned
    }

    package let job: PushJob
    package let result: Result
    /// Whether it was sent this time, so that it counts as a try.
    package let wasTried: Bool
    /// Set when the token is dead.
    package let removal: DeviceRemoval?

    package init(_ job: PushJob, _ fate: Result, wasTried: Bool, removal: DeviceRemoval? = nil) {
        self.job = job
        self.result = fate
        self.wasTried = wasTried
        self.removal = removal
    }
}

/// That a device's token is to go, unless its app has registered it again.
package struct DeviceRemoval: Equatable, Sendable {
    /// The provider's word for it: `Unregistered`, `BadDeviceToken`, `UNREGISTERED`…
    package let reason: String
    /// Only a device that was last seen before is removed: milliseconds since 1970.
    package let ifSeenBefore: Int64

    package init(reason: String, ifSeenBefore: Int64) {
        self.reason = reason
        self.ifSeenBefore = ifSeenBefore
    }
}
