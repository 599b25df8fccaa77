import FleetRules
import Observability
import Primitives

/// How soon drivers accept the jobs and routes that are offered to them, for the metrics. A pure value; times are
/// milliseconds since 1970.
///
/// An offer counts once its notification is viewed or accepted on the phone, and once: when the driver's accept is
/// answered, or after an hour without one. Offers are in memory only: after a restart, those reported before are not
/// counted.
struct OfferTimes {
    /// When an offer was accepted, after the first view or accept that the phone has reported. The raw value is a label.
    enum Within: String, CaseIterable {
        case fiveSeconds = "5s"
        case later
        /// Refused: another driver had accepted it.
        case taken
        /// Refused otherwise, or not accepted within an hour.
        case never
    }

    struct Outcome: Hashable {
        let within: Within
        /// `new_job` or `new_route`.
        let type: String
    }

    private struct Key: Hashable {
        let driverID: String
        let subject: Offer.Subject
    }

    private struct Pending {
        let offer: Offer
        var pushedAt: Int64?
        var viewedAt: Int64?
        let reportedAt: Int64
    }

    private struct Answered {
        let at: Int64
        let within: Within
        /// Whether the offer is counted: its notification was reported before the answer, or has been since.
        var isCounted: Bool
    }

    private static let bounds = [0.5, 1, 2.5, 5, 10, 15, 20, 30, 45, 60]
    private static let promptMilliseconds: Int64 = 5_000
    private static let waitMilliseconds: Int64 = 3_600_000
    /// Offers that are remembered at once. More than a fleet's drivers can have open; above it, the oldest counts as
    /// never accepted.
    private static let offersMax = 50_000

    private(set) var outcomes: [Outcome: Int] = [:]
    private(set) var viewToAccept = Histogram(bounds: bounds)
    private(set) var pushToAccept = Histogram(bounds: bounds)
    private(set) var creationToView = Histogram(bounds: bounds)
    private var pending: [Key: Pending] = [:]
    private var keysByNotification: [String: Key] = [:]
    /// The last answers, because phones report late: such a step belongs to the offer that was answered.
    private var answered: [Key: Answered] = [:]
    /// Of ``pending`` and ``answered``, in the order of their times.
    private var order = FIFO<(key: Key, at: Int64)>()

    mutating func observeView(seconds: Double) { creationToView.observe(seconds) }

    mutating func apply(_ event: OfferEvent) {
        switch event {
        case .reported(let offer, let step, let at): report(offer, step, at)
        case .pushed(let id, let at):
            if let key = keysByNotification[id], pending[key]?.pushedAt == nil { pending[key]?.pushedAt = at }
        case .answered(let driverID, let subject, let answer, let at):
            self.answer(Key(driverID: driverID, subject: subject), answer, at)
        }
    }

    /// Counts what was not accepted within an hour, and forgets answers of that age. Call it now and then.
    mutating func expire(now: Int64) {
        while let first = order.first, first.at < now - Self.waitMilliseconds || order.count > Self.offersMax {
            _ = order.popFirst()
            if answered[first.key]?.at == first.at { answered[first.key] = nil }
            if let offer = pending[first.key], offer.reportedAt == first.at { end(first.key, offer, .never) }
        }
    }

    private mutating func report(_ offer: Offer, _ step: OfferStep, _ at: Int64) {
        let key = Key(driverID: offer.driverID, subject: offer.subject)
        if let answer = answered[key], offer.createdAt <= answer.at {
            if !answer.isCounted { count(answer.within, offer.subject) }
            answered[key]?.isCounted = true
            return
        }
        if pending[key]?.offer.notificationID == offer.notificationID {
            if step == .viewed, pending[key]?.viewedAt == nil { pending[key]?.viewedAt = at }
            return
        }
        // The job was assigned to the driver again: the offer before was not accepted.
        if let former = pending[key] { end(key, former, .never) }
        pending[key] = Pending(
            offer: offer, pushedAt: offer.pushedAt, viewedAt: step == .viewed ? at : nil, reportedAt: at)
        keysByNotification[offer.notificationID] = key
        order.append((key, at))
        expire(now: at)
    }

    private mutating func answer(_ key: Key, _ answer: OfferAnswer, _ at: Int64) {
        let offer = pending[key]
        let within: Within =
            switch answer {
            case .accepted: at - (offer?.reportedAt ?? at) <= Self.promptMilliseconds ? .fiveSeconds : .later
            case .taken: .taken
            case .refused: .never
            }
        if let offer { end(key, offer, within) }
        answered[key] = Answered(at: at, within: within, isCounted: offer != nil || answered[key]?.isCounted == true)
        order.append((key, at))
        expire(now: at)
        guard answer == .accepted, let offer, let viewedAt = offer.viewedAt else { return }
        viewToAccept.observe(Self.seconds(from: viewedAt, to: at))
        pushToAccept.observe(Self.seconds(from: offer.pushedAt ?? offer.offer.createdAt, to: at))
    }

    private mutating func end(_ key: Key, _ offer: Pending, _ within: Within) {
        pending[key] = nil
        keysByNotification[offer.offer.notificationID] = nil
        count(within, offer.offer.subject)
    }

    private mutating func count(_ within: Within, _ subject: Offer.Subject) {
        outcomes[Outcome(within: within, type: subject.type), default: 0] += 1
    }

    /// Not negative, although the clock may have been set back.
    private static func seconds(from start: Int64, to end: Int64) -> Double { Double(max(0, end - start)) / 1_000 }
}
