import Access
import JSON
import Primitives

/// What the store keeps for trips: drivers' positions.
extension CommandExecutor {
    /// Calls `each` for the last stored position of each driver. Used at the start.
    package func eachDriverPosition(_ each: (DriverPosition) -> Void) throws(DatabaseError) { try positions.each(each) }

    /// What customers see of a driver: the card, and what the driver has told at the registration. Nil: nothing is known.
    package func shownCard(ofDriver id: String) throws(DatabaseError) -> DriverCard? {
        try drivers.shownCard(ofDriver: id, accounts)
    }

    /// Stores the newest positions of drivers who have jobs under way.
    func save(_ newest: ArraySlice<DriverPosition>) throws(DatabaseError) {
        for position in newest { try positions.store(position) }
    }

    /// Deletes the position of a driver whose last job under way has ended, or has another driver now.
    func removePosition(after plan: DispatchPlan) throws(DatabaseError) {
        guard let order = plan.order, let before = plan.audit?.before, before.jobStatus?.isUnderWay == true,
            let driver = before.driverID,
            !(order.isFollowed && order.assignment.driver?.id == Identifier(driver)),
            try !orders.hasUnderWay(ofDriver: driver)
        else { return }
        if try positions.remove(ofDriver: driver) { hasRemovedPositions = true }
    }

    /// Deletes a driver's position, also at most `most` of those in the audit log that the gateway's own steps contain.
    /// - Returns: the number of these entries.
    func removePositions(ofDriver id: String, most: Int) throws(DatabaseError) -> Int {
        _ = try positions.remove(ofDriver: id)
        let entries = try auditTable.arrivals(ofDriver: id, most: most)
        for entry in entries { try removePosition(from: entry) }
        return entries.count
    }

    /// Deletes positions that are too old, at most `limit`.
    func deletePositions(before cutoff: Int64, _ limit: Int) throws(DatabaseError) -> Int {
        let entries = try auditTable.positions(before: cutoff, most: limit)
        for entry in entries { try removePosition(from: entry) }
        let count = try entries.count + positions.deleteExpired(before: cutoff, most: limit - entries.count)
        // The write-ahead log still contains them.
        if count > 0 { backgroundTasks.insert(.checkpoint) }
        return count
    }

    private func removePosition(from entry: AuditTable.PositionRow) throws(DatabaseError) {
        try auditTable.removePosition(of: entry.id, details: entry.details.flatMap { Self.withoutPosition($0) })
    }

    /// The other members of details that contain a position; nil if there are none.
    static func withoutPosition(_ details: [UInt8]) -> [UInt8]? {
        var json = JSONWriter()
        let isReadable = details.withUnsafeBytes { bytes in
            (try? JSONReader.object(bytes) { key, value in
                guard !key.equals("latitude"), !key.equals("longitude") else { return }
                json.separate()
                json.raw(key.raw)
                json.raw(":")
                json.raw(value.raw)
            }) != nil
        }
        return isReadable && !json.bytes.isEmpty ? Array("{".utf8) + json.bytes + Array("}".utf8) : nil
    }
}

/// Finds the arrival of which a notification tells, for the metrics.
struct ArrivalTimes {
    let notifications: NotificationTable
    let orders: OrderTable

    /// The seconds from the arrival to `now`. Nil for other notifications, and for announcements of an arrival.
    func seconds(toldBy id: String, event: String, now: Int64) throws(DatabaseError) -> Double? {
        guard TripMoment(event: event) == .arrival, let logged = try notifications.notification(id: id),
            case .order(let code) = logged.notification.subject,
            let arrivedAt = try orders.order(code: code)?.trip.arrivedAt
        else { return nil }
        // The clock may have been set back.
        return Double(max(0, now - arrivedAt)) / 1_000
    }
}
