import Threads

/// Writes the records of one event, at most ``linesMax`` of them a second. One further record counts the rest: a flood of
/// requests does not become a flood of lines, and what is left out is not silent. Any thread may use it.
package final class RateLimitedLog: Sendable {
    /// The most records in a second.
    package static let linesMax = 10

    private let log: Log
    private let level: Log.Level
    private let event: String
    private let quota = Lock(LineQuota())

    package init(_ log: Log, _ level: Log.Level, _ event: String) {
        self.log = log
        self.level = level
        self.event = event
    }

    /// Writes a record unless the second has its records already.
    /// - Parameters:
    ///   - second: on any clock that increases.
    ///   - fields: called only if the record is written.
    package func write(at second: Int = RateLimitedLog.now, _ fields: () -> KeyValuePairs<String, Log.Value>) {
        guard log.writes(level) else { return }
        let (isAllowed, omitted) = quota.withLock { ($0.take(at: second), $0.takeOmitted(at: second)) }
        reportOmitted(omitted)
        if isAllowed { log.write(level, event, fields()) }
    }

    /// Writes the number of records that were left out in an earlier second. Call it about once a second: after a flood
    /// no further record may come.
    package func flush(at second: Int = RateLimitedLog.now) {
        reportOmitted(quota.withLock { $0.takeOmitted(at: second) })
    }

    private func reportOmitted(_ count: Int) {
        if count > 0 { log.write(level, event, ["omitted": .number(count)]) }
    }

    /// The second on the monotonic clock.
    package static var now: Int { Int(Clock.monotonicNanoseconds() / 1_000_000_000) }
}

/// How many records may still be written in a second, and how many were left out.
struct LineQuota {
    private var second = Int.min
    private var written = 0
    private var omitted = 0
    /// Left out in earlier seconds, and not reported yet.
    private var omittedBefore = 0

    /// Returns whether a record may be written now.
    mutating func take(at now: Int) -> Bool {
        advance(to: now)
        guard written < RateLimitedLog.linesMax else {
            omitted += 1
            return false
        }
        written += 1
        return true
    }

    /// Returns the number of records that were left out before this second, once.
    mutating func takeOmitted(at now: Int) -> Int {
        advance(to: now)
        defer { omittedBefore = 0 }
        return omittedBefore
    }

    private mutating func advance(to now: Int) {
        guard now > second else { return }
        (second, written) = (now, 0)
        omittedBefore += omitted
        omitted = 0
    }
}
