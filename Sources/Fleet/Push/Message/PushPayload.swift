import JSON

/// The JSON that both providers deliver: the alert that the device shows, and the data fields for its app, truncated to
/// the provider's limit.
struct PushPayload {
    /// The message after truncation.
    let message: PushMessage
    /// APNs' `aps`: an object.
    let aps: [UInt8]
    /// The data fields: the members of an object, without its braces. All values are strings.
    let data: [UInt8]

    /// - Parameter bytesMax: maximum bytes of `aps` and the data fields as one JSON object.
    init(_ message: PushMessage, bytesMax: Int) {
        let whole = Self(writing: message)
        guard whole.byteCount > bytesMax else {
            self = whole
            return
        }
        var short = message
        short.truncate(to: bytesMax) { Self(writing: $0).byteCount }
        self.init(writing: short)
    }

    private init(writing message: PushMessage) {
        self.message = message
        aps = message.written { $0.aps(message) }
        data = message.written { $0.data(message) }
    }

    /// Bytes of `{"aps":…,…}`.
    private var byteCount: Int { 9 + aps.count + data.count }
}

extension PushMessage {
    fileprivate func written(_ write: (inout JSONWriter) -> Void) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        write(&json)
        return json.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func aps(_ message: PushMessage) {
        object {
            $0.member("alert") { $0.alert(message) }
            $0.member("badge", message.badge)
            $0.member("sound", ifNotEmpty: message.sound)
            $0.member("category", ifNotEmpty: message.category)
            $0.member("thread-id", ifNotEmpty: message.thread)
        }
    }

    fileprivate mutating func data(_ message: PushMessage) {
        for field in message.leadingFields { self.field(field.name, field.value) }
        field("title", message.title)
        field("message", message.body)
        for field in message.eventFields { self.field(field.name, field.value) }
    }

    private mutating func field(_ name: String, _ value: String) {
        key(name)
        string(value)
    }

    /// The members `title` and `body`. An empty one is left out, because a device would show an empty line for it.
    mutating func alert(_ message: PushMessage) {
        member("title", ifNotEmpty: message.title)
        member("body", ifNotEmpty: message.body)
    }

    /// A string member; none if `value` is empty.
    mutating func member(_ name: StaticString, ifNotEmpty value: String) {
        if !value.isEmpty { member(name, value) }
    }
}
