import Fleet
import Observability
import Threads

/// Counts fleet actions, notifications and telemetry. The store's threads and the loops write, any thread reads.
final class FleetCounters: Sendable {
    let trips = TripCounters()
    let batches = BatchCounters()

    /// An action and what became of it.
    struct Action: Hashable {
        let name: String
        let outcome: String

        var labels: MetricFamily.Labels { [("action", name), ("outcome", outcome)] }
    }

    private let actions = LabelledCounter<Action>("fleet_actions_total", "Fleet actions, by action and outcome.") { $0.labels }

    func countAction(_ name: String, outcome: String) { actions.add(to: Action(name: name, outcome: outcome)) }

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

    /// Progress reports, and arrivals by position.
    let transitions = LabelledCounter<Transition>(
        "transitions_total", "Reported steps of jobs, by the job's status before, the step, and whether it was taken."
    ) { [("from", $0.from), ("to", $0.to), ("outcome", $0.outcome.rawValue)] }

    // MARK: Notifications

    private let arrivals = LabelledCounter<NotificationCounts.Arrival>(
        "notifications_total", "Notifications, by event and state; each state once per recipient."
    ) { [("event", $0.event), ("state", $0.state.rawValue)] }
    private let confirmations = SharedHistogram(
        "notification_confirm_seconds", "From the creation of a notification to a recipient's first confirmation.",
        bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600, 86_400])
    private let unconfirmedNow = Lock(0)
    private let deliveredPushes = LabelledCounter<NotificationCounts.PushEffect>(
        "push_delivered_total", "Pushed notifications that the person's app has received or confirmed."
    ) { $0.labels }
    private let openedPushes = LabelledCounter<NotificationCounts.PushEffect>(
        "push_opened_total", "Pushed notifications that the person has viewed or accepted."
    ) { $0.labels }
    private let steps = LabelledCounter<NotificationCounts.Step>(
        "telemetry_total", "Steps that devices reported for the first time, by event and type."
    ) { [("event", $0.kind.rawValue), ("type", $0.type)] }
    private let repeatedSteps = Counter("telemetry_repeated_total", "Steps that devices reported again.")
    private let stepsByEntity = Counter(
        "telemetry_by_entity_total",
        "Steps under ids of no notification, matched by the order, booking or route that they name.")
    /// Their reporter has reported too many.
    let droppedSteps = Counter(
        "telemetry_dropped_total", "Steps not stored: the device reported too many of unknown notifications.")
    /// Behind locks of their own, because they are large: a scrape must not make the next writer copy them.
    private let offers = Lock(OfferMetrics())
    private let funnels = Lock(NotificationFunnel())

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
        trips.arrivalToPush.observe(occurrences.arrivalPushSeconds)
        trips.arrivalToReceived.observe(occurrences.arrivalReceivedSeconds)
        arrivals.add(notifications.arrivals)
        deliveredPushes.add(notifications.pushEffects.filter { $0.key.kind == .delivered })
        openedPushes.add(notifications.pushEffects.filter { $0.key.kind == .opened })
        steps.add(notifications.steps)
        repeatedSteps.add(notifications.repeatedSteps)
        stepsByEntity.add(notifications.stepsByEntity)
        droppedSteps.add(notifications.droppedSteps)
    }

    /// Counts what another node of the cluster has told about an offer.
    func count(_ event: OfferMetricsEvent) { offers.withLock { $0.apply(event) } }

    /// Counts the times from the creation of notifications to their first confirmations.
    func count(_ confirmations: [Confirmation]) {
        guard !confirmations.isEmpty else { return }
        self.confirmations.observe(confirmations.map(\.seconds))
    }

    /// Counts what has not happened in time. Call it about once a second.
    func tick(now: Int64) { offers.withLock { $0.expire(now: now) } }

    /// Records the present number of unconfirmed notifications of the last hour.
    func record(unconfirmed count: Int) { unconfirmedNow.withLock { $0 = count } }

    /// The present number of unconfirmed notifications of the last hour.
    var unconfirmed: Int { unconfirmedNow.withLock { $0 } }

    /// For each of ``NotificationFunnel/periods``, the counts of its states.
    var funnel: [[Int]] {
        let minute = Self.minute
        return funnels.withLock { funnel in
            NotificationFunnel.periods.map { funnel.counts(minutes: $0.minutes, until: minute) }
        }
    }

    private static var minute: Int { Int(Clock.monotonicMilliseconds() / 60_000) }

    // MARK: Events

    /// How many events of a name were published to channels with and without subscribers.
    struct Audience {
        var subscribed = 0
        var none = 0
    }

    private let audiences = Lock<[String: Audience]>([:])

    /// Counts an event of a fleet channel.
    /// - Parameter isHeard: whether a connection was subscribed to the channel, or to its mirror.
    func countEvent(_ name: String, isHeard: Bool) {
        audiences.withLock {
            if isHeard {
                $0[name, default: Audience()].subscribed += 1
            } else {
                $0[name, default: Audience()].none += 1
            }
        }
    }

    /// The events by name.
    var events: [(name: String, audience: Audience)] {
        audiences.withLock { $0 }.map { ($0.key, $0.value) }.sorted { $0.name < $1.name }
    }

    // MARK: For operators

    var families: [MetricFamily] {
        [
            actions.family, arrivals.family, confirmations.family,
            MetricFamily(
                "unconfirmed", .gauge,
                "Notifications of the last hour, not expired, that nobody has confirmed within delivery.confirm_seconds.",
                unconfirmed),
            steps.family, repeatedSteps.family, stepsByEntity.family, droppedSteps.family, transitions.family,
            MetricFamily(
                "fleet_events_total", .counter,
                "Events of fleet channels, by whether anybody was subscribed when they were published.",
                samples: events.flatMap { name, audience in
                    [
                        ([("event", name), ("audience", "subscribed")], String(audience.subscribed)),
                        ([("event", name), ("audience", "none")], String(audience.none)),
                    ]
                }),
            deliveredPushes.family, openedPushes.family,
        ] + offers.withLock { $0.figures }.families + trips.families + batches.families
    }

    /// The same counts for `GET /api/ops/stats`. Each group is a JSON object, and each count a member.
    func report() -> [(name: String, counts: [(name: String, count: Int)])] {
        let kinds = Dictionary(steps.counts.map { ($0.key.kind.rawValue, $0.value) }, uniquingKeysWith: +)
        return [
            ("actions", actions.counts.map { ("\($0.key.name) \($0.key.outcome)", $0.value) }.sorted { $0.0 < $1.0 }),
            (
                "events",
                arrivals.counts.filter { $0.key.state == .created }.map { ($0.key.event, $0.value) }.sorted { $0.0 < $1.0 }
            ),
            ("telemetry", kinds.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }),
            ("transitions", [("failed", transitions.counts.reduce(0) { $0 + ($1.key.outcome == .invalid ? $1.value : 0) })]),
        ]
    }
}

extension NotificationCounts.PushEffect {
    fileprivate var labels: MetricFamily.Labels { [("provider", provider.rawValue), ("type", type)] }
}
