import JSON

extension Order {
    /// Writes the order as a JSON object for responses. If the booking id or the
    /// booking reference is missing, the order's code is written instead.
    package func write(to json: inout JSONWriter) { json.object { writeMembers(to: &$0) } }

    /// Writes the members of ``write(to:)`` into an object that has other members as well.
    package func writeMembers(to json: inout JSONWriter) {
        json.member("code", code)
        json.member("status", assignment.status.rawValue)
        json.member("driverId", assignment.driver?.id.text)
        json.member("driverName", assignment.driver?.name)
        json.member("version", assignment.version)
        json.member("bookingId", bookingID ?? code)
        json.member("bookingReference", reference)
        json.member("customerId", customerID)
        json.member("customerName", customerName)
        json.member("pickupAddress", pickupAddress)
        json.member("dropoffAddress", dropoffAddress)
        json.member("scheduledAt", scheduledAt)
        json.member("totalGBP", totalGBP)
        json.member("pickupLatitude", pickupCoordinates?.latitude)
        json.member("pickupLongitude", pickupCoordinates?.longitude)
        json.member("dropoffLatitude", dropoffCoordinates?.latitude)
        json.member("dropoffLongitude", dropoffCoordinates?.longitude)
        json.member("arrivedAt", time: trip.arrivedAt)
    }
}

extension Route {
    /// Writes the route as a JSON object for responses.
    package func write(to json: inout JSONWriter) { json.object { writeMembers(to: &$0) } }

    /// Writes the members of ``write(to:)`` into an object that has other members as well.
    package func writeMembers(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("status", assignment.status.rawValue)
        json.member("driverId", assignment.driver?.id.text)
        json.member("driverName", assignment.driver?.name)
        json.member("version", assignment.version)
        json.member("routeNumber", routeNumber)
        json.member("bookingsCount", bookingsCount)
        json.member("dropsCount", dropsCount)
        json.member("earningsAdjustment", earningsAdjustment)
    }
}
