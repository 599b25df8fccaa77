/// That a notification is to reach somebody's phones as well. Who has phones, the store knows.
package struct PushIntent: Equatable, Sendable {
    /// Whose phones.
    package enum Audience: Hashable, Sendable {
        case driver(String)
        case customer(String)
        /// The customers whose tokens named the booking when they registered a phone.
        case booking(String)
        /// All drivers that have one, but not whom the same action has reached already (``Identity/key``).
        case everyDriver(except: String?)
    }

    /// What a tap opens.
    package enum Entity: Equatable, Sendable {
        /// By its bookingId.
        case job(String)
        case route(String)
    }

    package let notificationID: String
    package let audience: Audience
    /// Nil where the notification's own data says.
    package let entity: Entity?

    package init(notificationID: String, audience: Audience, entity: Entity?) {
        self.notificationID = notificationID
        self.audience = audience
        self.entity = entity
    }
}

/// One notification for one phone, as the store hands it to a lane.
package struct PushJob: Equatable, Sendable {
    /// The store's number of it.
    package let number: Int64
    package let notification: Notification
    package let entity: PushIntent.Entity?
    /// ``Identity/key`` of whom it is for.
    package let recipient: String
    package let device: Device
    /// How often it was tried before.
    package let attempts: Int
    /// What he has not read, this notification included (1…).
    package let badge: Int
    package let preferences: Preferences

    /// The phone it goes to.
    package struct Device: Equatable, Sendable {
        /// 32 hexadecimal digits: a digest of provider and token.
        package let id: String
        package let token: DeviceToken
        /// When its app last registered it: milliseconds since 1970.
        package let lastSeenAt: Int64

        package init(id: String, token: DeviceToken, lastSeenAt: Int64) {
            self.id = id
            self.token = token
            self.lastSeenAt = lastSeenAt
        }
    }

    package init(
        number: Int64, notification: Notification, entity: PushIntent.Entity?, recipient: String, device: Device,
        attempts: Int = 0, badge: Int = 1, preferences: Preferences = .init()
    ) {
        self.number = number
        self.notification = notification
        self.entity = entity
        self.recipient = recipient
        self.device = device
        self.attempts = attempts
        self.badge = badge
        self.preferences = preferences
    }
}

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

/// What a lane tells the store, and how much it can take.
package struct PushReport: Equatable, Sendable {
    package let lane: PushLane
    package var outcomes: [PushOutcome]
    /// Jobs it has room for (0…).
    package var capacity: Int

    package init(lane: PushLane, outcomes: [PushOutcome] = [], room: Int) {
        self.lane = lane
        self.outcomes = outcomes
        self.capacity = room
    }
}

/// What the store answers a lane, once it is committed.
package struct PushLease: Equatable, Sendable {
    package let lane: PushLane
    /// To be sent now, at most as many as there was room for: in the lane's hands until it reports what became of them.
    package var jobs: [PushJob] = []
    /// Whether more are due than were handed over.
    package var hasMore = false
    /// When the next of those that wait for their time is due: milliseconds since 1970; nil when none waits.
    package var nextDueAt: Int64?
    /// Jobs that came to an end while the store looked for some to hand over: they had expired, or their device was gone.
    package var dropped = 0
    /// Jobs that are queued or wait for their time, as counted a few seconds ago at most.
    package var depth = 0
    /// When the oldest of them was queued: milliseconds since 1970; nil when there is none.
    package var oldestAt: Int64?
    /// Devices that the outcomes have removed.
    package var removed: [RemovedDevice] = []

    package init(lane: PushLane) { self.lane = lane }
}

/// What the store says of pushes, once it is committed: those that ended without a lane having had them in hand, and all that
/// have failed, for a lane does not know whether its failure is the last word.
package struct FinishedPushes: Equatable, Sendable {
    package var expired = 0
    package var cancelled = 0
    package var failed: [FailedPush] = []
    /// Refused for a token that has been replaced meanwhile: they will be tried with the new one.
    package var retried = 0

    package init() {}
}

/// A push that has failed for good, for those who want to know.
package struct FailedPush: Equatable, Sendable {
    package let notificationID: String
    package let event: String
    /// ``Identity/key`` of whom it was for.
    package let recipient: String
    /// ``DeviceToken/masked``; ``PushJob/Device/id`` where the token cannot be read.
    package let device: String
    /// How often it was tried.
    package let attempts: Int
    package let reason: String

    package init(
        notificationID: String, event: String, recipient: String, device: String, attempts: Int, reason: String
    ) {
        self.notificationID = notificationID
        self.event = event
        self.recipient = recipient
        self.device = device
        self.attempts = attempts
        self.reason = reason
    }

    /// - Parameter reason: the provider's word.
    package init(_ job: PushJob, reason: String) {
        self.init(
            notificationID: job.notification.id, event: job.notification.event, recipient: job.recipient,
            device: job.device.token.masked, attempts: job.attempts + 1, reason: reason)
    }
}

/// A device that is gone, for those who want to know.
package struct RemovedDevice: Equatable, Sendable {
    /// ``PushJob/Device/id``.
    package let id: String
    /// ``Identity/key`` of its owner.
    package let owner: String
    package let provider: PushProvider
    /// ``DeviceToken/masked``.
    package let maskedToken: String
    package let reason: String

    package init(id: String, owner: String, provider: PushProvider, maskedToken: String, reason: String) {
        self.id = id
        self.owner = owner
        self.provider = provider
        self.maskedToken = maskedToken
        self.reason = reason
    }
}
