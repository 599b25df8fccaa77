/// What waits for one endpoint, and when it is sent.
///
/// There is one request at a time: that keeps the order, whatever an endpoint answers and however long it takes. A request
/// that is not taken is sent again until it is, or until five minutes have passed since it was first sent (V10); what is
/// behind it waits, and what waits is bounded. It does nothing itself: it says what is to be done, and is told what came of it.
struct EndpointQueue {
    /// Events that may wait, the ones being sent included. Beyond, the newest is refused.
    static let eventsMaxDefault = 10_000
    /// Bytes of them: client events may be large.
    static let bytesMax = 16_777_216
    /// Events of one request, where it may bring several…
    static let batchEventsMax = 100
    /// …and bytes, unless a single one has more.
    static let batchBytesMax = 262_144
    /// How long the first event of a batch waits for others, in milliseconds.
    static let lingerMilliseconds: Int64 = 1_000
    /// From the first try to the last, in milliseconds.
    static let retryWindow: Int64 = 300_000
    /// The longest time between two tries, in milliseconds, give or take a quarter.
    static let delayMax: Int64 = 60_000

    /// What is to be done now.
    enum Step: Equatable {
        /// Send it, and say what came of it: ``answered(_:at:jitter:)``.
        case send(WebhookRequest)
        /// Ask again at this time, or when there is news.
        case wait(until: Int64)
        /// There is nothing to do until there is news.
        case rest
    }

    /// What an answer came to.
    enum Outcome: Equatable {
        case delivered(Int)
        case retrying(Int)
        case dropped(Int)
    }

    private enum State {
        case ready
        case sending(Delivery)
        case failed(Delivery, until: Int64)
    }

    /// A request on its way.
    private struct Delivery {
        let request: WebhookRequest
        let firstTry: Int64
        var tries = 1
    }

    private let isBatching: Bool
    private let eventsMax: Int
    private var state = State.ready
    private var queue = EventQueue()
    private var lingers = true

    /// - Parameter eventsMax: see ``eventsMaxDefault``.
    init(isBatching: Bool, eventsMax: Int = eventsMaxDefault) {
        self.isBatching = isBatching
        self.eventsMax = eventsMax
    }

    /// Events that wait or are being sent.
    var depth: Int {
        switch state {
        case .ready: queue.count
        case .sending(let delivery), .failed(let delivery, _): queue.count + delivery.request.count
        }
    }

    /// Whether at least half of its room is free.
    var isHalfFree: Bool { depth <= eventsMax / 2 && queue.bytes <= Self.bytesMax / 2 }

    /// Takes an event that was decided at `now` (milliseconds on a clock that never goes back); false when there is no room.
    /// - Parameter time: the same moment in milliseconds since 1970.
    mutating func take(_ event: [UInt8], at now: Int64, time: Int64) -> Bool {
        guard depth < eventsMax, queue.bytes + event.count <= Self.bytesMax else { return false }
        queue.append(event, at: now, time: time)
        return true
    }

    /// What is to be done at `now`. What it says to send counts as being sent.
    mutating func step(at now: Int64) -> Step {
        switch state {
        case .sending: return .rest
        case .failed(var delivery, let until):
            guard now >= until else { return .wait(until: until) }
            delivery.tries += 1
            state = .sending(delivery)
            return .send(delivery.request)
        case .ready:
            guard let since = queue.oldest else { return .rest }
            let isFull = queue.count >= Self.batchEventsMax || queue.bytes >= Self.batchBytesMax
            if isBatching, lingers, !isFull, now < since + Self.lingerMilliseconds {
                return .wait(until: since + Self.lingerMilliseconds)
            }
            let request = queue.nextBatch(most: isBatching ? Self.batchEventsMax : 1, bytesMax: Self.batchBytesMax)
            state = .sending(Delivery(request: request, firstTry: now))
            return .send(request)
        }
    }

    /// What was being sent has been taken, or has not.
    /// - Parameter jitter: from 0 up to 1, so that endpoints which failed together are not tried together for ever.
    mutating func answered(_ isTaken: Bool, at now: Int64, jitter: Double) -> Outcome {
        guard case .sending(let delivery) = state else { preconditionFailure("an answer to nothing") }
        let count = delivery.request.count
        let end = delivery.firstTry + Self.retryWindow
        guard !isTaken, now < end else {
            state = .ready
            return isTaken ? .delivered(count) : .dropped(count)
        }
        // Its last try is at the very end, however long the delay before it would be.
        state = .failed(delivery, until: min(end, now + Self.delay(after: delivery.tries, jitter: jitter)))
        return .retrying(count)
    }

    /// Batches wait for nothing any more: there will be no others.
    mutating func abortDrain() { lingers = false }

    /// How long to wait after so many tries: a second, then twice as long each time.
    static func delay(after tries: Int, jitter: Double) -> Int64 {
        let doubled = tries < 7 ? Int64(1_000) << Int64(tries - 1) : delayMax
        return Int64(Double(min(doubled, delayMax)) * (0.75 + jitter / 2))
    }
}

/// Events that wait for their turn, oldest first.
private struct EventQueue {
    private var events: [[UInt8]] = []
    private var moments: [(now: Int64, time: Int64)] = []
    /// Those before it have gone: removing them one by one would move the rest each time.
    private var head = 0
    private(set) var bytes = 0

    var count: Int { events.count - head }

    /// Since when the oldest one waits.
    var oldest: Int64? { count > 0 ? moments[head].now : nil }

    mutating func append(_ event: [UInt8], at now: Int64, time: Int64) {
        events.append(event)
        moments.append((now, time))
        bytes += event.count
    }

    /// Takes the oldest ones: one at least, and no more than fit.
    mutating func nextBatch(most: Int, bytesMax: Int) -> WebhookRequest {
        var end = head + 1
        var size = events[head].count
        while end < events.count, end - head < most, size + events[end].count <= bytesMax {
            size += events[end].count
            end += 1
        }
        let request = WebhookRequest(events[head..<end], time: moments[end - 1].time)
        // What has gone must not keep its memory until the rest follows.
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
