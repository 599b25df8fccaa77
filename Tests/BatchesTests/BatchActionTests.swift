import JSON
import Primitives
import Testing

@testable import Fleet

/// What the actions change, and what is told about them.
@Suite struct BatchActionTests {
    private typealias Fixture = BatchFixture
    private let own = BatchFixture.driver.accountID
    private let now = BatchFixture.start + 5_000

    @Test func acceptGivesTheOpenOrdersAssignments() throws {
        var batch = try Fixture.batch(.ready)
        try batch.perform(.cancelOrder(Fixture.orderA, by: .customer, reason: nil))
        let decision = try batch.perform(.accept(Fixture.driver, activeBatch: nil), at: now)
        #expect(decision.news == [.taken, .accepted] && decision.message == "Batch accepted")
        #expect(batch.driver == Fixture.driver && batch.driverAssignedAt == now && batch.dispatchedAt == now)
        #expect(batch.order(Fixture.orderA)?.assignment == nil)
        let assignment = try #require(batch.order(Fixture.orderB)?.assignment)
        #expect(assignment == OrderAssignment(id: assignment.id, assignedAt: now))
        #expect(batch.listedOrders.map(\.id) == [Fixture.orderB] && batch.order(Fixture.orderB)?.statusWord == "READY")
        let again = try batch.perform(.accept(Fixture.driver, activeBatch: Fixture.batchID), at: now + 1)
        #expect(again.isRepetition && again.message == "Batch accepted")
    }

    @Test func assignmentsGetDifferentIDs() throws {
        let batch = try Fixture.batch(.dispatched)
        #expect(Set(batch.orders.compactMap(\.assignment?.id)).count == 2)
    }

    @Test func theFirstReadAcknowledges() throws {
        var batch = try Fixture.batch(.dispatched)
        #expect(batch.needsAcknowledgement(by: own) && !batch.needsAcknowledgement(by: Fixture.other.accountID))
        #expect(try batch.perform(.acknowledge(by: own)).news.isEmpty)
        #expect(batch.orders.map(\.assignment?.status) == [.acknowledged, .acknowledged])
        #expect(batch.orders.map(\.statusWord) == ["READY", "READY"])
        #expect(!batch.needsAcknowledgement(by: own))
        #expect(try batch.perform(.acknowledge(by: own)).isRepetition)
    }

    @Test func pickupPicksUpAllOrdersThatAreNotCancelled() throws {
        var batch = try Fixture.batch(.dispatched)
        try batch.perform(.cancelOrder(Fixture.orderB, by: .admin, reason: nil))
        #expect(try batch.perform(.pickup(by: own, notes: "n"), at: now).news == [.pickedUp])
        #expect(batch.pickedUpAt == now && batch.order(Fixture.orderA)?.assignment?.pickedUpAt == now)
        #expect(batch.orders.map(\.statusWord) == ["PICKED_UP", "CANCELLED"])
        #expect(batch.order(Fixture.orderB)?.assignment?.pickedUpAt == nil)
    }

    @Test func theLastReportEndsTheBatch() throws {
        var batch = try Fixture.batch(.inProgress)
        #expect(try batch.perform(Fixture.step(.enRoute, Fixture.orderA), at: now).news.isEmpty)
        #expect(try batch.perform(Fixture.deliver(Fixture.orderA), at: now + 1).news == [.progress])
        #expect(batch.completedAt == nil)
        #expect(try batch.perform(Fixture.fail(Fixture.orderB), at: now + 2).news == [.progress, .completed])
        #expect(batch.status == .partialComplete && batch.completedAt == now + 2)
        let delivered = try #require(batch.order(Fixture.orderA)?.assignment)
        #expect(delivered.enRouteAt == now && delivered.deliveredAt == now + 1 && delivered.arrivedAt == nil)
        #expect(delivered.proof == CheckedProof(Fixture.photo, isOTPVerified: nil, verifiedAt: now + 1))
        let failed = try #require(batch.order(Fixture.orderB)?.assignment)
        #expect(failed.failedAt == now + 2 && failed.failureReason == .customerRefused && failed.notes == "No")
        #expect(failed.reportedBy == own && failed.deliveredAt == nil && failed.proof == nil)
        #expect(try batch.perform(Fixture.fail(Fixture.orderB), at: now + 9).isRepetition)
        // The driver's word comes after the end, once.
        #expect(try !batch.perform(.complete(by: own, notes: nil), at: now + 9).isRepetition)
        #expect(try batch.perform(.complete(by: own, notes: nil), at: now + 10).isRepetition)
        #expect(batch.completedAt == now + 2 && batch.closedAt == now + 9)
    }

    @Test func reassignKeepsTheAssignments() throws {
        var batch = try Fixture.batch(.inProgress)
        try batch.perform(Fixture.step(.arrived, Fixture.orderA))
        let before = batch
        let change = Reassignment(to: Fixture.other, isApproved: true, activeBatch: nil, reason: nil)
        let decision = try batch.perform(.reassign(change), at: now)
        #expect(decision.news == [.reassigned(from: Fixture.driver), .assigned(to: Fixture.other)])
        #expect(batch.orders == before.orders && batch.status == .inProgress)
        #expect(batch.driver == Fixture.other && batch.driverAssignedAt == now && batch.dispatchedAt == before.dispatchedAt)
        // The new driver does not repeat the former driver's report.
        #expect(batch.refusal(of: Fixture.step(.arrived, Fixture.orderA)) == RuleError(.notAssigned))
        let repeated = BatchAction.report(
            DeliveryReport(.arrived), of: Fixture.orderA, by: Fixture.other.accountID, otp: .notRequired)
        #expect(batch.refusal(of: repeated)?.text == "Cannot change status from ARRIVED to ARRIVED")
    }

    @Test func unassignOffersTheBatchAgain() throws {
        var batch = try Fixture.batch(.dispatched)
        let ids = batch.orders.compactMap(\.assignment?.id)
        let decision = try batch.perform(.unassign(reason: nil))
        #expect(decision.news == [.reassigned(from: Fixture.driver), .available])
        #expect(batch.driver == nil && batch.driverAssignedAt == nil && batch.dispatchedAt == nil)
        #expect(batch.orders.allSatisfy { $0.assignment == nil })
        try batch.perform(.accept(Fixture.other, activeBatch: nil))
        #expect(batch.orders.allSatisfy { $0.assignment.map { !ids.contains($0.id) } == true })
    }

    @Test func cancelCancelsTheOpenOrdersOnly() throws {
        var batch = try Fixture.batch(.inProgress)
        try batch.perform(Fixture.deliver(Fixture.orderA))
        let decision = try batch.perform(.cancel(reason: "rain"), at: now)
        #expect(decision.news == [.cancelled(Fixture.driver, reason: "rain")])
        #expect(batch.orders.map(\.statusWord) == ["DELIVERED", "CANCELLED"])
        #expect(
            batch.order(Fixture.orderB)?.cancellation
                == OrderCancellation(at: now, by: .admin, reason: "rain", isAfterPickup: true))
        #expect(batch.completedAt == nil && batch.counts.total == 1)
        var waiting = try Fixture.batch(.ready)
        #expect(try waiting.perform(.cancel(reason: nil)).news == [.taken])
    }

    @Test func aCancelledOrderIsToldToTheDriverOnly() throws {
        let action = BatchAction.cancelOrder(Fixture.orderA, by: .customer, reason: "late")
        for status in [BatchStatus.collecting, .ready] {
            var batch = try Fixture.batch(status)
            #expect(try batch.perform(action).news.isEmpty)
        }
        for status in [BatchStatus.dispatched, .inProgress] {
            var batch = try Fixture.batch(status)
            let told = BatchNews.orderCancelled(
                Fixture.driver, orderID: Fixture.orderA, orderNumber: "ORD-a1", by: .customer)
            #expect(try batch.perform(action).news == [told])
            #expect(batch.refusal(of: action)?.status == 409)
            #expect(batch.order(Fixture.orderA)?.assignment?.status == .cancelled)
        }
    }

    /// The batch with both orders cancelled, and what was told of the second.
    private func cancellingAll(_ status: BatchStatus) throws -> (Batch, [BatchNews]) {
        var batch = try Fixture.batch(status)
        try batch.perform(.cancelOrder(Fixture.orderA, by: .admin, reason: nil))
        let last = try batch.perform(.cancelOrder(Fixture.orderB, by: .customer, reason: "x"), at: now)
        return (batch, last.news)
    }

    @Test func cancellingTheLastOrderEndsTheBatch() throws {
        let collecting = try cancellingAll(.collecting)
        #expect(collecting.0.status == .collecting && collecting.0.refusal(of: .ready)?.status == 409)
        let ready = try cancellingAll(.ready)
        #expect(ready.0.status == .cancelled && ready.1 == [.taken])
        let told = BatchNews.orderCancelled(Fixture.driver, orderID: Fixture.orderB, orderNumber: "ORD-b2", by: .customer)
        let dispatched = try cancellingAll(.dispatched)
        #expect(dispatched.0.status == .cancelled && dispatched.0.completedAt == nil)
        #expect(dispatched.1 == [told, .cancelled(Fixture.driver, reason: "x")])
        let inProgress = try cancellingAll(.inProgress)
        #expect(inProgress.0.status == .partialComplete && inProgress.0.completedAt == now)
        #expect(inProgress.1 == [told, .completed])
    }

    @Test func theWindowOpensTheBatchOnce() throws {
        var batch = try Fixture.batch(.collecting)
        #expect(!batch.isDue(at: Fixture.windowEnd - 1) && batch.isDue(at: Fixture.windowEnd))
        #expect(try batch.perform(.open, at: Fixture.windowEnd - 1).isRepetition && batch.status == .collecting)
        #expect(try batch.perform(.open, at: Fixture.windowEnd).news == [.available] && batch.status == .ready)
        #expect(!batch.isDue(at: Fixture.windowEnd))
        var empty = Fixture.empty()
        #expect(try empty.perform(.open, at: Fixture.windowEnd).news.isEmpty && empty.status == .cancelled)
        var cancelled = try cancellingAll(.collecting).0
        try cancelled.perform(.open, at: Fixture.windowEnd)
        #expect(cancelled.status == .cancelled)
        var endless = Batch(id: Fixture.batchID, createdAt: 0)
        #expect(try endless.perform(.open, at: .max).isRepetition)
    }

    @Test func aReturnedOrderCannotBeReportedAgain() throws {
        var batch = try Fixture.batch(.partialComplete)
        let counts = batch.counts
        #expect(try batch.perform(.returnOrder(Fixture.orderB)).news.isEmpty)
        #expect(batch.counts == counts && batch.status == .partialComplete)
        #expect(batch.order(Fixture.orderB)?.statusWord == "RETURNED")
        #expect(batch.refusal(of: .returnOrder(Fixture.orderB))?.status == 409)
        #expect(batch.refusal(of: Fixture.fail(Fixture.orderB))?.text == "Cannot change status from RETURNED to FAILED")
    }

    @Test func driversSeeTheirBatchAndThoseThatWait() throws {
        let strange = Fixture.other.accountID
        for status in BatchStatus.allCases {
            let batch = try Fixture.batch(status)
            switch status {
            case .ready: #expect(try batch.view(for: strange) == .withoutCustomers)
            case .collecting: #expect(throws: RuleError(.notAssigned)) { try batch.view(for: strange) }
            default:
                #expect(try batch.view(for: own) == .whole)
                #expect(throws: RuleError(.notAssigned)) { try batch.view(for: strange) }
            }
        }
    }

    @Test func phoneNumbersAreHiddenOnceTheOrderIsOver() throws {
        var batch = try Fixture.batch(.inProgress)
        for index in batch.orders.indices {
            batch.orders[index].address.name = "Ravi"
            batch.orders[index].address.phone = "1"
            batch.orders[index].address.flatNumber = "12"
            batch.orders[index].address.street = "Main"
        }
        try batch.perform(Fixture.deliver(Fixture.orderA))
        #expect(batch.orders.map(\.addressForDriver.phone) == [nil, "1"])
        #expect(batch.orders.map(\.addressForDriver.name) == ["Ravi", "Ravi"])
        let hidden = batch.orders[1].address.withoutCustomer
        #expect(hidden.name == nil && hidden.phone == nil && hidden.flatNumber == nil && hidden.street == "Main")
    }
}
