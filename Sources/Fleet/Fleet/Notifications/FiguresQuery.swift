/// Answers the requests for the figures of the last hour. Their notifications can be a million, so they are counted in
/// slices, and the reader serves others in between.
struct FiguresQuery {
    /// The requests that wait. Those that come during a count get its figures, too.
    private var requests: [QueryRequest] = []
    private var count: NotificationTable.FiguresCount?

    var isRunning: Bool { !requests.isEmpty }

    mutating func add(_ request: QueryRequest) { requests.append(request) }

    /// Counts the next slice.
    /// - Parameters:
    ///   - reply: makes a reply of the figures.
    ///   - onError: makes a reply of an error.
    /// - Returns: the replies to the requests, after the last slice; otherwise none.
    mutating func next(
        _ executor: QueryExecutor, now: Int64, reply: (ReceiptFigures) -> QueryReply,
        onError: (DatabaseError) -> QueryReply
    ) -> [(request: QueryRequest, reply: QueryReply)] {
        guard isRunning else { return [] }
        // Taken, so that the count is not copied when it grows.
        var count = self.count.take() ?? executor.figuresCount(now: now)
        let end: QueryReply
        do throws(DatabaseError) {
            guard let figures = try executor.countFigures(&count, now: now) else {
                self.count = count
                return []
            }
            end = reply(figures)
        } catch {
            end = onError(error)
        }
        defer { requests = [] }
        return requests.map { ($0, end) }
    }
}
