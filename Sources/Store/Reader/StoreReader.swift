import FleetRules
import Threads

/// The thread that executes queries, and counts expired notifications. It is not the writer's thread, so queries do not
/// wait for disk syncs.
package final class StoreReader: Sendable {
    /// The most queries whose replies one call of `onReplies` gets.
    private static let batchMax = 64

    private let queue: WorkQueue<QueryRequest>
    private let thread: Thread

    /// Opens a store that a ``StoreWriter`` has created and migrated. All closures are called on the reader's thread.
    /// - Parameters:
    ///   - queueMax: the most queries that may wait.
    ///   - encode: returns the JSON of a response.
    ///   - onReplies: gets the replies to a batch of queries, in the order of the queries.
    ///   - onExpired: gets the number of notifications that have expired, about once a second.
    ///   - onError: called for each database error; the query gets ``QueryReply/unavailable(_:)``.
    ///   - now: returns the current time in milliseconds since 1970.
    package init(
        path: String, queueMax: Int = 4096, encode: @escaping @Sendable (QueryResult) -> [UInt8],
        onReplies: @escaping @Sendable ([(request: QueryRequest, reply: QueryReply)]) -> Void,
        onExpired: @escaping @Sendable (DeliveryCounts) -> Void = { _ in },
        onError: @escaping @Sendable (DatabaseError) -> Void, now: @escaping @Sendable () -> Int64 = Clock.unixMilliseconds
    ) throws(StoreError) {
        let queue = WorkQueue<QueryRequest>(capacity: queueMax)
        let start = now()
        self.queue = queue
        thread = try StoreThread.start(
            name: "store-reader",
            open: { () throws(StoreError) in try Self.open(path) },
            run: { executor in
                var batch: [QueryRequest] = []
                var expiry = ExpiryCount(from: start)
                while true {
                    let result = queue.take(into: &batch, most: Self.batchMax, waiting: ExpiryCount.interval)
                    if result == .closed { return }
                    if result == .items { onReplies(batch.map { ($0, Self.reply(to: $0.query, executor, encode, onError)) }) }
                    do throws(DatabaseError) {
                        if let counts = try expiry.next(executor, now: now()), !counts.isEmpty { onExpired(counts) }
                    } catch {
                        onError(error)
                    }
                }
            })
    }

    /// Queues a query. Returns false if the queue is full, or after ``stop()``.
    package func post(_ request: QueryRequest) -> Bool { queue.post(request) }

    /// The number of queries that wait.
    package var queueDepth: Int { queue.depth }

    /// Executes the queued queries and closes the file. Call once.
    package func stop() {
        queue.close()
        thread.join()
    }

    private static func open(_ path: String) throws(StoreError) -> QueryExecutor {
        let database = try Database.open(readingFrom: path)
        return QueryExecutor(database)
    }

    private static func reply(
        to query: Query, _ executor: QueryExecutor, _ encode: (QueryResult) -> [UInt8], _ onError: (DatabaseError) -> Void
    ) -> QueryReply {
        do throws(DatabaseError) {
            switch try executor.execute(query) {
            case .success(let result): return .found(encode(result))
            case .failure(let error): return .rejected(error)
            }
        } catch {
            onError(error)
            return .unavailable("The store cannot be read now")
        }
    }
}
