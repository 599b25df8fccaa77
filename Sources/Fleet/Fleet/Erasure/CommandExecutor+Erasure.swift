import Access
import Primitives

/// Erasure of a person's data (GDPR, article 17). The steps are described at ``Erase``.
extension CommandExecutor {
    /// The person's names in orders and routes, for a driver also the texts of the card that identify the person, and
    /// for a customer the addresses of the orders that have ended, unless an open order has the same address. Call it
    /// before they are cleared.
    func texts(of person: Identity) throws(DatabaseError) -> [String] {
        switch person.role {
        case .driver:
            try orders.names(of: person) + routes.names(ofDriver: person.id)
                + (drivers.card(ofDriver: person.id)?.identifyingTexts ?? [])
        case .customer:
            try orders.names(of: person) + orders.addresses(ofCustomer: person.id).ended.sorted()
                + batches.orders.texts(ofCustomer: person.id)
        case .admin, .ops: []
        }
    }

    /// The most rows of each kind that one transaction clears.
    static let clearedMax = 250

    /// Deletes a person's stored responses and the deliveries on the person's channel, and clears the person's data in
    /// other rows that are found by id, ``clearedMax`` of each kind at most. Records in `counts` how many rows of each
    /// kind changed.
    /// - Returns: whether more may be left.
    func clearRows(
        of person: Identity, account: ObjectID?, _ counts: inout ErasureCounts
    ) throws(DatabaseError) -> Bool {
        let most = Self.clearedMax
        var largest = 0
        /// Notes the rows of a kind.
        func cleared(_ count: Int) -> Int {
            largest = max(largest, count)
            return count
        }
        counts.storedResponses = cleared(try idempotency.deleteOldest(of: person.key, most: most))
        switch person.role {
        case .driver:
            counts.orders =
                cleared(try orders.clearName(ofDriver: person.id, most: most))
                + cleared(try batches.clearName(ofDriver: person.id, most: most))
            counts.routes = cleared(try routes.clearName(ofDriver: person.id, most: most))
            if let account { _ = cleared(try batches.orders.clearReports(ofAccount: account, most: most)) }
            try drivers.remove(ofDriver: person.id)
            _ = cleared(try removePositions(ofDriver: person.id, most: most))
        case .customer:
            counts.orders =
                cleared(try orders.clearName(ofCustomer: person.id, most: most))
                + cleared(try batches.orders.clear(customer: person.id, most: most))
            _ = cleared(try orders.clearPlaces(ofCustomer: person.id, most: most))
        case .admin, .ops: break
        }
        counts.auditDetails = cleared(try auditTable.clearDetails(of: person.key, most: most))
        counts.stepDetails = cleared(try steps.clearDetails(of: person.key, most: most))
        return largest == most
    }

    /// Deletes the deliveries to a driver of the next notifications for all drivers.
    /// - Returns: whether more are left.
    func removeDeliveriesForEveryDriver(to person: Identity, after cursor: Int64) throws(DatabaseError) -> Bool {
        guard person.role == .driver, cursor < .max else { return false }
        let channel = FleetChannel.drivers.name
        let end = try notifications.sequence(of: channel, Self.clearedMax, after: cursor) ?? .max
        let most = Self.clearedMax
        let count = try deliveries.remove(channel: channel, of: person.key, after: cursor, upTo: end, most: most)
        if count == most { return true }
        try erasures.advanceBroadcasts(to: end, of: person)
        return end < .max
    }

    /// Deletes the deliveries of the next notifications of a person's own channel, up to those at the time of the request.
    /// - Returns: whether more are left.
    func removeDeliveries(to person: Identity, after cursor: Int64) throws(DatabaseError) -> Bool {
        let erasedTo = try sequences.end(of: person.channel).erasedTo
        guard cursor < erasedTo else { return false }
        let next = try notifications.sequence(of: person.channel, Self.clearedMax, after: cursor) ?? erasedTo
        let (end, most) = (min(next, erasedTo), Self.clearedMax)
        let count = try deliveries.remove(channel: person.channel, of: person.key, after: cursor, upTo: end, most: most)
        if count == most { return true }
        try erasures.advanceDeliveries(to: end, of: person)
        return end < erasedTo
    }

    // MARK: End of the search

    /// Removes an erasure whose search is done, or lets it wait until the person's orders and routes have ended.
    func finish(_ erasure: ErasureTable.Erasure) throws(DatabaseError) {
        if try hasOpen(erasure) { try erasures.markWaiting(erasure.person) } else { try erasures.remove(erasure.person) }
        backgroundTasks.insert(.checkpoint)
    }

    // MARK: Orders and routes that were open at the time of the request

    /// Whether an order, a route or a batch of the person that existed at the time of the request is still open.
    private func hasOpen(_ erasure: ErasureTable.Erasure) throws(DatabaseError) -> Bool {
        let person = erasure.person
        if try orders.hasOpen(of: person, createdUntil: erasure.requestedAt) { return true }
        return person.role == .driver
            ? try routes.hasOpen(ofDriver: person.id, createdUntil: erasure.requestedAt)
            : try batches.orders.hasOpen(ofCustomer: person.id, createdUntil: erasure.requestedAt)
    }

    /// The most waiting erasures that one transaction looks at.
    private static let resumedMax = 50

    /// Restarts the search of the next waiting erasures whose person has no order or route left that was open at the time of
    /// the request. A customer's erasure is restarted earlier if one of these orders has ended and still contains the
    /// customer's name, an address or coordinates.
    ///
    /// The restarted search covers the whole log, because each action on an open order may have written notifications
    /// with the person's name since the first search.
    func resumeErasures() throws(DatabaseError) {
        let waiting = try erasures.waiting(after: resumedErasure, most: Self.resumedMax)
        resumedErasure = waiting.count == Self.resumedMax ? waiting.last?.person.key ?? "" : ""
        for erasure in waiting {
            if try hasOpen(erasure), try !hasEndedOrderToClear(erasure) { continue }
            let person = erasure.person
            let texts = try texts(of: person)
            // The task clears the rows, before it searches.
            try erasures.restart(person, texts: texts, lastID: try notifications.lastID() ?? "")
            backgroundTasks.insert(.erasures)
        }
    }

    /// Whether an order of a customer that existed at the time of the request has ended and still contains the
    /// customer's name, an address or coordinates, or a batch that is over the customer's. False for drivers.
    private func hasEndedOrderToClear(_ erasure: ErasureTable.Erasure) throws(DatabaseError) -> Bool {
        guard erasure.person.role == .customer else { return false }
        let (id, moment) = (erasure.person.id, erasure.requestedAt)
        if try orders.hasEndedOrderToClear(ofCustomer: id, createdUntil: moment) { return true }
        return try batches.orders.hasEndedToClear(ofCustomer: id, createdUntil: moment)
    }
}
