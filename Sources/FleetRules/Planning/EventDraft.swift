import JSON

/// Where an event is said. Its name is the plain one; the hub mirrors it to the private one.
enum FleetChannel {
    case driver(String)
    case drivers
    case admin
    case tracking(String)
    case booking(String)
    case customer(String)

    var name: String {
        switch self {
        case .driver(let id): "driver-\(id)"
        case .drivers: "drivers-channel"
        case .admin: "admin-channel"
        case .tracking(let reference): "tracking-\(reference)"
        case .booking(let reference): "booking-\(reference)"
        case .customer(let id): "customer-\(id)"
        }
    }
}

/// What an event says, in the order in which it says it. Nil is JSON's null: nobody said.
struct EventFields: ExpressibleByDictionaryLiteral {
    enum Value: ExpressibleByStringLiteral {
        case text(String?)
        case number(JSONNumber?)
        case texts([String])

        init(stringLiteral text: String) { self = .text(text) }
    }

    private(set) var members: [(name: String, value: Value)]

    init(dictionaryLiteral members: (String, Value)...) { self.members = members.map { ($0, $1) } }

    static func + (some: EventFields, more: EventFields) -> EventFields {
        var all = some
        all.members += more.members
        return all
    }
}

/// An event of the table before it has an id.
struct EventDraft {
    let channel: FleetChannel
    let event: String
    /// JSON members, without the braces around them.
    let members: [UInt8]
    /// How many bytes of them each field takes: what makes it too large is named.
    let lengths: [(field: String, bytes: Int)]

    init(_ channel: FleetChannel, _ event: String, _ fields: EventFields) {
        self.channel = channel
        self.event = event
        var json = JSONWriter(capacity: 512)
        lengths = json.members(fields)
        members = json.bytes
    }

    /// What an admin worded: `members` as they came.
    init(_ channel: FleetChannel, _ event: String, verbatim members: [UInt8]) {
        self.channel = channel
        self.event = event
        self.members = members
        lengths = [("data", members.count)]
    }

    var channelName: String { channel.name }

    /// The event's data: its members, and the two that every event has.
    func data(id: String, correlationID: String) -> [UInt8] {
        var json = JSONWriter(capacity: members.count + 128)
        json.raw("{")
        json.raw(members)
        json.raw(members.isEmpty ? #""notificationId":"# : #","notificationId":"#)
        json.string(id)
        json.raw(#","correlationId":"#)
        json.string(correlationID)
        json.raw("}")
        return json.bytes
    }
}

extension JSONWriter {
    /// The fields as members of an object; returns how many bytes each value took.
    @discardableResult
    mutating func members(_ fields: EventFields) -> [(field: String, bytes: Int)] {
        var lengths: [(String, Int)] = []
        for (name, value) in fields.members {
            if !lengths.isEmpty { raw(",") }
            string(name)
            raw(":")
            let start = bytes.count
            switch value {
            case .text(let text): optional(text)
            case .number(let number): optional(number)
            case .texts(let texts): strings(texts)
            }
            lengths.append((name, bytes.count - start))
        }
        return lengths
    }

    mutating func strings(_ texts: [String]) {
        raw("[")
        for (index, text) in texts.enumerated() {
            if index > 0 { raw(",") }
            string(text)
        }
        raw("]")
    }
}
