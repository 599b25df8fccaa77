import FanOut
import JSON
import PusherProtocol

/// `POST /apps/ID/events`: decodes the body and encodes one frame per channel in one pass (protocol points B1–B11). The
/// frames contain the event's name and data as written in the body, escapes included.
package struct EventRequest {
    /// One frame per channel, in the order of the request. A channel that the request names twice gets one frame.
    package let publications: [Hub.Publication]
    /// The same event for the channels that mirror these.
    package let mirrored: [Hub.Publication]
    /// The connection that does not receive the event; nil if all subscribers receive it.
    package let except: SocketID?
    /// The attributes that the response lists for each channel (protocol point B12).
    package let info: ChannelAttributes

    /// - Throws: ``APIError`` with 400 or 413.
    package init(_ body: UnsafeRawBufferPointer, rules: AppRules) throws(APIError) {
        let limits = rules.limits
        let fields = try APIError.mappingJSONErrors { try Fields(body, channelsMax: limits.channelsPerEvent) }
        info = try ChannelAttributes(fields.info, allowed: [.userCount, .subscriptionCount])
        let (name, data) = try Self.nameAndData(fields, limits)
        let channels = try Self.channels(fields, rules)
        except = try Self.except(fields)
        publications = channels.list.map { channel in
            Hub.Publication(channel: channel, frame: ServerMessage.event(name: name, channel: channel, data: data))
        }
        guard let names = rules.channels else {
            mirrored = []
            return
        }
        mirrored = publications.compactMap { publication in
            // If a request names a channel and its mirror, each receives the event once.
            let mirror = names.mirror(of: publication.channel) ?? names.userChannel(aliasedBy: publication.channel)
            guard let mirror, !channels.contains(mirror) else { return nil }
            return Hub.Publication(publication, mirroredOn: mirror)
        }
    }

    private static func nameAndData(
        _ fields: Fields, _ limits: Limits
    ) throws(APIError) -> (name: UnsafeRawBufferPointer, data: UnsafeRawBufferPointer) {
        guard let name = fields.name, let isShort = name.hasText(upTo: limits.nameLength) else {
            throw APIError(400, "Expected name parameter to be a string")
        }
        guard name.stringContent?.isEmpty == false else { throw APIError(400, "Expected name parameter not to be empty") }
        // A character has at least one byte. Only if a name has more bytes than the limit are its characters counted.
        let text = isShort ? nil : name.string(cutAbove: Limits.nameBytesMax)
        guard text.map({ $0.unicodeScalars.count <= limits.nameLength }) ?? true else {
            throw APIError(400, "The name of this event exceeds the allowed maximum (\(limits.nameLength) characters)")
        }
        guard !isReserved(name) else {
            throw APIError(400, "Event names that begin with pusher: or pusher_internal: are reserved: use another name")
        }
        guard let data = fields.data, let isWithinLimit = data.hasText(upTo: limits.eventBytes) else {
            throw APIError(400, "Expected data parameter to be a string")
        }
        guard isWithinLimit else {
            throw APIError(
                413,
                "The data content of this event exceeds the allowed maximum (\(limits.eventBytes) bytes). Send a reference instead"
            )
        }
        return (name.raw, data.raw)
    }

    /// Whether the name is one of the protocol's own. A client would take such an event for the server's.
    private static func isReserved(_ name: JSONSlice) -> Bool {
        // Most names are compared no further than their first byte. One with an escape may begin with any character.
        guard let first = name.stringContent?.first, first == UInt8(ascii: "p") || first == UInt8(ascii: "\\") else {
            return false
        }
        let text = name.string(cutAbove: Limits.nameBytesMax) ?? ""
        return text.utf8.starts(with: "pusher:".utf8) || text.utf8.starts(with: "pusher_internal:".utf8)
    }

    private static func channels(_ fields: Fields, _ rules: AppRules) throws(APIError) -> DistinctNames {
        let limits = rules.limits
        guard fields.channelCount > 0 else { throw APIError(400, "Expected channels parameter to name at least one channel") }
        guard fields.channelCount <= limits.channelsPerEvent else {
            throw APIError(400, "Expected at most \(limits.channelsPerEvent) channels, found \(fields.channelCount)")
        }
        var names = DistinctNames(capacity: fields.channelCount)
        for channel in fields.channels {
            guard let text = channel.string(cutAbove: Limits.nameBytesMax) else {
                throw APIError(400, "Expected channels parameter to contain only strings")
            }
            guard let name = ChannelName(text, lengthMax: limits.nameLength) else {
                throw APIError(
                    400,
                    "Invalid channel name \(text.clipped): expected 1 to \(limits.nameLength) characters of "
                        + "A-Z a-z 0-9 _ - = @ , . ;"
                )
            }
            guard rules.channels?.isReserved(name) != true else {
                throw APIError(403, "Only the gateway publishes to \(name.text): it carries its own figures")
            }
            names.append(name)
        }
        return names
    }

    private static func except(_ fields: Fields) throws(APIError) -> SocketID? {
        guard let socket = fields.socket, socket.kind != .null else { return nil }
        guard let text = socket.string, SocketID.isWellFormed(text) else {
            throw APIError(400, "Invalid socket_id: expected digits, a dot, digits")
        }
        // Nil for a well-formed id that no server can have issued: such an id excludes no connection.
        return SocketID(text)
    }
}

/// The body's members, as slices of the body.
private struct Fields {
    private(set) var name: JSONSlice?
    private(set) var data: JSONSlice?
    private(set) var socket: JSONSlice?
    private(set) var info: JSONSlice?
    /// Those up to the limit: what is above it is only counted.
    private(set) var channels: [JSONSlice] = []
    private(set) var channelCount = 0

    init(_ body: UnsafeRawBufferPointer, channelsMax: Int) throws {
        var single: JSONSlice?
        var list: JSONSlice?
        var name: JSONSlice?
        var data: JSONSlice?
        var socket: JSONSlice?
        var info: JSONSlice?
        try JSONReader.object(body) { key, value in
            if key.equals("name") {
                name = value
            } else if key.equals("data") {
                data = value
            } else if key.equals("channels") {
                guard value.kind == .array else { throw APIError(400, "Expected channels parameter to be an array") }
                list = value
            } else if key.equals("channel") {
                single = value
            } else if key.equals("socket_id") {
                socket = value
            } else if key.equals("info") {
                info = value
            }
        }
        self.name = name
        self.data = data
        self.socket = socket
        self.info = info
        guard let list else {
            channels = single.map { [$0] } ?? []
            channelCount = channels.count
            return
        }
        try JSONReader.array(list.raw) { channel in
            channelCount += 1
            if channelCount <= channelsMax { channels.append(channel) }
        }
    }
}

/// The channels of an event, each once, in the order of the request.
private struct DistinctNames {
    /// A few names are compared with each other in less time than a set takes.
    private static let comparedMax = 8

    private(set) var list: [ChannelName] = []
    /// The names of the list; empty if all of them are few.
    private var set: Set<ChannelName> = []
    private let isSet: Bool

    /// - Parameter capacity: the most names to append.
    init(capacity: Int) {
        isSet = capacity > Self.comparedMax
        list.reserveCapacity(capacity)
        if isSet { set.reserveCapacity(capacity) }
    }

    func contains(_ name: ChannelName) -> Bool { isSet ? set.contains(name) : list.contains(name) }

    mutating func append(_ name: ChannelName) {
        if isSet ? set.insert(name).inserted : !list.contains(name) { list.append(name) }
    }
}
