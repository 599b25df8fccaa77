import Access
import Cluster
import Configuration
import FanOut
import HTTP
import Observability
import Primitives
import PusherProtocol
import Server
import TestSupport
import Testing
import Threads

@testable import Fleet
@testable import FleetGateway
@testable import Realtime

/// What is published after a commit, and in which order.
@Suite struct CommitPublisherTests {
    private static let policy = ChannelPolicy([
        .init("driver-*", .ownDriver), .init("admin-channel", .admin), .init("tracking-*", .booking),
    ])
    private let hub: SharedHub
    private let publications = Publications()
    private let publisher: CommitPublisher
    private let counters = FleetCounters()
    private let intake = CommandIntake()
    private let codes: SignInCodeDispatch
    private let codeMetrics = SignInCodeMetrics()
    private let endedSessions = EndedSessions()
    /// The lines of the log.
    private let lines = Lock<[String]>([])
    /// The ids of the devices that were reported as removed, in the order of the reports.
    private let removed = Lock<[String]>([])

    init() throws {
        var rules = AppRules()
        rules.channels = Self.policy
        let publications = publications
        hub = SharedHub(
            wakeups: [Wakeup(), Wakeup()], apps: [AppRules(), rules], gate: FleetAccess([AppRules(), rules]),
            onReport: { publications.add(recovered: $0) })
        let lines = lines
        let log = Log(level: .info, format: .json) { line in lines.withLock { $0.append(line) } }
        let removed = removed
        codes = SignInCodeDispatch(nil, log: log)
        publisher = CommitPublisher(
            hub: hub, publications: publications, app: 1, policy: Self.policy,
            trips: SharedTrips(TripRules(), hub: hub, app: 1, policy: Self.policy, counters: counters),
            accounts: AccountDirectory(), codes: codes, codeMetrics: codeMetrics, endedSessions: endedSessions,
            pushService: try PushService(
                Settings.Push(),
                .init(failed: { _, _ in }, removed: { device in removed.withLock { $0.append(device.id) } }), log: log),
            counters: counters, intake: intake, order: Lock(ClusterCommitOrder()), log: log,
            refusedTransitions: RateLimitedLog(log, .warning, "transition_refused"))
    }

    // MARK: Events

    /// Here `private-driver-42` is the mirror of `driver-42`: it has the same events, but requires a signed
    /// subscription.
    @Test func publishesAnEventOnTheChannelAndItsMirror() throws {
        let plain = try subscriber(of: "driver-42", loop: 0)
        let signed = try subscriber(of: "private-driver-42", loop: 1)
        publish([makeReply(notifications: [notification("driver-42", "job-assigned", #"{"a":"é\"","n":1.50}"#)])])
        let data = #""data":"{\"a\":\"é\\\"\",\"n\":1.50}""#
        #expect(messages(to: 0) == [#"{"event":"job-assigned","channel":"driver-42",\#(data)}"#, "reply 7 200"])
        #expect(messages(to: 1) == [#"{"event":"job-assigned","channel":"private-driver-42",\#(data)}"#])
        #expect(plain != signed)
    }

    @Test func otherChannelsHaveNoMirror() throws {
        _ = try subscriber(of: "elsewhere", loop: 0)
        _ = try subscriber(of: "private-elsewhere", loop: 1)
        publish([makeReply(notifications: [notification("elsewhere", "e")])])
        #expect(messages(to: 0).count == 2 && messages(to: 1).isEmpty)
    }

    @Test func publishesOnlyInTheFleetsApplication() throws {
        _ = try subscriber(of: "driver-42", loop: 0, app: 0)
        publish([makeReply(notifications: [notification("driver-42", "e")])])
        #expect(messages(to: 0) == ["reply 7 200"])
    }

    /// Events keep the store's order across all channels and commands. Each reply follows the events of its command.
    @Test func publishesInTheStoresOrder() throws {
        for channel in ["driver-1", "driver-2", "admin-channel"] { _ = try subscriber(of: channel, loop: 0) }
        publish([
            makeReply(
                notifications: [
                    notification("driver-1", "a"), notification("driver-2", "b"), notification("admin-channel", "c"),
                ],
                request: 1),
            makeReply(notifications: [notification("driver-1", "d")], request: 2), makeReply(request: 3),
        ])
        // An event (`{"event":"a",…`) is reduced to its name, which has one letter here.
        let received = messages(to: 0).map { $0.hasPrefix("reply") ? $0 : String($0.dropFirst(10).prefix(1)) }
        #expect(received == ["a", "b", "c", "reply 1 200", "d", "reply 2 200", "reply 3 200"])
    }

    @Test func publishesToFullMailboxes() throws {
        _ = try subscriber(of: "driver-42", loop: 0)
        while hub.mailboxes[0].hasRoom { hub.post(.drain(seconds: 0, requestSeconds: 0, .restart), to: 0) }
        publish([makeReply(notifications: [notification("driver-42", "e")])])
        #expect(messages(to: 0).count == 2)
    }

    @Test func ignoresInvalidChannelNames() {
        publish([makeReply(notifications: [notification("a b", "e"), notification("", "e")])])
        #expect(messages(to: 0) == ["reply 7 200"])
    }

    // MARK: What is published

    @Test func asksTheLoopsWhatTheyHaveWritten() {
        publish([makeReply(notifications: [notification("x", "e")]), makeReply()])
        #expect(publications.take(hub).isEmpty)
        for loop in 0...1 {
            #expect(messages(to: loop).last == "confirm")
            publications.confirm(loop: loop)
        }
        #expect(publications.take(hub).position == "N1")
    }

    @Test func commitWithoutNotificationsAsksNothing() {
        publish([makeReply(), makeReply(.unavailable("full"))])
        #expect(publications.take(hub).isEmpty && messages(to: 1).isEmpty)
    }

    @Test func countsRepliesToCommands() {
        for _ in 0..<2 { #expect(intake.post { .queued } == .queued) }
        publish([makeReply(), makeReply(.failed("broken"))])
        #expect(intake.close(waiting: 0))
    }

    // MARK: Jobs

    @Test func recordsTheJobsDriverInTheHub() throws {
        publish([makeReply(order: order(.assigned, driver: "42"))])
        #expect(try mayTrack("42") && !mayTrack("43"))
        publish([makeReply(order: order(.assigned, driver: "43"))])
        #expect(try !mayTrack("42") && mayTrack("43"))
        publish([makeReply(order: order(.available, driver: nil))])
        #expect(try !mayTrack("43"))
    }

    @Test func endedJobHasNoDriver() throws {
        for status in [JobStatus.completed, .cancelled] {
            publish([makeReply(order: order(.assigned, driver: "42"))])
            publish([makeReply(order: order(status, driver: "42"))])
            #expect(try !mayTrack("42"))
        }
    }

    @Test func restoresOpenJobsWithoutMessages() throws {
        publisher.restore(order(.inTransit, driver: "42"))
        #expect(try mayTrack("42"))
        #expect(messages(to: 0).isEmpty && messages(to: 1).isEmpty)
    }

    /// The driver who loses the job receives the job's last event before the subscription ends.
    @Test func endsSubscriptionsAfterTheEvents() throws {
        publisher.restore(order(.assigned, driver: "42"))
        let socket = try subscriber(of: "private-tracking-B1", loop: 0)
        let driver = Identity(role: .driver, id: "42")
        hub.apply(.authorized(socket, driver, device: "", channel: ChannelName("private-tracking-B1", lengthMax: 200)))
        publish([
            makeReply(notifications: [notification("tracking-B1", "tracking-stopped")], order: order(.assigned, driver: "43"))
        ])
        let messages = messages(to: 0)
        try #require(messages.count == 4, "\(messages)")
        #expect(messages[0].contains("tracking-stopped") && messages[1] == "leave")
        #expect(messages[2].contains("Your subscription to private-tracking-B1 has ended") && messages[3] == "reply 7 200")
    }

    // MARK: Pushes

    /// A reply may report that a device has a new owner. The lane (the worker that sends the device's pushes) then
    /// drops the old owner's jobs. To drop all of them, it must already have received the jobs that this commit leases
    /// to it.
    @Test func publishesLeasesBeforeReplies() {
        func device(_ id: String) -> RemovedDevice {
            RemovedDevice(id: id, owner: "driver:42", provider: .fcm, maskedToken: "…", reason: "stale")
        }
        var lease = PushLease(lane: .fcm)
        lease.removed = [device("leased")]
        var result = CommandResult(body: [])
        result.effects = [.deviceRemoved(device("replied"))]
        publisher.publish(Commit(leases: [lease], replies: [makeReply(.committed(result))], removed: [device("expired")]))
        #expect(removed.withLock { $0 } == ["leased", "replied", "expired"])
    }

    // MARK: Replies, counters, the log

    @Test func repliesToTheRequestingLoop() {
        let replies: [(CommandReply, String)] = [
            (.rejected(RuleError(.keyReuse, "k")), "reply 7 409"), (.unavailable("full"), "reply 7 503"),
            (.failed("broken"), "reply 7 500"), (.replayed(status: 200, body: []), "reply 7 200 replayed"),
        ]
        for (reply, response) in replies {
            publish([makeReply(reply, loop: 1)])
            #expect(messages(to: 1) == [response] && messages(to: 0).isEmpty)
        }
        #expect(
            counters.report()[0].counts.map(\.name) == [
                "cancel conflict", "cancel failed", "cancel replayed", "cancel unavailable",
            ])
    }

    @Test func repliesToQueries() {
        let query = QueryRequest(.order("A1"), replyTo: ReplyAddress(loop: 1, request: 9))
        publisher.publish(
            [(query, .found([])), (query, .unavailable("busy")), (query, .rejected(RuleError(.unknownOrder, "A1")))])
        #expect(messages(to: 1) == ["reply 9 200", "reply 9 503", "reply 9 404"] && messages(to: 0).isEmpty)
    }

    @Test func countsBatches() throws {
        let id = try #require(ObjectID("0123456789abcdef01234567"))
        var lost = RuleError(.batchTaken)
        lost.jobStatus = "IN_PROGRESS"
        var tooEarly = RuleError(.batchNotOffered)
        tooEarly.jobStatus = "COLLECTING"
        var repeated = CommandResult(body: [])
        repeated.isRepetition = true
        let failed = ReportDelivery(DeliveryReport(.failed(.wrongAddress)), orderID: id)
        let delivered = ReportDelivery(DeliveryReport(.delivered(.photo(url: "https://p.example"))), orderID: id)
        publish([
            makeReply(action: AcceptBatch(id)), makeReply(.rejected(lost), action: AcceptBatch(id)),
            makeReply(.rejected(tooEarly), action: AcceptBatch(id)), makeReply(action: failed), makeReply(action: delivered),
            makeReply(.committed(repeated), action: delivered),
            makeReply(action: ReportDelivery(DeliveryReport(.arrived), orderID: id)),
        ])
        let families = MetricsRegistry(prefix: "f", [{ counters.batches.families }]).text
        for line in [
            #"f_batch_actions_total{action="accept",outcome="done"} 1"#,
            #"f_batch_actions_total{action="accept",outcome="invalid"} 2"#,
            #"f_batch_actions_total{action="status",outcome="repeated"} 1"#,
            #"f_deliveries_total{status="DELIVERED",reason=""} 1"#,
            #"f_deliveries_total{status="FAILED",reason="WRONG_ADDRESS"} 1"#, "f_batch_accept_races_total 1",
        ] { #expect(families.contains(line + "\n"), "\(line)") }
        #expect(counters.report()[0].counts.isEmpty, "one family counts batches")
    }

    @Test func countsOutcomes() {
        let report = ReportProgress("A1", ProgressReport(step: .arrived))
        var repeated = CommandResult(body: [])
        repeated.isRepetition = true
        func refusal(_ kind: RuleError.Kind, at status: String? = "accepted") -> CommandReply {
            var error = RuleError(.init("test", kind, "no"))
            error.jobStatus = status
            return .rejected(error)
        }
        publish([
            makeReply(.committed(repeated), action: report), makeReply(),
            makeReply(refusal(.invalid), action: report), makeReply(refusal(.forbidden), action: report),
            makeReply(refusal(.unknown, at: nil), action: report),
            makeReply(action: telemetry),
            makeReply(.replayed(status: 200, body: []), action: telemetry),
        ])
        let counts = counters.report().map { group in group.counts.map { "\($0.name) \($0.count)" } }
        #expect(
            counts[0] == [
                "cancel done 1", "progress forbidden 1", "progress invalid 1", "progress repeated 1", "progress unknown 1",
                "telemetry done 1", "telemetry replayed 1",
            ])
        #expect(counts[3] == ["failed 1"])
        let families = MetricsRegistry(prefix: "f", [{ counters.families }]).text
        for outcome in ["invalid", "forbidden"] {
            #expect(families.contains(#"f_transitions_total{from="accepted",to="arrived",outcome="\#(outcome)"} 1"# + "\n"))
        }
    }

    @Test func countsWhatHappenedToNotifications() {
        var commit = Commit()
        commit.counts.add(.created, of: "job-assigned", count: 2)
        commit.counts.addStep(.received, ofType: "new_job")
        publisher.publish(commit)
        let counts = counters.report().map { group in group.counts.map { "\($0.name) \($0.count)" } }
        #expect(counts[1] == ["job-assigned 2"] && counts[2] == ["received 1"])
    }

    /// The line of a change names the job's status before and after, and its driver.
    @Test func logsTheChangeOfAJob() throws {
        var result = CommandResult(body: [])
        result.audit = AuditEntry(
            at: 0, actor: "admin:7", action: "unassign", subject: .order("A1"), correlationID: "c1",
            before: .init(status: .accepted, driverID: "42"), after: .init(status: .available, driverID: nil))
        publish([makeReply(.committed(result)), makeReply()])
        let lines = lines.withLock { $0 }
        #expect(lines[0].contains(#""outcome":"done","from":"accepted","to":"available","driver":"42","notifications":0"#))
        #expect(lines[1].contains(#""outcome":"done","notifications":0"#))
    }

    @Test func logsRefusalsWithTheClientsText() throws {
        var error = RuleError(.init("test", .invalid, "Cannot go there"))
        error.jobStatus = "loading"
        let report = ReportProgress("A1", ProgressReport(step: .arrived))
        publish([makeReply(.rejected(error), action: report), makeReply(.unavailable("full"))])
        let lines = lines.withLock { $0 }
        try #require(lines.count == 3)
        #expect(lines[0].contains(#""level":"warning","event":"transition_refused""#))
        #expect(
            lines[0].contains(
                #""subject":"A1","actor":"admin:7","from":"loading","wanted":"arrived","correlation_id":"c1"}"#))
        #expect(lines[1].contains(#""outcome":"invalid","from":"loading","refusal":"Cannot go there""#))
        #expect(lines[2].contains(#""refusal":"full""#))
    }

    @Test func logsOneLinePerAction() {
        publish([
            makeReply(notifications: [notification("x", "e")]), makeReply(action: telemetry), makeReply(.unavailable("full")),
        ])
        let lines = lines.withLock { $0 }
        #expect(lines.count == 3)
        for part in [
            #""action":"cancel""#, #""subject":"A1""#, #""actor":"admin:7""#, #""outcome":"done""#, #""correlation_id":"c1""#,
        ] {
            #expect(lines[0].contains(part), "\(part)")
        }
        #expect(lines[0].contains(#""notifications":1"#) && lines[1].contains(#""subject":"2 events""#))
        #expect(lines[2].contains(#""outcome":"unavailable""#) && lines[2].contains(#""notifications":0"#))
    }

    // MARK: Fixtures

    private let cancel = OrderAction(code: "A1", .cancel)
    private let telemetry = RecordTelemetry(
        [.received, .accepted].map {
            TelemetryEvent(notificationID: "N1", type: "new_job", entityID: "A1", kind: $0, timestamp: "2026-11-21")
        })

    private func publish(_ replies: [(request: CommandRequest, reply: CommandReply)]) {
        publisher.publish(Commit(replies: replies))
    }

    /// A command and its reply. By default, an admin has cancelled order A1, and the reply goes to loop 0.
    private func makeReply(
        _ reply: CommandReply? = nil, notifications: [Notification] = [], order: Order? = nil,
        action: (any Command)? = nil, loop: Int = 0, request: Int = 7
    ) -> (request: CommandRequest, reply: CommandReply) {
        let command = IssuedCommand(action ?? cancel, by: Identity(role: .admin, id: "7"), correlationID: "c1")
        return (
            CommandRequest(command, replyTo: ReplyAddress(loop: loop, request: request)),
            reply
                ?? .committed(
                    CommandResult(
                        body: [], notifications: notifications, sequences: notifications.indices.map { Int64($0 + 1) },
                        effects: order.map { [.orderChanged($0)] } ?? []))
        )
    }

    private func notification(_ channel: String, _ event: String, _ data: String = "{}") -> Notification {
        Notification(
            id: "N1", channel: channel, event: event, data: Array(data.utf8), createdAt: 0, expiresAt: 0, collapseKey: "N1")
    }

    private func order(_ status: JobStatus, driver: String?) -> Order {
        var order = Order(code: "A1")
        order.assignment = Assignment(status: status, driver: driver.map { Assignment.Driver(id: Identifier($0)) })
        order.bookingReference = "B1"
        return order
    }

    /// Whether the hub permits the driver to subscribe to the channel on which booking B1 is tracked.
    private func mayTrack(_ driver: String) throws -> Bool {
        let channel = try #require(ChannelName("private-tracking-B1", lengthMax: 200))
        return hub.read { $0.mayJoin(Identity(role: .driver, id: driver), channel, app: 1) }
    }

    /// Opens a connection and subscribes it to the channel. If the channel is not private, first signs in a user,
    /// because ``policy`` admits only signed-in users to its public channels. Discards the messages that this causes.
    private func subscriber(of channel: String, loop: Int, app: AppIndex = 1) throws -> SocketID {
        var random = SplitMix(seed: 1)
        let slot = hub.read { $0.statistics(app: 0).connections + $0.statistics(app: 1).connections }
        let socket = SocketID(loop: loop, slot: slot, using: &random)
        #expect(hub.open(socket, app: app))
        if !channel.hasPrefix("private-") {
            let signin = SigninRequest(auth: "k:s", userData: #"{"id":"admin:7"}"#)
            hub.apply(.signin(socket, try signin.user(on: socket, key: "k", limits: Limits()) { _, _ in true }))
        }
        let request = SubscriptionRequest(channel: channel, auth: "k:s")
        hub.apply(.subscribe(socket, try request.grant(to: socket, key: "k", limits: Limits()) { _, _ in true }))
        #expect(hub.read { $0.statistics(app: app).subscriptions } > 0)
        for loop in 0...1 { _ = messages(to: loop) }
        return socket
    }

    /// Drains a loop's mailbox and describes its messages: an event by its JSON, the end of a subscription as `leave`,
    /// a reply as `reply ID STATUS`, with the request's id.
    private func messages(to loop: Int) -> [String] {
        var messages: [LoopMessage] = []
        hub.mailboxes[loop].drain(into: &messages)
        return messages.compactMap { message in
            switch message {
            case .instruction(.fanOut(let frame, _, except: nil)), .instruction(.send(let frame, to: _)):
                text(of: frame)
            case .instruction(.leave): "leave"
            case .custom(FleetMessage.confirmPublication): "confirm"
            case .custom(let message): (message as? FleetMessage).flatMap(reply)
            default: nil
            }
        }
    }

    private func reply(_ message: FleetMessage) -> String? {
        switch message {
        case .commandReply(let reply, let request): description(reply.response(in: Envelope.success), request)
        case .queryReply(let reply, let request): description(reply.response(in: Envelope.success), request)
        default: nil
        }
    }

    /// A frame's header has two bytes, or four if the payload has more than 125 bytes.
    private func text(of frame: Frame) -> String {
        String(decoding: frame.bytes.dropFirst(frame.bytes[1] < 126 ? 2 : 4), as: UTF8.self)
    }

    private func description(_ response: HTTPResponse, _ request: RequestID) -> String {
        let replay = response.headers["Idempotency-Replayed"] == nil ? "" : " replayed"
        return "reply \(request.rawValue) \(response.status)\(replay)"
    }
}

extension SharedHub {
    /// Applies an input without waking other threads.
    fileprivate func apply(_ input: Hub.Input) {
        var woken = ThreadsToWake()
        apply(input, &woken)
    }
}
