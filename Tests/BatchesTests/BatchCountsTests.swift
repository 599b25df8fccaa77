import Primitives
import TestSupport
import Testing

@testable import Fleet

@Suite struct BatchCountsTests {
    private typealias Fixture = BatchFixture

    /// Orders from words: an assignment's status, `none`, `before` (cancelled before the pickup) or `after`.
    private func counts(_ words: String) -> BatchCounts {
        BatchCounts(
            words.split(separator: " ").enumerated().map { index, word in
                var order = BatchOrder(id: Fixture.id(index), orderNumber: "", sequenceNumber: index + 1)
                order.assignment = OrderAssignment(id: Fixture.id(index), assignedAt: 0)
                switch word {
                case "none": order.assignment = nil
                case "before", "after":
                    order.assignment?.status = .cancelled
                    order.cancellation = OrderCancellation(at: 0, by: .admin, reason: nil, isAfterPickup: word == "after")
                default: order.assignment?.status = AssignmentStatus(rawValue: String(word))!
                }
                return order
            })
    }

    @Test(arguments: [
        ("", 0, 0, 0, BatchStatus.cancelled), ("before before", 0, 0, 0, .cancelled), ("after", 0, 0, 0, .partialComplete),
        ("before after", 0, 0, 0, .partialComplete), ("DELIVERED DELIVERED", 2, 0, 0, .completed),
        ("DELIVERED before", 1, 0, 0, .completed), ("DELIVERED after", 1, 0, 0, .partialComplete),
        ("DELIVERED FAILED", 1, 1, 0, .partialComplete), ("DELIVERED RETURNED", 1, 1, 0, .partialComplete),
        ("FAILED FAILED", 0, 2, 0, .partialComplete), ("RETURNED before", 0, 1, 0, .partialComplete),
        ("none", 0, 0, 1, nil), ("ASSIGNED ACKNOWLEDGED PICKED_UP EN_ROUTE ARRIVED", 0, 0, 5, nil),
        ("DELIVERED FAILED ARRIVED after before", 1, 1, 1, nil),
    ])
    func countsAndEnd(_ words: String, _ delivered: Int, _ failed: Int, _ pending: Int, _ end: BatchStatus?) {
        let counts = counts(words)
        #expect(counts.delivered == delivered && counts.failed == failed && counts.pending == pending)
        #expect(counts.total == delivered + failed + pending && counts.end == end)
    }

    // MARK: Random actions

    private static let accounts = [BatchFixture.driver, BatchFixture.other]

    private func randomAction(_ random: inout SplitMix) -> BatchAction {
        let order = Fixture.id(random.within(1...6))
        let driver = random.chance(percent: 85) ? Self.accounts[0] : Self.accounts[1]
        let account = driver.accountID
        let photo = ProofOfDelivery.photo(url: "https://a.b/c")
        let reports: [DeliveryReport.Outcome] = [.enRoute, .arrived, .delivered(photo), .delivered(photo), .failed(.other)]
        switch random.below(28) {
        case 0:
            return .edit(Fixture.edits(orders: (1...6).filter { _ in random.chance(percent: 60) }.map { Fixture.id($0) }))
        case 1: return .ready
        case 2: return .open
        case 3:
            return .reassign(
                Reassignment(to: driver, isApproved: random.chance(percent: 80), activeBatch: nil, reason: nil))
        case 4: return random.chance(percent: 30) ? .unassign(reason: nil) : .acknowledge(by: account)
        case 5: return random.chance(percent: 10) ? .cancel(reason: nil) : .returnOrder(order)
        case 6, 7: return .cancelOrder(order, by: .customer, reason: nil)
        case 8: return .returnOrder(order)
        case 9, 10: return .accept(driver, activeBatch: nil)
        case 11, 12: return .pickup(by: account, notes: nil)
        case 13: return .complete(by: account, notes: nil)
        case 14:
            let numbers = (1...6).shuffled(using: &random)
            return .sequence((1...6).map { SequenceEntry(orderID: Fixture.id($0), sequenceNumber: numbers[$0 - 1]) }, by: account)
        default:
            return .report(
                DeliveryReport(random.pick(reports)!), of: order, by: account,
                otp: .notRequired)
        }
    }

    /// What must be true of a batch whatever happened to it, counted anew from the words that apps see.
    private func problems(of batch: Batch) -> [String] {
        let counts = batch.counts
        let words = batch.orders.map(\.statusWord)
        let listed = words.count { $0 != "CANCELLED" }
        let ended = batch.orders.contains { $0.cancellation?.isAfterPickup == true }
        let failed = words.count { $0 == "FAILED" || $0 == "RETURNED" }
        var problems: [String] = []
        func check(_ holds: Bool, _ promise: String) { if !holds { problems.append(promise) } }
        check(counts.delivered + counts.failed + counts.pending == listed, "sum")
        check(counts.total == listed && batch.listedOrders.count == listed, "total")
        check(counts.delivered == words.count { $0 == "DELIVERED" } && counts.failed == failed, "delivered, failed")
        check(counts.pending == batch.orders.count(where: \.isOpen), "open")
        check(batch.orders.allSatisfy { ($0.assignment?.status == .cancelled) <= ($0.cancellation != nil) }, "cancellation")
        check(batch.orders.map(\.sequenceNumber) == batch.orders.map(\.sequenceNumber).sorted(), "sequence")
        switch batch.status {
        case .collecting: check(batch.driver == nil, "no driver")
        case .ready: check(batch.driver == nil && counts.pending > 0, "waits")
        case .dispatched: check(batch.driver != nil && counts.pending == listed && listed > 0, "accepted")
        case .inProgress: check(batch.driver != nil && counts.pending > 0 && batch.pickedUpAt != nil, "picked up")
        case .completed: check(counts.delivered == listed && listed > 0 && !ended, "completed")
        case .partialComplete: check(counts.pending == 0 && (failed > 0 || ended), "partial")
        case .cancelled: check(counts.pending == 0, "cancelled")
        }
        check((batch.completedAt != nil) == batch.status.isCompletion, "completedAt")
        return problems
    }

    @Test func countsHoldUnderAnyActions() throws {
        var seen: [BatchStatus: Int] = [:]
        var done: [String: Int] = [:]
        for seed in 1...400 {
            var random = SplitMix(seed: UInt64(seed))
            var batch = Fixture.empty()
            for step in 0..<150 {
                let action = randomAction(&random)
                let before = batch
                guard let decision = try? batch.apply(action, at: Fixture.windowEnd + Int64(step), using: &random) else {
                    continue
                }
                batch = decision.batch
                #expect(problems(of: batch).isEmpty, "seed \(seed), step \(step): \(action.name) in \(before.status)")
                #expect(decision.isRepetition ? batch == before && decision.news.isEmpty : batch.version == before.version + 1)
                #expect(!before.status.isEnd || batch.status == before.status)
                if !decision.isRepetition { done[action.name, default: 0] += 1 }
            }
            seen[batch.status, default: 0] += 1
        }
        // The test has met what it promises: every end, and every action with an effect.
        for status in BatchStatus.allCases where status.isEnd { #expect(seen[status, default: 0] > 5, "\(status)") }
        #expect(done.count == 14 && done.values.allSatisfy { $0 > 5 }, "\(done)")
    }
}

/// Implication.
private func <= (one: Bool, other: Bool) -> Bool { !one || other }
