import Testing

@testable import Fleet

@Suite struct DeviceKeysTests {
    private let store = TemporaryStore()

    /// The number of devices per key: `k1|3`.
    private func devicesByKey() throws -> [String] {
        try Database.open(readingFrom: store.address).dump("SELECT key_id, COUNT(*) FROM devices GROUP BY key_id ORDER BY key_id")
    }

    /// Registers a device for each of `count` drivers.
    private func fill(_ count: Int, keys: DeviceKeys = testKeys("k1")) throws {
        let executor = try store.pushing(keys: keys)
        try executor.transaction { () throws(DatabaseError) in
            for number in 0..<count { _ = try executor.execute(register(fcm("\(number)"), by: driver("\(number)")), now: noon) }
        }
    }

    /// Starts a writer with these keys, and stops it.
    private func start(_ keys: DeviceKeys) throws(StoreError) {
        let harness = try WriterHarness(store, changing: { $0.keys = keys })
        harness.stop()
    }

    @Test func olderKeysDecryptAndAreReplacedInSlices() throws {
        try fill(1_201)
        let executor = try store.pushing(keys: testKeys("k2", "k1"))
        _ = try executor.commit(announce(to: "7"))
        #expect(try executor.claim().map(\.device.token) == [fcm("7")])
        #expect(try devicesByKey() == ["k1|1201"])
        _ = try executor.runBackgroundSlice(at: noon)  // ends the task for broadcasts, because there are none
        _ = try executor.runBackgroundSlice(at: noon)  // ends the task for erasures, because there are none
        for left in [701, 201] {  // each slice re-encrypts 500 tokens
            _ = try executor.runBackgroundSlice(at: noon)
            #expect(try devicesByKey() == ["k1|\(left)", "k2|\(1201 - left)"])
        }
        try executor.runBackgroundTasks()
        #expect(try devicesByKey() == ["k2|1201"])
        _ = try executor.commit(announce(to: "8"))
        #expect(try executor.claim().map(\.device.token) == [fcm("8")])
    }

    @Test func undecryptableTokenFailsOnlyItsOwnJobs() throws {
        try fill(600)
        let executor = try store.pushing(keys: testKeys("k3", "k2", "k1"))
        try executor.database.change("UPDATE devices SET sealed = ? WHERE owner <> 'driver:599'", .blob([0]))
        try executor.runBackgroundTasks()
        #expect(try devicesByKey() == ["k1|599", "k3|1"])
        _ = try executor.commit(announce(to: "5", "6", "599"))
        #expect(try executor.claim().map(\.device.token) == [fcm("599")])
        #expect(
            try executor.jobs() == [
                "driver:5|failed|device_unreadable", "driver:6|failed|device_unreadable", "driver:599|sending|",
            ])
        #expect(executor.outbox.drainUnreadableRows() == ["the token of a device of driver:5"], "reported once")
    }

    @Test func encryptedTokenIsBoundToItsRow() throws {
        try fill(2)
        let executor = try store.pushing()
        try executor.database.run(
            "UPDATE devices SET sealed = (SELECT sealed FROM devices WHERE owner = 'driver:1') WHERE owner = 'driver:0'")
        _ = try executor.commit(announce(to: "0", "1"))
        #expect(try executor.claim().map(\.recipient) == ["driver:1"])
    }

    @Test func doesNotStartWithoutARequiredKey() throws {
        try fill(3)
        let error = #expect(throws: StoreError.self) { try start(testKeys("k2")) }
        #expect(error == .keyMissing(store.address, key: "k1", devices: 3))
        let text = error?.description ?? ""
        #expect(text.contains("the tokens of 3 devices are encrypted with the key 'k1', which store"))
        #expect(text.contains("DELETE FROM devices WHERE key_id = 'k1'"))
        try start(testKeys("k2", "k1"))
    }

    @Test func doesNotStartWithADifferentKeyOfTheSameID() throws {
        try fill(3)
        do { try store.pushing(keys: testKeys("k1")).database.run("UPDATE devices SET key_id = 'k2'") }
        let error = #expect(throws: StoreError.self) { try start(testKeys("k2")) }
        #expect(error == .keyWrong(store.address, key: "k2", devices: 3))
        #expect(error?.description.contains("encrypted with an earlier key 'k2'") == true)
    }
}
