import Access
import JSON
import Primitives

/// What the store does for trips: the gateway's own steps, and drivers' positions.
extension CommandExecutor {
    func execute(
        _ step: TripStep, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        var context = context
        context.card = try shownCard(ofDriver: step.driverID)
        let (order, prepared) = (try orders.order(code: step.orderCode), context)
        return try execute(command, context.now) { planner throws(RuleError) in
            // A step that comes too late has no effect.
            try planner.plan(step, of: order, prepared) ?? DispatchPlan(response: .ofGateway)
        }
    }

    /// Executes a driver's report of a step.
    func execute(
        _ report: ProgressReport, ofJob id: String, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        let order = try orders.order(job: id, driverID: command.actor.id)
        var last: AuditEntry?
        if let order, order.assignment.status == report.step { last = try auditTable.last(ofOrder: order.code) }
        var history = ArrivalHistory()
        if let order, report.takesBackArrival(of: order) {
            history = try auditTable.arrivalHistory(ofOrder: order.code, by: command.actor.key)
        }
        var context = context
        context.card = try shownCard(ofDriver: command.actor.id)
        context.track = track(command.actor.id)
        let position = report.position(at: context.now)
        if let position, context.track.newest.map({ $0.recordedAt <= position.recordedAt }) ?? true {
            context.track.add(position, trips)
        }
        let reply = try execute(command, context.now) { [context, last, history] planner throws(RuleError) in
            try planner.progress(report, of: order, after: last, given: history, context)
        }
        switch reply {
        case .rejected(var error):
            error.jobStatus = order?.assignment.status.rawValue
            return .rejected(error)
        case .committed(var result):
            result.card = context.card
            // A report that is sent again, up to ten minutes later, says nothing about where the driver is now.
            result.position =
                result.isRepetition ? nil : position.map { DriverPosition(driverID: command.actor.id, position: $0) }
            return .committed(result)
        case .replayed, .unavailable, .failed: return reply
        }
    }

    /// Takes back an arrival, for an admin.
    func correctArrival(
        of code: String, _ reason: String?, _ command: Command, _ context: CommandContext
    ) throws(DatabaseError) -> CommandReply {
        let order = try orders.order(code: code)
        var context = context
        if let driver = order?.assignment.driver?.id.text {
            context.card = try shownCard(ofDriver: driver)
            context.track = track(driver)
        }
        let reply = try execute(command, context.now) { [context] planner throws(RuleError) in
            try planner.correctArrival(code, of: order, reason: reason, context)
        }
        guard case .committed(var result) = reply else { return reply }
        result.card = context.card
        return .committed(result)
    }

    // MARK: Positions

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
            case .order(let code) = AuditEntry.Subject(collapseKey: logged.notification.collapseKey),
            let arrivedAt = try orders.order(code: code)?.trip.arrivedAt
        else { return nil }
        // The clock may have been set back.
        return Double(max(0, now - arrivedAt)) / 1_000
    }
}
