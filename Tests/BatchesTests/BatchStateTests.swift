import JSON
import Primitives
import Testing

@testable import Fleet

/// Every call in every state.
@Suite struct BatchStateTests {
    private typealias Fixture = BatchFixture
    private static let own = BatchFixture.driver.accountID
    private static let strange = BatchFixture.other.accountID

    /// The calls by the names in ``table``.
    private static let calls: [String: BatchAction] = {
        var fields = BatchEdits()
        fields.batchNumber = .set("B-2")
        let reassignment = { (driver: BatchDriver, isApproved: Bool, active: ObjectID?) -> BatchAction in
            .reassign(Reassignment(to: driver, isApproved: isApproved, activeBatch: active, reason: "r"))
        }
        let (a, b) = (BatchFixture.orderA, BatchFixture.orderB)
        let sequence = [SequenceEntry(orderID: a, sequenceNumber: 2), SequenceEntry(orderID: b, sequenceNumber: 1)]
        return [
            "edit-fields": .edit(fields),
            "edit-orders": .edit(BatchFixture.edits(orders: [BatchFixture.id(7)])),
            "ready": .ready,
            "reassign": reassignment(BatchFixture.other, true, nil),
            "reassign-same": reassignment(BatchFixture.driver, true, BatchFixture.batchID),
            "reassign-unapproved": reassignment(BatchFixture.other, false, nil),
            "reassign-busy": reassignment(BatchFixture.other, true, BatchFixture.id(9)),
            "unassign": .unassign(reason: nil),
            "cancel": .cancel(reason: nil),
            "cancel-order": .cancelOrder(a, by: .customer, reason: nil),
            "cancel-unknown": .cancelOrder(BatchFixture.id(7), by: .admin, reason: nil),
            "return-A": .returnOrder(a),
            "return-B": .returnOrder(b),
            "return-unknown": .returnOrder(BatchFixture.id(7)),
            "open": .open,
            "accept": .accept(BatchFixture.driver, activeBatch: nil),
            "accept-other": .accept(BatchFixture.other, activeBatch: nil),
            "accept-busy": .accept(BatchFixture.other, activeBatch: BatchFixture.id(9)),
            "acknowledge": .acknowledge(by: own),
            "acknowledge-other": .acknowledge(by: strange),
            "pickup": .pickup(by: own, notes: nil),
            "pickup-other": .pickup(by: strange, notes: nil),
            "en-route": BatchFixture.step(.enRoute, a),
            "deliver": BatchFixture.deliver(a),
            "fail": BatchFixture.fail(a),
            "deliver-other": BatchFixture.deliver(a, by: strange),
            "deliver-unknown": BatchFixture.deliver(BatchFixture.id(7)),
            "sequence": .sequence(sequence, by: own),
            "sequence-other": .sequence(sequence, by: strange),
            "complete": .complete(by: own, notes: nil),
            "complete-other": .complete(by: strange, notes: nil),
        ]
    }()

    /// The states are the columns. A state: what the batch becomes; `=`: done, the same state; `again`: a repetition; a
    /// number: refused with this HTTP status.
    private static let table = """
        call                 COLL   READY  DISP   PROG   COMP   PART   CANC
        edit-fields          =      =      =      =      =      =      =
        edit-orders          =      =      409    409    409    409    409
        ready                READY  again  409    409    409    409    409
        reassign             409    409    =      =      409    409    409
        reassign-same        409    409    again  again  409    409    409
        reassign-unapproved  409    409    409    409    409    409    409
        reassign-busy        409    409    409    409    409    409    409
        unassign             409    409    READY  409    409    409    409
        cancel               CANC   CANC   CANC   CANC   409    409    again
        cancel-order         =      =      =      =      409    409    409
        cancel-unknown       404    404    404    404    404    404    404
        return-A             409    409    409    409    409    409    409
        return-B             409    409    409    409    409    =      409
        return-unknown       404    404    404    404    404    404    404
        open                 READY  again  again  again  again  again  again
        accept               400    DISP   again  again  400    400    400
        accept-other         400    DISP   400    400    400    400    400
        accept-busy          400    400    400    400    400    400    400
        acknowledge          403    403    =      again  again  again  again
        acknowledge-other    403    403    403    403    403    403    403
        pickup               403    403    PROG   400    400    400    400
        pickup-other         403    403    403    403    403    403    403
        en-route             403    403    400    =      400    400    409
        deliver              403    403    400    =      again  again  409
        fail                 403    403    400    =      400    400    409
        deliver-other        403    403    403    403    403    403    403
        deliver-unknown      404    404    404    404    404    404    404
        sequence             403    403    =      =      400    400    400
        sequence-other       403    403    403    403    403    403    403
        complete             403    403    400    400    =      =      400
        complete-other       403    403    403    403    403    403    403
        """

    private static let states: [String: BatchStatus] = [
        "COLL": .collecting, "READY": .ready, "DISP": .dispatched, "PROG": .inProgress, "COMP": .completed,
        "PART": .partialComplete, "CANC": .cancelled,
    ]

    private static let rows = table.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }

    @Test func theTableNamesEveryCallAndState() {
        #expect(Set(Self.rows.dropFirst().map { $0[0] }) == Set(Self.calls.keys) && Self.rows.count == Self.calls.count + 1)
        #expect(Set(Self.rows[0].dropFirst()) == Set(Self.states.keys) && Self.states.count == BatchStatus.allCases.count)
        #expect(Self.rows.allSatisfy { $0.count == 8 })
        #expect(Set(Self.calls.values.map(\.name)).count == 14)
    }

    @Test(arguments: rows.dropFirst()) func eachStateAnswersTheCall(_ row: [String]) throws {
        let action = try #require(Self.calls[row[0]])
        for (name, expected) in zip(Self.rows[0], row).dropFirst() {
            let status = try #require(Self.states[name])
            let batch = try Fixture.batch(status)
            #expect(batch.status == status)
            var after = batch
            let now = Fixture.windowEnd
            let answer: String
            do {
                let decision = try after.perform(action, at: now)
                let same = decision.isRepetition ? "again" : "="
                answer = after.status == status ? same : Self.states.first { $0.value == after.status }!.key
                #expect(decision.isRepetition ? after == batch && decision.news.isEmpty : after.updatedAt == now)
                #expect(after.version == batch.version + (decision.isRepetition ? 0 : 1))
            } catch let error as RuleError {
                answer = String(error.status)
                #expect(after == batch)
            }
            #expect(answer == expected, "\(row[0]) in \(name)")
        }
    }

    @Test func onlyTheThreeEndsAreEnds() {
        #expect(BatchStatus.allCases.filter(\.isEnd) == [.completed, .partialComplete, .cancelled])
        #expect(BatchStatus.allCases.filter(\.isActive) == [.dispatched, .inProgress])
        #expect(BatchStatus.allCases.filter(\.isCompletion) == [.completed, .partialComplete])
        #expect(
            BatchStatus.allCases.map(\.rawValue) == [
                "COLLECTING", "READY_FOR_DISPATCH", "DISPATCHED", "IN_PROGRESS", "COMPLETED", "PARTIAL_COMPLETE", "CANCELLED",
            ])
    }

    // MARK: Texts that apps show

    private func check(
        _ action: BatchAction, in status: BatchStatus, _ summary: String, _ text: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let error = try Fixture.batch(status).refusal(of: action)
        #expect(error?.summary == summary && error?.text == text, sourceLocation: sourceLocation)
    }

    @Test func refusalsHaveTheContractsTexts() throws {
        let own = Self.own
        let accept = BatchAction.accept(Fixture.other, activeBatch: nil)
        for status in BatchStatus.allCases where status != .ready {
            try check(
                accept, in: status, "Batch already taken or not available", "This batch has been assigned to another driver")
        }
        try check(
            .accept(Fixture.other, activeBatch: Fixture.id(9)), in: .ready, "Driver already has an active batch",
            "Complete your current batch first")
        try check(
            .pickup(by: own, notes: nil), in: .inProgress, "Batch must be in DISPATCHED status",
            "Cannot mark as picked up. Current status: IN_PROGRESS")
        let strange = Self.strange
        let others: [BatchAction] = [
            .pickup(by: strange, notes: nil), .sequence([], by: strange), .complete(by: strange, notes: nil),
            Fixture.deliver(Fixture.orderA, by: strange),
        ]
        for action in others {
            try check(action, in: .inProgress, "Not assigned to this batch", "You are not assigned to this batch")
            try check(action, in: .ready, "Not assigned to this batch", "You are not assigned to this batch")
        }
        try check(
            Fixture.deliver(Fixture.orderA), in: .dispatched, "Order has not been picked up", "Order has not been picked up")
        try check(
            Fixture.fail(Fixture.orderA), in: .completed, "Invalid status transition",
            "Cannot change status from DELIVERED to FAILED")
        try check(
            .complete(by: own, notes: nil), in: .inProgress, "Batch has pending deliveries", "2 deliveries are still pending")
        #expect(RuleError.pendingDeliveries(1).text == "1 delivery is still pending")
        #expect(try Fixture.batch(.cancelled).refusal(of: Fixture.deliver(Fixture.orderA))?.summary == "Order cancelled")
        #expect(RuleError(.unknownBatch).summary == "Batch not found" && RuleError(.unknownBatch).status == 404)
        #expect(try Fixture.batch(.ready).refusal(of: .returnOrder(Fixture.id(7)))?.summary == "Order not found")
    }

    @Test func repeatedAdminActionsSayAlready() throws {
        for (name, status) in [("ready", BatchStatus.ready), ("reassign-same", .inProgress), ("cancel", .cancelled)] {
            var batch = try Fixture.batch(status)
            let decision = try batch.perform(try #require(Self.calls[name]))
            #expect(decision.isRepetition && decision.message.contains("already"))
        }
    }

    @Test func conflictsNameTheState() throws {
        let error = try #require(try Fixture.batch(.completed).refusal(of: .ready))
        #expect(error.text == "Batch \(Fixture.batchID.text) is COMPLETED")
        let order = try #require(try Fixture.batch(.inProgress).refusal(of: .returnOrder(Fixture.orderA)))
        #expect(order.text == "Order \(Fixture.orderA.text) is PICKED_UP")
    }
}
