/// A state that a notification reaches at most once for each recipient. The raw value is a label in metrics.
package enum NotificationState: String, Sendable {
    /// The notification is in the log. Counted once, however many recipients it has.
    case created
    /// A push provider has accepted the first push to the recipient.
    case pushed
    /// The notification was written to a connection of the recipient for the first time.
    case written
    /// A device of the recipient has confirmed the notification for the first time.
    case confirmed
    /// The recipient, an owner of the notification's channel, has reported a step or marked it as read.
    case acknowledged
    /// The recipient's app has reported a step.
    case received, viewed, accepted, dismissed
    /// The recipient has marked the notification as read.
    case read
    /// The notification's lifetime has ended, and no step was reported and nothing was marked as read. A notification
    /// for all drivers expires once, if none of them has reported a step.
    case expired
}

extension TelemetryEvent.Kind {
    /// The state that a notification has reached when its recipient reports this step.
    package var state: NotificationState {
        switch self {
        case .received: .received
        case .viewed: .viewed
        case .accepted: .accepted
        case .dismissed: .dismissed
        }
    }
}

/// What happened in one transaction, for the metrics.
package struct NotificationCounts: Equatable, Sendable {
    /// Notifications of one event that reached a state.
    package struct Arrival: Hashable, Sendable {
        package let event: String
        package let state: NotificationState
    }

    /// Steps of one kind that apps reported.
    package struct Step: Hashable, Sendable {
        package let kind: TelemetryEvent.Kind
        /// ``TelemetryEvent/type``.
        package let type: String
    }

    /// What became of a push, once for each person.
    package struct PushEffect: Hashable, Sendable {
        /// The provider that accepted it first.
        package let provider: PushProvider
        /// The push's `type`.
        package let type: String
        package let kind: Kind

        /// What the push has led to.
        package enum Kind: Sendable {
            /// The person's app has received the notification, or confirmed it.
            case delivered
            /// The person has viewed or accepted it.
            case opened
        }
    }

    package private(set) var arrivals: [Arrival: Int] = [:]
    package private(set) var pushEffects: [PushEffect: Int] = [:]
    /// The steps that were stored, for the first time.
    package private(set) var steps: [Step: Int] = [:]
    /// Steps that were stored before.
    package var repeatedSteps = 0
    /// Steps that were matched with a notification by the order, booking or route that they name.
    package var stepsByEntity = 0
    /// Steps that were not stored: their notifications are unknown, and the reporter has reported too many such steps.
    package var droppedSteps = 0
    /// Stored responses that were deleted before their time, because their users have too many.
    package var evictedResponses = 0
    /// Cursors of devices that were deleted because their owner has too many.
    package var forgottenCursors = 0
    /// Open orders and routes that the gateway has ended, because nobody has acted on them for long.
    package var endedJobs = 0
    /// Pushes for the customers of a booking that has more customers, or more devices, than get them.
    package var crowdedBookings = 0

    package var occurrences = NotificationOccurrences()

    package init() {}

    package var isEmpty: Bool { self == NotificationCounts() }

    package mutating func add(_ state: NotificationState, of event: String, count: Int = 1) {
        arrivals[Arrival(event: event, state: state), default: 0] += count
    }

    package mutating func addStep(_ kind: TelemetryEvent.Kind, ofType type: String) {
        steps[Step(kind: kind, type: type), default: 0] += 1
    }

    package mutating func add(_ kind: PushEffect.Kind, ofPushBy provider: PushProvider, type: String) {
        pushEffects[PushEffect(provider: provider, type: type, kind: kind), default: 0] += 1
    }

    /// Adds the counts of another transaction.
    package mutating func add(_ other: NotificationCounts) {
        arrivals.merge(other.arrivals, uniquingKeysWith: +)
        steps.merge(other.steps, uniquingKeysWith: +)
        pushEffects.merge(other.pushEffects, uniquingKeysWith: +)
        repeatedSteps += other.repeatedSteps
        stepsByEntity += other.stepsByEntity
        droppedSteps += other.droppedSteps
        evictedResponses += other.evictedResponses
        forgottenCursors += other.forgottenCursors
        endedJobs += other.endedJobs
        crowdedBookings += other.crowdedBookings
        occurrences.add(other.occurrences)
    }
}

/// What happened in one transaction one by one, for metrics of times. It is handed over with the commit, not summed up.
package struct NotificationOccurrences: Equatable, Sendable {
    /// The seconds from notifications' creation until people have viewed them.
    package var viewSeconds: [Double] = []
    /// What became of jobs and routes that were offered to drivers, in this order.
    package var offers: [OfferMetricsEvent] = []
    /// The seconds from drivers' arrivals to the first push that a provider has accepted.
    package var arrivalPushSeconds: [Double] = []
    /// The seconds from drivers' arrivals until phones have reported the notification as received.
    package var arrivalReceivedSeconds: [Double] = []

    package init() {}

    fileprivate mutating func add(_ other: NotificationOccurrences) {
        viewSeconds += other.viewSeconds
        offers += other.offers
        arrivalPushSeconds += other.arrivalPushSeconds
        arrivalReceivedSeconds += other.arrivalReceivedSeconds
    }
}
