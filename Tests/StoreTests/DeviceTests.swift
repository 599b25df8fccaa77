import Access
import Testing

@testable import Fleet

@Suite struct DeviceTests {
    private let store = TemporaryStore()

    private func devices(_ person: Identity) throws -> String {
        try store.response(to: .devices(person)).get()
    }

    @Test func responseBodiesAreThoseThatTheAppsExpect() throws {
        let executor = try store.pushing()
        let me = driver("42")
        #expect(
            try executor.commit(register(fcm("a"), by: me)).text
                == #"{"message":"FCM token registered","data":null,"error":null}"#)
        #expect(
            try executor.commit(unregister(fcm("a"), by: me)).text
                == #"{"message":"FCM token removed","data":null,"error":null}"#)
        let app = DeviceRegistration(.register, apns("abcdef0123456789"), form: .appDevice)
        let reply = try executor.commit(command(app, by: me))
        #expect(reply.text == #"{"success":true}"#)
        let away = DeviceRegistration(.unregister, apns("abcdef0123456789"), form: .appDevice)
        #expect(try executor.commit(command(away, by: me)).text == #"{"success":true}"#)
    }

    @Test func listsDevicesWithMaskedTokens() throws {
        let executor = try store.pushing()
        _ = try executor.commit(register(apns("abcdef0123456789", .sandbox), by: customer("7")), at: noon + 1)
        _ = try executor.commit(register(fcm("long-enough"), by: customer("7")), at: noon)
        _ = try executor.commit(register(fcm("others"), by: customer("8")))
        // Registered again: `registeredAt` is unchanged.
        _ = try executor.commit(register(fcm("long-enough"), by: customer("7")), at: noon + 5)
        #expect(
            try devices(customer("7")) == #"{"success":true,"data":{"devices":["#
                + #"{"provider":"fcm","platform":null,"environment":null,"token":"toke…ough","#
                + #""registeredAt":"2026-11-21T12:00:00.000Z","lastSeenAt":"2026-11-21T12:00:00.005Z"},"#
                + #"{"provider":"apns","platform":"ios","environment":"sandbox","token":"abcd…6789","#
                + #""registeredAt":"2026-11-21T12:00:00.001Z","lastSeenAt":"2026-11-21T12:00:00.001Z"}]}}"#)
        #expect(try devices(driver("7")) == #"{"success":true,"data":{"devices":[]}}"#)
        let bytes = try executor.database.all("SELECT sealed FROM devices", as: { $0.bytes(0) })
        #expect(bytes.count == 3 && !bytes.contains { $0.contains(Array("token-of-phone-of-long-enough".utf8)) })
        #expect(try executor.database.dump("SELECT LENGTH(id) FROM devices") == ["32", "32", "32"])
    }

    @Test func reregistrationKeepsOmittedFields() throws {
        let executor = try store.pushing()
        _ = try executor.commit(register(fcm("a", .android), by: driver("42"), deviceID: "pixel"))
        _ = try executor.commit(register(fcm("a"), by: driver("42")))
        #expect(try executor.database.dump("SELECT platform, device_id FROM devices") == ["android|pixel"])
        // Another owner registers the same token: the device id that the former owner's app sent is removed.
        _ = try executor.commit(register(fcm("a"), by: driver("43")))
        #expect(try executor.database.dump("SELECT platform, device_id FROM devices") == ["android|-"])
    }

    @Test func tokenBelongsToItsLatestOwner() throws {
        let executor = try store.pushing()
        _ = try executor.commit(register(fcm("a"), by: driver("42")))
        _ = try executor.commit(announce(to: "42"))
        let sending = try executor.claim()
        _ = try executor.commit(announce(to: "42"))
        let reply = try executor.commit(register(fcm("a"), by: driver("43")), at: noon + 1)
        #expect(reply.removed.map(\.reason) == ["new_owner"] && reply.removed.map(\.owner) == ["driver:42"])
        #expect(try executor.jobs() == ["driver:42|sending|", "driver:42|cancelled|new_owner"])
        #expect(try executor.deviceOwners() == ["toke…of-a|driver:43"])
        // The job that is being sent is not retried: a retry would be delivered to the new owner.
        try executor.report([PushOutcome(sending[0], .retry(at: noon + 2, reason: "503"), wasTried: true)], at: noon + 1)
        #expect(try executor.claim(at: noon + 3) == [])
        #expect(try executor.jobs() == ["driver:42|cancelled|new_owner", "driver:42|cancelled|new_owner"])
        _ = try executor.commit(announce(to: "43"), at: noon + 3)
        #expect(try executor.claim(at: noon + 3).map(\.recipient) == ["driver:43"])
    }

    @Test func newTokenReplacesTheOldOneAndGetsItsJobs() throws {
        let executor = try store.pushing()
        let me = driver("42")
        _ = try executor.commit(register(fcm("old"), by: me, deviceID: "pixel"))
        _ = try executor.commit(register(fcm("other"), by: me, deviceID: "tablet"))
        for _ in 0..<3 { _ = try executor.commit(announce(to: "42")) }
        let old = try executor.claim(6).filter { $0.device.token.text == "token-of-phone-of-old" }
        try executor.report([
            PushOutcome(old[1], .retry(at: noon + 10, reason: "503"), wasTried: true),
            PushOutcome(old[2], .returned, wasTried: false),
        ])
        let reply = try executor.commit(register(fcm("new"), by: me, deviceID: "pixel"), at: noon + 1)
        #expect(reply.removed.map(\.reason) == ["replaced"] && reply.lanes == [.fcm])
        #expect(try executor.deviceOwners() == ["toke…-new|driver:42", "toke…ther|driver:42"])
        // The attempt with the old token fails: the job is sent again with the new token.
        let gone = DeviceRemoval(reason: "UNREGISTERED", ifSeenBefore: noon + 1)
        let lease = try executor.report(
            [PushOutcome(old[0], .failed(reason: "UNREGISTERED"), wasTried: true, removal: gone)], capacity: 9, at: noon + 20)
        #expect(lease.jobs.map(\.notification.id).sorted() == old.map(\.notification.id).sorted())
        #expect(Set(lease.jobs.map(\.device.token.text)) == ["token-of-phone-of-new"] && lease.removed == [])
    }

    @Test func replacementDoesNotDuplicateJobs() throws {
        let executor = try store.pushing()
        let me = driver("42")
        _ = try executor.commit(register(fcm("old"), by: me, deviceID: "pixel"))
        _ = try executor.commit(register(apns("abcdef0123456789"), by: me))
        _ = try executor.commit(announce(to: "42"))
        let reply = try executor.commit(register(apns("abcdef0123456789"), by: me, deviceID: "pixel"))
        #expect(reply.lanes == [.apns])
        #expect(try executor.jobs().sorted() == ["driver:42|cancelled|replaced", "driver:42|queued|"])
        #expect(try executor.claim(9, .apns).count == 1 && executor.claim(9, .fcm).isEmpty)
    }

    @Test func changedEnvironmentMovesJobsToItsLane() throws {
        let executor = try store.pushing()
        let token = "abcdef0123456789"
        _ = try executor.commit(register(apns(token), by: driver("42")))
        _ = try executor.commit(announce(to: "42"))
        let reply = try executor.commit(register(apns(token, .sandbox), by: driver("42")))
        #expect(reply.lanes == [.apnsSandbox] && reply.removed == [])
        #expect(try executor.claim(9, .apns) == [])
        #expect(try executor.claim(9, .apnsSandbox).map(\.device.token) == [apns(token, .sandbox)])
    }

    @Test func removesTheLeastRecentlySeenDeviceBeyondTheLimit() throws {
        let executor = try store.pushing()
        for number in 10..<30 { _ = try executor.commit(register(fcm("\(number)"), by: driver("42")), at: noon + Int64(number)) }
        _ = try executor.commit(register(fcm("10"), by: driver("42")), at: noon + 40)  // seen again
        _ = try executor.commit(announce(to: "42"), at: noon + 41)
        let reply = try executor.commit(register(fcm("new"), by: driver("42")), at: noon + 42)
        #expect(reply.removed.map(\.maskedToken) == ["toke…f-11"] && reply.removed[0].reason == "too_many_devices")
        #expect(try executor.count("devices") == 20)
        #expect(try executor.jobs().filter { $0.hasSuffix("cancelled|too_many_devices") }.count == 1)
    }

    @Test func unregistersOnlyOwnDevices() throws {
        let executor = try store.pushing()
        _ = try executor.commit(register(fcm("a"), by: driver("42")))
        _ = try executor.commit(announce(to: "42"))
        let before = try executor.jobs()
        for foreign in [unregister(fcm("a"), by: driver("43")), unregister(fcm("b"), by: driver("42"))] {
            let reply = try executor.commit(foreign)
            #expect(reply.status == 200 && reply.removed == [])
        }
        #expect(try executor.jobs() == before && executor.count("devices") == 1)
        #expect(try executor.commit(unregister(fcm("a"), by: driver("42"))).removed.map(\.reason) == ["unregistered"])
        #expect(try executor.jobs() == ["driver:42|cancelled|unregistered"])
        #expect(try executor.count("devices") == 0)
    }

    @Test func lastRegistrationReplacesBookings() throws {
        let executor = try store.pushing()
        let bookings = { try executor.database.dump("SELECT owner, reference FROM device_bookings ORDER BY reference") }
        _ = try executor.commit(register(fcm("a"), by: customer("7", bookings: ["B1", "B2", "B1"])))
        #expect(try bookings() == ["customer:7|B1", "customer:7|B2"])
        _ = try executor.commit(register(fcm("b"), by: customer("7", bookings: ["B2", "B3"])))
        #expect(try bookings() == ["customer:7|B2", "customer:7|B3"])
        _ = try executor.commit(unregister(fcm("b"), by: customer("7")))
        #expect(try bookings().count == 2)
        _ = try executor.commit(unregister(fcm("a"), by: customer("7")))
        #expect(try bookings() == [])
        _ = try executor.commit(register(fcm("a"), by: customer("7", bookings: (0..<150).map { "B\($0)" })))
        #expect(Set(try bookings()) == Set((50..<150).map { "customer:7|B\($0)" }), "the last hundred, which are the newest")
        _ = try executor.commit(register(fcm("a"), by: customer("8")))
        #expect(try bookings() == [], "the device has a new owner, and the former owner has no other device")
    }

    @Test func devicesAreCountedPerLane() throws {
        let executor = try store.pushing()
        let counts = { executor.outbox.devices.counts.committed.filter { $0.value != 0 } }
        #expect(counts() == [:])
        for token in ["a", "b", "a"] { _ = try executor.commit(register(fcm(token), by: driver("42"))) }
        #expect(counts() == [.fcm: 2])
        let hexadecimal = String(repeating: "ab", count: 32)
        _ = try executor.commit(register(try .apns(hexadecimal, .sandbox), by: customer("7")))
        #expect(counts() == [.fcm: 2, .apnsSandbox: 1])
        _ = try executor.commit(register(try .apns(hexadecimal, .production), by: customer("8")))
        #expect(counts() == [.fcm: 2, .apns: 1], "the device changed its lane and its owner")
        _ = try executor.commit(unregister(fcm("a"), by: driver("42")))
        _ = try executor.commit(command(Erase(.customer, id: "8"), by: admin))
        #expect(counts() == [.fcm: 1])
        let failure = #expect(throws: DatabaseError.self) {
            try executor.transaction { () throws(DatabaseError) in
                try executor.outbox.devices.remove(id: DeviceTable.id(of: fcm("b")))
                try executor.database.run("no SQL")
            }
        }
        #expect(failure != nil && counts() == [.fcm: 1], "a transaction that is rolled back changes nothing")
        let restarted = DeviceTable(database: executor.database)
        try restarted.countByLane()
        #expect(restarted.counts.committed == [.fcm: 1])
    }

    @Test func registrationWithAnOlderTokenKeepsNewerBookings() throws {
        let executor = try store.pushing()
        let bookings = { try executor.database.dump("SELECT reference FROM device_bookings ORDER BY reference") }
        func registerPhone(_ device: String, _ references: [String], issuedAt: Int64?) throws {
            let actor = customer("7", bookings: references, tokenIssuedAt: issuedAt)
            _ = try executor.commit(register(fcm(device), by: actor))
        }
        try registerPhone("a", ["B1"], issuedAt: 1_000)
        try registerPhone("b", ["B2"], issuedAt: 2_000)
        try registerPhone("a", ["B1"], issuedAt: 1_000)
        #expect(try bookings() == ["B2"], "the other phone still has an old token")
        try registerPhone("a", ["B2", "B3"], issuedAt: 2_000)
        #expect(try bookings() == ["B2", "B3"], "a token of the same age")
        try registerPhone("b", [], issuedAt: 3_000)
        try registerPhone("a", ["B3"], issuedAt: 2_000)
        #expect(try bookings() == [], "the newest token has no bookings")
        try registerPhone("a", ["B4"], issuedAt: nil)
        #expect(try bookings() == ["B4"], "a token that does not say when it was issued counts as new")
        try registerPhone("a", ["B1"], issuedAt: 1_000)
        #expect(try bookings() == ["B1"], "and nothing is known to be older than it")
        for device in ["a", "b"] { _ = try executor.commit(unregister(fcm(device), by: customer("7"))) }
        try registerPhone("a", ["B0"], issuedAt: 500)
        #expect(try bookings() == ["B0"], "without devices nothing is kept")
        #expect(try executor.database.dump("SELECT * FROM device_booking_lists") == ["customer:7|500"])
    }

    @Test func retentionRemovesStaleDevices() throws {
        let executor = try store.pushing()
        _ = try executor.commit(register(fcm("a"), by: driver("42")))
        _ = try executor.commit(register(fcm("b"), by: driver("42")), at: noon + 1)
        let old = noon + 270 * day
        _ = try executor.commit(announce(to: "42"), at: old)
        #expect(try executor.jobs().count == 2)
        _ = try executor.commit(announce(to: "42"), at: old + 1)
        #expect(try executor.jobs().count == 3, "a stale device gets no job")
        var retention = RetentionSchedule(days: 30)
        var removed: [RemovedDevice] = []
        while retention.isDue(old + 1) { removed += try retention.runSlice(executor, old + 1).removed }
        #expect(removed.map(\.maskedToken) == ["toke…of-a"])
        #expect(try executor.deviceOwners() == ["toke…of-b|driver:42"])
        #expect(try executor.jobs().filter { $0.hasSuffix("cancelled|stale") }.count == 1)
    }
}
