import FleetRules

/// Whether to send a push job.
package enum PushDecision: Equatable, Sendable {
    case send(PushMessage)
    /// `reason` is `off`, `preferences`, `quiet_hours` or `connected`.
    case cancelled(reason: String)
    case expired
}

extension PushDecision {
    /// Decides on a job just before it is sent, not when it is queued: it may have waited for hours, and templates,
    /// preferences and the recipient's connection may have changed meanwhile.
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - minuteOfDay: returns the minutes since midnight in an IANA time zone, at a time in milliseconds since 1970;
    ///     nil if the zone is unknown. An unknown zone is treated as UTC.
    ///   - isConnected: whether a recipient (``PushJob/recipient``) is subscribed to their own channel.
    package init(
        on job: PushJob, templates: PushCatalogue, now: Int64, minuteOfDay: (_ zone: String, _ time: Int64) -> Int?,
        isConnected: (_ recipient: String) -> Bool
    ) {
        let event = job.notification.event
        guard job.notification.expiresAt > now else {
            self = .expired
            return
        }
        guard let entry = templates.entry(ofEvent: event) else {
            self = .cancelled(reason: "off")
            return
        }
        // The mode concerns people's own channels. `broadcast` pushes to every driver with a device.
        let mode = entry.broadcast && job.notification.isForEveryDriver ? .mirror : templates.mode(of: entry)
        guard mode != .off else {
            self = .cancelled(reason: "off")
            return
        }
        // Preferences may switch a notification off by any of its names.
        let names = [entry.dataType, event, entry.name] + (templates.type(ofEvent: event).map { [$0] } ?? [])
        let quietHours = job.preferences.quietHours
        if job.preferences.isOff(names) {
            self = .cancelled(reason: "preferences")
        } else if quietHours.isEnabled, !entry.urgent,
            quietHours.contains(minuteOfDay: minuteOfDay(quietHours.timeZone, now) ?? LocalTime.minuteOfDay(now))
        {
            self = .cancelled(reason: "quiet_hours")
        } else if mode == .fallback, isConnected(job.recipient) {
            self = .cancelled(reason: "connected")
        } else {
            self = .send(PushMessage(job, in: entry))
        }
    }
}
