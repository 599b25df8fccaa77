import FanOut
import JSON
import PusherProtocol

/// Checks the messages of one connection about other users as a client library would process them: a member that joins
/// was absent, one that leaves was present, and a watchlist event changes a user's state (protocol points R2–R4, W1,
/// W2).
///
/// It does not use the reference model, so it finds mistakes that the model and the hub share.
struct ClientModel {
    /// Members by channel.
    private var members: [String: Set<String>] = [:]
    /// Whether each watched user is online.
    private var watched: [String: Bool] = [:]
    private var revocations = RevocationChecker()

    /// Reads all messages of a write.
    mutating func read(_ write: Frame) throws(Discrepancy) {
        var offset = 0
        while offset < write.bytes.count {
            let wireMessage = WireMessage(write, at: offset)
            offset = wireMessage.end
            try revocations.read(wireMessage)
            guard wireMessage.concernsOthers else { continue }
            guard let message = Message(wireMessage.bytes) else {
                throw Discrepancy("received invalid JSON: \(wireMessage)")
            }
            try read(message)
        }
    }

    private mutating func read(_ message: Message) throws(Discrepancy) {
        switch message.event {
        case "pusher_internal:subscription_succeeded":
            let ids = message.texts("ids", in: "presence")
            guard Set(ids).count == ids.count, message.integer("count", in: "presence") == ids.count else {
                throw Discrepancy("got \(ids) on \(message.channel), which differs from count")
            }
            members[message.channel] = Set(ids)
        case "pusher_internal:member_added":
            guard let id = message.text("user_id"), members[message.channel]?.insert(id).inserted == true else {
                throw Discrepancy("got member_added on \(message.channel) for a present member: \(message)")
            }
        case "pusher_internal:member_removed":
            guard let id = message.text("user_id"), members[message.channel]?.remove(id) != nil else {
                throw Discrepancy("got member_removed on \(message.channel) for an absent member: \(message)")
            }
        case "pusher_internal:watchlist_events":
            for (name, ids) in message.watchlist {
                for id in ids where watched.updateValue(name == "online", forKey: id) == (name == "online") {
                    throw Discrepancy("got a watchlist event that \(id) is \(name), which was known")
                }
            }
        default: break
        }
    }
}

/// One text message within a write.
struct WireMessage: CustomStringConvertible {
    let bytes: ArraySlice<UInt8>
    /// The offset of the next message.
    var end: Int { bytes.endIndex }

    init(_ frame: Frame, at offset: Int) {
        let rest = frame.bytes[offset...]
        guard rest.count > 1 else {
            bytes = rest
            return
        }
        let short = Int(rest[offset + 1])
        let header = short < 126 ? 2 : short == 126 ? 4 : 10
        let length = short < 126 ? short : rest.dropFirst(2).prefix(header - 2).reduce(0) { $0 << 8 | Int($1) }
        bytes = rest.dropFirst(header).prefix(length)
    }

    /// Whether the message may concern other users. Most messages do not, so they need not be parsed.
    var concernsOthers: Bool {
        guard bytes.starts(with: Self.beginning), case let kind = bytes.dropFirst(Self.beginning.count).first else {
            return false
        }
        // The event is member_…, watchlist_…, or subscription_succeeded with data other than {}.
        return kind == UInt8(ascii: "m") || kind == UInt8(ascii: "w")
            || (kind == UInt8(ascii: "s") && bytes.suffix(4).elementsEqual(Self.presenceEnd))
    }

    var description: String { String(decoding: bytes, as: UTF8.self) }

    /// The message's channel, if any.
    var channel: String? {
        var channel: String?
        try? bytes.withUnsafeBytes { bytes in
            try JSONReader.object(bytes) { key, value in if key.equals("channel") { channel = value.string } }
        }
        return channel
    }

    private static let beginning = Array(#"{"event":"pusher_internal:"#.utf8)
    private static let presenceEnd = Array(#"}}"}"#.utf8)
}

/// A server event whose data is a JSON string, parsed as a client would parse it.
private struct Message: CustomStringConvertible {
    private(set) var event = ""
    private(set) var channel = ""
    private var data = ""

    init?(_ bytes: ArraySlice<UInt8>) {
        let isRead: Void? = try? bytes.withUnsafeBytes { bytes in
            try JSONReader.object(bytes) { key, value in
                if key.equals("event") { event = value.string ?? "" }
                if key.equals("channel") { channel = value.string ?? "" }
                if key.equals("data") { data = value.string ?? "" }
            }
        }
        guard isRead != nil, !data.isEmpty else { return nil }
    }

    var description: String { data }

    func text(_ name: String) -> String? { member(name, of: data).flatMap { Self.elements(of: "[\($0)]").first } }

    func texts(_ name: String, in object: String) -> [String] {
        member(object, of: data).flatMap { member(name, of: $0) }.map(Self.elements) ?? []
    }

    func integer(_ name: String, in object: String) -> Int? {
        member(object, of: data).flatMap { member(name, of: $0) }.flatMap { Int($0) }
    }

    /// The name and the users of each event.
    var watchlist: [(name: String, ids: [String])] {
        Self.values(of: member("events", of: data) ?? "[]").map { event in
            let name = member("name", of: event).flatMap { Self.elements(of: "[\($0)]").first }
            return (name ?? "", member("user_ids", of: event).map(Self.elements) ?? [])
        }
    }

    /// The JSON of a member.
    private func member(_ name: String, of object: String) -> String? {
        var found: String?
        try? Array(object.utf8).withUnsafeBytes { bytes in
            try JSONReader.object(bytes) { key, value in
                if key.string == name { found = String(decoding: value.raw, as: UTF8.self) }
            }
        }
        return found
    }

    private static func values(of array: String) -> [String] {
        var values: [String] = []
        try? Array(array.utf8).withUnsafeBytes { bytes in
            try JSONReader.array(bytes) { values.append(String(decoding: $0.raw, as: UTF8.self)) }
        }
        return values
    }

    /// The elements that are strings.
    private static func elements(of array: String) -> [String] {
        var texts: [String] = []
        try? Array(array.utf8).withUnsafeBytes { bytes in
            try JSONReader.array(bytes) { if let text = $0.string { texts.append(text) } }
        }
        return texts
    }
}
