import Access
import Fleet

/// Whether the recipient of a push is subscribed to their own channel.
package enum RecipientPresence: Sendable {
    case away
    /// The channel is not durable: nothing shows whether a notification has arrived.
    case connected
    /// The recipient's devices confirm what arrives. A notification that is not confirmed after so many milliseconds is
    /// pushed.
    case confirming(within: Int64)
}

/// Whether to send a push job.
package enum PushDecision: Equatable, Sendable {
    case send(PushMessage)
    /// To be decided again at this time (milliseconds since 1970), unless the recipient confirms the notification before.
    case wait(until: Int64)
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
    ///   - presence: whether a recipient (``PushJob/recipient``) is subscribed to their own channel.
    package init(
        on job: PushJob, templates: PushCatalogue, now: Int64, minuteOfDay: (_ zone: String, _ time: Int64) -> Int?,
        presence: (_ recipient: String) -> RecipientPresence
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
        let mode = templates.mode(of: entry)
        let isForEveryDriver = job.notification.isForEveryDriver
        // A dispatcher who reminds drivers wants the push, whatever the entry says of the first one.
        guard mode != .off || job.isReminder || (isForEveryDriver && entry.broadcast) else {
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
        } else if mode == .fallback, !isForEveryDriver, let decision = PushDecision(job, now, presence(job.recipient)) {
            self = decision
        } else {
            self = .send(PushMessage(job, in: entry))
        }
    }

    /// Nil if a `fallback` push is needed. Only a notification on the recipient's own channel can be confirmed.
    private init?(_ job: PushJob, _ now: Int64, _ presence: RecipientPresence) {
        switch presence {
        case .away: return nil
        case .connected: self = .cancelled(reason: "connected")
        case .confirming where !job.isOnOwnChannel: self = .cancelled(reason: "connected")
        case .confirming(let time):
            let until = job.notification.createdAt + time
            // If the clock was set back, the notification may seem to have been created later than now.
            guard now < until, until <= now + time, until < job.notification.expiresAt else { return nil }
            self = .wait(until: until)
        }
    }
}

extension PushJob {
    fileprivate var isOnOwnChannel: Bool {
        Identity(key: recipient).map { $0.channel.utf8.elementsEqual(notification.channel.utf8) } ?? false
    }
}
