import Testing

@testable import Fleet

@Suite struct CursorTests {
    private let store = TemporaryStore()

    /// Announces to driver 42, `count` times.
    private func announce(_ count: Int, _ executor: CommandExecutor, at now: Int64 = noon) throws {
        for _ in 0..<count { _ = try executor.commit(StoreTests.announce(to: "42"), at: now) }
    }

    @Test func aNewOwnerStartsAtTheBeginningOfTheBacklog() throws {
        let executor = try store.executor()
        #expect(try executor.subscribe(phone(of: "7")).cursor == 0, "nothing was ever sent")
        try announce(2, executor)
        try announce(1, executor, at: noon + hour)
        let reply = try executor.subscribe(phone(), at: noon + 48 * hour)
        #expect(reply == CursorReply(request: subscription(phone()), cursor: 0, last: 3))
        _ = try executor.commit(StoreTests.announce(to: "43"))
        #expect(try executor.subscribe(phone(of: "43"), at: noon + 48 * hour + 1).cursor == 1)
        #expect(
            try executor.cursorRows() == [
                "driver-42|driver:42|phone|0", "driver-43|driver:43|phone|1", "driver-7|driver:7|phone|0",
            ])
    }

    @Test func theBacklogIsConfigured() throws {
        let executor = try store.executor { $0.backlogHours = 1 }
        try announce(2, executor)
        try announce(1, executor, at: noon + 1)
        #expect(try executor.subscribe(phone(), at: noon + hour + 1).cursor == 2)
    }

    /// Otherwise the backlog would be lost to people who open the app for the first time after a jump.
    @Test func theBacklogIsMeasuredByTheTrustedTime() throws {
        let executor = try store.executor()
        try announce(2, executor)
        executor.clockLead = 30 * day
        #expect(try executor.subscribe(phone(), at: noon + 30 * day).cursor == 0)
    }

    @Test func aNewDeviceStartsWhereTheFurthestIs() throws {
        let executor = try store.executor()
        try announce(5, executor)
        _ = try executor.subscribe(phone("tablet"))
        try executor.commit(confirmed(phone("a"), upTo: 2))
        try executor.commit(confirmed(phone("b"), upTo: 4))
        try executor.commit(confirmed(phone(of: "43"), upTo: 9))
        #expect(try executor.subscribe(phone("c")).cursor == 4)
        try executor.commit(confirmed(phone("b"), after: 4, upTo: 5))
        #expect(try executor.subscribe(phone("c")).cursor == 4, "stored by the first subscription")
        #expect(try executor.subscribe(phone("tablet")).cursor == 0)
        #expect(try executor.subscribe(phone("")).cursor == 5, "the empty name is a device as others")
    }

    @Test func onTheDriversChannelANewOwnerStartsAtThePresent() throws {
        let executor = try store.executor()
        for _ in 0..<3 { _ = try executor.commit(announceToAll) }
        let key = phone(on: "drivers-channel")
        let reply = try executor.subscribe(key)
        #expect(reply.cursor == 3 && reply.last == 3)
        _ = try executor.commit(announceToAll)
        #expect(try executor.subscribe(key).cursor == 3)
        #expect(try executor.subscribe(phone("tablet", on: "drivers-channel")).cursor == 3, "the same owner")
        #expect(try executor.subscribe(phone(of: "43", on: "drivers-channel")).cursor == 4)
    }

    @Test func aCursorNeverMovesBackwards() throws {
        let executor = try store.executor()
        try announce(5, executor)
        try executor.commit(confirmed(phone(), upTo: 4))
        try executor.commit(confirmed(phone(), upTo: 2))
        #expect(try executor.subscribe(phone()).cursor == 4)
        try executor.commit(written(phone(), after: 4, upTo: 5))
        #expect(try executor.subscribe(phone()).cursor == 4, "written is not confirmed")
        try executor.commit(confirmed(phone(), after: 5, upTo: 5))
        #expect(try executor.subscribe(phone()).cursor == 5, "past a gap")
    }

    /// A transaction writes the sequence of a channel only once, at its end.
    @Test func theLastSequenceIncludesTheOpenTransaction() throws {
        let executor = try store.executor()
        let replies = try executor.transaction { () throws(DatabaseError) in
            for _ in 0..<3 { _ = try executor.execute(StoreTests.announce(to: "42"), now: noon) }
            for _ in 0..<2 { _ = try executor.execute(announceToAll, now: noon) }
            let first = try executor.subscribe(subscription(phone()), now: noon)
            _ = try executor.execute(StoreTests.announce(to: "42"), now: noon)
            return [
                first, try executor.subscribe(subscription(phone()), now: noon),
                try executor.subscribe(subscription(phone(on: "drivers-channel")), now: noon),
            ]
        }
        #expect(replies.map(\.last) == [3, 4, 2] && replies.map(\.cursor) == [0, 0, 2])
        #expect(try executor.database.dump("SELECT last FROM channel_sequences WHERE channel = 'driver-42'") == ["4"])
    }

    @Test func cursorsSurviveARestart() throws {
        do {
            let executor = try store.executor()
            try announce(3, executor)
            try executor.commit(confirmed(phone(), upTo: 2))
        }
        let executor = try store.executor()
        #expect(try executor.subscribe(phone()) == CursorReply(request: subscription(phone()), cursor: 2, last: 3))
    }

    @Test func theLastUseIsWrittenOnceAnHour() throws {
        let executor = try store.executor()
        try announce(2, executor)
        _ = try executor.subscribe(phone())
        let usedAt = { try executor.database.dump("SELECT updated_at FROM cursors") }
        _ = try executor.subscribe(phone(), at: noon + hour - 1)
        try executor.commit(confirmed(phone(), upTo: 2), at: noon + hour - 1)
        #expect(try usedAt() == ["\(noon)"])
        _ = try executor.subscribe(phone(), at: noon + hour)
        #expect(try usedAt() == ["\(noon + hour)"])
    }

    // MARK: Many devices

    private func devices(_ executor: CommandExecutor) throws -> [String] {
        try executor.database.dump("SELECT device FROM cursors ORDER BY 1")
    }

    private static let names = (1...20).map { "d\(100 + $0)" }

    /// Subscribes twenty devices, an hour after each other.
    private func subscribeTwenty(_ executor: CommandExecutor, on channel: String? = nil) throws {
        for (number, name) in Self.names.enumerated() {
            _ = try executor.subscribe(phone(name, on: channel), at: noon + Int64(number) * hour)
        }
    }

    @Test(arguments: [nil, "drivers-channel"]) func theDeviceUsedLongestAgoIsForgotten(channel: String?) throws {
        let executor = try store.executor()
        try subscribeTwenty(executor, on: channel)
        _ = try executor.subscribe(phone("d101", on: channel), at: noon + 20 * hour)
        #expect(try devices(executor) == Self.names && executor.counter.drain().forgottenCursors == 0)
        _ = try executor.subscribe(phone("new", on: channel), at: noon + 20 * hour)
        #expect(try devices(executor) == Self.names.filter { $0 != "d102" } + ["new"])
        #expect(executor.counter.drain().forgottenCursors == 1)
        _ = try executor.subscribe(phone(of: "43", on: channel), at: noon + 20 * hour)
        #expect(try devices(executor).count == 21, "of another owner")
    }

    @Test func anyNumberOfNewDevicesLeavesTwentyCursors() throws {
        let executor = try store.executor()
        for number in 0..<200 { _ = try executor.subscribe(phone("x\(number)")) }
        #expect(try devices(executor).count == 20 && executor.counter.drain().forgottenCursors == 180)
    }

    /// Nobody knows whether it is new.
    @Test func aForgottenDeviceGetsTheBacklogAgain() throws {
        let executor = try store.executor()
        try announce(2, executor, at: noon - 48 * hour)
        try announce(3, executor)
        _ = try executor.subscribe(phone("old"))
        try executor.commit(confirmed(phone("old"), after: 2, upTo: 4))
        try subscribeTwenty(executor)
        for name in Self.names { try executor.commit(confirmed(phone(name), after: 2, upTo: 5)) }
        let now = noon + 20 * hour
        #expect(try executor.subscribe(phone("old"), at: now).cursor == 2, "what is younger than 48 hours")
        #expect(try executor.subscribe(phone("old"), at: now).cursor == 2)
        try executor.commit(confirmed(phone("old"), after: 2, upTo: 5), at: now)
        #expect(try executor.subscribe(phone("old"), at: now).cursor == 5)
    }

    @Test func aForgottenDeviceOfADriverGetsWhatWasForAllAgain() throws {
        let (executor, channel) = (try store.executor(), "drivers-channel")
        let old = phone("old", on: channel)
        _ = try executor.subscribe(old)
        for _ in 0..<3 { _ = try executor.commit(announceToAll) }
        try subscribeTwenty(executor, on: channel)
        #expect(try executor.subscribe(old, at: noon + 20 * hour).cursor == 0)
    }

    /// It stays connected. Its confirmations count, and its next subscription gets the backlog.
    @Test(arguments: [nil, "drivers-channel"]) func aDeviceMayBeForgottenWhileItIsConnected(channel: String?) throws {
        let executor = try store.executor()
        let key = phone("connected", on: channel)
        _ = try executor.subscribe(key, at: noon - 1)
        try subscribeTwenty(executor, on: channel)
        _ = try executor.commit(channel == nil ? StoreTests.announce(to: "42") : announceToAll)
        _ = executor.arrivals()
        #expect(try executor.commit(confirmed(key, upTo: 1)).count == 1)
        #expect(executor.arrivals().count == 2)
        #expect(try devices(executor) == Self.names)
        #expect(try executor.subscribe(key, at: noon + 20 * hour).cursor == 0)
    }

    /// A pong that comes after the erasure of the driver leaves nothing.
    @Test func theConfirmationOfAnErasedDriverIsStillDropped() throws {
        let executor = try store.executor()
        let key = phone(on: "drivers-channel")
        _ = try executor.subscribe(key)
        _ = try executor.commit(announceToAll)
        try executor.transaction { () throws(DatabaseError) in
            try executor.cursors.remove(of: key.owner, channel: key.channel)
        }
        #expect(try executor.commit(confirmed(key, upTo: 1)) == [])
        #expect(try executor.count(deliveryRows) == 0 && executor.count("cursors") == 0)
    }
}
