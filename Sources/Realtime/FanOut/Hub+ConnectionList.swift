import PusherProtocol

/// The lists of connections and channels for operators.
extension Hub {
    /// Which connections a list contains. Nil: all.
    package struct ConnectionFilter: Sendable {
        /// Subscribers of a channel of this name, in any application.
        package let channel: ChannelName?
        /// Connections of a user: the id of a sign-in, or an identifier that was verified, with its kind or without.
        package let user: String?

        package init(channel: ChannelName? = nil, user: String? = nil) {
            self.channel = channel
            self.user = user
        }
    }

    /// An open connection, as the hub knows it.
    package struct ConnectionEntry: Sendable {
        package let socket: SocketID
        package let app: AppIndex
        /// In milliseconds of the monotonic clock; of the second in which it was opened.
        package let openedAt: Int64
        /// The user's id, if the connection has signed in; else the first identifier that was verified for it.
        package let user: String?
        /// The names of the channels, at most ``channelsMax``.
        package let channels: [String]
        /// The number of all channels.
        package let channelCount: Int

        /// Its place in lists.
        package var position: ConnectionPosition { ConnectionPosition(openedAt: openedAt, socket: socket) }

        /// The most channels that are named.
        package static let channelsMax = 100
    }

    /// Where a list begins: behind a connection.
    package struct ConnectionPosition: Equatable, Sendable, CustomStringConvertible {
        fileprivate let openedAt: Int64
        fileprivate let socket: SocketID

        fileprivate init(openedAt: Int64, socket: SocketID) {
            self.openedAt = openedAt
            self.socket = socket
        }

        /// Parses ``description``; nil for other texts.
        package init?(_ text: some StringProtocol) {
            let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let openedAt = Int64(parts[0]), let socket = SocketID(parts[1]) else { return nil }
            self.init(openedAt: openedAt, socket: socket)
        }

        /// The same place in lists by another clock, which shows so many milliseconds more.
        package func advanced(by milliseconds: Int64) -> ConnectionPosition {
            ConnectionPosition(openedAt: openedAt &+ milliseconds, socket: socket)
        }

        /// The position as text, which stays valid when the connection has closed.
        package var description: String { "\(openedAt)-\(socket)" }

        /// Newest first; of the same second in the order of their places.
        package static func precedes(_ one: ConnectionPosition, _ other: ConnectionPosition) -> Bool {
            (one.openedAt, one.socket.place, one.socket.salt) > (other.openedAt, other.socket.place, other.socket.salt)
        }
    }

    /// The position of an open connection; nil if it is closed.
    package func position(of socket: SocketID) -> ConnectionPosition? {
        isOpen(socket) ? ConnectionPosition(openedAt: self[socket].openedAt, socket: socket) : nil
    }

    /// The newest connections that a filter selects, newest first. All connections are searched, ``slotsPerSlice`` at a
    /// time; the list is not a snapshot.
    /// - Parameters:
    ///   - position: the list begins behind it; nil: with the newest.
    ///   - read: passes the hub to its argument. The caller locks the hub only while `read` runs, once for each slice.
    /// - Returns: `end`: where the next part begins; nil if there is none.
    package static func newestConnections(
        _ filter: ConnectionFilter, after position: ConnectionPosition?, limit: Int, read: (_ body: (Hub) -> Void) -> Void
    ) -> (entries: [ConnectionEntry], end: ConnectionPosition?) {
        var found: [ConnectionPosition] = []
        var loopCount = 0
        read { loopCount = $0.loopCount }
        for loop in 0..<loopCount {
            var (start, end) = (0, 0)
            repeat {
                read { hub in
                    end = hub.connectionSlots(of: loop)
                    hub.appendConnections(filter, after: position, loop, start..<min(start + slotsPerSlice, end), to: &found)
                }
                start += slotsPerSlice
                if found.count > max(4 * limit, slotsPerSlice) { keepNewest(limit, of: &found) }
            } while start < end
        }
        keepNewest(limit, of: &found)
        let entries = found.compactMap { position in
            var entry: ConnectionEntry?
            read { entry = $0.entry(of: position.socket) }
            return entry
        }
        // Of the positions, because connections that have closed meanwhile have no entry.
        return (entries, found.count == limit ? found.last : nil)
    }

    private static func keepNewest(_ limit: Int, of found: inout [ConnectionPosition]) {
        found.sort(by: ConnectionPosition.precedes)
        if found.count > limit { found.removeLast(found.count - limit) }
    }

    private func appendConnections(
        _ filter: ConnectionFilter, after position: ConnectionPosition?, _ loop: Int, _ slots: Range<Int>,
        to found: inout [ConnectionPosition]
    ) {
        let channels = filter.channel.map { name in apps.indices.map { apps[$0].slots[name] } }
        for slot in slots {
            guard let socket = connectionSocket(loop: loop, slot: slot) else { continue }
            let connection = self[socket]
            if let channels {
                guard let channel = channels[connection.app], connection.subscriptions.contains(channel) else { continue }
            }
            if let user = filter.user, !connection.belongs(to: user) { continue }
            let place = ConnectionPosition(openedAt: connection.openedAt, socket: socket)
            if let position, !ConnectionPosition.precedes(position, place) { continue }
            found.append(place)
        }
    }

    private func entry(of socket: SocketID) -> ConnectionEntry? {
        guard isOpen(socket) else { return nil }
        let connection = self[socket]
        // Names with # are the gateway's own.
        let names = connection.subscriptions.elements.lazy.map { channels[$0].name.text }.filter {
            $0.utf8.first != UInt8(ascii: "#")
        }
        return ConnectionEntry(
            socket: socket, app: connection.app, openedAt: connection.openedAt,
            user: connection.user?.id ?? connection.identifiers.first,
            channels: Array(names.prefix(ConnectionEntry.channelsMax)), channelCount: names.count)
    }

    // MARK: Channels

    /// A channel with subscribers.
    package struct ChannelEntry: Sendable {
        package let name: String
        package let app: AppIndex
        package let occupancy: Occupancy
        /// The events that were published to it in the last five minutes, while it had subscribers.
        package let recentEvents: Int
    }

    /// The channels of all applications whose names begin with a prefix, those with the most recent events first; of as
    /// many events in the order of their names.
    /// - Parameter read: as of ``newestConnections(_:after:limit:read:)``.
    package static func busiestChannels(
        prefix: String, limit: Int, read: (_ body: (Hub) -> Void) -> Void
    ) -> [ChannelEntry] {
        var found: [ChannelEntry] = []
        var (start, end) = (0, 0)
        repeat {
            read { hub in
                end = hub.channels.count
                for slot in start..<max(start, min(start + slotsPerSlice, end)) {
                    let channel = hub.channels[slot]
                    let name = channel.name.text
                    guard !channel.loops.isEmpty, name.utf8.starts(with: prefix.utf8), name.utf8.first != UInt8(ascii: "#")
                    else { continue }
                    found.append(
                        ChannelEntry(
                            name: name, app: channel.app, occupancy: hub.occupancy(of: channel),
                            recentEvents: channel.events.sum(at: hub.now)))
                }
            }
            start += slotsPerSlice
            if found.count > max(4 * limit, slotsPerSlice) { keepBusiest(limit, of: &found) }
        } while start < end
        keepBusiest(limit, of: &found)
        return found
    }

    private static func keepBusiest(_ limit: Int, of found: inout [ChannelEntry]) {
        found.sort { ($1.recentEvents, $0.name, $0.app) < ($0.recentEvents, $1.name, $1.app) }
        if found.count > limit { found.removeLast(found.count - limit) }
    }
}

extension Connection {
    fileprivate func belongs(to user: String) -> Bool {
        self.user?.id == user
            || identifiers.contains { identifier in
                if identifier == user { return true }
                guard let colon = identifier.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
                return identifier[identifier.utf8.index(after: colon)...] == user
            }
    }
}

/// The number of a channel's events in the last five minutes, by minute.
struct RecentEvents {
    private static let minutes: Int64 = 5
    /// The minute of the last event.
    private var minute: Int64 = 0
    /// By minute modulo 8.
    private var counts = SIMD8<UInt32>()

    /// - Parameter now: milliseconds of the monotonic clock.
    mutating func add(at now: Int64) {
        advance(to: now / 60_000)
        counts[Int(minute & 7)] &+= 1
    }

    /// The events of the present minute and the four before it.
    func sum(at now: Int64) -> Int {
        var present = self
        present.advance(to: now / 60_000)
        return (0..<Self.minutes).reduce(0) { $0 + Int(present.counts[Int((present.minute - $1) & 7)]) }
    }

    private mutating func advance(to now: Int64) {
        guard now > minute else { return }
        if now - minute >= 8 {
            counts = SIMD8<UInt32>()
        } else {
            for skipped in (minute + 1)...now { counts[Int(skipped & 7)] = 0 }
        }
        minute = now
    }
}
