import Primitives

/// Limits the open connections and the handshakes per second of each address, so that one client cannot use up the
/// gateway. The addresses of an IPv6 /64 count as one.
///
/// A decision takes constant time. An address is stored only while it has open connections or has had a handshake in the
/// last second.
package struct AddressLimits {
    /// The answer to a handshake. The raw values are configuration keys, without `server.`.
    package enum Decision: String, Equatable, Sendable {
        /// The connection counts until ``closed(_:now:)``.
        case admitted = ""
        /// The address has as many open connections as it may have.
        case connections = "connections_per_ip"
        /// The address has made as many handshakes in the last second as it may make.
        case handshakes = "handshakes_per_ip_per_second"
    }

    private struct Client {
        var connections: Int32 = 0
        var handshakes = TokenBucket()
    }

    private static let second: Int64 = 1_000_000_000

    private let connectionsMax: Int
    /// Nil without a limit.
    private let handshakeRate: RateLimit?
    private var clients: [IPAddress: Client] = [:]
    /// The admitted handshakes of the last second, oldest first; those before `oldest` are already handled.
    private var recent: [(address: IPAddress, at: Int64)] = []
    private var oldest = 0

    /// - Parameters:
    ///   - connectionsMax: open connections per address; 0: no limit.
    ///   - handshakesPerSecond: handshakes per address and second, which may come in a burst; 0: no limit.
    package init(connectionsMax: Int, handshakesPerSecond: Int) {
        self.connectionsMax = connectionsMax
        handshakeRate =
            handshakesPerSecond > 0 ? RateLimit(perSecond: handshakesPerSecond, burst: handshakesPerSecond) : nil
    }

    /// The number of stored addresses.
    package var count: Int { clients.count }

    /// Decides on a handshake, and counts it if it is admitted.
    /// - Parameter now: nanoseconds on the monotonic clock.
    package mutating func decide(_ address: IPAddress, now: Int64) -> Decision {
        guard connectionsMax > 0 || handshakeRate != nil else { return .admitted }
        forgetQuietClients(now)
        let address = address.subscriber
        var client = clients[address] ?? Client()
        if connectionsMax > 0 {
            guard client.connections < connectionsMax else { return .connections }
            client.connections += 1
        }
        if let handshakeRate {
            guard client.handshakes.consume(handshakeRate, now: now) else { return .handshakes }
            recent.append((address, now))
        }
        clients[address] = client
        return .admitted
    }

    /// Records that an admitted connection has closed.
    /// - Parameter now: nanoseconds on the monotonic clock.
    package mutating func closed(_ address: IPAddress, now: Int64) {
        guard connectionsMax > 0 else { return }
        let address = address.subscriber
        guard let client = clients[address], client.connections > 0 else {
            preconditionFailure("AddressLimits.closed was called for an address without connections")
        }
        clients[address]?.connections -= 1
        // If the bucket is not full yet, `forgetQuietClients` will forget the address.
        forgetIfQuiet(address, now)
    }

    /// Removes addresses that have no connections and a full bucket. Handles at most two old handshakes per call: each
    /// call adds at most one, so their number cannot grow for longer than a second.
    private mutating func forgetQuietClients(_ now: Int64) {
        for _ in 0..<2 {
            guard oldest < recent.count, recent[oldest].at + Self.second <= now else { break }
            forgetIfQuiet(recent[oldest].address, now)
            oldest += 1
        }
        // Removing the handled part only when it is half of the array costs constant time per handshake on average.
        if oldest > 64, oldest * 2 > recent.count {
            recent.removeSubrange(..<oldest)
            oldest = 0
        }
    }

    private mutating func forgetIfQuiet(_ address: IPAddress, _ now: Int64) {
        guard let client = clients[address], client.connections == 0, client.handshakes.isFull(at: now) else { return }
        clients[address] = nil
    }
}
