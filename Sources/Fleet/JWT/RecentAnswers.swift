/// Answers about tokens, bounded by number and by memory. When half of the room is taken since the last time, those that
/// were not used since then are forgotten: that costs constant time per token, and keeps those in use.
struct RecentAnswers: Sendable {
    struct Entry: Sendable {
        let answer: IntrospectionAnswer
        /// When the backend is to be asked again, in milliseconds of the monotonic clock.
        var askAgainAt: Int64
        /// Whether the last question has failed.
        var isStale: Bool

        /// Whether the answer counts without another question.
        func isFresh(at now: AnswerMoment) -> Bool {
            now.monotonicMilliseconds < askAgainAt && !(answer.expiresAt.map { now.unixSeconds >= $0 } ?? false)
        }

        /// Whether the answer counts if the backend does not answer.
        func mayBeStale(at now: AnswerMoment) -> Bool {
            answer.isActive && answer.expiresAt.map { now.unixSeconds < $0 } ?? false
        }

        func isUseful(at now: AnswerMoment) -> Bool { isFresh(at: now) || mayBeStale(at: now) }

        /// About the memory of an entry: the digest, the identity and the table's places, and what the answer contains.
        var byteCount: Int { 300 + answer.byteCount }
    }

    private let countMax: Int
    private let bytesMax: Int
    /// By the SHA-256 digest of the token.
    private var recent: [[UInt8]: Entry] = [:]
    /// Those that ``recent`` contained before it was full.
    private var earlier: [[UInt8]: Entry] = [:]
    private var recentBytes = 0
    private var earlierBytes = 0
    /// Useful answers that were dropped for lack of room, so far.
    private(set) var dropped = 0

    /// - Parameter countMax: at least 2.
    init(countMax: Int, bytesMax: Int) { (self.countMax, self.bytesMax) = (countMax, bytesMax) }

    var count: Int { recent.count + earlier.count }
    var byteCount: Int { recentBytes + earlierBytes }

    /// A token's entry, which is then in use; nil if there is none.
    mutating func use(_ digest: [UInt8], at now: AnswerMoment) -> Entry? {
        if let entry = recent[digest] { return entry }
        guard let entry = earlier[digest] else { return nil }
        store(entry, digest, at: now)
        return entry
    }

    mutating func store(_ entry: Entry, _ digest: [UInt8], at now: AnswerMoment) {
        remove(digest)
        if recent.count >= countMax / 2 || recentBytes + entry.byteCount > bytesMax / 2, !recent.isEmpty {
            dropped += earlier.values.count { $0.isUseful(at: now) }
            (earlier, earlierBytes) = (recent, recentBytes)
            (recent, recentBytes) = ([:], 0)
        }
        recent[digest] = entry
        recentBytes += entry.byteCount
    }

    mutating func remove(_ digest: [UInt8]) {
        if let entry = recent.removeValue(forKey: digest) { recentBytes -= entry.byteCount }
        if let entry = earlier.removeValue(forKey: digest) { earlierBytes -= entry.byteCount }
    }
}
