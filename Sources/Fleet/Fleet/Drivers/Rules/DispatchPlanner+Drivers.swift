import Access

extension DispatchPlanner {
    /// Plans an admin's changes to a driver's card. They cause no events.
    /// - Parameter stored: nil if the store has no card of this driver; the changes then create it.
    /// - Throws: `.conflict` (409) if the card does not have the expected version.
    package func plan(
        _ changes: DriverCardChanges, ofDriver id: String, for stored: DriverCard?, _ context: CommandContext
    ) throws(RuleError) -> DispatchPlan {
        var card = stored ?? DriverCard(id: id)
        try context.checkVersion(card.version, of: card.label)
        changes.apply(to: &card)
        guard stored.map({ card.differs(from: $0) }) ?? true else { return DispatchPlan(response: .driver(card)) }
        card.version += 1
        var plan = DispatchPlan(response: .driver(card))
        plan.driver = card
        plan.audit = context.makeAuditEntry("driver_update", .fleet, details: auditDetails(changes, of: card))
        return plan
    }

    /// The driver's id and the names of the changed fields. Their values are left out: they are personal data, and the
    /// audit log keeps its rows when a person's data is erased.
    private func auditDetails(_ changes: DriverCardChanges, of card: DriverCard) -> EventFields {
        let person: EventFields = ["person": .text(Identity(role: .driver, id: card.id).key)]
        let fields = changes.presentFields
        return fields.isEmpty ? person : person + ["fields": .texts(fields)]
    }
}
