import Fleet
import Observability
import Threads

/// Counts fleet actions, notifications, telemetry, trips and batches. The store's threads and the loops write, any thread
/// reads. `+Families` has the families.
final class FleetCounters: Sendable {
    /// All counts since the start.
    struct Counts {
        var actions: [Action: Int] = [:]
        var notifications = NotificationCounts()
        var transitions: [Transition: Int] = [:]
        var events: [String: Audience] = [:]
        var confirmations = Histogram(
            bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600, 86_400])
        var unconfirmed = 0
        var positions = LocationReceipt()
        var limitedLocations = 0
        var arrivals: [ArrivalSource: Int] = [:]
        var correctionsByAdmins = 0
        var correctionsByDrivers = 0
        /// Positions and telemetry whose time had no offset.
        var withoutOffset = 0
        var moments: [TripMoment: Int] = [:]
        var batchActions: [Action: Int] = [:]
        var reports: [ReportedEnd: Int] = [:]
        var lostRaces = 0
        var arrivalToPush = Histogram(bounds: arrivalBounds)
        var arrivalToReceived = Histogram(bounds: arrivalBounds)

        private static let arrivalBounds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]
    }

    /// What showed that a driver has arrived. Raw values are labels.
    enum ArrivalSource: String, CaseIterable {
        case position
        /// The way between two positions.
        case between
        case driver
    }

    /// An action and what became of it.
    struct Action: Hashable {
        let name: String
        let outcome: String
    }

    /// A step of a job that was reported, or wanted.
    struct Transition: Hashable {
        /// The outcomes. Raw values are labels.
        enum Outcome: String {
            case done
            /// The job's status does not allow the step.
            case invalid
            /// The job is another driver's.
            case forbidden
        }

        let from: String
        let to: String
        let outcome: Outcome
    }

    /// How many events of a name were published to channels with and without subscribers.
    struct Audience {
        var subscribed = 0
        var none = 0
    }

    /// What a driver reported of an order at its end.
    struct ReportedEnd: Hashable {
        let status: ReportedStatus
        let reason: FailureReason?
    }

    let counts = Lock(Counts())
    /// Behind locks of their own, because they are large: a scrape must not make the next writer copy them.
    private let offers = Lock(OfferMetrics())
    private let funnels = Lock(NotificationFunnel())

    func countAction(_ name: String, outcome: String) {
        counts.withLock { $0.actions[Action(name: name, outcome: outcome), default: 0] += 1 }
    }

    /// Counts a command that concerns a batch of orders.
    func countBatchAction(_ name: String, outcome: String) {
        counts.withLock { $0.batchActions[Action(name: name, outcome: outcome), default: 0] += 1 }
    }

    /// Counts an order that was delivered or failed.
    func count(_ report: DeliveryReport) {
        let reason: FailureReason?
        switch report.outcome {
        case .enRoute, .arrived: return
        case .delivered: reason = nil
        case .failed(let failure): reason = failure
        }
        counts.withLock { $0.reports[ReportedEnd(status: report.status, reason: reason), default: 0] += 1 }
    }

    /// Counts a driver who was too late for a batch.
    func countLostRace() { counts.withLock { $0.lostRaces += 1 } }

    /// Counts what happened to notifications in a transaction.
    func count(_ notifications: NotificationCounts) {
        guard !notifications.isEmpty else { return }
        let (minute, occurrences) = (Self.minute, notifications.occurrences)
        if !notifications.arrivals.isEmpty { funnels.withLock { $0.add(notifications, minute: minute) } }
        if !occurrences.viewSeconds.isEmpty || !occurrences.offers.isEmpty {
            offers.withLock { offers in
                for seconds in occurrences.viewSeconds { offers.observeView(seconds: seconds) }
                for event in occurrences.offers { offers.apply(event) }
            }
        }
        counts.withLock { counts in
            for seconds in occurrences.arrivalPushSeconds { counts.arrivalToPush.observe(seconds) }
            for seconds in occurrences.arrivalReceivedSeconds { counts.arrivalToReceived.observe(seconds) }
            var rest = notifications
            rest.occurrences = NotificationOccurrences()
            counts.notifications.add(rest)
        }
    }

    /// Counts what another node of the cluster has told about an offer.
    func count(_ event: OfferMetricsEvent) { offers.withLock { $0.apply(event) } }

    /// Counts the times from the creation of notifications to their first confirmations.
    func count(_ confirmations: [Confirmation]) {
        guard !confirmations.isEmpty else { return }
        counts.withLock { counts in
            for confirmation in confirmations { counts.confirmations.observe(confirmation.seconds) }
        }
    }

    /// Counts a driver's positions.
    func count(_ receipt: LocationReceipt) {
        counts.withLock {
            $0.positions.accepted += receipt.accepted
            $0.positions.ignored += receipt.ignored
            $0.positions.copies += receipt.copies
            $0.positions.jumps += receipt.jumps
            $0.positions.invalid += receipt.invalid
        }
    }

    /// Counts times without an offset, which count as the present time.
    func countWithoutOffset(_ count: Int) {
        if count > 0 { counts.withLock { $0.withoutOffset += count } }
    }

    func countArrival(_ source: ArrivalSource) { counts.withLock { $0.arrivals[source, default: 0] += 1 } }

    /// Counts an arrival that was taken back.
    func countCorrection(byAdmin isByAdmin: Bool) {
        counts.withLock { if isByAdmin { $0.correctionsByAdmins += 1 } else { $0.correctionsByDrivers += 1 } }
    }

    /// Counts a request with positions that came too early.
    func countLimitedLocation() { counts.withLock { $0.limitedLocations += 1 } }

    /// Counts the moments of trips in a commit.
    func countTrip(_ result: CommandResult) {
        let moments = result.notifications.compactMap { notification in
            // Admins can announce an arrival, but on other channels.
            notification.channel.utf8.starts(with: "booking-".utf8) ? TripMoment(event: notification.event) : nil
        }
        guard !moments.isEmpty else { return }
        counts.withLock { counts in for moment in moments { counts.moments[moment, default: 0] += 1 } }
    }

    /// Records the present number of unconfirmed notifications of the last hour.
    func record(unconfirmed count: Int) { counts.withLock { $0.unconfirmed = count } }

    /// Counts a progress report, or an arrival by position.
    func count(_ transition: Transition) { counts.withLock { $0.transitions[transition, default: 0] += 1 } }

    /// Counts an event of a fleet channel.
    /// - Parameter isHeard: whether a connection was subscribed to the channel, or to its mirror.
    func countEvent(_ name: String, isHeard: Bool) {
        counts.withLock {
            if isHeard {
                $0.events[name, default: Audience()].subscribed += 1
            } else {
                $0.events[name, default: Audience()].none += 1
            }
        }
    }

    /// Counts what has not happened in time. Call it about once a second.
    func tick(now: Int64) { offers.withLock { $0.expire(now: now) } }

    /// How soon offers were accepted.
    var offerFigures: OfferMetrics.Figures { offers.withLock { $0.figures } }

    /// The present number of unconfirmed notifications of the last hour.
    var unconfirmed: Int { counts.withLock { $0.unconfirmed } }

    /// The events by name.
    var events: [(name: String, audience: Audience)] {
        counts.withLock { $0.events }.map { ($0.key, $0.value) }.sorted { $0.name < $1.name }
    }

    /// For each of ``NotificationFunnel/periods``, the counts of its states.
    var funnel: [[Int]] {
        let minute = Self.minute
        return funnels.withLock { funnel in
            NotificationFunnel.periods.map { funnel.counts(minutes: $0.minutes, until: minute) }
        }
    }

    private static var minute: Int { Int(Clock.monotonicMilliseconds() / 60_000) }

    /// The number of steps that were not stored, because their reporter has reported too many of unknown notifications.
    var droppedSteps: Int { counts.withLock { $0.notifications.droppedSteps } }
}
