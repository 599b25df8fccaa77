import PusherProtocol

/// One event loop's part of the fan-out: the loop's subscribers of each channel, and the frames to send in the loop's
/// current turn.
///
/// Instructions only queue frames. At the end of the turn ``flush(_:)`` sends them with **one write per connection**,
/// because a write costs a hundred times as much as copying a frame. Three rules keep this batching invisible to
/// clients:
/// - A new subscriber must not get events that precede its subscription, and a leaving subscriber must still get the
///   events that precede its leave. So pending frames of a channel are flushed before the channel's subscribers change.
/// - A connection with several subscriptions gets its frames in the hub's order, across channels.
/// - A connection that is excluded from an event gets all other events.
///
/// Connections with one subscription share one frame, in which the channel's frames are joined. For other connections
/// frames are *gathered* per connection. Consecutive connections with the same gathered frames also share the joined
/// frame, so an event on a channel that all drivers subscribe to needs no allocation per driver.
package struct LoopFanOut {
    private var channels: [Subscribers] = []
    private var recipients: [Recipient] = []

    /// The frames of this turn, in the hub's order.
    private var turn: [Entry] = []
    /// Channels with frames in `turn`, in the order of their first frame.
    private var pendingChannels: [ChannelSlot] = []
    /// Slots of connections with gathered frames, in the order of their first frame.
    private var gathering: [Int] = []
    /// The gathered frames of all connections: a linked list per connection, all in one array.
    private var gathered: [Gathered] = []

    /// The part of a loop that has no connections yet.
    package init() {}

    /// Applies an instruction. Calls `write`, which sends a frame to a connection, only if the first rule above
    /// requires a flush.
    package mutating func apply(_ instruction: Instruction, _ write: (_ socket: SocketID, Frame) -> Void) {
        switch instruction {
        case .join(let channel, let socket):
            flushIfPending(channel, write)
            join(channel, socket)
        case .leave(let channel, let socket):
            flushIfPending(channel, write)
            leave(channel, socket)
        case .fanOut(let frame, let channel, let sender):
            append(frame, to: channel, except: sender)
        case .send(let frame, let socket):
            send(frame, to: socket)
        case .sendPresence(let channel, let members, let socket):
            send(ServerMessage.subscriptionSucceeded(channel, members: members), to: socket)
        case .close:
            break  // The caller closes the socket.
        }
    }

    /// Whether ``flush(_:)`` has anything to do.
    package var isPending: Bool { !turn.isEmpty }

    /// Sends all frames queued since the last flush.
    package mutating func flush(_ write: (_ socket: SocketID, Frame) -> Void) {
        // If only one channel has frames and there are no direct messages, no order across channels has to be
        // preserved. Then connections with other subscriptions can share the joined frame, too.
        let onlyOneChannel = pendingChannels.count == 1 && gathering.isEmpty
        for channel in pendingChannels { flush(channel, sharedByAll: onlyOneChannel, write) }
        pendingChannels.removeAll(keepingCapacity: true)
        flushGathered(write)
        turn.removeAll(keepingCapacity: true)
    }

    /// Adds a connection of this loop. Must precede all instructions that name it.
    package mutating func open(_ socket: SocketID) {
        while recipients.count <= socket.slot { recipients.append(Recipient()) }
        recipients[socket.slot] = Recipient(socket: socket)
    }

    /// Removes a closed connection. Call this after the last instruction that names the connection. The slot's next
    /// connection then starts without frames and subscriptions.
    package mutating func close(_ socket: SocketID) {
        precondition(
            recipients[socket.slot].socket == socket && recipients[socket.slot].subscriptions == 0,
            "to close a connection, it must be open and have no subscriptions")
        recipients[socket.slot] = Recipient()
    }

    /// The connection in a slot; nil if the slot is vacant.
    package func socket(at slot: Int) -> SocketID? { slot < recipients.count ? recipients[slot].socket : nil }

    // MARK: Subscribers

    private mutating func join(_ channel: ChannelSlot, _ socket: SocketID) {
        while channels.count <= channel { channels.append(Subscribers()) }
        channels[channel].sockets.append(socket)
        recipients[socket.slot].subscriptions += 1
    }

    private mutating func leave(_ channel: ChannelSlot, _ socket: SocketID) {
        guard let index = channels[channel].sockets.firstIndex(of: socket) else {
            preconditionFailure("a connection leaves a channel that it has not joined")
        }
        channels[channel].sockets.swapAt(index, channels[channel].sockets.count - 1)
        channels[channel].sockets.removeLast()
        // Frees the memory of the empty list. Most channels never get another subscriber.
        if channels[channel].sockets.isEmpty { channels[channel].sockets = [] }
        recipients[socket.slot].subscriptions -= 1
    }

    // MARK: Queueing

    private mutating func append(_ frame: Frame, to channel: ChannelSlot, except sender: SocketID?) {
        // The hub sends an event only to loops with subscribers, so this guard never fails. It is not a precondition,
        // because it is better to drop an event than to crash.
        guard channel < channels.count, !channels[channel].sockets.isEmpty else { return }
        let index = Int32(turn.count)
        turn.append(Entry(frame: frame, except: sender))
        if channels[channel].lastPending < 0 {
            channels[channel].firstPending = index
            pendingChannels.append(channel)
        } else {
            turn[Int(channels[channel].lastPending)].next = index
        }
        channels[channel].lastPending = index
    }

    private mutating func send(_ frame: Frame, to socket: SocketID) {
        // The slot may have a new connection by now, for which the message is not meant.
        guard socket.slot < recipients.count, recipients[socket.slot].socket == socket else { return }
        gather(Int32(turn.count), for: socket)
        turn.append(Entry(frame: frame, except: nil))
    }

    private mutating func gather(_ entry: Int32, for socket: SocketID) {
        let node = Int32(gathered.count)
        gathered.append(Gathered(entry: entry))
        let slot = socket.slot
        if recipients[slot].lastGathered < 0 {
            recipients[slot].firstGathered = node
            gathering.append(slot)
        } else {
            gathered[Int(recipients[slot].lastGathered)].next = node
        }
        recipients[slot].lastGathered = node
    }

    // MARK: Flushing

    private mutating func flushIfPending(_ channel: ChannelSlot, _ write: (SocketID, Frame) -> Void) {
        // Flushes the whole turn, because a connection that also subscribes to other channels may have to get their
        // frames first.
        if channel < channels.count, channels[channel].lastPending >= 0 { flush(write) }
    }

    private mutating func flush(_ channel: ChannelSlot, sharedByAll: Bool, _ write: (SocketID, Frame) -> Void) {
        let entries = takePending(channel)
        let excluded = entries.compactMap { turn[Int($0)].except }
        let shared = joined(entries)
        let sockets = channels[channel].sockets
        for socket in sockets {
            let recipient = recipients[socket.slot]
            let hasNothingElse = recipient.subscriptions == 1 && recipient.lastGathered < 0
            if (hasNothingElse || sharedByAll) && !(excluded.contains(socket)) {
                write(socket, shared)
            } else {
                for entry in entries where turn[Int(entry)].except != socket { gather(entry, for: socket) }
            }
        }
    }

    /// Removes and returns a channel's entries of this turn, in the hub's order.
    private mutating func takePending(_ channel: ChannelSlot) -> [Int32] {
        var entries: [Int32] = []
        var index = channels[channel].firstPending
        channels[channel].firstPending = -1
        channels[channel].lastPending = -1
        while index >= 0 {
            entries.append(index)
            index = turn[Int(index)].next
        }
        return entries
    }

    private mutating func flushGathered(_ write: (SocketID, Frame) -> Void) {
        var entries: [Int32] = []
        var previous: [Int32] = []
        var frame: Frame?
        for slot in gathering {
            swap(&entries, &previous)
            collectGathered(slot, into: &entries)
            guard let socket = recipients[slot].socket, !entries.isEmpty else { continue }
            if frame == nil || entries != previous { frame = joined(entries) }
            if let frame { write(socket, frame) }
        }
        gathering.removeAll(keepingCapacity: true)
        gathered.removeAll(keepingCapacity: true)
    }

    /// Moves a connection's gathered entries into `entries`, in the hub's order.
    private mutating func collectGathered(_ slot: Int, into entries: inout [Int32]) {
        entries.removeAll(keepingCapacity: true)
        var node = recipients[slot].firstGathered
        recipients[slot].firstGathered = -1
        recipients[slot].lastGathered = -1
        while node >= 0 {
            entries.append(gathered[Int(node)].entry)
            node = gathered[Int(node)].next
        }
        // Entries were gathered channel by channel: in order within each channel, but not across channels.
        entries.sort()
    }

    private func joined(_ entries: [Int32]) -> Frame {
        entries.count == 1 ? turn[Int(entries[0])].frame : Frame(joining: entries.map { turn[Int($0)].frame })
    }
}

/// One frame of this turn. The connection `except` does not get it. `next` is the index in `turn` of the channel's next
/// entry, or -1.
private struct Entry {
    let frame: Frame
    let except: SocketID?
    var next: Int32 = -1
}

/// A channel's subscribers on this loop, and the indices in `turn` of the channel's first and last entry (-1 for none).
private struct Subscribers {
    var sockets: [SocketID] = []
    var firstPending: Int32 = -1
    var lastPending: Int32 = -1
}

/// A connection of this loop, and the indices in `gathered` of its first and last frame (-1 for none). It contains no
/// references to heap objects, so that copying it costs little.
private struct Recipient {
    var socket: SocketID?
    var subscriptions: Int32 = 0
    var firstGathered: Int32 = -1
    var lastGathered: Int32 = -1
}

/// A gathered frame: `entry` is its index in `turn`, `next` the index in `gathered` of the connection's next frame, or
/// -1.
private struct Gathered {
    let entry: Int32
    var next: Int32 = -1
}
