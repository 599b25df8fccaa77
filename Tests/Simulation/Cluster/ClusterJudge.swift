import PusherProtocol

/// Which events each subscriber must get, may get and must not get.
struct ClusterJudge {
    private struct Event {
        let channel: ChannelName
        let sender: Int
        let except: SocketID?
        let at: Int64
        /// The subscribers that must get it and have not.
        var missing: Set<SocketID>
        var delivered: Set<SocketID> = []
    }

    private var events: [Int: Event] = [:]
    /// The last event of each life of a node that a connection has got.
    private var last: [SocketID: [Int: Int]] = [:]
    private(set) var delivered = 0
    private(set) var lastNumber = 0

    mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// An event is published on a node.
    /// - Parameters:
    ///   - sender: the node's life.
    ///   - mustReach: whether a subscriber must get it.
    mutating func published(
        _ number: Int, on channel: ChannelName, sender: Int, except: SocketID?, at now: Int64, _ model: ClusterModel,
        mustReach: (ClusterModel.Subscription) -> Bool
    ) {
        let receivers = model.subscribers(of: channel).filter { $0.socket != except && mustReach($0) }.map(\.socket)
        events[number] = Event(channel: channel, sender: sender, except: except, at: now, missing: Set(receivers))
    }

    /// A connection has got an event.
    /// - Parameter earliest: events that were published before are late.
    mutating func received(_ number: Int, _ socket: SocketID, earliest: Int64, _ model: ClusterModel) throws(Discrepancy) {
        guard var event = events[number] else { throw Discrepancy("\(socket) received the unknown event \(number)") }
        let text = "\(socket) received event \(number) on \(event.channel.text)"
        guard model.index(socket, event.channel) != nil else { throw Discrepancy("\(text) without a subscription") }
        guard event.except != socket else { throw Discrepancy("\(text), from which it is excluded") }
        guard event.delivered.insert(socket).inserted else { throw Discrepancy("\(text) twice") }
        let before = last[socket]?[event.sender] ?? 0
        guard before < number else { throw Discrepancy("\(text) after \(before) of the same node") }
        guard event.at >= earliest else { throw Discrepancy("\(text) late: it was published at \(event.at)") }
        last[socket, default: [:]][event.sender] = number
        event.missing.remove(socket)
        events[number] = event
        delivered += 1
    }

    // MARK: What excuses a loss

    /// A connection has ended a subscription, or all of them.
    mutating func left(_ socket: SocketID, _ channel: ChannelName?) {
        for (number, event) in events where channel == nil || event.channel == channel {
            events[number]?.missing.remove(socket)
        }
    }

    /// A node was cut off or has died: what was under way to or from it may be lost.
    mutating func lost(sender: Int, _ isReceiver: (SocketID) -> Bool, since start: Int64) {
        for (number, event) in events where event.at >= start && !event.missing.isEmpty {
            events[number]?.missing = event.sender == sender ? [] : event.missing.filter { !isReceiver($0) }
        }
    }

    /// A message with an event was dropped on its way to a node.
    mutating func dropped(_ number: Int, _ isReceiver: (SocketID) -> Bool) {
        guard let event = events[number] else { return }
        events[number]?.missing = event.missing.filter { !isReceiver($0) }
    }

    // MARK: The end

    /// All events have had the time to arrive.
    mutating func settle() throws(Discrepancy) {
        for (number, event) in events.sorted(by: { $0.key < $1.key }) {
            let missing = event.missing.map(\.description).sorted()
            guard missing.isEmpty else {
                throw Discrepancy(
                    "event \(number) on \(event.channel.text), published at \(event.at), has not reached \(missing.joined(separator: ", "))"
                )
            }
        }
        events = [:]
    }
}
