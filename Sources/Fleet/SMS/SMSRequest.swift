import Crypto
import HTTPClient
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

    /// The request of one attempt, signed as webhooks are.
    func signed(with key: HMACKey, to url: String) -> HTTPClientRequest {
        let headers = [("Content-Type", "application/json"), ("X-Pusher-Signature", key.signature(of: body))]
        return HTTPClientRequest(.post, url, headers: headers, body: body)
    }
}

/// What became of an SMS.
package enum SMSOutcome: Sendable {
    /// The adapter has taken it.
    case sent
    /// The adapter has refused it each time, or was never asked.
    case refused
    /// The adapter has not taken it, but an attempt had no answer: it may have been sent.
    case unknown
}

/// The attempts to send one SMS.
struct SMSAttempts: Equatable, Sendable {
    /// The most attempts.
    static let most = 3
    /// Milliseconds between an attempt that has failed and the next.
    static let pauses: [Int64] = [100, 300]

    private var failures = 0
    /// Whether an attempt had no answer, so that the adapter may have taken the SMS.
    private var isUncertain = false

    /// How an attempt ended.
    enum End: Equatable {
        case response(status: Int)
        /// The request was written, or perhaps was, and no response came.
        case noResponse
        /// The request was not written.
        case notSent
    }

    /// What follows from the end of an attempt.
    enum Step: Equatable {
        case finished(SMSOutcome)
        /// The next attempt, in monotonic milliseconds.
        case again(at: Int64)
    }

    /// - Parameters:
    ///   - end: how the attempt ended.
    ///   - now: monotonic milliseconds.
    mutating func ended(_ end: End, now: Int64) -> Step {
        if case .response(status: 200..<300) = end { return .finished(.sent) }
        failures += 1
        isUncertain = isUncertain || end == .noResponse
        return failures < Self.most ? .again(at: now + Self.pauses[failures - 1]) : .finished(outcome)
    }

    /// What became of the SMS if there is no further attempt.
    var outcome: SMSOutcome { isUncertain ? .unknown : .refused }
}
