import JSON

/// A browser's recording of its requests (HTTP Archive 1.2, http://www.softwareishard.com/blog/har-12-spec/). Chromium adds the
/// messages of WebSockets as `_webSocketMessages`; Firefox and Safari leave them out.
///
/// It is read once, entry by entry; what is kept are different names, of a bounded number. Headers, cookies and tokens are
/// not kept.
struct BrowserRecording {
    /// What the page uses.
    private(set) var use = RecordedUse()

    init(_ content: [UInt8]) throws(MigrationError) {
        var use = RecordedUse()
        var hasEntries = false
        try JSONDocument.read {
            try content.withUnsafeBytes { bytes in
                try JSONReader.object(bytes) { name, log in
                    guard name.equals("log"), log.kind == .object else { return }
                    try JSONReader.object(log.raw) { name, entries in
                        guard name.equals("entries"), entries.kind == .array else { return }
                        hasEntries = true
                        try JSONReader.array(entries.raw) { entry in
                            guard entry.kind == .object else { return }
                            try use.add(RecordedEntry(entry))
                        }
                    }
                }
            }
        }
        guard hasEntries else { throw MigrationError("a JSON object with \"log\", but without log.entries: no HAR recording") }
        self.use = use
    }

    var report: MigrationReport { use.report }
}

/// One request of a recording.
struct RecordedEntry {
    private(set) var url: RecordedURL?
    private(set) var method = ""
    private(set) var status = 0
    private(set) var origin: String?
    /// The names of the headers that carry credentials, without their values.
    private(set) var credentials: [String] = []
    /// Whether the body is a form; nil if there is none.
    private(set) var isForm: Bool?
    /// Whether the body asks to authorize a channel, or to authenticate a user.
    private(set) var asks: Asks?
    /// The messages of a WebSocket; nil if the recording has none.
    private(set) var messages: [RecordedMessage]?

    enum Asks {
        case channel, user
    }

    /// The longest body and message that is looked at.
    private static let textBytesMax = 1_048_576
    /// The most messages of a WebSocket that are looked at.
    private static let messagesMax = 10_000

    init(_ entry: JSONSlice) throws {
        try JSONReader.object(entry.raw) { name, value in
            if name.equals("request"), value.kind == .object { try readRequest(value) }
            if name.equals("response"), value.kind == .object {
                try JSONReader.object(value.raw) { name, value in
                    if name.equals("status") { status = value.integer ?? 0 }
                }
            }
            if name.equals("_webSocketMessages"), value.kind == .array { try readMessages(value) }
        }
    }

    private mutating func readRequest(_ request: JSONSlice) throws {
        try JSONReader.object(request.raw) { name, value in
            if name.equals("method") { method = value.string(cutAbove: 20) ?? "" }
            if name.equals("url") { url = value.string(cutAbove: 8_192).flatMap(RecordedURL.init) }
            if name.equals("headers"), value.kind == .array {
                try JSONReader.array(value.raw) { header in if header.kind == .object { try readHeader(header) } }
            }
            if name.equals("postData"), value.kind == .object { try readBody(value) }
        }
    }

    private mutating func readHeader(_ header: JSONSlice) throws {
        var (name, value) = ("", "")
        try JSONReader.object(header.raw) { member, text in
            if member.equals("name") { name = text.string(cutAbove: 100) ?? "" }
            if member.equals("value") { value = text.string(cutAbove: 300) ?? "" }
        }
        let lower = String(
            decoding: name.utf8.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }, as: UTF8.self)
        switch lower {
        case "origin": origin = value
        case "authorization": credentials.append(Self.scheme(value).map { "Authorization: \($0)" } ?? "Authorization")
        case "cookie": credentials.append("Cookie")
        case "x-csrf-token", "x-xsrf-token": credentials.append(lower)
        default: break
        }
    }

    /// The scheme of `scheme credentials` (RFC 9110 section 11.4). Nil without a space behind it: then the value may be the
    /// credential itself, which no report shows.
    private static func scheme(_ value: String) -> String? {
        let scheme = value.utf8.prefix { $0.isLetterOrDigit || $0 == UInt8(ascii: "-") }
        let rest = value.utf8.dropFirst(scheme.count)
        guard (1...20).contains(scheme.count), rest.first == UInt8(ascii: " "), rest.contains(where: { $0 != 0x20 }) else {
            return nil
        }
        return String(Substring(scheme))
    }

    private mutating func readBody(_ body: JSONSlice) throws {
        var names: [String] = []
        var (text, type) = ("", "")
        try JSONReader.object(body.raw) { name, value in
            if name.equals("mimeType") { type = value.string(cutAbove: 100) ?? "" }
            if name.equals("text"), value.stringByteCount ?? .max <= Self.textBytesMax { text = value.string ?? "" }
            if name.equals("params"), value.kind == .array {
                try JSONReader.array(value.raw) { parameter in
                    guard parameter.kind == .object, names.count < 20 else { return }
                    try JSONReader.object(parameter.raw) { member, value in
                        if member.equals("name") { names.append(value.string(cutAbove: 50) ?? "") }
                    }
                }
            }
        }
        if text.utf8.first == UInt8(ascii: "{") {
            names += (try? JSONDocument.members(of: Array(text.utf8))) ?? []
        } else {
            for parameter in text.utf8.split(separator: UInt8(ascii: "&")).prefix(20) {
                names.append(String(Substring(parameter.prefix { $0 != UInt8(ascii: "=") }.prefix(50))))
            }
        }
        isForm = !type.utf8.starts(with: "application/json".utf8)
        guard names.contains(where: { $0 == "socket_id" }) else { return }
        asks = names.contains { $0 == "channel_name" || $0 == "channel_name[]" } ? .channel : .user
    }

    private mutating func readMessages(_ list: JSONSlice) throws {
        var messages: [RecordedMessage] = []
        try JSONReader.array(list.raw) { message in
            guard message.kind == .object, messages.count < Self.messagesMax else { return }
            var isSent = false
            var data: String?
            try JSONReader.object(message.raw) { name, value in
                if name.equals("type") { isSent = value.equals("send") }
                if name.equals("data"), value.stringByteCount ?? .max <= Self.textBytesMax { data = value.string }
            }
            if let message = data.flatMap({ RecordedMessage($0, isSent: isSent) }) { messages.append(message) }
        }
        self.messages = messages
    }
}

/// A message of the Pusher protocol in a recording: its event, and the channel that it names. Not its data.
struct RecordedMessage {
    let isSent: Bool
    let event: String
    let channel: String?
    /// Whether the data has a signature, as a subscription to a private channel has. pusher-js sends an empty one for others.
    let isSigned: Bool

    /// Nil if the text is no such message.
    init?(_ text: String, isSent: Bool) {
        var event: String?
        var channel: String?
        var isSigned = false
        let bytes = Array(text.utf8)
        do {
            try bytes.withUnsafeBytes { bytes in
                try JSONReader.object(bytes) { name, value in
                    if name.equals("event") { event = value.string(cutAbove: 300) }
                    if name.equals("channel") { channel = value.string(cutAbove: 300) }
                    guard name.equals("data"), value.kind == .object else { return }
                    try JSONReader.object(value.raw) { name, value in
                        if name.equals("channel") { channel = value.string(cutAbove: 300) }
                        if name.equals("auth") { isSigned = value.stringContent.map { !$0.isEmpty } ?? false }
                    }
                }
            }
        } catch {
            return nil
        }
        guard let event else { return nil }
        (self.isSent, self.event, self.channel, self.isSigned) = (isSent, event, channel, isSigned)
    }
}
