import JSON
import Primitives

/// The JSON of positions and trips. Times have no fraction: some apps' parsers reject it.
extension FleetResponses {
    /// Seconds until a driver's app is to send the next position, with and without a trip.
    private static let (updateSeconds, idleSeconds) = (10, 60)

    /// The body of the response to a driver's positions.
    package static func body(of receipt: LocationReceipt) -> [UInt8] {
        var json = JSONWriter()
        json.object {
            $0.member("success", true)
            $0.member("data") {
                $0.member("accepted", receipt.accepted)
                $0.member("ignored", receipt.ignored)
                $0.member("sharing", receipt.sharing)
                $0.member("nextUpdateSeconds", receipt.sharing.isEmpty ? idleSeconds : updateSeconds)
            }
        }
        return json.bytes
    }

    /// The body of `GET /api/admin/drivers/positions`.
    package static func body(of drivers: [TripView]) -> [UInt8] {
        var json = JSONWriter()
        json.object {
            $0.member("success", true)
            $0.member("data") {
                $0.member("positions", drivers) { json, view in
                    json.object {
                        view.writeDriver(to: &$0)
                        $0.member("estimated_arrival_minutes", view.etaMinutes)
                        $0.member("last_updated", wholeSeconds: view.position?.recordedAt)
                    }
                }
            }
        }
        return json.bytes
    }
}

/// The events that show a driver's position.
package enum LocationEvents {
    /// The event for those who follow a booking.
    package static let location = "location-updated"
    /// The event for dispatchers.
    package static let driver = "driver-location"
}

extension TripView {
    /// The data of ``LocationEvents/location``.
    package var locationData: [UInt8] {
        var json = JSONWriter()
        json.object {
            $0.member("reference", order.reference)
            writePosition(to: &$0)
            $0.member("estimated_arrival_minutes", etaMinutes)
            $0.member("last_updated", wholeSeconds: position?.recordedAt)
            $0.member("status", status?.rawValue)
        }
        return json.bytes
    }

    /// The data of ``LocationEvents/driver``.
    package var driverLocationData: [UInt8] {
        var json = JSONWriter()
        json.object {
            writeDriver(to: &$0)
            $0.member("last_updated", wholeSeconds: position?.recordedAt)
        }
        return json.bytes
    }

    /// The body of `GET /app-trip-status`.
    var statusBody: [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.object {
            $0.member("reference", order.reference)
            $0.member("status", status?.rawValue)
            $0.key("driver_location")
            if position == nil { $0.raw("null") } else { $0.object { writeLocation(to: &$0) } }
            $0.key("driver_info")
            if order.assignment.driver == nil { $0.raw("null") } else { $0.object { writeDriverInfo(to: &$0) } }
            $0.member("estimated_arrival_time", wholeSeconds: estimatedArrival)
        }
        return json.bytes
    }

    private func writeLocation(to json: inout JSONWriter) {
        writePosition(to: &json)
        json.member("estimated_arrival_minutes", etaMinutes)
        json.member("last_updated", wholeSeconds: position?.recordedAt)
    }

    private func writeDriverInfo(to json: inout JSONWriter) {
        json.member("driver_id", order.assignment.driver?.id.text)
        json.member("name", driverName)
        json.member("vehicle_make", card?.vehicleMake)
        json.member("vehicle_model", card?.vehicleModel)
        json.member("vehicle_color", card?.vehicleColor)
        json.member("license_plate", card?.licensePlate)
        json.member("phone_number", order.isFollowed ? card?.phoneNumber : nil)
    }

    /// What dispatchers see of a driver.
    fileprivate func writeDriver(to json: inout JSONWriter) {
        json.member("driverId", order.assignment.driver?.id.text)
        json.member("bookingReference", order.reference)
        writePosition(to: &json)
        json.member("status", status?.rawValue)
    }

    private func writePosition(to json: inout JSONWriter) {
        json.member("latitude", number: position?.latitude)
        json.member("longitude", number: position?.longitude)
        json.member("heading", number: position?.heading)
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ name: StaticString, number: Double?) {
        member(name, number.map { JSONNumber(text: "\($0)") })
    }

    fileprivate mutating func member(_ name: StaticString, wholeSeconds milliseconds: Int64?) {
        member(name, milliseconds.map { Timestamp.wholeSeconds(milliseconds: $0) })
    }
}
