import Access
import JSON
import Primitives
import TestSupport
import Testing

@testable import Fleet

/// A simulated city: drivers on straight lines past their pickups, with noise, jumps, wrong clocks and pauses. The process
/// is killed between any two steps: what the store has committed stays, what memory knew is lost.
@Suite struct CityTests {
    @Test(arguments: 1...5) func eachArrivalHappensOnceAndEachMomentIsToldOnceInOrder(_ seed: UInt64) throws {
        var city = try City(seed: seed, driverCount: 200)
        try city.run()
        for car in city.cars { try city.check(car) }
        // A kill may lose the one position that is near enough, and the car does not come back.
        #expect(city.killCount > 20 && city.arrivedByPosition >= city.dueArrivals - city.killCount && city.dueArrivals > 50)
    }
}

/// A driver with one order.
private struct Car {
    enum Clock: CaseIterable { case right, right2, right3, hoursBehind, hoursAhead }

    let code: String
    let identity: Identity
    /// The least distance to the pickup in metres.
    let distance: Double
    let clock: Clock
    let jumps: Bool
    let pause: Int
    /// Metres to the point of the line that is the nearest to the pickup; negative: behind it.
    var ahead = 1_000.0
    var next = 0
    var status = JobStatus.assigned
    var arrivedAt: Int64?

    /// What the driver's app does after the arrival, besides waiting.
    static let steps: [JobStatus] = [.loading, .inTransit, .unloading, .completed]
}

private struct City {
    private static let metresPerDegree = 111_195.0797
    private let store = TemporaryStore()
    /// Nil while the process is dead: a second one cannot open the store.
    private var process: CommandExecutor?
    private var executor: CommandExecutor { process! }
    private var trips: LiveTrips
    private var random: SplitMix
    private var now = noon
    private let rules: TripRules
    var cars: [Car] = []
    var killCount = 0
    var arrivedByPosition = 0
    /// The cars that come near enough, with clocks whose positions count.
    var dueArrivals = 0

    init(seed: UInt64, driverCount: Int) throws {
        var rules = TripRules()
        rules.waitingSeconds = 20
        self.rules = rules
        random = SplitMix(seed: seed)
        trips = LiveTrips(rules)
        process = try store.executor(at: noon) { $0.trips = rules }
        for index in 0..<driverCount {
            let code = "O\(index)"
            var changes = OrderChanges()
            changes.pickupCoordinates = .set(coordinates("50", "\(index % 170)"))
            changes.dropoffCoordinates = .set(coordinates("50.01", "\(index % 170)"))
            _ = try executor.commit(assign(code, to: "d\(index)", changes: changes), at: now)
            cars.append(
                Car(
                    code: code, identity: driver("d\(index)"), distance: [99, 99.9, 100.1, 101].randomElement(using: &random)!,
                    clock: Car.Clock.allCases.randomElement(using: &random)!, jumps: .random(using: &random),
                    pause: Int.random(in: 0...30, using: &random)))
        }
    }

    /// Ten seconds of virtual time per round; 60 rounds are enough for the slowest car.
    mutating func run() throws {
        for _ in 0..<60 {
            for index in cars.indices {
                if Int.random(in: 0..<400, using: &random) == 0 { try kill() }
                try move(index)
            }
            now += 10_000
            try perform { [now] in $0.tick(Self.time(now), &$1) }
        }
        for _ in 0..<3 {
            now += 20_000
            try perform { [now] in $0.tick(Self.time(now), &$1) }
        }
    }

    // MARK: Cars

    private mutating func move(_ index: Int) throws {
        let car = cars[index]
        guard car.next >= car.pause else {
            cars[index].next += 1
            return
        }
        let stored = try #require(try executor.orders.order(code: car.code))
        switch stored.assignment.status {
        case .assigned: try execute(AcceptJob(car.code), by: car.identity)
        case .accepted: try report(.enRoute, car)
        case .enRoute:
            try locate(index)
            // Out of reach for good: the driver presses the button.
            if cars[index].ahead < -300 { try report(.arrived, car) }
        case .arrived:
            if cars[index].arrivedAt == nil { cars[index].arrivedAt = now }
            // A driver who comes back changes nothing.
            try locate(index)
            if now - (cars[index].arrivedAt ?? now) > 60_000 { try report(.loading, car) }
        case .loading: try report(.inTransit, car)
        case .inTransit:
            try execute(positions: [position(of: car, latitude: 50.01 - 400 / Self.metresPerDegree, at: now)], car)
            if stored.trip.destinationNearToldAt != nil || car.clock == .hoursBehind { try report(.unloading, car) }
        case .unloading: try report(.completed, car)
        case .completed, .available, .cancelled: break
        }
    }

    /// Ten positions of the last ten seconds, 10 m apart, in any order.
    private mutating func locate(_ index: Int) throws {
        let car = cars[index]
        var list: [Position] = []
        for second in 1...10 {
            let ahead = car.ahead - Double(second) * 10
            // Noise along the line only: across it, it would change which cars come near enough.
            let noise = Double.random(in: -3...3, using: &random) * (abs(ahead) < 15 ? 0 : 1)
            list.append(
                position(of: car, latitude: 50 - (ahead + noise) / Self.metresPerDegree, at: now - 10_000 + Int64(second) * 1_000)
            )
        }
        if car.jumps, Int.random(in: 0..<5, using: &random) == 0 {
            list.append(position(of: car, latitude: -50, at: now - 500))
        }
        cars[index].ahead -= 100
        try execute(positions: list.shuffled(using: &random), car)
    }

    /// A position at the car's distance east of the pickup's meridian.
    private func position(of car: Car, latitude: Double, at time: Int64) -> Position {
        let longitude = Double(Int(car.code.dropFirst())! % 170)
        let east = car.distance / (Self.metresPerDegree * 0.642_787_609_7)  // the cosine of 50°
        let offset: Int64 =
            switch car.clock {
            case .right, .right2, .right3: 0
            case .hoursBehind: -7_200_000
            case .hoursAhead: 7_200_000
            }
        return Position(latitude: latitude, longitude: longitude + east, accuracy: 10, recordedAt: time + offset)
    }

    // MARK: The gateway

    private mutating func report(_ step: JobStatus, _ car: Car) throws {
        try execute(ReportProgress(car.code, ProgressReport(step: step)), by: car.identity)
    }

    private mutating func execute(positions: [Position], _ car: Car) throws {
        try perform { [now] in _ = $0.report(positions, ofDriver: car.identity.id, now: Self.time(now), &$1) }
    }

    /// Changes the trips and performs the effects, as `SharedTrips` does. The process may die before each.
    private mutating func perform(_ body: (inout LiveTrips, inout [LiveTrips.Effect]) -> Void) throws {
        var effects: [LiveTrips.Effect] = []
        body(&trips, &effects)
        for case .take(let step) in effects {
            switch Int.random(in: 0..<40, using: &random) {
            case 0: return try kill()  // before the commit
            case 1: trips.failed(step)
            default: try execute(step, by: driver(step.driverID))
            }
        }
    }

    private mutating func execute(_ action: any Command, by actor: Identity) throws {
        let reply = try executor.commit(command(action, by: actor), at: now)
        if Int.random(in: 0..<80, using: &random) == 0 { return try kill() }  // after the commit
        if case .committed(let result) = reply, let order = result.order, trips.isConcerned(by: order) {
            trips.beginUpdate(order)
            trips.update(order, card: result.effects.card)
        }
        if let step = action as? TripStep { trips.finished(step) }
        if Int.random(in: 0..<100, using: &random) == 0 {
            let unsaved = trips.takeUnsaved()
            try executor.transaction { () throws(DatabaseError) in try executor.save(unsaved[...]) }
        }
    }

    private mutating func kill() throws {
        killCount += 1
        let rules = rules
        trips = LiveTrips(rules)
        process = nil
        process = try store.executor(at: now) { $0.trips = rules }
        var open: [Order] = []
        try executor.openOrders { open.append($0) }
        for order in open { trips.update(order, card: nil) }
        var positions: [DriverPosition] = []
        try executor.eachDriverPosition { positions.append($0) }
        for position in positions { try perform { [now] in $0.restore(position, now: Self.time(now), &$1) } }
    }

    private static func time(_ wall: Int64) -> LiveTrips.Time { LiveTrips.Time(wall: wall, monotonic: wall) }

    // MARK: Check

    mutating func check(_ car: Car) throws {
        let order = try #require(try executor.orders.order(code: car.code))
        let told = try executor.database.dump(
            "SELECT event FROM notifications WHERE channel = 'booking-\(car.code)' ORDER BY id"
        ).compactMap { TripMoment(event: $0) }
        let places = told.compactMap { TripMoment.allCases.firstIndex(of: $0) }
        #expect(order.assignment.status == .completed, "\(car) \(order.assignment.status)")
        #expect(places == Set(places).sorted(), "\(car): \(told)")
        let always: [TripMoment] = [.driverAssigned, .enRoute, .arrival, .waiting, .started, .completed]
        #expect(always.allSatisfy(told.contains), "\(car): \(told)")
        let mayArrive = car.distance < 100 && car.clock != .hoursBehind
        if mayArrive { dueArrivals += 1 } else { #expect(!order.trip.isArrivedByPosition, "\(car)") }
        if order.trip.isArrivedByPosition { arrivedByPosition += 1 }
        let rows = try executor.database.dump("SELECT COUNT(*) FROM driver_positions WHERE driver_id = '\(car.identity.id)'")
        #expect(rows == ["0"])
    }
}
