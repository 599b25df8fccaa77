import Primitives

/// The kinds of requests whose rate is limited for each sender.
package enum SubjectRate: String, Sendable {
    /// `/pusher/auth`, `/pusher/user-auth`.
    case authorization = "authorization requests"
    /// Writes to the store.
    case command = "commands"
    /// Reads from the store.
    case query = "queries"
    /// Drivers' positions.
    case location = "location updates"

    /// The rows that a query may read for the token that it has taken when it was made; each further token pays for as many.
    package static let rowsPerQuery = 50

    /// The tokens that a query takes beyond its first one.
    package static func tokens(ofReading rows: Int) -> Int { max(0, (rows - 1) / rowsPerQuery) }

    /// What a sender who is over the limit is told.
    func refusal(of subject: String) -> String {
        switch self {
        case .authorization, .command, .query: "Too many \(rawValue) of \(subject): try again"
        case .location: "Too many location updates"  // existing apps' words
        }
    }
}

extension Command.Action {
    /// The tokens that a command takes of its sender's rate. Lists are as much work as many commands: some 25 ids to mark,
    /// or 5 telemetry events, cost the store as much as one command.
    var tokens: Int {
        switch self {
        case .markRead(let ids?): max(1, (ids.count + 24) / 25)
        case .telemetry(let events): max(1, (events.count + 4) / 5)
        default: 1
        }
    }
}

/// Limits the rate of each sender's requests, by the subject of its token.
///
/// A decision takes constant time. A subject is stored only until its bucket is full again, and some time longer: each
/// decision looks at two stored subjects, in turn, and forgets those with a full bucket.
package struct SubjectLimits {
    private let limit: RateLimit
    private let countMax: Int
    private var subjects: [(key: String, bucket: TokenBucket)] = []
    private var positions: [String: Int] = [:]
    /// The index of the subject to look at next.
    private var next = 0

    /// - Parameters:
    ///   - limit: the rate of one subject.
    ///   - countMax: the most subjects that are stored. The requests of further ones are not limited: memory is, and to
    ///     get there takes as many valid tokens.
    package init(_ limit: RateLimit, countMax: Int) {
        self.limit = limit
        self.countMax = countMax
    }

    /// The number of stored subjects.
    package var count: Int { subjects.count }

    /// Counts a request, and returns whether the subject may make it.
    /// - Parameter now: nanoseconds on the monotonic clock.
    package mutating func permits(_ subject: String, now: Int64) -> Bool {
        forgetFull(now)
        if let position = positions[subject] { return subjects[position].bucket.consume(limit, now: now) }
        guard subjects.count < countMax else { return true }
        var bucket = TokenBucket()
        let isPermitted = bucket.consume(limit, now: now)
        positions[subject] = subjects.count
        subjects.append((subject, bucket))
        return isPermitted
    }

    /// Takes further tokens for a request that was permitted and turns out to be more work. The subject may have fewer; it
    /// then waits until they are refilled.
    /// - Parameter now: nanoseconds on the monotonic clock.
    package mutating func charge(_ subject: String, _ tokens: Int, now: Int64) {
        if let position = positions[subject] { subjects[position].bucket.overdraw(tokens, limit, now: now) }
    }

    /// Looks at two subjects. A decision adds at most one, so their number cannot grow as long as buckets fill up.
    private mutating func forgetFull(_ now: Int64) {
        for _ in 0..<min(2, subjects.count) {
            if next >= subjects.count { next = 0 }
            guard subjects[next].bucket.isFull(at: now) else {
                next += 1
                continue
            }
            positions[subjects[next].key] = nil
            let last = subjects.removeLast()
            guard next < subjects.count else { continue }
            subjects[next] = last
            positions[last.key] = next
        }
    }
}
