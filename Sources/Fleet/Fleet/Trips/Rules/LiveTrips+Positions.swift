import Access
import Primitives

/// What new positions and time make due.
extension LiveTrips {
    /// Older positions say nothing about the present, in milliseconds.
    private static let ageMax: Int64 = 600_000
    /// A phone's clock may be ahead by so many milliseconds.
    private static let aheadMax: Int64 = 60_000

    /// Takes positions of a driver, in any order.
    /// - Parameter isPartOfProgress: whether it is the position in a progress report, which is not later than the report.
    package mutating func report(
        _ positions: [Position], ofDriver id: String, isPartOfProgress: Bool = false, now: Time, _ effects: inout [Effect]
    ) -> LocationReceipt {
        var receipt = LocationReceipt(invalid: positions.count(where: \.isDeclaredInvalid))
        guard let driver = drivers[id] else {
            receipt.ignored = positions.count
            return receipt
        }
        receipt.sharing = references(of: driver)
        let hasKept = take(positions, ofDriver: id, now: now, &receipt) { trips, position, speed in
            for code in driver.codes where !isPartOfProgress || trips.trips[code]?.order.trip.startedAt != position.recordedAt {
                trips.examine(position, speed: speed, for: code, now: now, &effects)
            }
        }
        receipt.ignored = positions.count - receipt.accepted
        guard hasKept else { return receipt }
        drivers[id]?.isUnsaved = true
        for code in driver.codes {
            examineETA(of: code, now: now, &effects)
            if let reference = trips[code]?.order.reference, bookings[reference]?.codes.last == code {
                unshownBookings.insert(reference)
                showLocation(of: reference, now: now, &effects)
            }
        }
        unshownDrivers.insert(id)
        showDriver(id, now: now, &effects)
        return receipt
    }

    /// Takes positions that another node of a cluster has got. That node proposes what they make due, and shows them.
    package mutating func record(
        _ positions: [Position], ofDriver id: String, isPartOfProgress: Bool = false, now: Time
    ) {
        guard let driver = drivers[id] else { return }
        var receipt = LocationReceipt()
        _ = take(positions, ofDriver: id, now: now, &receipt) { trips, position, speed in
            for code in driver.codes where !isPartOfProgress || trips.trips[code]?.order.trip.startedAt != position.recordedAt {
                _ = trips.observe(position, speed: speed, for: code)
            }
        }
    }

    /// Keeps the positions that are newer than what is known.
    /// - Parameter examine: called with each position that is kept and with its speed, the oldest first.
    /// - Returns: whether any is kept.
    private mutating func take(
        _ positions: [Position], ofDriver id: String, now: Time, _ receipt: inout LocationReceipt,
        examine: (inout LiveTrips, Position, _ speed: Double?) -> Void
    ) -> Bool {
        // After the clock was set back, the newest position must not outdate those that follow.
        if let newest = drivers[id]?.track.newest, newest.recordedAt - now.wall > Self.aheadMax {
            drivers[id]?.forgetPositions()
            for code in drivers[id]?.codes ?? [] { trips[code]?.watch.forgetPositions() }
        }
        var heldHere = 0
        var hasKept = false
        for (position, hasTime) in oldestFirst(positions.filter { !$0.isNone }, now: now.wall) {
            let newest = drivers[id]?.track.newest
            guard now.wall - position.recordedAt <= Self.ageMax, position.recordedAt >= newest?.recordedAt ?? .min else {
                continue
            }
            guard !hasTime || newest.map({ !$0.isCopied(by: position) }) ?? true else {
                receipt.copies += 1
                continue
            }
            // The filter judges by speed, which is not known between the positions of a list without times.
            let isJudged = hasTime || newest?.recordedAt != position.recordedAt
            let kept = isJudged ? drivers[id]?.jumps.take(position, after: newest, rules) ?? [] : [position]
            if kept.isEmpty {
                receipt.jumps += 1
                heldHere += 1
            } else {
                // A position that an earlier request brought has been counted then.
                let isReleasedHere = kept.count > 1 && heldHere > 0
                receipt.accepted += isReleasedHere ? 2 : 1
                receipt.jumps -= isReleasedHere ? 1 : 0
                heldHere = 0
                hasKept = true
            }
            for position in kept { keep(position, ofDriver: id, examine) }
        }
        return hasKept
    }

    private mutating func keep(
        _ position: Position, ofDriver id: String, _ examine: (inout LiveTrips, Position, _ speed: Double?) -> Void
    ) {
        let speed = position.speed ?? position.speed(since: drivers[id]?.track.lastFix, rules)
        var kept = position
        // What is stored must not look like a stop when the next process reads it.
        kept.speed = speed
        drivers[id]?.track.add(kept, rules)
        examine(&self, position, speed)
    }

    /// The references of a driver's jobs, each once.
    private func references(of driver: Driver) -> [String] {
        var references: [String] = []
        for case let reference? in driver.codes.map({ trips[$0]?.order.reference }) where !references.contains(reference) {
            references.append(reference)
        }
        return references
    }

    /// The positions by their times. One without a time of its own, or with one too far ahead, has the present time.
    private func oldestFirst(_ positions: [Position], now: Int64) -> [(position: Position, hasTime: Bool)] {
        let dated = positions.map { position in
            var position = position
            let hasTime = position.recordedAt - now <= Self.aheadMax
            if !hasTime { position.recordedAt = now }
            return (position: position, hasTime: hasTime)
        }
        return dated.enumerated().sorted {
            ($0.element.position.recordedAt, $0.offset) < ($1.element.position.recordedAt, $1.offset)
        }.map(\.element)
    }

    /// Once a second: what time makes due, and what could not be done before.
    package mutating func tick(_ now: Time, _ effects: inout [Effect]) {
        retry(now, &effects)
        for code in waiting.sorted() where trips[code]?.order.isWaiting(now: now.wall, rules) == true {
            propose(.tellWaiting, for: code, &effects)
        }
        for reference in unshownBookings.sorted() { showLocation(of: reference, now: now, &effects) }
        for id in unshownDrivers.sorted() { showDriver(id, now: now, &effects) }
        forgetOld(now)
    }

    /// Proposes the steps again that the store could not take. That the driver is nearby is examined anew: the ETA has
    /// changed, and the driver may have arrived meanwhile.
    private mutating func retry(_ now: Time, _ effects: inout [Effect]) {
        let codes = failed.sorted()
        failed = []
        for code in codes {
            trips[code]?.pending.removeAll { $0.isNearby }
            for step in trips[code]?.pending ?? [] { effects.append(.take(step)) }
            examineETA(of: code, now: now, &effects)
        }
    }

    /// Restores a stored position at the start, after the orders. It may show an arrival that the process before could not
    /// store.
    package mutating func restore(_ stored: DriverPosition, now: Time, _ effects: inout [Effect]) {
        guard let driver = drivers[stored.driverID] else { return }
        let position = stored.position
        // It is deleted soon, and shown no more.
        guard now.wall - position.recordedAt <= rules.positionLifetime else { return }
        drivers[stored.driverID]?.track.add(position, rules)
        guard now.wall - position.recordedAt <= Self.ageMax else { return }
        for code in driver.codes { examine(position, speed: position.speed, for: code, now: now, &effects) }
    }

    // MARK: Steps

    private mutating func examine(
        _ position: Position, speed: Double?, for code: String, now: Time, _ effects: inout [Effect]
    ) {
        switch observe(position, speed: speed, for: code) {
        case .arrived(let place, let isBetween)? where rules.automaticArrival:
            return propose(.arrive(at: place, isBetween: isBetween), for: code, &effects)
        case .left(let time)?: return propose(.leave(at: time), for: code, &effects)
        case .arrived?, nil: break
        }
        guard let order = trips[code]?.order, order.trip.destinationNearToldAt == nil, isNewestOnWay(for: order),
            order.isNearDestination(at: position, rules)
        else { return }
        let eta = view(code: code, now: now.wall)?.etaMinutes
        propose(.tellDestinationNear(from: position, etaMinutes: eta), for: code, &effects)
    }

    /// Lets the watch of a trip take a position.
    private mutating func observe(_ position: Position, speed: Double?, for code: String) -> ArrivalWatch.Finding? {
        guard position.isFix(rules), let order = trips[code]?.order else { return nil }
        return trips[code]?.watch.take(position, speed: speed, of: order, rules)
    }

    /// Whether the newest position of the order's driver may cause a moment.
    private func isNewestOnWay(for order: Order) -> Bool {
        order.assignment.driver.flatMap { drivers[$0.id.text]?.track.isNewestOnWay } ?? false
    }

    /// A driver who is found at the pickup is not announced as nearby.
    private mutating func examineETA(of code: String, now: Time, _ effects: inout [Effect]) {
        guard let trip = trips[code], trip.order.assignment.status == .enRoute, trip.order.trip.nearbyToldAt == nil,
            !trip.pending.contains(where: { if case .arrive = $0.kind { true } else { false } }),
            isNewestOnWay(for: trip.order), let eta = view(code: code, now: now.wall)?.etaMinutes, eta <= rules.nearbyMinutes
        else { return }
        propose(trip.order.hasJustStarted(now: now.wall) ? .skipNearby : .tellNearby(etaMinutes: eta), for: code, &effects)
    }

    private mutating func propose(_ kind: TripStep.Kind, for code: String, _ effects: inout [Effect]) {
        guard let trip = trips[code], let driver = trip.order.assignment.driver, let startedAt = trip.order.trip.startedAt
        else { return }
        let step = TripStep(
            orderCode: code, driverID: driver.id.text, startedAt: startedAt, correctedAt: trip.order.trip.correctedAt, kind)
        guard !trip.pending.contains(where: step.isSameKind) else { return }
        trips[code]?.pending.append(step)
        effects.append(.take(step))
    }

    /// The store has answered: it has taken the step, or refused it for good.
    package mutating func finished(_ step: TripStep) {
        trips[step.orderCode]?.pending.removeAll { $0.startedAt != step.startedAt || $0.isSameKind(as: step) }
    }

    /// The store cannot take the step now. The next ``tick(_:_:)`` tries again.
    package mutating func failed(_ step: TripStep) {
        if trips[step.orderCode] != nil { failed.insert(step.orderCode) }
    }

    // MARK: Showing positions

    /// The position could not be published. The next ``tick(_:_:)`` tries again.
    package mutating func delayLocation(of reference: String) {
        if bookings[reference] != nil { unshownBookings.insert(reference) }
    }

    private mutating func showLocation(of reference: String, now: Time, _ effects: inout [Effect]) {
        guard let booking = bookings[reference], isDue(booking.shownAt, Timing.bookingPositionInterval, now) else { return }
        unshownBookings.remove(reference)
        guard let view = view(reference: reference, now: now.wall), view.position != nil else { return }
        bookings[reference]?.shownAt = now.monotonic
        effects.append(.showLocation(view))
    }

    private mutating func showDriver(_ id: String, now: Time, _ effects: inout [Effect]) {
        guard let driver = drivers[id], isDue(driver.shownAt, Timing.driverPositionInterval, now) else { return }
        unshownDrivers.remove(id)
        guard let view = driver.codes.last.flatMap({ view(code: $0, now: now.wall) }), view.position != nil else { return }
        drivers[id]?.shownAt = now.monotonic
        effects.append(.showDriver(view))
    }

    private func isDue(_ shownAt: Int64?, _ interval: Int64, _ now: Time) -> Bool {
        shownAt.map { now.monotonic - $0 >= interval } ?? true
    }
}

extension Position {
    /// Whether another position is this one, sent again.
    fileprivate func isCopied(by other: Position) -> Bool {
        (recordedAt, latitude, longitude) == (other.recordedAt, other.latitude, other.longitude)
    }
}
