import Primitives
import PusherProtocol

/// Delays `channel_vacated` and `member_removed` (protocol point V5): they are sent three seconds later, and only if
/// the channel is still vacated or the member is still absent. A client that reconnects within that time causes no
/// webhook at all.
struct Debounce {
    /// The largest number of delayed events. Further ones are sent at once: the delay only avoids needless webhooks.
    static let capacity = 100_000

    /// The channel or member that an event is about. `channel_occupied` cancels the delayed `channel_vacated` of the
    /// same channel, and `member_added` the delayed `member_removed` of the same member.
    private enum Subject: Hashable {
        case channel(app: Int, ChannelName)
        case member(app: Int, ChannelName, Identifier)
    }

    private struct Entry {
        let event: AppWebhookEvent
        let subject: Subject
        let due: Int64
        let serial: UInt64
    }

    /// By subject, the serial of its delayed event. An entry of the queue with another serial is that of a cancelled
    /// event.
    private var serials: [Subject: UInt64] = [:]
    /// The delayed events in the order of their due times, which is the order of arrival because the delay
    /// is always the same. The entry of a cancelled event stays in the queue and is skipped.
    private var queue: [Entry] = []
    /// The index of the queue's first entry. The entries before it were handled and are removed later.
    private var head = 0
    private var nextSerial: UInt64 = 0

    /// The number of delayed events.
    var count: Int { serials.count }

    /// The number of entries in the queue, including those of cancelled events.
    var entryCount: Int { queue.count - head }

    /// When the next entry is due, in milliseconds; nil if there is none. Its event may be cancelled.
    var nextDue: Int64? { head < queue.count ? queue[head].due : nil }

    /// Handles an event that happened at `now` (milliseconds).
    /// - Returns: the event if the caller must send it at once; nil if it is delayed, or cancels a delayed one.
    /// - Precondition: ``release(at:)`` has removed the events due by `now`.
    mutating func handle(_ event: AppWebhookEvent, at now: Int64) -> AppWebhookEvent? {
        switch event.event {
        case .channelOccupied(let channel):
            return serials.removeValue(forKey: .channel(app: event.app, channel)) == nil ? event : nil
        case .memberAdded(let channel, let userID):
            return serials.removeValue(forKey: .member(app: event.app, channel, Identifier(userID))) == nil ? event : nil
        case .channelVacated(let channel): return delay(event, .channel(app: event.app, channel), now)
        case .memberRemoved(let channel, let userID):
            return delay(event, .member(app: event.app, channel, Identifier(userID)), now)
        case .clientEvent, .cacheMiss, .subscriptionCount, .other: return event
        }
    }

    /// Removes and returns the events that are due, in the order in which they happened.
    mutating func release(at now: Int64) -> [AppWebhookEvent] {
        var released: [AppWebhookEvent] = []
        while head < queue.count, queue[head].due <= now {
            let entry = queue[head]
            head += 1
            guard serials[entry.subject] == entry.serial else { continue }
            serials[entry.subject] = nil
            released.append(entry.event)
        }
        if head * 2 > queue.count {
            queue.removeFirst(head)
            head = 0
        }
        return released
    }

    private mutating func delay(_ event: AppWebhookEvent, _ subject: Subject, _ now: Int64) -> AppWebhookEvent? {
        guard serials.count < Self.capacity else { return event }
        // Removes the entries of cancelled events once they outnumber the delayed events by more than 64: this takes
        // time linear in the size of the queue.
        if queue.count > 2 * serials.count + 64 {
            queue.removeAll { serials[$0.subject] != $0.serial }
            head = 0
        }
        queue.append(Entry(event: event, subject: subject, due: now + Timing.webhookDebounce, serial: nextSerial))
        serials[subject] = nextSerial
        nextSerial += 1
        return nil
    }
}
