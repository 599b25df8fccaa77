import Primitives

/// Drivers who are online, and have not been seen for too long.
extension CommandExecutor {
    /// Stores when the drivers who are online were last seen. Called when the writer stops.
    func saveLastRequests(now: Int64) throws(DatabaseError) {
        var last: String? = ""
        while let account = last { _ = try driversAway(after: account, now: now, most: 500, &last) }
    }

    /// Looks at some of the drivers who are online, and stores when those were seen who have come back.
    /// - Parameter last: gets the last of them; nil at the end of the round.
    /// - Returns: the accounts of those who were away for too long.
    ///
    /// In a cluster, each node stores the drivers that it has seen: the others may be a little late.
    func driversAway(
        after account: String, now: Int64, most: Int, _ last: inout String?
    ) throws(DatabaseError) -> [ObjectID] {
        let trusted = now - clockLead
        let idleMax = Availability.idleMax + (clusterLog == nil ? 0 : Timing.roundInterval + 60_000)
        let page = try outbox.availability.online(after: account, most: most)
        last = page.count == most ? page.last?.account : nil
        var away: [ObjectID] = []
        var seen: [(account: String, at: Int64)] = []
        for driver in page {
            // A time ahead stems from before a clock correction.
            let newest = isConnected(driver.personID) ? trusted : lastRequest(driver.personID) ?? driver.seenAt
            let seenAt = min(max(newest, driver.seenAt), trusted)
            if seenAt != driver.seenAt { seen.append((driver.account, seenAt)) }
            if trusted - seenAt >= idleMax, let id = ObjectID(driver.account) { away.append(id) }
        }
        guard !seen.isEmpty else { return away }
        try transaction(declaring: seen.count) { () throws(DatabaseError) in
            for driver in seen { try outbox.availability.setSeen(driver.account, at: driver.at) }
        }
        return away
    }
}
