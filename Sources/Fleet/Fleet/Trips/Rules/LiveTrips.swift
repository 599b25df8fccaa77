import Access

/// The trips that are followed, and the newest positions of their drivers. Decides what a position or the time makes due,
/// and what is shown of it.
///
/// The truth about an order is its row in the store. What is decided here is a proposal (``TripStep``), which the store
/// checks; its commit then changes the trip here (``update(_:card:)``). So a step is taken once, whatever this value
/// believes, and nothing is lost with it but positions.
package struct LiveTrips {
    /// The present time by two clocks.
    package struct Time: Equatable, Sendable {
        /// Milliseconds since 1970, which may jump. Compared with what phones and the store have recorded.
        package let wall: Int64
        /// Milliseconds of a clock that does not jump. Spaces out what is published.
        package let monotonic: Int64

        package init(wall: Int64, monotonic: Int64) {
            self.wall = wall
            self.monotonic = monotonic
        }
    }

    /// What is to be done. The caller performs the effects in order, before it calls another method.
    package enum Effect: Equatable, Sendable {
        /// Let the store take a step. The store's answer is due: ``finished(_:)`` or ``failed(_:)``.
        case take(TripStep)
        /// Publish the driver's position to those who follow the booking; if that is not possible, call
        /// ``delayLocation(of:)``.
        case showLocation(TripView)
        /// Publish the driver's position to the dispatchers.
        case showDriver(TripView)
    }

    /// An order that is followed.
    struct Trip {
        var order: Order
        /// The steps that the store has not answered, mostly none.
        var pending: [TripStep] = []
        var watch = ArrivalWatch()
    }

    /// A driver with at least one trip.
    struct Driver {
        /// The codes of the driver's orders; the one followed last is the last.
        var codes: [String] = []
        var track = Track()
        var jumps = JumpFilter()
        var card: DriverCard?
        /// Whether the newest position was not yet given to the store.
        var isUnsaved = false
        /// When the position was last shown to dispatchers, in monotonic milliseconds.
        var shownAt: Int64?

        mutating func forgetPositions() { (track, jumps) = (Track(), JumpFilter()) }
    }

    /// A booking's reference, under which the trip that was followed last is shown.
    struct Booking {
        var codes: [String] = []
        /// When a position was last shown, in monotonic milliseconds.
        var shownAt: Int64?
    }

    /// Who has more than ``followedMax`` jobs.
    package struct Excess: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// A job is followed no more, or not at all, because its driver has too many.
        package static let driver = Excess(rawValue: 1)
        /// A job is shown under its booking's reference no more, or not at all, because too many have the reference.
        package static let booking = Excess(rawValue: 2)
    }

    /// The most jobs of one driver, and of one booking, that are followed. An app that never reports `completed` leaves
    /// every job followed, and each position is compared with all jobs of its driver.
    package static let followedMax = 20

    let rules: TripRules
    /// By order code.
    var trips: [String: Trip] = [:]
    /// By id.
    var drivers: [String: Driver] = [:]
    /// By reference.
    var bookings: [String: Booking] = [:]
    /// Orders whose drivers wait at the pickup, and whose customers have not been told.
    var waiting: Set<String> = []
    /// Orders with a step that the store could not take.
    var failed: Set<String> = []
    /// References and drivers with a position that is not shown yet.
    var unshownBookings: Set<String> = []
    var unshownDrivers: Set<String> = []
    /// When positions that are too old were last looked for, in monotonic milliseconds.
    private var agedAt: Int64 = 0

    package init(_ rules: TripRules = TripRules()) { self.rules = rules }

    /// The number of orders that are followed.
    package var count: Int { trips.count }

    // MARK: Changes of orders

    /// Whether a commit of this order concerns the trips: call ``beginUpdate(_:)`` before its events are published, and
    /// ``update(_:card:)`` after.
    package func isConcerned(by order: Order) -> Bool { order.isFollowed || trips[order.code] != nil }

    /// Ends the trip of an order that is no longer followed, or has another driver: no position is shown any more. With
    /// another reference, none is shown under the old one.
    package mutating func beginUpdate(_ order: Order) {
        guard let trip = trips[order.code] else { return }
        if !order.isFollowed || trip.order.trip.startedAt != order.trip.startedAt
            || trip.order.assignment.driver?.id != order.assignment.driver?.id
        {
            remove(trip.order)
        } else if trip.order.reference != order.reference {
            removeFromBooking(trip.order)
        }
    }

    /// Follows an order, or changes what is known of it. Of more than ``followedMax`` jobs of one driver, those that began
    /// last are followed.
    /// - Parameter card: the driver's; used if the driver has no other trip.
    /// - Returns: who has too many, so that a job had to go.
    @discardableResult
    package mutating func update(_ order: Order, card: DriverCard?) -> Excess {
        guard order.isFollowed, let driver = order.assignment.driver?.id.text else { return [] }
        var excess: Excess = []
        let isNew = trips[order.code] == nil
        if let known = trips[order.code]?.order, known.pickupCoordinates != order.pickupCoordinates {
            trips[order.code]?.watch.forgetStay()
        }
        trips[order.code, default: Trip(order: order)].order = order
        let isWaiting = order.assignment.status == .arrived && order.trip.waitingToldAt == nil
        if isWaiting { waiting.insert(order.code) } else { waiting.remove(order.code) }
        if isNew, drivers[driver] == nil { drivers[driver] = Driver(card: card) }
        let startedAt = order.trip.startedAt ?? 0
        func insert(into codes: inout [String]) {
            let index = codes.firstIndex { (trips[$0]?.order.trip.startedAt ?? 0) > startedAt } ?? codes.endIndex
            codes.insert(order.code, at: index)
        }
        if isNew { insert(into: &drivers[driver, default: Driver()].codes) }
        if bookings[order.reference]?.codes.contains(order.code) != true {
            insert(into: &bookings[order.reference, default: Booking()].codes)
            if bookings[order.reference]!.codes.count > Self.followedMax {
                bookings[order.reference]!.codes.removeFirst()
                excess.insert(.booking)
            }
        }
        if let codes = drivers[driver]?.codes, codes.count > Self.followedMax {
            if let oldest = trips[codes[0]]?.order { remove(oldest) }
            excess.insert(.driver)
        }
        return excess
    }

    private mutating func remove(_ order: Order) {
        trips[order.code] = nil
        waiting.remove(order.code)
        failed.remove(order.code)
        if let driver = order.assignment.driver?.id.text {
            drivers[driver]?.codes.removeAll { $0 == order.code }
            if drivers[driver]?.codes.isEmpty == true {
                drivers[driver] = nil
                unshownDrivers.remove(driver)
            }
        }
        removeFromBooking(order)
    }

    private mutating func removeFromBooking(_ order: Order) {
        bookings[order.reference]?.codes.removeAll { $0 == order.code }
        if bookings[order.reference]?.codes.isEmpty == true {
            bookings[order.reference] = nil
            unshownBookings.remove(order.reference)
        }
    }

    // MARK: Changes of drivers

    /// Uses a driver's new card.
    package mutating func update(_ card: DriverCard) { drivers[card.id]?.card = card }

    /// Forgets a driver's positions and names.
    package mutating func erase(driverID: String) {
        guard let driver = drivers[driverID] else { return }
        drivers[driverID] = Driver(codes: driver.codes, shownAt: driver.shownAt)
        unshownDrivers.remove(driverID)
        for code in driver.codes {
            trips[code]?.watch.forgetPositions()
            trips[code]?.order.assignment.driver?.name = nil
            trips[code]?.order.trip.driverName = nil
            if let reference = trips[code]?.order.reference { unshownBookings.remove(reference) }
        }
    }

    // MARK: What is known

    /// The driver's positions; empty if the driver has no trip.
    package func track(ofDriver id: String) -> Track { drivers[id]?.track ?? Track() }

    /// The trip that is shown under a reference. Nil: no order with the reference is followed.
    package func view(reference: String, now: Int64) -> TripView? {
        bookings[reference]?.codes.last.flatMap { view(code: $0, now: now) }
    }

    /// The ids of the drivers with a trip, in no order.
    package var driverIDs: [String] { Array(drivers.keys) }

    /// The position of each of these drivers that has one, with the job that is followed last.
    package func views(ofDrivers ids: some Sequence<String>, now: Int64) -> [TripView] {
        ids.compactMap { id in
            guard let driver = drivers[id], driver.track.newest != nil else { return nil }
            return driver.codes.last.flatMap { view(code: $0, now: now) }
        }
    }

    func view(code: String, now: Int64) -> TripView? {
        guard let order = trips[code]?.order, let id = order.assignment.driver?.id.text, let driver = drivers[id] else {
            return nil
        }
        return TripView(order, card: driver.card, track: driver.track, now: now, rules)
    }

    // MARK: Positions for the store

    /// The positions that the store does not have yet.
    package mutating func takeUnsaved() -> [DriverPosition] {
        var unsaved: [DriverPosition] = []
        for (id, driver) in drivers where driver.isUnsaved {
            if let position = driver.track.newest { unsaved.append(DriverPosition(driverID: id, position: position)) }
        }
        for position in unsaved { drivers[position.driverID]?.isUnsaved = false }
        return unsaved
    }

    /// Takes back positions that could not be stored. Newer ones and those of drivers without a trip stay as they are.
    package mutating func putBack(_ positions: [DriverPosition]) {
        for position in positions { drivers[position.driverID]?.isUnsaved = true }
    }

    /// Milliseconds between two searches for positions that are too old.
    private static let ageInterval: Int64 = 60_000

    /// Forgets positions that are older than ``TripRules/positionHours``.
    mutating func forgetOld(_ now: Time) {
        guard now.monotonic - agedAt >= Self.ageInterval else { return }
        agedAt = now.monotonic
        for (id, driver) in drivers {
            guard let newest = driver.track.newest, now.wall - newest.recordedAt > rules.positionLifetime else { continue }
            drivers[id]?.forgetPositions()
            for code in driver.codes { trips[code]?.watch.forgetPositions() }
            drivers[id]?.isUnsaved = false
        }
    }
}
