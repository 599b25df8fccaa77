import Access
import Primitives

/// The actor, a driver, wants to hear of new batches, or no longer.
package struct SwitchAvailability: Command {
    package let isOnline: Bool

    package init(isOnline: Bool) { self.isOnline = isOnline }

    package var name: String { "availability" }
    package var subject: String { isOnline ? "online" : "offline" }
    package var rows: Int { EndAvailability.rowsMax }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        try transaction.withApprovedAccount { account throws(DatabaseError) in
            let stored = try transaction.stores.outbox.availability.availability(of: account)
            if let stored, stored.isOnline == isOnline {
                return transaction.committed(.availability(AvailabilityState(stored)))
            }
            let availability = Availability(
                accountID: account.id, personID: account.personID, isOnline: isOnline, since: transaction.now)
            return try transaction.store(availability, responding: .availability(AvailabilityState(availability)))
        }
    }
}

/// The gateway itself takes a driver offline who was away for long, unless the driver has come back since that was found.
package struct EndAvailability: Command {
    package let accountID: ObjectID

    package init(accountID: ObjectID) { self.accountID = accountID }

    static let rowsMax = RowBound.change + RowBound.notification

    package var name: String { "availability" }
    package var priority: RequestPriority { .dispatch }
    package var subject: String { accountID.text }
    package var rows: Int { Self.rowsMax }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let stores = transaction.stores
        guard let account = try stores.accounts.account(id: accountID), !stores.isConnected(account.personID),
            stores.lastRequest(account.personID).map({ transaction.trustedNow - $0 >= Availability.idleMax }) ?? true,
            let reply = try transaction.endAvailability(of: account, responding: .ofGateway)
        else { return transaction.committed(.ofGateway) }
        return reply
    }
}

extension Transaction {
    /// Takes a driver offline.
    /// - Returns: nil if the driver is offline, or has never used the switch.
    func endAvailability(
        of account: Account, responding response: CommandResponse
    ) throws(DatabaseError) -> CommandReply? {
        guard let offline = try stores.outbox.availability.switchingOff(account, now) else { return nil }
        return try store(offline, responding: response)
    }

    fileprivate func store(
        _ availability: Availability, responding response: CommandResponse
    ) throws(DatabaseError) -> CommandReply {
        try plan { planner, context throws(RuleError) in
            try planner.switchAvailability(to: availability, responding: response, context)
        }
    }
}

extension AvailabilityTable {
    /// The driver's switch once it is off. Nil if the driver is offline, or has never used the switch.
    func switchingOff(_ account: Account, _ now: Int64) throws(DatabaseError) -> Availability? {
        guard var availability = try availability(of: account), availability.isOnline else { return nil }
        (availability.isOnline, availability.since) = (false, now)
        return availability
    }
}
