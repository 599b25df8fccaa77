import JSON

extension Order {
    /// Writes the order as a JSON object for responses. The code replaces a missing bookingId or bookingReference.
    package func write(to json: inout JSONWriter) {
        json.object {
            $0.member("code", code)
            $0.member("status", assignment.status.rawValue)
            $0.member("driverId", assignment.driver?.id.text)
            $0.member("driverName", assignment.driver?.name)
            $0.member("version", assignment.version)
            $0.member("bookingId", bookingID ?? code)
            $0.member("bookingReference", reference)
            $0.member("customerId", customerID)
            $0.member("customerName", customerName)
            $0.member("pickupAddress", pickupAddress)
            $0.member("dropoffAddress", dropoffAddress)
            $0.member("scheduledAt", scheduledAt)
            $0.member("totalGBP", totalGBP)
        }
    }

    /// Writes the order as the member `order` of a response's `data`.
    func member(_ json: inout JSONWriter) {
        json.key("order")
        write(to: &json)
    }
}

extension Route {
    /// Writes the route as a JSON object for responses.
    package func write(to json: inout JSONWriter) {
        json.object {
            $0.member("id", id)
            $0.member("status", assignment.status.rawValue)
            $0.member("driverId", assignment.driver?.id.text)
            $0.member("driverName", assignment.driver?.name)
            $0.member("version", assignment.version)
            $0.member("routeNumber", routeNumber)
            $0.member("bookingsCount", bookingsCount)
            $0.member("dropsCount", dropsCount)
            $0.member("earningsAdjustment", earningsAdjustment)
        }
    }

    /// Writes the route as the member `route` of a response's `data`.
    func member(_ json: inout JSONWriter) {
        json.key("route")
        write(to: &json)
    }
}

extension DispatchPlan {
    /// The response's body. `data` writes the members of `data` that precede `notificationIds`.
    static func response(
        _ message: String, _ notifications: [Notification], _ correlationID: String,
        data: (inout JSONWriter) -> Void = { _ in }
    ) -> [UInt8] {
        response(message, correlationID) { json in
            data(&json)
            json.member("notificationIds", notifications.map(\.id))
        }
    }

    /// The response's body. `data` writes all members of `data`.
    /// - Parameter correlationID: nil for responses that have none by contract.
    static func response(_ message: String, _ correlationID: String? = nil, _ data: (inout JSONWriter) -> Void) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.object {
            $0.member("success", true)
            $0.member("message", message)
            $0.member("data") { data(&$0) }
            $0.member("correlationId", ifPresent: correlationID)
        }
        return json.bytes
    }
}
