import Crypto
import HTTPClient
import Threads

/// Sends SMS by the operator's adapter, on a thread of its own: an adapter that is slow delays neither a loop nor the
/// store. What waits is bounded, and every SMS has its outcome within ten seconds: three attempts of at most three, and the
/// pauses between them.
///
/// `Tag` names an SMS to the caller. Texts and codes are in memory only.
package final class SMSSender<Tag: Sendable>: Sendable {
    /// An SMS to send.
    package struct Message: Sendable {
        let phone: String
        let code: String
        let id: String
        let tag: Tag

        /// - Parameters:
        ///   - phone: in E.164.
        ///   - id: the same for all attempts, and different from those of all other SMS.
        package init(phone: String, code: String, id: String, tag: Tag) {
            (self.phone, self.code, self.id, self.tag) = (phone, code, id, tag)
        }
    }

    /// What the caller learns. Called on the sender's thread.
    package struct Observers: Sendable {
        /// The adapter has taken an SMS, or finally not. Returns false if that could not be told now: the sender then tells
        /// it again.
        package var finished: @Sendable (Tag, _ isSent: Bool) -> Bool
        /// An attempt has failed; the text is the reason, for the log.
        package var failed: @Sendable (_ reason: String) -> Void

        package init(
            finished: @escaping @Sendable (Tag, _ isSent: Bool) -> Bool, failed: @escaping @Sendable (_ reason: String) -> Void
        ) {
            (self.finished, self.failed) = (finished, failed)
        }
    }

    private struct Inbox {
        var messages: [Message] = []
        /// The SMS that have no outcome yet.
        var open = 0
        var isStopping = false
        var waker: HTTPPool.Waker?
    }

    private let inbox = Lock(Inbox())
    private let capacity: Int
    private let thread = Lock<Thread?>(nil)

    /// Starts the thread.
    /// - Parameters:
    ///   - capacity: the most SMS that have no outcome yet.
    ///   - connectionsMax: the most connections to the adapter.
    package init(
        _ adapter: SMSAdapter, capacity: Int = 256, connectionsMax: Int = SMSLimits.connectionsMax, _ observers: Observers
    ) {
        self.capacity = capacity
        let started = Thread(name: "sms") { [self] in
            SenderLoop(self, adapter, connectionsMax: connectionsMax, observers).run()
        }
        thread.withLock { $0 = started }
    }

    /// Queues an SMS. Returns false if too many wait, or after ``stop()``; nobody learns of its outcome then.
    package func post(_ message: Message) -> Bool {
        let (isQueued, waker) = inbox.withLock { inbox -> (Bool, HTTPPool.Waker?) in
            guard !inbox.isStopping, inbox.open < capacity else { return (false, nil) }
            inbox.open += 1
            inbox.messages.append(message)
            return (true, inbox.waker)
        }
        waker?.wake()
        return isQueued
    }

    /// The SMS that have no outcome yet.
    package var depth: Int { inbox.withLock { $0.open } }

    /// Gives up what was not sent, and blocks until the thread has ended.
    package func stop() {
        let waker = inbox.withLock { inbox in
            inbox.isStopping = true
            return inbox.waker
        }
        waker?.wake()
        let thread = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        thread?.join()
    }
}

/// The limits of senders.
package enum SMSLimits {
    /// The most connections to the adapter.
    package static let connectionsMax = 32
}

extension SMSSender {
    /// The state that the thread owns, and its loop.
    private final class SenderLoop {
        private struct Sending {
            let tag: Tag
            let request: SMSRequest
            var attempts = SMSAttempts()
            /// When the present attempt was started, in monotonic milliseconds.
            var startedAt: Int64 = 0
        }

        private let sender: SMSSender
        private let adapter: SMSAdapter
        private let observers: Observers
        private let key: HMACKey
        private let pool: HTTPPool
        private var sending: [Int: Sending] = [:]
        private var nextNumber = 0
        /// Attempts that wait for their time.
        private var waiting: [(number: Int, at: Int64)] = []
        /// When the adapter has answered last, and when its connections were closed, in monotonic milliseconds.
        private var (answeredAt, retiredAt): (Int64, Int64) = (.min, .min)
        /// Outcomes that could not be told yet.
        private var untold: [(tag: Tag, isSent: Bool)] = []

        init(_ sender: SMSSender, _ adapter: SMSAdapter, connectionsMax: Int, _ observers: Observers) {
            self.sender = sender
            self.adapter = adapter
            self.observers = observers
            key = HMACKey(secret: adapter.secret)
            var options = HTTPPool.Options()
            options.connectionsPerHost = connectionsMax
            options.timeoutMilliseconds = adapter.timeoutMilliseconds
            options.idleSecondsMax = 60
            options.allowsPlainHTTP = true
            pool = HTTPPool(options)
        }

        func run() {
            let waker = pool.waker
            sender.inbox.withLock { $0.waker = waker }
            // The first turn comes before the first wait: SMS may have been posted before the waker was set.
            while let milliseconds = turn() { pool.wait(milliseconds: milliseconds) }
            _ = pool.retire()
        }

        /// Performs all work that is due.
        /// - Returns: how many milliseconds to wait before the next turn; nil to end the thread.
        private func turn() -> Int? {
            let (messages, isStopping) = sender.inbox.withLock { inbox in
                defer { inbox.messages = [] }
                return (inbox.messages, inbox.isStopping)
            }
            guard !isStopping else { return nil }
            for message in messages { begin(message) }
            for completion in pool.perform() { ended(completion) }
            let now = Clock.monotonicMilliseconds()
            for attempt in waiting where attempt.at <= now { start(attempt.number) }
            waiting.removeAll { $0.at <= now }
            tell()
            // Requests that were started since `perform()` are sent by the next one.
            if hasStarted {
                hasStarted = false
                return 0
            }
            let next = waiting.map(\.at).min().map { Int($0 - now) } ?? 60_000
            return untold.isEmpty ? next : min(next, 20)
        }

        private var hasStarted = false

        private func begin(_ message: Message) {
            nextNumber += 1
            sending[nextNumber] = Sending(
                tag: message.tag,
                request: SMSRequest(to: message.phone, code: message.code, template: adapter.template, id: message.id))
            start(nextNumber)
        }

        private func start(_ number: Int) {
            guard let body = sending[number]?.request.body else { return }
            let headers = [("Content-Type", "application/json"), ("X-Pusher-Signature", key.signature(of: body))]
            sending[number]?.startedAt = Clock.monotonicMilliseconds()
            pool.start(HTTPClientRequest(.post, adapter.url, headers: headers, body: body), tag: number)
            hasStarted = true
        }

        private func ended(_ completion: HTTPPool.Completion) {
            guard var one = sending[completion.tag] else { return }
            let status: Int?
            switch completion.result {
            case .success(let response):
                status = response.status
                answeredAt = Clock.monotonicMilliseconds()
                if !(200..<300).contains(response.status) { observers.failed("HTTP \(response.status)") }
            case .failure(let error):
                status = nil
                observers.failed(error.description)
                if error == .timedOut { retireIfDead(one.startedAt) }
            }
            let step = one.attempts.ended(status: status, now: Clock.monotonicMilliseconds())
            sending[completion.tag] = one
            switch step {
            case .again(let time): waiting.append((completion.tag, time))
            case .sent, .failed:
                sending[completion.tag] = nil
                untold.append((one.tag, step == .sent))
            }
        }

        /// Closes all connections if the adapter has answered nothing during an attempt: libcurl would put the next
        /// attempts on the same dead connection. What else was on it is tried again.
        private func retireIfDead(_ startedAt: Int64) {
            guard answeredAt < startedAt, retiredAt < startedAt else { return }
            retiredAt = Clock.monotonicMilliseconds()
            for completion in pool.retire() { ended(completion) }
        }

        private func tell() {
            guard !untold.isEmpty else { return }
            let before = untold.count
            untold.removeAll { observers.finished($0.tag, $0.isSent) }
            let told = before - untold.count
            sender.inbox.withLock { $0.open -= told }
        }
    }
}
