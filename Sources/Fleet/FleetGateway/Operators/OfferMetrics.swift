import Fleet
import Observability
import Primitives

/// How soon drivers accept the jobs and routes that are offered to them, for the metrics. A pure value; times are
/// milliseconds since 1970.
///
/// An offer counts once: when the driver's accept is answered after a view or accept on the phone, or an hour after the
/// first of those. Offers are in memory only: after a restart, those reported before are not counted.
struct OfferMetrics {
    /// When an offer was accepted, after the first view or accept that the phone has reported. The raw value is a label.
    enum Within: String, CaseIterable {
        case fiveSeconds = "5s"
        case later
        /// Refused: another driver had accepted it.
        case taken
        /// Refused otherwise, or not accepted within an hour.
        case never
    }

    /// A class of offers that are counted together.
    struct Outcome: Hashable {
        let within: Within
        /// `new_job` or `new_route`.
        let type: String
    }

    /// A driver and a job: the job may be offered to the driver several times.
    private struct Key: Hashable {
        let driverID: String
        let subject: Offer.Subject
    }

    /// An offer that the driver has looked at, and not answered.
    private struct Pending {
        let offer: Offer
        var pushedAt: Int64?
        var viewedAt: Int64?
        let reportedAt: Int64
    }

    private static let bounds = [0.5, 1, 2.5, 5, 10, 15, 20, 30, 45, 60]
    private static let promptMilliseconds: Int64 = 5_000
    private static let waitMilliseconds: Int64 = 3_600_000
    /// Offers and answers that are remembered at once. More than a fleet's drivers can have open; above it, the oldest offer
    /// counts as never accepted.
    private static let rememberedMax = 50_000

    /// What is counted.
    struct Figures {
        fileprivate(set) var outcomes: [Outcome: Int] = [:]
        fileprivate(set) var viewToAccept = Histogram(bounds: bounds)
        fileprivate(set) var pushToAccept = Histogram(bounds: bounds)
        fileprivate(set) var creationToView = Histogram(bounds: bounds)

        var families: [MetricFamily] {
            [
                MetricFamily(
                    "notification_to_view_seconds", "From a notification's creation until a person has viewed it.",
                    creationToView),
                MetricFamily(
                    "view_to_accept_seconds", "From the view of an offered job or route until the driver has accepted it.",
                    viewToAccept),
                MetricFamily(
                    "push_to_accept_seconds",
                    "From the first accepted push of an offered job or route, or its creation, until the driver has accepted it.",
                    pushToAccept),
                MetricFamily(
                    "accept_within_total", .counter,
                    "Offers that were viewed or accepted on the phone, by when the driver's accept came after that.",
                    samples:
                        outcomes.sorted { ($0.key.within.rawValue, $0.key.type) < ($1.key.within.rawValue, $1.key.type) }
                        .map { ([("within", $0.key.within.rawValue), ("type", $0.key.type)], String($0.value)) }),
            ]
        }
    }

    private(set) var figures = Figures()
    /// The offers of a job to a driver, oldest first.
    private var pending: [Key: [Pending]] = [:]
    private var keysByNotification: [String: Key] = [:]
    /// The last answers, because phones report late: the report belongs to the offer that was answered.
    private var answers: [Key: (answer: OfferAnswer, at: Int64)] = [:]
    /// What ``pending`` and ``answers`` contain, in the order of the times.
    private var order = FIFO<(key: Key, at: Int64)>()

    mutating func observeView(seconds: Double) { figures.creationToView.observe(seconds) }

    mutating func apply(_ event: OfferMetricsEvent) {
        switch event {
        case .reported(let offer, let at): report(offer, at)
        case .viewed(let id, let at): change(id) { $0.viewedAt = $0.viewedAt ?? at }
        case .pushed(let id, let at): change(id) { $0.pushedAt = $0.pushedAt ?? at }
        case .answered(let driverID, let subject, let answer, let at):
            self.answer(Key(driverID: driverID, subject: subject), answer, at)
        }
    }

    /// Counts what was not accepted within an hour, and forgets answers of that age. Call it now and then.
    mutating func expire(now: Int64) {
        while let first = order.first, first.at < now - Self.waitMilliseconds || order.count > Self.rememberedMax {
            _ = order.popFirst()
            if answers[first.key]?.at == first.at { answers[first.key] = nil }
            while let oldest = pending[first.key]?.first, oldest.reportedAt <= first.at {
                endFirst(first.key, .never)
            }
        }
    }

    private mutating func report(_ offer: Offer, _ at: Int64) {
        let key = Key(driverID: offer.driverID, subject: offer.subject)
        if let (answer, answeredAt) = answers[key], offer.createdAt <= answeredAt {
            // The accept came before the report.
            return count(Self.within(answer, after: 0), offer.subject)
        }
        // Accepted before a restart, or longer ago than answers are remembered: the report says nothing about when.
        guard !offer.isAccepted else { return }
        pending[key, default: []].append(Pending(offer: offer, pushedAt: offer.pushedAt, reportedAt: at))
        keysByNotification[offer.notificationID] = key
        remember(key, at)
    }

    private mutating func change(_ notificationID: String, _ change: (inout Pending) -> Void) {
        guard let key = keysByNotification[notificationID],
            let index = pending[key]?.firstIndex(where: { $0.offer.notificationID == notificationID })
        else { return }
        change(&pending[key]![index])
    }

    private mutating func answer(_ key: Key, _ answer: OfferAnswer, _ at: Int64) {
        for offer in pending[key] ?? [] {
            endFirst(key, Self.within(answer, after: at - offer.reportedAt))
            guard answer == .accepted else { continue }
            figures.pushToAccept.observe(Self.seconds(from: offer.pushedAt ?? offer.offer.createdAt, to: at))
            if let viewedAt = offer.viewedAt { figures.viewToAccept.observe(Self.seconds(from: viewedAt, to: at)) }
        }
        answers[key] = (answer, at)
        remember(key, at)
    }

    private static func within(_ answer: OfferAnswer, after milliseconds: Int64) -> Within {
        switch answer {
        case .accepted: milliseconds <= promptMilliseconds ? .fiveSeconds : .later
        case .taken: .taken
        case .refused: .never
        }
    }

    private mutating func remember(_ key: Key, _ at: Int64) {
        order.append((key, at))
        expire(now: at)
    }

    private mutating func endFirst(_ key: Key, _ within: Within) {
        guard let offer = pending[key]?.removeFirst().offer else { return }
        if pending[key]?.isEmpty == true { pending[key] = nil }
        keysByNotification[offer.notificationID] = nil
        count(within, offer.subject)
    }

    private mutating func count(_ within: Within, _ subject: Offer.Subject) {
        figures.outcomes[Outcome(within: within, type: subject.type), default: 0] += 1
    }

    /// Not negative, although the clock may have been set back.
    private static func seconds(from start: Int64, to end: Int64) -> Double { Double(max(0, end - start)) / 1_000 }
}
