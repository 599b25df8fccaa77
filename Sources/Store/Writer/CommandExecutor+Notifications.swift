import FleetRules
import JSON

/// Telemetry and read marks.
extension CommandExecutor {
    /// The most telemetry events per user for notifications that are not in the log: old ones, and those of other systems.
    /// Further events get a response and are dropped.
    static let orphansMax = 1_000

    func record(_ events: [TelemetryEvent], _ command: Command, _ now: Int64) throws(DatabaseError) -> CommandResult {
        let actor = command.actor
        for event in events {
            // Whose notification it is decides what the step proves, not whether it is kept.
            let isStray = try notifications.channel(of: event.notificationID) == nil
            if isStray, try steps.orphans(of: actor.key) >= Self.orphansMax {
                orphansRefused += 1
                continue
            }
            _ = try steps.record(
                NotificationStep(
                    notificationID: event.notificationID, step: event.kind.rawValue, subject: actor.key, at: now,
                    toldAt: event.timestamp, detail: event.detail), isStray: isStray)
            if event.kind != .received, try notifications.markSeen(event.notificationID, channel: actor.channel, now: now) {
                try sequences.countDown(1, channel: actor.channel)
            }
        }
        return CommandResult(body: Array(#"{"success":true}"#.utf8))
    }

    func markRead(_ ids: [String]?, _ command: Command, _ now: Int64) throws(DatabaseError) -> CommandResult {
        let change = try notifications.markRead(ids, channel: command.actor.channel, now: now)
        try sequences.countDown(change.unread, channel: command.actor.channel)
        var answer = JSONWriter()
        answer.raw(#"{"success":true,"data":{"read":"#)
        answer.integer(change.count)
        answer.raw(#"},"correlationId":"#)
        answer.string(command.correlationID)
        answer.raw("}")
        return CommandResult(body: answer.bytes)
    }
}

extension TelemetryEvent {
    /// What the step keeps of it, as JSON.
    fileprivate var detail: [UInt8] {
        var detail = JSONWriter()
        detail.raw(#"{"type":"#)
        detail.string(type)
        detail.raw(#","entityId":"#)
        detail.string(entityID)
        if let metadata {
            detail.raw(#","metadata":"#)
            detail.raw(metadata)
        }
        detail.raw("}")
        return detail.bytes
    }
}
