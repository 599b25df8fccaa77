import Access
import Primitives
import Testing

@testable import Fleet

@Suite struct IdempotencyTests {
    private let store = TemporaryStore()
    private let hour: Int64 = 3_600_000

    @Test func repeatedRequestReturnsTheStoredResponseWithoutEffects() throws {
        let executor = try store.executor()
        let first = try executor.commit(assign("A", to: "42", key: "k"))
        let before = try executor.dispatchTables()
        let again = try executor.commit(assign("A", to: "42", key: "k"), at: noon + hour)
        #expect(again.isReplay && again.status == 200 && again.body == first.body)
        #expect(again.notifications.isEmpty && again.order == nil)
        #expect(try executor.dispatchTables() == before)
    }

    @Test func detectsRepetitionWithinATransaction() throws {
        let executor = try store.executor()
        let replies = try executor.transaction { () throws(DatabaseError) in
            [
                try executor.execute(assign("A", to: "42", key: "k"), now: noon),
                try executor.execute(assign("A", to: "42", key: "k"), now: noon),
            ]
        }
        #expect(replies.map(\.isReplay) == [false, true])
        #expect(replies[0].body == replies[1].body)
        #expect(try executor.count("notifications") == 3)
    }

    @Test func storedResponseSurvivesARestart() throws {
        let first: CommandReply
        do { first = try store.executor().commit(assign("A", to: "42", key: "k")) }
        let again = try store.executor().commit(assign("A", to: "42", key: "k"))
        #expect(again.isReplay && again.body == first.body)
    }

    @Test func rejectsADifferentRequestWithTheSameKey() throws {
        let executor = try store.executor()
        _ = try executor.commit(assign("A", to: "42", key: "k", digest: [1]))
        let before = try executor.dispatchTables()
        let other = try executor.commit(assign("A", to: "43", key: "k", digest: [2]))
        #expect(other.status == 409 && other.text == #"Idempotency-Key "k" was already used for a different request"#)
        #expect(try executor.dispatchTables() == before)
    }

    @Test func keysAreScopedToOnePerson() throws {
        let executor = try store.executor()
        _ = try executor.commit(assign("A", to: "42", key: "k", digest: [1]))
        let other = Identity(role: .admin, id: "2")
        #expect(try executor.commit(assign("B", to: "42", by: other, key: "k", digest: [2])).status == 200)
        #expect(try executor.commit(assign("C", to: "42", key: "K", digest: [3])).status == 200)
        #expect(try executor.commit(assign("D", to: "42", key: "k ", digest: [3])).status == 200)
    }

    @Test func rejectionsAreNotStored() throws {
        let executor = try store.executor()
        let accept = command(AcceptJob("A"), by: driver("42"), key: "k")
        #expect(try executor.commit(accept).status == 404)
        _ = try executor.commit(assign("A", to: "42"))
        let accepted = try executor.commit(accept)
        #expect(accepted.status == 200 && !accepted.isReplay)
        #expect(try executor.commit(accept).isReplay)
    }

    @Test func storedResponseExpiresAfter48Hours() throws {
        let executor = try store.executor()
        _ = try executor.commit(assign("A", to: "42", key: "k"))
        #expect(try executor.commit(assign("A", to: "42", key: "k"), at: noon + 48 * hour - 1).isReplay)
        // The response has expired, although retention has not deleted it.
        let late = try executor.commit(assign("A", to: "43", key: "k", digest: [2]), at: noon + 48 * hour)
        #expect(late.status == 200 && !late.isReplay)
        #expect(try executor.commit(assign("A", to: "43", key: "k", digest: [2]), at: noon + 90 * hour).isReplay)
        #expect(try executor.count("idempotency") == 1)
    }

    /// The keys of the stored responses of a user, oldest first.
    private func keys(_ executor: CommandExecutor, of subject: String) throws -> [String] {
        try executor.database.dump("SELECT key FROM idempotency WHERE subject = '\(subject)' ORDER BY created_at, key")
    }

    @Test func keepsTheNewestResponsesOfAUser() throws {
        let executor = try store.executor()
        let other = command(UpdatePreferences(PreferenceChanges()), by: driver("43"), key: "k")
        _ = try executor.commit(other)
        var evicted = 0
        for number in 0..<2_250 {
            let update = command(UpdatePreferences(PreferenceChanges()), by: driver("42"), key: "k\(number)")
            #expect(try executor.commit(update, at: noon + Int64(number)).status == 200)
            evicted += executor.counter.drain().evictedResponses
        }
        #expect(evicted == 250)
        #expect(try keys(executor, of: "driver:42") == (250..<2_250).map { "k\($0)" })
        #expect(try executor.commit(other).isReplay, "each user has a limit of its own")
        // After retention and a rollback, the rows are counted again.
        var removed: [RemovedDevice] = []
        _ = try executor.deleteExpired(.idempotency, now: noon + 48 * hour + 1_000, lifetime: 0, limit: 1_000, &removed)
        let left = try keys(executor, of: "driver:42").count
        #expect(left == 2_250 - 1_001)
        for number in 0..<100 {
            let update = command(UpdatePreferences(PreferenceChanges()), by: driver("42"), key: "l\(number)")
            _ = try executor.commit(update, at: noon + 48 * hour)
        }
        #expect(executor.counter.drain().evictedResponses == 0)
    }

    @Test func storesNoResponseIfNothingChanged() throws {
        let executor = try store.executor()
        let readAll = command(MarkRead(nil), by: driver("42"), key: "k")
        #expect(try executor.commit(readAll).status == 200)
        _ = try executor.commit(assign("A", to: "42"))
        #expect(try executor.commit(assign("A", to: "42", key: "k")).text.contains("already assigned"))
        #expect(try executor.count("idempotency") == 0)
        #expect(try executor.commit(readAll).text.contains(#""read":1"#), "executed, not replayed")
        #expect(try executor.commit(readAll).isReplay)
    }

    @Test(arguments: ["Job", "Route"]) func repeatedAcceptIsCalledAlreadyAccepted(noun: String) throws {
        let executor = try store.executor()
        if noun == "Job" {
            _ = try executor.commit(assign("A", to: "42"))
        } else {
            _ = try executor.commit(command(RouteAction(id: "A", .assign(.init(id: Identifier("42"))))))
        }
        let accept = command(noun == "Job" ? AcceptJob("A") : AcceptRoute("A"), by: driver("42"), key: "k")
        let first = try executor.commit(accept)
        let again = try executor.commit(accept)
        #expect(again.isReplay && first.text.contains(#""message":"\#(noun) accepted successfully""#))
        #expect(again.text == first.text.replacing("accepted successfully", with: "already accepted"))
        #expect(try executor.commit(accept).body == again.body)
    }

    @Test func rollbackRemovesTheKey() throws {
        let executor = try store.executor()
        #expect(throws: DatabaseError.self) {
            try executor.transaction { () throws(DatabaseError) in
                _ = try executor.execute(assign("A", to: "42", key: "k"), now: noon)
                try executor.database.run("INSERT INTO nowhere VALUES (1)")
            }
        }
        #expect(try executor.dispatchTables().allSatisfy(\.isEmpty))
        let reply = try executor.commit(assign("A", to: "42", key: "k"))
        #expect(!reply.isReplay && reply.status == 200)
        #expect(try executor.database.dump("SELECT last FROM channel_sequences ORDER BY channel") == ["2", "1"])
    }
}
