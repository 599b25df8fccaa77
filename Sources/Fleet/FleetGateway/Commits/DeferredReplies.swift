import Fleet
import Threads

/// The requests whose replies are those to later commands, by the token that such a command resolves. Only the publisher's
/// threads use it.
final class DeferredReplies: Sendable {
    /// A request that waits.
    struct Waiting {
        let address: ReplyAddress
        /// Whether another request has begun the wait.
        let hasJoined: Bool
    }

    private let waiting = Lock<[String: [Waiting]]>([:])

    /// Lets a request wait until the token is resolved.
    func begin(_ token: String, _ address: ReplyAddress?) {
        waiting.withLock { $0[token, default: []] += address.map { [Waiting(address: $0, hasJoined: false)] } ?? [] }
    }

    /// Lets a request wait together with those that wait already.
    /// - Returns: false if the token is not awaited.
    func join(_ token: String, _ address: ReplyAddress?) -> Bool {
        waiting.withLock { waiting in
            guard waiting[token] != nil else { return false }
            if let address { waiting[token]?.append(Waiting(address: address, hasJoined: true)) }
            return true
        }
    }

    /// The requests that have waited for the token.
    func resolve(_ token: String) -> [Waiting] { waiting.withLock { $0.removeValue(forKey: token) ?? [] } }
}
