import FleetRules
import Threads

/// The thread that reads, so that nobody who only asks waits behind a disk sync.
package final class StoreReader: Sendable {
    private static let batchMax = 64

    private let queue: WorkQueue<QueryRequest>
    private let thread: Thread

    /// Opens the store that a ``StoreWriter`` has opened before.
    /// - Parameters:
    ///   - queueMax: queries that may wait.
    ///   - answered: called on the reader's thread with the answers to some queries, in the order of asking.
    ///   - report: called when the database fails.
    package init(
        path: String, queueMax: Int = 4096, answered: @escaping @Sendable ([QueryReply]) -> Void,
        report: @escaping @Sendable (DatabaseError) -> Void
    ) throws(StoreError) {
        let queue = WorkQueue<QueryRequest>(capacity: queueMax)
        self.queue = queue
        thread = try StoreThread.start(
            name: "store-reader",
            open: { () throws(StoreError) in try Self.open(path) },
            run: { archive in
                var batch: [QueryRequest] = []
                while queue.take(into: &batch, most: Self.batchMax) == .items {
                    answered(batch.map { QueryReply(request: $0, outcome: Self.outcome($0.query, archive, report)) })
                }
            })
    }

    /// Hands a query over; false when too many wait, or after ``stop()``.
    package func post(_ query: QueryRequest) -> Bool { queue.post(query) }

    /// Queries waiting.
    package var queueDepth: Int { queue.depth }

    /// Answers what waits, and closes the file. To be called once.
    package func stop() {
        queue.close()
        thread.join()
    }

    private static func open(_ path: String) throws(StoreError) -> QueryExecutor {
        let database = try Database.open(readingFrom: path)
        return QueryExecutor(database)
    }

    private static func outcome(
        _ enquiry: Query, _ archive: QueryExecutor, _ report: (DatabaseError) -> Void
    ) -> QueryReply.Outcome {
        do throws(DatabaseError) {
            switch try archive.perform(enquiry) {
            case .success(let body): return .found(body)
            case .failure(let refusal): return .refused(refusal)
            }
        } catch {
            report(error)
            return .unavailable("The store cannot be read now")
        }
    }
}
