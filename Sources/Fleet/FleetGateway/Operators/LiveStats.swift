import Access
import FanOut
import PusherProtocol
import Realtime
import Threads

/// The gateway's figures as events: once a second on `fleetwire-ops` and its mirror `private-fleetwire-ops`, while anybody
/// is subscribed.
enum LiveStats {
    /// Admins and ops may subscribe to it.
    static let channel = ChannelPolicy.operatorsChannel
    private static let event = "stats"
    /// Each node of a cluster publishes its own figures to its own subscribers.
    static let localChannels = Set([ChannelName(channel, lengthMax: 256)].compactMap { $0 })
    private static let names = [channel, "private-" + channel].compactMap { ChannelName($0, lengthMax: 256) }

    /// Each node of a cluster publishes its own figures to its own subscribers.
    /// - Parameter stats: the body of `GET /api/ops/stats`. Called only if there are subscribers.
    static func publish(on hub: SharedHub, app: AppIndex, stats: () -> [UInt8]) {
        let occupied = hub.read { hub in names.filter { hub.isOccupied($0, app: app) } }
        guard !occupied.isEmpty else { return }
        let data = stats()
        // If a mailbox is full, the next figures follow in a second.
        for name in occupied {
            _ = hub.publish(on: name, app: app, scope: .node) { [ServerMessage.event(event, name, data: data)] }
        }
    }
}
