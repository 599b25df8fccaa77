import PusherProtocol

/// Distributes webhook events to the endpoints' queues, and decides when to send. Pure: no sockets, clocks or
/// randomness.
struct WebhookQueues {
    /// A moment on both clocks, in milliseconds.
    struct Moment: Equatable {
        /// Monotonic: measures durations.
        let now: Int64
        /// Since 1970: for `time_ms`.
        let time: Int64
    }

    private struct Endpoint {
        /// The endpoint's name in the log: ``WebhookEndpoint/origin``, position in its application's list, and key.
        let label: String
        let kinds: WebhookKinds
        var queue: EndpointQueue
        var overflow = OverflowEpisode()
        /// Whether the last request failed and is retried.
        var isFailing = false
    }

    private var endpoints: [Endpoint]
    /// By application index, the indices of its endpoints in `endpoints`.
    private var indices: [Int: [Int]]
    /// Nil: the caller debounces.
    private var debounce: Debounce?
    private var reports: [WebhookReport] = []
    private(set) var counts = WebhookCounts()

    /// - Parameters:
    ///   - eventsMax: the largest number of events in each endpoint's queue.
    ///   - debounces: whether edges are debounced here.
    init(_ endpoints: [WebhookEndpoint], eventsMax: Int = EndpointQueue.eventsMaxDefault, debounces: Bool = true) {
        debounce = debounces ? Debounce() : nil
        let indices = Dictionary(grouping: endpoints.indices) { endpoints[$0].appIndex }
        self.indices = indices
        self.endpoints = endpoints.enumerated().map { index, endpoint in
            let position = indices[endpoint.appIndex]?.firstIndex(of: index) ?? 0
            return Endpoint(
                label: "\(endpoint.origin) (webhook \(position + 1) of \(endpoint.key))", kinds: endpoint.events,
                queue: EndpointQueue(isBatching: endpoint.batch, eventsMax: eventsMax))
        }
    }

    /// The number of events that are queued or in flight, over all endpoints.
    var depth: Int { endpoints.reduce(0) { $0 + $1.queue.depth } }

    /// Whether no event is delayed, queued or in flight.
    var isEmpty: Bool { (debounce?.count ?? 0) == 0 && depth == 0 }

    // MARK: Incoming events

    /// Handles an event that has just happened.
    mutating func handle(_ event: AppWebhookEvent, at moment: Moment) {
        advance(to: moment)
        guard debounce != nil else { return enqueue(event, moment) }
        if let event = debounce?.handle(event, at: moment.now) { enqueue(event, moment) }
    }

    /// Queues the delayed events that are due.
    mutating func advance(to moment: Moment) {
        for event in debounce?.release(at: moment.now) ?? [] { enqueue(event, moment) }
    }

    /// Prepares for shutdown, after which no events follow: queues all delayed events, because no client can reconnect
    /// any more, and makes batches due at once.
    mutating func close(at moment: Moment) {
        for event in debounce?.release(at: .max) ?? [] { enqueue(event, moment) }
        for index in endpoints.indices { endpoints[index].queue.stopLingering() }
    }

    private mutating func enqueue(_ event: AppWebhookEvent, _ moment: Moment) {
        let receivers = indices[event.app, default: []].filter { endpoints[$0].kinds.contains(event.event.kind) }
        guard !receivers.isEmpty else { return }
        // Encode the event once for all endpoints.
        let json = event.event.json
        for index in receivers {
            let isQueued = endpoints[index].queue.append(json, at: moment.now, time: moment.time)
            if !isQueued { counts.refused += 1 }
            switch endpoints[index].overflow.record(isQueued: isQueued, isHalfFree: endpoints[index].queue.isHalfFree) {
            case .begins: reports.append(.full(endpoints[index].label))
            case .ends(let refused): reports.append(.hasRoom(endpoints[index].label, refused: refused))
            case nil: break
            }
        }
    }

    // MARK: Requests

    /// Calls `send` for each request that is due: at most one per endpoint. They count as in flight from then on.
    /// - Returns: when to call again at the latest, in monotonic milliseconds; nil: only after an event or a result.
    mutating func send(at now: Int64, _ send: (_ endpoint: Int, WebhookRequest) -> Void) -> Int64? {
        var next = debounce?.nextDue
        for index in endpoints.indices {
            switch endpoints[index].queue.next(at: now) {
            case .send(let request): send(index, request)
            case .wait(let until): next = min(next ?? until, until)
            case .idle: break
            }
        }
        return next
    }

    /// The result of a request. The associated value is why the endpoint did not accept it, for the log.
    enum Result {
        case accepted
        case failed(String)
        case refused(String)

        /// - Parameter status: the HTTP status of the response. 408 (Request Timeout), 425 (Too Early) and 429 (Too Many
        ///   Requests) ask for another attempt; all other statuses of 4xx judge the request (RFC 9110, section 15.5).
        init(status: Int) {
            switch status {
            case 200..<300: self = .accepted
            case 408, 425, 429: self = .failed("HTTP \(status)")
            case 400..<500: self = .refused("HTTP \(status)")
            default: self = .failed("HTTP \(status)")
            }
        }

        var response: EndpointQueue.Response {
            switch self {
            case .accepted: .accepted
            case .failed: .failed
            case .refused: .refused
            }
        }

        var problem: String {
            switch self {
            case .accepted: ""
            case .failed(let problem), .refused(let problem): problem
            }
        }
    }

    /// Records the result of an endpoint's request.
    /// - Parameter jitter: a random number in 0..<1.
    mutating func complete(_ index: Int, _ result: Result, at now: Int64, jitter: Double) {
        let label = endpoints[index].label
        switch endpoints[index].queue.complete(result.response, at: now, jitter: jitter) {
        case .delivered(let count):
            counts.delivered += count
            if endpoints[index].isFailing { reports.append(.recovered(label)) }
            endpoints[index].isFailing = false
        case .retrying(let count):
            counts.retried += count
            if !endpoints[index].isFailing { reports.append(.failing(label, reason: result.problem)) }
            endpoints[index].isFailing = true
        case .dropped(let count):
            counts.dropped += count
            reports.append(.dropped(label, events: count, reason: result.problem))
        }
    }

    /// Drops all events, also the delayed ones, because the worker stops.
    mutating func abandon(at moment: Moment) {
        close(at: moment)
        for endpoint in endpoints where endpoint.queue.depth > 0 {
            counts.dropped += endpoint.queue.depth
            reports.append(.dropped(endpoint.label, events: endpoint.queue.depth, reason: "the gateway stops"))
        }
        (endpoints, indices) = ([], [:])
    }

    /// Removes and returns the reports for the log.
    mutating func drainReports() -> [WebhookReport] {
        defer { reports = [] }
        return reports
    }
}

/// A log event of the webhook worker. The unlabelled string names the endpoint: by ``WebhookEndpoint/origin``, its
/// position in its application's `webhooks`, and the application's key.
package enum WebhookReport: Equatable, Sendable {
    /// A request failed and will be retried. Reported once, until a request succeeds.
    case failing(String, reason: String)
    /// A request succeeded after a failed one.
    case recovered(String)
    /// Events were dropped: all attempts within five minutes failed, the endpoint refused them (4xx), or the gateway is
    /// stopping.
    case dropped(String, events: Int, reason: String)
    /// An endpoint's queue is full: new events are dropped.
    case full(String)
    /// The queue has room again; `refused` events were dropped.
    case hasRoom(String, refused: Int)
    /// The inbox was full and dropped `refused` events: the worker was too slow.
    case overrun(refused: Int)
}

/// The number of events by result. An event for two endpoints counts twice.
package struct WebhookCounts: Equatable, Sendable {
    /// Events that the endpoint accepted.
    package internal(set) var delivered = 0
    /// Events of failed attempts that are retried; an event counts once per attempt.
    package internal(set) var retried = 0
    /// Events dropped after the last attempt, or at shutdown.
    package internal(set) var dropped = 0
    /// Events dropped because a queue was full.
    package internal(set) var refused = 0
}

/// A period in which an endpoint's queue is full. It begins with the first dropped event and ends when half of the
/// queue is free. It does not end earlier, because a queue that fills up again at once would then cause many log lines.
private struct OverflowEpisode {
    enum Edge {
        case begins
        case ends(refused: Int)
    }

    /// Events dropped in this period; 0 if the queue is not full.
    private var refused = 0

    /// Records an event for the endpoint.
    /// - Parameters:
    ///   - isQueued: whether the queue had room for the event; if not, it was dropped.
    ///   - isHalfFree: whether the queue is now at most half full.
    mutating func record(isQueued: Bool, isHalfFree: Bool) -> Edge? {
        if !isQueued {
            refused += 1
            return refused == 1 ? .begins : nil
        }
        guard refused > 0, isHalfFree else { return nil }
        defer { refused = 0 }
        return .ends(refused: refused)
    }
}
