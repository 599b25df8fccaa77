import Primitives
import PusherProtocol

/// One event loop's part of the fan-out: the loop's subscribers of each channel, and the frames that are still to be
/// sent.
///
/// Instructions only queue frames. ``flush(writesMax:_:)`` sends them at the end of a turn with **one write per
/// connection**, because a write costs a hundred times as much as copying a frame. It limits the number of writes, so
/// that an event for a large channel does not block the loop: the rest follows in the next turns. These rules keep
/// batches and slices invisible to clients:
/// - A new subscriber does not get events that precede its subscription, and a leaving subscriber gets the events that
///   precede its leave.
/// - A connection with several subscriptions gets its frames in the hub's order, across channels.
/// - A connection that is excluded from an event gets all other events.
///
/// A channel's new frames wait together. They are *distributed* to the subscribers, which costs nanoseconds each, when
/// the turn ends or before a connection joins. From then on each connection has a list of the frames that it must get,
/// as spans of frames. A write sends all that a connection has, so it never matters which connection is written first:
/// the subscribers of small channels and the receivers of direct messages are, the rest of a large channel waits.
///
/// Connections with equal lists share one frame, in which the list's frames are joined (``FrameJoiner``). A write has only
/// so many bytes; what else a connection gets comes with the next ones.
package struct LoopFanOut {
    /// A channel with more subscribers on this loop is large: its events do not delay other frames.
    static let smallCountMax = 100

    private var channels: [Subscribers] = []
    private var recipients: [Recipient] = []

    private var frames = PendingFrames()
    private var lists = SpanLists()
    /// Channels with frames that are not distributed.
    private var pendingChannels: [ChannelSlot] = []
    /// The number of the first frame of this turn: all earlier frames are distributed.
    private var turnStart = 0
    /// Receivers of direct messages and of small channels' events.
    private var urgent = WriteQueue()
    /// Receivers of large channels' events only.
    private var bulk = WriteQueue()

    /// The part of a loop that has no connections yet.
    package init() {}

    /// The number of frames in memory, for tests.
    var pendingFrameCount: Int { frames.count }

    /// Applies an instruction. The caller performs `.close`, after ``flush(_:while:_:)``.
    package mutating func apply(_ instruction: Instruction) {
        switch instruction {
        case .join(let channel, let socket): join(channel, socket)
        case .leave(let channel, let socket): leave(channel, socket)
        case .fanOut(let frame, let channel, let sender): append(frame, to: channel, except: sender)
        case .notify(let frame, let channel, _): append(frame, to: channel, except: nil)
        case .fanOutHiding(let names, let frame, let name, let channel, let sender):
            guard hasSubscribers(channel) else { break }
            append(ServerMessage.event(frame, on: name, hiding: names), to: channel, except: sender)
        case .relay(let event, let name, let channel, let sender, let userID, let hidden):
            guard hasSubscribers(channel) else { break }
            let event = hidden.isEmpty ? event : event.hiding(hidden)
            append(ServerMessage.clientEvent(event, channel: name, userID: userID), to: channel, except: sender)
        case .send(let frame, let socket): send(frame, to: socket)
        case .sendPresence(let list, let socket): if isOpen(socket) { send(frames.append(list), to: socket) }
        case .sendSigninSuccess(let user, let socket): send(ServerMessage.signinSuccess(user), to: socket)
        case .sendWatchlist(let online, let offline, let socket):
            send(ServerMessage.watchlistEvents(online: online, offline: offline), to: socket)
        case .openKeptNames, .close: break
        }
    }

    /// Adds a connection of this loop. Must precede all instructions that name it.
    package mutating func open(_ socket: SocketID) {
        while recipients.count <= socket.slot { recipients.append(Recipient()) }
        recipients[socket.slot].socket = socket
    }

    /// Removes a closed connection and its frames. Call this after the last instruction that names the connection. The
    /// slot's next connection then starts without frames and subscriptions.
    package mutating func close(_ socket: SocketID) {
        precondition(
            recipients[socket.slot].socket == socket && recipients[socket.slot].subscriptions == 0,
            "to close a connection, it must be open and have no subscriptions")
        lists.removeAll(of: &recipients[socket.slot].list)
        recipients[socket.slot].socket = nil
    }

    /// Gives back memory that channels and frames needed that are gone. Call it once a second.
    package mutating func releaseMemory() {
        // Only once a second: a connection that joins and leaves the last channel would otherwise make it grow each time.
        while pendingChannels.isEmpty, channels.last?.sockets.isEmpty == true { channels.removeLast() }
        _ = channels.releaseSpareCapacity()
        guard !isPending else { return }
        frames.releaseMemory()
        lists.releaseMemory()
        _ = pendingChannels.releaseSpareCapacity()
        urgent.releaseMemory()
        bulk.releaseMemory()
    }

    /// The number of places for channels, for tests.
    var channelPlaces: Int { channels.count }

    /// The connection in a slot; nil if the slot is vacant.
    package func socket(at slot: Int) -> SocketID? { slot < recipients.count ? recipients[slot].socket : nil }

    // MARK: Writing

    /// Whether ``flush(writesMax:_:)`` has anything to do.
    package var isPending: Bool { !pendingChannels.isEmpty || !urgent.isEmpty || !bulk.isEmpty }

    /// The number of frames so far.
    package var end: Int { frames.end }

    /// The number of frames that certainly have been written to all their receivers; others may follow them.
    package var writtenEnd: Int {
        guard isPending else { return frames.end }
        return min(urgent.oldestFrame ?? turnStart, bulk.oldestFrame ?? turnStart)
    }

    /// Sends queued frames, with one write per connection, or several for a connection that gets much. At most three
    /// quarters of the writes are for urgent frames while others wait, so that these always make progress.
    /// - Parameters:
    ///   - writesMax: the maximum number of writes (at least 1). A write that takes as long as several others counts as
    ///     several (``FrameJoiner/cost(_:)``).
    ///   - write: sends a frame to a connection.
    /// - Returns: whether frames are left. Call this again in the loop's next turn, even if nothing else happens.
    package mutating func flush(writesMax: Int, _ write: (_ socket: SocketID, Frame) -> Void) -> Bool {
        distributeAll()
        turnStart = frames.end
        var joiner = FrameJoiner()
        var left = writesMax
        let reserved = bulk.isEmpty ? 0 : writesMax / 4
        while left > reserved, let slot = urgent.first { left -= writeUrgent(slot, &joiner, write) }
        while left > 0, let slot = bulk.first {
            left -= writeFrames(of: slot, &joiner, write)
            guard recipients[slot].list.isEmpty else { continue }
            bulk.removeFirst()
            recipients[slot].isBulk = false
        }
        while left > 0, let slot = urgent.first { left -= writeUrgent(slot, &joiner, write) }
        frames.removeAll(before: min(urgent.oldestFrame ?? turnStart, bulk.oldestFrame ?? turnStart))
        return isPending
    }

    /// Sends all frames that are queued for one connection. Call this before you close the connection, so that it gets
    /// the frames that precede the close.
    /// - Parameter isOpen: whether the connection still takes frames. What is left is then not encoded.
    package mutating func flush(
        _ socket: SocketID, while isOpen: () -> Bool = { true }, _ write: (_ socket: SocketID, Frame) -> Void
    ) {
        guard self.isOpen(socket) else { return }
        distributeAll()
        var joiner = FrameJoiner()
        while !recipients[socket.slot].list.isEmpty, isOpen() { _ = writeFrames(of: socket.slot, &joiner, write) }
    }

    private mutating func writeUrgent(
        _ slot: Int, _ joiner: inout FrameJoiner, _ write: (SocketID, Frame) -> Void
    ) -> Int {
        let cost = writeFrames(of: slot, &joiner, write)
        // Otherwise the connection stays the first: the frames that it waits for are not forgotten before.
        if recipients[slot].list.isEmpty {
            urgent.removeFirst()
            recipients[slot].isUrgent = false
        }
        return cost
    }

    /// Sends a connection its next frames, usually all.
    /// - Returns: the cost in writes. It is 0 if the connection has closed or has got its frames, because it was in both
    ///   queues.
    private mutating func writeFrames(
        of slot: Int, _ joiner: inout FrameJoiner, _ write: (SocketID, Frame) -> Void
    ) -> Int {
        let list = recipients[slot].list
        guard let socket = recipients[slot].socket, !list.isEmpty else { return 0 }
        if let span = lists.onlySpan(of: list), joiner.write(span, to: socket, write) {
            lists.removeAll(of: &recipients[slot].list)
            return 1
        }
        let (frame, rest) = joiner.frame(for: socket, list, lists, frames)
        lists.removeAll(of: &recipients[slot].list)
        for number in rest { lists.append(PendingFrames.Span(first: number, last: number), to: &recipients[slot].list) }
        guard let frame else { return 0 }
        write(socket, frame)
        return joiner.cost(frame)
    }

    // MARK: Subscribers

    private mutating func join(_ channel: ChannelSlot, _ socket: SocketID) {
        while channels.count <= channel { channels.append(Subscribers()) }
        distribute(channel)
        channels[channel].sockets.append(socket)
        recipients[socket.slot].subscriptions += 1
    }

    private mutating func leave(_ channel: ChannelSlot, _ socket: SocketID) {
        if let pending = channels[channel].pending { add(pending, to: socket.slot, isUrgent: channels[channel].isSmall) }
        guard channels[channel].sockets.remove(socket) else {
            preconditionFailure("a connection leaves a channel that it has not joined")
        }
        recipients[socket.slot].subscriptions -= 1
    }

    // MARK: Queueing

    /// Whether the channel has subscribers on this loop. The hub counts those from whom members are hidden for it as well, but
    /// the loop knows them under a channel of their own.
    private func hasSubscribers(_ channel: ChannelSlot) -> Bool {
        channel < channels.count && !channels[channel].sockets.isEmpty
    }

    private mutating func append(_ frame: Frame, to channel: ChannelSlot, except sender: SocketID?) {
        guard hasSubscribers(channel) else { return }
        let pending = channels[channel].pending
        if pending == nil { pendingChannels.append(channel) }
        let number = frames.append(frame, channel: channel, except: sender, after: pending?.last)
        channels[channel].pending = PendingFrames.Span(first: pending?.first ?? number, last: number)
    }

    /// Sends a frame to the subscribers of a channel, except to the connections in some slots.
    package mutating func send(_ frame: Frame, toSubscribersOf channel: ChannelSlot, exceptSlots excluded: Set<Int>) {
        guard hasSubscribers(channel) else { return }
        distribute(channel)
        let number = frames.append(frame)
        for socket in channels[channel].sockets.elements where !excluded.contains(socket.slot) {
            add(PendingFrames.Span(first: number, last: number), to: socket.slot, isUrgent: channels[channel].isSmall)
        }
    }

    private mutating func send(_ frame: Frame, to socket: SocketID) {
        if isOpen(socket) { send(frames.append(frame), to: socket) }
    }

    private mutating func send(_ number: Int, to socket: SocketID) {
        add(PendingFrames.Span(first: number, last: number), to: socket.slot, isUrgent: true)
    }

    /// Whether a connection is open. Its slot may have a new one by now, for which its messages are not meant.
    private func isOpen(_ socket: SocketID) -> Bool { self.socket(at: socket.slot) == socket }

    private mutating func distributeAll() {
        for channel in pendingChannels { distribute(channel) }
        pendingChannels.removeAll(keepingCapacity: true)
    }

    /// Appends a channel's pending frames to its subscribers' lists.
    private mutating func distribute(_ channel: ChannelSlot) {
        guard let pending = channels[channel].pending else { return }
        channels[channel].pending = nil
        let isSmall = channels[channel].isSmall
        for socket in channels[channel].sockets.elements { add(pending, to: socket.slot, isUrgent: isSmall) }
    }

    /// Appends a span to a connection's list and puts the connection into a queue, unless it is in one already.
    private mutating func add(_ span: PendingFrames.Span, to slot: Int, isUrgent: Bool) {
        let list = recipients[slot].list
        if !list.isEmpty, frames.links(lists[lastOf: list].last, to: span) {
            lists[lastOf: list].last = span.last
        } else {
            lists.append(span, to: &recipients[slot].list)
        }
        if recipients[slot].isUrgent || (recipients[slot].isBulk && !isUrgent) { return }
        if isUrgent {
            recipients[slot].isUrgent = true
            urgent.append(slot, frame: turnStart)
        } else {
            recipients[slot].isBulk = true
            bulk.append(slot, frame: turnStart)
        }
    }
}

/// A channel's subscribers on this loop.
private struct Subscribers {
    var sockets = IndexedList<SocketID>()
    /// The channel's frames that are not distributed. All subscribers joined before the first of them.
    var pending: PendingFrames.Span?

    var isSmall: Bool { sockets.count <= LoopFanOut.smallCountMax }
}

/// A connection of this loop. It contains no references to heap objects, so that copying it costs little.
private struct Recipient {
    var socket: SocketID?
    var subscriptions: Int32 = 0
    /// The frames to send. While it is not empty, the connection is in one of the queues, with a frame number that is
    /// not greater than that of any frame in the list.
    var list = SpanLists.List()
    /// Whether the slot is in the queue `urgent`, and whether it is in `bulk`. An entry outlives the connection.
    var isUrgent = false
    var isBulk = false
}
