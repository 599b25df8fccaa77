import Access
import Primitives

/// What a reader is asked to do next.
enum ReaderRequest: Sendable {
    case query(QueryRequest)
    case replay(ReplayRequest)
    /// The next part of a list that is being searched.
    case list(QueryRequest, NotificationSearch)

    /// Whose query it is; nil: a replay, or the gateway's own.
    var subject: Sender? {
        switch self {
        case .query(let request), .list(let request, _): request.subject
        case .replay: nil
        }
    }

    /// Whether a part of it is done.
    var isBegun: Bool { if case .list = self { true } else { false } }
}

/// The requests that wait for the readers. A value: ``ReaderQueue`` shares it among threads.
///
/// Replays, queries and lists of which a part is done take turns, so none of them waits for all of another. Within each, the
/// subjects take turns: a subject that asks for much waits for itself.
struct ReaderBacklog {
    private enum Kind: Int, CaseIterable { case replay, query, list }

    private struct Waiting {
        let request: ReaderRequest
        /// Milliseconds on the monotonic clock.
        let since: Int64
    }

    /// The requests of one kind, by subject.
    private struct Turns {
        private var bySubject: [String: FIFO<Waiting>] = [:]
        /// The subjects that have requests, the next one first.
        private var subjects = FIFO<String>()

        mutating func append(_ waiting: Waiting, of subject: String) {
            if bySubject[subject] == nil { subjects.append(subject) }
            bySubject[subject, default: FIFO()].append(waiting)
        }

        mutating func popFirst() -> (subject: String, Waiting)? {
            guard let subject = subjects.popFirst(), let next = bySubject[subject]?.popFirst() else { return nil }
            if bySubject[subject]?.isEmpty == true { bySubject[subject] = nil } else { subjects.append(subject) }
            return (subject, next)
        }
    }

    private let countMax: Int
    private let perSubjectMax: Int
    /// By kind.
    private var turns = Kind.allCases.map { _ in Turns() }
    /// The kind whose turn it is.
    private var next = 0
    /// The number of waiting queries by subject, with the lists of which a part is done.
    private var queries: [String: Int] = [:]
    private(set) var count = 0
    /// How long requests have waited before a reader began with them.
    private(set) var waits = WaitTimes()

    /// - Parameters:
    ///   - countMax: the most requests that may wait.
    ///   - perSubjectMax: the most queries of one driver or customer that may wait. A backend may ask for all dispatchers with
    ///     one token, so an admin may have half of the places.
    init(countMax: Int, perSubjectMax: Int) {
        self.countMax = countMax
        self.perSubjectMax = perSubjectMax
    }

    /// - Parameter now: milliseconds on the monotonic clock.
    mutating func append(_ request: ReaderRequest, at now: Int64) -> PostResult {
        switch request {
        case .query(let query):
            let most = query.subject?.role.map { limit(for: $0) } ?? countMax
            if queries[query.subjectKey, default: 0] >= most { return .subjectFull }
            if count >= countMax { return .queueFull }
            queries[query.subjectKey, default: 0] += 1
            add(request, .query, of: query.subjectKey, at: now)
        case .replay(let replay):
            // After an outage all devices ask for one, and queries still need places.
            if count >= countMax - countMax / 4 { return .queueFull }
            add(request, .replay, of: replay.key.owner, at: now)
        case .list(let query, _):
            // It has its place already.
            queries[query.subjectKey, default: 0] += 1
            add(request, .list, of: query.subjectKey, at: now)
        }
        return .queued
    }

    private func limit(for role: Role) -> Int {
        switch role {
        case .admin, .ops: max(perSubjectMax, countMax / 2)
        case .driver, .customer: perSubjectMax
        }
    }

    private mutating func add(_ request: ReaderRequest, _ kind: Kind, of subject: String, at now: Int64) {
        turns[kind.rawValue].append(Waiting(request: request, since: now), of: subject)
        count += 1
    }

    /// Appends the next requests to `batch`: at most `limit`, and at most one part of a list, as the last one.
    /// - Parameter now: milliseconds on the monotonic clock.
    mutating func take(into batch: inout [ReaderRequest], most limit: Int, at now: Int64) {
        while batch.count < limit, let (subject, waiting) = popFirst() {
            count -= 1
            batch.append(waiting.request)
            switch waiting.request {
            case .replay: waits.record(milliseconds: now - waiting.since)
            case .query:
                waits.record(milliseconds: now - waiting.since)
                removeQuery(of: subject)
            case .list:
                removeQuery(of: subject)
                return
            }
        }
    }

    private mutating func popFirst() -> (subject: String, Waiting)? {
        for _ in turns.indices {
            defer { next = (next + 1) % turns.count }
            if let first = turns[next].popFirst() { return first }
        }
        return nil
    }

    private mutating func removeQuery(of subject: String) {
        let left = queries[subject, default: 0] - 1
        queries[subject] = left > 0 ? left : nil
    }
}

/// A histogram of waits.
package struct WaitTimes: Equatable, Sendable {
    /// The inclusive upper bounds of ``buckets`` in seconds. One more bucket counts longer waits.
    package static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    /// Waits per bucket; not cumulative.
    package private(set) var buckets = [Int](repeating: 0, count: bounds.count + 1)
    package private(set) var count = 0
    /// The sum of all waits, in milliseconds.
    package private(set) var milliseconds: Int64 = 0

    mutating func record(milliseconds: Int64) {
        count += 1
        self.milliseconds += milliseconds
        let seconds = Double(milliseconds) / 1_000
        buckets[Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count] += 1
    }
}
