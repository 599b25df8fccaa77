import Access

/// The actor, an admin, changes a driver's card.
package struct ChangeDriverCard: Command {
    package let driverID: String
    package let changes: DriverCardChanges

    package init(driverID: String, _ changes: DriverCardChanges) {
        self.driverID = driverID
        self.changes = changes
    }

    package var name: String { "driver_update" }
    package var priority: RequestPriority { .dispatch }
    package var subject: String { Identity(role: .driver, id: driverID).key }
    package var rows: Int { RowBound.change + RowBound.notification }

    package func prefetch(_ transaction: Transaction) throws(DatabaseError) {
        try transaction.stores.prefetchShownCard(ofDriver: driverID)
    }

    package func execute(_ transaction: Transaction) throws(DatabaseError) -> CommandReply {
        let stores = transaction.stores
        let id = try DriverReference(driverID).channelID(stores.accounts)
        let card = try stores.drivers.card(ofDriver: id)
        let reply = try transaction.plan { planner, context throws(RuleError) in
            try planner.plan(changes, ofDriver: id, for: card, context)
        }
        guard case .committed(var result) = reply, result.effects.card != nil else { return reply }
        result.effects.show(try stores.shownCard(ofDriver: id))
        return .committed(result)
    }
}
