import JSON

/// The body of a request to the adapter. All attempts send the same bytes.
struct SMSRequest: Equatable, Sendable {
    /// `{"to":…,"text":…,"id":…}`
    let body: [UInt8]

    /// - Parameters:
    ///   - phone: in E.164.
    ///   - id: the same for all attempts, so that the adapter can send the SMS once.
    init(to phone: String, code: String, template: String, id: String) {
        var json = JSONWriter(capacity: 256)
        json.object {
            $0.member("to", phone)
            $0.member("text", template.replacing("{code}", with: code))
            $0.member("id", id)
        }
        body = json.bytes
    }
}

/// The attempts to send one SMS.
struct SMSAttempts: Equatable, Sendable {
    /// The most attempts.
    static let most = 3
    /// Milliseconds between an attempt that has failed and the next.
    static let pauses: [Int64] = [100, 300]

    private var failures = 0

    /// What follows from the response to an attempt.
    enum Step: Equatable {
        case sent
        case failed
        /// The next attempt, in monotonic milliseconds.
        case again(at: Int64)
    }

    /// - Parameters:
    ///   - status: of the adapter's response; nil if there was none.
    ///   - now: monotonic milliseconds.
    mutating func ended(status: Int?, now: Int64) -> Step {
        if let status, (200..<300).contains(status) { return .sent }
        failures += 1
        return failures < Self.most ? .again(at: now + Self.pauses[failures - 1]) : .failed
    }
}
