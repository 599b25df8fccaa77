import FleetRules
import Testing

@testable import Store

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
}
