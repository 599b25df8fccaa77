import PusherProtocol
import TestSupport
import Testing

@testable import Webhooks

/// Many seeded days at the queues: whatever endpoints answer, each event is delivered exactly once and in order, or counted
/// as given up or refused.
@Suite struct DeliverySimulationTests {
    @Test func everyEventIsAccountedFor() throws {
        var totals = WebhookCounts()
        for seed in UInt64(1)...150 {
            var day = Day(seed: seed)
            try day.run(steps: 400)
            totals.delivered += day.queues.counts.delivered
            totals.retried += day.queues.counts.retried
            totals.dropped += day.queues.counts.dropped
            totals.refused += day.queues.counts.refused
        }
        // Days on which little happens would be right, too.
        #expect(totals.delivered > 10_000 && totals.retried > 5_000 && totals.dropped > 500 && totals.refused > 1_000)
    }
}

/// One seed's day: endpoints with tempers, channels that come and go, and what each endpoint must hear.
private struct Day {
    /// An endpoint as it is, and what it has been sent.
    private struct Desk {
        let endpoint: WebhookEndpoint
        /// Percent of requests that it takes.
        var mood: Int
        /// What it must hear, in order: refused events are not among it.
        var due: [String] = []
        /// Events that were settled: delivered or dropped.
        var settled = 0
        /// What it is being sent, when that was first tried, and when last.
        var request: (events: [String], firstTry: Int64, lastTry: Int64)?
        var isAsked = false
        var delivered = 0
        var dropped = 0
    }

    private struct Edge {
        let notice: AppWebhookEvent
        let due: Int64
    }

    var queues: WebhookQueues
    private var desks: [Desk] = []
    private var dice: SplitMix
    private var now: Int64 = 0
    private let eventsMax: Int
    /// What is so now, and what is held back.
    private var occupied: Set<String> = []
    private var held: [Edge] = []
    private var said = 0
    private var refused = 0

    init(seed: UInt64) {
        var dice = SplitMix(seed: seed)
        let filters: [WebhookKinds] = [.all, .all, .occupancy, .channelVacated, [.subscriptionCount, .channelOccupied]]
        let moods = [100, 95, 50, 0]
        eventsMax = dice.below(2) == 0 ? 10_000 : 1 + dice.below(40)
        for _ in 0...dice.below(4) {
            let endpoint = endpoint(app: dice.below(2), events: filters[dice.below(5)], batch: dice.below(2) == 0)
            desks.append(Desk(endpoint: endpoint, mood: moods[dice.below(4)]))
        }
        queues = WebhookQueues(desks.map(\.endpoint), eventsMax: eventsMax)
        self.dice = dice
    }

    mutating func run(steps: Int) throws {
        for _ in 0..<steps {
            switch dice.below(10) {
            case 0...4: happen()
            case 5...7: settleSome()
            case 8: now += Int64(dice.below(4_000))
            default:
                now += Int64(dice.below(dice.below(5) == 0 ? 200_000 : 100))
                if dice.below(30) == 0 { desks[dice.below(desks.count)].mood = [100, 95, 50, 0][dice.below(4)] }
            }
            letGo()
            queues.advance(to: moment)
            try send()
        }
        for index in desks.indices { desks[index].mood = 100 }
        queues.close(at: moment)
        for edge in held { expect(edge.notice) }
        while !queues.isEmpty {
            try send()
            settleSome()
            now += 1_000
        }
        for desk in desks { try #require(desk.settled == desk.due.count && desk.request == nil) }
        let tally = queues.counts
        try #require(tally.delivered == desks.reduce(0) { $0 + $1.delivered })
        try #require(tally.dropped == desks.reduce(0) { $0 + $1.dropped } && tally.refused == refused)
    }

    private var moment: WebhookQueues.Moment { WebhookQueues.Moment(now: now, time: now) }

    // MARK: What happens

    /// A channel becomes what it was not, or something is said on it.
    private mutating func happen() {
        let (app, channel) = (dice.below(2), "c\(dice.below(4))")
        let place = "\(app) \(channel)"
        letGo()
        guard dice.below(3) > 0 else {
            said += 1
            let notice = AppWebhookEvent(app: app, .subscriptionCount(name(channel), said))
            expect(notice)
            return queues.handle(notice, at: moment)
        }
        if occupied.remove(place) != nil {
            held.append(Edge(notice: vacated(channel, app: app), due: now + 3_000))
            queues.handle(vacated(channel, app: app), at: moment)
        } else {
            occupied.insert(place)
            let leaving = held.firstIndex { $0.notice == vacated(channel, app: app) }
            if let leaving { held.remove(at: leaving) } else { expect(WebhooksTests.occupied(channel, app: app)) }
            queues.handle(WebhooksTests.occupied(channel, app: app), at: moment)
        }
    }

    /// What was held back long enough is news.
    private mutating func letGo() {
        while let first = held.first, first.due <= now { expect(held.removeFirst().notice) }
    }

    /// Whoever wants it must hear it, unless too much waits for him.
    private mutating func expect(_ notice: AppWebhookEvent) {
        for index in desks.indices {
            let endpoint = desks[index].endpoint
            guard endpoint.appIndex == notice.app, endpoint.events.contains(notice.event.kind) else { continue }
            if desks[index].due.count - desks[index].settled < eventsMax {
                desks[index].due.append(String(decoding: notice.event.json, as: UTF8.self))
            } else {
                refused += 1
            }
        }
    }

    // MARK: What is sent

    private mutating func send() throws {
        var sent: [(index: Int, request: WebhookRequest)] = []
        _ = queues.send(at: now) { sent.append(($0, $1)) }
        for (index, request) in sent { try receive(request, index) }
    }

    private mutating func receive(_ request: WebhookRequest, _ index: Int) throws {
        try #require(!desks[index].isAsked, "one request at a time")
        desks[index].isAsked = true
        let events = request.events
        let next = desks[index].due.dropFirst(desks[index].settled).prefix(events.count)
        try #require(!events.isEmpty && events == Array(next), "the next ones, in order")
        try #require(desks[index].endpoint.batch ? events.count <= 100 : events.count == 1)
        guard let before = desks[index].request else {
            desks[index].request = (events, now, now)
            return
        }
        try #require(before.events == events, "what was not taken comes again as it was")
        try #require(now - before.lastTry >= 750, "not at once")
        desks[index].request?.lastTry = now
    }

    /// Some of those who were asked answer.
    private mutating func settleSome() {
        for index in desks.indices where desks[index].isAsked && dice.below(3) > 0 {
            guard let request = desks[index].request else { continue }
            let isTaken = dice.below(100) < desks[index].mood
            queues.complete(
                index, problem: isTaken ? nil : "HTTP 500", at: now, jitter: Double(dice.below(100)) / 100)
            desks[index].isAsked = false
            guard isTaken || now >= request.firstTry + 300_000 else { continue }
            desks[index].settled += request.events.count
            desks[index].request = nil
            if isTaken { desks[index].delivered += request.events.count } else { desks[index].dropped += request.events.count }
        }
    }
}

extension SplitMix {
    fileprivate mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
}
