import Configuration
import HTTPClient
import JWT
import Primitives
import Threads

/// Asks a backend about opaque tokens (RFC 7662), on a thread of its own: a backend that is slow delays no loop. How many
/// questions there are is bounded by ``IntrospectedTokens``, which asks once for each token.
///
/// A question ends within twice the time-out: it waits for a connection so long at most, then for the answer. Tokens that
/// were active before go first, so that a flood of random ones costs users of the gateway the time of one answer.
final class IntrospectionThread: Sendable {
    /// The most connections to the backend, each with one question.
    static let connectionsMax = 32
    /// The largest response; a longer one is a failure.
    static let responseBytesMax = 65_536

    /// A token to ask about.
    struct Question: Sendable {
        let token: OpaqueToken
        /// Whether the token was active before.
        let isKnown: Bool
        /// In monotonic milliseconds.
        let askedAt: Int64
    }

    /// What became of a question: the response, or why there is none. Called on the thread.
    typealias Observer = @Sendable (Question, Result<HTTPClientResponse, HTTPClientError>) -> Void

    private struct Inbox {
        var questions: [Question] = []
        var isStopping = false
        var waker: HTTPPool.Waker?
    }

    private let inbox = Lock(Inbox())
    private let thread = Lock<Thread?>(nil)

    /// Starts the thread.
    init(_ settings: Settings.Introspection, finished: @escaping Observer) {
        let started = Thread(name: "introspection") { [self] in QuestionLoop(self, settings, finished).run() }
        thread.withLock { $0 = started }
    }

    /// Queues a question.
    func post(_ question: Question) {
        let waker = inbox.withLock { inbox in
            inbox.questions.append(question)
            return inbox.waker
        }
        waker?.wake()
    }

    /// Gives up what was not answered, and blocks until the thread has ended.
    func stop() {
        let waker = inbox.withLock { inbox in
            inbox.isStopping = true
            return inbox.waker
        }
        waker?.wake()
        let thread = thread.withLock { $0.take() }
        thread?.join()
    }
}

extension IntrospectionThread {
    /// The state that the thread owns, and its loop.
    private final class QuestionLoop {
        private let owner: IntrospectionThread
        private let settings: Settings.Introspection
        private let finished: Observer
        private let pool: HTTPPool
        /// Questions that wait for a connection: libcurl would count their waiting towards the time-out.
        private var known = FIFO<Question>()
        private var unknown = FIFO<Question>()
        private var underWay: [Int: Question] = [:]
        private var nextTag = 0
        private var hasStarted = false

        init(_ owner: IntrospectionThread, _ settings: Settings.Introspection, _ finished: @escaping Observer) {
            (self.owner, self.settings, self.finished) = (owner, settings, finished)
            var options = HTTPPool.Options()
            options.connectionsPerHost = IntrospectionThread.connectionsMax
            options.timeoutMilliseconds = settings.timeoutMilliseconds
            options.idleSecondsMax = 60
            options.allowsPlainHTTP = true  // on loopback: the configuration refuses it elsewhere
            options.responseBytesMax = IntrospectionThread.responseBytesMax
            options.rejectsLargerResponses = true
            options.usesProxy = HTTPClient.usesProxy(for: settings.url)
            pool = HTTPPool(options)
        }

        func run() {
            let waker = pool.waker
            owner.inbox.withLock { $0.waker = waker }
            // The first turn comes before the first wait: questions may have been posted before the waker was set.
            while let milliseconds = turn() { pool.wait(milliseconds: milliseconds) }
            _ = pool.retire()
        }

        /// Performs all work that is due.
        /// - Returns: how many milliseconds to wait before the next turn; nil to end the thread.
        private func turn() -> Int? {
            let (questions, isStopping) = owner.inbox.withLock { inbox in
                defer { inbox.questions = [] }
                return (inbox.questions, inbox.isStopping)
            }
            guard !isStopping else { return nil }
            for question in questions {
                if question.isKnown { known.append(question) } else { unknown.append(question) }
            }
            for completion in pool.perform() {
                if let question = underWay.removeValue(forKey: completion.tag) { finished(question, completion.result) }
            }
            let now = Clock.monotonicMilliseconds()
            giveUp(&known, now)
            giveUp(&unknown, now)
            while underWay.count < IntrospectionThread.connectionsMax, let question = known.popFirst() ?? unknown.popFirst() {
                start(question)
            }
            // Requests that were started since `perform()` are sent by the next one.
            if hasStarted {
                hasStarted = false
                return 0
            }
            let ends = [known.first, unknown.first].compactMap { $0.map { $0.askedAt + timeout - now } }
            return Int(ends.min() ?? 60_000)
        }

        private var timeout: Int64 { Int64(settings.timeoutMilliseconds) }

        /// Ends the questions that have waited for a connection too long.
        private func giveUp(_ queue: inout FIFO<Question>, _ now: Int64) {
            while let question = queue.first, now - question.askedAt >= timeout {
                _ = queue.popFirst()
                finished(question, .failure(.notSent("no connection was free in time")))
            }
        }

        private func start(_ question: Question) {
            let parts = IntrospectionRequest(
                question.token, clientID: settings.clientID, clientSecret: settings.clientSecret)
            nextTag += 1
            underWay[nextTag] = question
            let headers = parts.headers.map { (name: $0.name, value: $0.value) }
            pool.start(HTTPClientRequest(.post, settings.url, headers: headers, body: parts.body), tag: nextTag)
            hasStarted = true
        }
    }
}
