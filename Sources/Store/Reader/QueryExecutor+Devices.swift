import Access
import FleetRules
import JSON

extension QueryExecutor {
    /// A user's devices, in the order of registration.
    func devices(_ person: Identity) throws(DatabaseError) -> [UInt8] {
        let devices = try devices.devices(of: person.key).sorted { ($0.registeredAt, $0.id) < ($1.registeredAt, $1.id) }
        var body = JSONWriter(capacity: 64 + 256 * devices.count)
        body.raw(#"{"success":true,"data":{"devices":["#)
        body.list(devices) { $1.write(to: &$0) }
        body.raw("]}}")
        return body.bytes
    }

    /// A user's push preferences; the defaults if there are none or they cannot be read.
    func preferences(_ person: Identity) throws(DatabaseError) -> [UInt8] {
        let json = try preferences.json(of: person.key)
        return (json.flatMap { Preferences(json: $0) } ?? Preferences()).response
    }
}

extension StoredDevice {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.raw(#"{"provider":"#)
        writer.string(provider.rawValue)
        writer.raw(#","platform":"#)
        writer.optional(platform?.rawValue)
        writer.raw(#","environment":"#)
        writer.optional(environment?.rawValue)
        writer.raw(#","token":"#)
        writer.string(masked)
        writer.raw(#","registeredAt":"#)
        writer.time(registeredAt)
        writer.raw(#","lastSeenAt":"#)
        writer.time(lastSeenAt)
        writer.raw("}")
    }
}

extension PushJobTable.PushJobSummary {
    /// The steps that a job adds to its notification's life: that it was queued, and how it ended.
    func steps(of id: String) -> [NotificationStep] {
        var steps = [step("push_queued", of: id, at: queuedAt, isLast: settledAt == nil)]
        if let settledAt { steps.append(step("push_\(state.rawValue)", of: id, at: settledAt, isLast: true)) }
        return steps
    }

    /// - Parameter isLast: whether the step tells how far the job has come.
    private func step(_ step: String, of id: String, at: Int64, isLast: Bool) -> NotificationStep {
        var detail = JSONWriter()
        detail.raw(#"{"provider":"#)
        detail.optional(lane?.provider.rawValue)
        detail.raw(#","device":"#)
        detail.string(device)
        if isLast {
            detail.raw(#","attempts":"#)
            detail.integer(attempts)
            if let reason {
                detail.raw(#","reason":"#)
                detail.string(reason)
            }
            if let messageID {
                detail.raw(#","messageId":"#)
                detail.string(messageID)
            }
        }
        detail.raw("}")
        return NotificationStep(
            notificationID: id, step: step, subject: recipient, at: at, toldAt: nil, detail: detail.bytes)
    }
}
