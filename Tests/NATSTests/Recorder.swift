import NATS
import Threads

/// Records a connection's events, and lets a test wait for them.
final class Recorder: Sendable {
    private let events = Monitor<[NATSConnection.Event]>([])

    /// What the connection calls.
    func append(_ more: [NATSConnection.Event]) {
        events.withLock { $0 += more }
        events.signal()
    }

    var all: [NATSConnection.Event] { events.withLock { $0 } }

    /// Waits until the events fulfil a condition.
    /// - Returns: whether they do.
    func wait(seconds: Int64 = 20, until condition: ([NATSConnection.Event]) -> Bool) -> Bool {
        events.wait(milliseconds: seconds * 1_000, until: condition, then: { condition($0) })
    }

    func waitForUps(_ count: Int) -> Bool { wait { $0.ups == count } }

    func waitForGrants(_ tokens: Set<UInt64>) -> Bool { wait { tokens.isSubset(of: $0.granted) } }

    func waitForMessages(_ count: Int) -> Bool { wait { $0.texts.count >= count } }

    func removeAll() { events.withLock { $0 = [] } }
}

extension [NATSConnection.Event] {
    var ups: Int { count { if case .up = $0 { true } else { false } } }

    var downs: [String] { compactMap { if case .down(let reason) = $0 { reason } else { nil } } }

    var granted: Set<UInt64> {
        reduce(into: []) { if case .granted(let tokens) = $1 { $0.formUnion(tokens) } }
    }

    var dropped: Int { reduce(0) { if case .dropped(let count) = $1 { $0 + count } else { $0 } } }

    /// The messages' payloads.
    var texts: [String] {
        compactMap { if case .message(_, let payload) = $0 { String(decoding: payload, as: UTF8.self) } else { nil } }
    }

    var tokens: [UInt64] { compactMap { if case .message(let token, _) = $0 { token } else { nil } } }
}

extension NATSConnection.Command {
    static func publish(_ text: String, to subject: String) -> Self { .publish(subject: subject, payload: Array(text.utf8)) }
}

/// A connection and what it reported.
struct Connected {
    let connection: NATSConnection
    let recorder = Recorder()

    /// Connects, without waiting for it.
    init(_ options: NATSConnection.Options) {
        let recorder = recorder
        connection = NATSConnection(options) { recorder.append($0) }
    }

    /// Connects and waits for it.
    init(to server: NATSServer) {
        self.init(NATSConnection.Options(servers: [server.url], name: "test"))
        precondition(recorder.waitForUps(1))
    }

    /// Subscribes and waits for the grants.
    func subscribe(_ subjects: [UInt64: String]) -> Bool {
        guard connection.post(subjects.map { .subscribe(subject: $0.value, token: $0.key) }) else { return false }
        return recorder.waitForGrants(Set(subjects.keys))
    }

    func publish(_ text: String, to subject: String) -> Bool { connection.post([.publish(text, to: subject)]) }

    func close() { connection.close(drainSeconds: 5) }
}
