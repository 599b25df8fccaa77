import FleetRules

/// What is to be done with a push job whose turn has come.
package enum PushDecision: Equatable, Sendable {
    case send(PushMessage)
    /// `off`, `preferences`, `quiet_hours` or `connected`.
    case cancelled(reason: String)
    case expired
}

extension PushDecision {
    /// Decides as late as can be, just before sending: a job may have waited for hours, and what held when it was queued (the
    /// texts, what its recipient wishes, whether he is there) need not hold any more.
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - minuteOfDay: of a time zone (an IANA name), at a time in milliseconds since 1970; nil where there is no such zone,
    ///     which is then taken for UTC.
    ///   - isConnected: whether a recipient (``PushJob/recipient``) subscribes to his own channel at present.
    package init(
        on job: PushJob, templates: PushTemplates, now: Int64, minuteOfDay: (_ zone: String, _ time: Int64) -> Int?,
        isConnected: (_ recipient: String) -> Bool
    ) {
        let event = job.notification.event
        guard job.notification.expiresAt > now else {
            self = .expired
            return
        }
        guard let entry = templates.entry(ofEvent: event), templates.mode(of: entry) != .off else {
            self = .cancelled(reason: "off")
            return
        }
        // Whoever switched a notification off may have called it by any of its names.
        let names = [entry.dataType, event, entry.name] + (templates.type(ofEvent: event).map { [$0] } ?? [])
        let quietHours = job.preferences.quietHours
        if job.preferences.isOff(names) {
            self = .cancelled(reason: "preferences")
        } else if quietHours.isEnabled, !entry.urgent,
            quietHours.contains(minuteOfDay: minuteOfDay(quietHours.timeZone, now) ?? LocalTime.minuteOfDay(now))
        {
            self = .cancelled(reason: "quiet_hours")
        } else if templates.mode(of: entry) == .fallback, isConnected(job.recipient) {
            self = .cancelled(reason: "connected")
        } else {
            self = .send(PushMessage(job, in: entry))
        }
    }
}
