import Access
import JSON
import Primitives

/// The steps of a trip, and the moments of which its customer is told.
extension DispatchPlanner {
    /// Plans the next step of an order, which its driver has reported, or which a position shows.
    /// - Parameters:
    ///   - stored: an order whose driver is the actor, and whose next step is `step`.
    ///   - time: when the driver reached the step, in milliseconds since 1970.
    ///   - details: for the audit log.
    ///   - containsPosition: whether the details do.
    mutating func planStep(
        _ step: JobStatus, of stored: Order, at time: Int64, details: EventFields, containsPosition: Bool,
        _ context: CommandContext
    ) throws(RuleError) -> DispatchPlan {
        var order = stored
        order.assignment.status = step
        let trip = order.trip(reaching: step, at: time, context)
        order.trip = trip.record
        let driver = context.actor.id
        let progressed = OrderTransition.progressed(
            to: step, by: driver, name: context.actor.name ?? stored.assignment.driver?.name ?? context.card?.name)
        var plan = try planChange(
            of: stored, to: order, by: [progressed] + trip.transitions, presentFields: ["driverName"], at: time,
            audit: ("progress", nil, details), context
        ) { _, _ in
            .progress(step, at: time)
        }
        plan.audit?.containsPosition = containsPosition
        return plan
    }

    /// Plans what the gateway itself does for a trip.
    /// - Parameter stored: nil if the store has no such order.
    /// - Returns: nil if the step comes too late: the trip has gone on, or has ended.
    /// - Throws: `.invalid` (400) if an event is too large.
    package mutating func plan(
        _ step: TripStep, of stored: Order?, _ context: CommandContext
    ) throws(RuleError) -> DispatchPlan? {
        guard let stored, stored.isFollowed, stored.assignment.driver?.id == Identifier(step.driverID),
            stored.trip.startedAt == step.startedAt, stored.trip.correctedAt == step.correctedAt
        else { return nil }
        var context = context
        context.actor = Identity(role: .driver, id: step.driverID, name: stored.trip.driverName)
        if case .arrive(let position, let isBetween) = step.kind {
            return try planArrival(at: position, isBetween: isBetween, of: stored, context)
        }
        guard let (record, news) = stored.tell(step, context) else { return nil }
        var order = stored
        order.trip = record
        var plan = DispatchPlan(response: .ofGateway)
        plan.order = order
        (plan.notifications, plan.pushes) = try makeNotifications(
            news.map { $0.event(of: order, at: context.now) }.map { [$0] } ?? [], of: order.auditSubject, order.pushPolicy,
            presentFields: ["driverName"], context)
        return plan
    }

    /// - Returns: nil if the driver has arrived, or the position is not at the pickup, which may have changed meanwhile.
    private mutating func planArrival(
        at position: Position, isBetween: Bool, of stored: Order, _ context: CommandContext
    ) throws(RuleError) -> DispatchPlan? {
        guard let metres = stored.metresOfArrival(at: position, context.trips) else { return nil }
        var context = context
        context.auditActor = Self.actor
        let details: EventFields = [
            "latitude": .number(JSONNumber(text: "\(position.latitude)")),
            "longitude": .number(JSONNumber(text: "\(position.longitude)")),
            "distanceMetres": .number(JSONNumber(text: "\((metres * 10).rounded() / 10)")),
        ]
        let between: EventFields = isBetween ? ["between": .flag(true)] : [:]
        var arrived = stored
        arrived.trip.isArrivedByPosition = true
        return try planStep(
            .arrived, of: arrived, at: position.recordedAt, details: details + between, containsPosition: true, context)
    }

    /// Who takes the step `arrived` by position, according to the audit log. No user's key: `system` is no role.
    package static let actor = "system:trips"
}

extension Order {
    /// The milliseconds after `en_route` in which the customer is not told that the driver is nearby: the moment before
    /// has said so.
    private static let nearbyPause: Int64 = 60_000

    /// Whether the customer has just been told the ETA.
    package func hasJustStarted(now: Int64) -> Bool { trip.startedAt.map { (0...Self.nearbyPause).contains(now - $0) } ?? false }

    /// The record of a trip that reaches a step, and what is told besides the step.
    fileprivate func trip(
        reaching step: JobStatus, at time: Int64, _ context: CommandContext
    ) -> (record: TripRecord, transitions: [OrderTransition]) {
        var record = step == .enRoute ? TripRecord() : trip
        record.driverName = context.actor.name ?? record.driverName
        let driver = context.actor.id
        let name = tripDriverName(context.card, account: context.actor.name ?? trip.driverName)
        let eta = etaMinutes(context.track, now: context.now, context.trips)
        switch step {
        case .enRoute:
            record.startedAt = time
            if let eta, eta <= context.trips.nearbyMinutes, context.track.isNewestOnWay { record.nearbyToldAt = time }
            return (record, [.trackingStarted(by: driver, name: name), .told(.withETA(.enRoute, driver, name, eta))])
        case .arrived:
            record.arrivedAt = time
            return (record, [.told(TripNews(moment: .arrival, driver: driver, driverName: name))])
        case .inTransit:
            record.departedAt = time
            return (record, [.told(.withETA(.started, driver, name, eta))])
        case .completed:
            record.completedAt = time
            return (record, [.trackingStopped(.completed), .told(.completed(driver, name, at: time))])
        case .available, .assigned, .accepted, .loading, .unloading, .cancelled: return (record, [])
        }
    }

    /// The record of a trip after a moment, and what the customer is told, which is nothing for a moment that only counts
    /// as told. Nil if the moment has passed.
    fileprivate func tell(_ step: TripStep, _ context: CommandContext) -> (TripRecord, TripNews?)? {
        var record = trip
        let driver = context.actor.id
        let name = tripDriverName(context.card, account: context.actor.name ?? trip.driverName)
        switch step.kind {
        case .arrive: return nil  // the caller plans it
        case .leave(let time):
            guard assignment.status == .enRoute, trip.correctedAt != nil, trip.leftAt == nil else { return nil }
            record.leftAt = time
            return (record, nil)
        case .tellNearby, .skipNearby:
            guard assignment.status == .enRoute, trip.nearbyToldAt == nil else { return nil }
            record.nearbyToldAt = context.now
            guard case .tellNearby(let eta) = step.kind else { return (record, nil) }
            return (record, .withETA(.nearby, driver, name, eta))
        case .tellWaiting:
            guard let arrivedAt = trip.arrivedAt, trip.waitingToldAt == nil, isWaiting(now: context.now, context.trips)
            else { return nil }
            record.waitingToldAt = context.now
            return (record, .waiting(driver, name, since: arrivedAt, now: context.now))
        case .tellDestinationNear(let position, let eta):
            guard trip.destinationNearToldAt == nil, isNearDestination(at: position, context.trips) else { return nil }
            record.destinationNearToldAt = context.now
            return (record, .withETA(.destinationNear, driver, name, eta))
        }
    }
}
