import FleetRules
import JSON

/// Records telemetry and read marks.
extension CommandExecutor {
    /// The most stray steps that are stored per user: telemetry events for notifications that are not in the log,
    /// because they were deleted or another system sent them. Further events are not stored; the response is the same.
    static let strayStepsMax = 1_000

    func record(_ events: [TelemetryEvent], _ command: Command, _ now: Int64) throws(DatabaseError) -> CommandResult {
        let actor = command.actor
        for event in events {
            // The step is stored even if the notification was sent to another user: the step's subject shows which user
            // reported it.
            let isStray = try notifications.channel(of: event.notificationID) == nil
            if isStray, try steps.strayCount(of: actor.key) >= Self.strayStepsMax {
                strayStepsRefused += 1
                continue
            }
            _ = try steps.record(
                NotificationStep(
                    event.kind.rawValue, of: event.notificationID, at: now, subject: actor.key,
                    reportedAt: event.timestamp, detail: event.detail), isStray: isStray)
            if event.kind != .received, try notifications.markSeen(event.notificationID, channel: actor.channel, now: now) {
                try sequences.subtractUnread(1, channel: actor.channel)
            }
        }
        return result(.telemetry, of: command)
    }

    func markRead(_ ids: [String]?, _ command: Command, _ now: Int64) throws(DatabaseError) -> CommandResult {
        let change = try notifications.markRead(ids, channel: command.actor.channel, now: now)
        try sequences.subtractUnread(change.unread, channel: command.actor.channel)
        return result(.markedRead(change.count), of: command)
    }
}

extension TelemetryEvent {
    /// The event's ``NotificationStep/detail``.
    fileprivate var detail: [UInt8] {
        var detail = JSONWriter()
        detail.object {
            $0.member("type", type)
            $0.member("entityId", entityID)
            $0.member("metadata", jsonIfPresent: metadata)
        }
        return detail.bytes
    }
}
