import Access
import Testing

@testable import Store

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
        let accept = command(.acceptJob("A"), by: driver("42"), key: "k")
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
