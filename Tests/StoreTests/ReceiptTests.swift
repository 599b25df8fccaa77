import Testing

@testable import Fleet

@Suite struct ReceiptTests {
    private let store = TemporaryStore()

    /// The rows of the table: `1|driver:42|phone|0|-`, with times relative to noon.
    private func rows(_ executor: CommandExecutor) throws -> [String] {
        try executor.database.dump(
            """
            SELECT sequence, owner, device, written_at - \(noon), confirmed_at - \(noon) FROM \(deliveryRows) \
            ORDER BY channel, sequence, owner, device
            """)
    }

    @Test func theFirstTimesAreKept() throws {
        let executor = try store.executor()
        _ = try executor.commit(announce(to: "42"))
        try executor.commit(written(phone(), upTo: 1, at: noon + 1))
        try executor.commit(written(phone(), upTo: 1, at: noon + 2))
        #expect(try rows(executor) == ["1|driver:42|phone|1|-"])
        #expect(try executor.cursorRows() == [], "not confirmed")
        try executor.commit(confirmed(phone(), upTo: 1, at: noon + 3))
        try executor.commit(confirmed(phone(), upTo: 1, at: noon + 4))
        try executor.commit(written(phone(), upTo: 1, at: noon + 5))
        #expect(try rows(executor) == ["1|driver:42|phone|1|3"])
    }

    @Test func aNotificationIsConfirmedOncePerOwner() throws {
        let executor = try store.executor()
        let notification = try executor.commit(announce(to: "42"), at: noon).notifications[0]
        _ = executor.arrivals()
        for device in ["a", "b"] { #expect(try executor.commit(written(phone(device), upTo: 1)) == []) }
        #expect(executor.arrivals() == ["hello written 1"])
        #expect(
            try executor.commit(confirmed(phone("b"), upTo: 1, at: noon + 3)) == [
                Confirmation(
                    notificationID: notification.id, event: "hello", channel: "driver-42", owner: "driver:42", device: "b",
                    createdAt: noon, confirmedAt: noon + 3)
            ])
        for device in ["a", "b", "c"] {
            #expect(try executor.commit(confirmed(phone(device), upTo: 1, at: noon + 4)) == [])
        }
        #expect(executor.arrivals() == ["hello confirmed 1"])
        #expect(try rows(executor) == ["1|driver:42|a|0|4", "1|driver:42|b|0|3", "1|driver:42|c|0|4"])
    }

    @Test func everyDriverConfirmsABroadcast() throws {
        let executor = try store.executor()
        _ = try executor.commit(announceToAll)
        _ = executor.arrivals()
        for driver in ["42", "43"] {
            let key = phone(of: driver, on: "drivers-channel")
            _ = try executor.subscribe(key)
            let receipt = confirmed(key, upTo: 1)
            #expect(try executor.commit(receipt).map(\.owner) == ["driver:\(driver)"])
        }
        #expect(executor.arrivals() == ["hello confirmed 2", "hello written 2"], "confirmed is also written")
    }

    @Test func aReceiptCoversItsRangeOnly() throws {
        let executor = try store.executor()
        let ids = try (0..<5).map { _ in try executor.commit(announce(to: "42")).notifications[0].id }
        _ = try executor.commit(announce(to: "43"))
        let confirmations = try executor.commit(confirmed(phone(), after: 1, upTo: 3))
        #expect(confirmations.map(\.notificationID) == Array(ids[1...2]), "in their order")
        #expect(try rows(executor).map { $0.prefix(1) } == ["2", "3"])
        #expect(try executor.commit(confirmed(phone(), after: 5, upTo: 5)) == [])
        // What is not in the log has no row, but the cursor moves.
        #expect(try executor.commit(confirmed(phone(), after: 5, upTo: 9)) == [])
        #expect(try rows(executor).count == 2 && executor.cursorRows() == ["driver-42|driver:42|phone|9"])
    }

    @Test func aRolledBackReceiptChangesNothing() throws {
        let executor = try store.executor()
        _ = try executor.commit(announce(to: "42"))
        _ = executor.arrivals()
        #expect(throws: DatabaseError.self) {
            try executor.transaction { () throws(DatabaseError) in
                #expect(try executor.record(confirmed(phone(), upTo: 1), now: noon).count == 1)
                try executor.database.run("SELECT nothing")
            }
        }
        #expect(try rows(executor) == [] && executor.cursorRows() == [] && executor.arrivals() == [])
        #expect(try executor.commit(confirmed(phone(), upTo: 1)).count == 1)
    }

    @Test func resultsContainTheSequences() throws {
        let executor = try store.executor()
        for number in 1...2 {
            let result = try #require(try executor.commit(assign("A\(number)", to: "42")).result)
            #expect(result.sequences.count == result.notifications.count)
            for (notification, sequence) in zip(result.notifications, result.sequences) {
                #expect(
                    try executor.database.dump("SELECT sequence FROM notifications WHERE id = '\(notification.id)'")
                        == ["\(sequence)"])
            }
        }
    }
}
