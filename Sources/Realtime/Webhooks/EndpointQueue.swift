import Primitives

/// The events queued for one endpoint, and when to send them. Pure: ``next(at:)`` returns what to do,
/// ``complete(_:at:jitter:)`` records the result.
///
/// One request is in flight at a time, which keeps the order whatever the endpoint responds and however long it takes.
/// A request that the endpoint does not accept is sent again until it is accepted, or until five minutes after its
/// first attempt (protocol point V10). The events behind it wait; the queue is bounded.
///
/// An endpoint that refuses a request (``Response/refused``) refuses its content, and would do so for five minutes.
/// After three refusals, a single event is dropped, and a batch is split in two halves until the refused events are
/// found, so that the others arrive, in order.
struct EndpointQueue {
    /// The default for the largest number of events, queued or in flight. Further events are dropped.
    static let eventsMaxDefault = 10_000
    /// The largest total of the queued events in bytes; the number of events alone does not bound it, because client
    /// events may be large.
    static let bytesMax = 16_777_216
    /// The largest number of events in a batch.
    static let batchEventsMax = 100
    /// The largest total of a batch's events in bytes. An event that is larger is sent alone.
    static let batchBytesMax = 262_144
    /// The number of times that a request is sent to an endpoint that refuses it.
    static let refusalsMax = 3

    /// How an endpoint responded to a request.
    enum Response {
        /// With a status of 2xx.
        case accepted
        /// Not at all, or with a status after which a later attempt may succeed.
        case failed
        /// With a status that judges the request, which no later attempt changes.
        case refused
    }

    /// What to do now.
    enum Step: Equatable {
        /// Send the request, then call ``complete(_:at:jitter:)``.
        case send(WebhookRequest)
        /// Call ``next(at:)`` again at this time (monotonic milliseconds) or after the next event.
        case wait(until: Int64)
        /// Call ``next(at:)`` again after the next event or the result of the request in flight.
        case idle
    }

    /// What a result means for the request's events. The associated value is the number of these events.
    enum Result: Equatable {
        case delivered(Int)
        case retrying(Int)
        case dropped(Int)
    }

    private enum State {
        /// No request is in flight or waits for a retry.
        case ready
        case sending(PendingRequest)
        /// The request waits for its next attempt.
        case failed(PendingRequest, until: Int64)
    }

    /// A request and its attempts.
    private struct PendingRequest {
        let events: ArraySlice<QueuedEvent>
        let request: WebhookRequest
        /// When the first attempt was made, in monotonic milliseconds.
        var firstAttempt: Int64
        var attempts = 1
        /// How often the endpoint refused the request or the batch of which it is a part.
        var refusals = 0

        init(_ events: ArraySlice<QueuedEvent>, at now: Int64, refusals: Int = 0) {
            self.events = events
            self.refusals = refusals
            request = WebhookRequest(events)
            firstAttempt = now
        }
    }

    private let isBatching: Bool
    private let eventsMax: Int
    private var state = State.ready
    private var queue = EventQueue()
    /// The events of a split batch that follow those of ``state``, in parts: the last element is the next part.
    private var parts: [ArraySlice<QueuedEvent>] = []
    /// Whether the first event of a batch waits for others; false at shutdown.
    private var lingers = true

    /// - Parameters:
    ///   - isBatching: whether a request may contain several events.
    ///   - eventsMax: see ``eventsMaxDefault``.
    init(isBatching: Bool, eventsMax: Int = eventsMaxDefault) {
        self.isBatching = isBatching
        self.eventsMax = eventsMax
    }

    /// The number of events that are queued or in flight.
    var depth: Int {
        let waiting = parts.reduce(queue.count) { $0 + $1.count }
        switch state {
        case .ready: return waiting
        case .sending(let delivery), .failed(let delivery, _): return waiting + delivery.events.count
        }
    }

    /// Whether the queue is at most half full.
    var isHalfFree: Bool { depth <= eventsMax / 2 && queue.bytes <= Self.bytesMax / 2 }

    /// Queues an event that happened at `now` (monotonic milliseconds).
    /// - Parameter time: the same moment in milliseconds since 1970.
    /// - Returns: false if the queue is full; the event is then not queued.
    mutating func append(_ event: [UInt8], at now: Int64, time: Int64) -> Bool {
        guard depth < eventsMax, queue.bytes + event.count <= Self.bytesMax else { return false }
        queue.append(QueuedEvent(json: event, now: now, time: time))
        return true
    }

    /// Returns what to do at `now`. A request in a `.send` step counts as in flight from then on.
    mutating func next(at now: Int64) -> Step {
        switch state {
        case .sending: return .idle
        case .failed(var delivery, let until):
            guard now >= until else { return .wait(until: until) }
            delivery.attempts += 1
            state = .sending(delivery)
            return .send(delivery.request)
        case .ready where !parts.isEmpty: return send(parts.removeLast(), at: now, refusals: Self.refusalsMax)
        case .ready:
            guard let since = queue.oldest else { return .idle }
            let isFull = queue.count >= Self.batchEventsMax || queue.bytes >= Self.batchBytesMax
            if isBatching, lingers, !isFull, now < since + Timing.webhookLinger {
                return .wait(until: since + Timing.webhookLinger)
            }
            let batch = queue.nextBatch(most: isBatching ? Self.batchEventsMax : 1, bytesMax: Self.batchBytesMax)
            return send(batch, at: now)
        }
    }

    private mutating func send(_ events: ArraySlice<QueuedEvent>, at now: Int64, refusals: Int = 0) -> Step {
        let delivery = PendingRequest(events, at: now, refusals: refusals)
        state = .sending(delivery)
        return .send(delivery.request)
    }

    /// Records the result of the request in flight.
    /// - Parameters:
    ///   - response: how the endpoint responded.
    ///   - jitter: a random number in 0..<1, so that endpoints that failed at the same time are retried at different
    ///     times.
    mutating func complete(_ response: Response, at now: Int64, jitter: Double) -> Result {
        guard case .sending(var delivery) = state else {
            preconditionFailure("EndpointQueue.complete was called without a request in flight")
        }
        let count = delivery.events.count
        let end = delivery.firstAttempt + Timing.webhookRetryWindow
        if response == .refused { delivery.refusals += 1 }
        let isRefused = response == .refused && delivery.refusals >= Self.refusalsMax
        if isRefused, count > 1 {
            split(delivery.events, at: now)
            return .retrying(count)
        }
        guard response != .accepted, !isRefused, now < end else {
            state = .ready
            return response == .accepted ? .delivered(count) : .dropped(count)
        }
        // The last attempt is made at the end of the window, even if the delay would end later.
        state = .failed(delivery, until: min(end, now + Self.delay(after: delivery.attempts, jitter: jitter)))
        return .retrying(count)
    }

    /// Sends the first half of a refused batch next, and the second half after it.
    private mutating func split(_ events: ArraySlice<QueuedEvent>, at now: Int64) {
        let middle = events.startIndex + events.count / 2
        parts.append(events[middle...])
        let until = now + Timing.webhookSplitDelay
        var half = PendingRequest(events[..<middle], at: until, refusals: Self.refusalsMax)
        half.attempts = 0
        state = .failed(half, until: until)
    }

    /// Makes batches due at once from now on, without waiting for further events. Called when none will follow.
    mutating func stopLingering() { lingers = false }

    /// Milliseconds until the next attempt: one second after the first attempt, doubled with each further one up to
    /// ``Timing/webhookBackoffMax``, ±25 %.
    /// - Parameters:
    ///   - attempts: the number of attempts made so far, at least 1.
    ///   - jitter: 0..<1; 0 shortens the time by 25 %, values near 1 lengthen it by almost 25 %.
    static func delay(after attempts: Int, jitter: Double) -> Int64 {
        let doubled = attempts < 7 ? Timing.webhookBackoff << Int64(attempts - 1) : Timing.webhookBackoffMax
        return Int64(Double(min(doubled, Timing.webhookBackoffMax)) * (0.75 + jitter / 2))
    }
}

/// An event that is queued for an endpoint.
struct QueuedEvent {
    /// A JSON object.
    var json: [UInt8]
    /// When the event happened, in monotonic milliseconds.
    let now: Int64
    /// The same moment in milliseconds since 1970.
    let time: Int64
}

/// Queued events, oldest first.
private struct EventQueue {
    private var events: [QueuedEvent] = []
    /// The index of the first queued event. The events before it were sent and are removed later: removing them one by
    /// one would move the others each time.
    private var head = 0
    /// The total size of the queued events.
    private(set) var bytes = 0

    var count: Int { events.count - head }

    /// When the oldest event happened, in monotonic milliseconds; nil if the queue is empty.
    var oldest: Int64? { count > 0 ? events[head].now : nil }

    mutating func append(_ event: QueuedEvent) {
        events.append(event)
        bytes += event.json.count
    }

    /// Removes and returns the oldest events: at least one, then as many as the limits allow.
    mutating func nextBatch(most: Int, bytesMax: Int) -> ArraySlice<QueuedEvent> {
        var end = head + 1
        var size = events[head].json.count
        while end < events.count, end - head < most, size + events[end].json.count <= bytesMax {
            size += events[end].json.count
            end += 1
        }
        // A copy: the slice would keep the whole queue in memory. Frees the bytes of the sent entries now, which stay
        // in the array until they are removed below.
        let batch = Array(events[head..<end])
        for index in head..<end { events[index].json = [] }
        head = end
        bytes -= size
        if head * 2 > events.count {
            events.removeFirst(head)
            head = 0
        }
        return batch[...]
    }
}
