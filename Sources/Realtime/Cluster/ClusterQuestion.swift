import FanOut
import PusherProtocol

/// What a node asks the others. Applications are named by id.
package enum ClusterQuestion: Sendable {
    /// What runs on top of the gateway asks for something that one node has. The answer of the others is empty.
    case custom([UInt8])
    /// How many local subscribers do these channels have? The answer is a list of ``ChannelShare``.
    case occupancy(app: String, channels: [String])
    /// Which channels whose names begin with the prefix have local subscribers? The answer is a list of ``ChannelShare``.
    case channels(app: String, prefix: String)
    /// What is the last event of this cache channel? The answer is a ``CachedCopy``, or empty if the node may have an old one.
    case cachedEvent(app: String, channel: String)
    /// What are your present figures? The answer is the body of `GET /api/ops/stats`.
    case stats
    /// Which connections have you? The answer is a ``ConnectionPage``.
    case connections(ConnectionSearch)
    /// When was a connection opened? The answer is its place in the lists of all nodes' connections; empty: it is elsewhere.
    case position(SocketID)

    private enum Kind: UInt8 {
        case custom = 1
        case occupancy = 2
        case channels = 3
        case cachedEvent = 4
        case stats = 5
        case connections = 6
        case position = 7
    }

    /// The kind on the wire.
    package var kind: UInt8 {
        switch self {
        case .custom: Kind.custom.rawValue
        case .occupancy: Kind.occupancy.rawValue
        case .channels: Kind.channels.rawValue
        case .cachedEvent: Kind.cachedEvent.rawValue
        case .stats: Kind.stats.rawValue
        case .connections: Kind.connections.rawValue
        case .position: Kind.position.rawValue
        }
    }

    /// Whether one answer that is not empty suffices.
    package var endsWithFirst: Bool {
        switch self {
        case .custom, .position: true
        case .occupancy, .channels, .cachedEvent, .stats, .connections: false
        }
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 256)
        switch self {
        case .custom(let bytes): writer.append(rest: bytes)
        case .occupancy(let app, let channels):
            writer.append(text: app)
            for channel in channels { writer.append(text: channel) }
        case .channels(let app, let prefix):
            writer.append(text: app)
            writer.append(text: prefix)
        case .cachedEvent(let app, let channel):
            writer.append(text: app)
            writer.append(text: channel)
        case .stats: break
        case .connections(let search):
            writer.append(optional: search.filter.channel?.text)
            writer.append(optional: search.filter.user)
            writer.append(optional: search.after?.description)
            writer.append(UInt64(search.limit))
        case .position(let socket): writer.append(socket.bits)
        }
        return writer.bytes
    }

    /// Nil if the bytes are no question of this kind.
    package init?(kind: UInt8, _ bytes: [UInt8]) {
        var reader = ByteReader(bytes[...])
        switch Kind(rawValue: kind) {
        case .custom?: self = .custom(bytes)
        case .occupancy?: self = .occupancy(app: reader.text(), channels: reader.list { $0.text() })
        case .channels?: self = .channels(app: reader.text(), prefix: reader.text())
        case .cachedEvent?: self = .cachedEvent(app: reader.text(), channel: reader.text())
        case .stats?: self = .stats
        case .connections?:
            guard let search = ConnectionSearch(&reader) else { return nil }
            self = .connections(search)
        case .position?: self = .position(SocketID(bits: reader.int64()))
        case nil: return nil
        }
        guard reader.isValid else { return nil }
    }
}

extension ConnectionSearch {
    /// Nil if a name or a position is none, or the page too large.
    fileprivate init?(_ reader: inout ByteReader) {
        let (channelText, user) = (reader.optionalText(), reader.optionalText())
        let (positionText, limit) = (reader.optionalText(), reader.count())
        let channel = channelText.flatMap { ChannelName($0, lengthMax: .max) }
        let position = positionText.flatMap { Hub.ConnectionPosition($0) }
        guard (channel == nil) == (channelText == nil), (position == nil) == (positionText == nil),
            (1...Self.limitMax).contains(limit)
        else { return nil }
        self.init(Hub.ConnectionFilter(channel: channel, user: user), after: position, limit: limit)
    }
}

/// A node's share of a channel.
package struct ChannelShare: Equatable, Sendable {
    package let name: String
    package var subscriptions: Int
    /// The ids of the users on the node; nil unless this is a presence channel.
    package var users: [String]?

    package init(name: String, subscriptions: Int, users: [String]?) {
        self.name = name
        self.subscriptions = subscriptions
        self.users = users
    }

    /// The most bytes of one message with shares: NATS takes messages of up to a mebibyte.
    private static let partBytesMax = 500_000

    /// Shares as one or more parts of an answer.
    package static func parts(of shares: [ChannelShare]) -> [[UInt8]] {
        var parts: [[UInt8]] = []
        var writer = ByteWriter(capacity: 1_024)
        for share in shares {
            writer.append(text: share.name)
            writer.append(UInt64(share.subscriptions))
            writer.append(UInt8(share.users == nil ? 0 : 1))
            if let users = share.users {
                writer.append(UInt64(users.count))
                for user in users { writer.append(text: user) }
            }
            guard writer.bytes.count > partBytesMax else { continue }
            parts.append(writer.bytes)
            writer = ByteWriter(capacity: 1_024)
        }
        return parts + [writer.bytes]
    }

    /// Reads what ``parts(of:)`` has written, one after the other.
    package static func list(_ bytes: [UInt8]) -> [ChannelShare] {
        var reader = ByteReader(bytes[...])
        return reader.list { reader in
            let (name, subscriptions) = (reader.text(), reader.count())
            var users: [String]?
            if reader.byte() == 1 {
                let count = reader.count()
                var list: [String] = []
                while list.count < count, reader.isValid { list.append(reader.text()) }
                users = list
            }
            return ChannelShare(name: name, subscriptions: subscriptions, users: users)
        }
    }
}

/// The sum of the nodes' shares of channels.
package struct ChannelSums: Sendable {
    private var sums: [ChannelName: (subscriptions: Int, users: Set<[UInt8]>?, order: [String])] = [:]

    package init() {}

    package mutating func add(_ shares: [ChannelShare]) {
        for share in shares {
            guard let name = ChannelName(share.name, lengthMax: .max) else { continue }
            var sum = sums[name] ?? (0, share.users.map { _ in [] }, [])
            sum.subscriptions += share.subscriptions
            for user in share.users ?? [] where sum.users?.insert(Array(user.utf8)).inserted == true { sum.order.append(user) }
            sums[name] = sum
        }
    }

    /// The occupancy of a channel; nil if it has no subscribers on any node.
    package func occupancy(of channel: ChannelName) -> Hub.Occupancy? {
        guard let sum = sums[channel], sum.subscriptions > 0 else { return nil }
        return Hub.Occupancy(subscriptions: sum.subscriptions, users: sum.users?.count)
    }

    /// The users of a presence channel.
    package func users(of channel: ChannelName) -> [String] { sums[channel]?.order ?? [] }

    /// All channels, by name.
    package var channels: [(name: String, occupancy: Hub.Occupancy)] {
        sums.keys.compactMap { name in occupancy(of: name).map { (name.text, $0) } }.sorted { $0.0 < $1.0 }
    }
}
