import Primitives

/// The deadlines of a loop's connections: a list per kind, in the order in which the deadlines were set.
///
/// All deadlines of a kind have the same duration, so each list is sorted by itself: setting and cancelling a deadline
/// takes constant time, and looking for expired ones looks at the heads only. A connection has at most one deadline.
/// The links are in the connections' records, so a deadline needs no memory of its own.
///
/// Time is the number of ticks of the loop, one per ``Timing/deadlineTick``. Unlike a clock, it does not run while the loop
/// is stalled or the machine is suspended, so a request that arrived in time is not ended because the loop was late to read
/// it.
struct Deadlines {
    enum Kind: UInt8, CaseIterable {
        /// From the accept to the first byte through TLS.
        case handshake
        /// From the accept, or the first byte of a head, to the end of the head.
        case head
        /// From the end of the head to the end of the body.
        case body
        /// From a response to the first byte of the next request; of a response that the socket does not take at once, to
        /// its last byte. Bytes taken meanwhile do not prolong it: otherwise a client that takes a byte now and then
        /// would keep a response of megabytes in memory forever.
        case idle
        /// From the moment at which the outbox of a WebSocket exceeds its limit, or from a close frame that has to wait
        /// behind others, until the outbox is empty.
        case outbox
        /// From our close frame or last response, once it is sent, to the client's close.
        case close

        /// In ticks.
        var duration: Int32 {
            switch self {
            case .handshake: Deadlines.ticks(Timing.handshakeDeadline)
            case .head: Deadlines.ticks(Timing.headDeadline)
            case .body: Deadlines.ticks(Timing.bodyDeadline)
            case .idle: Deadlines.ticks(Timing.idleDeadline)
            case .outbox: Deadlines.ticks(Timing.outboxDeadline)
            case .close: Deadlines.ticks(Timing.closeDeadline)
            }
        }
    }

    /// A connection's place in a list.
    struct Link {
        fileprivate var previous: Int32 = -1
        fileprivate var next: Int32 = -1
        fileprivate var at: Int32 = 0
        /// The kind of the deadline; nil: the connection has none.
        fileprivate(set) var kind: Kind?
    }

    private var heads = [Int32](repeating: -1, count: Kind.allCases.count)
    private var tails = [Int32](repeating: -1, count: Kind.allCases.count)
    private(set) var now: Int32 = 0

    /// Sets the deadline of a connection, from now on. Replaces the deadline that it had.
    mutating func set(_ kind: Kind, _ slot: Int, _ connections: inout ConnectionTable) {
        cancel(slot, &connections)
        let list = Int(kind.rawValue)
        connections[slot].deadline = Link(previous: tails[list], next: -1, at: now + kind.duration, kind: kind)
        if tails[list] >= 0 { connections[Int(tails[list])].deadline.next = Int32(slot) } else { heads[list] = Int32(slot) }
        tails[list] = Int32(slot)
    }

    mutating func cancel(_ slot: Int, _ connections: inout ConnectionTable) {
        let link = connections[slot].deadline
        guard let kind = link.kind else { return }
        let list = Int(kind.rawValue)
        if link.previous >= 0 { connections[Int(link.previous)].deadline.next = link.next } else { heads[list] = link.next }
        if link.next >= 0 { connections[Int(link.next)].deadline.previous = link.previous } else { tails[list] = link.previous }
        connections[slot].deadline = Link()
    }

    /// The number of ticks in so many milliseconds.
    static func ticks(_ milliseconds: Int64) -> Int32 { Int32(milliseconds / Timing.deadlineTick) }

    /// Advances the time by a tick.
    mutating func tick() { now += 1 }

    /// Removes and returns a connection whose deadline has passed; nil if there is none.
    mutating func nextExpired(_ connections: inout ConnectionTable) -> (slot: Int, kind: Kind)? {
        for kind in Kind.allCases {
            let head = heads[Int(kind.rawValue)]
            guard head >= 0, connections[Int(head)].deadline.at <= now else { continue }
            cancel(Int(head), &connections)
            return (Int(head), kind)
        }
        return nil
    }
}
