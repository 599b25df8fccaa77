import Primitives
import PusherProtocol

/// Holds back what may be taken back (PROTOCOL V5): that a channel is vacated, or a member gone, is told only if it is still so
/// three seconds later. Whoever is back by then, a phone that came out of a tunnel, has never been away: neither is told.
struct Debounce {
    /// How long a notice is held.
    static let milliseconds: Int64 = 3_000
    /// Notices that may be held. What comes when there are as many is told at once: that is early, but not wrong.
    static let capacity = 100_000

    /// What can be left and come back to.
    private enum Subject: Hashable {
        case channel(app: Int, ChannelName)
        case member(app: Int, ChannelName, Identifier)
    }

    private struct Entry {
        let notice: AppWebhookEvent
        let place: Subject
        let due: Int64
        let serial: UInt64
    }

    /// The serial of what is held for a place.
    private var positions: [Subject: UInt64] = [:]
    /// By the time at which they are due, for all are held equally long. What was taken back leaves its entry, to be skipped.
    private var line: [Entry] = []
    private var head = 0
    private var nextSerial: UInt64 = 0

    /// How many are held.
    var count: Int { positions.count }

    /// Entries in the line, those included that were taken back.
    var entries: Int { line.count - head }

    /// When the next one is due, in milliseconds; nil when none is. It may be one that was taken back.
    var nextDue: Int64? { head < line.count ? line[head].due : nil }

    /// Takes a notice of what happened at `now` (milliseconds).
    /// - Returns: it, if it is to be told at once; nil if it is held, or has taken back what was.
    /// - Precondition: what was due by `now` has been let go: see ``release(at:)``.
    mutating func take(_ notice: AppWebhookEvent, at now: Int64) -> AppWebhookEvent? {
        switch notice.event {
        case .channelOccupied(let channel):
            return positions.removeValue(forKey: .channel(app: notice.app, channel)) == nil ? notice : nil
        case .memberAdded(let channel, let userID):
            return positions.removeValue(forKey: .member(app: notice.app, channel, Identifier(userID))) == nil ? notice : nil
        case .channelVacated(let channel): return hold(notice, .channel(app: notice.app, channel), now)
        case .memberRemoved(let channel, let userID):
            return hold(notice, .member(app: notice.app, channel, Identifier(userID)), now)
        case .clientEvent, .cacheMiss, .subscriptionCount, .notificationFailed, .deviceRemoved: return notice
        }
    }

    /// Lets go what is due, in the order in which it happened.
    mutating func release(at now: Int64) -> [AppWebhookEvent] {
        var released: [AppWebhookEvent] = []
        while head < line.count, line[head].due <= now {
            let held = line[head]
            head += 1
            guard positions[held.place] == held.serial else { continue }
            positions[held.place] = nil
            released.append(held.notice)
        }
        if head * 2 > line.count {
            line.removeFirst(head)
            head = 0
        }
        return released
    }

    private mutating func hold(_ notice: AppWebhookEvent, _ place: Subject, _ now: Int64) -> AppWebhookEvent? {
        guard positions.count < Self.capacity else { return notice }
        // Who comes and goes all the time leaves an entry behind each time: sweep them once they outnumber what is held.
        if line.count > 2 * positions.count + 64 {
            line.removeAll { positions[$0.place] != $0.serial }
            head = 0
        }
        line.append(Entry(notice: notice, place: place, due: now + Self.milliseconds, serial: nextSerial))
        positions[place] = nextSerial
        nextSerial += 1
        return nil
    }
}
