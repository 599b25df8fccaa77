import JSON

extension Order {
    /// The order as answers show it: a JSON object. What stands in for a missing id or reference is shown as theirs.
    package func write(to json: inout JSONWriter) {
        json.raw("{")
        json.members([
            "code": .text(code), "status": .text(assignment.status.rawValue), "driverId": .text(assignment.driver?.id.text),
            "driverName": .text(assignment.driver?.name),
            "version": .number(JSONNumber(text: String(assignment.version))),
            "bookingId": .text(bookingID ?? code), "bookingReference": .text(reference), "customerId": .text(customerID),
            "customerName": .text(customerName), "pickupAddress": .text(pickupAddress),
            "dropoffAddress": .text(dropoffAddress), "scheduledAt": .text(scheduledAt), "totalGBP": .number(totalGBP),
        ])
        json.raw("}")
    }

    /// The order as a member of an answer's `data`, before others.
    func member(_ json: inout JSONWriter) {
        json.raw(#""order":"#)
        write(to: &json)
        json.raw(",")
    }
}

extension Route {
    /// The route as a member of an answer's `data`, before others.
    func member(_ json: inout JSONWriter) {
        json.raw(#""route":"#)
        write(to: &json)
        json.raw(",")
    }

    /// The route as answers show it: a JSON object.
    package func write(to json: inout JSONWriter) {
        json.raw("{")
        json.members([
            "id": .text(id), "status": .text(assignment.status.rawValue), "driverId": .text(assignment.driver?.id.text),
            "driverName": .text(assignment.driver?.name),
            "version": .number(JSONNumber(text: String(assignment.version))), "routeNumber": .text(routeNumber),
            "bookingsCount": .number(bookingsCount), "dropsCount": .number(dropsCount),
            "earningsAdjustment": .number(earningsAdjustment),
        ])
        json.raw("}")
    }
}

extension DispatchPlan {
    /// The answer that the apps parse. `data` writes what stands under `data` beside the notifications' ids.
    static func response(
        _ message: String, _ told: [Notification], _ correlationID: String, data: (inout JSONWriter) -> Void = { _ in }
    ) -> [UInt8] {
        response(message, correlationID) { json in
            data(&json)
            json.raw(#""notificationIds":"#)
            json.strings(told.map(\.id))
        }
    }

    /// The same with the whole of `data` as the caller writes it, and without a correlation id where the contract has none.
    static func response(_ message: String, _ correlationID: String? = nil, _ data: (inout JSONWriter) -> Void) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.raw(#"{"success":true,"message":"#)
        json.string(message)
        json.raw(#","data":{"#)
        data(&json)
        json.raw("}")
        if let correlationID {
            json.raw(#","correlationId":"#)
            json.string(correlationID)
        }
        json.raw("}")
        return json.bytes
    }
}
