import Primitives

/// What the customer of a trip is told, in the order of the trip. The raw value is the type of the notification.
package enum TripMoment: String, CaseIterable, Sendable {
    case driverAssigned = "driver_assigned"
    case enRoute = "driver_en_route"
    case nearby = "driver_nearby"
    case arrival = "driver_arrival"
    /// The arrival was taken back: the driver has not arrived.
    case arrivalCorrected = "arrival_corrected"
    case waiting = "driver_waiting"
    case started = "trip_started"
    case destinationNear = "destination_near"
    case completed = "trip_completed"

    /// The name of the event on the booking's channel.
    package var event: String { EventNames.event(ofType: rawValue) }

    /// The moment with this event; nil if the event is another one.
    package init?(event: String) {
        guard let moment = Self.byEvent[event] else { return nil }
        self = moment
    }

    private static let byEvent = Dictionary(uniqueKeysWithValues: allCases.map { ($0.event, $0) })

    /// The seconds for which a notification of the moment is of use.
    package var lifetimeSeconds: Int {
        switch self {
        case .driverAssigned: 3_600
        case .enRoute, .started: 1_800
        // After ten minutes the driver has met the customer, has arrived, or has left.
        case .nearby, .arrival, .arrivalCorrected, .waiting, .destinationNear: 600
        case .completed: 86_400
        }
    }
}

/// A moment of a trip with the fields of its event.
struct TripNews {
    let moment: TripMoment
    /// The driver's id.
    let driver: String
    /// The driver's name. Nil: not known.
    let driverName: String?
    /// The fields that only this moment has.
    var fields: EventFields = [:]

    static func driverAssigned(_ driver: String, _ name: String?, _ card: DriverCard?) -> TripNews {
        TripNews(
            moment: .driverAssigned, driver: driver, driverName: name,
            fields: [
                "vehicle_make": .text(card?.vehicleMake), "vehicle_model": .text(card?.vehicleModel),
                "vehicle_color": .text(card?.vehicleColor), "license_plate": .text(card?.licensePlate),
            ])
    }

    /// A moment with an ETA.
    static func withETA(_ moment: TripMoment, _ driver: String, _ name: String?, _ minutes: Int?) -> TripNews {
        TripNews(moment: moment, driver: driver, driverName: name, fields: ["eta_minutes": .integer(minutes)])
    }

    /// - Parameters:
    ///   - since: the time of the arrival, in milliseconds since 1970.
    ///   - now: milliseconds since 1970.
    static func waiting(_ driver: String, _ name: String?, since: Int64, now: Int64) -> TripNews {
        TripNews(
            moment: .waiting, driver: driver, driverName: name,
            fields: [
                "waiting_since": .text(Timestamp.wholeSeconds(milliseconds: since)),
                "waiting_minutes": .integer(Int(max(0, now - since) / 60_000)),
            ])
    }

    static func arrivalCorrected(_ driver: String, _ name: String?, _ minutes: Int?, reason: String?) -> TripNews {
        TripNews(
            moment: .arrivalCorrected, driver: driver, driverName: name,
            fields: ["eta_minutes": .integer(minutes), "reason": .text(reason)])
    }

    /// - Parameter time: milliseconds since 1970.
    static func completed(_ driver: String, _ name: String?, at time: Int64) -> TripNews {
        TripNews(
            moment: .completed, driver: driver, driverName: name,
            fields: ["completed_at": .text(Timestamp.wholeSeconds(milliseconds: time))])
    }

    /// - Parameter milliseconds: the time of the moment, in milliseconds since 1970.
    func event(of order: Order, at milliseconds: Int64) -> EventDraft {
        let common = order.tripFields(driver: driver, name: driverName, at: milliseconds)
        return EventDraft(.booking(order.reference), moment.event, common + fields)
    }
}

extension Order {
    /// The fields that all events about the driver's trip have.
    func tripFields(driver: String, name: String?, at milliseconds: Int64) -> EventFields {
        ["reference": .text(reference), "driver_id": .text(driver), "driverName": .text(name)]
            + ["timestamp": .text(Timestamp.wholeSeconds(milliseconds: milliseconds))]
    }

    /// The name of the driver in events and answers for customers: that of the order's driver, which the dispatcher gave, or
    /// the token of a driver who claimed the order; else that of the driver's card, else that in the driver's token.
    package func tripDriverName(_ card: DriverCard?, account name: String?) -> String? {
        assignment.driver?.name ?? card?.name ?? name
    }
}
