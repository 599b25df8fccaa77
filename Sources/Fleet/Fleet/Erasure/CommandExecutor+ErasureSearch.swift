import Access

/// Searches the logs and the stored responses for the data of an erased person, in slices.
extension CommandExecutor {
    /// The most rows of a table that a slice searches; of the stored responses, about as many.
    private static let sliceMax = 500
    /// The most rows that a slice of the search writes: of four tables, and the list of a customer's bookings.
    static let searchedRows = 5 * sliceMax + 10

    /// Searches a slice for the oldest erasure whose search is not done, and redacts the person's data there: the stored
    /// responses, then the audit log, the steps of notifications, and the notifications. When a table is searched to its
    /// end, the slice goes on with the next.
    ///
    /// A notification may contain a name that no order has, such as that in the JWT of a driver's report. It is replaced
    /// from then on; when all tables are searched, they are searched once more for such names.
    /// - Returns: false if no erasure has anything left to search.
    func eraseSome() throws(DatabaseError) -> Bool {
        guard var erasure = try erasures.first() else { return false }
        let person = erasure.person
        if erasure.progress == ErasureTable.Progress(), try clearMore(erasure) { return true }
        guard person.role == .driver || person.role == .customer else {
            try erasures.remove(person)
            backgroundTasks.insert(.checkpoint)
            return true
        }
        var redaction = Redaction(of: person, texts: erasure.texts)
        if person.role == .customer {
            redaction.bookings = Redaction.Bookings(try orders.references(ofCustomer: person.id))
            redaction.kept = try orders.addresses(ofCustomer: person.id).open
        }
        let isDone = try searchSlice(&erasure, redaction)
        if !isDone {
            try erasures.store(
                erasure.progress, texts: erasure.texts, hasFoundTexts: erasure.hasFoundTexts, of: person)
        } else if erasure.hasFoundTexts {
            try erasures.restart(person, texts: erasure.texts, lastID: erasure.lastID)
        } else {
            try finish(erasure)
        }
        return true
    }

    /// Clears further rows that are found by the person's id, before the search begins.
    /// - Returns: whether more may be left.
    private func clearMore(_ erasure: ErasureTable.Erasure) throws(DatabaseError) -> Bool {
        var counts = ErasureCounts()  // not used: the response was sent when the erasure was requested
        let hasRows = try clearRows(of: erasure.person, account: erasure.accountID, &counts)
        let hasDeliveries = try removeDeliveriesForEveryDriver(to: erasure.person, after: erasure.broadcastCursor)
        let hasOwnDeliveries = try removeDeliveries(to: erasure.person, after: erasure.deliveryCursor)
        return hasRows || hasDeliveries || hasOwnDeliveries
    }

    /// - Returns: whether all tables are searched.
    private func searchSlice(_ erasure: inout ErasureTable.Erasure, _ redaction: Redaction) throws(DatabaseError) -> Bool {
        guard try removeInbox(erasure), try redactResponses(&erasure.progress, redaction),
            try redactAudit(&erasure.progress, redaction), try redactSteps(&erasure.progress, redaction)
        else { return false }
        return try redactNotifications(&erasure, redaction)
    }

    /// Deletes the list of what was pushed to a customer about bookings.
    private func removeInbox(_ erasure: ErasureTable.Erasure) throws(DatabaseError) -> Bool {
        guard erasure.person.role == .customer else { return true }
        let person = erasure.person
        let (deleted, unmarked) = try inbox.remove(of: person.key, upTo: erasure.lastID, most: Self.sliceMax)
        for entry in unmarked where try !readMarks.covers(entry: entry.id, of: person.key) {
            try sequences.subtract(unread: entry.wasSeen ? 0 : 1, unmarked: 1, channel: person.channel)
        }
        return deleted < Self.sliceMax
    }

    /// Redacts the person's data in the next stored responses to other people. The responses stay stored under their
    /// idempotency keys, so that a repeated request is still not executed twice.
    /// - Returns: whether all responses are searched. The same applies to the other methods.
    private func redactResponses(
        _ progress: inout ErasureTable.Progress, _ redaction: Redaction
    ) throws(DatabaseError) -> Bool {
        let rows = try idempotency.rowsToRedact(after: progress.response, about: Self.sliceMax)
        for row in rows {
            if let body = redaction.redacted(response: row.body) { try idempotency.replaceBody(of: row, by: body) }
        }
        if let last = rows.last { progress.response = last.storedAt }
        return rows.count < Self.sliceMax
    }

    /// Redacts the person's data in dispatchers' reasons and in other people's reports.
    private func redactAudit(_ progress: inout ErasureTable.Progress, _ redaction: Redaction) throws(DatabaseError) -> Bool {
        let rows = try auditTable.rowsToRedact(after: progress.audit, most: Self.sliceMax)
        for row in rows {
            let reason = row.reason.flatMap { redaction.redacted(text: $0) }
            let details = row.details.flatMap { redaction.redacted(details: $0) }
            guard reason != nil || details != nil else { continue }
            try auditTable.replace(reason: reason ?? row.reason, details: details ?? row.details, of: row.id)
        }
        if let last = rows.last { progress.audit = last.id }
        return rows.count < Self.sliceMax
    }

    /// Redacts the person's data in what other people's devices reported.
    private func redactSteps(_ progress: inout ErasureTable.Progress, _ redaction: Redaction) throws(DatabaseError) -> Bool {
        let rows = try steps.rowsToRedact(after: progress.step, most: Self.sliceMax)
        for row in rows {
            if let detail = row.detail.flatMap({ redaction.redacted(details: $0) }) {
                try steps.replaceDetail(of: row.key, by: detail)
            }
        }
        if let last = rows.last { progress.step = last.key }
        return rows.count < Self.sliceMax
    }

    /// Redacts the person's data in the notifications, and adds the names and addresses that it finds there.
    private func redactNotifications(
        _ erasure: inout ErasureTable.Erasure, _ redaction: Redaction
    ) throws(DatabaseError) -> Bool {
        let rows = try notifications.rowsToRedact(
            after: erasure.progress.notification, upTo: erasure.lastID, most: Self.sliceMax)
        for row in rows {
            let (data, found) = redaction.redacted(row)
            if let data { try notifications.replaceData(of: row, by: data) }
            for text in found where !erasure.texts.contains(where: { $0.hasSameBytes(as: text) }) {
                erasure.texts.append(text)
                erasure.hasFoundTexts = true
            }
        }
        if let last = rows.last { erasure.progress.notification = last.id }
        return rows.count < Self.sliceMax
    }
}
