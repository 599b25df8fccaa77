import JSON

/// An event before it gets its `notificationId`.
struct EventDraft {
    let channel: FleetChannel
    let event: String
    /// The event's fields as JSON members, without the braces around them.
    private(set) var members: [UInt8]
    /// Whether the members are written as an admin sent them.
    private let isVerbatim: Bool
    /// The size of each field's value as JSON, in bytes. The error about an event that is too large names the longest
    /// field.
    let lengths: [(field: String, bytes: Int)]

    init(_ channel: FleetChannel, _ event: String, _ fields: EventFields) {
        self.channel = channel
        self.event = event
        var json = JSONWriter(capacity: 512)
        lengths = json.members(fields)
        members = json.bytes
        isVerbatim = false
    }

    /// The event of an announcement, that is, of a notification that an admin sends. Its `members` are written as the
    /// admin sent them. Errors name the request's field, `data`, because the members are the admin's own.
    init(_ channel: FleetChannel, _ event: String, verbatim members: [UInt8]) {
        self.channel = channel
        self.event = event
        self.members = members
        isVerbatim = true
        lengths = [("data", members.count)]
    }

    /// The event with further fields at its end. Fields that it has already keep their values.
    func adding(_ fields: [NotificationCatalogue.DataField]) -> EventDraft {
        guard !fields.isEmpty else { return self }
        var json = JSONWriter(capacity: members.count + 256)
        json.raw(members)
        for field in fields where !has(field.name) {
            json.key(field.name)
            json.string(field.text)
        }
        var draft = self
        draft.members = json.bytes
        return draft
    }

    private func has(_ name: String) -> Bool {
        var isFound = false
        let object = Array("{".utf8) + members + Array("}".utf8)
        object.withUnsafeBytes { bytes in
            // Cannot fail: the members were written by this module, or parsed when the request arrived.
            try? JSONReader.object(bytes) { key, _ in
                if key.equals(text: name) { isFound = true }
            }
        }
        return isFound
    }

    /// The size of ``data(id:correlationID:)`` that counts for the limit. An admin's text may be escaped more than necessary:
    /// then what the escapes represent counts. The gateway itself escapes only what it must.
    func size(id: String, correlationID: String) -> Int {
        let data = data(id: id, correlationID: correlationID)
        return isVerbatim ? data.withUnsafeBytes(JSONEscapes.decodedCount) : data.count
    }

    /// The event's data: its members, then `notificationId` and `correlationId`.
    func data(id: String, correlationID: String) -> [UInt8] {
        var json = JSONWriter(capacity: members.count + 128)
        json.object {
            $0.raw(members)
            $0.member("notificationId", id)
            $0.member("correlationId", correlationID)
        }
        return json.bytes
    }
}
