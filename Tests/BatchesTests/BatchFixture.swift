import JSON
import Primitives
import TestSupport

@testable import Fleet

/// Batches in each state, with two orders, and the people who act on them.
enum BatchFixture {
    static let start: Int64 = 1_795_253_400_000
    /// When the fixture's window ends.
    static let windowEnd = start + 60_000
    static let batchID = id(0xB)
    static let orderA = id(0xA1)
    static let orderB = id(0xB2)
    static let driver = BatchDriver(accountID: id(0xD1), personID: Identifier("driver-1"), name: "Asha")
    static let other = BatchDriver(accountID: id(0xD2), personID: Identifier("driver-2"))

    static func id(_ number: Int) -> ObjectID {
        let digits = String(number, radix: 16)
        return ObjectID(String(repeating: "0", count: 24 - digits.count) + digits)!
    }

    static func edits(orders ids: [ObjectID]) -> BatchEdits {
        var edits = BatchEdits()
        edits.orders = ids.map { EditedOrder(id: $0, orderNumber: "ORD-\($0.text.suffix(2))") }
        return edits
    }

    static func empty() -> Batch {
        var batch = Batch(id: batchID, createdAt: start)
        batch.windowEndTime = windowEnd
        return batch
    }

    /// The two orders A and B are open until the pickup, delivered in `completed`; A is delivered and B failed in
    /// `partialComplete`; `cancelled` was dispatched before.
    static func batch(_ status: BatchStatus) throws -> Batch {
        var batch = empty()
        try batch.perform(.edit(edits(orders: [orderA, orderB])))
        for action in path(to: status) { try batch.perform(action) }
        return batch
    }

    private static func path(to status: BatchStatus) -> [BatchAction] {
        let account = driver.accountID
        let accepted: [BatchAction] = [.ready, .accept(driver, activeBatch: nil)]
        let pickedUp = accepted + [.pickup(by: account, notes: nil), deliver(orderA)]
        switch status {
        case .collecting: return []
        case .ready: return [.ready]
        case .dispatched: return accepted
        case .inProgress: return accepted + [.pickup(by: account, notes: nil)]
        case .completed: return pickedUp + [deliver(orderB)]
        case .partialComplete: return pickedUp + [fail(orderB)]
        case .cancelled: return accepted + [.cancel(reason: nil)]
        }
    }

    static let photo = ProofOfDelivery.photo(url: "https://example.com/1.jpg")

    static func deliver(
        _ order: ObjectID, _ proof: ProofOfDelivery = photo, by account: ObjectID = driver.accountID,
        otp: OTPVerdict = .notRequired
    ) -> BatchAction {
        .report(DeliveryReport(.delivered(proof)), of: order, by: account, otp: otp)
    }

    static func fail(_ order: ObjectID, by account: ObjectID = driver.accountID) -> BatchAction {
        .report(DeliveryReport(.failed(.customerRefused), notes: "No"), of: order, by: account, otp: .notRequired)
    }

    static func step(_ outcome: DeliveryReport.Outcome, _ order: ObjectID) -> BatchAction {
        .report(DeliveryReport(outcome), of: order, by: driver.accountID, otp: .notRequired)
    }
}

extension Batch {
    /// Applies an action and keeps its batch.
    @discardableResult
    mutating func perform(_ action: BatchAction, at now: Int64 = BatchFixture.start) throws -> BatchDecision {
        var random = SplitMix(seed: UInt64(version))
        let decision = try apply(action, at: now, using: &random)
        self = decision.batch
        return decision
    }

    /// Why an action is refused; nil: it is not.
    func refusal(of action: BatchAction, at now: Int64 = BatchFixture.start) -> RuleError? {
        var copy = self
        do {
            try copy.perform(action, at: now)
            return nil
        } catch {
            return error as? RuleError
        }
    }

    func order(_ id: ObjectID) -> BatchOrder? { orders.first { $0.id == id } }
}
