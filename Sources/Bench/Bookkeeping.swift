/// What became of each published event. Event `k` goes to channel `k % channelCount`.
struct Publications {
    let channelCount: Int
    /// When each event's request was sent and answered; 0: not yet.
    private var sentAt: [UInt64] = []
    private var answeredAt: [UInt64] = []
    /// Per channel, the accepted events by their place in the channel (`k / channelCount`).
    private var accepted: [NumberSet]

    init(channelCount: Int) {
        self.channelCount = channelCount
        accepted = Array(repeating: NumberSet(), count: channelCount)
    }

    /// The number of events that were sent. They are sent in order.
    var sentCount: Int { sentAt.count }

    /// Notes that the next event is sent.
    mutating func send(at now: UInt64) {
        sentAt.append(now)
        answeredAt.append(0)
    }

    func channel(of event: Int) -> Int { event % channelCount }

    /// Notes the response to an event's request.
    mutating func answer(_ event: Int, isAccepted: Bool, at now: UInt64) {
        answeredAt[event] = now
        if isAccepted { accepted[channel(of: event)].insert(event / channelCount) }
    }

    func isAccepted(_ event: Int) -> Bool { accepted[channel(of: event)].contains(event / channelCount) }

    /// The number of accepted events of a channel.
    func acceptedCount(of channel: Int) -> Int { accepted[channel].count }

    /// Notes that a subscriber has received an event.
    /// - Parameter channel: the subscriber's channel.
    func receive(_ event: Int, on channel: Int, _ receipts: inout Receipts) -> Receipts.Outcome {
        guard event < sentCount, self.channel(of: event) == channel else { return .misrouted }
        guard receipts.events.insert(event / channelCount) else { return .duplicate }
        // Requests on several connections overlap, so only an event that was answered before the other one was sent
        // must also arrive before it.
        let isLate = answeredAt[event] != 0 && answeredAt[event] < receipts.latestSent
        receipts.latestSent = max(receipts.latestSent, sentAt[event])
        return isLate ? .outOfOrder : .inOrder
    }

    /// The number of accepted events that a subscriber has received.
    func receivedCount(_ receipts: Receipts, on channel: Int) -> Int { receipts.events.count(in: accepted[channel]) }
}

/// What one subscriber has received.
struct Receipts {
    enum Outcome { case inOrder, outOfOrder, duplicate, misrouted }

    /// The events by their place in the channel.
    fileprivate var events = NumberSet()
    /// The latest time at which one of them was sent.
    fileprivate var latestSent: UInt64 = 0
}
