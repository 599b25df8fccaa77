import Primitives
import PusherProtocol

/// Delays `channel_vacated` and `member_removed` (protocol point V5): they are sent three seconds later, and only if
/// the channel is still vacated or the member still gone. A device that reconnects within that time causes no webhook
/// at all.
struct Debounce {
    /// How long an event is delayed.
    static let milliseconds: Int64 = 3_000
    /// Delayed events at most. Further ones are sent at once: early, but correct.
    static let capacity = 100_000

    /// What an event is about. An occupied or added event cancels the delayed vacated or removed event of its subject.
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

    /// The serial of each subject's delayed event.
    private var serials: [Subject: UInt64] = [:]
    /// In the order of due times, because all are delayed equally. A cancelled event leaves its entry, which is
    /// skipped.
    private var line: [Entry] = []
    private var head = 0
    private var nextSerial: UInt64 = 0

    /// Delayed events.
    var count: Int { serials.count }

    /// Entries in the line, including cancelled ones.
    var entries: Int { line.count - head }

    /// When the next entry is due, in milliseconds; nil if there is none. It may be a cancelled one.
    var nextDue: Int64? { head < line.count ? line[head].due : nil }

    /// Handles an event that happened at `now` (milliseconds).
    /// - Returns: the event if it is to be sent at once; nil if it is delayed, or cancels a delayed one.
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
        case .clientEvent, .cacheMiss, .subscriptionCount, .notificationFailed, .deviceRemoved: return event
        }
    }

    /// Removes and returns the events that are due, in the order in which they happened.
    mutating func release(at now: Int64) -> [AppWebhookEvent] {
        var released: [AppWebhookEvent] = []
        while head < line.count, line[head].due <= now {
            let entry = line[head]
            head += 1
            guard serials[entry.subject] == entry.serial else { continue }
            serials[entry.subject] = nil
            released.append(entry.event)
        }
        if head * 2 > line.count {
            line.removeFirst(head)
            head = 0
        }
        return released
    }

    private mutating func delay(_ event: AppWebhookEvent, _ subject: Subject, _ now: Int64) -> AppWebhookEvent? {
        guard serials.count < Self.capacity else { return event }
        // Each cancelled event leaves its entry: remove them once they outnumber the delayed events.
        if line.count > 2 * serials.count + 64 {
            line.removeAll { serials[$0.subject] != $0.serial }
            head = 0
        }
        line.append(Entry(event: event, subject: subject, due: now + Self.milliseconds, serial: nextSerial))
        serials[subject] = nextSerial
        nextSerial += 1
        return nil
    }
}
