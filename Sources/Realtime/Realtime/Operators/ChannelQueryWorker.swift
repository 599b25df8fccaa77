import FanOut
import HTTP
import PusherAPI
import PusherProtocol
import Server
import Threads

/// Looks up the channels, users or connections that a query lists, and encodes the response, on a separate thread.
/// For ten thousand of them this takes tens of milliseconds, and a loop that did it would not serve its other connections
/// meanwhile.
package final class ChannelQueryWorker: Sendable {
    /// The largest number of waiting queries; further ones get 503.
    private static let capacity = 256

    /// What is looked up.
    package enum Query: Sendable {
        /// Of Pusher's HTTP API.
        case channels(ChannelQuery, app: AppIndex)
        /// - Parameter format: that of its errors.
        case ops(OpsQuery, (any ErrorFormat)?)
        /// What runs on top makes the response.
        case custom(@Sendable () -> HTTPResponse)
    }

    private enum Item: Sendable {
        /// A query, and where its response goes.
        case query(Query, loop: Int, RequestID)
        /// This node's part of all nodes' connections.
        case part(
            Hub.ConnectionFilter, after: Hub.ConnectionPosition?, limit: Int, completed: @Sendable (ConnectionReport) -> Void)
    }

    private let queue: WorkQueue<Item>
    private let thread: Thread

    /// Starts the thread.
    /// - Parameter apps: the ids of the applications.
    init(hub: SharedHub, apps: [String]) {
        let queue = WorkQueue<Item>(capacity: Self.capacity)
        self.queue = queue
        thread = Thread(name: "channel-queries") {
            var batch: [Item] = []
            while queue.take(into: &batch, most: 1) == .items {
                for item in batch {
                    switch item {
                    case .query(let query, let loop, let request): Self.answer(query, hub, apps: apps, to: request, on: loop)
                    case .part(let filter, let position, let limit, let completed):
                        Self.list(filter, after: position, limit: limit, hub, completed)
                    }
                }
            }
        }
    }

    private static func answer(_ query: Query, _ hub: SharedHub, apps: [String], to request: RequestID, on loop: Int) {
        let respond = { @Sendable (response: HTTPResponse) in hub.post(.response(response, to: request), to: loop) }
        switch query {
        case .channels(let query, let app): respond(query.lookUp(app: app) { hub.read($0) }.response)
        case .custom(let makeResponse): respond(makeResponse())
        case .ops(.channels(let prefix, let limit), _):
            respond(ChannelReport(Hub.busiestChannels(prefix: prefix, limit: limit) { hub.read($0) }, apps: apps).response)
        case .ops(.connections(let filter, let before, let limit, ofCluster: _), let format):
            do throws(APIError) {
                let position = try position(before, hub)
                list(filter, after: position, limit: limit, hub) { respond($0.response(apps: apps)) }
            } catch {
                respond(error.response(format))
            }
        }
    }

    private static func position(
        _ before: ConnectionCursor?, _ hub: SharedHub
    ) throws(APIError) -> Hub.ConnectionPosition? {
        switch before {
        case nil: return nil
        case .position(let position)?: return position
        case .socket(let socket)?:
            if let position = hub.read({ $0.position(of: socket) }) { return position }
            throw .closed
        case .positionInCluster?:
            throw APIError(400, "Expected before to be the next of a page of one node: this is one of all nodes")
        }
    }

    /// The report visits all loops, and begins with the first.
    private static func list(
        _ filter: Hub.ConnectionFilter, after position: Hub.ConnectionPosition?, limit: Int, _ hub: SharedHub,
        _ completed: @escaping @Sendable (ConnectionReport) -> Void
    ) {
        let (entries, end) = Hub.newestConnections(filter, after: position, limit: limit) { hub.read($0) }
        hub.post(.report(ConnectionReport(entries, next: end, completed)), to: 0)
    }

    /// Queues a query. The loop receives ``LoopMessage/response(_:to:)``.
    /// - Returns: false if the queue is full.
    func post(_ query: Query, for request: RequestID, on loop: Int) -> Bool {
        queue.post(.query(query, loop: loop, request))
    }

    /// Queues the search for this node's part of all nodes' connections.
    /// - Parameter completed: gets the report, on any thread.
    /// - Returns: false if the queue is full.
    func post(
        _ filter: Hub.ConnectionFilter, after position: Hub.ConnectionPosition?, limit: Int,
        _ completed: @escaping @Sendable (ConnectionReport) -> Void
    ) -> Bool {
        queue.post(.part(filter, after: position, limit: limit, completed: completed))
    }

    /// The number of queries that wait.
    var depth: Int { queue.depth }

    /// Ends the thread. Call it once, after the last loop has stopped.
    func stop() {
        queue.close()
        thread.join()
    }
}

extension APIError {
    /// A list is to begin behind a connection that has closed.
    static var closed: APIError {
        APIError(400, "Expected before to be an open connection: this one has closed. Use the next of the page before")
    }
}
