import FanOut
import HTTPAPI
import Server
import Threads

/// Looks up the channels or users that a query lists, and encodes the response, on a separate thread. For ten thousand
/// names this takes tens of milliseconds, and a loop that did it would not serve its other connections meanwhile.
final class ChannelQueryWorker: Sendable {
    /// The largest number of waiting queries; further ones get 503.
    private static let capacity = 256

    private struct PendingQuery {
        let query: ChannelQuery
        let app: AppIndex
        let loop: Int
        let request: RequestID
    }

    private let queue: WorkQueue<PendingQuery>
    private let thread: Thread

    /// Starts the thread.
    init(hub: SharedHub) {
        let queue = WorkQueue<PendingQuery>(capacity: Self.capacity)
        self.queue = queue
        thread = Thread(name: "channel-queries") {
            var batch: [PendingQuery] = []
            while queue.take(into: &batch, most: 1) == .items {
                for item in batch {
                    let result = item.query.lookUp(app: item.app) { hub.read($0) }
                    hub.post(.response(result.response, to: item.request), to: item.loop)
                }
            }
        }
    }

    /// Queues a query. The loop receives ``LoopMessage/response(_:to:)``.
    /// - Returns: false if the queue is full.
    func post(_ query: ChannelQuery, app: AppIndex, for request: RequestID, on loop: Int) -> Bool {
        queue.post(PendingQuery(query: query, app: app, loop: loop, request: request))
    }

    /// The number of queries that wait.
    var depth: Int { queue.depth }

    /// Ends the thread. Call it once, after the last loop has stopped.
    func stop() {
        queue.close()
        thread.join()
    }
}
