import Access
import Cluster
import Configuration
import FanOut
import Observability
import Primitives
import PusherProtocol
import Server
import Testing
import Threads

@testable import Fleet
@testable import FleetGateway
@testable import Realtime

/// A request for a code gets its reply when it is known what became of the SMS.
@Suite struct SignInCodePublicationTests {
    private let hub: SharedHub
    private let publisher: CommitPublisher
    private let intake = CommandIntake()
    private let codes: SignInCodeDispatch
    private let metrics = SignInCodeMetrics()
    private let ended = EndedSessions()
    private let lines = Lock<[String]>([])
    /// The commands that the dispatch has posted.
    private let posted = Lock<[any Command]>([])

    init() throws {
        hub = SharedHub(wakeups: [Wakeup(), Wakeup()], apps: [AppRules()])
        let (lines, posted) = (lines, posted)
        let log = Log(level: .info, format: .json) { line in lines.withLock { $0.append(line) } }
        // Without an adapter each SMS counts as sent, and the log gets the code.
        codes = SignInCodeDispatch(nil, log: log)
        codes.connect { request in
            posted.withLock { $0.append(request.issued.command) }
            return true
        }
        let policy = ChannelPolicy([] as [ChannelPolicy.Rule])
        publisher = CommitPublisher(
            hub: hub, publications: Publications(), app: 0, policy: policy,
            trips: SharedTrips(TripRules(), hub: hub, app: 0, policy: policy, counters: FleetCounters()),
            accounts: AccountDirectory(), codes: codes, codeMetrics: metrics, endedSessions: ended,
            pushService: try PushService(
                Settings.Push(), .init(failed: { _, _ in }, removed: { _ in }), log: log),
            counters: FleetCounters(), intake: intake, order: Lock(ClusterCommitOrder()), log: log,
            refusedTransitions: RateLimitedLog(log, .warning, "transition_refused"))
    }

    private static let message = SignInCodeMessage(
        sessionID: "temp_1", sendID: "s1", isResent: false, phone: "+11234567890", code: "012345")

    /// Waits for the outcome of the SMS.
    private static let sending = CommandReply.deferred(
        DeferredResult(token: "temp_1", effects: [.codeToSend(message)]))

    /// Waits together with others, if there are any.
    private static func joining(_ session: String) -> CommandReply {
        .deferred(DeferredResult(token: session, otherwise: CommandResult(body: [])))
    }

    private func publish(_ action: any Command, _ reply: CommandReply, request: Int? = nil, loop: Int = 0) {
        let command = IssuedCommand(action, from: .anonymous, correlationID: "c1")
        let address = request.map { ReplyAddress(loop: loop, request: $0) }
        publisher.publish(Commit(replies: [(CommandRequest(command, replyTo: address), reply)]))
    }

    /// The requests that have their replies, and the statuses.
    private func replies(to loop: Int = 0) -> [String] {
        var messages: [LoopMessage] = []
        hub.mailboxes[loop].drain(into: &messages)
        return messages.compactMap { message in
            guard case .custom(let message) = message,
                case .commandReply(let reply, let request)? = message as? FleetMessage
            else { return nil }
            return "\(request.rawValue) \(reply.response(in: Envelope.success).status)"
        }
    }

    @Test func everybodyWhoWaitsGetsTheOutcome() {
        for _ in 0..<3 { _ = intake.post { .queued } }
        publish(ResendSignInCode(sessionID: "temp_1"), Self.sending, request: 1)
        publish(ResendSignInCode(sessionID: "temp_1"), Self.joining("temp_1"), request: 2, loop: 1)
        publish(ResendSignInCode(sessionID: "temp_1"), Self.joining("temp_1"), request: 3)
        #expect(replies().isEmpty && replies(to: 1).isEmpty)
        #expect(!intake.close(waiting: 0), "a drain waits for the outcome")
        #expect(posted.withLock { $0 } as? [RecordSignInSMS] == [RecordSignInSMS(Self.message.result(isSent: true))])
        publish(RecordSignInSMS(Self.message.result(isSent: true)), .rejected(.codeNotSent))
        #expect(replies() == ["1 503", "3 503"] && replies(to: 1) == ["2 503"])
        #expect(intake.close(waiting: 0))
    }

    @Test func nobodyWaitsForAnSMSThatIsNotBeingSent() {
        publish(ResendSignInCode(sessionID: "temp_9"), Self.joining("temp_9"), request: 4)
        #expect(replies() == ["4 200"])
    }

    @Test func anOutcomeThatCannotBeStoredIsAnAnswerToo() {
        publish(ResendSignInCode(sessionID: "temp_1"), Self.sending, request: 1)
        publish(RecordSignInSMS(Self.message.result(isSent: true)), .unavailable("full"))
        #expect(replies() == ["1 503"])
    }

    @Test func theDevelopmentLineAloneHasTheCode() throws {
        publish(ResendSignInCode(sessionID: "temp_1"), Self.sending, request: 1)
        let lines = lines.withLock { $0 }
        try #require(lines.count == 2)
        #expect(lines.filter { $0.contains("012345") }.count == 1)
        #expect(lines[0].contains("otp_development_code") || lines[1].contains("otp_development_code"))
        #expect(!lines.joined().contains("+11234567890"))
    }

    @Test func tokensAreRefusedBeforeTheReply() throws {
        let session = try #require(TokenSession(jti: String(repeating: "b", count: 32), expiresAt: 0))
        var identity = Identity(role: .customer, id: "10000")
        #expect(!ended.contains(identity))
        identity.session = session
        publish(
            EndSession(session),
            .committed(CommandResult(body: [], effects: [.tokensEnded(EndedTokens(key: session.id, until: .max))])), request: 1)
        #expect(ended.contains(identity) && replies() == ["1 200"])
        var other = Identity(role: .customer, id: "10001")
        other.session = TokenSession(jti: String(repeating: "c", count: 32), expiresAt: 0)
        #expect(!ended.contains(other))
        ended.record(EndedTokens(key: "customer:10001", until: .max), now: 0)
        #expect(ended.contains(other))
        other.session = nil
        #expect(!ended.contains(other), "another issuer's token")
    }

    @Test func endsThatAreOverAreForgotten() {
        for number in 0..<5_000 { ended.record(EndedTokens(key: "\(number)", until: Int64(number)), now: Int64(number) + 1) }
        var identity = Identity(role: .customer, id: "1")
        identity.session = TokenSession(jti: String(repeating: "0", count: 32), expiresAt: 0)
        #expect(!ended.contains(identity))
    }

    @Test func theAlarmComesOnceAMinute() {
        var commit = Commit()
        commit.codes.add(SignInCodeLimit.dailyMax)
        for _ in 0..<3 { publisher.publish(commit) }
        #expect(lines.withLock { $0.filter { $0.contains("otp_daily_max_reached") }.count } == 1)
    }

    @Test func countsEachOutcome() {
        var commit = Commit()
        for outcome in SignInCodeOutcome.allCases { commit.codes.add(outcome) }
        for limit in SignInCodeLimit.allCases { commit.codes.add(limit, phone: "+12125550100") }
        commit.codes.stoppedPrefixes = ["+1212"]
        commit.codes.verifySeconds = [12, 400]
        publisher.publish(commit)
        metrics.count(refusedAddress: .codes)
        let text = MetricsRegistry(prefix: "p", [{ metrics.families }]).text
        for outcome in SignInCodeOutcome.allCases {
            #expect(text.contains("p_otp_total{outcome=\"\(outcome.rawValue)\"} \(outcome == .limited ? 2 : 1)\n"))
        }
        for limit in SignInCodeLimit.allCases {
            #expect(text.contains("p_otp_limited_total{limit=\"\(limit.rawValue)\"} \(limit == .requestsPerAddress ? 2 : 1)\n"))
        }
        #expect(text.contains("p_otp_prefix_stops_total 1\n"))
        let logged = lines.withLock { $0.joined() }
        #expect(logged.contains("otp_new_phones_max_reached") && logged.contains("otp_prefix_stopped"))
        #expect(logged.contains(#""limit":"prefix_daily_max","prefix":"+1212""#) && !logged.contains("5550100"))
        #expect(text.contains(#"p_otp_verify_seconds_bucket{le="15.0"} 1"#) && text.contains("p_otp_verify_seconds_count 2"))
    }
}
