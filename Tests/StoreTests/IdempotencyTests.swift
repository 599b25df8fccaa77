import Access
import Testing

@testable import Store

@Suite struct IdempotencyTests {
    private let room = TemporaryStore()
    private let hour: Int64 = 3_600_000

    @Test func repeatedRequestReturnsTheStoredResponseWithoutEffects() throws {
        let ledger = try room.ledger()
        let first = try ledger.settle(assign("A", to: "42", key: "k"))
        let before = try ledger.everything()
        let again = try ledger.settle(assign("A", to: "42", key: "k"), at: noon + hour)
        #expect(again.isReplay && again.status == 200 && again.body == first.body)
        #expect(again.notifications.isEmpty && again.order == nil)
        #expect(try ledger.everything() == before)
    }

    @Test func detectsRepetitionWithinATransaction() throws {
        let ledger = try room.ledger()
        let answers = try ledger.transaction { () throws(DatabaseError) in
            [
                try ledger.execute(assign("A", to: "42", key: "k"), now: noon),
                try ledger.execute(assign("A", to: "42", key: "k"), now: noon),
            ]
        }
        #expect(answers.map(\.isReplay) == [false, true])
        #expect(answers[0].body == answers[1].body)
        #expect(try ledger.count("notifications") == 3)
    }

    @Test func survivesARestart() throws {
        let first: CommandReply
        do { first = try room.ledger().settle(assign("A", to: "42", key: "k")) }
        let again = try room.ledger().settle(assign("A", to: "42", key: "k"))
        #expect(again.isReplay && again.body == first.body)
    }

    @Test func rejectsADifferentRequestWithTheSameKey() throws {
        let ledger = try room.ledger()
        _ = try ledger.settle(assign("A", to: "42", key: "k", digest: [1]))
        let before = try ledger.everything()
        let other = try ledger.settle(assign("A", to: "43", key: "k", digest: [2]))
        #expect(other.status == 409 && other.text == "Idempotency-Key k was used for another request")
        #expect(try ledger.everything() == before)
    }

    @Test func keysAreScopedToOnePerson() throws {
        let ledger = try room.ledger()
        _ = try ledger.settle(assign("A", to: "42", key: "k", digest: [1]))
        let other = Identity(role: .admin, id: "2")
        #expect(try ledger.settle(assign("B", to: "42", by: other, key: "k", digest: [2])).status == 200)
        #expect(try ledger.settle(assign("C", to: "42", key: "K", digest: [3])).status == 200)
        #expect(try ledger.settle(assign("D", to: "42", key: "k ", digest: [3])).status == 200)
    }

    @Test func rejectionsAreNotStored() throws {
        let ledger = try room.ledger()
        let accept = command(.acceptJob("A"), by: driver("42"), key: "k")
        #expect(try ledger.settle(accept).status == 404)
        _ = try ledger.settle(assign("A", to: "42"))
        let accepted = try ledger.settle(accept)
        #expect(accepted.status == 200 && !accepted.isReplay)
        #expect(try ledger.settle(accept).isReplay)
    }

    @Test func expiresAfter48Hours() throws {
        let ledger = try room.ledger()
        _ = try ledger.settle(assign("A", to: "42", key: "k"))
        #expect(try ledger.settle(assign("A", to: "42", key: "k"), at: noon + 48 * hour - 1).isReplay)
        // With or without retention.
        let late = try ledger.settle(assign("A", to: "43", key: "k", digest: [2]), at: noon + 48 * hour)
        #expect(late.status == 200 && !late.isReplay)
        #expect(try ledger.settle(assign("A", to: "43", key: "k", digest: [2]), at: noon + 90 * hour).isReplay)
        #expect(try ledger.count("idempotency") == 1)
    }

    @Test func rollbackRemovesTheKey() throws {
        let ledger = try room.ledger()
        #expect(throws: DatabaseError.self) {
            try ledger.transaction { () throws(DatabaseError) in
                _ = try ledger.execute(assign("A", to: "42", key: "k"), now: noon)
                try ledger.database.run("INSERT INTO nowhere VALUES (1)")
            }
        }
        #expect(try ledger.everything().allSatisfy(\.isEmpty))
        let settlement = try ledger.settle(assign("A", to: "42", key: "k"))
        #expect(!settlement.isReplay && settlement.status == 200)
        #expect(try ledger.database.dump("SELECT last FROM channel_sequences ORDER BY channel") == ["2", "1"])
    }
}
