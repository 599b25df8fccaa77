import PusherProtocol

/// All that is decided about webhooks: what is held back, who wants what, and when it is sent. No socket, clock or chance.
struct WebhookQueues {
    /// A moment on both clocks, in milliseconds: one to measure with, one to tell the time by.
    struct Moment: Equatable {
        /// On a clock that never goes back.
        let now: Int64
        /// Since 1970.
        let time: Int64
    }

    private struct Endpoint {
        /// What operators know it by.
        let label: String
        let wants: WebhookKinds
        var queue: EndpointQueue
        var burst = OverflowEpisode()
        var isFailing = false
    }

    private var endpoints: [Endpoint]
    /// Of each application: which of them are its.
    private var indices: [Int: [Int]]
    private var debounce = Debounce()
    private var reports: [WebhookReport] = []
    /// Events so far.
    private(set) var counts = WebhookCounts()

    /// - Parameter eventsMax: events that may wait for one endpoint.
    init(_ endpoints: [WebhookEndpoint], eventsMax: Int = EndpointQueue.eventsMaxDefault) {
        let indices = Dictionary(grouping: endpoints.indices) { endpoints[$0].appIndex }
        self.indices = indices
        self.endpoints = endpoints.enumerated().map { index, endpoint in
            let place = indices[endpoint.appIndex]?.firstIndex(of: index) ?? 0
            return Endpoint(
                label: "\(endpoint.origin) (webhook \(place + 1) of \(endpoint.key))", wants: endpoint.events,
                queue: EndpointQueue(isBatching: endpoint.batch, eventsMax: eventsMax))
        }
    }

    /// Events that wait, the ones being sent included.
    var depth: Int { endpoints.reduce(0) { $0 + $1.queue.depth } }

    /// Whether nothing is left to be done.
    var isEmpty: Bool { debounce.count == 0 && depth == 0 }

    // MARK: What comes in

    /// Takes a notice of what has just happened.
    mutating func take(_ notice: AppWebhookEvent, at moment: Moment) {
        advance(to: moment)
        if let notice = debounce.take(notice, at: moment.now) { enqueue(notice, moment) }
    }

    /// Time has come this far: what was held back long enough goes into the queues.
    mutating func advance(to moment: Moment) {
        for notice in debounce.release(at: moment.now) { enqueue(notice, moment) }
    }

    /// There will be no others: what is held back goes now, for nobody will come back here, and no batch waits for more.
    mutating func close(at moment: Moment) {
        for notice in debounce.release(at: .max) { enqueue(notice, moment) }
        for index in endpoints.indices { endpoints[index].queue.abortDrain() }
    }

    private mutating func enqueue(_ notice: AppWebhookEvent, _ moment: Moment) {
        let wanting = indices[notice.app, default: []].filter { endpoints[$0].wants.contains(notice.event.kind) }
        guard !wanting.isEmpty else { return }
        // Encoded once, whoever wants it.
        let json = notice.event.json
        for index in wanting {
            let isTaken = endpoints[index].queue.take(json, at: moment.now, time: moment.time)
            if !isTaken { counts.refused += 1 }
            switch endpoints[index].burst.record(isTaken: isTaken, isHalfFree: endpoints[index].queue.isHalfFree) {
            case .begins: reports.append(.full(endpoints[index].label))
            case .ends(let refused): reports.append(.hasRoom(endpoints[index].label, refused: refused))
            case nil: break
            }
        }
    }

    // MARK: What goes out

    /// What is to be sent at `now`: at most one request per endpoint, which counts as being sent.
    /// - Returns: when to ask again if nothing happens before; nil: not until then.
    mutating func send(at now: Int64, _ send: (_ endpoint: Int, WebhookRequest) -> Void) -> Int64? {
        var next = debounce.nextDue
        for index in endpoints.indices {
            switch endpoints[index].queue.step(at: now) {
            case .send(let request): send(index, request)
            case .wait(let until): next = min(next ?? until, until)
            case .rest: break
            }
        }
        return next
    }

    /// What an endpoint was sent has been taken (`problem` is nil), or has not.
    /// - Parameter jitter: from 0 up to 1.
    mutating func answered(_ index: Int, problem: String?, at now: Int64, jitter: Double) {
        let label = endpoints[index].label
        switch endpoints[index].queue.answered(problem == nil, at: now, jitter: jitter) {
        case .delivered(let count):
            counts.delivered += count
            if endpoints[index].isFailing { reports.append(.recovered(label)) }
            endpoints[index].isFailing = false
        case .retrying(let count):
            counts.retried += count
            if !endpoints[index].isFailing { reports.append(.failing(label, reason: problem ?? "")) }
            endpoints[index].isFailing = true
        case .dropped(let count):
            counts.dropped += count
            reports.append(.dropped(label, events: count, reason: problem ?? ""))
        }
    }

    /// Nothing can be sent any more: what is left is dropped, what was held back with it.
    mutating func abandon(at moment: Moment) {
        close(at: moment)
        for endpoint in endpoints where endpoint.queue.depth > 0 {
            counts.dropped += endpoint.queue.depth
            reports.append(.dropped(endpoint.label, events: endpoint.queue.depth, reason: "the gateway stops"))
        }
        (endpoints, indices) = ([], [:])
    }

    /// Hands over what operators are to know.
    mutating func drainReports() -> [WebhookReport] {
        defer { reports = [] }
        return reports
    }
}

/// What an operator is told of webhooks; of an endpoint its ``WebhookEndpoint/origin``, and which of its application's it is.
package enum WebhookReport: Equatable, Sendable {
    /// A request was not taken, the one before was; it is tried again.
    case failing(String, reason: String)
    /// An endpoint that failed takes its webhooks again.
    case recovered(String)
    /// Events are given up: for five minutes nobody took them, or the gateway stops.
    case dropped(String, events: Int, reason: String)
    /// An endpoint's queue is full: what comes is refused.
    case full(String)
    /// It has room again; so many were refused.
    case hasRoom(String, refused: Int)
    /// So many notices were refused before they came to any queue: the worker was too slow.
    case overrun(refused: Int)
}

/// Events so far, by what became of them, one for each endpoint that wanted it.
package struct WebhookCounts: Equatable, Sendable {
    /// Taken by their endpoint.
    package internal(set) var delivered = 0
    /// Not taken, to be tried again: once for each time.
    package internal(set) var retried = 0
    /// Given up.
    package internal(set) var dropped = 0
    /// Refused because a queue was full.
    package internal(set) var refused = 0
}

/// A time in which an endpoint's queue is full: begun when it refuses, over when half of it is free, so that a queue which
/// is full again with every other event has one line in the log, not one each.
private struct OverflowEpisode {
    enum Edge {
        case begins
        case ends(refused: Int)
    }

    private var refused = 0

    mutating func record(isTaken: Bool, isHalfFree: Bool) -> Edge? {
        if !isTaken {
            refused += 1
            return refused == 1 ? .begins : nil
        }
        guard refused > 0, isHalfFree else { return nil }
        defer { refused = 0 }
        return .ends(refused: refused)
    }
}
