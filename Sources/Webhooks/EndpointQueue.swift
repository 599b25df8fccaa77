/// The events queued for one endpoint, and when to send them. Pure: ``next(at:)`` returns what to do,
/// ``complete(isAccepted:at:jitter:)`` records the result.
///
/// One request is in flight at a time, which keeps the order whatever the endpoint responds and however long it takes.
/// A request that the endpoint does not accept is sent again until it is accepted, or until five minutes after its
/// first attempt (protocol point V10). The events behind it wait; the queue is bounded.
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
    /// How long the first event of a batch waits for others, in milliseconds.
    static let lingerMilliseconds: Int64 = 1_000
    /// The longest time from the first attempt to the last, in milliseconds.
    static let retryWindow: Int64 = 300_000
    /// The longest time between two attempts in milliseconds, before jitter (±25 %).
    static let delayMax: Int64 = 60_000

    /// What to do now.
    enum Step: Equatable {
        /// Send the request, then call ``complete(isAccepted:at:jitter:)``.
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
        case sending(Delivery)
        /// The request waits for its next attempt.
        case failed(Delivery, until: Int64)
    }

    /// A request and its attempts.
    private struct Delivery {
        let request: WebhookRequest
        /// When the first attempt was made, in monotonic milliseconds.
        let firstAttempt: Int64
        var attempts = 1
    }

    private let isBatching: Bool
    private let eventsMax: Int
    private var state = State.ready
    private var queue = EventQueue()
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
        switch state {
        case .ready: queue.count
        case .sending(let delivery), .failed(let delivery, _): queue.count + delivery.request.count
        }
    }

    /// Whether the queue is at most half full.
    var isHalfFree: Bool { depth <= eventsMax / 2 && queue.bytes <= Self.bytesMax / 2 }

    /// Queues an event that happened at `now` (monotonic milliseconds).
    /// - Parameter time: the same moment in milliseconds since 1970.
    /// - Returns: false if the queue is full; the event is then not queued.
    mutating func append(_ event: [UInt8], at now: Int64, time: Int64) -> Bool {
        guard depth < eventsMax, queue.bytes + event.count <= Self.bytesMax else { return false }
        queue.append(event, at: now, time: time)
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
        case .ready:
            guard let since = queue.oldest else { return .idle }
            let isFull = queue.count >= Self.batchEventsMax || queue.bytes >= Self.batchBytesMax
            if isBatching, lingers, !isFull, now < since + Self.lingerMilliseconds {
                return .wait(until: since + Self.lingerMilliseconds)
            }
            let request = queue.nextBatch(most: isBatching ? Self.batchEventsMax : 1, bytesMax: Self.batchBytesMax)
            state = .sending(Delivery(request: request, firstAttempt: now))
            return .send(request)
        }
    }

    /// Records the result of the request in flight.
    /// - Parameters:
    ///   - isAccepted: whether the endpoint responded 2xx.
    ///   - jitter: a random number in 0..<1, so that endpoints that failed at the same time are retried at different
    ///     times.
    mutating func complete(isAccepted: Bool, at now: Int64, jitter: Double) -> Result {
        guard case .sending(let delivery) = state else {
            preconditionFailure("EndpointQueue.complete was called without a request in flight")
        }
        let count = delivery.request.count
        let end = delivery.firstAttempt + Self.retryWindow
        guard !isAccepted, now < end else {
            state = .ready
            return isAccepted ? .delivered(count) : .dropped(count)
        }
        // The last attempt is made at the end of the window, even if the delay would end later.
        state = .failed(delivery, until: min(end, now + Self.delay(after: delivery.attempts, jitter: jitter)))
        return .retrying(count)
    }

    /// Makes batches due at once from now on, without waiting for further events. Called when none will follow.
    mutating func stopLingering() { lingers = false }

    /// Milliseconds until the next attempt: one second after the first attempt, doubled with each further one up to
    /// ``delayMax``, ±25 %.
    /// - Parameters:
    ///   - attempts: the number of attempts made so far, at least 1.
    ///   - jitter: 0..<1; 0 shortens the time by 25 %, values near 1 lengthen it by almost 25 %.
    static func delay(after attempts: Int, jitter: Double) -> Int64 {
        let doubled = attempts < 7 ? Int64(1_000) << Int64(attempts - 1) : delayMax
        return Int64(Double(min(doubled, delayMax)) * (0.75 + jitter / 2))
    }
}

/// Queued events, oldest first.
private struct EventQueue {
    private var events: [[UInt8]] = []
    /// When each event happened: in monotonic milliseconds, and in milliseconds since 1970.
    private var moments: [(now: Int64, time: Int64)] = []
    /// The index of the first queued event. The events before it were sent and are removed later: removing them one by
    /// one would move the others each time.
    private var head = 0
    /// The total size of the queued events.
    private(set) var bytes = 0

    var count: Int { events.count - head }

    /// When the oldest event happened, in monotonic milliseconds; nil if the queue is empty.
    var oldest: Int64? { count > 0 ? moments[head].now : nil }

    mutating func append(_ event: [UInt8], at now: Int64, time: Int64) {
        events.append(event)
        moments.append((now, time))
        bytes += event.count
    }

    /// Removes the oldest events and returns a request with them: at least one event, then as many as the limits allow.
    mutating func nextBatch(most: Int, bytesMax: Int) -> WebhookRequest {
        var end = head + 1
        var size = events[head].count
        while end < events.count, end - head < most, size + events[end].count <= bytesMax {
            size += events[end].count
            end += 1
        }
        let request = WebhookRequest(events[head..<end], time: moments[end - 1].time)
        // Free the bytes now: the sent entries stay in the array until they are removed below.
        for index in head..<end { events[index] = [] }
        head = end
        bytes -= size
        if head * 2 > events.count {
            events.removeFirst(head)
            moments.removeFirst(head)
            head = 0
        }
        return request
    }
}
