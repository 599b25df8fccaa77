import Access
import Primitives
import Threads

/// The threads that execute queries and read what is to be replayed; the first one also counts expired and unconfirmed
/// notifications and unsent pushes. They are not the writer's thread, so queries do not wait for disk syncs, and the counts
/// do not delay commands.
///
/// Each thread has its own connection to the store, and takes one request after the other, so that a long read delays none that
/// another thread can serve; only what the same thread has answered just before goes out after it. Every read
/// sees all commits that were done before it began, on whichever connection. Long lists are read in parts, and everybody waits
/// in turn: see ``ReaderBacklog``.
package final class StoreReader: Sendable {
    /// The most requests whose replies go out together, which is less work. A server's answers take long, and none of them waits
    /// for the next.
    private static func batchMax(_ address: StoreAddress) -> Int { if case .file = address { 16 } else { 1 } }
    /// Milliseconds after which a thread sends what it has answered, before it takes another request.
    private static let batchMilliseconds: Int64 = 2

    private let queue: ReaderQueue
    private let threads: [Thread]

    /// Opens a store that a ``StoreWriter`` has created and migrated. All closures are called on the reader's threads.
    /// - Parameters:
    ///   - threadCount: the number of threads, and of connections to the store; at least one.
    ///   - queueMax: the most requests that may wait.
    ///   - queuePerSubjectMax: the most queries of one driver or customer that may wait.
    ///   - confirmSeconds: after that time, a notification that no device has confirmed counts as unconfirmed.
    ///   - backlogHours: notifications of people's channels are replayed until they are so old.
    ///   - backlogLimit: the most notifications of a replay.
    ///   - trips: the configured figures of trips.
    ///   - encode: returns the JSON of a response.
    ///   - onReplies: gets the replies to a batch of queries, in the order of the queries, except
    ///     ``Query/deliveryFigures``, whose replies follow when they are counted.
    ///   - onReplays: gets the pages of a batch of replays, in the order of the requests; nil for a page that cannot be read
    ///     now.
    ///   - onExpired: gets the number of notifications that have expired, about once a second.
    ///   - onPushQueues: gets the unsent jobs of each push lane, about twice a second.
    ///   - onUnconfirmed: gets the number of unconfirmed notifications of the last hour, about once a second.
    ///   - onRead: gets the number of rows that a part of a query has read, and whose query it is.
    ///   - onError: called for each database error; the query gets ``QueryReply/unavailable(_:)``.
    ///   - now: returns the current time in milliseconds since 1970.
    ///   - readClock: reads the clocks that decide what is replayed.
    package init(
        _ address: StoreAddress, threadCount: Int = 1, queueMax: Int = 4096, queuePerSubjectMax: Int = 32,
        confirmSeconds: Int = 5, backlogHours: Int = 48, backlogLimit: Int = 1_000, trips: TripRules = TripRules(),
        encode: @escaping @Sendable (QueryResult) -> [UInt8],
        onReplies: @escaping @Sendable ([(request: QueryRequest, reply: QueryReply)]) -> Void,
        onReplays: @escaping @Sendable ([(request: ReplayRequest, page: ReplayPage?)]) -> Void = { _ in },
        onExpired: @escaping @Sendable (NotificationCounts) -> Void = { _ in },
        onPushQueues: @escaping @Sendable ([PushLane: PushQueue]) -> Void = { _ in },
        onUnconfirmed: @escaping @Sendable (Int) -> Void = { _ in },
        onRead: @escaping @Sendable (_ rows: Int, _ subject: Sender) -> Void = { _, _ in },
        onError: @escaping @Sendable (DatabaseError) -> Void,
        now: @escaping @Sendable () -> Int64 = Clock.unixMilliseconds,
        readClock: @escaping @Sendable () -> ClockReading = ClockReading.current
    ) throws(StoreError) {
        let queue = ReaderQueue(ReaderBacklog(countMax: queueMax, perSubjectMax: queuePerSubjectMax))
        let start = now()
        self.queue = queue
        let serve = { @Sendable (number: Int, executor: QueryExecutor, replays: ReplayReader) in
            var batch: [ReaderRequest] = []
            var counts = number == 0 ? RegularCounts(expiry: ExpiryCount(from: start)) : nil
            var figures = FiguresQuery()
            let batchMax = Self.batchMax(address)
            while true {
                let waiting = figures.isRunning ? 0 : counts.map { _ in Timing.countInterval }
                var result = queue.take(into: &batch, most: 1, waiting: waiting)
                if result == .closed, !figures.isRunning { return }
                let start = Clock.monotonicMilliseconds()
                var answers: Answers = ([], [])
                for number in 1...batchMax where result == .items {
                    Self.answer(
                        batch, into: &answers, &figures, queue, executor, replays, encode, readClock(), now, onRead, onError)
                    guard number < batchMax, Clock.monotonicMilliseconds() - start < Self.batchMilliseconds else { break }
                    result = queue.take(into: &batch, most: 1, waiting: 0)
                }
                if !answers.replies.isEmpty { onReplies(answers.replies) }
                if !answers.pages.isEmpty { onReplays(answers.pages) }
                let counted = figures.next(
                    executor, now: now(), reply: { .found(encode(.deliveryFigures($0))) },
                    onError: { Self.unavailable($0, onError) })
                if !counted.isEmpty { onReplies(counted) }
                do throws(DatabaseError) {
                    try counts?.next(executor, now: now(), onExpired, onPushQueues, onUnconfirmed)
                } catch {
                    onError(error)
                }
            }
        }
        threads = try Self.startThreads(
            threadCount, queue,
            open: { () throws(StoreError) in
                let database = try Database.open(readingFrom: address)
                return (
                    QueryExecutor(database, confirmSeconds: confirmSeconds, backlogHours: backlogHours, trips: trips),
                    ReplayReader(database, backlogHours: backlogHours, limit: backlogLimit)
                )
            },
            serve: serve)
    }

    /// If the store cannot be opened once more, ends the threads that were started.
    private static func startThreads(
        _ count: Int, _ queue: ReaderQueue,
        open: @escaping @Sendable () throws(StoreError) -> (QueryExecutor, ReplayReader),
        serve: @escaping @Sendable (Int, QueryExecutor, ReplayReader) -> Void
    ) throws(StoreError) -> [Thread] {
        var threads: [Thread] = []
        do throws(StoreError) {
            for number in 0..<count {
                threads.append(
                    try StoreThread.start(
                        name: number == 0 ? "store-reader" : "store-reader-\(number)", open: open,
                        run: { executor, replays in serve(number, executor, replays) }))
            }
        } catch {
            queue.close()
            for thread in threads { thread.join() }
            throw error
        }
        return threads
    }

    /// What the first thread counts between requests.
    private struct RegularCounts {
        var expiry: ExpiryCount
        var pushes = RegularCount()
        var unconfirmed = RegularCount()

        mutating func next(
            _ executor: QueryExecutor, now: Int64, _ onExpired: (NotificationCounts) -> Void,
            _ onPushQueues: ([PushLane: PushQueue]) -> Void, _ onUnconfirmed: (Int) -> Void
        ) throws(DatabaseError) {
            if let counts = try expiry.next(executor, now: now), !counts.isEmpty { onExpired(counts) }
            if let queues = try pushes.next(counting: { () throws(DatabaseError) in try executor.pushQueues() }) {
                onPushQueues(queues)
            }
            if let count = try unconfirmed.next(counting: { () throws(DatabaseError) in
                try executor.unconfirmedCount(now: now)
            }) {
                onUnconfirmed(count)
            }
        }
    }

    /// Queues a query, unless too many of its subject, or of all subjects, wait.
    package func post(_ request: QueryRequest) -> PostResult { queue.post(.query(request)) }

    /// Queues a request for a page of a replay. Returns false if the queue is full for replays, or after ``stop()``.
    package func post(_ request: ReplayRequest) -> Bool { queue.post(.replay(request)) == .queued }

    /// The number of requests that wait.
    package var queueDepth: Int { queue.depth }

    /// How long requests have waited.
    package var waits: WaitTimes { queue.waits }

    /// Executes the queued requests and closes the store. Call once.
    package func stop() {
        queue.close()
        for thread in threads { thread.join() }
    }

    private typealias Answers = (
        replies: [(request: QueryRequest, reply: QueryReply)], pages: [(request: ReplayRequest, page: ReplayPage?)]
    )

    private static func answer(
        _ batch: [ReaderRequest], into answers: inout Answers, _ figures: inout FiguresQuery, _ queue: ReaderQueue,
        _ executor: QueryExecutor, _ replays: ReplayReader, _ encode: (QueryResult) -> [UInt8],
        _ reading: ClockReading, _ now: () -> Int64, _ onRead: (Int, Sender) -> Void, _ onError: (DatabaseError) -> Void
    ) {
        for request in batch {
            let start = executor.readRows
            defer {
                let rows = Int(executor.readRows - start)
                if rows > 0, let subject = request.subject { onRead(rows, subject) }
            }
            switch request {
            case .query(let request) where request.query == .deliveryFigures: figures.add(request)
            case .query(let request):
                let answer = reply(to: request, queue, encode, onError) { () throws(DatabaseError) in
                    try executor.begin(request.query, now: now())
                }
                if let answer { answers.replies.append((request, answer)) }
            case .list(let request, let search):
                let answer = reply(to: request, queue, encode, onError) { () throws(DatabaseError) in
                    try executor.proceed(search)
                }
                if let answer { answers.replies.append((request, answer)) }
            case .replay(let request):
                answers.pages.append((request, page(for: request, replays, reading, onError)))
            }
        }
    }

    private static func page(
        for request: ReplayRequest, _ replays: ReplayReader, _ reading: ClockReading, _ onError: (DatabaseError) -> Void
    ) -> ReplayPage? {
        do throws(DatabaseError) {
            return try replays.page(for: request, at: reading)
        } catch {
            onError(error)
            return nil
        }
    }

    /// The reply to a query; nil if its list is searched further when its turn comes.
    private static func reply(
        to request: QueryRequest, _ queue: ReaderQueue, _ encode: (QueryResult) -> [UInt8], _ onError: (DatabaseError) -> Void,
        _ step: () throws(DatabaseError) -> QueryExecutor.Step
    ) -> QueryReply? {
        guard !request.isExpired(at: Clock.monotonicMilliseconds()) else { return .unavailable("The store does not answer") }
        do throws(DatabaseError) {
            switch try step() {
            case .searching(let search):
                _ = queue.post(.list(request, search))  // always has room
                return nil
            case .done(.success(.mustWrite)): return .mustWrite
            case .done(.success(let result)): return .found(encode(result))
            case .done(.failure(let error)): return .rejected(error)
            }
        } catch {
            return unavailable(error, onError)
        }
    }

    private static func unavailable(_ error: DatabaseError, _ onError: (DatabaseError) -> Void) -> QueryReply {
        onError(error)
        return .unavailable("The store cannot be read now")
    }
}
