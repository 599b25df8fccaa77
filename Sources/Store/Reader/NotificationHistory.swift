import JSON

extension LoggedNotification {
    /// As its recipient sees it.
    func write(to writer: inout JSONWriter) {
        writer.raw(#"{"id":"#)
        writer.string(notification.id)
        writer.raw(#","event":"#)
        writer.string(notification.event)
        writer.raw(#","channel":"#)
        writer.string(notification.channel)
        writer.raw(#","data":"#)
        writer.raw(notification.data)
        writer.raw(#","createdAt":"#)
        writer.time(notification.createdAt)
        writer.raw(#","readAt":"#)
        writer.time(readAt)
        writer.raw("}")
    }

    /// As those who run the gateway see it.
    func writeWhole(to writer: inout JSONWriter) {
        writer.raw(#"{"id":"#)
        writer.string(notification.id)
        writer.raw(#","channel":"#)
        writer.string(notification.channel)
        writer.raw(#","sequence":"#)
        writer.integer(sequence)
        writer.raw(#","event":"#)
        writer.string(notification.event)
        writer.raw(#","data":"#)
        writer.raw(notification.data)
        writer.raw(#","createdAt":"#)
        writer.time(notification.createdAt)
        writer.raw(#","expiresAt":"#)
        writer.time(notification.expiresAt)
        writer.raw(#","collapseKey":"#)
        writer.string(notification.collapseKey)
        writer.raw(#","correlationId":"#)
        writer.string(correlationID)
        writer.raw(#","actor":"#)
        writer.string(actor)
        writer.raw(#","action":"#)
        writer.string(action)
        writer.raw(#","readAt":"#)
        writer.time(readAt)
        writer.raw("}")
    }
}

extension NotificationStep {
    /// A step that the notification's own row tells of.
    static func ours(_ step: String, of id: String, at: Int64) -> NotificationStep {
        NotificationStep(notificationID: id, step: step, subject: "", at: at, toldAt: nil, detail: nil)
    }

    func write(to writer: inout JSONWriter) {
        writer.raw(#"{"step":"#)
        writer.string(step)
        writer.raw(#","at":"#)
        writer.time(at)
        if !subject.isEmpty {
            writer.raw(#","subject":"#)
            writer.string(subject)
        }
        if let toldAt {
            writer.raw(#","toldAt":"#)
            writer.string(toldAt)
        }
        if let detail {
            writer.raw(#","detail":"#)
            writer.raw(detail)
        }
        writer.raw("}")
    }
}

extension JSONWriter {
    /// Values with commas between them.
    package mutating func list<Element>(_ elements: [Element], _ write: (inout JSONWriter, Element) -> Void) {
        for (index, element) in elements.enumerated() {
            if index > 0 { raw(",") }
            write(&self, element)
        }
    }
}
