import FanOut
import HTTPAPI
import PusherProtocol
import Server
import Threads

/// Looks up the channels, users or connections that a query lists, and encodes the response, on a separate thread. For ten
/// thousand names this takes tens of milliseconds, and a loop that did it would not serve its other connections meanwhile.
final class ChannelQueryWorker: Sendable {
    /// The largest number of waiting queries; further ones get 503.
    private static let capacity = 256

    /// What is looked up.
    enum Query: Sendable {
        /// Of Pusher's HTTP API.
        case channels(ChannelQuery, app: AppIndex)
        case ops(OpsQuery)
    }

    /// A query, and where its response goes.
    private struct PendingQuery {
        let query: Query
        let loop: Int
        let request: RequestID
    }

    private let queue: WorkQueue<PendingQuery>
    private let thread: Thread

    /// Starts the thread.
    /// - Parameter apps: the ids of the applications.
    init(hub: SharedHub, apps: [String]) {
        let queue = WorkQueue<PendingQuery>(capacity: Self.capacity)
        self.queue = queue
        thread = Thread(name: "channel-queries") {
            var batch: [PendingQuery] = []
            while queue.take(into: &batch, most: 1) == .items {
                for item in batch {
                    switch item.query {
                    case .channels(let query, let app):
                        let result = query.lookUp(app: app) { hub.read($0) }
                        hub.post(.response(result.response, to: item.request), to: item.loop)
                    case .ops(.channels(let prefix, let limit)):
                        let channels = Hub.busiestChannels(prefix: prefix, limit: limit) { hub.read($0) }
                        hub.post(.response(ChannelReport(channels, apps: apps).response, to: item.request), to: item.loop)
                    case .ops(.connections(let filter, let before, let limit)):
                        let (next, loop) = Self.list(filter, before: before, limit: limit, hub, item)
                        hub.post(next, to: loop)
                    }
                }
            }
        }
    }

    /// - Returns: the report, which visits all loops and begins with the first; or the response that the position is unknown.
    private static func list(
        _ filter: Hub.ConnectionFilter, before: ConnectionCursor?, limit: Int, _ hub: SharedHub, _ item: PendingQuery
    ) -> (next: LoopMessage, loop: Int) {
        var position: Hub.ConnectionPosition?
        switch before {
        case nil: break
        case .position(let given)?: position = given
        case .socket(let socket)?:
            position = hub.read { $0.position(of: socket) }
            guard position != nil else {
                let text = "Expected before to be an open connection: this one has closed. Use the next of the page before"
                return (.response(Envelope.error.error(400, text), to: item.request), item.loop)
            }
        }
        let (entries, end) = Hub.newestConnections(filter, after: position, limit: limit) { hub.read($0) }
        return (.report(ConnectionReport(entries, next: end, for: item.request, on: item.loop)), 0)
    }

    /// Queues a query. The loop receives ``LoopMessage/response(_:to:)``.
    /// - Returns: false if the queue is full.
    func post(_ query: Query, for request: RequestID, on loop: Int) -> Bool {
        queue.post(PendingQuery(query: query, loop: loop, request: request))
    }

    /// The number of queries that wait.
    var depth: Int { queue.depth }

    /// Ends the thread. Call it once, after the last loop has stopped.
    func stop() {
        queue.close()
        thread.join()
    }
}
