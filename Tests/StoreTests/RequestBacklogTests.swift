import Access
import TestSupport
import Testing

@testable import Fleet

@Suite struct RequestBacklogTests {
    private var backlog = RequestBacklog(countMax: 100, perSubjectMax: 10)

    private mutating func post(_ command: IssuedCommand, number: Int = 0) -> PostResult {
        backlog.append(.command(CommandRequest(command, replyTo: ReplyAddress(loop: 0, request: number))))
    }

    private mutating func take(most limit: Int = 256) -> [StoreWriter.Request] {
        var batch: [StoreWriter.Request] = []
        backlog.take(into: &batch, most: limit)
        return batch
    }

    private static func accept(by id: String) -> IssuedCommand { command(AcceptJob("A"), by: driver(id)) }

    private static func announcement(to count: Int) -> IssuedCommand {
        let drivers = (0..<count).map(String.init)
        return command(Announce(Announcement(type: "HELLO", audience: .drivers(drivers), data: Array("{}".utf8))))
    }

    private static func read(by id: String) -> IssuedCommand { command(MarkRead(nil), by: driver(id)) }

    private static func telemetry(events: Int, by id: String) -> IssuedCommand {
        let event = TelemetryEvent(
            notificationID: "N", type: "new_job", entityID: "B", kind: .received, timestamp: "", metadata: nil)
        return command(RecordTelemetry(Array(repeating: event, count: events)), by: driver(id))
    }

    // MARK: Limits

    @Test mutating func limitsTheWaitingCommandsOfEachDriver() {
        for _ in 0..<10 {
            #expect(post(Self.accept(by: "42")) == .queued)
            #expect(post(Self.read(by: "43")) == .queued)
        }
        #expect(post(Self.read(by: "42")) == .subjectFull, "all priorities together")
        #expect(post(Self.accept(by: "43")) == .subjectFull)
        #expect(post(Self.accept(by: "44")) == .queued)
        #expect(post(command(MarkRead(nil), by: Identity(role: .customer, id: "42"))) == .queued, "another subject")
        #expect(take(most: 1).count == 2, "one of each priority")
        #expect(post(Self.read(by: "42")) == .queued && post(Self.read(by: "42")) == .subjectFull)
        #expect(take().count == 21 && backlog.count == 0)
        for _ in 0..<10 { #expect(post(Self.accept(by: "42")) == .queued) }
    }

    /// Who asks for a code is nobody yet, so that they have no place in common. What became of an SMS always has one.
    @Test mutating func signInByCodeCountsTowardsNoSubject() {
        let nobody: Identity? = nil
        for number in 0..<50 {
            let request = VerifySignInCode(sessionID: "temp_\(number)", code: "123456")
            #expect(post(command(request, by: nobody)) == .queued)
        }
        let delivery = SignInCodeSMS(sessionID: "temp_1", sendID: "1", isResent: false, isSent: true)
        #expect(post(command(ResendSignInCode(sessionID: "temp_1"), by: nobody)) == .queueFull)
        for _ in 0..<500 { #expect(post(command(RecordSignInSMS(delivery), by: nobody)) == .queued) }
        guard let session = TokenSession(jti: String(repeating: "a", count: 32), expiresAt: 0) else { return }
        let customer = Identity(role: .customer, id: "10000")
        backlog = RequestBacklog(countMax: 100, perSubjectMax: 10)
        for _ in 0..<10 { #expect(post(command(RefreshToken(session), by: customer)) == .queued) }
        #expect(post(command(RefreshToken(session), by: customer)) == .subjectFull)
    }

    /// A position may show the arrival of many orders at once.
    @Test mutating func stepsThatTheGatewayTakesDoNotCountAsTheDrivers() {
        for number in 0..<50 {
            let step = TripStep(orderCode: "A\(number)", driverID: "42", startedAt: 0, .tellWaiting)
            #expect(post(command(step, by: driver("42"))) == .queued)
        }
        #expect(post(Self.accept(by: "42")) == .queued)
        #expect(take().count == 51)
        for _ in 0..<10 { #expect(post(Self.accept(by: "42")) == .queued) }
        #expect(post(Self.accept(by: "42")) == .subjectFull)
    }

    @Test mutating func anAdminMayHaveHalfOfTheQueue() {
        for number in 0..<50 { #expect(post(assign("A\(number)", to: "42")) == .queued) }
        #expect(post(assign("A", to: "42")) == .subjectFull)
        #expect(post(assign("A", to: "42", by: Identity(role: .admin, id: "2"))) == .queued)
    }

    @Test mutating func keepsPlacesForHigherPriorities() {
        var drivers = 0
        func next() -> String {
            drivers += 1
            return "\(drivers)"
        }
        for _ in 0..<50 { #expect(post(Self.read(by: next())) == .queued) }
        #expect(post(Self.read(by: next())) == .queueFull)
        for _ in 0..<25 { #expect(post(Self.accept(by: next())) == .queued) }
        #expect(post(Self.accept(by: next())) == .queueFull && post(Self.read(by: next())) == .queueFull)
        for number in 0..<25 { #expect(post(assign("A\(number)", to: "42")) == .queued) }
        #expect(post(assign("A", to: "42")) == .queueFull)
        #expect(backlog.append(.report(PushReport(lane: .fcm, capacity: 0))) == .queued)
        #expect(backlog.count == 101)
    }

    // MARK: Order and shares

    @Test mutating func takesHigherPrioritiesFirst() {
        _ = post(Self.read(by: "1"), number: 1)
        _ = post(Self.accept(by: "2"), number: 2)
        _ = post(assign("A", to: "42"), number: 3)
        _ = post(Self.read(by: "1"), number: 4)
        _ = backlog.append(.report(PushReport(lane: .fcm, capacity: 0)))
        #expect(take().map(\.number) == [3, nil, 2, 1, 4])
    }

    /// However much telemetry waits, a transaction contains only 250 events of it: the next dispatcher waits no longer.
    @Test mutating func boundsTheRowsOfATransaction() {
        for number in 0..<20 { _ = post(Self.telemetry(events: 100, by: "\(number)"), number: number) }
        for number in 20..<22 { _ = post(assign("A\(number)", to: "42"), number: number) }
        #expect(take().map(\.number) == [20, 21, 0, 1])
        #expect(take().map(\.number) == [2, 3])
        #expect(post(Self.telemetry(events: 1_000, by: "42"), number: 22) == .queued)
        for _ in 0..<8 { #expect(take().count == 2) }
        #expect(take().map(\.number) == [22], "a single request may exceed it")
    }

    /// Others do not wait behind announcements to many.
    @Test mutating func announcementsToManyFollowOtherCommandsOfDispatchers() {
        for number in 0..<10 { #expect(post(Self.announcement(to: 900), number: number) == .queued) }
        #expect(post(Self.announcement(to: 20), number: 10) == .queued)
        #expect(post(assign("A", to: "42"), number: 11) == .queued)
        #expect(take().map(\.number) == [10, 11, 0])
        #expect(take().map(\.number) == [1])
    }

    /// Nothing is lost or taken twice, each priority keeps its order and its share, and no priority waits while it has
    /// requests.
    @Test(arguments: 0..<50) mutating func servesAllPriorities(seed: UInt64) {
        var random = SplitMix(seed: seed)
        backlog = RequestBacklog(countMax: 200, perSubjectMax: 20)
        var waiting: [[Int]] = RequestPriority.allCases.map { _ in [] }
        var next = 0
        for _ in 0..<300 {
            for _ in 0..<random.below(30) {
                let driver = "\(random.below(30))"
                let command =
                    switch random.below(5) {
                    case 0: assign("A", to: driver)
                    case 1: Self.accept(by: driver)
                    case 2: Self.announcement(to: 1 + random.below(100))
                    default: Self.telemetry(events: 1 + random.below(100), by: driver)
                    }
                let request = StoreWriter.Request.command(
                    CommandRequest(command, replyTo: ReplyAddress(loop: 0, request: next)))
                if backlog.append(request) == .queued { waiting[request.priority.rawValue].append(next) }
                next += 1
            }
            let taken = take(most: 1 + random.below(40))
            for priority in RequestPriority.allCases {
                let own = taken.filter { $0.priority == priority }
                #expect(own.isEmpty == waiting[priority.rawValue].isEmpty)
                #expect(own.map(\.number) == waiting[priority.rawValue].prefix(own.count).map { $0 })
                #expect(own.count == 1 || own.reduce(0) { $0 + $1.rows } <= priority.rowsMax)
                waiting[priority.rawValue].removeFirst(own.count)
            }
            #expect(backlog.count == waiting.reduce(0) { $0 + $1.count })
        }
    }
}

extension StoreWriter.Request {
    /// The number of a command; nil for a report.
    fileprivate var number: Int? {
        if case .command(let request) = self { request.replyTo?.request } else { nil }
    }
}
