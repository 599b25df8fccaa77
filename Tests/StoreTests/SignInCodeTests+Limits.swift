import Primitives
import Testing

@testable import Fleet

/// What limits codes beside a phone's own limits, and what strangers cannot do to a phone.
extension SignInCodeTests {
    private static let (home, elsewhere) = ("192.0.2.1", "198.51.100.9")

    /// Asks for a code with other limits, as after a restart.
    private func logIn(
        _ phone: String, at seconds: Double, from client: String? = nil, _ limits: SignInCodeLimits, in store: TemporaryStore
    ) throws -> (reply: CommandReply, counts: SignInCodeCounts) {
        let executor = try store.executor { $0.codes.limits = limits }
        let reply = try commit(SendSignInCode(try number(phone)), at: seconds, from: client, on: executor)
        return (reply, executor.drainCodeCounts())
    }

    private func addAccount(_ phone: String, to store: TemporaryStore) throws {
        try store.executor().customers.store(Customer(id: 10_000, phone: phone, now: noon))
    }

    /// Some phones without an account, whose prefixes differ.
    private func stranger(_ number: Int) -> String { "+1\(300 + number)5550100" }

    private func expect(_ reply: CommandReply, _ limit: SignInCodeLimit, _ counts: SignInCodeCounts, after seconds: Int = 3_600) {
        #expect(reply.error == RuleError(.codesLimited, retryAfterSeconds: seconds))
        #expect(counts.limited[limit]?.count == 1 && counts.limited.count == 1 && counts.outcomes == [.limited: 1])
    }

    // MARK: All phones

    @Test func halfOfTheDaysCodesAreKeptForPhonesWithAnAccount() throws {
        let (limits, store) = (SignInCodeLimits(dailyMax: 4), TemporaryStore())
        try addAccount(Self.phone, to: store)
        for number in 0..<2 { #expect(try logIn(stranger(number), at: 0, limits, in: store).reply.message != nil) }
        let third = try logIn(stranger(2), at: 1, limits, in: store)
        expect(third.reply, .newPhones, third.counts)
        for minute in 0..<2 { #expect(try logIn(Self.phone, at: Double(minute) * 61, limits, in: store).reply.message != nil) }
        let fifth = try logIn(Self.phone, at: 200, limits, in: store)
        expect(fifth.reply, .dailyMax, fifth.counts)
        #expect(try logIn(stranger(3), at: 86_399, limits, in: store).reply.status == 503)
        #expect(try logIn(stranger(3), at: 90_000, limits, in: store).reply.message != nil, "a day, to the full hour")
    }

    @Test func newPhonesAreLimitedByPrefix() throws {
        let (limits, store) = (SignInCodeLimits(prefixDailyMax: 3), TemporaryStore())
        for number in 0..<3 { #expect(try logIn("+1555000100\(number)", at: 0, limits, in: store).reply.message != nil) }
        let fourth = try logIn("+15559999999", at: 1, limits, in: store)
        expect(fourth.reply, .prefix, fourth.counts)
        #expect(fourth.counts.limited[.prefix]?.prefix == "+1555")
        #expect(try logIn("+15569999999", at: 1, limits, in: store).reply.message != nil, "another prefix")
        try addAccount("+15558888888", to: store)
        #expect(try logIn("+15558888888", at: 1, limits, in: store).reply.message != nil, "a phone with an account")
        #expect(try logIn("+15559999999", at: 90_000, limits, in: store).reply.message != nil)
    }

    @Test func newPhonesAreLimitedByAddress() throws {
        let (limits, store) = (SignInCodeLimits(dailyMax: 40), TemporaryStore())
        for number in 0..<2 {
            #expect(try logIn(stranger(number), at: 0, from: Self.home, limits, in: store).reply.message != nil)
        }
        let third = try logIn(stranger(2), at: 1, from: Self.home, limits, in: store)
        expect(third.reply, .address, third.counts)
        #expect(try logIn(stranger(2), at: 1, from: Self.elsewhere, limits, in: store).reply.message != nil)
        try addAccount(Self.phone, to: store)
        #expect(try logIn(Self.phone, at: 1, from: Self.home, limits, in: store).reply.message != nil)
        let database = try store.executor().database
        let tables = try database.tableNames().flatMap { try database.dump("SELECT * FROM \($0)") }
        #expect(!tables.contains { $0.contains(Self.home) }, "no address is stored in clear")
    }

    /// A new phone that is sent another code in its session is limited, too.
    @Test func resendingIsLimitedLikeALogin() throws {
        let store = TemporaryStore()
        let executor = try store.executor { $0.codes.limits = SignInCodeLimits(dailyMax: 20) }
        let login = SendSignInCode(try number(Self.phone))
        let message = try #require(try commit(login, at: 0, from: Self.home, on: executor).message)
        _ = try commit(RecordSignInSMS(message.result(isSent: true)), at: 0, on: executor)
        _ = executor.drainCodeCounts()
        let again = try commit(ResendSignInCode(sessionID: message.sessionID), at: 61, from: Self.home, on: executor)
        expect(again, .address, executor.drainCodeCounts())
    }

    // MARK: Prefixes without sign-ins

    private func phone(_ number: Int) -> String { "+1777\(1_000_000 + number)" }

    @Test func fiftyCodesWithoutSignInStopAPrefixForAnHour() throws {
        for number in 0..<50 { _ = try send(phone(number), at: Double(number)) }
        #expect(executor.drainCodeCounts().stoppedPrefixes == ["+1777"])
        let refused = try logIn(phone(50), at: 59)
        expect(refused, .stoppedPrefix, executor.drainCodeCounts(), after: 3_590)
        #expect(try logIn(Self.phone, at: 59).message != nil, "other prefixes go on")
        try executor.customers.store(Customer(id: 10_000, phone: phone(60), now: noon))
        #expect(try logIn(phone(60), at: 59).message != nil, "a phone with an account goes on")
        #expect(try logIn(phone(50), at: 3_648).status == 503)
        #expect(try logIn(phone(50), at: 3_649).message != nil)
        #expect(executor.drainCodeCounts().stoppedPrefixes == [])
    }

    @Test func aSignInShowsThatAPrefixIsNeeded() throws {
        let messages = try (0..<50).map { try send(phone($0), at: Double($0)) }
        #expect(try logIn(phone(50), at: 59).status == 503)
        #expect(try verify(messages[49], at: 60).status == 200)
        for number in 50..<99 { _ = try send(phone(number), at: 60 + Double(number)) }
        #expect(try logIn(phone(99), at: 200).message != nil, "the fiftieth since the sign-in")
        #expect(try logIn(phone(100), at: 201).status == 503)
    }

    /// An adapter that is out of order stops no prefix, and uses up no day.
    @Test func codesThatCouldNotBeSentCountForNothing() throws {
        for number in 0..<60 {
            let message = try #require(try logIn(phone(number), at: Double(number), from: Self.home).message)
            _ = try deliver(message, false, at: Double(number))
        }
        #expect(try executor.codeCounters.prefix("+1777") == SignInCodePrefix())
        let counts = try executor.codeCounters.counts(of: [.all, .newPhones, .prefix("+1777")], now: noon)
        #expect(counts.values.allSatisfy { $0 == 0 })
    }

    // MARK: Own addresses

    @Test func strangersCannotLockAPhone() throws {
        try signIn(at: 0, from: Self.home)
        for minute in 1..<5 {
            let message = try send(at: Double(minute) * 61, from: Self.elsewhere)
            for _ in 0..<5 { _ = try verify(message, wrong(message), at: Double(minute) * 61, from: Self.elsewhere) }
        }
        #expect(try logIn(at: 310, from: Self.elsewhere).error?.status == 429)
        for minute in 0..<5 {
            let message = try send(at: 320 + Double(minute) * 61, from: Self.home)
            if minute == 0 { #expect(try verify(message, at: 321, from: Self.home).status == 200) }
        }
        #expect(try logIn(at: 700, from: Self.home).error?.status == 429, "the same limits a second time")
    }

    /// Else a stranger could use up the tries of the owner's code.
    @Test func strangersDoNotGetTheOwnersSession() throws {
        try signIn(at: 0, from: Self.home)
        let mine = try send(at: 100, from: Self.home)
        let theirs = try logIn(at: 101, from: Self.elsewhere)
        #expect(theirs.message.map { $0.sessionID != mine.sessionID } == true)
        let again = try logIn(at: 102, from: Self.home)
        #expect(again.message == nil && again.text.contains(mine.sessionID), "the owner goes on")
    }

    @Test func wrongCodesOfStrangersLeaveTheOwnersTries() throws {
        try signIn(at: 0, from: Self.home)
        for minute in 1..<5 {
            let message = try send(at: Double(minute) * 61)
            for _ in 0..<5 { _ = try verify(message, wrong(message), at: Double(minute) * 61) }
        }
        let theirs = try send(at: 3_600 + 61)
        for _ in 0..<5 { _ = try verify(theirs, wrong(theirs), at: 3_662) }
        #expect(try executor.signIns.tries(forPhone: Self.phone, isOwn: false, since: noon).count == 25)
        #expect(try verify(try send(at: 3_663, from: Self.home), at: 3_664, from: Self.elsewhere).status == 200)
    }

    @Test func aPhoneHasFiveOwnAddressesFor90Days() throws {
        func isOwn(_ client: String, at seconds: Double) throws -> Bool {
            try executor.isOwn(client, of: Self.phone, noon + Int64(seconds * 1_000))
        }
        for number in 0..<6 {
            let seconds = Double(number) * 90_000
            try signIn(at: seconds, from: "192.0.2.\(number)")
            if number == 4 { try signIn(at: seconds + 100, from: "192.0.2.0") }
        }
        #expect(try executor.count("own_addresses") == 5)
        #expect(try (0..<6).map { try isOwn("192.0.2.\($0)", at: 450_010) } == [true, false, true, true, true, true])
        let days90 = 90 * 86_400.0
        #expect(try isOwn("192.0.2.2", at: 180_000 + days90) && !isOwn("192.0.2.2", at: 180_002 + days90))
        #expect(try !executor.isOwn("192.0.2.2", of: "+15550001111", noon), "another phone's")
    }

    @Test func anOwnAddressOutlivesAChangeOfKeys() throws {
        let store = TemporaryStore()
        for keys in [testKeys("k1"), testKeys("k2", "k1")] {
            let executor = try store.executor { $0.keys = keys }
            try executor.transaction { () throws(DatabaseError) in try executor.remember(Self.home, of: Self.phone, noon) }
            #expect(try executor.isOwn(Self.home, of: Self.phone, noon))
            #expect(try executor.database.dump("SELECT key_id FROM own_addresses") == [keys.currentID])
        }
        #expect(try !store.executor { $0.keys = testKeys("k1") }.isOwn(Self.home, of: Self.phone, noon))
    }

    // MARK: E-mail addresses

    @Test func fewEmailAddressesOfOthersAreNamedInAnHour() throws {
        let (first, _) = try signIn(at: 0)
        let (second, _) = try signIn("+15550001111", at: 2)
        _ = try commit(SaveBasicDetails(try details("ann@b.example")), at: 3, by: first)
        _ = try commit(SaveBasicDetails(try details("bea@b.example")), at: 3, by: second)
        func save(_ email: String, at seconds: Double) throws -> Int? {
            try commit(SaveBasicDetails(try details(email)), at: seconds, by: second).status
        }
        for number in 0..<5 { #expect(try save("Ann@b.example", at: 4 + Double(number)) == 409) }
        _ = executor.drainCodeCounts()
        let free = try commit(SaveBasicDetails(try details("free@b.example")), at: 9, by: second)
        #expect(free.error == RuleError(.tooManyRequests, retryAfterSeconds: 3_595), "nothing is told")
        #expect(executor.drainCodeCounts().limited == [.email: SignInCodeCounts.Limited(count: 1)])
        #expect(try save("BEA@b.example", at: 10) == 200, "the account's own address")
        #expect(try save("free@b.example", at: 3_604) == 200)
    }

    // MARK: Bounds

    /// The writer takes commands by the rows that they write.
    @Test(.fileOnly) func aCommandWritesFewRows() throws {
        func rows(_ run: () throws -> CommandReply) throws -> Int {
            let before = executor.database.totalChangedRows
            _ = try run()
            return Int(executor.database.totalChangedRows - before)
        }
        for number in 0..<4 { _ = try send(phone(number), at: Double(number), from: Self.home) }
        let message = try #require(try logIn(at: 10, from: Self.home).message)
        #expect(try rows { try logIn(phone(9), at: 10, from: Self.home) } == 7)
        #expect(try rows { try deliver(message, false, at: 11) } == 7)
        let second = try send(at: 12, from: Self.home)
        #expect(try rows { try verify(second, wrong(second), at: 13) } == 2)
        #expect(try rows { try verify(second, at: 14, from: Self.home) } == 7)
        for number in 0..<6 {
            _ = try verify(
                try send(at: 100_000 * Double(number + 1)), at: 100_000 * Double(number + 1), from: "192.0.2.\(number)")
        }
        let last = try send(at: 800_000)
        #expect(try rows { try verify(last, at: 800_001, from: "192.0.2.99") } == 5)
    }

    @Test func retentionDeletesCountsPrefixesAndAddresses() throws {
        try signIn(at: 0, from: Self.home)
        func left(at seconds: Double) throws -> [Int] {
            _ = try executor.deleteExpiredCodes(now: noon + Int64(seconds * 1_000), most: 100)
            return try ["code_counts", "code_prefixes", "own_addresses"].map(executor.count)
        }
        #expect(try left(at: 86_400) == [4, 1, 1], "an hour counts until all of it is a day ago")
        #expect(try left(at: 90_000) == [0, 0, 1])
        #expect(try left(at: 90 * 86_400) == [0, 0, 1])
        #expect(try left(at: 90 * 86_400 + 1) == [0, 0, 0])
    }

    // MARK: One number for a phone

    @Test func theAccountThatCouldNotHaveItsNumberGetsItWhenTheOtherGoes() throws {
        let customers = executor.customers
        try customers.store(Customer(id: 10_001, phone: "+4407911123456", now: noon))
        try customers.store(Customer(id: 10_002, phone: "+447911123456", now: noon))
        try executor.database.run("INSERT INTO customer_duplicates (id, phone) VALUES (10001, '+447911123456')")
        #expect(try executor.customerDuplicates().map { [$0.id, $0.other] } == [[10_001, 10_002]])
        _ = try executor.commit(command(Erase(.customer, id: "10002")))
        #expect(try customers.customer(phone: "+447911123456")?.id == 10_001)
        #expect(try executor.database.dump("SELECT * FROM customer_duplicates") == [])
    }
}
