import Configuration
import HTTPClient
import JWT
import Observability
import Primitives
import Realtime
import Server
import Threads

/// What the gateway knows of opaque tokens (`auth.introspection`), for all loops: they look tokens up, and let requests
/// wait for the backend's answers. No loop waits.
final class TokenIntrospection: Sendable {
    /// A request whose token is being asked about.
    struct WaitingRequest: Sendable {
        let id: RequestID
        let loop: Int
    }

    /// What became of questions.
    private enum Outcome: String, CaseIterable {
        case active, inactive, unusable, failed
    }

    private let tokens: Lock<IntrospectedTokens<WaitingRequest>>
    private let outcomes = LabelledCounter<Outcome>(
        "introspection_total", "Questions about opaque tokens, by what the backend said.", by: "outcome")
    private let stale = Counter(
        "introspection_stale_total", "Requests that an older answer has let in, because the backend was away.")
    private let thread = Lock<IntrospectionThread?>(nil)
    private let hub: SharedHub
    private let failures: RateLimitedLog
    private let unusable: RateLimitedLog
    private let onDropped: @Sendable (Int) -> Void

    /// When a request may be repeated whose token's backend is away.
    static let retrySeconds = 5

    /// Nil while `auth.introspection` has no URL.
    /// - Parameter onDropped: is told how many useful answers there was no room for.
    init?(_ settings: Settings.Introspection, hub: SharedHub, log: Log, onDropped: @escaping @Sendable (Int) -> Void) {
        guard settings.isEnabled else { return nil }
        tokens = Lock(
            IntrospectedTokens(
                .init(
                    freshMilliseconds: Int64(settings.cacheSeconds) * 1_000,
                    pauseMilliseconds: Timing.introspectionPauseAfterFailure)))
        self.hub = hub
        self.onDropped = onDropped
        failures = RateLimitedLog(log, .warning, "token_introspection_failed")
        unusable = RateLimitedLog(log, .warning, "token_introspection_unusable")
        let started = IntrospectionThread(settings) { [weak self] question, result in
            self?.finish(question.token, result)
        }
        thread.withLock { $0 = started }
    }

    private static var now: AnswerMoment {
        AnswerMoment(
            unixSeconds: Clock.unixMilliseconds() / 1_000, monotonicMilliseconds: Clock.monotonicMilliseconds())
    }

    /// What is known of a token; nil if the backend has to be asked.
    func lookUp(_ token: OpaqueToken) -> VerificationResult? {
        let known = tokens.withLock { $0.lookUp(token.digest, at: Self.now) }
        if known?.isStale == true { stale.add() }
        return known?.answer.result
    }

    /// Lets a request wait for the answer about its token. Its loop receives ``FleetMessage/tokenAnswered(for:_:)``.
    /// - Returns: the limit that the request is over; nil if it waits.
    func ask(_ token: OpaqueToken, for request: RequestID, on loop: Int) -> FullQueue? {
        let waiter = WaitingRequest(id: request, loop: loop)
        let asked = tokens.withLock { $0.ask(token.digest, for: waiter, at: Self.now) }
        switch asked {
        case .question(let isKnown):
            let question = IntrospectionThread.Question(
                token: token, isKnown: isKnown, askedAt: Clock.monotonicMilliseconds())
            thread.withLock { $0 }?.post(question)
        case .joined: break
        case .answered(let known): answer(waiter, token, known)
        case .tooManyTokens: return .introspectedTokens
        case .tooManyWaiters: return .introspectionWaiters
        }
        return nil
    }

    private func finish(_ token: OpaqueToken, _ result: Result<HTTPClientResponse, HTTPClientError>) {
        let answer = read(result)
        let (known, waiters, dropped) = tokens.withLock { tokens in
            let before = tokens.dropped
            let end = tokens.finish(token.digest, answer, at: Self.now)
            return (end.known, end.waiters, tokens.dropped - before)
        }
        if dropped > 0 { onDropped(dropped) }
        for waiter in waiters { self.answer(waiter, token, known) }
    }

    private func answer(_ waiter: WaitingRequest, _ token: OpaqueToken, _ known: IntrospectedTokens<WaitingRequest>.Known?) {
        if known?.isStale == true { stale.add() }
        let answered = known.map { AnsweredToken(digest: token.digest, result: $0.answer.result) }
        hub.post(.tokenAnswered(for: waiter.id, answered), to: waiter.loop)
    }

    /// The answer in a response; nil if there is none, which is counted and logged.
    private func read(_ result: Result<HTTPClientResponse, HTTPClientError>) -> IntrospectionAnswer? {
        let reason: String
        do {
            let response = try result.get()
            guard response.isComplete else { throw IntrospectionFailure("the response was cut off") }
            let answer = try IntrospectionAnswer(
                status: response.status, body: response.body, now: Clock.unixMilliseconds() / 1_000)
            if answer.isUnusable, case .refused(let text) = answer.result {
                unusable.write { ["reason": .text(text)] }
            }
            outcomes.add(to: answer.isActive ? .active : answer.isUnusable ? .unusable : .inactive)
            return answer
        } catch let error as IntrospectionFailure {
            reason = error.reason
        } catch {
            reason = "\(error)"
        }
        outcomes.add(to: .failed)
        failures.write { ["reason": .text(reason), "hint": "requests with new tokens get 503 until the backend answers"] }
        return nil
    }

    /// The requests that wait.
    var depth: Int { tokens.withLock { $0.waiting } }

    /// Logs how many lines were left out in the last second. Call it once a second.
    func tick() {
        failures.flush()
        unusable.flush()
    }

    var families: [MetricFamily] {
        let kept = tokens.withLock { $0.kept }
        return [
            outcomes.family, stale.family,
            MetricFamily(
                "introspection_tokens", .gauge, "Opaque tokens whose answer is kept.", by: "state",
                [("active", kept.active), ("inactive", kept.inactive)]),
            MetricFamily(
                "introspection_bytes", .gauge, "Memory for the answers about active tokens, estimated.", kept.bytes),
        ]
    }

    /// Ends the thread. What waits gets no answer, so call it after the last loop has stopped.
    func stop() { thread.withLock { $0.take() }?.stop() }
}
